/* SPDX-License-Identifier: Apache-2.0 */
/* Both ends of a copy: messages and slots on the wire, jobs on the pool, the state. */
#include "daemon/copies/copy_parts.h"

#include "base/clock.h"
#include "rdma/data/channel.h"
#include "rdma/device/pd.h"

#include <assert.h>
#include <stdarg.h>

#define RETRY_MS 5

static_assert(VBD_COPY_MESSAGE_BYTES == VBD_FILES_MESSAGE_BYTES, "of the protocol and of receives");

bool vbd_copy_moves(const struct vbd_copy_session *session)
{
	enum vbd_copy_state state = session->copy->state;

	return state != VBD_COPY_CLOSING && state != VBD_COPY_STOPPING &&
	       state != VBD_COPY_CANCELLING && !vbd_copy_state_ended(state);
}

/* --- the state ------------------------------------------------------------------------------- */

static bool is_idle(const struct vbd_copy_session *session)
{
	return !session->jobs && !session->posted &&
	       (!session->buffer || session->buffer->state != VBD_BUFFER_REGISTERING);
}

/* At the end of the turn, where no function uses the session any more. */
static void end_session(struct vbd_deferred *deferred)
{
	struct vbd_copy_session *session = VBD_CONTAINER_OF(deferred, struct vbd_copy_session, end);

	void (*clean)(struct vbd_copy_session * session) = session->clean;

	session->clean = NULL;
	if (clean && (session->copy->state != VBD_COPY_CLOSING || session->copy->progress.failed))
		clean(session);
	if (!is_idle(session))
		return;
	vbd_copy_step(session, VBD_COPY_EV_IDLE, NULL);
	session->on_end(session->copy);
}

static void end_if_idle(struct vbd_copy_session *session)
{
	if (!vbd_copy_moves(session) && is_idle(session))
		vbd_loop_defer(session->daemon->loop, &session->end);
}

void vbd_copy_step(struct vbd_copy_session *session, enum vbd_copy_event event,
	struct vbd_copy_message *message)
{
	struct vbd_copy *copy = session->copy;
	const struct vbd_rule *rule = vbd_copy_rule(copy->state, event);

	vbd_log(VBD_LOG_DEBUG, "copy", "%llu %s -> %s (%s: %s)",
		(unsigned long long)copy->object.id, vbd_copy_state_name(copy->state),
		vbd_copy_state_name(rule->next), vbd_copy_event_name(event), rule->note);
	if (copy->state != rule->next) {
		copy->state = rule->next;
		/* The end has an event of its own. */
		if (!vbd_copy_state_ended(copy->state))
			vbd_object_changed(&copy->object);
	}
	if (session->actions[rule->action])
		session->actions[rule->action](session, message);
	if (event != VBD_COPY_EV_IDLE)
		end_if_idle(session);
}

enum vbd_status vbd_copy_fault_status(enum vbd_copy_fault fault)
{
	if (fault == VBD_COPY_FAULT_CANCELLED)
		return VBD_E_CANCELLED;
	return fault == VBD_COPY_FAULT_TIMEOUT ? VBD_E_TIMED_OUT : VBD_E_COPY_FAILED;
}

void vbd_copy_fail(
	struct vbd_copy_session *session, enum vbd_copy_fault fault, const char *fmt, ...)
{
	struct vbd_copy *copy = session->copy;
	char text[VBD_COPY_TEXT_BYTES + 1];
	va_list args;

	if (!vbd_copy_moves(session))
		return;
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (!copy->fault) {
		copy->fault = fault;
		(void)vbd_error_set(&copy->error, vbd_copy_fault_status(fault), "%s", text);
	}
	vbd_copy_step(session, VBD_COPY_EV_FAIL, NULL);
}

/* --- jobs ------------------------------------------------------------------------------------ */

bool vbd_copy_work(struct vbd_copy_session *session, void (*work)(void *arg),
	void (*done)(void *arg), void *arg)
{
	struct vbd_error error = {0};

	if (vbd_loop_work(session->daemon->loop, VBD_WORK_FILES, session->copy->object.owner, work,
		    done, arg, &error) != VBD_OK) {
		vbd_copy_fail(session, VBD_COPY_FAULT_NO_RESOURCES, "%s", error.text);
		return false;
	}
	session->jobs++;
	session->daemon->pool_jobs++;
	return true;
}

void vbd_copy_worked(struct vbd_copy_session *session)
{
	session->jobs--;
	vbd_memory_work_done(session->daemon);
	vbd_copy_pump(session);
	end_if_idle(session);
}

