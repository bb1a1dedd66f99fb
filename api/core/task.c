/* SPDX-License-Identifier: Apache-2.0 */
#include "api/core/task.h"

#include "api/core/common_json.h"
#include "api/core/context.h"
#include "api/core/keep.h"
#include "api/http/idempotency.h"
#include "api/http/problem.h"
#include "api/http/waiter.h"
#include "base/text.h"
#include "daemon/core/devices.h"
#include "daemon/observe/explain.h"
#include "daemon/store/keeper.h"

/* An answer waits so long for the facts of its cause: a question to the host of a silent peer takes
 * 1.5 s. */
#define FACTS_MS 2000

/* The role "read" sees no contents: a GET that needs a higher role reads contents. */
static enum vbd_purpose purpose_of(const struct vbd_request *req)
{
	const struct vbd_route *route = req->route;

	if (req->method == VBD_METHOD_GET && route->role <= VBD_ROLE_READ)
		return VBD_TO_SEE;
	return req->method == VBD_METHOD_GET || route->moves_data ? VBD_TO_USE : VBD_TO_CHANGE;
}

void *vbd_task_find(struct vbd_request *req, const struct vbd_task_kind *kind)
{
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	void *task = kind->find ? kind->find(daemon, req->ref, &req->err)
				: vbd_registry_find_for(&daemon->registries[kind->kind],
					  req->caller, req->ref, purpose_of(req), &req->err);

	if (task && req->method != VBD_METHOD_GET &&
		vbd_task_unchanged(req, kind, task, &req->err) != VBD_OK)
		return NULL;
	return task;
}

void *vbd_member_find(const struct vbd_registry *registry, const struct vbd_caller *caller,
	const struct vbd_json_ref *ref, const char *pointer, struct vbd_error *err)
{
	char text[VBD_REF_TEXT_BYTES];
	void *object;

	if (!ref->id && !ref->name)
		return NULL;
	object = vbd_registry_find_for(registry, caller, vbd_ref_text(ref, text), VBD_TO_USE, err);
	if (!object)
		vbd_set_pointer(err, pointer);
	return object;
}

/* The name is the same after a restart, and the id is not. */
enum vbd_status vbd_member_device(const struct vbd_daemon *daemon, const struct vbd_json_ref *ref,
	char *ret_name, size_t name_bytes, struct vbd_error *err)
{
	char text[VBD_REF_TEXT_BYTES];
	const char *name = ref->name ? ref->name : ref->id ? vbd_ref_text(ref, text) : "";
	const struct vbd_device *device;
	uint64_t id;

	if (daemon && vbd_ref_is_id(name, &id)) {
		device = vbd_device_find_ref(daemon, name, NULL);
		if (!device || device->state == VBD_DEVICE_REMOVED)
			return vbd_error_input(err, VBD_E_NO_DEVICE, "/device",
				"there is no device '%.64s'", name);
		name = device->name;
	}
	vbd_copy_text(ret_name, name_bytes, name);
	return VBD_OK;
}

static enum vbd_status find_member(struct vbd_daemon *daemon, const struct vbd_caller *caller,
	const struct vbd_field *field, const json_t *value, const char *pointer, void *at,
	struct vbd_error *err)
{
	const struct vbd_json_ref ref = vbd_json_ref_of(value);
	void *object;

	if (field->type == VBD_FIELD_DEVICE)
		return vbd_member_device(daemon, &ref, at, field->size, err);
	object = vbd_member_find(&daemon->registries[field->kind], caller, &ref, pointer, err);
	memcpy(at, &object, sizeof(object));
	return err->status;
}

