/* SPDX-License-Identifier: Apache-2.0 */
/* The sender of a copy: walks the source, announces what it finds, and fills the peer's slots. */
#include "daemon/copies/copy_parts.h"

/* --- the walk -------------------------------------------------------------------------------- */

static void walk(void *arg)
{
	struct vbd_copy_session *session = arg;
	struct vbd_copy_item *items = session->page_items;

	if (!session->walk)
		session->walk_fault = vbd_copy_walk_begin(&session->root, &session->walk);
	session->walked = session->walk_fault
				  ? 0
				  : vbd_copy_walk_next(session->walk, items, session->page_room);
}

static void on_walked(void *arg)
{
	struct vbd_copy_session *session = arg;
	struct vbd_copy_progress *progress = &session->copy->progress;

	session->page_busy = false;
	session->items += session->walked;
	progress->files += session->walked;
	if (session->walk_fault)
		vbd_copy_fail(session, session->walk_fault, "%s: %s", session->root.path,
			vbd_copy_fault_text(session->walk_fault));
	session->all_known = session->walked == 0;
	progress->counted = session->all_known;
	vbd_copy_worked(session);
}

static void walk_on(struct vbd_copy_session *session)
{
	if (session->page_busy || session->all_known ||
		session->items - session->judged >= VBD_COPY_UNJUDGED_MAX)
		return;
	session->page_items = vbd_copy_items_reserve(session, &session->page_room);
	if (session->page_items)
		session->page_busy = vbd_copy_work(session, walk, on_walked, session);
}

/* Tell the peer of the entries that the walk has found. An entry that can't be read is told, too:
 * its number counts. Then DROPPED follows. */
static void announce(struct vbd_copy_session *session)
{
	struct vbd_copy_list list;
	struct vbd_copy_out *out;
	bool last;

	if (session->last_announced ||
		(session->announced == session->items && !session->all_known))
		return;
	out = vbd_copy_message(session, VBD_COPY_MSG_ENTRIES);
	if (!out)
		return;
	vbd_copy_list_begin(&list, out->range.addr, VBD_COPY_MSG_ENTRIES, session->announced);
	while (session->announced < session->items &&
		vbd_copy_list_entry(&list, &vbd_copy_item(session, session->announced)->entry))
		session->announced++;
	last = session->all_known && session->announced == session->items;
	session->last_announced = last;
	vbd_copy_post(out, vbd_copy_list_end(&list, last));
}

/* --- reading --------------------------------------------------------------------------------- */

/* Move the bytes of the pieces that were read together: in the slot they follow without gaps. */
static void close_gaps(const struct vbd_copy_slot_job *job)
{
	uint8_t *from = job->bytes, *to = job->bytes;

	for (uint32_t i = 0; i < job->count; i++) {
		uint32_t len = job->pieces[i].length_bytes;

		if (!job->faults[i]) {
			memmove(to, from, len);
			to += len;
		}
		from += len;
	}
}

static void read_slot(void *arg)
{
	struct vbd_copy_slot *slot = arg;

	vbd_copy_read(&slot->job);
	close_gaps(&slot->job);
}

/* An entry can't be sent any further. Other slots may still have pieces of the same one. */
static void drop(struct vbd_copy_session *session, uint32_t number, enum vbd_copy_fault fault)
{
	struct vbd_copy_item *item = vbd_copy_item(session, number);

	if (item->over)
		return;
	item->fault = fault;
	vbd_copy_item_over(session, item);
	(void)vbd_copy_queue_put(session, &session->dropped, number);
}

static void on_slot_read(void *arg)
{
	struct vbd_copy_slot *slot = arg;
	struct vbd_copy_session *session = slot->session;
	struct vbd_copy_slot_job *job = &slot->job;

	uint32_t len_bytes = VBD_COPY_SLOT_HEADER_BYTES, kept = 0;

	slot->working = false;
	for (uint32_t i = 0; i < job->count; i++) {
		if (job->faults[i]) {
			drop(session, job->pieces[i].entry, job->faults[i]);
			continue;
		}
		len_bytes += job->pieces[i].length_bytes;
		job->pieces[kept++] = job->pieces[i];
	}
	if (vbd_copy_moves(session) && kept) {
		vbd_copy_encode_slot(vbd_copy_slot_bytes(slot), job->pieces, kept);
		vbd_copy_post_slot(slot, len_bytes);
	} else {
		slot->taken = false;
	}
	vbd_copy_worked(session);
}

/* The next piece of at most @room bytes; false: no entry is left that the peer wants. */
static bool next_piece(
	struct vbd_copy_session *session, uint32_t room, struct vbd_copy_piece *piece)
{
	while (session->next < session->judged) {
		const struct vbd_copy_item *item = vbd_copy_item(session, session->next);
		uint64_t left = item->entry.size_bytes - session->next_offset;

		if (session->next_offset < item->offset_bytes) {
			session->next_offset = item->offset_bytes;
			continue;
		}
		if (!item->over) {
			*piece = (struct vbd_copy_piece){
				.entry = session->next,
				.offset_bytes = session->next_offset,
				.length_bytes = left < room ? (uint32_t)left : room,
				.last = left <= room,
			};
			session->next_offset += piece->length_bytes;
			session->next += piece->last;
			session->next_offset = piece->last ? 0 : session->next_offset;
			return true;
		}
		session->next++;
		session->next_offset = 0;
	}
	return false;
}

