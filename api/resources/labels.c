/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources/labels.h"

#include "api/http/label_query.h"
#include "api/json/encode.h"
#include "api/resources/context.h"
#include "api/resources/task.h"
#include "daemon/core/object.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- labels of a new object ------------------------------------------------------------------ */

static enum vbd_status check_label(const char *key, const json_t *value, struct vbd_error *err)
{
	char pointer[VBD_LABEL_BYTES + sizeof("/labels/")];

	(void)snprintf(pointer, sizeof(pointer), "/labels/%s", key);
	if (!vbd_label_key_valid(key))
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/labels",
			"the key of a label must start with a letter or '_', go on with letters, "
			"digits, '.', '_', '/' or '-', and have at most 63 characters");
	if (!json_is_string(value))
		return vbd_error_input(
			err, VBD_E_WRONG_TYPE, pointer, "the value of a label must be a string");
	if (json_string_length(value) != strlen(json_string_value(value)) ||
		!vbd_label_value_valid(json_string_value(value)))
		return vbd_error_input(err, VBD_E_BAD_VALUE, pointer,
			"the value of a label must have at most 63 bytes, and no comma or control "
			"character");
	return VBD_OK;
}

/* *@ret_labels is NULL for an absent member and for {}. */
static enum vbd_status decode_labels(
	const json_t *json, struct vbd_labels **ret_labels, struct vbd_error *err)
{
	size_t count = json_object_size(json);
	const json_t *value;
	const char *key;

	*ret_labels = NULL;
	if (json && !json_is_object(json))
		return vbd_error_input(
			err, VBD_E_WRONG_TYPE, "/labels", "/labels must be an object of strings");
	if (count > VBD_LABELS_MAX)
		return vbd_error_input(err, VBD_E_OUT_OF_RANGE, "/labels",
			"/labels has %zu labels; an object has at most %d", count, VBD_LABELS_MAX);
	json_object_foreach((json_t *)json, key, value)
	{
		if (check_label(key, value, err) != VBD_OK)
			return err->status;
	}
	if (count == 0)
		return VBD_OK;
	*ret_labels = vbd_labels_create(count);
	if (!*ret_labels)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for labels");
	json_object_foreach((json_t *)json, key, value)
		vbd_labels_add(*ret_labels, key, json_string_value(value));
	return VBD_OK;
}

void vbd_create_labelled(struct vbd_request *req)
{
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	struct vbd_error err = {0};
	struct vbd_labels *labels;

	if (decode_labels(json_object_get(req->json, "labels"), &labels, &err) != VBD_OK) {
		vbd_reply_problem(req, &err);
		return;
	}
	(void)json_object_del(req->json, "labels");
	daemon->new_labels = labels;
	req->route->create(req);
	daemon->new_labels = NULL;
	vbd_labels_unref(labels);
}

/* --- operations on the selected objects ------------------------------------------------------ */

/* Ending a connection takes several calls of the kernel: so many objects take about a millisecond.
 */
#define OBJECTS_PER_TURN 16
#define FAILURES_MAX	 100

/* An object that could not be deleted. */
struct failure {
	uint64_t id;
	char name[VBD_NAME_BYTES];
	struct vbd_error err;
};

struct selection {
	struct vbd_request *req;
	struct vbd_registry *registry;
	const struct vbd_task_kind *kind;
	bool cancels; /* false: deletes */
	struct vbd_timer *timer;
	struct failure *failures; /* the first FAILURES_MAX; NULL: none, or no memory for them */
	size_t n_failed;
	bool treated; /* all objects are; the next turn has freed those that are gone */
	size_t at;
	size_t count;
	uint64_t ids[];
};

static void free_selection(struct selection *selection)
{
	vbd_timer_destroy(selection->timer);
	free(selection->failures);
	free(selection);
}

static void add_failure(
	struct selection *selection, const struct vbd_object *object, const struct vbd_error *err)
{
	size_t i = selection->n_failed++;
	struct failure *failure;

	if (!selection->failures)
		selection->failures = calloc(FAILURES_MAX, sizeof(*selection->failures));
	if (i >= FAILURES_MAX || !selection->failures)
		return;
	failure = &selection->failures[i];
	failure->id = object->id;
	memcpy(failure->name, object->name, sizeof(failure->name));
	failure->err = *err;
}

