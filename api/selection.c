/* SPDX-License-Identifier: Apache-2.0 */
#include "api/core/common_json.h"
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "api/core/keep.h"
#include "base/clock.h"
#include "daemon/core/batch.h"
#include "daemon/memory/shared.h"
#include "daemon/store/keeper.h"

/* Ending a connection takes several system calls: this many objects take about a millisecond. */
#define OBJECTS_PER_TURN 16

/* To look at that many objects takes much less. */
#define VISITS_PER_PART 1000

/* Objects that an answer lists. */
#define OBJECTS_MAX 1000

/* The request deletes, cancels or labels each selected object. */
enum action { DELETES, CANCELS, LABELS };

struct query {
	struct vbd_label_selector labels;
	const char *ref; /* the only object, of the only kind; NULL: any */
	uint32_t kinds;	 /* bits by enum vbd_object_kind */
	size_t all;	 /* index in "false", "true" */
	size_t dry_run;	 /* the same */
};

struct selection;

/* A selected object. */
struct item {
	struct vbd_watch watch;
	struct selection *selection;
	enum vbd_object_kind kind;
	uint64_t id;
};

struct selection {
	struct vbd_request *req; /* parked */
	struct query query;
	struct vbd_registry *registries;   /* of the daemon */
	uint64_t last_ids[VBD_KIND_COUNT]; /* later objects came after the request */
	enum vbd_object_kind at_kind;	   /* kinds before this one were looked through */
	uint64_t at_id;			   /* and the objects of this kind up to this one */
	enum vbd_object_kind treated_kind; /* of the item that was treated last */
	enum action action;
	struct vbd_timer *timer; /* the next turn; then the end of the wait */
	uint64_t wait_until_ns;	 /* on the monotonic clock */
	struct vbd_failures failures;
	size_t pending; /* objects that are being ended, and watched */
	bool answering; /* nothing is awaited any more but the store */
	size_t at;
	size_t count;
	struct item items[];
};

static struct vbd_object *find_item_object(const struct item *item)
{
	const struct vbd_registry *registry = &item->selection->registries[item->kind];
	struct vbd_object *object = vbd_registry_find_id(registry, item->id);
	struct vbd_record *record = object ? NULL : vbd_record_find(registry, item->id);

	return record ? &record->object : object;
}

static void free_selection(struct selection *selection)
{
	for (size_t i = 0; i < selection->count; i++)
		vbd_watch_remove(&selection->items[i].watch);
	vbd_timer_destroy(selection->timer);
	vbd_failures_fini(&selection->failures);
	free(selection);
}

static void put_objects(
	struct vbd_encoder *out, const char *name, const struct selection *selection)
{
	vbd_begin_array(out, name);
	for (size_t i = 0; i < selection->count && i < OBJECTS_MAX; i++) {
		const struct item *item = &selection->items[i];
		const struct vbd_object *object = find_item_object(item);

		vbd_begin_object(out, NULL);
		vbd_put_text(out, "kind", selection->registries[item->kind].singular);
		vbd_put_u64(out, "id", item->id);
		vbd_put_text_or_null(out, "name", object ? object->name : "");
		vbd_end(out);
	}
	vbd_end(out);
}

static void reply_and_free(struct selection *selection)
{
	struct vbd_encoder out = vbd_encode_begin();
	size_t undone = selection->pending + selection->failures.total;

	vbd_put_u64(&out, "selected", selection->count);
	put_objects(&out, "objects", selection);
	vbd_put_bool(&out, "dry_run", selection->query.dry_run != 0);
	vbd_put_u64(&out, "done", selection->query.dry_run ? 0 : selection->count - undone);
	vbd_put_u64(&out, "pending", selection->pending);
	vbd_put_u64(&out, "failed", selection->failures.total);
	vbd_put_failures(&out, "failures", &selection->failures);
	vbd_reply_json(selection->req, selection->pending ? 202 : 200, &out);
	free_selection(selection);
}

static bool needs_no_cancel(const struct selection *selection, const struct vbd_object *object)
{
	return selection->action == CANCELS && object->ended;
}

static void on_object_changed(struct vbd_watch *watch, bool gone)
{
	struct item *item = VBD_CONTAINER_OF(watch, struct item, watch);
	struct selection *selection = item->selection;
	const struct vbd_object *object = find_item_object(item);

	if (!gone && object && !needs_no_cancel(selection, object))
		return;
	vbd_watch_remove(&item->watch);
	if (--selection->pending == 0 && !selection->answering)
		vbd_timer_set(selection->timer, 0);
}

