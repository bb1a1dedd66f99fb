/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/datagrams/endpoints.h"

#include "base/addr.h"

#include <netinet/in.h>

VBD_OBJECT_RECORD(record_of, struct vbd_group_record)

static void log_state(struct vbd_group_record *record)
{
	static const struct {
		enum vbd_event_type type;
		enum vbd_severity severity;
	} events[VBD_GROUP_STATE_COUNT] = {
		[VBD_GROUP_IS_JOINED] = {VBD_EVENT_MULTICAST_MEMBERSHIP_JOINED, VBD_SEVERITY_INFO},
		[VBD_GROUP_IS_LEFT] = {VBD_EVENT_MULTICAST_MEMBERSHIP_LEFT, VBD_SEVERITY_INFO},
		[VBD_GROUP_IS_FAILED] = {VBD_EVENT_MULTICAST_MEMBERSHIP_FAILED,
			VBD_SEVERITY_WARNING},
	};
	const struct vbd_group *group = &record->group;
	bool failed = group->state == VBD_GROUP_IS_FAILED;
	char text[VBD_ADDR_TEXT_BYTES];

	if (!events[group->state].type)
		return;
	vbd_object_log(&record->object, events[group->state].type, events[group->state].severity,
		failed ? group->error.status : VBD_OK, "%s %s, endpoint %llu%s%s",
		vbd_addr_format(&group->addr, text), vbd_group_mode_name(group->mode),
		(unsigned long long)record->endpoint_id, failed ? ": " : "",
		failed ? group->error.text : "");
}

static void on_state_changed(struct vbd_group *group, void *arg)
{
	struct vbd_group_record *record = arg;

	log_state(record);
	if (group->state != VBD_GROUP_IS_JOINING)
		vbd_timer_clear(record->object.deadline);
	if (vbd_group_state_ended(group->state))
		vbd_object_end(&record->object);
	vbd_object_changed(&record->object);
}

static const struct vbd_group_ops group_ops = {.state_changed = on_state_changed};

static void on_deadline(void *arg)
{
	struct vbd_group_record *record = arg;

	vbd_group_deadline(&record->group);
}

static bool is_multicast(const struct sockaddr_storage *addr)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)addr;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)addr;

	return addr->ss_family == AF_INET6 ? IN6_IS_ADDR_MULTICAST(&in6->sin6_addr)
					   : IN_MULTICAST(ntohl(in->sin_addr.s_addr));
}

/* A QP is attached to a group once only: of two memberships, the first to leave would end both. */
static enum vbd_status check_not_joined(const struct vbd_group_spec *spec,
	const struct sockaddr_storage *addr, struct vbd_error *err)
{
	vbd_list_for_each_of (const struct vbd_group_record, other, link, &spec->endpoint->groups) {
		if (vbd_sockaddr_is_same((const struct sockaddr *)&other->group.addr,
			    (const struct sockaddr *)addr) &&
			!vbd_group_state_ended(other->group.state))
			return vbd_error_input(err, VBD_E_WRONG_STATE, "/addr",
				"group %llu is already the endpoint's membership in %.80s; it is "
				"%s",
				(unsigned long long)other->object.id, spec->addr,
				vbd_group_state_json(other->group.state));
	}
	return VBD_OK;
}

static enum vbd_status check_spec(
	const struct vbd_group_spec *spec, struct sockaddr_storage *ret_addr, struct vbd_error *err)
{
	const struct vbd_endpoint *endpoint = spec->endpoint->endpoint;

	if (!vbd_addr_parse(spec->addr, 0, ret_addr) || !is_multicast(ret_addr))
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/addr",
			"'%.80s' is not a multicast address (224.0.0.0/4 or ff00::/8)", spec->addr);
	/* The device would drop every message of the group silently. */
	if (spec->mode == VBD_GROUP_FULL && endpoint->params.qkey != VBD_CM_QKEY)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/mode",
			"groups have the qkey 0x%08x; endpoint %llu has another qkey and would "
			"receive nothing",
			VBD_CM_QKEY, (unsigned long long)spec->endpoint->object.id);
	return check_not_joined(spec, ret_addr, err);
}

static enum vbd_status make_record(struct vbd_daemon *daemon, const struct vbd_group_spec *spec,
	struct vbd_group_record **ret_record, struct vbd_error *err)
{
	struct vbd_group_record *record;
	struct vbd_object *object;
	enum vbd_status status = vbd_object_create(
		daemon->multicast_memberships, &spec->origin, spec->name, &object, err);

	if (status)
		return status;
	record = record_of(object);
	record->endpoint_id = spec->endpoint->object.id;
	record->timeout_ms = spec->timeout_ms;
	vbd_list_append(&spec->endpoint->groups, &record->link);
	*ret_record = record;
	return VBD_OK;
}

enum vbd_status vbd_group_create(struct vbd_daemon *daemon, const struct vbd_group_spec *spec,
	struct vbd_group_record **ret_record, struct vbd_error *err)
{
	struct vbd_group_record *record;
	struct sockaddr_storage addr;
	enum vbd_status status;

	status = vbd_daemon_accepts_work(daemon, err);
	if (!status)
		status = spec->endpoint->endpoint->qp.ops->check_usable(
			&spec->endpoint->endpoint->qp, err);
	if (!status)
		status = check_spec(spec, &addr, err);
	if (!status)
		status = make_record(daemon, spec, &record, err);
	if (status)
		return status;
	vbd_object_log(&record->object, VBD_EVENT_MULTICAST_MEMBERSHIP_CREATED, VBD_SEVERITY_DEBUG,
		VBD_OK, "of ud_endpoint %llu", (unsigned long long)record->endpoint_id);
	vbd_timer_set(record->object.deadline, spec->timeout_ms);
	/* From here on a failure is the group's own. */
	vbd_group_join(&record->group, record->object.id, spec->endpoint->endpoint,
		(const struct sockaddr *)&addr, spec->mode, &group_ops, record);
	*ret_record = record;
	return VBD_OK;
}

void vbd_group_ref(struct vbd_group_record *record)
{
	vbd_group_ref_ah(&record->group);
}

void vbd_group_unref(struct vbd_group_record *record)
{
	vbd_group_unuse(&record->group);
	(void)vbd_object_settle(&record->object);
}

void vbd_groups_endpoint_ended(struct vbd_endpoint_record *endpoint)
{
	vbd_list_for_each_of (struct vbd_group_record, record, link, &endpoint->groups)
		vbd_group_endpoint_ended(&record->group);
}

void vbd_groups_destroy_of(struct vbd_endpoint_record *endpoint)
{
	vbd_list_for_each_of (struct vbd_group_record, record, link, &endpoint->groups)
		vbd_object_free(&record->object);
}

static void leave_group(struct vbd_object *object)
{
	vbd_group_leave(&record_of(object)->group);
}

static bool is_used(const struct vbd_object *object)
{
	return ((const struct vbd_group_record *)object)->group.users > 0;
}

static void free_record(struct vbd_object *object)
{
	struct vbd_group_record *record = record_of(object);

	vbd_list_remove(&record->link);
	vbd_account_close(&record->group.account);
}

VBD_OBJECT_STATE(get_state_name, struct vbd_group_record, group.state, vbd_group_state_json)

/* Deleting a group leaves it. A failed group stays until it is deleted. */
const struct vbd_kind vbd_multicast_membership_kind = {
	.size_bytes = sizeof(struct vbd_group_record),
	.on_deadline = on_deadline,
	.cancel = leave_group,
	.is_used = is_used,
	.state = get_state_name,
	.error_at = offsetof(struct vbd_group_record, group.error),
	.free = free_record,
};
