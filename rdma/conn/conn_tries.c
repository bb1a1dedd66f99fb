/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn/conn_parts.h"

#include "base/clock.h"
#include "rdma/device/source.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>

/* Between the last address of a round of tries and the first one of the next round: a failure may
 * come at once. */
#define REST_MS 500

/* A failed try, with the members of the connection that say how far it got. */
struct failure {
	enum vbd_conn_event event; /* VBD_CONN_NO_EVENT: no try has failed */
	enum vbd_conn_state state;
	struct vbd_error error;
	struct sockaddr_storage local, peer;
	char device_name[64];
	uint8_t port_num;
};

struct vbd_conn_tries {
	struct sockaddr_storage addrs[VBD_ADDRS_MAX]; /* of this round, in the order of tries */
	size_t addr_count;
	size_t at; /* of the address that is tried; addr_count while there is none */
	bool named;
	bool away;		 /* an address of this round may answer later */
	bool resting;		 /* RETRYING, and nothing of the try before is left */
	uint64_t slice_ms;	 /* the part of the caller's time that this try has; 0: all */
	unsigned int count;	 /* tries that began */
	uint64_t began_ns;	 /* of the caller's time */
	struct failure furthest; /* of the tries before, the newest of those that got so far */
	bool recalled;		 /* the furthest failure stands for the end */
	struct vbd_conn_params params; /* as asked for: a device may lower some */
};

/* NULL without memory. The deadline of the whole is set, and no other one was yet. */
static struct vbd_conn_tries *tries_of(struct vbd_conn *conn)
{
	struct vbd_conn_tries *tries = conn->tries;

	if (tries || conn->passive || conn->manual)
		return tries;
	tries = calloc(1, sizeof(*tries));
	if (!tries)
		return NULL;
	tries->began_ns = conn->deadline_since_ns;
	tries->params = conn->params;
	tries->furthest.event = VBD_CONN_NO_EVENT;
	conn->tries = tries;
	return tries;
}

static uint64_t time_left_ms(const struct vbd_conn *conn)
{
	uint64_t passed_ms = (vbd_clock_mono_ns() - conn->tries->began_ns) / VBD_NS_PER_MS;

	return passed_ms < conn->timeout_ms ? conn->timeout_ms - passed_ms : 0;
}

/* Clients see the time of the whole. */
static void set_timer(struct vbd_conn *conn, uint64_t ms)
{
	conn->deadline_ms = conn->timeout_ms;
	conn->deadline_since_ns = conn->tries->began_ns;
	if (conn->ops->set_deadline)
		conn->ops->set_deadline(conn, ms ? ms : 1, conn->ops_arg);
}

uint64_t vbd_conn_tries_patience_ms(const struct vbd_conn *conn)
{
	return conn->tries && conn->tries->slice_ms ? conn->tries->slice_ms : conn->deadline_ms;
}

enum vbd_conn_state vbd_conn_tries_state(const struct vbd_conn *conn)
{
	return conn->tries && conn->tries->recalled ? conn->tries->furthest.state : conn->state;
}

/* --- the end of a try ------------------------------------------------------------------------ */

/* A try that may end so has reached nothing that is worth keeping. */
static bool ends_try(enum vbd_conn_event event)
{
	static const bool ends[VBD_CONN_EVENT_COUNT] = {
		[VBD_CONN_EV_NAME_FAILED] = true,
		[VBD_CONN_EV_ADDR_ERROR] = true,
		[VBD_CONN_EV_ROUTE_ERROR] = true,
		[VBD_CONN_EV_CONNECT_ERROR] = true,
		[VBD_CONN_EV_UNREACHABLE] = true,
		[VBD_CONN_EV_REJECTED] = true,
		[VBD_CONN_EV_FLUSHED] = true, /* over iWARP before a rejection */
		[VBD_CONN_EV_CALL_FAILED] = true,
		[VBD_CONN_EV_DEADLINE] = true,
	};

	return ends[event];
}

static bool is_trying(enum vbd_conn_state state)
{
	return state == VBD_CONN_RESOLVING_ADDR || state == VBD_CONN_RESOLVING_ROUTE ||
	       state == VBD_CONN_CONNECTING;
}

