/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of transfers in one request: check all, then create all, then start all.
 */
#include "api/http/problem.h"
#include "api/json/encode.h"
#include "api/resources/context.h"
#include "api/resources/transfers.h"
#include "daemon/work/transfers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_MAX 256

/* A transfer of a batch whose client waits until all have ended. */
struct batch_item {
	struct vbd_watch watch;
	struct batch *batch;
	const struct vbd_transfer_record *record; /* NULL after its end */
	json_t *ended; /* its JSON at the end, since the record may be deleted */
};

struct batch {
	struct vbd_request *req;
	uint64_t first_id;
	size_t count;
	size_t open; /* number of transfers that have not ended */
	struct vbd_transfer_record **records;
	struct batch_item *items;
};

static void free_batch(struct batch *batch)
{
	for (size_t i = 0; batch->items && i < batch->count; i++) {
		if (batch->items[i].batch)
			vbd_watch_remove(&batch->items[i].watch);
		json_decref(batch->items[i].ended);
	}
	free(batch->items);
	free(batch->records);
	free(batch);
}

/* --- checking and making --------------------------------------------------------------------- */

static enum vbd_status find_list(
	const struct vbd_request *req, const json_t **ret_list, struct vbd_error *err)
{
	const json_t *list = json_object_get(req->json, "transfers");
	const char *name;
	json_t *value;

	json_object_foreach(req->json, name, value)
	{
		char pointer[sizeof(err->pointer)];

		if (value == list)
			continue;
		(void)snprintf(pointer, sizeof(pointer), "/%.64s", name);
		return vbd_error_input(err, VBD_E_UNKNOWN_FIELD, pointer,
			"%s is not allowed together with /transfers", pointer);
	}
	if (!json_is_array(list))
		return vbd_error_input(
			err, VBD_E_WRONG_TYPE, "/transfers", "/transfers must be an array");
	if (json_array_size(list) < 1 || json_array_size(list) > BATCH_MAX)
		return vbd_error_input(err, VBD_E_OUT_OF_RANGE, "/transfers",
			"/transfers must have from 1 to %d items, not %zu", BATCH_MAX,
			json_array_size(list));
	*ret_list = list;
	return VBD_OK;
}

/* Make pointer and text of an item's error those of an error of the request. */
static void set_item_pointer(struct vbd_error *err, size_t index)
{
	char member[VBD_POINTER_BYTES];
	char pointer[sizeof(err->pointer)];
	char text[sizeof(err->text)];
	bool named = *vbd_problem_pointer(err, member) &&
		     strncmp(err->text, member, strlen(member)) == 0;

	(void)snprintf(pointer, sizeof(pointer), "/transfers/%zu%.60s", index, member);
	err->param = NULL;
	(void)snprintf(text, sizeof(text), "%s%zu%s%.200s", named ? "/transfers/" : "transfer ",
		index, named ? "" : ": ", err->text);
	memcpy(err->pointer, pointer, sizeof(pointer));
	memcpy(err->text, text, sizeof(text));
}

static enum vbd_status prepare_one(struct vbd_daemon *daemon, const json_t *json,
	struct vbd_transfer_record **ret_record, struct vbd_error *err)
{
	struct vbd_transfer_spec spec;
	enum vbd_status status = vbd_transfer_decode(daemon, json, &spec, err);

	return status ? status : vbd_transfer_prepare(daemon, &spec, ret_record, err);
}

/* Prepare all transfers, or none. */
static enum vbd_status prepare(
	struct batch *batch, struct vbd_daemon *daemon, const json_t *list, struct vbd_error *err)
{
	enum vbd_status status;

	for (size_t i = 0; i < batch->count; i++) {
		status = prepare_one(daemon, json_array_get(list, i), &batch->records[i], err);
		if (!status)
			continue;
		set_item_pointer(err, i);
		while (i > 0)
			vbd_transfer_free(batch->records[--i]);
		return status;
	}
	return VBD_OK;
}

static struct batch *make_batch(struct vbd_request *req, size_t count, struct vbd_error *err)
{
	struct batch *batch = calloc(1, sizeof(*batch));

	if (batch) {
		batch->req = req;
		batch->count = count;
		batch->records = calloc(count, sizeof(struct vbd_transfer_record *));
		batch->items = calloc(count, sizeof(*batch->items));
	}
	if (batch && batch->records && batch->items)
		return batch;
	if (batch)
		free_batch(batch);
	(void)vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for %zu transfers", count);
	return NULL;
}

/* --- answering ------------------------------------------------------------------------------- */

static void answer(struct batch *batch)
{
	json_t *list = json_array();

	for (size_t i = 0; i < batch->count; i++) {
		struct batch_item *item = &batch->items[i];
		json_t *encoded =
			item->record ? vbd_encode_transfer(item->record) : json_incref(item->ended);

		if (json_array_append_new(list, encoded) < 0) {
			json_decref(list);
			list = NULL;
			break;
		}
	}
	vbd_request_add_location(batch->req, "transfers", batch->first_id);
	vbd_reply_json(batch->req, batch->open ? 202 : 201,
		list ? json_pack("{s:o}", "items", list) : NULL);
	free_batch(batch);
}

static void on_changed(struct vbd_watch *watch, bool gone)
{
	struct batch_item *item = VBD_CONTAINER_OF(watch, struct batch_item, watch);
	struct batch *batch = item->batch;

	if (!item->record || (!gone && !vbd_transfer_state_ended(item->record->transfer.state)))
		return;
	item->ended = vbd_encode_transfer(item->record);
	item->record = NULL;
	if (--batch->open == 0)
		answer(batch);
}

static void on_timeout(struct vbd_request *req, void *arg)
{
	(void)req;
	answer(arg);
}

/* The transfers go on without the client; the answer is for a repeat of its Idempotency-Key. */
static void on_gone(struct vbd_request *req, void *arg)
{
	(void)req;
	answer(arg);
}

static void wait_for_ends(struct batch *batch)
{
	struct vbd_error err = {0};

	if (!batch->req->wait_s || vbd_request_park(batch->req, (uint64_t)batch->req->wait_s * 1000,
					   on_timeout, on_gone, batch, &err) != VBD_OK) {
		answer(batch);
		return;
	}
	for (size_t i = 0; i < batch->count; i++) {
		struct batch_item *item = &batch->items[i];

		vbd_list_init(&item->watch.link);
		item->watch.cb = on_changed;
		item->batch = batch;
		vbd_watch_add(&batch->records[i]->object.watches, &item->watch);
	}
}

void vbd_create_transfers(struct vbd_request *req)
{
	struct vbd_error err = {0};
	struct batch *batch = NULL;
	const json_t *list;

	if (find_list(req, &list, &err) == VBD_OK)
		batch = make_batch(req, json_array_size(list), &err);
	if (!batch || prepare(batch, vbd_request_daemon(req), list, &err) != VBD_OK) {
		if (batch)
			free_batch(batch);
		vbd_reply_problem(req, &err);
		return;
	}
	vbd_request_acted(req, true);
	vbd_transfers_start(batch->records, batch->count);
	batch->open = batch->count;
	batch->first_id = batch->records[0]->object.id;
	for (size_t i = 0; i < batch->count; i++)
		batch->items[i].record = batch->records[i];
	wait_for_ends(batch);
}
