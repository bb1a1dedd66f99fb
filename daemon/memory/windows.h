/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory window service: binding, deadline, end, and the history of ended windows.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_MEMORY_WINDOWS_H
#define VBD_DAEMON_MEMORY_WINDOWS_H

#include "daemon/connections/connections.h"
#include "daemon/core/object.h"
#include "daemon/memory/buffers.h"
#include "rdma/data/window.h"

struct vbd_window_record {
	struct vbd_object object; /* first: id, name */
	struct vbd_window window;
	struct vbd_link link;		   /* in the connection's list */
	struct vbd_connection *connection; /* of the request; NULL for none, or if it has ended */
	struct vbd_qp *qp;	   /* the QP of the outstanding work request, if there is one */
	uint64_t connection_id;	   /* 0 for none */
	struct vbd_buffer *buffer; /* NULL once the window has ended and released it */
	uint64_t buffer_id;
	uint64_t addr; /* of the window's first byte */
	struct vbd_device_id device;
	struct vbd_error error; /* why the window ended without a client's request */
	uint32_t timeout_ms;
	bool late; /* the work request was cancelled, since its deadline had passed */
	uint64_t ready_ns, ended_ns; /* 0: not yet */
};

struct vbd_window_spec {
	struct vbd_origin origin;
	char name[64]; /* "" for none */
	struct vbd_buffer *buffer;
	struct vbd_connection *connection; /* NULL for none, with type 1 only */
	struct vbd_window_range range;
	uint32_t timeout_ms; /* for the bind, and for the revocation */
};

/**
 * vbd_window_create - check and begin to bind
 *
 * VBD_E_WRONG_STATE (buffer not ready, connection not established, no connection to post on),
 * _MISSING_FIELD (type 2 without a connection), _BAD_VALUE (buffer without mw_bind or on another
 * device), _RANGE_NOT_SATISFIABLE, _NOT_SUPPORTED, _NAME_TAKEN, _LIMIT_REACHED, _DEVICE_LIMIT.
 */
enum vbd_status vbd_window_create(struct vbd_daemon *daemon, const struct vbd_window_spec *spec,
	struct vbd_window_record **ret_record, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_windows_connection_left - end the type 2 windows of a connection that left ESTABLISHED */
void vbd_windows_connection_left(struct vbd_connection *connection);

/** vbd_windows_device_removing - end the device's remaining windows */
void vbd_windows_device_removing(struct vbd_daemon *daemon, const struct vbd_device *device);

/** vbd_windows_close_all - end all windows, because the daemon stops */
void vbd_windows_close_all(struct vbd_daemon *daemon);

#endif