enum vbd_status vbd_members_find(struct vbd_daemon *daemon, const struct vbd_caller *caller,
	const json_t *json, const char *pointer, const struct vbd_field *fields, size_t n_fields,
	void *target, struct vbd_error *err)
{
	for (size_t i = 0; daemon && i < n_fields && err->status == VBD_OK; i++) {
		const struct vbd_field *field = &fields[i];
		const json_t *value = json_object_get(json, field->name);
		char member[64];

		if ((field->type != VBD_FIELD_FOUND && field->type != VBD_FIELD_DEVICE) || !value ||
			json_is_null(value))
			continue;
		(void)snprintf(member, sizeof(member), "%s/%s", pointer, field->name);
		(void)!find_member(
			daemon, caller, field, value, member, (char *)target + field->offset, err);
	}
	return err->status;
}

enum vbd_status vbd_request_decode_found(struct vbd_request *req, const struct vbd_field *fields,
	size_t n_fields, void *target, struct vbd_error *err)
{
	enum vbd_status status = vbd_request_decode(req, fields, n_fields, target, err);

	return status ? status
		      : vbd_members_find(vbd_request_daemon(req), req->caller, req->json, "",
				fields, n_fields, target, err);
}

/* An id is taken as it is, even if its object is gone: items may still refer to it. A name must be
 * that of an object or a record, unless it names a device. */
static enum vbd_status resolve_ref(struct vbd_request *req, const struct vbd_page_column *column,
	const char *ref, uint64_t *ret_id, const char **ret_text, struct vbd_error *err)
{
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	const struct vbd_registry *registry = &daemon->registries[column->kind];
	bool is_id = vbd_ref_is_id(ref, ret_id);
	const struct vbd_object *object;
	const struct vbd_record *record;

	if (column->kind == VBD_KIND_DEVICE) {
		const struct vbd_device *device =
			is_id ? vbd_device_find_ref(daemon, ref, NULL) : NULL;

		*ret_text = device ? device->name : is_id ? NULL : ref;
		return VBD_OK;
	}
	if (is_id)
		return VBD_OK;
	object = vbd_registry_find_name(registry, ref);
	record = vbd_record_find_name(registry, ref, req->caller);
	*ret_id = object ? object->id : record ? record->object.id : 0;
	if (*ret_id)
		return VBD_OK;
	return vbd_refuse_name(column->name, ref,
		&(struct vbd_similar){.like = vbd_registry_similar(registry, req->caller, ref)},
		err);
}

void vbd_task_list(struct vbd_request *req)
{
	const struct vbd_task_kind *kind = req->route->task;
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	char place[VBD_EVENT_ID_BYTES];

	/* Objects may change while the list is written: the events behind this place say so. */
	(void)vbd_event_place_id(daemon, vbd_eventlog_last(daemon->eventlog), place);
	vbd_page_reply(req, place, &kind->page, resolve_ref,
		kind->page.after ? (const void *)daemon : &daemon->registries[kind->kind]);
}

/* --- failures --------------------------------------------------------------------------------- */

/* An answer that waits for the facts of the connection's end, which are being gathered. */
struct failure {
	struct vbd_waiter waiter; /* first */
	const struct vbd_connection *connection;
	struct vbd_error err;
	char kept_object[VBD_PATH_BYTES]; /* "": none */
};

/* An answer that state_dir keeps has only what the role "read" may see. */
static void put_failure_cause(struct vbd_encoder *out, const void *arg)
{
	const struct vbd_connection *connection = ((const struct failure *)arg)->connection;
	struct vbd_request *req = ((const struct failure *)arg)->waiter.req;
	enum vbd_role role = req->idem && vbd_idem_keeps(req->idem)
				     ? VBD_ROLE_READ
				     : vbd_view_role(req, &connection->object);
	struct vbd_explanation explanation = {0};

	if (connection->conn->qp.reason && !connection->keeping)
		vbd_explain_connection(connection, NULL, req->caller, role, &explanation);
	if (explanation.verdicts.cause_count) {
		vbd_begin_object(out, "cause");
		vbd_put_cause(out, explanation.verdicts.causes);
		vbd_end(out);
	}
	vbd_put_explain(out, connection->object.id);
}

