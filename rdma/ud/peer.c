/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/ud/peer.h"

#include "base/clock.h"
#include "base/log.h"
#include "rdma/device/pd.h"
#include "rdma/fabric/tries.h"
#include "rdma/provider/provider.h"

#define ON(event, next, action, note) \
	[VBD_PEER_EV_##event] = {VBD_PEER_##next, VBD_PEER_DO_##action, note}
/* The rule of a state for all events without a row. */
#define OTHERWISE(next, action, note) \
	[VBD_PEER_EVENT_COUNT] = {VBD_PEER_##next, VBD_PEER_DO_##action, note}

/* No address is tried by CM any more. */
#define NO_TRY(state)                                                          \
	ON(TRY_FAILED, state, IGNORE, "nothing is tried in this state"),       \
		ON(NEXT_TRY, state, IGNORE, "nothing is tried in this state"), \
		ON(TRIES_OVER, state, IGNORE, "nothing is tried in this state")

/* The events that end every state of the resolution by CM. */
#define ASKED_FOR(state)                                                                        \
	ON(TRY_FAILED, RETRYING, REST, "another address, or the same one later, may answer"),   \
		ON(NEXT_TRY, state, IGNORE, "the try is under way"),                            \
		ON(TRIES_OVER, state, IGNORE, "the try is under way"),                          \
		ON(DEVICE_REMOVAL, FAILED, FAIL, "the kernel waits until the id is destroyed"), \
		ON(OTHER_CM, state, IGNORE, "it says nothing about a peer"),                    \
		ON(AH_MADE, state, FREE_AH, "nobody had asked for it"),                         \
		ON(AH_FAILED, state, IGNORE, "nobody had asked for it"),                        \
		ON(CALL_FAILED, FAILED, FAIL, "a call that the action needs failed"),           \
		ON(DEADLINE, FAILED, FAIL, "the deadline has passed"),                          \
		ON(ENDPOINT_ENDED, FAILED, FAIL, "there is nothing to send from any more")

/* clang-format off */
static const struct vbd_rule rules[VBD_PEER_STATE_COUNT][VBD_PEER_EVENT_COUNT + 1] = {
	[VBD_PEER_RESOLVING_ADDR] = {
		ON(KNOWN, MAKING_AH, MAKE_AH, "nobody needs to be asked"),
		ON(NAME_FAILED, FAILED, FAIL, "there is no address to ask at"),
		ON(ADDR_RESOLVED, RESOLVING_ROUTE, RESOLVE_ROUTE, "the device is known, the path is next"),
		ON(ADDR_ERROR, FAILED, FAIL, "no neighbour answers there"),
		ON(ROUTE_RESOLVED, RESOLVING_ADDR, IGNORE, "it was not asked for yet"),
		ON(ROUTE_ERROR, FAILED, FAIL, "no path"),
		ON(ANSWERED, RESOLVING_ADDR, IGNORE, "nobody was asked yet"),
		ON(REJECTED, FAILED, FAIL, "the CM gives it up"),
		ON(UNREACHABLE, FAILED, FAIL, "the CM gives it up"),
		ON(CONNECT_ERROR, FAILED, FAIL, "the CM gives it up"),
		ASKED_FOR(RESOLVING_ADDR),
	},
	[VBD_PEER_RESOLVING_ROUTE] = {
		ON(KNOWN, RESOLVING_ROUTE, IGNORE, "it is asked for"),
		ON(NAME_FAILED, RESOLVING_ROUTE, IGNORE, "its address is known"),
		ON(ADDR_RESOLVED, RESOLVING_ROUTE, IGNORE, "repeated: the table already has this information"),
		ON(ADDR_ERROR, FAILED, FAIL, "the address was lost"),
		ON(ROUTE_RESOLVED, ASKING, ASK, "the peer can be asked"),
		ON(ROUTE_ERROR, FAILED, FAIL, "no path"),
		ON(ANSWERED, RESOLVING_ROUTE, IGNORE, "nobody was asked yet"),
		ON(REJECTED, FAILED, FAIL, "the CM gives it up"),
		ON(UNREACHABLE, FAILED, FAIL, "the CM gives it up"),
		ON(CONNECT_ERROR, FAILED, FAIL, "the CM gives it up"),
		ASKED_FOR(RESOLVING_ROUTE),
	},
	[VBD_PEER_ASKING] = {
		ON(KNOWN, ASKING, IGNORE, "it is asked for"),
		ON(NAME_FAILED, ASKING, IGNORE, "its address is known"),
		ON(ADDR_RESOLVED, ASKING, IGNORE, "repeated: the table already has this information"),
		ON(ADDR_ERROR, FAILED, FAIL, "the address was lost"),
		ON(ROUTE_RESOLVED, ASKING, IGNORE, "repeated: the table already has this information"),
		ON(ROUTE_ERROR, FAILED, FAIL, "the path was lost"),
		ON(ANSWERED, MAKING_AH, MAKE_AH, "QP number, qkey and path are there"),
		ON(REJECTED, FAILED, FAIL, "no program listens there, or the program refused"),
		ON(UNREACHABLE, FAILED, FAIL, "no answer arrived"),
		ON(CONNECT_ERROR, FAILED, FAIL, "the answer could not be used"),
		ASKED_FOR(ASKING),
	},
	[VBD_PEER_RETRYING] = {
		ON(KNOWN, RETRYING, IGNORE, "it is asked for"),
		ON(NEXT_TRY, RESOLVING_ADDR, TRY, "nothing of the try before is left"),
		ON(TRIES_OVER, FAILED, FAIL, "the deadline comes before another try could"),
		ON(AH_MADE, RETRYING, FREE_AH, "nobody had asked for it"),
		ON(CALL_FAILED, FAILED, FAIL, "a call that the action needs failed"),
		ON(DEADLINE, FAILED, FAIL, "the deadline has passed"),
		ON(DEVICE_REMOVAL, FAILED, FAIL, "its endpoint is about to end"),
		ON(ENDPOINT_ENDED, FAILED, FAIL, "there is nothing to send from any more"),
		OTHERWISE(RETRYING, IGNORE, "the event is about a try that has failed already"),
	},
	[VBD_PEER_MAKING_AH] = {
		NO_TRY(MAKING_AH),
		ON(KNOWN, MAKING_AH, IGNORE, "this event is the cause"),
		ON(NAME_FAILED, MAKING_AH, IGNORE, "its address is known"),
		ON(DEVICE_REMOVAL, FAILED, FAIL, "the handle would be of a device that goes"),
		ON(AH_MADE, READY, KEEP_AH, "it can be sent to"),
		ON(AH_FAILED, FAILED, FAIL, "no neighbour on the way, or no memory"),
		ON(CALL_FAILED, FAILED, FAIL, "a call that the action needs failed"),
		ON(DEADLINE, FAILED, FAIL, "it took too long; the handle is dropped when it comes"),
		ON(ENDPOINT_ENDED, FAILED, FAIL, "there is nothing to send from any more"),
		OTHERWISE(MAKING_AH, IGNORE, "the CM id is destroyed"),
	},
	[VBD_PEER_READY] = {
		NO_TRY(READY),
		ON(KNOWN, READY, IGNORE, "it is"),
		ON(NAME_FAILED, READY, IGNORE, "its address is known"),
		ON(DEVICE_REMOVAL, READY, IGNORE, "its endpoint is about to end, and takes it along"),
		ON(AH_MADE, READY, FREE_AH, "it has one"),
		ON(AH_FAILED, READY, IGNORE, "it has one"),
		ON(CALL_FAILED, READY, IGNORE, "it needs none any more"),
		ON(DEADLINE, READY, IGNORE, "the operation was in time; the timer fired late"),
		ON(ENDPOINT_ENDED, FAILED, FAIL, "there is nothing to send from any more"),
		OTHERWISE(READY, IGNORE, "the CM id is destroyed"),
	},
	[VBD_PEER_FAILED] = {
		ON(AH_MADE, FAILED, FREE_AH, "the event arrived too late"),
		OTHERWISE(FAILED, IGNORE, "it is over"),
	},
};
/* clang-format on */

VBD_RULES(vbd_peer_rule, enum vbd_peer_state, enum vbd_peer_event, rules)

VBD_ENUM_NAMES(vbd_peer_state_name, enum vbd_peer_state, VBD_PEER_STATE_MAP)
VBD_ENUM_COLUMN(const char *, vbd_peer_state_json, enum vbd_peer_state, VBD_PEER_STATE_MAP, 3)
VBD_ENUM_COLUMN(const char *, vbd_peer_state_waits_for, enum vbd_peer_state, VBD_PEER_STATE_MAP, 4)
VBD_ENUM_NAMES(vbd_peer_event_name, enum vbd_peer_event, VBD_PEER_EVENT_MAP)

static void step_peer(
	struct vbd_peer *peer, enum vbd_peer_event event, const struct vbd_error *why);

static void end_cm_id(struct vbd_peer *peer)
{
	vbd_calls_end_id(peer->calls, &peer->account, peer->cm_id);
	peer->cm_id = NULL;
}

/* Actions. */

static enum vbd_status resolve_route(struct vbd_peer *peer, struct vbd_error *err)
{
	enum vbd_status status =
		vbd_endpoint_check_device(peer->endpoint, peer->cm_id, "peer", err);

	return status ? status : vbd_pv_resolve_route(peer->cm_id, VBD_RESOLVE_TIMEOUT_MS, err);
}

static enum vbd_status send_sidr_request(struct vbd_peer *peer, struct vbd_error *err)
{
	struct rdma_conn_param param = {
		.qp_num = peer->endpoint->qp.info.lqpn,
		.private_data = peer->request.length_bytes ? peer->request.bytes : NULL,
		.private_data_len = peer->request.length_bytes,
	};

	return vbd_pv_connect(peer->cm_id, &param, err);
}

static void free_tries(struct vbd_peer *peer)
{
	free(peer->tries);
	peer->tries = NULL;
}

static void rest_until_next_try(struct vbd_peer *peer)
{
	struct vbd_tries *tries = peer->tries;
	uint64_t rest_ms = vbd_tries_rest_ms(tries);

	end_cm_id(peer);
	if (vbd_tries_left_ms(tries) <= rest_ms) {
		step_peer(peer, VBD_PEER_EV_TRIES_OVER, NULL);
	} else if (!rest_ms) {
		step_peer(peer, VBD_PEER_EV_NEXT_TRY, NULL);
	} else {
		tries->resting = true;
		peer->ops->set_deadline(peer, rest_ms, peer->ops_arg);
	}
}

static enum vbd_status begin_try(struct vbd_peer *peer, struct vbd_error *err)
{
	struct vbd_tries *tries = peer->tries;
	uint64_t ms = vbd_tries_begin(tries);

	/* The deadline of all tries is set already. */
	if (tries->count > 1 || tries->slice_ms)
		peer->ops->set_deadline(peer, ms, peer->ops_arg);
	return vbd_endpoint_resolve_addr(peer->endpoint, &peer->account, &peer->tag,
		(const struct sockaddr *)vbd_tries_addr(tries), &peer->cm_id, err);
}

static enum vbd_status begin_next_try(struct vbd_peer *peer, struct vbd_error *err)
{
	if (vbd_tries_next(peer->tries, true))
		return begin_try(peer, err);
	peer->ops->set_deadline(peer, vbd_tries_left_ms(peer->tries) + 1, peer->ops_arg);
	return peer->ops->look_up(peer, peer->ops_arg, err);
}

static void begin_make_ah(struct vbd_peer *peer)
{
	/* The CM id is not needed any more. */
	end_cm_id(peer);
	if (peer->tries)
		peer->ops->set_deadline(peer, vbd_tries_left_ms(peer->tries) + 1, peer->ops_arg);
	free_tries(peer);
	peer->ah_pending = true;
	peer->ah_pd = peer->endpoint->qp.pd;
	vbd_pd_ref(peer->ah_pd);
	peer->ops->make_ah(peer, peer->ops_arg);
}

static void free_late_ah(struct vbd_peer *peer)
{
	vbd_ah_destroy(peer->calls, peer->made);
	peer->made = NULL;
}

static void fail_peer(struct vbd_peer *peer, const struct vbd_error *why)
{
	end_cm_id(peer);
	vbd_ah_destroy(peer->calls, peer->ah);
	peer->ah = NULL;
	peer->error = *why;
	free_tries(peer);
}

static enum vbd_status perform_action(struct vbd_peer *peer, enum vbd_peer_action action,
	const struct vbd_error *why, struct vbd_error *err)
{
	switch (action) {
	case VBD_PEER_DO_RESOLVE_ROUTE:
		return resolve_route(peer, err);
	case VBD_PEER_DO_ASK:
		return send_sidr_request(peer, err);
	case VBD_PEER_DO_REST:
		rest_until_next_try(peer);
		break;
	case VBD_PEER_DO_TRY:
		return begin_next_try(peer, err);
	case VBD_PEER_DO_MAKE_AH:
		begin_make_ah(peer);
		break;
	case VBD_PEER_DO_KEEP_AH:
		peer->ah = peer->made;
		peer->made = NULL;
		break;
	case VBD_PEER_DO_FREE_AH:
		free_late_ah(peer);
		break;
	case VBD_PEER_DO_FAIL:
		fail_peer(peer, why);
		break;
	case VBD_PEER_DO_IGNORE:
	case VBD_PEER_ACTION_COUNT:
		break;
	}
	return VBD_OK;
}

static bool ends_try(enum vbd_peer_event event, const struct vbd_error *why)
{
	return event == VBD_PEER_EV_NAME_FAILED || event == VBD_PEER_EV_CALL_FAILED ||
	       event == VBD_PEER_EV_DEADLINE || vbd_tries_is_given_up(why);
}

/* The event that @event stands for during the tries; @why: the best error after the last try. */
static enum vbd_peer_event judge_event(
	struct vbd_peer *peer, enum vbd_peer_event event, const struct vbd_error **why)
{
	struct vbd_tries *tries = peer->tries;
	bool late = event == VBD_PEER_EV_DEADLINE;

	if (!tries)
		return event;
	if (event == VBD_PEER_EV_TRIES_OVER)
		(void)vbd_tries_end(tries, (int)peer->state, late, true, why);
	if (tries->resting && late)
		return VBD_PEER_EV_NEXT_TRY;
	if (peer->state == VBD_PEER_RETRYING || !ends_try(event, *why))
		return event;
	if (!vbd_tries_go_on(tries, late, *why)) {
		(void)vbd_tries_end(tries, (int)peer->state, late, false, why);
		return event;
	}
	vbd_log(VBD_LOG_DEBUG, "peer", "%llu: a try failed: %s", (unsigned long long)peer->id,
		(*why)->text);
	(void)vbd_tries_keep(tries, (int)peer->state, late, *why);
	return VBD_PEER_EV_TRY_FAILED;
}

/* Look up the rule, set the state, act; the new state's row undoes an action that fails. */
static void step_peer(struct vbd_peer *peer, enum vbd_peer_event asked, const struct vbd_error *why)
{
	enum vbd_peer_event event = judge_event(peer, asked, &why);
	const struct vbd_rule *rule = vbd_peer_rule(peer->state, event);
	enum vbd_peer_state old = peer->state;
	struct vbd_error error = {0};

	if (rule->next != old)
		vbd_log(VBD_LOG_DEBUG, "peer", "%llu %s -> %s (%s)", (unsigned long long)peer->id,
			vbd_peer_state_name(old), vbd_peer_state_name(rule->next),
			vbd_peer_event_name(event));
	peer->state = rule->next;
	if (perform_action(peer, rule->action, why, &error) != VBD_OK) {
		step_peer(peer, VBD_PEER_EV_CALL_FAILED, &error);
		return;
	}
	/* If the action made a further step, that step has notified. */
	if (peer->state != old && peer->state == rule->next)
		peer->ops->state_changed(peer, peer->ops_arg);
}

void vbd_peer_init(struct vbd_peer *peer, uint64_t id, struct vbd_endpoint *endpoint,
	const struct vbd_private_data *request, uint64_t timeout_ms, const struct vbd_peer_ops *ops,
	void *ops_arg)
{
	peer->tag.kind = VBD_CM_PEER;
	peer->id = id;
	peer->endpoint = endpoint;
	peer->calls = endpoint->fabric->calls;
	peer->request = *request;
	peer->ops = ops;
	peer->ops_arg = ops_arg;
	peer->state = VBD_PEER_RESOLVING_ADDR;
	peer->timeout_ms = timeout_ms;
	peer->began_ns = vbd_clock_mono_ns();
}

/* NULL without memory. */
static struct vbd_tries *need_tries(struct vbd_peer *peer)
{
	if (peer->tries)
		return peer->tries;
	peer->tries = malloc(sizeof(*peer->tries));
	if (peer->tries)
		vbd_tries_init(peer->tries, peer->began_ns, peer->timeout_ms);
	return peer->tries;
}

void vbd_peer_resolve(
	struct vbd_peer *peer, const struct sockaddr_storage *addrs, size_t count, bool named)
{
	struct vbd_error error = {0};
	struct vbd_tries *tries;

	/* The endpoint may have ended while the host name was resolved. */
	if (peer->state != VBD_PEER_RESOLVING_ADDR)
		return;
	tries = need_tries(peer);
	if (!tries) {
		(void)vbd_error_set(&error, VBD_E_NO_MEMORY, "no memory to find the peer");
		step_peer(peer, VBD_PEER_EV_CALL_FAILED, &error);
		return;
	}
	vbd_tries_set(tries, addrs, count, named);
	if (begin_try(peer, &error) != VBD_OK)
		step_peer(peer, VBD_PEER_EV_CALL_FAILED, &error);
}

void vbd_peer_name_failed(struct vbd_peer *peer, const struct vbd_error *why)
{
	struct vbd_tries *tries = peer->state == VBD_PEER_RESOLVING_ADDR ? need_tries(peer) : NULL;

	if (tries)
		tries->named = true;
	step_peer(peer, VBD_PEER_EV_NAME_FAILED, why);
}

void vbd_peer_set(
	struct vbd_peer *peer, const struct ibv_ah_attr *path, uint32_t qpn, uint32_t qkey)
{
	peer->path = *path;
	peer->qpn = qpn;
	peer->qkey = qkey;
	peer->known = true;
	step_peer(peer, VBD_PEER_EV_KNOWN, NULL);
}

void vbd_peer_make_ah(struct vbd_peer *peer)
{
	(void)!vbd_ah_make(peer->ah_pd, &peer->path, &peer->made, &peer->ah_error);
}

void vbd_peer_ah_made(struct vbd_peer *peer)
{
	struct vbd_pd *pd = peer->ah_pd;

	peer->ah_pending = false;
	peer->ah_pd = NULL;
	if (peer->made)
		step_peer(peer, VBD_PEER_EV_AH_MADE, NULL);
	else
		step_peer(peer, VBD_PEER_EV_AH_FAILED, &peer->ah_error);
	vbd_pd_unref(pd);
}

void vbd_peer_deadline(struct vbd_peer *peer)
{
	struct vbd_error error = {.source = VBD_SOURCE_DEADLINE};

	(void)vbd_error_set(&error, VBD_E_TIMED_OUT, "the deadline passed, waiting for %s",
		vbd_peer_state_waits_for(peer->state));
	step_peer(peer, VBD_PEER_EV_DEADLINE, &error);
}

void vbd_peer_endpoint_ended(struct vbd_peer *peer)
{
	struct vbd_error error = {0};

	(void)vbd_error_set(&error, VBD_E_WRONG_STATE, "the peer's endpoint ended");
	step_peer(peer, VBD_PEER_EV_ENDPOINT_ENDED, &error);
	peer->endpoint = NULL;
}

void vbd_peer_fini(struct vbd_peer *peer)
{
	end_cm_id(peer);
	vbd_ah_destroy(peer->calls, peer->ah);
	peer->ah = NULL;
	free_tries(peer);
	vbd_account_close(&peer->account);
}

/* Notifications of the fabric. */

/* The event of the state table and the error (VBD_OK: none) of each expected CM event. */
static const struct meaning {
	bool expected;
	enum vbd_peer_event event;
	enum vbd_status status;
} meanings[] = {
	[RDMA_CM_EVENT_ADDR_RESOLVED] = {true, VBD_PEER_EV_ADDR_RESOLVED, VBD_OK},
	[RDMA_CM_EVENT_ADDR_ERROR] = {true, VBD_PEER_EV_ADDR_ERROR, VBD_E_ADDR_ERROR},
	[RDMA_CM_EVENT_ROUTE_RESOLVED] = {true, VBD_PEER_EV_ROUTE_RESOLVED, VBD_OK},
	[RDMA_CM_EVENT_ROUTE_ERROR] = {true, VBD_PEER_EV_ROUTE_ERROR, VBD_E_ROUTE_ERROR},
	[RDMA_CM_EVENT_CONNECT_ERROR] = {true, VBD_PEER_EV_CONNECT_ERROR, VBD_E_CONNECT_ERROR},
	[RDMA_CM_EVENT_UNREACHABLE] = {true, VBD_PEER_EV_UNREACHABLE, VBD_E_UNREACHABLE},
	[RDMA_CM_EVENT_REJECTED] = {true, VBD_PEER_EV_REJECTED, VBD_E_REJECTED},
	[RDMA_CM_EVENT_ESTABLISHED] = {true, VBD_PEER_EV_ANSWERED, VBD_OK},
	[RDMA_CM_EVENT_DEVICE_REMOVAL] = {true, VBD_PEER_EV_DEVICE_REMOVAL, VBD_E_DEVICE_REMOVED},
};

static struct meaning meaning_of_event(const struct vbd_pv_cm_event *event)
{
	bool answers = event->type != RDMA_CM_EVENT_ESTABLISHED || event->has_ud_param;

	/* A negative SIDR reply is this event, too, with a positive status. */
	if (event->type == RDMA_CM_EVENT_UNREACHABLE && event->status > 0)
		return meanings[RDMA_CM_EVENT_REJECTED];
	if ((size_t)event->type < VBD_ARRAY_LEN(meanings) && meanings[event->type].expected &&
		answers)
		return meanings[event->type];
	return (struct meaning){.event = VBD_PEER_EV_OTHER_CM};
}

static void copy_answer(struct vbd_peer *peer, const struct vbd_pv_cm_event *event)
{
	peer->path = event->ah_attr;
	peer->qpn = event->qp_num;
	peer->qkey = event->qkey;
	peer->known = true;
	peer->answer.message = VBD_CM_MESSAGE_SIDR_REPLY;
	peer->answer.length_bytes = event->private_data_bytes;
	memcpy(peer->answer.bytes, event->private_data, event->private_data_bytes);
}

void vbd_peer_on_cm_event(struct vbd_peer *peer, const struct vbd_pv_cm_event *event)
{
	const struct meaning meaning = meaning_of_event(event);
	struct vbd_error error = {
		.source = VBD_SOURCE_CM_EVENT,
		.kind = (int)event->type,
		.raw = event->status,
	};

	if (meaning.event == VBD_PEER_EV_ANSWERED)
		copy_answer(peer, event);
	if (meaning.status)
		(void)vbd_error_set(&error, meaning.status, "%s",
			meaning.event == VBD_PEER_EV_REJECTED
				? vbd_sidr_status_name(event->status)
				: vbd_cm_event_text((int)event->type));
	step_peer(peer, meaning.event, &error);
}