static void watch_object(struct item *item, struct vbd_object *object)
{
	vbd_watch_add(&object->watches, &item->watch);
	item->selection->pending++;
}

static enum vbd_status label_object(
	const struct selection *selection, struct vbd_object *object, struct vbd_error *err)
{
	const json_t *patch = json_object_get(selection->req->json, "labels");
	struct vbd_labels *labels = NULL;
	enum vbd_status status = vbd_labels_patch(object->labels, patch, &labels, err);

	if (status == VBD_OK)
		vbd_object_relabel(object, labels);
	vbd_labels_unref(labels);
	return status;
}

static void apply_action(struct item *item, struct vbd_object *object)
{
	struct selection *selection = item->selection;
	const struct vbd_task_kind *task = vbd_task_of(item->kind);
	struct vbd_record *record = vbd_record_of(object);
	struct vbd_kept *kept = vbd_kept_of(object);
	struct vbd_error err = {0};

	if (record) {
		(void)vbd_keep_drop_record(selection->req, record);
		vbd_record_delete(record);
	} else if (selection->action == LABELS) {
		if (label_object(selection, object, &err) != VBD_OK)
			vbd_failures_add(&selection->failures, object, &err);
	} else if (selection->action == CANCELS) {
		vbd_object_cancel(object);
		if (!object->ended)
			watch_object(item, object);
	} else if (!task->remove) {
		(void)vbd_kept_drop(kept);
		watch_object(item, object);
		(void)vbd_object_delete(object);
	} else if (task->remove(object, &err) == VBD_OK) {
		(void)vbd_kept_drop(kept);
	} else {
		vbd_failures_add(&selection->failures, object, &err);
	}
}

static void answer_selection(struct vbd_request *req, struct vbd_object *object, void *arg)
{
	(void)req;
	(void)object;
	reply_and_free(arg);
}

/* The objects that end by themselves are awaited as long as the client wants. Returns whether the
 * selection can go on. */
static bool wait_for_pending(struct selection *selection)
{
	uint64_t now_ns = vbd_clock_mono_ns();

	if (selection->pending == 0 || now_ns >= selection->wait_until_ns)
		return true;
	vbd_timer_set(selection->timer,
		(selection->wait_until_ns - now_ns + VBD_NS_PER_MS - 1) / VBD_NS_PER_MS);
	return false;
}

/* One turn treats objects of one kind only: the next turn has freed those that are gone. */
static void apply_to_some(struct selection *selection)
{
	for (int i = 0; i < OBJECTS_PER_TURN && selection->at < selection->count; i++) {
		struct item *item = &selection->items[selection->at];
		struct vbd_object *object = find_item_object(item);

		if (item->kind != selection->treated_kind && i > 0)
			break;
		selection->treated_kind = item->kind;
		selection->at++;
		if (object)
			apply_action(item, object);
	}
}

/* Objects of the next kind may be in use by those that are pending. */
static void apply_to_all(struct selection *selection)
{
	struct vbd_request *req = selection->req;
	bool is_last = selection->at == selection->count;

	if ((is_last || selection->items[selection->at].kind != selection->treated_kind) &&
		!wait_for_pending(selection))
		return;
	if (!is_last) {
		apply_to_some(selection);
		vbd_timer_set(selection->timer, 0);
		return;
	}
	selection->answering = true;
	vbd_keep_answer(req, vbd_keeper_newest_ticket(vbd_request_daemon(req)), NULL,
		answer_selection, selection);
}

/* The objects that are left stay as they are. */
static void on_client_gone(struct vbd_request *req, void *arg)
{
	(void)req;
	free_selection(arg);
}

/* --- the selection --------------------------------------------------------------------------- */

/* No exports, which come from the configuration. CANCELS: only a kind whose ended objects stay, as
 * cancelled ones do. LABELS: no kept objects, which have the labels of the request that keeps them.
 */
static bool action_allows_kind(
	const struct vbd_registry *registries, enum vbd_object_kind kind, enum action action)
{
	if (kind == VBD_KIND_EXPORT)
		return false;
	return action == LABELS ? kind != VBD_KIND_KEPT_OBJECT
				: action == DELETES || registries[kind].kind->keeps_history;
}

static uint32_t kind_bit_of_name(
	const struct vbd_registry *registries, enum action action, const char *name, size_t len)
{
	for (enum vbd_object_kind kind = VBD_KIND_DEVICE + 1; kind < VBD_KIND_COUNT; kind++) {
		const char *singular = registries[kind].singular;

		if (action_allows_kind(registries, kind, action) && strlen(singular) == len &&
			memcmp(singular, name, len) == 0)
			return UINT32_C(1) << kind;
	}
	return 0;
}