static void answer_failure(struct vbd_waiter *waiter, enum vbd_wake why)
{
	const struct failure *failure = VBD_CONTAINER_OF(waiter, struct failure, waiter);
	const struct vbd_problem_extra extra = {.kept_object = failure->kept_object,
		.put = why == VBD_WAKE_OBJECT_GONE ? NULL : put_failure_cause,
		.arg = failure};

	if (why != VBD_WAKE_CHANGED || !failure->connection->keeping)
		vbd_reply_outcome(waiter->req, &failure->err, &extra);
}

/* Answers as vbd_reply_outcome() does, with the cause. @object: NULL: it is gone; @kept_object:
 * NULL: it is not kept; @wait: the request may be parked until the facts are there. */
static void reply_failed(struct vbd_request *req, const struct vbd_object *object,
	const struct vbd_error *err, const char *kept_object, bool wait)
{
	struct failure failure = {.waiter.answer = answer_failure, .err = *err};
	uint64_t id = object ? vbd_object_connection(object) : 0;
	struct vbd_object *connection =
		vbd_registry_find_id(&vbd_request_daemon(req)->registries[VBD_KIND_CONNECTION], id);

	if (!connection || !vbd_caller_sees(req->caller, connection->owner)) {
		vbd_reply_outcome(
			req, err, &(struct vbd_problem_extra){.kept_object = kept_object});
		return;
	}
	failure.connection = VBD_CONTAINER_OF(connection, struct vbd_connection, object);
	vbd_copy_text(failure.kept_object, sizeof(failure.kept_object), kept_object);
	vbd_waiter_run(
		&failure.waiter, sizeof(failure), req, &connection->watches, wait ? FACTS_MS : 0);
}

/* --- waiting --------------------------------------------------------------------------------- */

enum task_state {
	TASK_RUNNING, /* or ending before it was done */
	TASK_DONE,
	TASK_FAILED,
};

static enum task_state task_state_of(const struct vbd_task_kind *kind, const void *task)
{
	const uint64_t state = kind->page.state_of(task);

	if (kind->done >> state & 1)
		return TASK_DONE;
	if (kind->failed ? kind->failed >> state & 1 : kind->page.states[state].ended)
		return TASK_FAILED;
	return TASK_RUNNING;
}

struct task_waiter;

/* Answer if the client waits for @state. @over: the wait has ended, so answer in any case. */
typedef void (*task_answer_fn)(struct task_waiter *waiter, enum task_state state, bool over);

struct task_waiter {
	struct vbd_waiter waiter; /* first */
	const struct vbd_task_kind *kind;
	struct vbd_object *task;
	task_answer_fn answer; /* NULL: the client waits for the end of the object */
};

/* The kept object that the request has made; NULL: none, or it is kept no longer. */
static const struct vbd_kept *find_absent_kept(
	const struct vbd_request *req, const struct vbd_task_kind *kind)
{
	const char *name = json_string_value(json_object_get(req->json, "name"));
	const struct vbd_kept *kept = NULL;

	if (name && req->route->create)
		kept = vbd_kept_absent(&vbd_request_daemon(req)->registries[kind->kind], name);
	return kept && vbd_caller_sees(req->caller, kept->object.owner) ? kept : NULL;
}

void vbd_task_reply_ended(struct vbd_request *req, const struct vbd_object *object,
	struct vbd_error *err, const struct vbd_kept *kept, bool wait)
{
	char path[sizeof(err->object)];
	char text[sizeof(err->text)];

	if (!kept) {
		reply_failed(req, object, err, NULL, wait);
		return;
	}
	(void)snprintf(text, sizeof(text), "%.180s; it is kept%s", err->text,
		!vbd_request_daemon(req)->keeper || vbd_kept_outlives(kept)
			? ""
			: " until verbsd ends: state_dir does not have it");
	memcpy(err->text, text, sizeof(err->text));
	(void)vbd_registry_path(kept->object.registry, kept->object.id, path);
	if (!err->object[0])
		memcpy(err->object, path, sizeof(path));
	reply_failed(req, object, err, path, wait);
}

