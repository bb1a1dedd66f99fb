/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that the files of a connection share:
 *
 *   conn.c         creation, commands; conn_manual.c  commands of a manual bring-up
 *   conn_events.c  events of the CM, the QP and the layer above
 *   conn_step.c    a step through the table, and the actions; conn_move.c  those of a
 *                  manual bring-up
 *   conn_tries.c   the addresses and the time of the tries to connect
 *   conn_qp.c      the QP, and the call that may block; conn_cm.c  the CM id and its failures
 *   conn_record.c  the record: timeline, deadline, the reason of the end
 *
 * Each file calls only files below it in this list.
 *
 * Control thread.
 */
#ifndef VBD_RDMA_CONN_CONN_PARTS_H
#define VBD_RDMA_CONN_CONN_PARTS_H

#include "rdma/conn/conn.h"

struct ibv_qp_attr;
struct rdma_conn_param;
struct vbd_device;
struct vbd_fabric;
struct vbd_pv_cm_event;

/* --- conn_events.c ------------------------------------------------------------------------- */

extern const struct vbd_qp_ops vbd_conn_qp_ops;

/** vbd_conn_on_call_done - the call of the connection has returned: its call_done */
void vbd_conn_on_call_done(struct vbd_call *call);

/* --- conn_step.c --------------------------------------------------------------------------- */

/**
 * vbd_conn_step - look up the rule, set the state, act, and continue with the event that follows
 *
 * The state is set before the action, so that the new state's row undoes an action that fails
 * half-way. state_changed() is called once, with the last state, when no event follows.
 * Without a cause: vbd_conn_raise().
 */
void vbd_conn_step(struct vbd_conn *conn, enum vbd_conn_event event, const struct vbd_cause *cause);

/** vbd_conn_step_error - vbd_conn_step() with the cause @error */
void vbd_conn_step_error(
	struct vbd_conn *conn, enum vbd_conn_event event, const struct vbd_error *error);

/** vbd_conn_raise - vbd_conn_step() without a cause; VBD_CONN_NO_EVENT does nothing */
void vbd_conn_raise(struct vbd_conn *conn, enum vbd_conn_event event);

/** vbd_conn_drained - every command to the worker is back: go on with the end, unless a CM event
 * may still name the reason */
void vbd_conn_drained(struct vbd_conn *conn);

/* --- conn_qp.c ----------------------------------------------------------------------------- */

/** vbd_conn_call - run @work with a copy of @args on a call thread; vbd_conn_on_call_done()
 * follows. None is under way. @work uses nothing of the connection but its CM id or QP. */
