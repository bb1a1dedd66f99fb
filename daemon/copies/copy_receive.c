/* SPDX-License-Identifier: Apache-2.0 */
/* The receiver of a copy: judges what the peer has, takes its slots, and puts files in place. */
#include "daemon/copies/copy_parts.h"

/* --- entries --------------------------------------------------------------------------------- */

static void pick_wanted(void *arg)
{
	struct vbd_copy_session *session = arg;

	if (session->judged == 0)
		session->aim_fault = vbd_copy_aim(&session->root, &session->page_items->entry);
	if (!session->aim_fault)
		vbd_copy_pick_wanted(&session->root, session->page_items, session->page_room);
}

/* An entry whose file is complete waits to be put in its place. */
static void check_complete(struct vbd_copy_session *session, uint32_t number)
{
	struct vbd_copy_item *item = vbd_copy_item(session, number);

	if (item->over || item->complete ||
		item->moved_bytes != item->entry.size_bytes - item->offset_bytes)
		return;
	item->complete = true;
	(void)vbd_copy_queue_put(session, &session->complete, number);
}

static void on_judged(void *arg)
{
	struct vbd_copy_session *session = arg;
	struct vbd_copy_progress *progress = &session->copy->progress;

	session->page_busy = false;
	if (session->aim_fault && vbd_copy_moves(session))
		vbd_copy_fail(session, session->aim_fault, "%s: %s", session->root.path,
			vbd_copy_fault_text(session->aim_fault));
	for (uint32_t i = 0; i < session->page_room; i++) {
		struct vbd_copy_item *item = &session->page_items[i];

		if (item->fault || item->entry.type == VBD_COPY_DIRECTORY)
			vbd_copy_item_over(session, item);
		else
			progress->bytes += item->entry.size_bytes - item->offset_bytes;
	}
	session->judged += session->page_room;
	vbd_copy_worked(session);
}

static void judge_next(struct vbd_copy_session *session)
{
	uint32_t at = session->judged % VBD_COPY_PAGE_ITEMS;
	uint32_t left = session->items - session->judged;

	if (session->page_busy || !left)
		return;
	session->page_items = vbd_copy_item(session, session->judged);
	session->page_room = left < VBD_COPY_PAGE_ITEMS - at ? left : VBD_COPY_PAGE_ITEMS - at;
	session->page_busy = vbd_copy_work(session, pick_wanted, on_judged, session);
}

static bool add_entry(struct vbd_copy_session *session, const struct vbd_copy_entry *entry)
{
	uint32_t room;
	struct vbd_copy_item *item = vbd_copy_items_reserve(session, &room);
	char *path;

	if (!item)
		return false;
	path = strndup((const char *)entry->path, entry->path_bytes);
	if (!path) {
		vbd_copy_fail(session, VBD_COPY_FAULT_NO_RESOURCES, "no memory for more files");
		return false;
	}
	item->entry = *entry;
	item->entry.path = (uint8_t *)path;
	session->items++;
	session->copy->progress.files++;
	return true;
}

void vbd_copy_take_entries(struct vbd_copy_session *session, struct vbd_copy_message *message)
{
	const struct vbd_export_spec *spec = &session->export->spec;
	struct vbd_copy_entry entry;

	if (session->all_known || message->entries.first != session->items ||
		session->items - session->judged > 2 * VBD_COPY_UNJUDGED_MAX) {
		vbd_copy_fail(session, VBD_COPY_FAULT_PROTOCOL,
			"entry %u was announced; %u is next", message->entries.first,
			session->items);
		return;
	}
	session->all_known = message->entries.last;
	while (vbd_copy_next_entry(message, &entry)) {
		if (spec->max_files && session->items == spec->max_files) {
			vbd_copy_fail(session, VBD_COPY_FAULT_TOO_MANY,
				"the export takes %llu files of one copy",
				(unsigned long long)spec->max_files);
			return;
		}
		if (!add_entry(session, &entry))
			return;
	}
	session->copy->progress.counted = session->all_known;
}

/* --- slots ----------------------------------------------------------------------------------- */

static void write_slot(void *arg)
{
	struct vbd_copy_slot *slot = arg;

	vbd_copy_write(&slot->job);
}

