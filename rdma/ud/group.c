/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/ud/group.h"

#include "base/log.h"
#include "rdma/device/source.h"
#include "rdma/provider/provider.h"

#define ON(event, next, action, note) \
	[VBD_GROUP_EV_##event] = {VBD_GROUP_IS_##next, VBD_GROUP_DO_##action, note}
/* The rule of a state for all events without a row. */
#define OTHERWISE(next, action, note) \
	[VBD_GROUP_EVENT_COUNT] = {VBD_GROUP_IS_##next, VBD_GROUP_DO_##action, note}

/* clang-format off */
static const struct vbd_rule rules[VBD_GROUP_STATE_COUNT][VBD_GROUP_EVENT_COUNT + 1] = {
	[VBD_GROUP_IS_RESOLVING] = {
		ON(ADDR_RESOLVED, JOINING, JOIN, "the id has a device to join with"),
		ON(ADDR_ERROR, FAILED, FAIL, "no device leads to the group"),
		ON(MEMBER, RESOLVING, IGNORE, "nobody asked for it yet"),
		ON(NO_MEMBER, FAILED, FAIL, "the CM gives it up"),
		ON(DEVICE_REMOVAL, FAILED, FAIL, "the kernel waits until the id is destroyed"),
		ON(OTHER_CM, RESOLVING, IGNORE, "it says nothing about a group"),
		ON(CALL_FAILED, FAILED, FAIL, "a call that the action needs failed"),
		ON(DEADLINE, FAILED, FAIL, "the deadline has passed"),
		ON(CMD_LEAVE, LEFT, LEAVE, "there is nothing to leave yet"),
		ON(IDLE, RESOLVING, IGNORE, "nothing was sent to it"),
		ON(ENDPOINT_ENDED, FAILED, FAIL, "the QP is being destroyed"),
	},
	[VBD_GROUP_IS_JOINING] = {
		ON(ADDR_RESOLVED, JOINING, IGNORE, "repeated: the table already has this information"),
		ON(ADDR_ERROR, FAILED, FAIL, "the address was lost"),
		ON(MEMBER, JOINED, ATTACH, "it is a member; its QP is not yet"),
		ON(NO_MEMBER, FAILED, FAIL, "the membership was refused"),
		ON(DEVICE_REMOVAL, FAILED, FAIL, "the kernel waits until the id is destroyed"),
		ON(OTHER_CM, JOINING, IGNORE, "it says nothing about a group"),
		ON(CALL_FAILED, FAILED, FAIL, "a call that the action needs failed"),
		ON(DEADLINE, FAILED, FAIL, "the deadline has passed"),
		ON(CMD_LEAVE, LEFT, LEAVE, "the client no longer wants to join"),
		ON(IDLE, JOINING, IGNORE, "nothing was sent to it"),
		ON(ENDPOINT_ENDED, FAILED, FAIL, "the QP is being destroyed"),
	},
	[VBD_GROUP_IS_JOINED] = {
		ON(ADDR_RESOLVED, JOINED, IGNORE, "the state already has this information"),
		ON(ADDR_ERROR, JOINED, IGNORE, "the membership is not the address's"),
		ON(MEMBER, JOINED, IGNORE, "a second time: it is a member already"),
		ON(NO_MEMBER, FAILED, FAIL, "the membership was lost"),
		ON(DEVICE_REMOVAL, FAILED, FAIL, "the kernel waits until the id is destroyed"),
		ON(OTHER_CM, JOINED, IGNORE, "it says nothing about a group"),
		ON(CALL_FAILED, FAILED, FAIL, "the QP could not be attached, or there is no address handle"),
		ON(DEADLINE, JOINED, IGNORE, "the operation was in time; the timer fired late"),
		ON(CMD_LEAVE, LEAVING, LEAVE, "sends to it continue until it is freed"),
		ON(IDLE, JOINED, IGNORE, "it may be sent to again"),
		ON(ENDPOINT_ENDED, FAILED, FAIL, "the QP is being destroyed"),
	},
	[VBD_GROUP_IS_LEAVING] = {
		ON(CALL_FAILED, LEAVING, IGNORE, "it needs none any more"),
		ON(DEADLINE, LEAVING, IGNORE, "a send has a deadline of its own"),
		ON(CMD_LEAVE, LEAVING, IGNORE, "it leaves already"),
		ON(IDLE, LEFT, FREE_AH, "nothing uses its address handle any more"),
		ON(ENDPOINT_ENDED, LEFT, FREE_AH, "nothing is sent any more"),
		OTHERWISE(LEAVING, IGNORE, "the CM id is destroyed"),
	},
#define ENDED(state)                                                                    \
	[VBD_GROUP_IS_##state] = {                                                      \
		ON(IDLE, state, FREE_AH, "a membership that was lost keeps its handle as long"), \
		ON(ENDPOINT_ENDED, state, FREE_AH, "nothing is sent any more"),            \
		OTHERWISE(state, IGNORE, "it is over"), \
	}
	ENDED(LEFT),
	ENDED(FAILED),
#undef ENDED
};
/* clang-format on */

VBD_RULES(vbd_group_rule, enum vbd_group_state, enum vbd_group_event, rules)

VBD_ENUM_NAMES(vbd_group_state_name, enum vbd_group_state, VBD_GROUP_STATE_MAP)
VBD_ENUM_COLUMN(const char *, vbd_group_state_json, enum vbd_group_state, VBD_GROUP_STATE_MAP, 3)
VBD_ENUM_COLUMN(
	const char *, vbd_group_state_waits_for, enum vbd_group_state, VBD_GROUP_STATE_MAP, 4)
VBD_ENUM_COLUMN(bool, vbd_group_state_ended, enum vbd_group_state, VBD_GROUP_STATE_MAP, 5)
VBD_ENUM_NAMES(vbd_group_event_name, enum vbd_group_event, VBD_GROUP_EVENT_MAP)

VBD_ENUM_NAMES(vbd_group_mode_name, enum vbd_group_mode, VBD_GROUP_MODE_MAP)

/* Actions. */

static void step_group(
	struct vbd_group *group, enum vbd_group_event event, const struct vbd_error *why);

static void on_join_failed(struct vbd_cm_tag *tag, const struct vbd_error *error)
{
	step_group(VBD_CONTAINER_OF(tag, struct vbd_group, tag), VBD_GROUP_EV_CALL_FAILED, error);
}

static enum vbd_status join_group(struct vbd_group *group, struct vbd_error *err)
{
	bool send_only = group->mode == VBD_GROUP_SEND_ONLY;
	enum vbd_status status =
		vbd_endpoint_check_device(group->endpoint, group->cm_id, "group", err);

	if (!status && !vbd_calls_join(group->calls, group->cm_id, send_only, on_join_failed))
		status = vbd_error_set(err, VBD_E_NO_MEMORY, "no memory to join the group");
	return status;
}

static enum vbd_status attach_qp(struct vbd_group *group, struct vbd_error *err)
{
	struct vbd_endpoint *endpoint = group->endpoint;
	enum vbd_status status;

	status = vbd_ah_make(endpoint->qp.pd, &group->path, &group->ah, err);
	if (status || group->mode == VBD_GROUP_SEND_ONLY)
		return status;
	status = vbd_pv_attach_mcast(
		endpoint->qp.ibv_qp, group->path.grh.dgid.raw, group->path.dlid, err);
	group->attached = status == VBD_OK;
	return status;
}

static void free_ah(struct vbd_group *group)
{
	vbd_ah_destroy(group->calls, group->ah);
	group->ah = NULL;
}

/* Detach first, as librdmacm does with its own QPs. The destruction of the id leaves the group. */
static void leave_group(struct vbd_group *group)
{
	if (group->attached)
		vbd_pv_detach_mcast(
			group->endpoint->qp.ibv_qp, group->path.grh.dgid.raw, group->path.dlid);
	group->attached = false;
	vbd_calls_end_id(group->calls, &group->account, group->cm_id);
	group->cm_id = NULL;
	if (group->users == 0)
		free_ah(group);
}

static enum vbd_status perform_action(struct vbd_group *group, enum vbd_group_action action,
	const struct vbd_error *why, struct vbd_error *err)
{
	switch (action) {
	case VBD_GROUP_DO_JOIN:
		return join_group(group, err);
	case VBD_GROUP_DO_ATTACH:
		return attach_qp(group, err);
	case VBD_GROUP_DO_LEAVE:
		leave_group(group);
		break;
	case VBD_GROUP_DO_FREE_AH:
		free_ah(group);
		break;
	case VBD_GROUP_DO_FAIL:
		leave_group(group);
		group->error = *why;
		break;
	case VBD_GROUP_DO_IGNORE:
	case VBD_GROUP_ACTION_COUNT:
		break;
	}
	return VBD_OK;
}

/* Look up the rule, set the state, act; the new state's row undoes an action that fails. */
static void step_group(
	struct vbd_group *group, enum vbd_group_event event, const struct vbd_error *why)
{
	const struct vbd_rule *rule = vbd_group_rule(group->state, event);
	enum vbd_group_state old = group->state;
	struct vbd_error error = {0};

	if (rule->next != old)
		vbd_log(VBD_LOG_DEBUG, "group", "%llu %s -> %s (%s)", (unsigned long long)group->id,
			vbd_group_state_name(old), vbd_group_state_name(rule->next),
			vbd_group_event_name(event));
	group->state = rule->next;
	if (perform_action(group, rule->action, why, &error) != VBD_OK) {
		step_group(group, VBD_GROUP_EV_CALL_FAILED, &error);
		return;
	}
	/* If the action made a further step, that step has notified. */
	if (group->state != old && group->state == rule->next)
		group->ops->state_changed(group, group->ops_arg);
}

void vbd_group_join(struct vbd_group *group, uint64_t id, struct vbd_endpoint *endpoint,
	const struct sockaddr *addr, enum vbd_group_mode mode, const struct vbd_group_ops *ops,
	void *ops_arg)
{
	struct vbd_error error = {0};

	group->tag.kind = VBD_CM_GROUP;
	group->id = id;
	group->endpoint = endpoint;
	group->calls = endpoint->fabric->calls;
	group->mode = mode;
	group->ops = ops;
	group->ops_arg = ops_arg;
	group->state = VBD_GROUP_IS_RESOLVING;
	memcpy(&group->addr, addr, vbd_sockaddr_bytes(addr));
	if (vbd_endpoint_resolve_addr(
		    endpoint, &group->account, &group->tag, addr, &group->cm_id, &error) != VBD_OK)
		step_group(group, VBD_GROUP_EV_CALL_FAILED, &error);
}

void vbd_group_leave(struct vbd_group *group)
{
	step_group(group, VBD_GROUP_EV_CMD_LEAVE, NULL);
	if (group->users == 0)
		step_group(group, VBD_GROUP_EV_IDLE, NULL);
}

void vbd_group_ref_ah(struct vbd_group *group)
{
	group->users++;
}

void vbd_group_unuse(struct vbd_group *group)
{
	if (--group->users == 0)
		step_group(group, VBD_GROUP_EV_IDLE, NULL);
}

void vbd_group_deadline(struct vbd_group *group)
{
	struct vbd_error error = {.source = VBD_SOURCE_DEADLINE};

	(void)vbd_error_set(&error, VBD_E_TIMED_OUT, "the deadline passed, waiting for %s",
		vbd_group_state_waits_for(group->state));
	step_group(group, VBD_GROUP_EV_DEADLINE, &error);
}

void vbd_group_endpoint_ended(struct vbd_group *group)
{
	struct vbd_error error = {0};

	(void)vbd_error_set(&error, VBD_E_WRONG_STATE, "the group's endpoint ended");
	step_group(group, VBD_GROUP_EV_ENDPOINT_ENDED, &error);
	group->endpoint = NULL;
}

/* Notifications of the fabric. */

static void copy_membership(struct vbd_group *group, const struct vbd_pv_cm_event *event)
{
	group->path = event->ah_attr;
	group->qpn = event->qp_num;
	group->qkey = event->qkey;
	group->known = true;
}

static enum vbd_group_event event_of_cm_type(enum rdma_cm_event_type type)
{
	if (type == RDMA_CM_EVENT_ADDR_RESOLVED)
		return VBD_GROUP_EV_ADDR_RESOLVED;
	if (type == RDMA_CM_EVENT_ADDR_ERROR)
		return VBD_GROUP_EV_ADDR_ERROR;
	if (type == RDMA_CM_EVENT_MULTICAST_JOIN)
		return VBD_GROUP_EV_MEMBER;
	if (type == RDMA_CM_EVENT_MULTICAST_ERROR)
		return VBD_GROUP_EV_NO_MEMBER;
	return type == RDMA_CM_EVENT_DEVICE_REMOVAL ? VBD_GROUP_EV_DEVICE_REMOVAL
						    : VBD_GROUP_EV_OTHER_CM;
}

void vbd_group_on_cm_event(struct vbd_group *group, const struct vbd_pv_cm_event *event)
{
	enum vbd_group_event meaning = event_of_cm_type(event->type);
	struct vbd_error error = {
		.source = VBD_SOURCE_CM_EVENT,
		.kind = (int)event->type,
		.raw = event->status,
	};
	enum vbd_status status =
		meaning == VBD_GROUP_EV_DEVICE_REMOVAL ? VBD_E_DEVICE_REMOVED : VBD_E_ADDR_ERROR;

	if (meaning == VBD_GROUP_EV_MEMBER)
		copy_membership(group, event);
	else
		(void)vbd_error_set(&error, status, "%s", vbd_cm_event_text((int)event->type));
	step_group(group, meaning, &error);
}
