/* SPDX-License-Identifier: Apache-2.0 */
#include "api/work/transfers.h"

#include "api/core/common_json.h"
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "api/http/archive.h"
#include "api/http/waiter.h"
#include "daemon/kept/reconciler.h"
#include "daemon/work/transfers.h"

/* --- JSON ------------------------------------------------------------------------------------ */

static void put_error(struct vbd_encoder *out, const struct vbd_transfer_record *record)
{
	const enum vbd_transfer_state state = record->transfer.state;
	bool failed = vbd_transfer_state_ended(state) && state != VBD_TRANSFER_DONE;
	struct vbd_first_error first = {.op = -1};

	if (failed)
		vbd_transfer_first_error(record, &first);
	vbd_put_task_error(out, &record->object, failed, &first);
}

static void put_times(struct vbd_encoder *out, const struct vbd_transfer *transfer)
{
	uint64_t started_ns = vbd_counter_get(&transfer->started_ns);
	uint64_t ended_ns = vbd_counter_get(&transfer->ended_ns);
	bool ended = vbd_transfer_state_ended(transfer->state) && ended_ns;

	vbd_put_time(out, "created_at", transfer->created_ns);
	vbd_put_time(out, "started_at", started_ns);
	vbd_put_time(out, "ended_at", ended ? ended_ns : 0);
	vbd_put_u64_or_null(out, "queue_ns", started_ns != 0, started_ns - transfer->created_ns);
	vbd_put_u64_or_null(out, "wire_ns", started_ns && ended, ended_ns - started_ns);
}

static void put_range(struct vbd_encoder *out, const char *name, const struct vbd_daemon *daemon,
	const struct vbd_transfer_range *range)
{
	vbd_begin_object(out, name);
	vbd_put_ref(out, "buffer", daemon->buffers, range->buffer_id);
	vbd_put_u64(out, "offset_bytes", range->offset_bytes);
	vbd_put_u64(out, "length_bytes", range->length_bytes);
	vbd_end(out);
}

/* A transfer of one range has `buffer` and `offset_bytes`; one of a list has `sges`. */
static void put_ranges(struct vbd_encoder *out, const struct vbd_transfer_record *record)
{
	const struct vbd_daemon *daemon = record->object.registry->daemon;
	const struct vbd_transfer_range *first = record->ranges;
	bool one = record->range_count > 0 && !record->listed;

	vbd_put_ref(out, "buffer", daemon->buffers, one ? first->buffer_id : 0);
	vbd_put_u64(out, "offset_bytes", one ? first->offset_bytes : 0);
	if (!record->listed) {
		vbd_put_null(out, "sges");
		return;
	}
	vbd_begin_array(out, "sges");
	for (uint32_t i = 0; i < record->range_count; i++)
		put_range(out, NULL, daemon, &record->ranges[i]);
	vbd_end(out);
}

static void put_received(
	struct vbd_encoder *out, const char *name, const struct vbd_transfer *transfer)
{
	const struct vbd_received *received = &transfer->received;

	if (!vbd_begin_object_if(
		    out, name, transfer->op == VBD_OP_RECV && transfer->state == VBD_TRANSFER_DONE))
		return;
	vbd_put_received(out, received);
	vbd_end(out);
}

/* Put the members that only some operations have. */
static void put_operands(struct vbd_encoder *out, const struct vbd_transfer *transfer)
{
	bool done = transfer->state == VBD_TRANSFER_DONE;

	vbd_put_bool(out, "inline", transfer->wr.inlined);
	vbd_put_u64_or_null(out, "imm", vbd_ops[transfer->op].has_imm, transfer->wr.imm);
	if (vbd_ops[transfer->op].is_atomic && done)
		vbd_put_hex(out, "old_value", transfer->old_value, 16);
	else
		vbd_put_null(out, "old_value");
	put_received(out, "received", transfer);
}

static void put_refs(struct vbd_encoder *out, const struct vbd_transfer_record *record)
{
	const struct vbd_daemon *daemon = record->object.registry->daemon;

	vbd_put_ref(out, "connection", daemon->connections, record->connection_id);
	vbd_put_ref(out, "ud_endpoint", daemon->ud_endpoints, record->endpoint_id);
	vbd_put_ref(out, "ud_peer", daemon->ud_peers, record->peer_id);
	vbd_put_ref(out, "multicast_membership", daemon->multicast_memberships, record->group_id);
	vbd_put_ref(out, "batch", daemon->transfer_batches, record->batch_id);
}