static void put_failure(struct vbd_encoder *out, const struct failure *failure)
{
	const struct vbd_error *err = &failure->err;

	vbd_begin_object(out, NULL);
	vbd_put_u64(out, "id", failure->id);
	vbd_put_text_or_null(out, "name", failure->name);
	vbd_put_text(out, "code", vbd_status_code(err->status));
	vbd_put_text(out, "detail", *err->text ? err->text : vbd_status_text(err->status));
	vbd_end(out);
}

static void put_failures(
	struct vbd_encoder *out, const char *name, const struct selection *selection)
{
	vbd_begin_array(out, name);
	for (size_t i = 0; i < selection->n_failed && i < FAILURES_MAX && selection->failures; i++)
		put_failure(out, &selection->failures[i]);
	vbd_end(out);
}

static void treat(struct selection *selection, struct vbd_object *object)
{
	struct vbd_error err = {0};

	if (selection->cancels)
		vbd_object_cancel(object);
	else if (!selection->kind->remove)
		(void)vbd_object_delete(object);
	else if (selection->kind->remove(object, &err) != VBD_OK)
		add_failure(selection, object, &err);
}

static bool is_pending(const struct selection *selection, uint64_t id)
{
	const struct vbd_object *object = vbd_registry_find_id(selection->registry, id);

	return object && (selection->cancels ? !object->ended : object->deleted);
}

static void finish(struct selection *selection)
{
	struct vbd_encoder out = vbd_encode_begin();
	size_t pending = 0;

	for (size_t i = 0; i < selection->count; i++)
		pending += is_pending(selection, selection->ids[i]);
	vbd_put_u64(&out, "selected", selection->count);
	vbd_put_u64(&out, "done", selection->count - pending - selection->n_failed);
	vbd_put_u64(&out, "pending", pending);
	vbd_put_u64(&out, "failed", selection->n_failed);
	put_failures(&out, "failures", selection);
	vbd_reply_json(selection->req, pending ? 202 : 200, &out);
	free_selection(selection);
}

static void next_turn(void *arg)
{
	struct selection *selection = arg;

	for (int i = 0; i < OBJECTS_PER_TURN && selection->at < selection->count; i++) {
		struct vbd_object *object =
			vbd_registry_find_id(selection->registry, selection->ids[selection->at++]);

		if (object)
			treat(selection, object);
	}
	if (selection->treated) {
		finish(selection);
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

static struct selection *select_objects(struct vbd_registry *registry,
	const struct vbd_label_selector *labels, const struct vbd_caller *caller)
{
	struct selection *selection = calloc(
		1, sizeof(*selection) + vbd_registry_count(registry) * sizeof(selection->ids[0]));

	if (!selection)
		return NULL;
	for (const struct vbd_object *object = vbd_registry_first(registry); object;
		object = vbd_registry_next(object)) {
		if (vbd_labels_match(object->labels, labels) &&
			vbd_caller_may_change(caller, object->owner))
			selection->ids[selection->count++] = object->id;
	}
	selection->registry = registry;
	return selection;
}

static enum vbd_status begin(struct vbd_request *req, bool cancels, struct vbd_error *err)
{
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	const struct vbd_task_kind *kind = req->route->task;
	struct vbd_label_selector labels;
	struct selection *selection;
	enum vbd_status status = vbd_query_labels(req, &labels, err);

	if (status != VBD_OK)
		return status;
	if (!labels.count)
		return vbd_error_input(err, VBD_E_MISSING_FIELD, "label",
			"label is missing: it selects the objects, as in label=job=x");
	selection = select_objects(&daemon->registries[kind->kind], &labels, req->caller);
	if (!selection)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the selected objects");
	selection->kind = kind;
	selection->cancels = cancels;
	status = vbd_timer_create(daemon->loop, next_turn, selection, &selection->timer, err);
	if (status == VBD_OK)
		status = vbd_request_park(req, 0, NULL, on_gone, selection, err);
	if (status != VBD_OK) {
		free_selection(selection);
		return status;
	}
	selection->req = req;
	vbd_request_acted(req, true);
	vbd_timer_set(selection->timer, 0);
	return VBD_OK;
}

void vbd_delete_selected(struct vbd_request *req)
{
	struct vbd_error err = {0};

	if (begin(req, false, &err) != VBD_OK)
		vbd_reply_problem(req, &err);
}

void vbd_cancel_selected(struct vbd_request *req)
{
	struct vbd_error err = {0};

	if (begin(req, true, &err) != VBD_OK)
		vbd_reply_problem(req, &err);
}
