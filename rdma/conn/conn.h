/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection: its CM id, its QP, its channel, and the one place where its state changes.
 *
 * Control thread. Nothing blocks.
 */
#ifndef VBD_RDMA_CONN_CONN_H
#define VBD_RDMA_CONN_CONN_H

#include "base/error.h"
#include "rdma/provider/account.h"
#include "rdma/conn/cm_params.h"
#include "rdma/names/cm_tag.h"
#include "rdma/conn/conn_fsm.h"
#include "rdma/conn/conn_manual.h"
#include "rdma/qp/qp.h"
#include "rdma/names/reason.h"
#include "rdma/conn/timeline.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct rdma_cm_id;
struct vbd_conn;
struct vbd_fabric;

/* Upward news. All on the control thread; any may be NULL. */
struct vbd_conn_ops {
	/* The state changed, its action is done. In CLOSED and FAILED everything but the record is
	 * gone. */
	void (*state_changed)(struct vbd_conn *conn, enum vbd_conn_state old, void *arg);
	/* Call vbd_conn_deadline() in @timeout_ms; 0: not any more. */
	void (*set_deadline)(struct vbd_conn *conn, uint64_t timeout_ms, void *arg);
	/* An entry was added to the timeline. */
	void (*noted)(struct vbd_conn *conn, const struct vbd_timeline_entry *entry, void *arg);
	/* Have vbd_conn_move_work() run where it may block, and vbd_conn_moved() here after it.
	 * False, or NULL: it is done at once. */
	bool (*move_slowly)(struct vbd_conn *conn, void *arg);
	/* A step of a manual bring-up is over (see vbd_conn_stepping()). */
	void (*stepped)(struct vbd_conn *conn, void *arg);
};

struct vbd_conn {
	struct vbd_cm_tag tag; /* first */
	uint64_t id;
	struct vbd_fabric *fabric;
	const struct vbd_conn_ops *ops;
	void *ops_arg;
	bool passive;
	struct vbd_conn_params params;
	struct vbd_cm_params cm; /* its private data is what it has sent, or is about to send */

	enum vbd_conn_state state; /* written by set_state() in conn_step.c only */
	bool reason_pending;	   /* DRAINING after a flush: the CM may still say why */

	struct vbd_account account;
	struct rdma_cm_id *cm_id; /* NULL in a manual bring-up */
	struct vbd_conn_manual manual;
	char device_name[64];	       /* "" until known */
	uint8_t port_num;	       /* 0 until known */
	struct sockaddr_storage local; /* ss_family 0 until known */
	struct sockaddr_storage peer;
	bool cm_connected; /* there is something to disconnect */

	struct vbd_qp qp;

	/* from the peer's request or reply */
	uint8_t peer_responder_resources;
	uint8_t peer_initiator_depth;
	struct vbd_private_data peer_private_data; /* of the last message that had room for it */
	bool reject_vendor_option;		   /* the reason of our own rejection */

	/* UC: packets of the peer by their numbers, as of the last look */
	uint32_t last_psn;
	uint64_t packets_sent;
	uint64_t lost_packets; /* those that are in no message that came */

	uint64_t created_ns, established_ns, ended_ns; /* 0: not yet */
	uint64_t timeout_ms;  /* of the way to established, to a decision, or of each stay in
				 AWAITING_REMOTE; 0: none */
	uint64_t deadline_ms; /* the one that runs; 0: none */
	uint64_t deadline_since_ns;
	struct vbd_timeline timeline;
};

/** vbd_conn_create - an active connection in RESOLVING_ADDR; nothing is sent yet. Its deadline runs
 * from here. @cm: private data that fits into a request */
