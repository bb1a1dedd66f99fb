/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections: the name, deadline, inbox and watches of each one, and the history of ended ones.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_CONNECTIONS_CONNECTIONS_H
#define VBD_DAEMON_CONNECTIONS_CONNECTIONS_H

#include "daemon/connections/inbox.h"
#include "daemon/core/object.h"
#include "rdma/conn/conn.h"

struct vbd_facts;
struct vbd_listener;
struct vbd_peer_report;
struct vbd_probe_record;

/* The queue pairs of a connection: a key without padding. */
struct vbd_connection_qps {
	uint64_t device_id;
	uint32_t lqpn, rqpn;
};

struct vbd_connection {
	struct vbd_object object; /* first */
	struct vbd_conn *conn;	  /* the RDMA side; never NULL */
	char *dst_addr;		  /* of the request; NULL on the passive side */
	uint16_t dst_port;
	uint64_t listener_id; /* 0 on the active side */
	bool undecided;	      /* the listener counted the request, but not its outcome yet */
	bool counted_waiting; /* in its listener's `waiting` */
	bool in_flight; /* came out of the queue, and counts in the daemon's connects_in_flight */
	bool in_state;	/* the daemon's connections_in_state has it in `counted_state` */
	enum vbd_conn_state counted_state;
	struct vbd_resolution *resolution;
	struct vbd_inbox inbox;
	struct vbd_probe_record *probe; /* the running probe; NULL if none runs */
	uint64_t last_probe_id;		/* 0 before the first */
	struct vbd_link windows;	/* of struct vbd_window_record: bound on this connection */
	uint64_t phase_ns;		/* when the current state began; 0: before the first */
	uint64_t receive_bytes; /* included in qp_receives_bytes while the connection is open */
	struct vbd_link unannounced_link; /* in `unannounced_connections` until an event tells of
					     its creation */
	struct vbd_link queue_link;	  /* in the queue, while it waits for its turn to connect */
	struct vbd_facts *kept;		  /* the facts at its first error; NULL: none are kept */
	/* More facts for `kept` are being gathered for the connection to which this points; cleared
	 * when that is freed. NULL: none are. */
	struct vbd_connection **keeping;
	struct vbd_connection_qps qps;	     /* valid while `by_qps` is in its table */
	UT_hash_handle by_qps;		     /* see daemon/connections/peer_reports.h */
	struct vbd_peer_report *peer_report; /* NULL: the peer has reported nothing */
	bool report_owed;	/* the error is yet to be reported to the verbsd of the peer */
	atomic_uint faults_hit; /* bits of enum vbd_fault_effect; any thread sets them */
	/* The present id of the newest established try before this one; 0: there was none, or the
	 * connection is not kept. */
	uint64_t previous_id;
	enum vbd_reason failed_before; /* why the try before failed; NONE: it did not */
	int64_t raw_before;	       /* raw value of that try's first error */
};

struct vbd_connection_spec {
	struct vbd_origin origin;
	char name[64]; /* "" for none */
	/* For vbd_connections_prepare(), else 0: so many alike. `numbered`: "NAME-1" and so on. */
	uint32_t count;
	bool numbered;
	char dst_addr[256];
	uint16_t dst_port;
	/* The connection, which has ended, whose id this one gets; 0, and if that is gone: none. */
	uint64_t replaces_id;
	char src_addr[256]; /* "" for any; cm.src is made from it */
	uint32_t timeout_ms;
	struct vbd_conn_params params;
	struct vbd_cm_params cm;
};

