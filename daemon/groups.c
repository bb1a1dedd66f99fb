/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/groups.h"

#include "base/clock.h"
#include "daemon/addr.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

static struct vbd_group_record *record_of(struct vbd_object *object)
{
	return VBD_CONTAINER_OF(object, struct vbd_group_record, object);
}

static void free_record(struct vbd_group_record *record)
{
	vbd_list_remove(&record->reap.link);
	vbd_timer_destroy(record->deadline);
	vbd_list_remove(&record->link);
	vbd_registry_remove(record->daemon->groups, &record->object);
	vbd_watch_notify(&record->watches, true);
	vbd_account_close(&record->group.account);
	free(record);
}

static void reap(struct vbd_deferred *deferred)
{
	free_record(VBD_CONTAINER_OF(deferred, struct vbd_group_record, reap));
}

static void log_state(const struct vbd_group_record *record)
{
	static const struct {
		enum vbd_event_type type;
		enum vbd_severity severity;
	} events[VBD_GROUP_STATE_COUNT] = {
		[VBD_GROUP_IS_JOINED] = {VBD_EVENT_GROUP_JOINED, VBD_SEVERITY_INFO},
		[VBD_GROUP_IS_LEFT] = {VBD_EVENT_GROUP_LEFT, VBD_SEVERITY_INFO},
		[VBD_GROUP_IS_FAILED] = {VBD_EVENT_GROUP_FAILED, VBD_SEVERITY_WARNING},
	};
	const struct vbd_group *group = &record->group;
	bool failed = group->state == VBD_GROUP_IS_FAILED;
	char text[VBD_ADDR_TEXT_BYTES];

	if (!events[group->state].type)
		return;
	(void)vbd_eventlog_append(record->daemon->eventlog, events[group->state].type,
		events[group->state].severity, VBD_KIND_GROUP, record->object.id, VBD_REASON_NONE,
		"%s %s, endpoint %llu%s%s", vbd_addr_format(&group->addr, text),
		vbd_group_mode_name(group->mode), (unsigned long long)record->endpoint_id,
		failed ? ": " : "", failed ? group->error.text : "");
}

/* One that failed stays to be looked at, unless somebody wanted to be rid of it. */
static void reap_if_over(struct vbd_group_record *record)
{
	const struct vbd_group *group = &record->group;

	if (record->forget && vbd_group_state_ended(group->state) && group->users == 0)
		vbd_loop_defer(record->daemon->loop, &record->reap);
}

static void on_state_changed(struct vbd_group *group, void *arg)
{
	struct vbd_group_record *record = arg;

	log_state(record);
	if (group->state != VBD_GROUP_IS_JOINING)
		vbd_timer_clear(record->deadline);
	reap_if_over(record);
	vbd_watch_notify(&record->watches, false);
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

static bool same_addr(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)a;
	const struct sockaddr_in6 *b6 = (const struct sockaddr_in6 *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET6)
		return memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr)) == 0;
	return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
	       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
}

/* A QP is attached to a group once: the second to leave would take it from the first. */
static enum vbd_status check_new(const struct vbd_group_spec *spec,
	const struct sockaddr_storage *addr, struct vbd_error *err)
{
	vbd_list_for_each (link, &spec->endpoint->groups) {
		const struct vbd_group_record *other =
			VBD_CONTAINER_OF(link, struct vbd_group_record, link);

		if (same_addr(&other->group.addr, addr) &&
			!vbd_group_state_ended(other->group.state))
			return vbd_error_input(err, VBD_E_WRONG_STATE, "/addr",
				"group %llu is the endpoint's membership of %.80s, it is %s",
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
			"'%.80s' is no multicast address (224.0.0.0/4 or ff00::/8)", spec->addr);
	/* The device would drop every message of the group without a word. */
	if (spec->mode == VBD_GROUP_FULL && endpoint->params.qkey != VBD_CM_QKEY)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/mode",
			"groups have the qkey 0x%08x, endpoint %llu has another and would receive "
			"nothing",
			VBD_CM_QKEY, (unsigned long long)spec->endpoint->object.id);
	return check_new(spec, ret_addr, err);
}

static enum vbd_status make_record(struct vbd_daemon *daemon, const struct vbd_group_spec *spec,
	struct vbd_group_record **ret_record, struct vbd_error *err)
{
	struct vbd_group_record *record = calloc(1, sizeof(*record));
	enum vbd_status status;

	if (!record)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a group");
	record->daemon = daemon;
	record->endpoint_id = spec->endpoint->object.id;
	record->timeout_ms = spec->timeout_ms;
	record->created_ns = vbd_clock_mono_ns();
	vbd_list_init(&record->link);
	vbd_list_init(&record->watches);
	vbd_deferred_init(&record->reap, reap);
	status = vbd_timer_create(daemon->loop, on_deadline, record, &record->deadline, err);
	if (!status)
		status = vbd_registry_add(daemon->groups, &record->object, spec->name, err);
	if (status) {
		vbd_timer_destroy(record->deadline);
		free(record);
		return status;
	}
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
		status = vbd_endpoint_check_ready(spec->endpoint, "/endpoint", err);
	if (!status)
		status = check_spec(spec, &addr, err);
	if (!status)
		status = make_record(daemon, spec, &record, err);
	if (status)
		return status;
	vbd_timer_set(record->deadline, spec->timeout_ms);
	/* From here on a failure is the group's. */
	vbd_group_join(&record->group, record->object.id, spec->endpoint->endpoint,
		(const struct sockaddr *)&addr, spec->mode, &group_ops, record);
	*ret_record = record;
	return VBD_OK;
}

struct vbd_group_record *vbd_group_find(
	struct vbd_daemon *daemon, const char *ref, struct vbd_error *err)
{
	struct vbd_object *object = vbd_registry_find_ref(daemon->groups, ref, err);

	return object ? record_of(object) : NULL;
}

void vbd_group_forget(struct vbd_group_record *record)
{
	record->forget = true;
	if (vbd_group_state_ended(record->group.state))
		reap_if_over(record);
	else
		vbd_group_leave(&record->group);
}

void vbd_group_hold(struct vbd_group_record *record)
{
	vbd_group_use(&record->group);
}

void vbd_group_release(struct vbd_group_record *record)
{
	vbd_group_unuse(&record->group);
	reap_if_over(record);
}

void vbd_group_problem(const struct vbd_group_record *record, struct vbd_error *ret_err)
{
	*ret_err = record->group.error;
	(void)vbd_registry_path(record->daemon->groups, record->object.id, ret_err->object);
}

void vbd_groups_endpoint_ended(struct vbd_endpoint_record *endpoint)
{
	vbd_list_for_each (link, &endpoint->groups)
		vbd_group_endpoint_ended(
			&VBD_CONTAINER_OF(link, struct vbd_group_record, link)->group);
}

void vbd_groups_destroy_of(struct vbd_endpoint_record *endpoint)
{
	vbd_list_for_each (link, &endpoint->groups)
		free_record(VBD_CONTAINER_OF(link, struct vbd_group_record, link));
}
