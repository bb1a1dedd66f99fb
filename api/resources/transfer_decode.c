/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoding TransferCreate: the members that an operation needs or does not allow, and the objects
 * that they name.
 */
#include "api/http/request.h"
#include "api/resources/remote.h"
#include "api/resources/task.h"
#include "api/resources/transfers.h"
#include "daemon/work/transfers.h"

/* Index: enum vbd_op. The field leaves out the last two, which are for windows only. */
static const char *const op_names[VBD_OP_COUNT] = {VBD_OP_MAP(VBD_ENUM_NAME)};

/* The daemon refuses a transfer over a connection that is not established, or lets it wait. */
enum if_not_established { IF_NOT_REFUSE, IF_NOT_WAIT };

static const char *const if_not_names[] = {[IF_NOT_REFUSE] = "refuse", [IF_NOT_WAIT] = "wait"};

struct range_input {
	struct vbd_json_ref buffer;
	uint64_t offset_bytes;
	uint64_t length_bytes;
	bool length_seen;
};

struct transfer_create {
	struct vbd_json_ref connection;
	bool connection_seen;
	struct vbd_json_ref ud_endpoint;
	bool ud_endpoint_seen;
	struct vbd_json_ref ud_peer;
	bool ud_peer_seen;
	struct vbd_json_ref multicast_membership;
	bool multicast_membership_seen;
	enum vbd_op op;
	struct range_input whole; /* buffer, offset_bytes, length_bytes */
	bool buffer_seen;
	bool offset_seen;
	const json_t *sges;
	const json_t *remote;
	struct vbd_remote_input memory; /* from `remote` */
	uint64_t chunk_bytes;
	bool chunk_seen;
	uint64_t message_bytes; /* 0: absent */
	uint32_t tx_depth;	/* 0: absent */
	bool inlined;
	uint32_t imm;
	bool imm_seen;
	uint64_t add, compare, swap;
	bool add_seen, compare_seen, swap_seen;
	uint32_t timeout_ms;
	enum if_not_established if_not_established;
};

static const struct vbd_field range_fields[] = {
	{VBD_FIELD(REF, "buffer", struct range_input, buffer), .required = true},
	{VBD_FIELD(UINT, "offset_bytes", struct range_input, offset_bytes), .max = INT64_MAX},
	{VBD_FIELD(UINT, "length_bytes", struct range_input, length_bytes), .max = INT64_MAX,
		VBD_FIELD_SEEN(struct range_input, length_seen)},
};