/** vbd_connection_create - begin to connect; a later failure is the connection's own `reason` */
enum vbd_status vbd_connection_create(struct vbd_daemon *daemon,
	const struct vbd_connection_spec *spec, struct vbd_connection **ret_connection,
	struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_connections_prepare - make spec->count connections in QUEUED for vbd_batch_create(), or none
 *
 * No event is appended for them yet. Errors as of vbd_connection_create(), and VBD_E_TOO_LONG.
 */
enum vbd_status vbd_connections_prepare(struct vbd_daemon *daemon,
	const struct vbd_connection_spec *spec, struct vbd_object **ret_objects,
	struct vbd_error *err) VBD_MUST_CHECK;

/* X(SYMBOL, json name): what became of a connection of a batch so far */
#define VBD_CONNECTION_OUTCOME_MAP(X)                        \
	X(VBD_CONNECTION_OUTCOME_QUEUED, "queued")           \
	X(VBD_CONNECTION_OUTCOME_CONNECTING, "connecting")   \
	X(VBD_CONNECTION_OUTCOME_ESTABLISHED, "established") \
	X(VBD_CONNECTION_OUTCOME_FAILED, "failed")

enum vbd_connection_outcome {
	VBD_CONNECTION_OUTCOME_MAP(VBD_ENUM_ROW) VBD_CONNECTION_OUTCOME_COUNT
};

/** vbd_connection_begin - a connection in QUEUED begins to connect; a failure is the connection's
 * own `reason` */
void vbd_connection_begin(struct vbd_connection *connection);

struct vbd_manual_spec {
	struct vbd_origin origin;
	char name[64];	     /* "" for none */
	char device[64];     /* "" for the default device */
	uint32_t timeout_ms; /* of each stay in AWAITING_REMOTE; 0: none */
	struct vbd_conn_params params;
	struct vbd_manual_params how;
};

/** vbd_connection_create_manual - create a connection without a CM, which waits for the peer's
 * attributes. Errors in @spec are returned; a later failure is the connection's own `reason`. */
enum vbd_status vbd_connection_create_manual(struct vbd_daemon *daemon,
	const struct vbd_manual_spec *spec, struct vbd_connection **ret_connection,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_connection_was_left - did the peer disconnect? Its kernel does so for a program that closes
 * and for one that is killed: only the peer's report tells which (daemon/observe/look.c).
 */
static inline bool vbd_connection_was_left(const struct vbd_connection *connection)
{
	return connection->conn->qp.reason == VBD_REASON_PEER_DISCONNECT;
}

/** vbd_connection_from_request - create a connection for a listener's request, and accept it or
 * leave it waiting, by the listener's `accept`; false to reject the request, for @err */
bool vbd_connection_from_request(struct vbd_listener *listener,
	const struct vbd_pv_cm_event *request, struct vbd_error *err) VBD_MUST_CHECK;

struct vbd_connection_accept {
	const struct vbd_caller *caller; /* gives the name; NULL: the daemon itself */
	char name[64];			 /* "" for none */
	int service;			 /* enum vbd_service; -1 keeps the listener's */
	bool private_data_seen;
	struct vbd_private_data private_data; /* instead of the listener's */
};

/** vbd_connection_accept - VBD_E_WRONG_STATE unless REQUESTED; VBD_E_NAME_TAKEN; VBD_E_TOO_LONG for
 * private data that does not fit a reply */
enum vbd_status vbd_connection_accept(struct vbd_connection *connection,
	const struct vbd_connection_accept *how, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_connection_reject - VBD_E_WRONG_STATE unless REQUESTED; VBD_E_TOO_LONG for private data that
 * does not fit a rejection. @private_data, @vendor_option: see vbd_conn_reject(). */
enum vbd_status vbd_connection_reject(struct vbd_connection *connection,
	const struct vbd_private_data *private_data, bool vendor_option,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_connection_close - begin to close; harmless if the connection is closing or has ended */
void vbd_connection_close(struct vbd_connection *connection);

/** vbd_connections_device_removing - end the open connections on, or bound to, the device */
void vbd_connections_device_removing(struct vbd_daemon *daemon, const char *device_name);

/** vbd_connections_listener_gone - reject the listener's requests that still wait */
void vbd_connections_listener_gone(struct vbd_daemon *daemon, uint64_t listener_id);

/** vbd_connection_moved_bytes - bytes that the connection has sent and received so far */
uint64_t vbd_connection_moved_bytes(const struct vbd_connection *connection);

/*
 * The control loop starts and closes a few connections in each turn. Connections that are made
 * together wait for their turn to connect: one queue for the whole daemon, so that
 * `connects_in_flight` bounds what all batches together ask of the kernel and of the peers. A
 * connection that has a request of its own does not wait.
 */

/** vbd_connection_queue_init - make the empty queue of @daemon */
void vbd_connection_queue_init(struct vbd_daemon *daemon);

/** vbd_connection_queue_wake - go on with the queue in the next turn */
void vbd_connection_queue_wake(struct vbd_daemon *daemon);

/** vbd_connection_queue_moved - call this when the state has changed: the connection may leave the
 * queue, or make room for the next one */
void vbd_connection_queue_moved(struct vbd_connection *connection);

/** vbd_connections_close_all - close all connections, a few in each turn, because the daemon stops:
 * it is `stopping` */
void vbd_connections_close_all(struct vbd_daemon *daemon);

#endif