void vbd_copy_pump(struct vbd_copy_session *session)
{
	if (session->pump && vbd_copy_moves(session))
		session->pump(session);
}

static void on_retry(void *arg)
{
	vbd_copy_pump(arg);
}

/* --- the wire -------------------------------------------------------------------------------- */

/* Hand a work request to the connection's worker. */
static void submit(struct vbd_copy_session *session, struct vbd_transfer *transfer, enum vbd_op op,
	uint8_t *bytes, uint32_t lkey, uint32_t len_bytes)
{
	struct vbd_channel *channel = session->connection->conn->qp.channel;

	transfer->op = op;
	transfer->channel = channel;
	transfer->local_addr = (uintptr_t)bytes;
	transfer->lkey = lkey;
	transfer->length_bytes = len_bytes;
	transfer->chunk_bytes = len_bytes;
	transfer->tx_depth = channel->limits.sq_depth;
	transfer->created_ns = vbd_clock_mono_ns();
	session->posted++;
	vbd_transfer_submit(transfer);
}

static bool can_post(struct vbd_copy_session *session)
{
	const struct vbd_qp *qp;
	struct vbd_error error = {0};

	if (!session->connection)
		return false;
	qp = &session->connection->conn->qp;
	return qp->channel && qp->ops->check_usable(qp, &error) == VBD_OK;
}

static void on_message_sent(struct vbd_transfer *transfer, void *arg)
{
	struct vbd_copy_out *out = arg;
	struct vbd_copy_session *session = out->session;
	bool sent = transfer->state == VBD_TRANSFER_DONE;

	vbd_message_give(session->connection->conn->qp.pd, &out->range);
	out->busy = false;
	session->posted--;
	if (sent && out->type == VBD_COPY_MSG_END_OK)
		vbd_copy_step(session, VBD_COPY_EV_ALL_DONE, NULL);
	if (out->type == VBD_COPY_MSG_BYE)
		vbd_connection_close(session->connection);
	vbd_copy_pump(session);
	end_if_idle(session);
}

struct vbd_copy_out *vbd_copy_message(
	struct vbd_copy_session *session, enum vbd_copy_message_type type)
{
	struct vbd_copy_out *out = session->outs;
	struct vbd_error error = {0};

	while (out < session->outs + VBD_COPY_OUTS && out->busy)
		out++;
	if (out == session->outs + VBD_COPY_OUTS || !can_post(session))
		return NULL;
	if (vbd_message_take(session->connection->conn->qp.pd, VBD_COPY_MESSAGE_BYTES, &out->range,
		    &error) != VBD_OK) {
		vbd_timer_set(session->retry, RETRY_MS);
		return NULL;
	}
	out->session = session;
	out->type = type;
	out->busy = true;
	return out;
}

void vbd_copy_post(struct vbd_copy_out *out, uint32_t len_bytes)
{
	out->transfer = (struct vbd_transfer){
		.state = VBD_TRANSFER_QUEUED,
		.ended = on_message_sent,
		.arg = out,
	};
	submit(out->session, &out->transfer, VBD_OP_SEND, out->range.addr, out->range.lkey,
		len_bytes);
}

void vbd_copy_send(struct vbd_copy_session *session, const struct vbd_copy_message *message)
{
	struct vbd_copy_out *out = vbd_copy_message(session, message->type);

	if (out)
		vbd_copy_post(out, vbd_copy_encode(out->range.addr, message));
	else if (vbd_copy_moves(session))
		vbd_copy_fail(session, VBD_COPY_FAULT_NO_RESOURCES,
			"no memory to send the message %s", vbd_copy_message_name(message->type));
}

void vbd_copy_say_bye(struct vbd_copy_session *session)
{
	struct vbd_copy_out *out = vbd_copy_message(session, VBD_COPY_MSG_BYE);
	struct vbd_copy_message message = {.type = VBD_COPY_MSG_BYE};

	if (!out) {
		if (session->connection)
			vbd_connection_close(session->connection);
		return;
	}
	message.bye.fault = session->copy->fault;
	(void)snprintf(message.bye.text, sizeof(message.bye.text), "%.*s", VBD_COPY_TEXT_BYTES,
		session->copy->error.text);
	vbd_copy_post(out, vbd_copy_encode(out->range.addr, &message));
}

static void on_slot_sent(struct vbd_transfer *transfer, void *arg)
{
	struct vbd_copy_slot *slot = arg;
	struct vbd_copy_session *session = slot->session;

	slot->posted = false;
	session->posted--;
	if (transfer->state == VBD_TRANSFER_DONE)
		session->copy->progress.bytes_sent +=
			transfer->length_bytes - VBD_COPY_SLOT_HEADER_BYTES;
	vbd_copy_pump(session);
	end_if_idle(session);
}