static void put_transfer(struct vbd_encoder *out, const void *item)
{
	const struct vbd_transfer_record *record = item;
	const struct vbd_transfer *transfer = &record->transfer;

	vbd_put_task(out, &record->object, vbd_transfer_state_name(transfer->state));
	vbd_put_text(out, "op", vbd_op_name(transfer->op));
	put_refs(out, record);
	put_ranges(out, record);
	vbd_put_remote(out, "remote", transfer->op, transfer->wr.remote_addr, transfer->wr.rkey);
	vbd_put_u64(out, "length_bytes", vbd_transfer_length(transfer));
	vbd_put_u64(out, "chunk_bytes", transfer->chunk_bytes);
	vbd_put_u64(out, "tx_depth", transfer->tx_depth);
	vbd_put_u64(out, "bytes_done", vbd_counter_get(&transfer->bytes_done));
	vbd_put_u64(out, "wrs_done", vbd_counter_get(&transfer->wrs_done));
	vbd_put_u64_or_null(out, "messages_done", vbd_ops[transfer->op].sends,
		vbd_counter_get(&transfer->wrs_done));
	put_operands(out, transfer);
	vbd_put_u64(out, "timeout_ms", record->timeout_ms);
	put_times(out, transfer);
	put_error(out, record);
}

/* --- list ------------------------------------------------------------------------------------ */

VBD_PAGE_NUMBER(by_state, struct vbd_transfer_record, transfer.state)
VBD_PAGE_NUMBER(by_op, struct vbd_transfer_record, transfer.op)
VBD_PAGE_NUMBER(by_connection, struct vbd_transfer_record, connection_id)
VBD_PAGE_NUMBER(by_endpoint, struct vbd_transfer_record, endpoint_id)
VBD_PAGE_NUMBER(by_batch, struct vbd_transfer_record, batch_id)
VBD_PAGE_NUMBER(by_peer, struct vbd_transfer_record, peer_id)
VBD_PAGE_NUMBER(by_group, struct vbd_transfer_record, group_id)
VBD_PAGE_NUMBER(by_length, struct vbd_transfer_record, transfer.length_bytes)
VBD_PAGE_NUMBER(by_created, struct vbd_transfer_record, transfer.created_ns)

static bool uses_buffer(const void *item, uint64_t id)
{
	const struct vbd_transfer_record *record = item;

	for (uint32_t i = 0; i < record->range_count; i++) {
		if (record->ranges[i].buffer_id == id)
			return true;
	}
	return false;
}

static uint64_t record_op(const struct vbd_archived *archived)
{
	const char *name = vbd_archived_text(archived, "op");
	unsigned int op = 0;

	while (op < VBD_OP_COUNT && strcmp(vbd_op_name((enum vbd_op)op), name) != 0)
		op++;
	return op;
}

static const struct vbd_page_column transfer_columns[] = {
	{"state", VBD_SORTS, .number = by_state},
	{"op", VBD_SORTS, .number = by_op, .past = record_op},
	{"connection", VBD_SORTS_AND_SELECTS, .kind = VBD_KIND_CONNECTION, .number = by_connection},
	{"length_bytes", VBD_SORTS, .number = by_length},
	{"created_at", VBD_SORTS, .number = by_created},
	{"ud_endpoint", VBD_SELECTS, .kind = VBD_KIND_UD_ENDPOINT, .number = by_endpoint},
	{"ud_peer", VBD_SELECTS, .kind = VBD_KIND_UD_PEER, .number = by_peer},
	{"multicast_membership", VBD_SELECTS, .kind = VBD_KIND_MULTICAST_MEMBERSHIP,
		.number = by_group},
	{"buffer", VBD_SELECTS, .kind = VBD_KIND_BUFFER, .has = uses_buffer},
	{"batch", VBD_SELECTS, .kind = VBD_KIND_TRANSFER_BATCH, .number = by_batch},
	{.name = NULL},
};

const struct vbd_task_kind vbd_transfer_task = {
	.kind = VBD_KIND_TRANSFER,
	.done = VBD_STATES(VBD_TRANSFER_DONE),
	.page.members = vbd_transfer_members,
	.page.columns = transfer_columns,
	.page.states = VBD_PAGE_STATES(VBD_TRANSFER_STATE_MAP),
	.page.state_of = by_state,
	.page.encode = put_transfer,
};

/* --- creation, which may wait for a kept connection that is being made again ----------------- */

#define HINT_KEPT                                                                               \
	"verbsd makes the connection again. A transfer with if_not_established wait waits for " \
	"it; "                                                                                  \
	"/v1/kept_objects tells when the next try is."

