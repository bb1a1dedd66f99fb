/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources/selection.h"

#include "api/http/in_turns.h"
#include "api/http/label_query.h"
#include "api/json/encode.h"
#include "api/resources/common_json.h"
#include "api/resources/context.h"
#include "api/resources/keep_answer.h"
#include "api/resources/keep_remove.h"
#include "api/resources/task.h"
#include "base/clock.h"
#include "daemon/core/failures.h"
#include "daemon/core/object.h"
#include "daemon/kept/kept.h"
#include "daemon/store/keeper.h"

#include <stdlib.h>

/* Ending a connection takes several calls of the kernel: so many objects take about a millisecond.
 */
#define OBJECTS_PER_TURN 16

/* To look at that many objects takes much less. */
#define VISITS_PER_PART 1000

/* Ids that an answer lists. */
#define IDS_MAX 1000

/* The query asks for these. */
struct query {
	struct vbd_label_selector labels;
	size_t all;	/* index in "false", "true" */
	size_t dry_run; /* the same */
};

struct selection;

/* A selected object. */
struct item {
	struct vbd_watch watch;
	struct selection *selection;
	uint64_t id;
};

struct selection {
	struct vbd_in_turns turns; /* first; they look for the objects */
	struct query query;
	uint64_t at_id;	  /* all objects up to this one were looked at */
	uint64_t last_id; /* later ones came after the request */
	struct vbd_registry *registry;
	const struct vbd_task_kind *kind;
	bool cancels;		 /* false: deletes */
	struct vbd_timer *timer; /* the next turn; then the end of the wait */
	uint64_t wait_until_ns;	 /* on the monotonic clock */
	struct vbd_failures failures;
	size_t pending; /* objects that are being ended, and watched */
	bool treated;	/* all objects are; the next turn has freed those that are gone */
	bool answering; /* nothing is awaited any more but the store */
	size_t at;
	size_t count;
	struct item items[];
};

static void free_selection(struct selection *selection)
{
	for (size_t i = 0; i < selection->count; i++)
		vbd_watch_remove(&selection->items[i].watch);
	vbd_timer_destroy(selection->timer);
	vbd_failures_fini(&selection->failures);
	free(selection);
}

static void put_ids(struct vbd_encoder *out, const char *name, const struct selection *selection)
{
	vbd_begin_array(out, name);
	for (size_t i = 0; i < selection->count && i < IDS_MAX; i++)
		vbd_put_u64(out, NULL, selection->items[i].id);
	vbd_end(out);
}

static void finish(struct selection *selection)
{
	struct vbd_encoder out = vbd_encode_begin();
	size_t undone = selection->pending + selection->failures.total;

	vbd_put_u64(&out, "selected", selection->count);
	put_ids(&out, "ids", selection);
	vbd_put_bool(&out, "dry_run", selection->query.dry_run != 0);
	vbd_put_u64(&out, "done", selection->query.dry_run ? 0 : selection->count - undone);
	vbd_put_u64(&out, "pending", selection->pending);
	vbd_put_u64(&out, "failed", selection->failures.total);
	vbd_put_failures(&out, "failures", &selection->failures);
	vbd_reply_json(selection->turns.req, selection->pending ? 202 : 200, &out);
	free_selection(selection);
}

static bool is_over(const struct selection *selection, const struct vbd_object *object)
{
	return selection->cancels && object->ended;
}

static void on_changed(struct vbd_watch *watch, bool gone)
{
	struct item *item = VBD_CONTAINER_OF(watch, struct item, watch);
	struct selection *selection = item->selection;
	const struct vbd_object *object = vbd_registry_find_id(selection->registry, item->id);

	if (!gone && object && !is_over(selection, object))
		return;
	vbd_watch_remove(&item->watch);
	if (--selection->pending == 0 && selection->treated && !selection->answering)
		vbd_timer_set(selection->timer, 0);
}

static void watch(struct item *item, struct vbd_object *object)
{
	vbd_watch_add(&object->watches, &item->watch);
	item->selection->pending++;
}

static void treat(struct item *item, struct vbd_object *object)
{
	struct selection *selection = item->selection;
	struct vbd_kept *kept = vbd_kept_of(object);
	struct vbd_error err = {0};

	if (selection->cancels) {
		vbd_object_cancel(object);
		if (!object->ended)
			watch(item, object);
	} else if (!selection->kind->remove) {
		(void)vbd_kept_drop(kept);
		watch(item, object);
		(void)vbd_object_delete(object);
	} else if (selection->kind->remove(object, &err) == VBD_OK) {
		(void)vbd_kept_drop(kept);
	} else {
		vbd_failures_add(&selection->failures, object, &err);
	}
}

static void delete_record(const struct selection *selection, uint64_t id)
{
	struct vbd_record *record = vbd_records_find(&selection->registry->past, id);

	if (!record)
		return;
	(void)vbd_keep_drop_record(selection->turns.req, selection->registry, record);
	vbd_record_delete(selection->registry, record);
}

static void answer_selection(struct vbd_request *req, struct vbd_object *object, void *arg)
{
	(void)req;
	(void)object;
	finish(arg);
}

/* The objects that end by themselves are awaited as long as the client wants. */
static void wait_for_pending(struct selection *selection)
{
	uint64_t now_ns = vbd_clock_mono_ns();
	struct vbd_request *req = selection->turns.req;

	if (selection->pending == 0 || now_ns >= selection->wait_until_ns) {
		selection->answering = true;
		vbd_keep_answer(req, vbd_keeper_newest_ticket(vbd_request_daemon(req)), NULL,
			answer_selection, selection);
	} else {
		vbd_timer_set(selection->timer,
			(selection->wait_until_ns - now_ns + VBD_NS_PER_MS - 1) / VBD_NS_PER_MS);
	}
}

