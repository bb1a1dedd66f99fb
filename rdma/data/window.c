/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/data/window.h"

#include "base/log.h"
#include "rdma/device/device.h"
#include "rdma/device/pd.h"
#include "rdma/provider/provider.h"

#define ON(event, next, action, note) \
	[VBD_WINDOW_EV_##event] = {VBD_WINDOW_##next, VBD_WINDOW_DO_##action, note}
/* The rule of a state for all events without a row. */
#define OTHERWISE(next, action, note) \
	[VBD_WINDOW_EVENT_COUNT] = {VBD_WINDOW_##next, VBD_WINDOW_DO_##action, note}

/* clang-format off */
static const struct vbd_rule rules[VBD_WINDOW_STATE_COUNT][VBD_WINDOW_EVENT_COUNT + 1] = {
	[VBD_WINDOW_BINDING] = {
		ON(REGISTERED, BINDING, BIND, "the buffer and a connection for the bind exist"),
		ON(REGISTER_FAILED, FAILED, FREE, "the buffer or the connection for the bind is gone"),
		ON(BOUND, READY, NOTHING, "peers may use its key"),
		ON(BIND_FAILED, FAILED, FREE, "the window grants no access and references nothing"),
		ON(REVOKE, REVOKING, NOTHING, "the work request in flight must complete first"),
		ON(UNBOUND, BINDING, NOTHING, "no client has revoked the window"),
		ON(UNBIND_FAILED, BINDING, NOTHING, "no client has revoked the window"),
		ON(LOST, REVOKING, NOTHING, "the work request in flight must complete first"),
	},
	[VBD_WINDOW_READY] = {
		ON(REVOKE, REVOKING, UNBIND, "once the revocation completes, the key is no longer valid"),
		ON(UNBOUND, READY, NOTHING, "no client has revoked the window"),
		ON(UNBIND_FAILED, READY, NOTHING, "no client has revoked the window"),
		ON(LOST, REVOKED, FREE, "no connection can carry the work request"),
		OTHERWISE(READY, NOTHING, "the window is already bound"),
	},
	[VBD_WINDOW_REVOKING] = {
		ON(REGISTERED, REVOKED, FREE, "the bind is no longer needed"),
		ON(REGISTER_FAILED, REVOKED, FREE, "the window never granted access"),
		ON(BOUND, REVOKING, UNBIND, "the revocation was requested while the bind was in flight"),
		ON(BIND_FAILED, REVOKED, FREE, "the window never granted access"),
		ON(REVOKE, REVOKING, NOTHING, "the revocation has already begun"),
		ON(UNBOUND, REVOKED, FREE, "the key is no longer valid"),
		ON(UNBIND_FAILED, REVOKED, FREE, "a freed window grants no access either"),
		ON(LOST, REVOKING, NOTHING, "its work request must complete first"),
	},
#define ENDED(state)                                                     \
	[VBD_WINDOW_##state] = {                                         \
		OTHERWISE(state, NOTHING, "it has ended"), \
	}
	ENDED(REVOKED),
	ENDED(FAILED),
#undef ENDED
};
/* clang-format on */

VBD_RULES(vbd_window_rule, enum vbd_window_state, enum vbd_window_event, rules)

VBD_ENUM_NAMES(vbd_window_state_name, enum vbd_window_state, VBD_WINDOW_STATE_MAP)
VBD_ENUM_COLUMN(bool, vbd_window_state_ended, enum vbd_window_state, VBD_WINDOW_STATE_MAP, 3)
VBD_ENUM_NAMES(vbd_window_event_name, enum vbd_window_event, VBD_WINDOW_EVENT_MAP)

static void step_window(struct vbd_window *window, enum vbd_window_event event);

static void on_work_ended(struct vbd_transfer *op, void *arg)
{
	struct vbd_window *window = arg;
	bool done = op->state == VBD_TRANSFER_DONE;
	enum vbd_window_event event;

	window->busy = false;
	if (op->op == VBD_OP_BIND_WINDOW)
		event = done ? VBD_WINDOW_EV_BOUND : VBD_WINDOW_EV_BIND_FAILED;
	else
		event = done ? VBD_WINDOW_EV_UNBOUND : VBD_WINDOW_EV_UNBIND_FAILED;
	if (!done && window->error.status == VBD_OK)
		window->error = op->error;
	/* The library gives a window of type 1 its new key when the bind is posted. */
	if (event == VBD_WINDOW_EV_BOUND && window->range.type == 1)
		window->rkey = window->mw->rkey;
	step_window(window, event);
}

static void begin_wr(struct vbd_window *window, struct vbd_channel *channel, enum vbd_op op)
{
	window->busy = true;
	window->op = (struct vbd_transfer){
		.op = op,
		.wr.mw = window,
		.channel = channel,
		.chunk_bytes = 1,
		.created_ns = vbd_clock_mono_ns(),
		.state = VBD_TRANSFER_QUEUED,
		.ended = on_work_ended,
		.arg = window,
	};
	vbd_transfer_submit(&window->op);
}

static void begin_unbind(struct vbd_window *window)
{
	struct vbd_channel *channel = window->choose_channel(window, window->arg);

	if (channel)
		begin_wr(window, channel, VBD_OP_INVALIDATE_WINDOW);
	else
		step_window(window, VBD_WINDOW_EV_UNBOUND);
}

static void begin_bind(struct vbd_window *window)
{
	struct vbd_channel *channel = window->choose_channel(window, window->arg);

	if (channel) {
		begin_wr(window, channel, VBD_OP_BIND_WINDOW);
		return;
	}
	(void)vbd_error_set(
		&window->error, VBD_E_WRONG_STATE, "no connection is left to post the bind on");
	step_window(window, VBD_WINDOW_EV_BIND_FAILED);
}

static void dealloc_window(struct vbd_window *window)
{
	vbd_pv_dealloc_mw(window->mw);
	window->mw = NULL;
}

/* The one setter of the state; calls `changed` once, after the action. */
static void step_window(struct vbd_window *window, enum vbd_window_event event)
{
	const struct vbd_rule *rule = vbd_window_rule(window->state, event);
	bool changes = rule->next != window->state;

	vbd_log(VBD_LOG_DEBUG, "window", "%s -> %s (%s: %s)", vbd_window_state_name(window->state),
		vbd_window_state_name(rule->next), vbd_window_event_name(event), rule->note);
	window->state = rule->next;
	switch ((enum vbd_window_action)rule->action) {
	case VBD_WINDOW_DO_NOTHING:
		break;
	case VBD_WINDOW_DO_BIND:
		begin_bind(window);
		break;
	case VBD_WINDOW_DO_UNBIND:
		begin_unbind(window);
		/* Without a channel to post on, a nested step has called `changed`. */
		changes = changes && window->state == rule->next;
		break;
	case VBD_WINDOW_DO_FREE:
		dealloc_window(window);
		break;
	}
	if (changes)
		window->changed(window, window->arg);
}

/* See the head of window.h. */
static bool needs_own_mr(const struct vbd_window *window)
{
	const struct vbd_window_range *range = &window->range;

	return vbd_device_is_soft_roce(window->mem->pd->device) &&
	       (range->offset > 0 || range->length_bytes < window->mem->size_bytes);
}

enum vbd_status vbd_window_allocate(struct vbd_window *window, struct vbd_error *err)
{
	enum ibv_mw_type type = window->range.type == 1 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2;
	const struct vbd_pd *pd = window->mem->pd;
	enum vbd_status status;

	status = vbd_pv_alloc_mw(pd->ibv_pd, type, &window->mw, err);
	if (status)
		return status;
	window->state = VBD_WINDOW_BINDING;
	window->own_mr = needs_own_mr(window);
	/* The program chooses the lowest byte of the rkey of type 2: ibv_inc_rkey(3). */
	window->rkey = ibv_inc_rkey(window->mw->rkey);
	return VBD_OK;
}

void vbd_window_register(struct vbd_window *window)
{
	const struct vbd_mem *mem = window->mem;

	if (!window->own_mr)
		window->mr = mem->mr;
	else if (vbd_pv_reg_mr(&window->account, mem->pd->ibv_pd,
			 (void *)(mem->addr + window->range.offset), window->range.length_bytes,
			 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND, &window->mr,
			 &window->error) != VBD_OK)
		window->mr = NULL;
}

void vbd_window_registered(struct vbd_window *window)
{
	step_window(window, window->mr ? VBD_WINDOW_EV_REGISTERED : VBD_WINDOW_EV_REGISTER_FAILED);
}

void vbd_window_deregister(struct vbd_window *window)
{
	if (window->own_mr)
		vbd_pv_dereg_mr(&window->account, window->mr);
	window->mr = NULL;
}

void vbd_window_revoke(struct vbd_window *window)
{
	step_window(window, VBD_WINDOW_EV_REVOKE);
}

void vbd_window_revoke_at_once(struct vbd_window *window)
{
	step_window(window, VBD_WINDOW_EV_LOST);
}

void vbd_window_cancel(struct vbd_window *window)
{
	if (window->busy)
		vbd_transfer_request_cancel(&window->op, true);
}