struct create_waiter {
	struct vbd_waiter waiter; /* first */
	uint64_t kept_id;
	uint64_t begun_ns;
};

/* @begun_ns: the time that has passed since then is taken off the deadline */
static enum vbd_status create_transfer(struct vbd_request *req, uint64_t begun_ns,
	struct vbd_transfer_spec *spec, struct vbd_error *err)
{
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	uint64_t waited_ms = (vbd_clock_mono_ns() - begun_ns) / VBD_NS_PER_MS;
	const struct vbd_origin origin = vbd_request_origin(req);
	struct vbd_transfer_record *record;
	enum vbd_status status =
		vbd_transfer_decode(daemon, &origin, req->json, spec, &req->faults, err);

	if (status != VBD_OK)
		return status;
	spec->timeout_ms =
		waited_ms < spec->timeout_ms ? spec->timeout_ms - (uint32_t)waited_ms : 1;
	status = vbd_transfer_create(daemon, spec, &record, err);
	if (status == VBD_OK)
		vbd_task_answer(req, &vbd_transfer_task, record);
	return status;
}

static bool will_be_made(const struct vbd_kept *kept)
{
	return kept && vbd_reconciler_will_make(kept);
}

static struct vbd_kept *object_as_kept(struct vbd_object *object)
{
	return object ? VBD_CONTAINER_OF(object, struct vbd_kept, object) : NULL;
}

/* By the id of the connection, which stays the same, or by its name, also before its first try. */
static struct vbd_kept *find_kept_conn(const struct vbd_request *req, const json_t *ref)
{
	const struct vbd_daemon *daemon = vbd_request_daemon(req);
	const struct vbd_json_ref wanted = vbd_json_ref_of(ref);
	char text[VBD_REF_TEXT_BYTES];
	const char *name = vbd_ref_text(&wanted, text);
	const struct vbd_object *object;
	struct vbd_kept *kept;
	uint64_t id;

	if (!vbd_ref_is_id(name, &id)) {
		kept = vbd_registry_find_for(
			daemon->kept_objects, req->caller, name, VBD_TO_USE, NULL);
		return kept && kept->of == VBD_KIND_CONNECTION ? kept : NULL;
	}
	object = vbd_registry_find_for(daemon->connections, req->caller, name, VBD_TO_USE, NULL);
	return object ? vbd_kept_of(object) : NULL;
}

/* The kept connection that the body names, if it will be made, and @err is that it is not there
 * yet; else NULL. */
static struct vbd_kept *find_coming_connection(struct vbd_request *req, const struct vbd_error *err)
{
	bool refused = err->status == VBD_E_WRONG_STATE || err->status == VBD_E_NOT_FOUND;
	struct vbd_kept *kept =
		refused ? find_kept_conn(req, json_object_get(req->json, "connection")) : NULL;

	return will_be_made(kept) ? kept : NULL;
}

static void refuse_transfer(struct vbd_request *req, struct vbd_error *err)
{
	if (err->status == VBD_E_WRONG_STATE && find_coming_connection(req, err))
		err->hint = HINT_KEPT;
	vbd_reply_problem(req, err);
}

static void create_when_ready(struct vbd_waiter *base, enum vbd_wake why)
{
	const struct create_waiter *waiter = VBD_CONTAINER_OF(base, struct create_waiter, waiter);
	struct vbd_request *req = base->req;
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	struct vbd_transfer_spec spec;
	struct vbd_error err = {0};

	if (why == VBD_WAKE_CHANGED && will_be_made(object_as_kept(vbd_registry_find_id(
					       daemon->kept_objects, waiter->kept_id))))
		return;
	base->handed_on = true;
	if (create_transfer(req, waiter->begun_ns, &spec, &err) != VBD_OK) {
		req->acted = false;
		refuse_transfer(req, &err);
	}
}

void vbd_create_transfer(struct vbd_request *req)
{
	struct create_waiter waiter = {
		.waiter.answer = create_when_ready, .begun_ns = vbd_clock_mono_ns()};
	struct vbd_transfer_spec spec = {0};
	struct vbd_error err = {0};
	struct vbd_kept *kept;

	if (create_transfer(req, waiter.begun_ns, &spec, &err) == VBD_OK)
		return;
	kept = spec.awaits_connection ? find_coming_connection(req, &err) : NULL;
	if (!kept) {
		refuse_transfer(req, &err);
		return;
	}
	waiter.kept_id = kept->object.id;
	vbd_waiter_run(&waiter.waiter, sizeof(waiter), req, &kept->object.watches, spec.timeout_ms);
}
