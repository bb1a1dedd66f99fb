/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory windows as resources: what they are bound to, deadline, end, and the records of those that
 * ended by themselves.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_MEMORY_WINDOWS_H
#define VBD_DAEMON_MEMORY_WINDOWS_H

#include "daemon/memory/buffers.h"
#include "daemon/connections/connections.h"
#include "daemon/core/object.h"
#include "rdma/data/window.h"

struct vbd_window_record {
	struct vbd_object object; /* first: id, name */
	struct vbd_daemon *daemon;
	struct vbd_window window;
	struct vbd_link link;		   /* the connection's list */
	struct vbd_connection *connection; /* asked for; NULL if none was, or it has ended */
	struct vbd_qp *qp;	   /* its work request is on this QP; meaningless without one */
	uint64_t connection_id;	   /* 0 if none was asked for */
	struct vbd_buffer *buffer; /* NULL once it has ended and let go */
	uint64_t buffer_id;
	uint64_t addr; /* of its first byte */
	char device_name[64];
	struct vbd_error error; /* why it ended, if no client wanted that */
	uint32_t timeout_ms;
	bool late;		     /* its work request was called off */
	uint64_t ready_ns, ended_ns; /* 0: not yet */
};

struct vbd_window_spec {
	char name[64]; /* "" for none */
	struct vbd_buffer *buffer;
	struct vbd_connection *connection; /* NULL for none: type 1 only */
	struct vbd_window_range range;
	uint32_t timeout_ms; /* for the bind, and for the revocation */
};

/**
 * vbd_window_create - check and begin to bind
 *
 * wrong_state (buffer not ready, connection not established, none to post on), missing_field (type
 * 2 without a connection), bad_value (buffer without mw_bind or on another device),
 * range_not_satisfiable, not_supported, name_taken, limit_reached, device_limit.
 */
enum vbd_status vbd_window_create(struct vbd_daemon *daemon, const struct vbd_window_spec *spec,
	struct vbd_window_record **ret_record, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_windows_connection_left - it is not established any more: its windows of type 2 end */
void vbd_windows_connection_left(struct vbd_connection *connection);

/** vbd_windows_device_removing - those of the device that no connection takes with it end */
void vbd_windows_device_removing(struct vbd_daemon *daemon, const struct vbd_device *device);

/** vbd_windows_close_all - the daemon stops: the same for all */
void vbd_windows_close_all(struct vbd_daemon *daemon);

#endif