/* An entry has failed here: the sender learns of that by DONE. */
static void fail_entry(struct vbd_copy_session *session, uint32_t number, enum vbd_copy_fault fault)
{
	struct vbd_copy_item *item = vbd_copy_item(session, number);

	if (item->over)
		return;
	item->fault = fault;
	vbd_copy_item_over(session, item);
	(void)vbd_copy_queue_put(session, &session->placed, number);
}

static void on_slot_written(void *arg)
{
	struct vbd_copy_slot *slot = arg;
	struct vbd_copy_session *session = slot->session;
	struct vbd_copy_slot_job *job = &slot->job;

	slot->working = false;
	for (uint32_t i = 0; i < job->count; i++) {
		struct vbd_copy_item *item = job->items[i];

		if (job->faults[i]) {
			fail_entry(session, job->pieces[i].entry, job->faults[i]);
			continue;
		}
		item->moved_bytes += job->pieces[i].length_bytes;
		check_complete(session, job->pieces[i].entry);
	}
	slot->taken = false;
	session->freed |= UINT64_C(1) << (slot - session->slots);
	vbd_copy_worked(session);
}

/* The pieces of entries that are wanted, and inside of them; false: the peer lies. */
static bool take_pieces(struct vbd_copy_session *session, struct vbd_copy_slot_job *job)
{
	for (uint32_t i = 0; i < job->count; i++) {
		const struct vbd_copy_piece *piece = &job->pieces[i];
		struct vbd_copy_item *item;

		if (piece->entry >= session->answered)
			return false;
		item = job->items[i] = vbd_copy_item(session, piece->entry);
		if (item->entry.type != VBD_COPY_FILE || piece->offset_bytes < item->offset_bytes ||
			piece->offset_bytes > item->entry.size_bytes ||
			piece->length_bytes > item->entry.size_bytes - piece->offset_bytes)
			return false;
		item->begun = true;
	}
	return true;
}

void vbd_copy_take_slot(struct vbd_copy_session *session, struct vbd_copy_message *message)
{
	struct vbd_copy_slot *slot = &session->slots[session->written];
	uint8_t *bytes = vbd_copy_slot_bytes(slot);
	struct vbd_copy_slot_job *job = &slot->job;
	uint8_t header[VBD_COPY_SLOT_HEADER_BYTES];
	struct vbd_error error = {0};

	(void)message;
	/* The peer may write there at any time. */
	memcpy(header, bytes, sizeof(header));
	if (slot->taken) {
		vbd_copy_fail(session, VBD_COPY_FAULT_PROTOCOL,
			"the peer wrote slot %u, which it does not have", session->written);
		return;
	}
	if (vbd_copy_decode_slot(header, session->window.slot_bytes, job->pieces, &job->count,
		    &error) != VBD_OK ||
		!take_pieces(session, job)) {
		vbd_copy_fail(session, VBD_COPY_FAULT_PROTOCOL,
			"slot %u has pieces that nobody wants%s%s", session->written,
			error.status ? ": " : "", error.text);
		return;
	}
	job->root = &session->root;
	job->bytes = bytes + VBD_COPY_SLOT_HEADER_BYTES;
	slot->taken = true;
	slot->working = vbd_copy_work(session, write_slot, on_slot_written, slot);
}

void vbd_copy_take_dropped(struct vbd_copy_session *session, struct vbd_copy_message *message)
{
	struct vbd_copy_item *item;

	if (message->dropped.entry >= session->answered) {
		vbd_copy_fail(session, VBD_COPY_FAULT_PROTOCOL, "entry %u is not known",
			message->dropped.entry);
		return;
	}
	item = vbd_copy_item(session, message->dropped.entry);
	if (item->over)
		return;
	item->fault = message->dropped.fault;
	vbd_copy_item_over(session, item);
}

/* --- files in place -------------------------------------------------------------------------- */

static void place(void *arg)
{
	struct vbd_copy_session *session = arg;

	vbd_copy_place(&session->root, session->placing, session->placing_count);
}

static void on_placed(void *arg)
{
	struct vbd_copy_session *session = arg;

	for (uint32_t i = 0; i < session->placing_count; i++) {
		struct vbd_copy_item *item = session->placing[i];

		if (item->over)
			continue;
		session->copy->progress.bytes_done += item->fault ? 0 : item->moved_bytes;
		vbd_copy_item_over(session, item);
		(void)vbd_copy_queue_put(session, &session->placed, session->placing_entries[i]);
	}
	session->placing_count = 0;
	vbd_copy_worked(session);
}