static void next_turn(void *arg)
{
	struct selection *selection = arg;

	for (int i = 0; i < OBJECTS_PER_TURN && selection->at < selection->count; i++) {
		struct item *item = &selection->items[selection->at++];
		struct vbd_object *object = vbd_registry_find_id(selection->registry, item->id);

		if (object)
			treat(item, object);
		else
			delete_record(selection, item->id);
	}
	if (selection->treated) {
		wait_for_pending(selection);
		return;
	}
	selection->treated = selection->at == selection->count;
	vbd_timer_set(selection->timer, 0);
}

/* The objects that are left stay as they are. */
static void on_gone(struct vbd_request *req, void *arg)
{
	(void)req;
	free_selection(arg);
}

/* --- the selection --------------------------------------------------------------------------- */

static enum vbd_status parse(
	const struct vbd_request *req, struct query *ret_query, struct vbd_error *err)
{
	static const char *const flags[] = {"false", "true"};
	enum vbd_status status = vbd_query_labels(req, &ret_query->labels, err);

	if (!status)
		status = vbd_query_enum(req, "all", flags, 2, &ret_query->all, err);
	if (!status)
		status = vbd_query_enum(req, "dry_run", flags, 2, &ret_query->dry_run, err);
	if (status)
		return status;
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
	return !is_over(selection, object) &&
	       vbd_labels_match(object->labels, &selection->query.labels) &&
	       vbd_caller_may_change(selection->turns.req->caller, object->owner);
}

static void add(struct selection *selection, uint64_t id)
{
	struct item *item = &selection->items[selection->count++];

	item->watch.cb = on_changed;
	vbd_list_init(&item->watch.link);
	item->selection = selection;
	item->id = id;
}

/* Records of earlier runs have ended, so there is nothing of them to cancel. */
static void add_records(struct selection *selection)
{
	const struct vbd_records *records = &selection->registry->past;
	const struct vbd_record *record = NULL;

	while ((record = vbd_records_after(records, record ? record->id : 0))) {
		if (vbd_labels_match(record->labels, &selection->query.labels) &&
			vbd_caller_may_change(selection->turns.req->caller, record->owner))
			add(selection, record->id);
	}
}

/* Returns whether all objects were looked at. */
static bool select_some(struct selection *selection)
{
	for (int i = 0; i < VISITS_PER_PART; i++) {
		const struct vbd_object *object =
			vbd_registry_after(selection->registry, selection->at_id);

		if (!object || object->id > selection->last_id)
			return true;
		selection->at_id = object->id;
		if (is_selected(selection, object))
			add(selection, object->id);
	}
	return false;
}

static enum vbd_status begin(struct selection *selection, struct vbd_error *err)
{
	struct vbd_request *req = selection->turns.req;
	enum vbd_status status = vbd_timer_create(
		vbd_request_daemon(req)->loop, next_turn, selection, &selection->timer, err);

	if (status == VBD_OK)
		status = vbd_request_park(req, 0, NULL, on_gone, selection, err);
	if (status != VBD_OK)
		return status;
	vbd_request_acted(req, true);
	vbd_timer_set(selection->timer, 0);
	return VBD_OK;
}

static bool go_on(struct vbd_in_turns *self)
{
	struct selection *selection = VBD_CONTAINER_OF(self, struct selection, turns);
	struct vbd_request *req = self->req;
	struct vbd_error err = {0};

	if (!select_some(selection))
		return false;
	if (selection->query.dry_run) {
		finish(selection);
	} else if (begin(selection, &err) != VBD_OK) {
		free_selection(selection);
		vbd_reply_problem(req, &err);
	}
	return true;
}

static void drop(struct vbd_in_turns *self)
{
	free_selection(VBD_CONTAINER_OF(self, struct selection, turns));
}

static enum vbd_status create(struct vbd_request *req, bool cancels,
	struct selection **ret_selection, struct vbd_error *err)
{
	const struct vbd_task_kind *kind = req->route->task;
	struct vbd_registry *registry = &vbd_request_daemon(req)->registries[kind->kind];
	struct query query = {.all = 0};
	struct selection *selection;
	enum vbd_status status = parse(req, &query, err);

	if (status != VBD_OK)
		return status;
	selection = calloc(1, sizeof(*selection) + (vbd_registry_count(registry) +
							   vbd_records_count(&registry->past)) *
							   sizeof(selection->items[0]));
	if (!selection)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the selected objects");
	selection->turns = (struct vbd_in_turns){.req = req, .go_on = go_on, .drop = drop};
	selection->query = query;
	selection->last_id = registry->last_id;
	selection->registry = registry;
	selection->kind = kind;
	selection->cancels = cancels;
	selection->wait_until_ns = vbd_clock_mono_ns() + req->wait_ms * VBD_NS_PER_MS;
	if (!cancels)
		add_records(selection);
	*ret_selection = selection;
	return VBD_OK;
}

static void run(struct vbd_request *req, bool cancels)
{
	struct selection *selection;
	struct vbd_error err = {0};

	if (create(req, cancels, &selection, &err) == VBD_OK)
		vbd_in_turns_run(&selection->turns, &vbd_request_daemon(req)->turns);
	else
		vbd_reply_problem(req, &err);
}

void vbd_delete_selected(struct vbd_request *req)
{
	run(req, false);
}

void vbd_cancel_selected(struct vbd_request *req)
{
	run(req, true);
}