void vbd_copy_post_slot(struct vbd_copy_slot *slot, uint32_t len_bytes)
{
	struct vbd_copy_session *session = slot->session;
	uint32_t number = (uint32_t)(slot - session->slots);

	if (!can_post(session))
		return;
	slot->posted = true;
	slot->transfer = (struct vbd_transfer){
		.state = VBD_TRANSFER_QUEUED,
		.wr = {.imm = number,
			.remote_addr = session->window.addr +
				       (uint64_t)number * session->window.slot_bytes,
			.rkey = session->window.rkey},
		.ended = on_slot_sent,
		.arg = slot,
	};
	submit(session, &slot->transfer, VBD_OP_WRITE_IMM, vbd_copy_slot_bytes(slot),
		session->buffer->mem.lkey, len_bytes);
}

/* --- what comes from the peer ---------------------------------------------------------------- */

static void on_slot_written(struct vbd_copy_session *session, uint32_t number)
{
	if (number >= session->window.slots || !session->slots) {
		vbd_copy_fail(session, VBD_COPY_FAULT_PROTOCOL, "the peer wrote slot %u of %u",
			number, session->window.slots);
		return;
	}
	session->written = number;
	vbd_copy_step(session, VBD_COPY_EV_SLOT_CAME, NULL);
}

static void on_bytes(struct vbd_copy_session *session, const uint8_t *bytes, uint32_t len_bytes)
{
	struct vbd_copy_message message;
	struct vbd_error error = {0};

	if (vbd_copy_decode(bytes, len_bytes, &message, &error) != VBD_OK) {
		vbd_copy_fail(session, VBD_COPY_FAULT_PROTOCOL, "%s", error.text);
		return;
	}
	if (message.type == VBD_COPY_MSG_HELLO || message.type == VBD_COPY_MSG_BYE)
		session->came = (struct vbd_copy_raw){bytes, len_bytes};
	vbd_copy_step(session, vbd_copy_event_of(message.type), &message);
}

static void take(struct vbd_copy_session *session, struct vbd_recv_slot *slot)
{
	struct vbd_qp *qp = &session->connection->conn->qp;

	if (slot->received.op == VBD_OP_WRITE_IMM)
		on_slot_written(session, slot->received.imm);
	else
		on_bytes(session, vbd_channel_recv_data(slot), slot->received.length_bytes);
	vbd_qp_release_message(qp, slot);
	vbd_copy_pump(session);
}

/* HELLO may come before the event that says that the connection is established, and nothing can be
 * answered until then. The client sends nothing more before it has the answer. */
static void on_message(void *reader, struct vbd_recv_slot *slot)
{
	struct vbd_copy_session *session = reader;

	if (session->connection->conn->state != VBD_CONN_ACCEPTING) {
		take(session, slot);
	} else if (!session->early) {
		session->early = slot;
	} else {
		vbd_copy_fail(session, VBD_COPY_FAULT_PROTOCOL, "the peer does not wait");
		vbd_qp_release_message(&session->connection->conn->qp, slot);
	}
}

static void on_established(struct vbd_copy_session *session)
{
	struct vbd_recv_slot *early = session->early;

	session->early = NULL;
	if (session->copy->state == VBD_COPY_CONNECTING)
		vbd_copy_step(session, VBD_COPY_EV_ESTABLISHED, NULL);
	else if (early)
		take(session, early);
}

static void ignore_message(void *reader, struct vbd_recv_slot *slot)
{
	vbd_qp_release_message(reader, slot);
}

static void keep_nothing(void *reader)
{
	(void)reader;
}

static void set_reader(struct vbd_qp *qp, struct vbd_copy_session *session)
{
	static const struct vbd_qp_reader_ops reading = {on_message, keep_nothing};
	static const struct vbd_qp_reader_ops ignoring = {ignore_message, keep_nothing};

	qp->reader_ops = session ? &reading : &ignoring;
	qp->reader = session ? (void *)session : qp;
}