/* Nobody has answered, so that somebody may answer later. */
static bool is_away(const struct vbd_error *error)
{
	if (error->source == VBD_SOURCE_GAI)
		return error->raw == EAI_AGAIN;
	if (error->status == VBD_E_ADDR_ERROR || error->status == VBD_E_ROUTE_ERROR)
		return error->source == VBD_SOURCE_CM_EVENT && error->raw == -ETIMEDOUT;
	return error->status == VBD_E_UNREACHABLE;
}

static bool has_more(const struct vbd_conn_tries *tries)
{
	return tries->at + 1 < tries->addr_count;
}

static bool goes_on(
	const struct vbd_conn *conn, enum vbd_conn_event event, const struct vbd_error *error)
{
	struct vbd_conn_tries *tries = conn->tries;

	if (event == VBD_CONN_EV_DEADLINE && !tries->slice_ms)
		return false;
	tries->away = tries->away || event == VBD_CONN_EV_DEADLINE || (error && is_away(error));
	return (has_more(tries) || tries->away) && time_left_ms(conn) > 0;
}

static bool is_at_address(const struct vbd_conn_tries *tries)
{
	return tries->at < tries->addr_count;
}

static void note_failure(struct vbd_conn *conn, const struct vbd_error *error)
{
	const struct vbd_conn_tries *tries = conn->tries;
	char addr[VBD_ADDR_TEXT_BYTES] = "";

	if (is_at_address(tries))
		(void)vbd_addr_format(&tries->addrs[tries->at], addr);
	vbd_conn_notef(conn, VBD_TIMELINE_TRY, "failed", "%s%s%s", addr, *addr ? ": " : "",
		error ? error->text : "a work request was flushed");
}

static void keep_failure(
	struct vbd_conn *conn, enum vbd_conn_event event, const struct vbd_error *error)
{
	struct failure *furthest = &conn->tries->furthest;

	if (!error || (furthest->event != VBD_CONN_NO_EVENT && furthest->state > conn->state))
		return;
	furthest->event = event;
	furthest->state = conn->state;
	furthest->error = *error;
	furthest->local = conn->local;
	furthest->peer = conn->peer;
	furthest->port_num = conn->port_num;
	memcpy(furthest->device_name, conn->device_name, sizeof(furthest->device_name));
}

/* The detail names the address, which a request with a name does not. */
static void complete_text(const struct vbd_conn *conn, const struct failure *last, char *text)
{
	const struct vbd_conn_tries *tries = conn->tries;
	const size_t bytes = sizeof(last->error.text);
	char addr[VBD_ADDR_TEXT_BYTES] = "", tried[64] = "";

	if (tries->named && last->event != VBD_CONN_EV_NAME_FAILED)
		(void)vbd_addr_format(&last->peer, addr);
	if (tries->count > 1)
		(void)snprintf(tried, sizeof(tried), "; %u tries in %llu ms", tries->count,
			(unsigned long long)(conn->timeout_ms - time_left_ms(conn)));
	(void)snprintf(text, bytes, "%s%s%.*s%s", addr, *addr ? ": " : "",
		(int)(bytes - sizeof(addr) - sizeof(tried) - 2), last->error.text, tried);
}

static void restore(struct vbd_conn *conn, const struct failure *failure)
{
	conn->tries->recalled = true;
	conn->local = failure->local;
	conn->peer = failure->peer;
	conn->port_num = failure->port_num;
	memcpy(conn->device_name, failure->device_name, sizeof(conn->device_name));
}

/* Does a try before stand for the end, which is @event of the try that fails now? */
static bool got_further(const struct vbd_conn *conn, enum vbd_conn_event event)
{
	const struct failure *furthest = &conn->tries->furthest;

	if (furthest->event == VBD_CONN_NO_EVENT)
		return false;
	if (event == VBD_CONN_EV_TRIES_OVER || furthest->state > conn->state)
		return true;
	/* A deadline says less than any other event. */
	return furthest->state == conn->state && event == VBD_CONN_EV_DEADLINE &&
	       furthest->event != VBD_CONN_EV_DEADLINE;
}

/* No try follows. @event: of the last one */
static enum vbd_conn_event end_tries(
	struct vbd_conn *conn, enum vbd_conn_event event, struct vbd_cause *cause)
{
	struct vbd_conn_tries *tries = conn->tries;
	struct failure *furthest = &tries->furthest;
	char text[sizeof(furthest->error.text)];

