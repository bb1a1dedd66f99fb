/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/object.h"

#include "base/clock.h"
#include "daemon/core/quota.h"

void vbd_users_add(struct vbd_users *users, const struct vbd_object *object)
{
	const struct vbd_registry *registry = object->registry;

	users->total++;
	if (!vbd_caller_sees(users->caller, object->owner))
		users->hidden++;
	else if (users->shown < VBD_USERS_SHOWN_MAX)
		(void)vbd_registry_path(registry, object->id, users->paths[users->shown++]);
}

static bool is_used(const struct vbd_object *object)
{
	const struct vbd_kind *kind = object->registry->kind;

	return kind->is_used && kind->is_used(object);
}

/* --- quotas ---------------------------------------------------------------------------------- */

/* VBD_QUOTA_COUNT for a kind whose objects are not counted. */
static enum vbd_quota kind_quota(const struct vbd_registry *registry)
{
	switch ((unsigned int)vbd_registry_kind(registry)) {
	case VBD_KIND_CONNECTION:
		return VBD_QUOTA_connections;
	case VBD_KIND_BUFFER:
		return VBD_QUOTA_buffers;
	case VBD_KIND_TRANSFER:
		return VBD_QUOTA_transfers;
	default:
		return VBD_QUOTA_COUNT;
	}
}

static enum vbd_status check_quota(
	const struct vbd_registry *registry, const struct vbd_caller *owner, struct vbd_error *err)
{
	enum vbd_quota quota = kind_quota(registry);

	return quota == VBD_QUOTA_COUNT ? VBD_OK : vbd_quota_check(owner, quota, 1, err);
}

void vbd_object_pin(struct vbd_object *object, uint64_t bytes)
{
	object->pinned_bytes += bytes;
	vbd_quota_count(object->owner, VBD_QUOTA_pinned_bytes, bytes);
}

void vbd_object_unpin(struct vbd_object *object)
{
	vbd_quota_give_back(object->owner, VBD_QUOTA_pinned_bytes, object->pinned_bytes);
	object->pinned_bytes = 0;
}

/* --- the store ------------------------------------------------------------------------------- */

/* The row is written in a later turn: by then the object is whole, and most changes are over. */
static void queue_record(struct vbd_object *object)
{
	struct vbd_daemon *daemon = object->registry->daemon;

	if (!daemon->record_ops || !object->registry->kind->keeps_history || !object->id ||
		!vbd_list_empty(&object->record_link))
		return;
	vbd_list_append(&daemon->unrecorded, &object->record_link);
	daemon->record_ops->wanted(daemon);
}

static void drop_record(struct vbd_object *object)
{
	struct vbd_daemon *daemon = object->registry->daemon;

	vbd_list_remove(&object->record_link);
	if (object->recorded && daemon->record_ops)
		daemon->record_ops->dropped(
			daemon, vbd_registry_kind(object->registry), object->id);
	object->recorded = false;
}

/* --- the end --------------------------------------------------------------------------------- */

static void count_end(struct vbd_object *object)
{
	enum vbd_quota quota = kind_quota(object->registry);

	if (object->ended)
		return;
	object->ended = true;
	object->ended_ns = vbd_clock_mono_ns();
	object->registry->open--;
	vbd_tally_of(object->registry, object->owner)->open--;
	if (quota != VBD_QUOTA_COUNT)
		vbd_quota_give_back(object->owner, quota, 1);
}

void vbd_object_leave(struct vbd_object *object)
{
	drop_record(object);
	if (object->id)
		vbd_tally_of(object->registry, object->owner)->objects--;
	vbd_registry_remove(object->registry, object);
}

/* --- events ---------------------------------------------------------------------------------- */

/* The events that tell of changes of state without a type of their own. */
static const enum vbd_event_type change_types[VBD_KIND_COUNT] = {
	[VBD_KIND_KEPT_OBJECT] = VBD_EVENT_KEPT_OBJECT_STATE_CHANGED,
	[VBD_KIND_WINDOW] = VBD_EVENT_WINDOW_STATE_CHANGED,
	[VBD_KIND_CONNECTION] = VBD_EVENT_CONNECTION_STATE_CHANGED,
	[VBD_KIND_UD_ENDPOINT] = VBD_EVENT_UD_ENDPOINT_STATE_CHANGED,
	[VBD_KIND_MULTICAST_MEMBERSHIP] = VBD_EVENT_MULTICAST_MEMBERSHIP_STATE_CHANGED,
	[VBD_KIND_TRANSFER] = VBD_EVENT_TRANSFER_STATE_CHANGED,
	[VBD_KIND_COPY] = VBD_EVENT_COPY_STATE_CHANGED,
};