void vbd_task_reply_gone(struct vbd_request *req, const struct vbd_task_kind *kind)
{
	const struct vbd_kept *kept = find_absent_kept(req, kind);
	struct vbd_error err = {0};

	if (kept && vbd_request_daemon(req)->stopping)
		(void)vbd_error_set(&err, VBD_E_STOPPING, "verbsd stops, and has closed it");
	else
		(void)vbd_error_set(&err, VBD_E_NOT_FOUND, "the %s was deleted in the meantime",
			vbd_object_kind_name(kind->kind));
	if (kept)
		vbd_task_reply_ended(req, NULL, &err, kept, false);
	else
		vbd_reply_problem(req, &err);
}

static void pass_task_state(struct vbd_waiter *base, enum vbd_wake why)
{
	struct task_waiter *waiter = VBD_CONTAINER_OF(base, struct task_waiter, waiter);

	if (why == VBD_WAKE_OBJECT_GONE)
		vbd_task_reply_gone(base->req, waiter->kind);
	else
		waiter->answer(
			waiter, task_state_of(waiter->kind, waiter->task), why == VBD_WAKE_TIMEOUT);
}

static void reply_created(const struct task_waiter *waiter, enum task_state state)
{
	struct vbd_request *req = waiter->waiter.req;

	vbd_request_add_location(req, waiter->task->registry->plural, waiter->task->id);
	vbd_task_reply(req, state == TASK_DONE ? 201 : 202, waiter->kind, waiter->task);
}

static void answer_at_end(struct task_waiter *waiter, enum task_state state, bool over)
{
	struct vbd_request *req = waiter->waiter.req;
	struct vbd_error err = {0};

	/* A request without a wait gets the state of a failed task, not its error. */
	if (state == TASK_FAILED && req->wait_asked) {
		vbd_object_problem(waiter->task, &err);
		waiter->waiter.handed_on = true;
		reply_failed(req, waiter->task, &err, NULL, !over);
	} else if (state != TASK_RUNNING || over) {
		reply_created(waiter, state);
	}
}

/* The object is removed with the answer. */
static void answer_failed_creation(struct vbd_request *req, struct vbd_object *object, void *arg)
{
	struct vbd_error err = {0};

	(void)arg;
	if (object)
		vbd_object_error(object, &err);
	else
		(void)vbd_error_set(&err, VBD_E_NOT_FOUND, "it was deleted in the meantime");
	req->acted = false;
	vbd_reply_problem(req, &err);
	if (object)
		vbd_object_unregister(object);
}

static void answer_creation(struct task_waiter *waiter, enum task_state state, bool over)
{
	if (state == TASK_FAILED) {
		waiter->waiter.handed_on = true;
		vbd_keep_answer(waiter->waiter.req, vbd_kept_drop(vbd_kept_of(waiter->task)),
			waiter->task, answer_failed_creation, NULL);
	} else if (state == TASK_DONE || over) {
		reply_created(waiter, state);
	}
}

static void answer_cancellation(struct task_waiter *waiter, enum task_state state, bool over)
{
	bool running = state == TASK_RUNNING;

	if (!running || over)
		vbd_task_reply(waiter->waiter.req, running ? 202 : 200, waiter->kind, waiter->task);
}

static void answer_deletion(struct vbd_waiter *base, enum vbd_wake why)
{
	const struct task_waiter *waiter = VBD_CONTAINER_OF(base, struct task_waiter, waiter);

	if (why == VBD_WAKE_OBJECT_GONE)
		vbd_reply_empty(base->req, 204);
	else if (why == VBD_WAKE_TIMEOUT)
		vbd_task_reply(base->req, 202, waiter->kind, waiter->task);
}

static void await_task(struct vbd_request *req, const struct vbd_task_kind *kind,
	struct vbd_object *task, task_answer_fn answer, uint64_t wait_ms)
{
	struct task_waiter waiter = {.waiter.answer = answer ? pass_task_state : answer_deletion,
		.kind = kind,
		.task = task,
		.answer = answer};