static void on_connection(struct vbd_watch *watch, bool gone)
{
	struct vbd_copy_session *session =
		VBD_CONTAINER_OF(watch, struct vbd_copy_session, connection_watch);
	struct vbd_connection *connection = session->connection;

	if (!gone && !connection->object.ended) {
		if (connection->conn->state == VBD_CONN_ESTABLISHED)
			on_established(session);
		return;
	}
	vbd_watch_remove(watch);
	if (vbd_copy_moves(session) && !session->copy->fault) {
		session->copy->fault = VBD_COPY_FAULT_DISCONNECTED;
		vbd_object_problem(&connection->object, &session->copy->error);
		session->copy->first_error = connection->conn->qp.first_error;
	}
	set_reader(&connection->conn->qp, NULL);
	session->connection = NULL;
	vbd_copy_step(session, VBD_COPY_EV_DISCONNECTED, NULL);
}

void vbd_copy_session_begin(struct vbd_copy_session *session, struct vbd_connection *connection)
{
	session->connection = connection;
	session->copy->connection_id = connection->object.id;
	session->connection_watch.cb = on_connection;
	vbd_watch_add(&connection->object.watches, &session->connection_watch);
	set_reader(&connection->conn->qp, session);
}

/* --- memory ---------------------------------------------------------------------------------- */

static void on_buffer_changed(struct vbd_watch *watch, bool gone)
{
	struct vbd_copy_session *session =
		VBD_CONTAINER_OF(watch, struct vbd_copy_session, buffer_watch);
	const struct vbd_buffer *buffer = session->buffer;

	if (!gone && buffer->state == VBD_BUFFER_REGISTERING)
		return;
	vbd_watch_remove(watch);
	if (!vbd_copy_moves(session))
		end_if_idle(session);
	else if (gone || buffer->state != VBD_BUFFER_READY)
		vbd_copy_fail(session, VBD_COPY_FAULT_NO_RESOURCES, "the memory of the copy: %s",
			gone ? "it was deleted" : buffer->error.text);
	else
		session->on_buffer(session);
}

static enum vbd_status make_buffer(
	struct vbd_copy_session *session, bool remote, struct vbd_error *err)
{
	const struct vbd_qp *qp = &session->connection->conn->qp;
	struct vbd_buffer_spec spec = {
		.origin = vbd_origin_like(&session->copy->object),
		.size_bytes = (uint64_t)session->window.slots * session->window.slot_bytes,
		.kind = VBD_MEM_ANONYMOUS,
		.access = remote ? VBD_ACCESS_REMOTE_WRITE : 0,
		.pd_id = qp->pd->is_default ? 0 : qp->pd->id,
	};
	enum vbd_status status;

	(void)snprintf(spec.device_name, sizeof(spec.device_name), "%s", qp->device->name);
	status = vbd_buffer_create(session->daemon, &spec, &session->buffer, err);
	if (status)
		return status;
	session->buffer->users++;
	vbd_buffer_ref(session->buffer);
	session->buffer_watch.cb = on_buffer_changed;
	vbd_watch_add(&session->buffer->object.watches, &session->buffer_watch);
	return VBD_OK;
}

void vbd_copy_get_memory(struct vbd_copy_session *session, bool remote,
	void (*on_buffer)(struct vbd_copy_session *session))
{
	struct vbd_error error = {0};
	enum vbd_status status = VBD_OK;

	session->on_buffer = on_buffer;
	session->slots = calloc(session->window.slots, sizeof(*session->slots));
	if (!session->slots)
		status = vbd_error_set(&error, VBD_E_NO_MEMORY, "no memory for the slots");
	for (uint32_t i = 0; !status && i < session->window.slots; i++)
		session->slots[i].session = session;
	if (!status)
		status = make_buffer(session, remote, &error);
	if (status)
		vbd_copy_fail(session, VBD_COPY_FAULT_NO_RESOURCES, "%s", error.text);
}

uint8_t *vbd_copy_slot_bytes(const struct vbd_copy_slot *slot)
{
	const struct vbd_copy_session *session = slot->session;

	return vbd_mem_own(&session->buffer->mem) +
	       (size_t)(slot - session->slots) * session->window.slot_bytes;
}

struct vbd_copy_session *vbd_copy_session_make(struct vbd_copy *copy, struct vbd_error *err)
{
	struct vbd_daemon *daemon = copy->object.registry->daemon;
	struct vbd_copy_session *session = calloc(1, sizeof(*session));

	if (!session) {
		(void)vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a copy");
		return NULL;
	}
	if (vbd_timer_create(daemon->loop, on_retry, session, &session->retry, err) != VBD_OK) {
		free(session);
		return NULL;
	}
	session->copy = copy;
	session->daemon = daemon;
	vbd_list_init(&session->connection_watch.link);
	vbd_list_init(&session->buffer_watch.link);
	vbd_deferred_init(&session->end, end_session);
	return session;
}