static const enum vbd_event_type deletion_types[VBD_KIND_COUNT] = {
#define DELETION_TYPE(sym, singular, plural, open, kept) \
	[VBD_KIND_##sym] = VBD_EVENT_##sym##_DELETED,
	VBD_KIND_MAP(DELETION_TYPE)
#undef DELETION_TYPE
};

static const char *get_state_name(const struct vbd_object *object)
{
	const struct vbd_kind *kind = object->registry->kind;

	return kind->state ? kind->state(object) : NULL;
}

static void fill_event_object(struct vbd_event *event, struct vbd_object *object)
{
	const char *state = object->past ? NULL : get_state_name(object);

	if (object->ended && event->words[VBD_EVENT_CODE])
		object->end_code = event->words[VBD_EVENT_CODE];
	event->kind = vbd_registry_kind(object->registry);
	event->object_id = object->id;
	memcpy(event->name, object->name, sizeof(event->name));
	event->labels = object->labels;
	event->owner = object->owner;
	if (!object->past)
		event->words[VBD_EVENT_STATE] = state;
	if (object->logged_state != state)
		event->words[VBD_EVENT_PREVIOUS_STATE] = object->logged_state;
	object->logged_state = state;
	object->announced = event->type != deletion_types[event->kind];
}

void vbd_object_log(struct vbd_object *object, enum vbd_event_type type, enum vbd_severity severity,
	enum vbd_status code, const char *fmt, ...)
{
	struct vbd_event event = {.type = type, .severity = severity};
	va_list ap;

	event.words[VBD_EVENT_CODE] = code ? vbd_status_code(code) : NULL;
	fill_event_object(&event, object);
	va_start(ap, fmt);
	(void)vbd_eventlog_vappend(object->registry->daemon->eventlog, &event, fmt, ap);
	va_end(ap);
}

void vbd_object_log_event(struct vbd_object *object, struct vbd_event *event)
{
	fill_event_object(event, object);
	(void)vbd_eventlog_add(object->registry->daemon->eventlog, event);
}

static void log_state(struct vbd_object *object)
{
	enum vbd_event_type type = change_types[vbd_registry_kind(object->registry)];

	if (object->announced && type && get_state_name(object) != object->logged_state)
		vbd_object_log(object, type, VBD_SEVERITY_DEBUG, VBD_OK, "%s -> %s",
			object->logged_state, get_state_name(object));
}

void vbd_object_changed(struct vbd_object *object)
{
	object->version++;
	queue_record(object);
	log_state(object);
	vbd_watch_notify(&object->watches, false);
}

void vbd_object_relabel(struct vbd_object *object, struct vbd_labels *labels)
{
	vbd_labels_unref(object->labels);
	object->labels = vbd_labels_ref(labels);
	vbd_object_log(object, VBD_EVENT_LABELS_CHANGED, VBD_SEVERITY_INFO, VBD_OK, "%zu labels",
		labels ? labels->count : 0);
	vbd_object_changed(object);
}

void vbd_object_counted(struct vbd_object *object)
{
	/* The row of an ended object has its counters too. */
	if (object->ended)
		queue_record(object);
	vbd_watch_notify(&object->watches, false);
}

/* The object leaves its registry, and so the lists of clients. */
static void log_deletion(struct vbd_object *object)
{
	if (object->announced)
		vbd_object_log(object, deletion_types[vbd_registry_kind(object->registry)],
			VBD_SEVERITY_DEBUG, VBD_OK, "%s",
			object->name[0] ? object->name : "without a name");
}

void vbd_record_delete(struct vbd_record *record)
{
	struct vbd_registry *registry = record->object.registry;

	log_deletion(&record->object);
	drop_record(&record->object);
	vbd_history_leave(&registry->past_ended, &record->object.ended_link);
	vbd_places_remove(&registry->past, record->object.id);
	vbd_record_free(record);
}

/* --- life ------------------------------------------------------------------------------------ */

void vbd_object_free(struct vbd_object *object)
{
	struct vbd_registry *registry = object->registry;

	count_end(object);
	vbd_object_unpin(object);
	vbd_list_remove(&object->reap.link);
	vbd_timer_destroy(object->deadline);
	vbd_history_leave(&registry->ended, &object->ended_link);
	log_deletion(object);
	vbd_object_leave(object);
	vbd_watch_notify(&object->watches, true);
	if (registry->kind->free)
		registry->kind->free(object);
	vbd_labels_unref(object->labels);
	vbd_caller_unref(object->owner);
	free(object);
}

/* Since vbd_object_settle() something may have begun to use the object again. */
static void free_if_unused(struct vbd_deferred *deferred)
{
	struct vbd_object *object = VBD_CONTAINER_OF(deferred, struct vbd_object, reap);

	if (!is_used(object))
		vbd_object_free(object);
}

static struct vbd_object *object_of(struct vbd_link *ended_link)
{
	return VBD_CONTAINER_OF(ended_link, struct vbd_object, ended_link);
}

static void free_oldest_ended(struct vbd_registry *registry)
{
	if (vbd_registry_count(registry) < registry->limit)
		return;
	vbd_list_for_each_of (struct vbd_object, object, ended_link, &registry->ended.ended) {
		if (is_used(object))
			continue;
		vbd_object_free(object);
		return;
	}
}

static struct vbd_object *allocate_object(struct vbd_registry *registry, struct vbd_error *err)
{
	struct vbd_object *object = calloc(1, registry->kind->size_bytes);

	if (!object) {
		(void)vbd_error_set(
			err, VBD_E_NO_MEMORY, "no memory for another %s", registry->singular);
		return NULL;
	}
	object->registry = registry;
	object->created_ns = vbd_clock_mono_ns();
	object->version = 1;
	vbd_list_init(&object->watches);
	vbd_list_init(&object->ended_link);
	vbd_list_init(&object->record_link);
	vbd_deferred_init(&object->reap, free_if_unused);
	return object;
}

/* The object is in its registry. */
static struct vbd_object *count_created(struct vbd_object *object, const struct vbd_origin *origin)
{
	struct vbd_caller *owner = origin->shared ? NULL : origin->caller;
	enum vbd_quota quota = kind_quota(object->registry);

	object->owner = vbd_caller_ref(owner);
	object->shared = origin->shared;
	object->labels = vbd_labels_ref(origin->labels);
	object->registry->open++;
	vbd_tally_of(object->registry, owner)->objects++;
	vbd_tally_of(object->registry, owner)->open++;
	if (quota != VBD_QUOTA_COUNT)
		vbd_quota_count(owner, quota, 1);
	queue_record(object);
	return object;
}

enum vbd_status vbd_object_create(struct vbd_registry *registry, const struct vbd_origin *origin,
	const char *name, struct vbd_object **ret_object, struct vbd_error *err)
{
	const struct vbd_kind *kind = registry->kind;
	enum vbd_status status = check_quota(registry, origin->caller, err);
	struct vbd_object *object;

	if (status)
		return status;
	object = allocate_object(registry, err);
	if (!object)
		return VBD_E_NO_MEMORY;
	if (kind->on_deadline)
		status = vbd_timer_create(
			registry->daemon->loop, kind->on_deadline, object, &object->deadline, err);
	if (!status) {
		free_oldest_ended(registry);
		status = vbd_registry_add(registry, origin->caller, object, name, err);
	}
	if (status) {
		vbd_timer_destroy(object->deadline);
		free(object);
		return status;
	}
	*ret_object = count_created(object, origin);
	return VBD_OK;
}

struct vbd_origin vbd_origin_like(const struct vbd_object *object)
{
	return (struct vbd_origin){object->owner, object->labels, object->shared};
}

enum vbd_status vbd_object_adopt(struct vbd_registry *registry, const struct vbd_origin *origin,
	uint64_t id, const char *name, struct vbd_object **ret_object, struct vbd_error *err)
{
	/* The daemon's own PDs and CQs serve every request that names none. */
	const struct vbd_origin whose = {origin->caller, origin->labels, !origin->caller};
	struct vbd_object *object = allocate_object(registry, err);
	enum vbd_status status;

	if (!object)
		return VBD_E_NO_MEMORY;
	status = vbd_registry_adopt(registry, object, id, name, err);
	if (status) {
		free(object);
		return status;
	}
	*ret_object = count_created(object, &whose);
	return VBD_OK;
}

enum vbd_status vbd_object_set_name(struct vbd_object *object, const struct vbd_caller *caller,
	const char *name, struct vbd_error *err)
{
	enum vbd_status status = vbd_registry_set_name(object->registry, caller, object, name, err);

	if (status == VBD_OK)
		vbd_object_changed(object);
	return status;
}

bool vbd_object_settle(struct vbd_object *object)
{
	if (!object->deleted || !object->ended || is_used(object))
		return false;
	vbd_loop_defer(object->registry->daemon->loop, &object->reap);
	return true;
}

static void enter_history(struct vbd_object *object)
{
	struct vbd_registry *registry = object->registry;
	struct vbd_link *oldest;

	vbd_history_add(&registry->ended, &object->ended_link);
	/* Records of earlier runs count as ended objects, and are the oldest. */
	while (registry->past_ended.count + registry->ended.count > registry->kept &&
		(oldest = vbd_history_take_oldest(&registry->past_ended, 0)))
		vbd_record_delete(vbd_record_of(object_of(oldest)));
	oldest = vbd_history_take_oldest(&registry->ended, registry->kept);
	if (oldest)
		(void)vbd_object_delete(object_of(oldest));
}

void vbd_object_end(struct vbd_object *object)
{
	count_end(object);
	queue_record(object);
	(void)vbd_object_settle(object);
	if (object->registry->kind->keeps_history && !object->held)
		enter_history(object);
	vbd_daemon_check_stop(object->registry->daemon);
}

void vbd_object_hold(struct vbd_object *object, bool held)
{
	if (object->held == held)
		return;
	object->held = held;
	if (!object->ended || !object->registry->kind->keeps_history)
		return;
	if (held)
		vbd_history_leave(&object->registry->ended, &object->ended_link);
	else
		enter_history(object);
}

void vbd_object_replaced(struct vbd_object *object, struct vbd_object *before, bool forget)
{
	struct vbd_daemon *daemon = object->registry->daemon;

	if (forget) {
		object->recorded = before->recorded;
		before->recorded = before->announced = false;
	} else if (before->recorded && daemon->record_ops) {
		daemon->record_ops->replaced(
			daemon, vbd_registry_kind(object->registry), object->id, before->id);
	}
	/* An ETag of the id is out of date now. */
	object->version = before->version + 1;
	vbd_object_changed(before);
	vbd_object_hold(before, false);
	if (forget)
		vbd_object_unregister(before);
}

void vbd_object_cancel(struct vbd_object *object)
{
	if (!object->ended && object->registry->kind->cancel)
		object->registry->kind->cancel(object);
	log_state(object);
}

bool vbd_object_delete(struct vbd_object *object)
{
	object->deleted = true;
	vbd_object_cancel(object);
	return vbd_object_settle(object);
}

void vbd_object_unregister(struct vbd_object *object)
{
	log_deletion(object);
	vbd_object_leave(object);
	object->deleted = true;
	count_end(object);
	(void)vbd_object_settle(object);
}

/* The daemon ends, so no client reads of it any more. Rows stay. */
void vbd_objects_free(struct vbd_registry *registry)
{
	vbd_registry_for_each (object, registry) {
		object->recorded = false;
		object->announced = false;
		vbd_object_free(object);
	}
}

uint64_t vbd_object_connection(const struct vbd_object *object)
{
	size_t at = object->registry->kind->connection_at;

	if (vbd_registry_kind(object->registry) == VBD_KIND_CONNECTION)
		return object->id;
	return at ? *(const uint64_t *)(const void *)((const char *)object + at) : 0;
}

void vbd_object_error(const struct vbd_object *object, struct vbd_error *ret_err)
{
	const struct vbd_kind *kind = object->registry->kind;

	if (kind->problem)
		kind->problem(object, ret_err);
	else
		memcpy(ret_err, (const char *)object + kind->error_at, sizeof(*ret_err));
}

void vbd_object_problem(const struct vbd_object *object, struct vbd_error *ret_err)
{
	vbd_object_error(object, ret_err);
	(void)vbd_registry_path(object->registry, object->id, ret_err->object);
}
