/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn/conn_parts.h"

#include "rdma/fabric/tries.h"

struct vbd_conn_tries {
	struct vbd_tries plan;
	struct vbd_conn_params params; /* as asked for: a device may lower some */
	bool recalled;		       /* the error in `plan` is the reason of the end */
	/* These are of the failed try whose error is in `plan`. */
	enum vbd_conn_event event;
	enum vbd_conn_state state;
	struct sockaddr_storage local, peer;
	struct vbd_device_id device;
	uint8_t port_num;
};

/* Allocates the tries if need be; NULL without memory. Only the deadline of all is set yet. */
static struct vbd_conn_tries *need_tries(struct vbd_conn *conn)
{
	struct vbd_conn_tries *tries = conn->tries;

	if (tries || conn->passive || conn->manual)
		return tries;
	tries = calloc(1, sizeof(*tries));
	if (!tries)
		return NULL;
	vbd_tries_init(&tries->plan, conn->deadline_since_ns, conn->timeout_ms);
	tries->params = conn->params;
	conn->tries = tries;
	return tries;
}

/* Clients are shown the deadline of all tries, not of one. */
static void set_try_timer(struct vbd_conn *conn, uint64_t ms)
{
	conn->deadline_ms = conn->timeout_ms;
	conn->deadline_since_ns = conn->tries->plan.began_ns;
	if (conn->ops->set_deadline)
		conn->ops->set_deadline(conn, ms, conn->ops_arg);
}

uint64_t vbd_conn_tries_patience_ms(const struct vbd_conn *conn)
{
	const struct vbd_conn_tries *tries = conn->tries;

	return tries && tries->plan.slice_ms ? tries->plan.slice_ms : conn->deadline_ms;
}

enum vbd_conn_state vbd_conn_tries_state(const struct vbd_conn *conn)
{
	return conn->tries && conn->tries->recalled ? conn->tries->state : conn->state;
}

/* --- the end of a try ------------------------------------------------------------------------ */

/* May the event end the try, so that another one follows? Over iWARP requests are flushed before a
 * rejection. */
static bool ends_try(enum vbd_conn_event event, const struct vbd_error *why)
{
	return event == VBD_CONN_EV_NAME_FAILED || event == VBD_CONN_EV_CALL_FAILED ||
	       event == VBD_CONN_EV_DEADLINE || event == VBD_CONN_EV_FLUSHED ||
	       vbd_tries_is_given_up(why);
}

static bool is_trying(enum vbd_conn_state state)
{
	return state == VBD_CONN_RESOLVING_ADDR || state == VBD_CONN_RESOLVING_ROUTE ||
	       state == VBD_CONN_CONNECTING;
}

static void record_try_failure(struct vbd_conn *conn, const struct vbd_error *error)
{
	const struct sockaddr_storage *tried = vbd_tries_addr(&conn->tries->plan);
	char addr[VBD_ADDR_TEXT_BYTES] = "";

	if (tried)
		(void)vbd_addr_format(tried, addr);
	vbd_conn_notef(conn, VBD_TIMELINE_TRY, "failed", "%s%s%s", addr, *addr ? ": " : "",
		error ? error->text : "a work request was flushed");
}

static void keep_best_failure(
	struct vbd_conn *conn, enum vbd_conn_event event, const struct vbd_error *error)
{
	struct vbd_conn_tries *tries = conn->tries;

	if (!error || !vbd_tries_keep(
			      &tries->plan, (int)conn->state, event == VBD_CONN_EV_DEADLINE, error))
		return;
	tries->event = event;
	tries->state = conn->state;
	tries->local = conn->local;
	tries->peer = conn->peer;
	tries->port_num = conn->port_num;
	tries->device = conn->device;
}

/* No try follows. @event: of the last one */
static enum vbd_conn_event choose_end_event(
	struct vbd_conn *conn, enum vbd_conn_event event, struct vbd_cause *cause)
{
	struct vbd_conn_tries *tries = conn->tries;

	tries->recalled = vbd_tries_end(&tries->plan, (int)conn->state,
		event == VBD_CONN_EV_DEADLINE, event == VBD_CONN_EV_TRIES_OVER, &cause->error);
	if (!tries->recalled)
		return event;
	conn->local = tries->local;
	conn->peer = tries->peer;
	conn->port_num = tries->port_num;
	conn->device = tries->device;
	return tries->event;
}