void vbd_copy_session_free(struct vbd_copy_session *session)
{
	vbd_watch_remove(&session->connection_watch);
	vbd_watch_remove(&session->buffer_watch);
	vbd_list_remove(&session->end.link);
	if (session->connection) {
		set_reader(&session->connection->conn->qp, NULL);
		if (session->early)
			vbd_qp_release_message(&session->connection->conn->qp, session->early);
	}
	if (session->buffer) {
		vbd_buffer_unref_user(session->buffer);
		(void)!vbd_buffer_delete(session->buffer, NULL);
	}
	vbd_timer_destroy(session->retry);
	for (uint32_t i = 0; i < session->page_count; i++) {
		vbd_copy_items_fini(session->pages[i], VBD_COPY_PAGE_ITEMS);
		free(session->pages[i]);
	}
	free(session->pages);
	vbd_copy_walk_end(session->walk);
	free(session->dropped.at);
	free(session->complete.at);
	free(session->placed.at);
	free(session->slots);
	free(session->hello);
	free(session);
}

/* --- entries --------------------------------------------------------------------------------- */

struct vbd_copy_item *vbd_copy_item(const struct vbd_copy_session *session, uint32_t number)
{
	return &session->pages[number / VBD_COPY_PAGE_ITEMS][number % VBD_COPY_PAGE_ITEMS];
}

static bool add_page(struct vbd_copy_session *session)
{
	uint32_t count = session->page_count;
	struct vbd_copy_item *page = calloc(VBD_COPY_PAGE_ITEMS, sizeof(*page));
	struct vbd_copy_item **pages = session->pages;

	/* The array doubles: at 0, 1, 2, 4, 8 … pages. */
	if (page && (count & (count - 1)) == 0)
		pages = realloc(
			pages, (count ? 2 * (size_t)count : 1) * sizeof(struct vbd_copy_item *));
	if (!page || !pages) {
		free(page);
		return false;
	}
	session->pages = pages;
	session->pages[session->page_count++] = page;
	return true;
}

struct vbd_copy_item *vbd_copy_items_reserve(struct vbd_copy_session *session, uint32_t *ret_room)
{
	uint32_t at = session->items % VBD_COPY_PAGE_ITEMS;

	if (at == 0 && session->items / VBD_COPY_PAGE_ITEMS == session->page_count &&
		!add_page(session)) {
		vbd_copy_fail(session, VBD_COPY_FAULT_NO_RESOURCES, "no memory for more files");
		return NULL;
	}
	*ret_room = VBD_COPY_PAGE_ITEMS - at;
	return &session->pages[session->items / VBD_COPY_PAGE_ITEMS][at];
}

static void note_problem(struct vbd_copy *copy, const struct vbd_copy_item *item)
{
	struct vbd_copy_problem *problem = &copy->problems[copy->problem_count];

	if (copy->problem_count == VBD_COPY_PROBLEMS_MAX)
		return;
	problem->path = strndup((const char *)item->entry.path, item->entry.path_bytes);
	problem->fault = item->fault;
	copy->problem_count += problem->path != NULL;
}

void vbd_copy_item_over(struct vbd_copy_session *session, struct vbd_copy_item *item)
{
	struct vbd_copy_progress *progress = &session->copy->progress;
	bool kept = item->fault == VBD_COPY_FAULT_EXISTS || item->fault == VBD_COPY_FAULT_SAME;

	item->over = true;
	progress->skipped += kept;
	progress->failed += item->fault && !kept;
	progress->files_done += !item->fault;
	if (item->fault)
		note_problem(session->copy, item);
	vbd_object_counted(&session->copy->object);
}

bool vbd_copy_queue_put(
	struct vbd_copy_session *session, struct vbd_copy_queue *queue, uint32_t number)
{
	uint32_t room = queue->room ? 2 * queue->room : 64;
	uint32_t *at;

	if (queue->count == queue->room) {
		at = reallocarray(queue->at, room, sizeof(*at));
		if (!at) {
			vbd_copy_fail(
				session, VBD_COPY_FAULT_NO_RESOURCES, "no memory for more files");
			return false;
		}
		/* The numbers in front of the first one now follow the last one. */
		memcpy(at + queue->room, at, queue->first * sizeof(*at));
		queue->at = at;
		queue->room = room;
	}
	queue->at[(queue->first + queue->count++) % queue->room] = number;
	return true;
}

bool vbd_copy_queue_take(struct vbd_copy_queue *queue, uint32_t *ret_number)
{
	if (!queue->count)
		return false;
	*ret_number = queue->at[queue->first];
	queue->first = (queue->first + 1) % queue->room;
	queue->count--;
	return true;
}