static enum vbd_status refuse_kind(const struct vbd_registry *registries, enum action action,
	const char *param, const char *name, size_t len, struct vbd_error *err)
{
	char known[240] = "";

	for (enum vbd_object_kind kind = VBD_KIND_DEVICE + 1; kind < VBD_KIND_COUNT; kind++) {
		size_t used = strlen(known);

		if (action_allows_kind(registries, kind, action))
			(void)snprintf(known + used, sizeof(known) - used, "%s%s", used ? ", " : "",
				registries[kind].singular);
	}
	return vbd_error_input(err, VBD_E_BAD_VALUE, param, "%s has '%.*s', which is none of: %s",
		param, len < 32 ? (int)len : 32, name, known);
}

static enum vbd_status parse_kinds(const struct vbd_request *req, enum action action,
	uint32_t *ret_kinds, struct vbd_error *err)
{
	const struct vbd_registry *registries = vbd_request_daemon(req)->registries;
	const char *at = NULL;
	enum vbd_status status = vbd_query_text(req, "kind", 256, &at, err);

	*ret_kinds = 0;
	if (status != VBD_OK)
		return status;
	for (enum vbd_object_kind kind = VBD_KIND_DEVICE + 1; !at && kind < VBD_KIND_COUNT; kind++)
		*ret_kinds |= (uint32_t)action_allows_kind(registries, kind, action) << kind;
	while (at) {
		size_t len = strcspn(at, ",");
		uint32_t kind = kind_bit_of_name(registries, action, at, len);

		if (!kind)
			return refuse_kind(registries, action, "kind", at, len, err);
		*ret_kinds |= kind;
		at = at[len] ? at + len + 1 : NULL;
	}
	return VBD_OK;
}

/* Parse "connection/7" or "connection/to-b". */
static enum vbd_status parse_object(const struct vbd_request *req, enum action action,
	struct query *ret_query, struct vbd_error *err)
{
	const struct vbd_registry *registries = vbd_request_daemon(req)->registries;
	const char *object = NULL;
	enum vbd_status status = vbd_query_text(req, "object", 96, &object, err);
	size_t len;

	if (status != VBD_OK || !object)
		return status;
	len = strcspn(object, "/");
	ret_query->kinds = kind_bit_of_name(registries, action, object, len);
	if (!ret_query->kinds)
		return refuse_kind(registries, action, "object", object, len, err);
	ret_query->ref = object[len] ? object + len + 1 : "";
	return VBD_OK;
}

static enum vbd_status parse_query(const struct vbd_request *req, enum action action,
	struct query *ret_query, struct vbd_error *err)
{
	static const char *const flags[] = {"false", "true"};
	enum vbd_status status = parse_kinds(req, action, &ret_query->kinds, err);

	if (!status)
		status = parse_object(req, action, ret_query, err);
	if (!status)
		status = vbd_query_labels(req, &ret_query->labels, err);
	if (!status)
		status = vbd_query_enum(req, "all", flags, 2, &ret_query->all, err);
	if (!status)
		status = vbd_query_enum(req, "dry_run", flags, 2, &ret_query->dry_run, err);
	if (status)
		return status;
	if (ret_query->ref && !ret_query->all && !ret_query->labels.count)
		return VBD_OK;
	if (ret_query->ref)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "object",
			"object names one object; it is not allowed together with label or all");
	if (!ret_query->all && !ret_query->labels.count)
		return vbd_error_input(err, VBD_E_MISSING_FIELD, "label",
			"label is missing: it selects the objects, as in label=job=x; all=true "
			"selects all");
	if (ret_query->all && ret_query->labels.count)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "all",
			"all=true selects every object; it is not allowed together with label");
	return VBD_OK;
}

static bool is_selected(const struct selection *selection, const struct vbd_object *object)
{
	return !needs_no_cancel(selection, object) &&
	       !(selection->action == DELETES && vbd_shared_is_own(object)) &&
	       vbd_labels_match(object->labels, &selection->query.labels) &&
	       vbd_caller_may_change(selection->req->caller, object->owner);
}

static void add_item(struct selection *selection, uint64_t id)
{
	struct item *item = &selection->items[selection->count++];

	item->watch.cb = on_object_changed;
	vbd_list_init(&item->watch.link);
	item->selection = selection;
	item->kind = selection->at_kind;
	item->id = id;
}

/* Records of earlier runs have ended and do not change. */
static void add_records(struct selection *selection)
{
	const struct vbd_places *past = &selection->registries[selection->at_kind].past;

	for (size_t i = 0; i < past->count && selection->action == DELETES; i++) {
		const struct vbd_object *object = past->places[i].object;

		if (object && is_selected(selection, object))
			add_item(selection, object->id);
	}
}