enum vbd_conn_event vbd_conn_tries_judge(struct vbd_conn *conn, enum vbd_conn_event event,
	struct vbd_cause *cause, enum vbd_conn_event *ret_blamed)
{
	struct vbd_conn_tries *tries = conn->tries;
	bool again;

	*ret_blamed = event;
	if (!tries)
		return event;
	if (event == VBD_CONN_EV_TRIES_OVER)
		*ret_blamed = choose_end_event(conn, event, cause);
	if (tries->plan.resting && event == VBD_CONN_EV_DEADLINE)
		return VBD_CONN_EV_NEXT_TRY;
	if (!is_trying(conn->state) || !ends_try(event, cause->error))
		return event;
	again = vbd_tries_go_on(&tries->plan, event == VBD_CONN_EV_DEADLINE, cause->error);
	if (again || tries->plan.named || tries->plan.count > 1)
		record_try_failure(conn, cause->error);
	if (!again) {
		*ret_blamed = choose_end_event(conn, event, cause);
		return event;
	}
	keep_best_failure(conn, event, cause->error);
	return VBD_CONN_EV_TRY_FAILED;
}

/* --- the next try ---------------------------------------------------------------------------- */

/* Forget the failed try, except its error. */
static void reset_failed_try(struct vbd_conn *conn)
{
	vbd_qp_renew(&conn->qp);
	conn->params = conn->tries->params;
	conn->device = (struct vbd_device_id){0};
	conn->port_num = 0;
	conn->local = (struct sockaddr_storage){0};
	conn->tag.disconnect_failed = false;
	conn->cm_asked = false;
	conn->cm_connected = false;
	conn->goodbye_owed = false;
	conn->peer_disconnected = false;
	conn->cm_over = false;
	conn->peer_responder_resources = UINT8_MAX;
	conn->peer_initiator_depth = UINT8_MAX;
	conn->peer_private_data = (struct vbd_private_data){0};
}

enum vbd_conn_event vbd_conn_tries_rest(struct vbd_conn *conn)
{
	struct vbd_tries *plan = &conn->tries->plan;
	uint64_t rest_ms = vbd_tries_rest_ms(plan);

	reset_failed_try(conn);
	/* A port of the client's choice is free when a call thread has destroyed the CM id. */
	if (conn->cm.src_port)
		rest_ms = VBD_TRIES_REST_MS;
	if (vbd_tries_left_ms(plan) <= rest_ms)
		return VBD_CONN_EV_TRIES_OVER;
	if (!rest_ms)
		return VBD_CONN_EV_NEXT_TRY;
	plan->resting = true;
	set_try_timer(conn, rest_ms);
	return VBD_CONN_NO_EVENT;
}

static enum vbd_status begin_try(struct vbd_conn *conn, struct vbd_error *err)
{
	struct vbd_tries *plan = &conn->tries->plan;
	uint64_t ms = vbd_tries_begin(plan);

	vbd_timeline_make_way(&conn->timeline);
	/* The deadline of all tries is set already. */
	if (plan->count > 1 || plan->slice_ms)
		set_try_timer(conn, ms);
	return vbd_conn_cm_resolve(conn, (const struct sockaddr *)vbd_tries_addr(plan), err);
}

enum vbd_status vbd_conn_tries_begin(struct vbd_conn *conn, const struct sockaddr_storage *addrs,
	size_t count, bool named, struct vbd_error *err)
{
	struct vbd_conn_tries *tries = need_tries(conn);

	if (!tries)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a connection");
	vbd_tries_set(&tries->plan, addrs, count, named);
	return begin_try(conn, err);
}

enum vbd_status vbd_conn_tries_next(struct vbd_conn *conn, struct vbd_error *err)
{
	struct vbd_tries *plan = &conn->tries->plan;

	if (vbd_tries_next(plan, conn->ops->look_up != NULL))
		return begin_try(conn, err);
	set_try_timer(conn, vbd_tries_left_ms(plan) + 1);
	return conn->ops->look_up(conn, conn->ops_arg, err);
}

void vbd_conn_tries_name_failed(struct vbd_conn *conn)
{
	struct vbd_conn_tries *tries = need_tries(conn);

	if (tries)
		tries->plan.named = true;
}

void vbd_conn_tries_free_if_over(struct vbd_conn *conn)
{
	if (is_trying(conn->state) || conn->state == VBD_CONN_RETRYING)
		return;
	free(conn->tries);
	conn->tries = NULL;
}
