/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET of one object: the whole object or a part of it, now or when the state that the parameter
 * `until` names is there.
 */
#include "api/core/common_json.h"
#include "api/core/context.h"
#include "api/http/waiter.h"
#include "daemon/kept/reconciler.h"

struct shown_waiter {
	struct vbd_waiter waiter; /* first */
	const struct vbd_task_kind *kind;
	void *task;
	uint64_t id; /* of `task` */
	struct vbd_view view;
	uint64_t states;  /* bit mask of the states to wait for */
	uint64_t version; /* `changed`: answer when the object has another one */
	bool waits;	  /* for one of `states` */
	bool changed;
	bool idle;
};

static void reply_object(struct vbd_request *req, const struct shown_waiter *waiter)
{
	const struct vbd_task_kind *kind = waiter->kind;
	struct vbd_encoder out;
	struct vbd_sieve sieve;
	char tag[VBD_TAG_BYTES];

	vbd_reply_add_header(&req->reply, "ETag", vbd_task_tag(req, kind, waiter->task, tag));
	if (kind->refresh)
		kind->refresh(waiter->task);
	out = vbd_encode_begin();
	vbd_encode_through(
		&out, vbd_view_sieve(kind->find ? req->role : vbd_view_role(req, waiter->task),
			      kind->page.members, &waiter->view, &sieve));
	kind->page.encode(&out, waiter->task);
	vbd_reply_json(req, 200, &out);
}

/* --- until ----------------------------------------------------------------------------------- */

static enum vbd_status refuse_until(
	const struct vbd_task_kind *kind, const char *until, struct vbd_error *err)
{
	const struct vbd_page_state *states = kind->page.states;
	char known[180];

	(void)snprintf(known, sizeof(known), "changed%s%s", states ? ", open, ended" : "",
		kind->is_idle ? ", idle" : "");
	if (states)
		vbd_page_add_state_names(states, known, sizeof(known));
	return vbd_error_input(err, VBD_E_BAD_VALUE, "until",
		"until is '%.32s'; it must be one of: %s", until, known);
}

/* A client that has the object's tag waits for another; without one, for the next change. */
static void wait_for_change(struct vbd_request *req, struct shown_waiter *waiter)
{
	char tag[VBD_TAG_BYTES];

	waiter->changed = true;
	waiter->version = vbd_task_version(waiter->kind, waiter->task);
	if (vbd_request_header(req, VBD_HEADER_IF_NONE_MATCH) &&
		!vbd_condition_is_known(req, vbd_task_tag(req, waiter->kind, waiter->task, tag)))
		waiter->version = 0;
}

static enum vbd_status parse_until(
	struct vbd_request *req, struct shown_waiter *waiter, struct vbd_error *err)
{
	const struct vbd_page_state *states = waiter->kind->page.states;
	const char *until = NULL;
	enum vbd_status status = vbd_query_text(req, "until", 32, &until, err);

	if (status != VBD_OK || !until) {
		if (status == VBD_OK && vbd_uri_param(&req->uri, "wait_ms"))
			return vbd_error_input(err, VBD_E_MISSING_FIELD, "until",
				"wait_ms needs until: the state to wait for");
		return status;
	}
	if (strcmp(until, "changed") == 0) {
		wait_for_change(req, waiter);
		return VBD_OK;
	}
	if (strcmp(until, "idle") == 0 && waiter->kind->is_idle) {
		waiter->idle = true;
		return VBD_OK;
	}
	waiter->waits = true;
	if (states && vbd_page_add_states(states, until, strlen(until), &waiter->states))
		return VBD_OK;
	return refuse_until(waiter->kind, until, err);
}

/* An ended object gets into another state only if it is to be made again. */
static bool is_final_state(const struct shown_waiter *waiter, uint64_t state)
{
	const struct vbd_page_state *states = waiter->kind->page.states;
	const struct vbd_kept *kept;

	if (!states || !states[state].ended)
		return false;
	if (waiter->kind->find)
		return true;
	kept = vbd_kept_of(waiter->task);
	return !kept || !vbd_reconciler_will_make(kept);
}

static bool wait_is_over(const struct shown_waiter *waiter)
{
	const struct vbd_page_source *page = &waiter->kind->page;
	uint64_t state = page->states ? page->state_of(waiter->task) : 0;

	if (is_final_state(waiter, state))
		return true;
	if (waiter->idle)
		return waiter->kind->is_idle(waiter->task);
	if (waiter->changed)
		return vbd_task_version(waiter->kind, waiter->task) != waiter->version;
	return !waiter->waits || (waiter->states >> state & 1);
}

/* If another object has got the id meanwhile, the client waits for that object. */
static void follow_reused_id(struct shown_waiter *waiter)
{
	const struct vbd_object *task = waiter->task;
	struct vbd_object *now;

	if (waiter->kind->find || task->id == waiter->id)
		return;
	now = vbd_registry_find_id(task->registry, waiter->id);
	if (!now)
		return;
	waiter->task = now;
	vbd_watch_remove(&waiter->waiter.watch);
	vbd_watch_add(&now->watches, &waiter->waiter.watch);
}

static void answer_get(struct vbd_waiter *base, enum vbd_wake why)
{
	struct shown_waiter *waiter = VBD_CONTAINER_OF(base, struct shown_waiter, waiter);
	struct vbd_error err = {0};

	if (why != VBD_WAKE_OBJECT_GONE)
		follow_reused_id(waiter);
	if (why == VBD_WAKE_OBJECT_GONE) {
		(void)vbd_error_set(&err, VBD_E_NOT_FOUND,
			"the object was deleted while the request waited for a change of it");
		vbd_reply_problem(base->req, &err);
	} else if (wait_is_over(waiter)) {
		reply_object(base->req, waiter);
	} else if (why == VBD_WAKE_TIMEOUT) {
		vbd_reply_add_header(&base->req->reply, "Verbsd-Until", "timed_out");
		reply_object(base->req, waiter);
	}
}

void vbd_task_get(struct vbd_request *req)
{
	struct shown_waiter waiter = {.waiter.answer = answer_get, .kind = req->route->task};

	if (vbd_record_get(req, waiter.kind))
		return;
	waiter.task = vbd_task_find(req, waiter.kind);
	if (!waiter.task)
		return;
	waiter.id = waiter.kind->find ? 0 : ((const struct vbd_object *)waiter.task)->id;
	if (vbd_view_parse(req, waiter.kind->page.members, false, &waiter.view, &req->err) ==
			VBD_OK &&
		parse_until(req, &waiter, &req->err) == VBD_OK)
		vbd_waiter_run(&waiter.waiter, sizeof(waiter), req,
			waiter.kind->find ? &vbd_request_daemon(req)->device_watches
					  : &((struct vbd_object *)waiter.task)->watches,
			req->wait_ms);
}
