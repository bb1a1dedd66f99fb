/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection: its CM id, its QP and its state.
 *
 * Control thread. Nothing blocks: calls that may block run on call threads (rdma/device/calls.h).
 */
#ifndef VBD_RDMA_CONN_CONN_H
#define VBD_RDMA_CONN_CONN_H

#include "base/addr.h"
#include "rdma/conn/conn_fsm.h"
#include "rdma/conn/manual.h"
#include "rdma/conn/timeline.h"
#include "rdma/device/private_data.h"
#include "rdma/qp/qp.h"

#include <rdma/rdma_cma.h>

struct vbd_conn;
struct vbd_conn_tries;
struct vbd_fabric;
struct vbd_pv_cm_event;

/* NONE: the system's default. */
enum vbd_choice {
	VBD_CHOICE_NONE,
	VBD_CHOICE_NO,
	VBD_CHOICE_YES,
};

struct vbd_cm_params {
	char device[64];	     /* "": the address decides */
	struct sockaddr_storage src; /* connection: ss_family 0 for any */
	uint16_t src_port;	     /* connection: 0 for any */
	int tos;		     /* 0 to 255; -1: the system's default */
	bool reuse_addr;
	enum vbd_choice v6_only; /* listener; NONE: net.ipv6.bindv6only decides */
	/* Private data of the request or the reply. */
	struct vbd_private_data private_data;
};

/** vbd_cm_params_default - no device, source or option requested */
static inline struct vbd_cm_params vbd_cm_params_default(void)
{
	return (struct vbd_cm_params){.tos = -1};
}

/* Notifications to the layer above, on the control thread. Any may be NULL. */
struct vbd_conn_ops {
	/* The state changed, and the action of the change is done. In CLOSED and FAILED only the
	 * struct vbd_conn is left. */
	void (*state_changed)(struct vbd_conn *conn, enum vbd_conn_state old, void *arg);
	/* Call vbd_conn_deadline() in @timeout_ms; 0: cancel. */
	void (*set_deadline)(struct vbd_conn *conn, uint64_t timeout_ms, void *arg);
	/* An entry was added to the timeline. */
	void (*noted)(struct vbd_conn *conn, const struct vbd_timeline_entry *entry, void *arg);
	/* Look up the host name again; vbd_conn_resolve_named() or vbd_conn_name_failed() follows,
	 * not inside this call. NULL: the addresses of before are tried again. */
	enum vbd_status (*look_up)(struct vbd_conn *conn, void *arg, struct vbd_error *err);
	/* A step of a manual bring-up is over (see vbd_conn_stepping()). */
	void (*stepped)(struct vbd_conn *conn, void *arg);
};

/* The call of a connection that is under way on a call thread. No other call that uses its CM id is
 * made meanwhile, and the end of the connection waits for it. */
enum vbd_conn_calling {
	VBD_CONN_CALLS_NOTHING,
	VBD_CONN_CALLS_PREPARE, /* vbd_channel_prepare() */
	VBD_CONN_CALLS_CONNECT, /* rdma_connect over iWARP */
	VBD_CONN_CALLS_RTR,	/* ibv_modify_qp to RTR */
};

/* Allocated only while the call is under way, since most connections are idle. */
struct vbd_conn_call {
	struct vbd_call call;
	struct vbd_conn *conn;
	struct rdma_conn_param param; /* CONNECT */
	struct ibv_qp_attr attr;      /* RTR, with `mask` */
	int mask;
	enum vbd_status status; /* the result, with `error` */
	struct vbd_error error;
};

struct vbd_conn {
	struct vbd_cm_tag tag; /* first */
	uint64_t id;
	struct vbd_fabric *fabric;
	const struct vbd_conn_ops *ops;
	void *ops_arg;
	bool passive;
	struct vbd_conn_params params;
	struct vbd_cm_params cm; /* private data: last sent, or to be sent next */

	enum vbd_conn_state state;    /* written by set_state() in conn_step.c only */
	bool reason_pending;	      /* DRAINING after a flush: a CM event may name the reason */
	uint8_t looks_left;	      /* DRAINING: looks for outstanding sends after a disconnect */
	enum vbd_conn_state ended_in; /* the state in which the end began; valid after it */

	struct vbd_conn_tries *tries; /* to connect; NULL before the first and after the last */
	struct vbd_account account;
	struct rdma_cm_id *cm_id;	/* NULL during a manual bring-up */
	struct vbd_conn_manual *manual; /* NULL unless the bring-up is manual */
	struct vbd_device_id device;	/* no name until known */
	uint8_t port_num;		/* 0 until known */
	struct sockaddr_storage local;	/* ss_family 0 until known */
	struct sockaddr_storage peer;
	bool cm_asked;		/* rdma_connect(3) or rdma_accept(3) was called */
	bool cm_connected;	/* rdma_disconnect(3) is owed */
	bool goodbye_owed;	/* rdma_disconnect(3) was called, and DISCONNECTED must answer it */
	bool peer_disconnected; /* DISCONNECTED came */
	bool cm_over;		/* REJECTED or TIMEWAIT_EXIT came: nothing answers a disconnect */
	bool listener_deleted;	/* REQUESTED: that is why it is closed, nobody has decided on it */
	enum vbd_conn_calling calling;
	struct vbd_conn_call *call; /* NULL while `calling` is NOTHING */
	void (*call_done)(struct vbd_call *call);