enum vbd_status vbd_conn_call(struct vbd_conn *conn, enum vbd_conn_calling what,
	void (*work)(struct vbd_call *call), const struct vbd_conn_call *args,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_call_of - any thread; the call that @call is part of */
static inline struct vbd_conn_call *vbd_conn_call_of(struct vbd_call *call)
{
	return VBD_CONTAINER_OF(call, struct vbd_conn_call, call);
}

/* --- conn_record.c ------------------------------------------------------------------------- */

/** vbd_conn_set_deadline - have vbd_conn_deadline() called in @timeout_ms; 0: cancel */
void vbd_conn_set_deadline(struct vbd_conn *conn, uint64_t timeout_ms);

/** vbd_conn_remember - record the cause with which the end begins; later errors follow from the
 * first */
void vbd_conn_remember(
	struct vbd_conn *conn, enum vbd_conn_event event, const struct vbd_cause *cause);

/** vbd_conn_rename_cause - replace the cause that vbd_conn_remember() has recorded */
void vbd_conn_rename_cause(
	struct vbd_conn *conn, enum vbd_conn_event event, const struct vbd_cause *cause);

/** vbd_conn_refusal_disproved - something else explains why the QP is in ERR */
void vbd_conn_refusal_disproved(struct vbd_conn *conn);

/** vbd_conn_count_error - count a later error; it becomes the cause if the end began with the
 * peer's disconnect or with the state of the QP, both of which may precede the error here. That a
 * peer which has disconnected does not answer is no cause. */
void vbd_conn_count_error(
	struct vbd_conn *conn, enum vbd_conn_event event, const struct vbd_cause *cause);

/* --- conn_move.c --------------------------------------------------------------------------- */

/** vbd_conn_move_open - OPEN: create the QP, and move it to INIT with its receives posted unless
 * manual.stay_in_reset */
enum vbd_status vbd_conn_move_open(struct vbd_conn *conn, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_move_finish - process the result of @call, the move to RTR, and move on to manual.then.
 * Sets manual.failure on failure. */
enum vbd_conn_event vbd_conn_move_finish(struct vbd_conn *conn, const struct vbd_conn_call *call);

/** vbd_conn_move - MOVE_QP: move the QP to manual.to and then to manual.then, to RTR on a call
 * thread; sets manual.failure on failure */
enum vbd_conn_event vbd_conn_move(struct vbd_conn *conn);

/** vbd_conn_move_park - PARK: the worker begins to collect the flushes */
void vbd_conn_move_park(struct vbd_conn *conn);

/** vbd_conn_move_parked - PARKED: the flushes are collected; the channel is reset */
enum vbd_status vbd_conn_move_parked(struct vbd_conn *conn, struct vbd_error *err) VBD_MUST_CHECK;

/* --- conn_tries.c -------------------------------------------------------------------------- */

/** vbd_conn_tries_begin - try @addrs, 1 to VBD_ADDRS_MAX, one after the other, and again while the
 * caller's time lasts if nobody answered. @named: they are of a host name. A failure is that of the
 * first try. */
enum vbd_status vbd_conn_tries_begin(struct vbd_conn *conn, const struct sockaddr_storage *addrs,
	size_t count, bool named, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_tries_name_failed - the host name has no address now */
void vbd_conn_tries_name_failed(struct vbd_conn *conn);

/**
 * vbd_conn_tries_judge - the event that @event stands for: TRY_FAILED if it ends a try and another
 * one follows, NEXT_TRY if the time between two tries is over
 * @cause:      that of @event; if no try follows, that of the try which got furthest
 * @ret_blamed: the event of @cause
 */
enum vbd_conn_event vbd_conn_tries_judge(struct vbd_conn *conn, enum vbd_conn_event event,
	struct vbd_cause *cause, enum vbd_conn_event *ret_blamed);

/** vbd_conn_tries_rest - REST: nothing of the last try is left; returns NEXT_TRY unless the next
 * one has to wait, TRIES_OVER if there is no time for it */
enum vbd_conn_event vbd_conn_tries_rest(struct vbd_conn *conn);

/** vbd_conn_tries_next - TRY: the next address, or the first one again; looks a name up anew */
enum vbd_status vbd_conn_tries_next(struct vbd_conn *conn, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_tries_free_if_over - free the tries of a connection that no longer connects */
void vbd_conn_tries_free_if_over(struct vbd_conn *conn);

/** vbd_conn_tries_state - the state in which the end begins: the present one, unless the error of
 * another try stands for the end */
enum vbd_conn_state vbd_conn_tries_state(const struct vbd_conn *conn);

/** vbd_conn_tries_patience_ms - the length of the next deadline: of this try, or of all tries */
uint64_t vbd_conn_tries_patience_ms(const struct vbd_conn *conn);

/* --- conn_cm.c ----------------------------------------------------------------------------- */

/** vbd_cm_set_options - the ToS, the reuse of the address and IPv6 only, as far as @cm asks for
 * them */
enum vbd_status vbd_cm_set_options(struct rdma_cm_id *id, const struct vbd_cm_params *cm,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_cm_resolve - create the CM id, set its options, begin to resolve @dst */
enum vbd_status vbd_conn_cm_resolve(
	struct vbd_conn *conn, const struct sockaddr *dst, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_cm_resolve_route - begin to resolve the route; ROUTE_ERROR if the device is not the
 * requested one */
enum vbd_status vbd_conn_cm_resolve_route(
	struct vbd_conn *conn, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_cm_param - the argument of rdma_connect(3) or rdma_accept(3); points into @conn */
struct rdma_conn_param vbd_conn_cm_param(const struct vbd_conn *conn);

/** vbd_conn_cm_reject - reject the request, with the reason and the private data of @conn */
void vbd_conn_cm_reject(struct vbd_conn *conn);

/** vbd_conn_cm_take_device - copy the device and port number of the CM id */
void vbd_conn_cm_take_device(struct vbd_conn *conn);

/** vbd_conn_cm_take_addresses - copy both addresses of the CM id */
void vbd_conn_cm_take_addresses(struct vbd_conn *conn);

/** vbd_conn_cm_take_scope - link-local addresses without a scope get that of interface @netdev */
void vbd_conn_cm_take_scope(struct vbd_conn *conn, const char *netdev);

/** vbd_conn_cm_take_peer_data - copy the peer's limits and private data from @event */
void vbd_conn_cm_take_peer_data(struct vbd_conn *conn, const struct vbd_pv_cm_event *event);

/** vbd_conn_cm_disconnect - disconnect if the CM thinks that it is connected, unless the device
 * must not send now */
void vbd_conn_cm_disconnect(struct vbd_conn *conn);

/** vbd_conn_cm_outlives - hand the CM id over if the peer must still be told of the end; false:
 * there is none, or the caller destroys it */
bool vbd_conn_cm_outlives(struct vbd_conn *conn);

/**
 * vbd_cm_error_of_event - the error that @event reports
 * @status:    of the event's type
 * @ret_error: filled; its status is another one if the CM failed on this host
 */
void vbd_cm_error_of_event(const struct vbd_fabric *fabric, const struct vbd_pv_cm_event *event,
	enum vbd_status status, struct vbd_error *ret_error);

/** vbd_cm_error_of_silence - add to @error, of a peer that has not answered, that the CM of @device
 * (NULL: not known yet) may receive nothing */
void vbd_cm_error_of_silence(const struct vbd_device *device, struct vbd_error *error);

/** vbd_cm_error_of_connect - give @error, of rdma_connect(3) over iWARP, the status that its errno
 * stands for: there that call is the TCP handshake with the peer */
void vbd_cm_error_of_connect(struct vbd_error *error);

/* --- conn_qp.c ----------------------------------------------------------------------------- */

/** vbd_conn_qp_prepare - vbd_qp_reserve() on the device of the connection, and get its memory: at
 * once, or on a call thread if `calling` is set then */
enum vbd_status vbd_conn_qp_prepare(struct vbd_conn *conn, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_qp_open - vbd_qp_open(), which the timeline notes */
enum vbd_status vbd_conn_qp_open(struct vbd_conn *conn, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_conn_qp_go_rtr - move the QP to RTR at once, if the kernel knows the peer's hardware address;
 * else on a call thread, and `calling` is set
 *
 * On RoCE the kernel resolves the address, which blocks for up to a second (ib_resolve_eth_dmac()
 * in core/verbs.c, 6.1). A failure of the call is in its status.
 */
enum vbd_status vbd_conn_qp_go_rtr(struct vbd_conn *conn, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_qp_attach - move the QP to INIT, post its receives, attach it to the worker; after a
 * failure the QP is in RESET */
enum vbd_status vbd_conn_qp_attach(struct vbd_conn *conn, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_conn_qp_move - vbd_qp_modify() to @state (enum ibv_qp_state)
 *
 * The attributes are those of the CM (rdma_init_qp_attr(3)), with the timers and retries of the
 * connection's parameters. If the CM has no attributes for the state (iWARP: RTS), the kernel moves
 * the QP, and this function does nothing.
 */
enum vbd_status vbd_conn_qp_move(
	struct vbd_conn *conn, int state, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_qp_moved - record that the QP was moved with the attributes @attr that @mask names */
void vbd_conn_qp_moved(struct vbd_conn *conn, const struct ibv_qp_attr *attr, int mask);

/** vbd_conn_qp_up - the QP is in RTS: its attributes are known. The device is asked only for those
 * that the kernel or a client has set. */
void vbd_conn_qp_up(struct vbd_conn *conn);

/** vbd_conn_qp_failed - whether the device reports that the QP is in ERR; false over iWARP */
bool vbd_conn_qp_failed(const struct vbd_conn *conn);

/* --- conn_manual.c ------------------------------------------------------------------------- */

/** vbd_conn_moved - end the step whose move to RTR has returned from its call thread; @call has the
 * result */
void vbd_conn_moved(struct vbd_conn *conn, const struct vbd_conn_call *call);

#endif