	if (tries->count < 2 && !tries->named && event != VBD_CONN_EV_TRIES_OVER)
		return event;
	if (got_further(conn, event))
		restore(conn, furthest);
	else
		keep_failure(conn, event, cause->error);
	if (!tries->recalled && !cause->error)
		return event;
	complete_text(conn, furthest, text);
	memcpy(furthest->error.text, text, sizeof(text));
	cause->error = &furthest->error;
	return furthest->event;
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
		*ret_blamed = end_tries(conn, event, cause);
	if (tries->resting && event == VBD_CONN_EV_DEADLINE)
		return VBD_CONN_EV_NEXT_TRY;
	if (!is_trying(conn->state) || !ends_try(event))
		return event;
	again = goes_on(conn, event, cause->error);
	if (again || tries->named || tries->count > 1)
		note_failure(conn, cause->error);
	if (!again) {
		*ret_blamed = end_tries(conn, event, cause);
		return event;
	}
	keep_failure(conn, event, cause->error);
	return VBD_CONN_EV_TRY_FAILED;
}

/* --- the next try ---------------------------------------------------------------------------- */

/* Forget the try that has failed, except why. */
static void reset(struct vbd_conn *conn)
{
	vbd_qp_renew(&conn->qp);
	conn->params = conn->tries->params;
	conn->device_name[0] = '\0';
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
	struct vbd_conn_tries *tries = conn->tries;
	/* A port of the client's choice is free when a call thread has destroyed the CM id. */
	uint64_t rest_ms = has_more(tries) && !conn->cm.src_port ? 0 : REST_MS;

	reset(conn);
	if (time_left_ms(conn) <= rest_ms)
		return VBD_CONN_EV_TRIES_OVER;
	if (!rest_ms)
		return VBD_CONN_EV_NEXT_TRY;
	tries->resting = true;
	set_timer(conn, rest_ms);
	return VBD_CONN_NO_EVENT;
}

/* Each address of the round has its part of the time that is left, the last one all of it. */
static void share_time(struct vbd_conn *conn)
{
	struct vbd_conn_tries *tries = conn->tries;
	uint64_t left_ms = time_left_ms(conn), addrs_left = tries->addr_count - tries->at;

	tries->slice_ms = addrs_left > 1 ? left_ms / addrs_left + 1 : 0;
	if (tries->count > 1 || tries->slice_ms)
		set_timer(conn, tries->slice_ms ? tries->slice_ms : left_ms);
}

static enum vbd_status begin(struct vbd_conn *conn, struct vbd_error *err)
{
	struct vbd_conn_tries *tries = conn->tries;

	tries->count++;
	vbd_timeline_make_way(&conn->timeline);
	share_time(conn);
	return vbd_conn_cm_resolve(conn, (const struct sockaddr *)&tries->addrs[tries->at], err);
}

enum vbd_status vbd_conn_tries_begin(struct vbd_conn *conn, const struct sockaddr_storage *addrs,
	size_t count, bool named, struct vbd_error *err)
{
	struct vbd_conn_tries *tries = tries_of(conn);

	if (!tries)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a connection");
	memcpy(tries->addrs, addrs, count * sizeof(addrs[0]));
	tries->addr_count = count;
	tries->at = 0;
	tries->named = named;
	return begin(conn, err);
}

enum vbd_status vbd_conn_tries_next(struct vbd_conn *conn, struct vbd_error *err)
{
	struct vbd_conn_tries *tries = conn->tries;

	tries->resting = false;
	if (has_more(tries)) {
		tries->at++;
		return begin(conn, err);
	}
	tries->away = false;
	tries->at = 0;
	if (!tries->named || !conn->ops->look_up)
		return begin(conn, err);
	/* Another host may have the name by now. */
	tries->addr_count = 0;
	tries->slice_ms = 0;
	set_timer(conn, time_left_ms(conn));
	return conn->ops->look_up(conn, conn->ops_arg, err);
}

void vbd_conn_tries_name_failed(struct vbd_conn *conn)
{
	struct vbd_conn_tries *tries = tries_of(conn);

	if (tries)
		tries->named = true;
}

void vbd_conn_tries_settle(struct vbd_conn *conn)
{
	if (is_trying(conn->state) || conn->state == VBD_CONN_RETRYING)
		return;
	free(conn->tries);
	conn->tries = NULL;
}