	vbd_waiter_run(&waiter.waiter, sizeof(waiter), req, &task->watches, wait_ms);
}

void vbd_task_answer(struct vbd_request *req, const struct vbd_task_kind *kind, void *task)
{
	await_task(req, kind, task, answer_at_end, req->wait_ms);
}

void vbd_task_answer_made(struct vbd_request *req, struct vbd_object *task)
{
	bool bounded = req->wait_asked || req->respond_async;

	await_task(req, req->route->task, task, answer_creation,
		bounded ? req->wait_ms : VBD_WAIT_UNBOUNDED);
}

void vbd_task_answer_post(
	struct vbd_request *req, const struct vbd_task_kind *kind, struct vbd_object *object)
{
	if (kind->answer)
		kind->answer(req, object);
	else if (kind->done)
		vbd_task_answer(req, kind, object);
	else
		vbd_task_created(req, kind, object);
}

void vbd_task_create(struct vbd_request *req)
{
	const struct vbd_task_kind *kind = req->route->task;
	void *task = kind->create(req, &req->err);

	if (task)
		vbd_task_answer_post(req, kind, task);
}

/* Answer with `err` of the request, and the users of the object. */
static void reply_in_use(struct vbd_request *req, const struct vbd_users *users)
{
	const char *paths[VBD_USERS_SHOWN_MAX];
	const struct vbd_problem_extra extra = {.users = paths, .n_users = users->shown};
	struct vbd_error told = req->err;

	for (size_t i = 0; i < users->shown; i++)
		paths[i] = users->paths[i];
	if (users->hidden)
		(void)snprintf(told.text, sizeof(told.text), "%.180s; %zu of other callers",
			req->err.text, users->hidden);
	vbd_reply_problem_extra(req, &told, &extra);
}

static void answer_deleted(struct vbd_request *req, struct vbd_object *object, void *arg)
{
	const struct vbd_task_kind *kind = arg;

	if (object)
		await_task(req, kind, object, NULL, req->wait_ms);
	else if (kind->answer_gone)
		kind->answer_gone(req);
	else
		vbd_reply_empty(req, 204);
}

static bool remove_task(
	struct vbd_request *req, const struct vbd_task_kind *kind, struct vbd_object *task)
{
	struct vbd_users users;

	if (kind->remove(task, &req->err) == VBD_OK)
		return true;
	if (kind->users) {
		kind->users(task, req->caller, &users);
		reply_in_use(req, &users);
	}
	return false;
}

void vbd_task_delete(struct vbd_request *req)
{
	const struct vbd_task_kind *kind = req->route->task;
	const struct vbd_daemon *daemon = vbd_request_daemon(req);
	uint64_t before = vbd_keeper_newest_ticket(daemon), ticket;
	struct vbd_object *task;
	struct vbd_kept *kept;
	bool gone = true;

	if (vbd_record_remove(req, kind) || vbd_keep_remove(req, kind->kind))
		return;
	task = vbd_task_find(req, kind);
	kept = task ? vbd_kept_of(task) : NULL;
	if (!task || (kind->remove && !remove_task(req, kind, task)))
		return;
	(void)vbd_kept_drop(kept);
	if (!kind->remove)
		gone = vbd_object_delete(task);
	ticket = vbd_keeper_newest_ticket(daemon);
	vbd_keep_answer(req, ticket == before ? VBD_TICKET_NONE : ticket, gone ? NULL : task,
		answer_deleted, (void *)kind);
}

void vbd_task_cancel(struct vbd_request *req)
{
	const struct vbd_task_kind *kind = req->route->task;
	void *task;

	if (vbd_record_end(req, kind))
		return;
	task = vbd_task_find(req, kind);
	if (!task)
		return;
	vbd_object_cancel(task);
	vbd_kept_rest(vbd_kept_of(task));
	await_task(req, kind, task, answer_cancellation, req->wait_ms);
}