static void fill_slot(struct vbd_copy_session *session, struct vbd_copy_slot *slot)
{
	struct vbd_copy_slot_job *job = &slot->job;
	uint32_t room = session->window.slot_bytes - VBD_COPY_SLOT_HEADER_BYTES;

	job->root = &session->root;
	job->bytes = vbd_copy_slot_bytes(slot) + VBD_COPY_SLOT_HEADER_BYTES;
	job->count = 0;
	while (job->count < VBD_COPY_PIECES_MAX && room &&
		next_piece(session, room, &job->pieces[job->count])) {
		const struct vbd_copy_piece *piece = &job->pieces[job->count];

		room -= piece->length_bytes;
		job->items[job->count++] = vbd_copy_item(session, piece->entry);
	}
	if (!job->count)
		return;
	slot->taken = true;
	slot->working = vbd_copy_work(session, read_slot, on_slot_read, slot);
}

static void fill_slots(struct vbd_copy_session *session)
{
	for (uint32_t i = 0; i < session->window.slots && vbd_copy_moves(session); i++) {
		struct vbd_copy_slot *slot = &session->slots[i];

		if (!slot->taken && !slot->posted && !slot->working)
			fill_slot(session, slot);
	}
}

/* --- the messages ---------------------------------------------------------------------------- */

static void tell_dropped(struct vbd_copy_session *session)
{
	struct vbd_copy_message message = {.type = VBD_COPY_MSG_DROPPED};
	struct vbd_copy_out *out;

	while (session->dropped.count && (out = vbd_copy_message(session, message.type))) {
		(void)vbd_copy_queue_take(&session->dropped, &message.dropped.entry);
		message.dropped.fault = vbd_copy_item(session, message.dropped.entry)->fault;
		vbd_copy_post(out, vbd_copy_encode(out->range.addr, &message));
	}
}

static void pump_sender(struct vbd_copy_session *session)
{
	const struct vbd_copy_progress *progress = &session->copy->progress;

	if (session->copy->state != VBD_COPY_SENDING)
		return;
	announce(session);
	tell_dropped(session);
	walk_on(session);
	fill_slots(session);
	if (session->last_announced && session->judged == session->items &&
		!session->dropped.count &&
		progress->files_done + progress->skipped + progress->failed == session->items)
		vbd_copy_step(session, VBD_COPY_EV_ALL_DONE, NULL);
}

static void on_memory(struct vbd_copy_session *session)
{
	session->pump = pump_sender;
	vbd_copy_pump(session);
}

void vbd_copy_begin_sending(struct vbd_copy_session *session, struct vbd_copy_message *message)
{
	(void)message;
	vbd_copy_get_memory(session, false, on_memory);
}

void vbd_copy_take_want(struct vbd_copy_session *session, struct vbd_copy_message *message)
{
	struct vbd_copy_verdict verdict;

	while (vbd_copy_next_verdict(message, &verdict)) {
		struct vbd_copy_item *item;

		if (verdict.entry != session->judged || verdict.entry >= session->announced ||
			verdict.offset_bytes >
				vbd_copy_item(session, verdict.entry)->entry.size_bytes) {
			vbd_copy_fail(session, VBD_COPY_FAULT_PROTOCOL,
				"the peer wants entry %u from byte %llu; entry %u is next",
				verdict.entry, (unsigned long long)verdict.offset_bytes,
				session->judged);
			return;
		}
		item = vbd_copy_item(session, session->judged++);
		item->offset_bytes = verdict.offset_bytes;
		if (!item->fault)
			item->fault = verdict.fault;
		else if (!verdict.fault)
			(void)vbd_copy_queue_put(session, &session->dropped, verdict.entry);
		if (item->fault || item->entry.type == VBD_COPY_DIRECTORY)
			vbd_copy_item_over(session, item);
		else
			session->copy->progress.bytes +=
				item->entry.size_bytes - item->offset_bytes;
	}
}

void vbd_copy_take_free(struct vbd_copy_session *session, struct vbd_copy_message *message)
{
	for (uint32_t i = 0; i < message->free.count; i++) {
		uint32_t number = message->free.slots[i];

		if (!session->slots || number >= session->window.slots ||
			!session->slots[number].taken || session->slots[number].working) {
			vbd_copy_fail(session, VBD_COPY_FAULT_PROTOCOL,
				"the peer frees slot %u, which it does not have", number);
			return;
		}
		session->slots[number].taken = false;
	}
}

void vbd_copy_take_done(struct vbd_copy_session *session, struct vbd_copy_message *message)
{
	struct vbd_copy_verdict verdict;

	while (vbd_copy_next_verdict(message, &verdict)) {
		struct vbd_copy_item *item;

		if (verdict.entry >= session->judged) {
			vbd_copy_fail(session, VBD_COPY_FAULT_PROTOCOL,
				"entry %u is done, which was not sent", verdict.entry);
			return;
		}
		item = vbd_copy_item(session, verdict.entry);
		/* An entry that was dropped meanwhile is over already. */
		if (item->over)
			continue;
		item->fault = verdict.fault;
		if (!item->fault)
			session->copy->progress.bytes_done +=
				item->entry.size_bytes - item->offset_bytes;
		vbd_copy_item_over(session, item);
	}
}

void vbd_copy_send_end(struct vbd_copy_session *session, struct vbd_copy_message *message)
{
	const struct vbd_copy_progress *progress = &session->copy->progress;
	struct vbd_copy_message end = {.type = VBD_COPY_MSG_END,
		.end = {.files = progress->files_done, .bytes = progress->bytes_done}};

	(void)message;
	vbd_copy_send(session, &end);
}
