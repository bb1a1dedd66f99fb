/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections as resources: name, deadline, inbox, watches, closed history.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_CONNECTIONS_CONNECTIONS_H
#define VBD_DAEMON_CONNECTIONS_CONNECTIONS_H

#include "daemon/connections/inbox.h"
#include "daemon/core/object.h"
#include "rdma/conn/conn.h"

struct vbd_listener;
struct vbd_probe_record;

struct vbd_connection {
	struct vbd_object object; /* first */
	struct vbd_daemon *daemon;
	struct vbd_conn *conn; /* everything about the RDMA side; never NULL */
	char dst[272];	       /* "host:port" as asked for; "" on the passive side */
	uint64_t listener_id;  /* 0 on the active side */
	bool undecided;	       /* its listener has counted the request only */
	bool counted_waiting;  /* in its listener's `waiting` */
	struct vbd_resolution *resolution;
	struct vbd_inbox inbox;
	struct vbd_probe_record *probe; /* that runs; NULL if none does */
	uint64_t last_probe_id;		/* 0 before the first */
	struct vbd_link windows;	/* of struct vbd_window_record: bound on it */
	uint64_t phase_ns;		/* when it came into its state; 0: not followed yet */
	uint64_t receive_bytes;		/* counted in messages_bytes while it is open */
	uint64_t moved_bytes;		/* see vbd_connections_count_bytes() */
};

struct vbd_connection_spec {
	char name[64]; /* "" for none */
	char dst_addr[256];
	uint16_t dst_port;
	char src_addr[256]; /* "" for any; cm.src comes of it */
	uint32_t timeout_ms;
	struct vbd_conn_params params;
	struct vbd_cm_params cm;
};

/** vbd_connection_create - begin to connect; what fails later is the connection's own `reason` */
enum vbd_status vbd_connection_create(struct vbd_daemon *daemon,
	const struct vbd_connection_spec *spec, struct vbd_connection **ret_connection,
	struct vbd_error *err) VBD_MUST_CHECK;

struct vbd_manual_spec {
	char name[64];	     /* "" for none */
	char device[64];     /* "" for the default one */
	uint32_t timeout_ms; /* of each stay in AWAITING_REMOTE; 0: none */
	struct vbd_conn_params params;
	struct vbd_manual_params how;
};

/** vbd_connection_create_manual - one without a CM: it waits for the peer's attributes. What is
 * wrong with @spec is refused; what fails later is the connection's own `reason`. */
enum vbd_status vbd_connection_create_manual(struct vbd_daemon *daemon,
	const struct vbd_manual_spec *spec, struct vbd_connection **ret_connection,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_connection_from_request - of a listener's request: accepted, rejected or left waiting, as
 * its policy says */
bool vbd_connection_from_request(
	struct vbd_listener *listener, const struct vbd_pv_cm_event *request);

struct vbd_connection_accept {
	char name[64]; /* "" for none */
	int service;   /* enum vbd_service; -1 keeps the listener's */
	bool private_data_seen;
	struct vbd_private_data private_data; /* instead of the listener's */
};

/** vbd_connection_accept - wrong_state unless REQUESTED; name_taken; too_long for private data that
 * a reply has no room for */
enum vbd_status vbd_connection_accept(struct vbd_connection *connection,
	const struct vbd_connection_accept *how, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_connection_reject - wrong_state unless REQUESTED; too_long for private data that a rejection
 * has no room for. @private_data, @vendor_option: see vbd_conn_reject(). */
enum vbd_status vbd_connection_reject(struct vbd_connection *connection,
	const struct vbd_private_data *private_data, bool vendor_option,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_connection_close - begin to close; harmless when it is closing or has ended */
void vbd_connection_close(struct vbd_connection *connection);

/** vbd_connection_delete_messages - forget messages up to @through; not_found if the inbox never
 * had that many */
enum vbd_status vbd_connection_delete_messages(
	struct vbd_connection *connection, uint64_t through, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_connections_device_removing - end those on the device, or not on one yet and bound to it */
struct vbd_device;
void vbd_connections_device_removing(struct vbd_daemon *daemon, const char *device_name);

/** vbd_connections_listener_gone - reject the requests of this listener that still wait */
void vbd_connections_listener_gone(struct vbd_daemon *daemon, uint64_t listener_id);

/** vbd_connections_close_all - the daemon stops */
void vbd_connections_close_all(struct vbd_daemon *daemon);

/** vbd_connections_count_states - how many there are in each state, those of the history too */
void vbd_connections_count_states(
	const struct vbd_daemon *daemon, uint64_t ret_counts[VBD_CONN_STATE_COUNT]);

/** vbd_connections_count_bytes - set `moved_bytes` of each, either way: what a list is sorted by
 * may not move meanwhile, as the counters do */
void vbd_connections_count_bytes(struct vbd_daemon *daemon);

/** vbd_connections_totals - what all connections, open and ended, have moved */
void vbd_connections_totals(const struct vbd_daemon *daemon, struct vbd_totals *ret_totals);

#endif