	struct vbd_qp qp;
	enum vbd_refusal refusal; /* final when the connection has ended */

	/* From the peer's request or reply. */
	uint32_t cm_mtu_bytes; /* told to both sides by the CM; 0: none */
	uint8_t peer_responder_resources;
	uint8_t peer_initiator_depth;
	struct vbd_private_data peer_private_data; /* of the last CM message with any */
	bool reject_vendor_option;		   /* reject with this reason */

	/* UC: the peer's packets by their PSN, as of the last vbd_conn_refresh_qp(). */
	uint32_t last_psn;
	uint64_t packets_sent;
	uint64_t lost_packets; /* packets of messages that did not arrive */

	uint64_t created_ns, established_ns, ended_ns; /* 0: not yet */
	uint64_t timeout_ms;  /* until established, until the decision, or of each stay in
				 AWAITING_REMOTE; 0: none */
	uint64_t deadline_ms; /* the deadline that is set; 0: none */
	uint64_t deadline_since_ns;
	struct vbd_timeline timeline;
};

/** vbd_conn_create - an active connection in RESOLVING_ADDR; nothing is sent yet. The deadline
 * starts here. @cm: private data that fits into a request */
enum vbd_status vbd_conn_create(struct vbd_fabric *fabric, uint64_t id,
	const struct vbd_conn_params *params, const struct vbd_cm_params *cm, uint64_t timeout_ms,
	const struct vbd_conn_ops *ops, void *ops_arg, struct vbd_conn **ret_conn,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_create_queued - an active connection in QUEUED, which vbd_conn_begin() starts; the
 * deadline starts then. @cm: as for vbd_conn_create() */
enum vbd_status vbd_conn_create_queued(struct vbd_fabric *fabric, uint64_t id,
	const struct vbd_conn_params *params, const struct vbd_cm_params *cm, uint64_t timeout_ms,
	const struct vbd_conn_ops *ops, void *ops_arg, struct vbd_conn **ret_conn,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_begin - move a connection from QUEUED to RESOLVING_ADDR; nothing is sent yet */
void vbd_conn_begin(struct vbd_conn *conn);

/**
 * vbd_conn_resolve - begin to connect to the address @dst
 *
 * A failure ends the connection, unless another try may succeed in what is left of its time.
 */
void vbd_conn_resolve(struct vbd_conn *conn, const struct sockaddr *dst);

/** vbd_conn_resolve_named - the same, to the addresses of a host name, one after the other */
void vbd_conn_resolve_named(struct vbd_conn *conn, const struct vbd_addrs *addrs);

/** vbd_conn_name_failed - the host name has no address: as vbd_conn_resolve() */
void vbd_conn_name_failed(struct vbd_conn *conn, const struct vbd_error *why);

/**
 * vbd_conn_create_passive - a connection in REQUESTED, from a listener's request
 * @cm: the listener's ToS, and the private data of the reply
 * @decide_timeout_ms: deadline of the decision; 0 for none
 */
enum vbd_status vbd_conn_create_passive(struct vbd_fabric *fabric, uint64_t id,
	const struct vbd_conn_params *params, const struct vbd_cm_params *cm,
	uint64_t decide_timeout_ms, const struct vbd_pv_cm_event *request,
	const struct vbd_conn_ops *ops, void *ops_arg, struct vbd_conn **ret_conn,
	struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_conn_create_manual - an RC or UC connection in AWAITING_REMOTE on @device
 * @local: from vbd_manual_choose()
 * @timeout_ms: limit of each stay in AWAITING_REMOTE; 0: none
 *
 * vbd_conn_open_manual() creates the QP.
 */
enum vbd_status vbd_conn_create_manual(struct vbd_fabric *fabric, uint64_t id,
	const struct vbd_conn_params *params, const struct vbd_device *device,
	const struct vbd_manual_local *local, uint64_t timeout_ms, const struct vbd_conn_ops *ops,
	void *ops_arg, struct vbd_conn **ret_conn, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_open_manual - begin to create the QP, and to move it to INIT with its receives posted
 * unless @stay_in_reset: vbd_conn_stepping() until then. A failure ends the connection. */
void vbd_conn_open_manual(struct vbd_conn *conn, bool stay_in_reset);

/**
 * vbd_conn_accept - accept a requested connection
 * @service: enum vbd_service; -1: the listener's
 * @reply:   private data of the reply; NULL: the listener's
 *
 * wrong_state unless the connection is REQUESTED. A later failure ends the connection.
 */
enum vbd_status vbd_conn_accept(struct vbd_conn *conn, int service,
	const struct vbd_private_data *reply, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_conn_reject - reject a requested connection; wrong_state otherwise
 * @private_data:  of the reject message; NULL: none
 * @vendor_option: reason "vendor option not supported", else "consumer defined"
 */
enum vbd_status vbd_conn_reject(struct vbd_conn *conn, const struct vbd_private_data *private_data,
	bool vendor_option, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_close - disconnect and drain; harmless once the end began. @reason: LOCAL_CLOSE
 * or SHUTDOWN. */
void vbd_conn_close(struct vbd_conn *conn, enum vbd_reason reason);

/** vbd_conn_deadline - the deadline of set_deadline() has passed */
void vbd_conn_deadline(struct vbd_conn *conn);

/** vbd_conn_device_removed - the device is being removed: end the connection */
void vbd_conn_device_removed(struct vbd_conn *conn);

/** vbd_conn_refresh_qp - query the QP; attributes that the device doesn't report are kept */
void vbd_conn_refresh_qp(struct vbd_conn *conn);

/* In an answer of the API the attributes of a QP are at most this old. */
#define VBD_QP_FRESH_NS UINT64_C(1000000)

/** vbd_conn_refresh_qp_at - the same, unless the last query was less than VBD_QP_FRESH_NS before
 * @now_ns and the QP was not moved since: a query is a system call, and many clients may look at
 * one connection */
void vbd_conn_refresh_qp_at(struct vbd_conn *conn, uint64_t now_ns);

/** vbd_conn_inject_error - a fault of a client moves the QP of an established connection to ERR,
 * and the connection ends as if the device had done that */
void vbd_conn_inject_error(struct vbd_conn *conn);

/**
 * vbd_conn_check_qp - end an established connection whose QP the device has moved to ERR
 *
 * Without a posted receive no completion reports the move, and a device that refuses the peer's
 * access to memory may report it in no other way (rxe). An iWARP device does not report the state.
 */
void vbd_conn_check_qp(struct vbd_conn *conn);

/** vbd_conn_note - add an entry to the timeline, and call noted(). @what: a static string; @detail:
 * "" for none */
void vbd_conn_note(
	struct vbd_conn *conn, enum vbd_timeline_kind kind, const char *what, const char *detail);

/** vbd_conn_notef - as vbd_conn_note(), with a detail that is formatted */
void vbd_conn_notef(struct vbd_conn *conn, enum vbd_timeline_kind kind, const char *what,
	const char *detail_fmt, ...) VBD_PRINTF(4, 5);

/** vbd_conn_replaced - the ended @conn gets the id @new_id; @next, its successor, has the old id of
 * @conn, and gets copies of its timeline entries about tries */
void vbd_conn_replaced(struct vbd_conn *conn, uint64_t new_id, struct vbd_conn *next);

/** vbd_conn_note_change - add an entry of kind QP or STATE that is a transition, and call noted().
 * @from, @to: static strings */
void vbd_conn_note_change(struct vbd_conn *conn, enum vbd_timeline_kind kind, const char *from,
	const char *to, const char *detail);

/** vbd_conn_destroy - free a CLOSED or FAILED connection; not inside an operation of its ops.
 * NULL is fine. */
void vbd_conn_destroy(struct vbd_conn *conn);

/* For the fabric. */
void vbd_conn_on_cm_event(struct vbd_conn *conn, const struct vbd_pv_cm_event *event);

/* A manual bring-up: rdma/conn/manual.h. */

/**
 * vbd_conn_remote - set the peer's attributes, and move the QP from INIT to RTR or RTS
 * @bring_to: RTR or RTS
 *
 * The kernel may have to resolve the peer's hardware address. Then the call returns VBD_OK before
 * the step is done: see vbd_conn_stepping().
 *
 * Returns wrong_state unless the connection is manual and its QP is in INIT; bad_value, with the
 * pointer, for attributes that are useless on this port; and the error of the device, which leaves
 * the QP in its state.
 */
enum vbd_status vbd_conn_remote(struct vbd_conn *conn, const struct vbd_manual_remote *remote,
	enum vbd_qp_step bring_to, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_conn_set_qp_state - move the QP one step
 *
 * The step to ERR, or by ERR to RESET, is done when all posted work requests are flushed; the step
 * to RTR takes as long as vbd_conn_remote().
 *
 * Returns wrong_state with the possible steps; otherwise as vbd_conn_remote().
 */
enum vbd_status vbd_conn_set_qp_state(
	struct vbd_conn *conn, enum vbd_qp_step step, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_stepping - is a step under way, or is the QP not made yet? At its end stepped() of the
 * connection's ops is called, and manual.failure is set if the step failed. */
bool vbd_conn_stepping(const struct vbd_conn *conn);

/** vbd_conn_is_flushing - is the QP of a manual bring-up on its way down, without the connection?
 */
bool vbd_conn_is_flushing(const struct vbd_conn *conn);

#endif