enum vbd_status vbd_conn_create(struct vbd_fabric *fabric, uint64_t id,
	const struct vbd_conn_params *params, const struct vbd_cm_params *cm, uint64_t timeout_ms,
	const struct vbd_conn_ops *ops, void *ops_arg, struct vbd_conn **ret_conn,
	struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_conn_resolve - begin: the peer's address is known
 *
 * A failure is the connection's: its state says so, and its observers hear of it.
 */
void vbd_conn_resolve(struct vbd_conn *conn, const struct sockaddr *dst);

/** vbd_conn_name_failed - the host name has no address */
void vbd_conn_name_failed(struct vbd_conn *conn, const struct vbd_error *why);

/**
 * vbd_conn_create_passive - a connection in REQUESTED, of a listener's request
 * @cm: of the listener: its ToS, and the private data to accept with
 * @decide_timeout_ms: deadline of the decision; 0 for none
 */
struct vbd_pv_cm_event;
enum vbd_status vbd_conn_create_passive(struct vbd_fabric *fabric, uint64_t id,
	const struct vbd_conn_params *params, const struct vbd_cm_params *cm,
	uint64_t decide_timeout_ms, const struct vbd_pv_cm_event *request,
	const struct vbd_conn_ops *ops, void *ops_arg, struct vbd_conn **ret_conn,
	struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_conn_create_manual - a connection in AWAITING_REMOTE, of RC or UC on @device
 * @local: from vbd_manual_choose()
 * @timeout_ms: how long it may stay in AWAITING_REMOTE at a time; 0: for ever
 *
 * It has no QP until vbd_conn_open_manual().
 */
enum vbd_status vbd_conn_create_manual(struct vbd_fabric *fabric, uint64_t id,
	const struct vbd_conn_params *params, const struct vbd_device *device,
	const struct vbd_manual_local *local, uint64_t timeout_ms, const struct vbd_conn_ops *ops,
	void *ops_arg, struct vbd_conn **ret_conn, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_open_manual - make its QP, in INIT with its receives posted unless it shall
 * @stay_in_reset. A failure is the connection's. */
void vbd_conn_open_manual(struct vbd_conn *conn, bool stay_in_reset);

/**
 * vbd_conn_accept - accept a requested connection
 * @service: enum vbd_service; -1: the listener's
 * @reply:   private data of the answer; NULL: the listener's
 *
 * wrong_state unless it is REQUESTED. The connection's own state tells of a later failure.
 */
enum vbd_status vbd_conn_accept(struct vbd_conn *conn, int service,
	const struct vbd_private_data *reply, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_conn_reject - reject a requested connection; wrong_state otherwise
 * @private_data:  what the peer shall be told; NULL for nothing
 * @vendor_option: for the reason "vendor option not supported", else "consumer defined"
 */
enum vbd_status vbd_conn_reject(struct vbd_conn *conn, const struct vbd_private_data *private_data,
	bool vendor_option, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_close - disconnect and drain; harmless when its end is under way. @reason: LOCAL_CLOSE
 * or SHUTDOWN. */
void vbd_conn_close(struct vbd_conn *conn, enum vbd_reason reason);

/** vbd_conn_deadline - the deadline asked for by set_deadline() has passed */
void vbd_conn_deadline(struct vbd_conn *conn);

/** vbd_conn_device_removed - its device goes away */
void vbd_conn_device_removed(struct vbd_conn *conn);

/** vbd_conn_refresh_qp - ask the device for the QP's present state; what it can't tell stays */
void vbd_conn_refresh_qp(struct vbd_conn *conn);

/** vbd_conn_note - add an entry to the timeline and tell the observer */
void vbd_conn_note(struct vbd_conn *conn, enum vbd_timeline_kind kind, const char *what,
	const char *detail_fmt, ...) VBD_PRINTF(4, 5);

/** vbd_conn_destroy - free the record; CLOSED or FAILED, and not from inside an observer. NULL is
 * fine. */
void vbd_conn_destroy(struct vbd_conn *conn);

/* For the fabric. */
void vbd_conn_on_cm_event(struct vbd_conn *conn, const struct vbd_pv_cm_event *event);

#endif