#define OPERAND(member)                                                          \
	{                                                                        \
		.name = #member, .type = VBD_FIELD_HEX,                          \
		VBD_FIELD_AT(struct transfer_create, member), .max = UINT64_MAX, \
		VBD_FIELD_SEEN(struct transfer_create, member##_seen)            \
	}

#define REFERENCE(member)                                             \
	{                                                             \
		.name = #member, .type = VBD_FIELD_REF,               \
		VBD_FIELD_AT(struct transfer_create, member),         \
		VBD_FIELD_SEEN(struct transfer_create, member##_seen) \
	}

static const struct vbd_field create_fields[] = {
	REFERENCE(connection),
	REFERENCE(ud_endpoint),
	REFERENCE(ud_peer),
	REFERENCE(multicast_membership),
	{VBD_FIELD(ENUM, "op", struct transfer_create, op), .required = true, .names = op_names,
		.n_names = VBD_OP_BIND_WINDOW},
	{VBD_FIELD(REF, "buffer", struct transfer_create, whole.buffer),
		VBD_FIELD_SEEN(struct transfer_create, buffer_seen)},
	{VBD_FIELD(UINT, "offset_bytes", struct transfer_create, whole.offset_bytes),
		.max = INT64_MAX, VBD_FIELD_SEEN(struct transfer_create, offset_seen)},
	{VBD_FIELD(UINT, "length_bytes", struct transfer_create, whole.length_bytes),
		.max = INT64_MAX, VBD_FIELD_SEEN(struct transfer_create, whole.length_seen)},
	{VBD_FIELD(ARRAY, "sges", struct transfer_create, sges), .min = 1, .max = VBD_SGES_MAX},
	{VBD_FIELD(OPEN, "remote", struct transfer_create, remote)},
	{VBD_FIELD(UINT, "chunk_bytes", struct transfer_create, chunk_bytes), .min = 1,
		.max = UINT64_C(1) << 30, VBD_FIELD_SEEN(struct transfer_create, chunk_seen)},
	{VBD_FIELD(UINT, "message_bytes", struct transfer_create, message_bytes), .min = 1,
		.max = UINT64_C(1) << 30},
	{VBD_FIELD(UINT, "tx_depth", struct transfer_create, tx_depth), .min = 1, .max = 16384},
	{VBD_FIELD(BOOL, "inline", struct transfer_create, inlined)},
	{VBD_FIELD(UINT, "imm", struct transfer_create, imm), .max = UINT32_MAX,
		VBD_FIELD_SEEN(struct transfer_create, imm_seen)},
	OPERAND(add),
	OPERAND(compare),
	OPERAND(swap),
	{VBD_FIELD(UINT, "timeout_ms", struct transfer_create, timeout_ms), .min = 1,
		.max = 3600000},
	{VBD_FIELD(ENUM, "if_not_established", struct transfer_create, if_not_established),
		.names = if_not_names, .n_names = VBD_ARRAY_LEN(if_not_names)},
};

/* --- required members ------------------------------------------------------------------------ */

/* Check that @op has a member exactly if it needs one. @why: reason why @op does not allow it. */
static enum vbd_status check_member(enum vbd_op op, const char *pointer, bool seen, bool wanted,
	const char *why, struct vbd_error *err)
{
	if (wanted && !seen)
		return vbd_error_input(err, VBD_E_MISSING_FIELD, pointer,
			"%s is missing: %s needs it", pointer, vbd_op_name(op));
	if (!wanted && seen)
		return vbd_error_input(err, VBD_E_BAD_VALUE, pointer, "%s is not allowed for %s%s",
			pointer, vbd_op_name(op), why);
	return VBD_OK;
}

static enum vbd_status check_operands(const struct transfer_create *input, struct vbd_error *err)
{
	enum vbd_op op = input->op;
	enum vbd_status status;

	status = check_member(op, "/remote", input->remote != NULL, vbd_ops[op].needs_remote,
		op == VBD_OP_RECV ? ": the peer sends" : ": the data goes into the peer's receive",
		err);
	if (!status)
		status = check_member(op, "/imm", input->imm_seen, vbd_ops[op].has_imm, "", err);
	if (!status)
		status = check_member(op, "/add", input->add_seen, op == VBD_OP_FETCH_ADD, "", err);
	if (!status)
		status = check_member(
			op, "/compare", input->compare_seen, op == VBD_OP_COMPARE_SWAP, "", err);
	if (!status)
		status = check_member(
			op, "/swap", input->swap_seen, op == VBD_OP_COMPARE_SWAP, "", err);
	return status;
}

static enum vbd_status check_wait(const struct transfer_create *input, struct vbd_error *err)
{
	if (input->if_not_established == IF_NOT_REFUSE || input->connection_seen)
		return VBD_OK;
	return vbd_error_input(err, VBD_E_BAD_VALUE, "/if_not_established",
		"to wait is possible for a connection only");
}

static enum vbd_status check_cutting(const struct transfer_create *input, struct vbd_error *err)
{
	enum vbd_op op = input->op;

	if (input->inlined && !vbd_ops[op].may_inline)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/inline",
			"/inline is not allowed for %s: the request carries no data",
			vbd_op_name(op));
	if (input->message_bytes && !vbd_ops[op].sends)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/message_bytes",
			"/message_bytes is not allowed for %s: use /chunk_bytes", vbd_op_name(op));
	if (input->sges && (input->message_bytes || input->chunk_seen))
		return vbd_error_input(err, VBD_E_BAD_VALUE,
			input->chunk_seen ? "/chunk_bytes" : "/message_bytes",
			"a list of ranges is one work request");
	return VBD_OK;
}

