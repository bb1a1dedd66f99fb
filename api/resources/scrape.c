/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources/scrape.h"

#include "api/resources/context.h"
#include "daemon/observe/kernel.h"

/* The server sends an answer in the turn after its request has got it: that takes time as well. */
#define STEP_BYTES ((size_t)131072)

/* A parked request that gets the document. */
struct reader {
	struct vbd_link link;
	struct vbd_request *req;
	struct vbd_scrape *scrape;
};

/* --- documents ------------------------------------------------------------------------------- */

static void on_snapshot(struct vbd_watch *watch, bool gone);
static void on_timeout(void *arg);
static bool take_step(struct vbd_steps *steps);

static struct vbd_scrape *make(
	struct vbd_request *req, const struct vbd_scrape_kind *kind, unsigned int parts)
{
	struct vbd_scrape *scrape = calloc(1, kind->size_bytes);

	if (!scrape)
		return NULL;
	scrape->kind = kind;
	scrape->api = req->context;
	scrape->scope = vbd_caller_ref(vbd_caller_scope(req->caller));
	scrape->parts = parts;
	vbd_list_init(&scrape->requests);
	vbd_list_init(&scrape->link);
	vbd_list_init(&scrape->steps.link);
	vbd_list_init(&scrape->watch.link);
	scrape->steps.step = take_step;
	scrape->watch.cb = on_snapshot;
	return scrape;
}

static void drop(struct vbd_scrape *scrape)
{
	vbd_list_remove(&scrape->link);
	vbd_turns_drop(&scrape->steps);
	vbd_watch_remove(&scrape->watch);
	vbd_timer_destroy(scrape->timeout);
	if (scrape->kind->free)
		scrape->kind->free(scrape);
	vbd_document_unref(scrape->body);
	vbd_caller_unref(scrape->scope);
	free(scrape);
}

/* The requests that get one document are those of one scope: no other sees what is in it. */
static struct vbd_scrape *find(
	struct vbd_request *req, const struct vbd_scrape_kind *kind, unsigned int parts)
{
	const struct vbd_api *api = req->context;

	vbd_list_for_each (link, &api->scrapes) {
		struct vbd_scrape *scrape = VBD_CONTAINER_OF(link, struct vbd_scrape, link);

		if (scrape->kind == kind && scrape->parts == parts &&
			scrape->scope == vbd_caller_scope(req->caller))
			return scrape;
	}
	return NULL;
}

static void reply(struct vbd_request *req, const struct vbd_scrape *scrape)
{
	struct vbd_error err = {0};

	if (scrape->body) {
		scrape->kind->reply(req, scrape);
		return;
	}
	(void)vbd_error_set(&err, VBD_E_NO_MEMORY, "no memory for the answer");
	vbd_reply_problem(req, &err);
}

/* --- steps ----------------------------------------------------------------------------------- */

static void await_turn(struct vbd_scrape *scrape, bool fresh)
{
	scrape->fresh = fresh;
	vbd_watch_remove(&scrape->watch);
	vbd_timer_destroy(scrape->timeout);
	scrape->timeout = NULL;
	vbd_turns_add(&scrape->api->daemon->turns, &scrape->steps);
}

static void on_snapshot(struct vbd_watch *watch, bool gone)
{
	struct vbd_scrape *scrape = VBD_CONTAINER_OF(watch, struct vbd_scrape, watch);

	if (!gone && vbd_kernel_snapshots_taken(scrape->api->daemon) >= scrape->snapshot)
		await_turn(scrape, true);
}

static void on_timeout(void *arg)
{
	await_turn(arg, false);
}

static enum vbd_status begin(struct vbd_scrape *scrape)
{
	struct vbd_daemon *daemon = scrape->api->daemon;
	enum vbd_status status =
		vbd_timer_create(daemon->loop, on_timeout, scrape, &scrape->timeout, NULL);

	if (status)
		return status;
	vbd_list_append(&scrape->api->scrapes, &scrape->link);
	scrape->snapshot = vbd_kernel_snapshot_begin(daemon, true);
	if (vbd_kernel_snapshots_taken(daemon) >= scrape->snapshot) {
		await_turn(scrape, true);
		return VBD_OK;
	}
	vbd_watch_add(vbd_kernel_watches(daemon), &scrape->watch);
	vbd_timer_set(scrape->timeout, VBD_SCRAPE_SNAPSHOT_TIMEOUT_MS);
	return VBD_OK;
}

/* Returns whether all have an answer. */
static bool answer_some(struct vbd_scrape *scrape)
{
	size_t left_bytes = STEP_BYTES;
	struct reader *reader;

	while ((reader = VBD_LIST_FIRST(&scrape->requests, struct reader, link))) {
		size_t bytes = scrape->body ? scrape->body->len_bytes : 0;

		vbd_list_remove(&reader->link);
		scrape->n_requests--;
		reply(reader->req, scrape);
		free(reader);
		if (bytes > left_bytes)
			break;
		left_bytes -= bytes;
	}
	return vbd_list_empty(&scrape->requests);
}

/* A request that comes from now on may know of something that the document has not. */
static bool take_step(struct vbd_steps *steps)
{
	struct vbd_scrape *scrape = VBD_CONTAINER_OF(steps, struct vbd_scrape, steps);

	vbd_list_remove(&scrape->link);
	if (!scrape->written)
		scrape->written = scrape->kind->step(scrape);
	if (!scrape->written || !answer_some(scrape))
		return false;
	drop(scrape);
	return true;
}

/* --- requests -------------------------------------------------------------------------------- */

static void on_gone(struct vbd_request *req, void *arg)
{
	struct reader *reader = arg;
	struct vbd_scrape *scrape = reader->scrape;

	(void)req;
	vbd_list_remove(&reader->link);
	free(reader);
	if (--scrape->n_requests == 0)
		drop(scrape);
}

/* Returns NULL if too many requests wait, and without memory. */
static struct reader *park(struct vbd_request *req)
{
	struct reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return NULL;
	reader->req = req;
	if (vbd_request_park(req, 0, NULL, on_gone, reader, NULL) == VBD_OK)
		return reader;
	free(reader);
	return NULL;
}

static void join(struct reader *reader, struct vbd_scrape *scrape)
{
	reader->scrape = scrape;
	vbd_list_append(&scrape->requests, &reader->link);
	scrape->n_requests++;
}

static void answer_alone(
	struct vbd_request *req, const struct vbd_scrape_kind *kind, unsigned int parts)
{
	struct vbd_scrape *scrape = make(req, kind, parts);
	struct vbd_error err = {0};

	if (!scrape) {
		(void)vbd_error_set(&err, VBD_E_NO_MEMORY, "no memory for the answer");
		vbd_reply_problem(req, &err);
		return;
	}
	while (!kind->step(scrape))
		;
	reply(req, scrape);
	drop(scrape);
}

void vbd_scrape_answer(
	struct vbd_request *req, const struct vbd_scrape_kind *kind, unsigned int parts)
{
	struct reader *reader = park(req);
	struct vbd_scrape *scrape = reader ? find(req, kind, parts) : NULL;

	if (!reader) {
		answer_alone(req, kind, parts);
		return;
	}
	if (scrape) {
		join(reader, scrape);
		return;
	}
	scrape = make(req, kind, parts);
	if (scrape && begin(scrape) == VBD_OK) {
		join(reader, scrape);
		return;
	}
	if (scrape)
		drop(scrape);
	free(reader);
	answer_alone(req, kind, parts);
}