static void place_next(struct vbd_copy_session *session)
{
	uint32_t number;

	if (session->placing_count)
		return;
	while (session->placing_count < VBD_ARRAY_LEN(session->placing) &&
		vbd_copy_queue_take(&session->complete, &number)) {
		session->placing[session->placing_count] = vbd_copy_item(session, number);
		session->placing_entries[session->placing_count++] = number;
	}
	if (session->placing_count && !vbd_copy_work(session, place, on_placed, session))
		session->placing_count = 0;
}

/* --- the messages ---------------------------------------------------------------------------- */

static void answer_entries(struct vbd_copy_session *session)
{
	struct vbd_copy_list list;
	struct vbd_copy_out *out;

	if (session->answered == session->judged)
		return;
	out = vbd_copy_message(session, VBD_COPY_MSG_WANT);
	if (!out)
		return;
	vbd_copy_list_begin(&list, out->range.addr, VBD_COPY_MSG_WANT, 0);
	while (session->answered < session->judged) {
		const struct vbd_copy_item *item = vbd_copy_item(session, session->answered);
		const struct vbd_copy_verdict verdict = {
			session->answered, item->fault, item->fault ? 0 : item->offset_bytes};

		if (!vbd_copy_list_verdict(&list, &verdict))
			break;
		session->answered++;
	}
	vbd_copy_post(out, vbd_copy_list_end(&list, false));
}

static void tell_placed(struct vbd_copy_session *session)
{
	struct vbd_copy_list list;
	struct vbd_copy_out *out;
	uint32_t number;

	if (!session->placed.count)
		return;
	out = vbd_copy_message(session, VBD_COPY_MSG_DONE);
	if (!out)
		return;
	vbd_copy_list_begin(&list, out->range.addr, VBD_COPY_MSG_DONE, 0);
	while (list.count < VBD_COPY_ENTRIES_MAX &&
		vbd_copy_queue_take(&session->placed, &number)) {
		const struct vbd_copy_verdict verdict = {
			.entry = number, .fault = vbd_copy_item(session, number)->fault};

		(void)!vbd_copy_list_verdict(&list, &verdict);
	}
	vbd_copy_post(out, vbd_copy_list_end(&list, false));
}

static void tell_freed(struct vbd_copy_session *session)
{
	struct vbd_copy_message message = {.type = VBD_COPY_MSG_FREE};
	struct vbd_copy_out *out = session->freed ? vbd_copy_message(session, message.type) : NULL;

	if (!out)
		return;
	for (uint16_t i = 0; i < session->window.slots; i++) {
		if (session->freed & (UINT64_C(1) << i))
			message.free.slots[message.free.count++] = i;
	}
	session->freed = 0;
	vbd_copy_post(out, vbd_copy_encode(out->range.addr, &message));
}

static void pump_receiver(struct vbd_copy_session *session)
{
	if (session->copy->state != VBD_COPY_RECEIVING)
		return;
	tell_freed(session);
	answer_entries(session);
	tell_placed(session);
	judge_next(session);
	place_next(session);
}

/* --- what is left of a copy that failed ------------------------------------------------------ */

static void discard(void *arg)
{
	struct vbd_copy_session *session = arg;

	for (uint32_t i = 0; i < session->judged; i++) {
		struct vbd_copy_item *item = vbd_copy_item(session, i);

		if (!item->placed && item->begun)
			vbd_copy_discard(&session->root, &item, 1);
	}
}

static void on_discarded(void *arg)
{
	vbd_copy_worked(arg);
}

static void discard_parts(struct vbd_copy_session *session)
{
	(void)!vbd_copy_work(session, discard, on_discarded, session);
}

void vbd_copy_begin_receiving(struct vbd_copy_session *session, struct vbd_copy_message *message)
{
	(void)message;
	session->pump = pump_receiver;
	session->clean = discard_parts;
}

void vbd_copy_check_end(struct vbd_copy_session *session, struct vbd_copy_message *message)
{
	const struct vbd_copy_progress *progress = &session->copy->progress;
	const struct vbd_copy_message end_ok = {.type = VBD_COPY_MSG_END_OK};

	if (session->all_known && message->end.files == progress->files_done &&
		progress->files_done + progress->skipped + progress->failed == session->items)
		vbd_copy_send(session, &end_ok);
	else
		vbd_copy_fail(session, VBD_COPY_FAULT_PROTOCOL,
			"the peer ends the copy before all files are there");
}