static enum vbd_status check_ranges(const struct transfer_create *input, struct vbd_error *err)
{
	bool nothing = input->whole.length_seen && !input->whole.length_bytes;
	enum vbd_op op = input->op;

	if (input->sges && (input->buffer_seen || input->offset_seen || input->whole.length_seen))
		return vbd_error_input(err, VBD_E_BAD_VALUE,
			input->buffer_seen   ? "/buffer"
			: input->offset_seen ? "/offset_bytes"
					     : "/length_bytes",
			"with /sges the range is given there");
	if (input->sges && vbd_ops[op].is_atomic)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/sges",
			"/sges is not allowed for %s: the old value has eight bytes, and is stored "
			"in /buffer if that is given",
			vbd_op_name(op));
	if (input->sges || input->buffer_seen || vbd_ops[op].is_atomic || nothing)
		return VBD_OK;
	return vbd_error_input(err, VBD_E_MISSING_FIELD, "/buffer",
		"/buffer or /sges is missing; without them /length_bytes must be 0");
}

/* --- the named objects ----------------------------------------------------------------------- */

/* An absent length is the rest of the buffer. */
static enum vbd_status resolve_range(struct vbd_daemon *daemon, const struct range_input *input,
	struct vbd_transfer_range *range, const char *pointer, struct vbd_error *err)
{
	range->buffer = vbd_member_find(daemon->buffers, &input->buffer, pointer, err);
	if (!range->buffer)
		return err->status;
	range->offset_bytes = input->offset_bytes;
	range->length_bytes = input->length_bytes;
	if (!input->length_seen && input->offset_bytes < range->buffer->mem.size_bytes)
		range->length_bytes = range->buffer->mem.size_bytes - input->offset_bytes;
	return VBD_OK;
}

static enum vbd_status resolve_list(struct vbd_daemon *daemon, const json_t *list,
	struct vbd_transfer_spec *spec, struct vbd_error *err)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		struct range_input input = {0};
		enum vbd_status status;
		char pointer[40];

		(void)snprintf(pointer, sizeof(pointer), "/sges/%zu", i);
		status = vbd_decode_at(json_array_get(list, i), range_fields,
			VBD_ARRAY_LEN(range_fields), pointer, &input, err);
		(void)snprintf(pointer, sizeof(pointer), "/sges/%zu/buffer", i);
		if (!status)
			status = resolve_range(daemon, &input, &spec->ranges[i], pointer, err);
		if (status)
			return status;
		spec->length_bytes += spec->ranges[i].length_bytes;
		spec->range_count++;
	}
	return VBD_OK;
}

static enum vbd_status resolve_memory(struct vbd_daemon *daemon,
	const struct transfer_create *input, struct vbd_transfer_spec *spec, struct vbd_error *err)
{
	struct range_input whole = input->whole;
	struct vbd_transfer_range range = {0};
	enum vbd_status status;

	if (input->sges)
		return resolve_list(daemon, input->sges, spec, err);
	if (vbd_ops[input->op].is_atomic && !whole.length_seen) {
		whole.length_bytes = VBD_ATOMIC_BYTES;
		whole.length_seen = true;
	}
	spec->length_bytes = whole.length_bytes;
	if (!input->buffer_seen)
		return VBD_OK;
	status = resolve_range(daemon, &whole, &range, "/buffer", err);
	spec->buffer = range.buffer;
	spec->offset_bytes = range.offset_bytes;
	spec->length_bytes = range.length_bytes;
	return status;
}

static struct vbd_qp *qp_of_connection(
	struct vbd_daemon *daemon, const struct vbd_json_ref *ref, struct vbd_error *err)
{
	struct vbd_connection *connection =
		vbd_member_find(daemon->connections, ref, "/connection", err);

	return connection ? &connection->conn->qp : NULL;
}

static struct vbd_qp *qp_of_endpoint(
	struct vbd_daemon *daemon, const struct vbd_json_ref *ref, struct vbd_error *err)
{
	struct vbd_endpoint_record *record =
		vbd_member_find(daemon->ud_endpoints, ref, "/ud_endpoint", err);