static void go_to_next_kind(struct selection *selection)
{
	do
		selection->at_kind++;
	while (selection->at_kind < VBD_KIND_COUNT &&
		!(selection->query.kinds >> selection->at_kind & 1));
	selection->at_id = 0;
	if (selection->at_kind < VBD_KIND_COUNT)
		add_records(selection);
}

/* Returns whether all objects were looked at. */
static bool select_part(struct selection *selection)
{
	for (int i = 0; i < VISITS_PER_PART && selection->at_kind < VBD_KIND_COUNT; i++) {
		const struct vbd_object *object = vbd_registry_after(
			&selection->registries[selection->at_kind], selection->at_id);

		if (!object || object->id > selection->last_ids[selection->at_kind]) {
			go_to_next_kind(selection);
			continue;
		}
		selection->at_id = object->id;
		if (is_selected(selection, object))
			add_item(selection, object->id);
	}
	return selection->at_kind == VBD_KIND_COUNT;
}

static void select_turn(void *arg)
{
	struct selection *selection = arg;

	if (!select_part(selection)) {
		vbd_timer_set(selection->timer, 0);
	} else if (selection->query.dry_run) {
		reply_and_free(selection);
	} else {
		selection->req->acted = true;
		apply_to_all(selection);
	}
}

static enum vbd_status select_one(struct selection *selection, struct vbd_error *err)
{
	const struct vbd_object *object =
		vbd_registry_find_for(&selection->registries[selection->at_kind],
			selection->req->caller, selection->query.ref, VBD_TO_CHANGE, err);

	if (!object)
		return err->status;
	add_item(selection, object->id);
	selection->at_kind = VBD_KIND_COUNT;
	return VBD_OK;
}

/* Sets @last_ids. Returns the number of objects that may be selected. */
static size_t count_all(
	const struct vbd_registry *registries, uint32_t kinds, uint64_t last_ids[VBD_KIND_COUNT])
{
	size_t count = 0;

	for (enum vbd_object_kind kind = VBD_KIND_DEVICE + 1; kind < VBD_KIND_COUNT; kind++) {
		const struct vbd_registry *registry = &registries[kind];

		last_ids[kind] = registry->last_id;
		if (kinds >> kind & 1)
			count += vbd_registry_count(registry) + registry->past_ended.count;
	}
	return count;
}

static void run_selection(struct vbd_request *req, enum action action)
{
	struct vbd_error *err = &req->err;
	struct vbd_registry *registries = vbd_request_daemon(req)->registries;
	uint64_t last_ids[VBD_KIND_COUNT];
	struct query query = {.all = 0};
	struct selection *selection;
	enum vbd_status status = parse_query(req, action, &query, err);

	if (status != VBD_OK)
		return;
	selection = calloc(1, sizeof(*selection) + count_all(registries, query.kinds, last_ids) *
							   sizeof(selection->items[0]));
	if (!selection) {
		(void)vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the selected objects");
		return;
	}
	selection->req = req;
	selection->query = query;
	selection->registries = registries;
	memcpy(selection->last_ids, last_ids, sizeof(last_ids));
	selection->action = action;
	selection->wait_until_ns = vbd_clock_mono_ns() + req->wait_ms * VBD_NS_PER_MS;
	go_to_next_kind(selection);
	status = query.ref ? select_one(selection, err) : VBD_OK;
	if (status == VBD_OK)
		status = vbd_timer_create(vbd_request_daemon(req)->loop, select_turn, selection,
			&selection->timer, err);
	if (status == VBD_OK)
		status = vbd_request_park(req, 0, NULL, on_client_gone, selection, err);
	if (status != VBD_OK)
		free_selection(selection);
	else
		vbd_timer_set(selection->timer, 0);
}

void vbd_delete_selected(struct vbd_request *req)
{
	run_selection(req, DELETES);
}

void vbd_cancel_selected(struct vbd_request *req)
{
	run_selection(req, CANCELS);
}

void vbd_label_selected(struct vbd_request *req)
{
	struct {
		const json_t *labels;
	} input = {NULL};
	static const struct vbd_field fields[] = {
		{.name = "labels", .type = VBD_FIELD_OPEN, .required = true}};

	if (vbd_request_decode(req, VBD_FIELDS(fields), &input, &req->err) == VBD_OK &&
		vbd_labels_check_patch(input.labels, &req->err) == VBD_OK)
		run_selection(req, LABELS);
}