	return record ? &record->endpoint->qp : NULL;
}

static enum vbd_status resolve_qp(struct vbd_daemon *daemon, const struct transfer_create *input,
	struct vbd_transfer_spec *spec, struct vbd_error *err)
{
	if (input->connection_seen && input->ud_endpoint_seen)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/ud_endpoint",
			"give /connection or /ud_endpoint, not both");
	if (!input->connection_seen && !input->ud_endpoint_seen)
		return vbd_error_input(err, VBD_E_MISSING_FIELD, "/connection",
			"/connection or /ud_endpoint is missing");
	spec->qp = input->connection_seen ? qp_of_connection(daemon, &input->connection, err)
					  : qp_of_endpoint(daemon, &input->ud_endpoint, err);
	return spec->qp ? VBD_OK : err->status;
}

enum vbd_status vbd_destination_resolve(struct vbd_daemon *daemon,
	const struct vbd_destination_input *input, struct vbd_transfer_spec *spec,
	struct vbd_error *err)
{
	if (input->peer) {
		spec->peer = vbd_member_find(daemon->ud_peers, input->peer, "/ud_peer", err);
		if (!spec->peer)
			return err->status;
	}
	if (input->group) {
		spec->group = vbd_member_find(
			daemon->multicast_memberships, input->group, "/multicast_membership", err);
		if (!spec->group)
			return err->status;
	}
	return VBD_OK;
}

static enum vbd_status aim(
	const struct transfer_create *input, struct vbd_transfer_spec *spec, struct vbd_error *err)
{
	if (!input->remote)
		return VBD_OK;
	spec->wr.rkey = input->memory.rkey;
	return vbd_remote_aim(&input->memory, spec->op, spec->length_bytes,
		input->sges ? "/sges" : "/length_bytes", &spec->wr.remote_addr, err);
}

static enum vbd_status resolve(struct vbd_daemon *daemon, const struct transfer_create *input,
	struct vbd_transfer_spec *spec, struct vbd_error *err)
{
	const struct vbd_destination_input to = {
		.peer = input->ud_peer_seen ? &input->ud_peer : NULL,
		.group = input->multicast_membership_seen ? &input->multicast_membership : NULL,
	};
	enum vbd_status status = resolve_qp(daemon, input, spec, err);

	if (!status)
		status = vbd_destination_resolve(daemon, &to, spec, err);
	if (!status)
		status = resolve_memory(daemon, input, spec, err);
	return status ? status : aim(input, spec, err);
}

enum vbd_status vbd_transfer_decode(struct vbd_daemon *daemon, const json_t *json,
	struct vbd_transfer_spec *ret_spec, struct vbd_faults *faults, struct vbd_error *err)
{
	struct transfer_create input = {.chunk_bytes = 262144, .timeout_ms = 30000};
	enum vbd_status status = vbd_decode_all(
		json, "", create_fields, VBD_ARRAY_LEN(create_fields), &input, faults, err);

	if (!status)
		status = check_operands(&input, err);
	if (!status)
		status = check_cutting(&input, err);
	if (!status)
		status = check_wait(&input, err);
	if (!status)
		status = check_ranges(&input, err);
	if (!status && input.remote)
		status = vbd_remote_decode(input.remote, &input.memory, err);
	if (status)
		return status;
	*ret_spec = (struct vbd_transfer_spec){
		.op = input.op,
		.chunk_bytes = input.chunk_bytes,
		.message_bytes = input.message_bytes,
		.tx_depth = input.tx_depth,
		.wr =
			{
				.inlined = input.inlined,
				.imm = input.imm,
				.compare_add =
					input.op == VBD_OP_COMPARE_SWAP ? input.compare : input.add,
				.swap = input.swap,
			},
		.timeout_ms = input.timeout_ms,
		.awaits_connection = input.if_not_established == IF_NOT_WAIT,
	};
	return resolve(daemon, &input, ret_spec, err);
}
