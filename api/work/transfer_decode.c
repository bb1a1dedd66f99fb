/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoding TransferCreate: the members that an operation needs or does not allow, and the objects
 * that they name.
 */
#include "api/core/task.h"
#include "api/work/transfers.h"
#include "daemon/work/transfers.h"

/* --- memory of the peer ---------------------------------------------------------------------- */

static const struct vbd_field remote_fields[] = {
	{VBD_FIELD(HEX, "addr", struct vbd_remote_input, addr), .max = UINT64_MAX},
	{VBD_FIELD(HEX, "rkey", struct vbd_remote_input, rkey), .max = UINT32_MAX},
	{VBD_FIELD(UINT, "offset_bytes", struct vbd_remote_input, offset_bytes), .max = INT64_MAX},
	{VBD_FIELD(UINT, "size_bytes", struct vbd_remote_input, size_bytes), .max = INT64_MAX,
		VBD_FIELD_SEEN(struct vbd_remote_input, size_seen)},
};

/* Check that @remote has its address or key, which its verbsd shows to some clients only. */
static enum vbd_status check_shown(
	const json_t *remote, const char *name, const char *pointer, struct vbd_error *err)
{
	const json_t *value = json_object_get(remote, name);
	const char *state = json_string_value(json_object_get(remote, "state"));

	if (!value)
		return vbd_error_input(err, VBD_E_MISSING_FIELD, pointer,
			"%s is missing: the peer's verbsd does not show it to the read role",
			pointer);
	if (json_is_null(value) && state && strcmp(state, "ready") == 0)
		return vbd_error_input(err, VBD_E_MISSING_FIELD, pointer,
			"%s is null: the peer's memory allows no remote access", pointer);
	if (json_is_null(value))
		return vbd_error_input(err, VBD_E_MISSING_FIELD, pointer,
			"%s is null: the peer's memory is %.32s and can't be reached", pointer,
			state ? state : "not ready");
	return VBD_OK;
}

enum vbd_status vbd_remote_decode(
	const json_t *remote, struct vbd_remote_input *ret_input, struct vbd_error *err)
{
	enum vbd_status status = check_shown(remote, "addr", "/remote/addr", err);
	json_t *known;

	if (!status)
		status = check_shown(remote, "rkey", "/remote/rkey", err);
	if (status)
		return status;
	ret_input->access = json_object_get(remote, "access");
	known = json_object();
	for (size_t i = 0; i < VBD_ARRAY_LEN(remote_fields); i++) {
		json_t *value = json_object_get(remote, remote_fields[i].name);

		if (value && json_object_set(known, remote_fields[i].name, value) < 0)
			status = vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a request");
	}
	if (!status)
		status = vbd_decode_at(known, VBD_FIELDS(remote_fields), "/remote", ret_input, err);
	json_decref(known);
	return status;
}

/* The peer's device could only refuse by breaking the connection. */
static enum vbd_status check_access(const json_t *access, enum vbd_op op, struct vbd_error *err)
{
	const char *needed = op == VBD_OP_READ					   ? "remote_read"
			     : op == VBD_OP_FETCH_ADD || op == VBD_OP_COMPARE_SWAP ? "remote_atomic"
										   : "remote_write";
	const json_t *name;
	size_t i;

	json_array_foreach(access, i, name)
	{
		if (json_is_string(name) && strcmp(json_string_value(name), needed) == 0)
			return VBD_OK;
	}
	if (!json_is_array(access))
		return VBD_OK;
	return vbd_error_input(err, VBD_E_BAD_VALUE, "/remote/access",
		"%s needs the access %s, which the peer's memory does not allow", vbd_op_name(op),
		needed);
}

enum vbd_status vbd_remote_aim(const struct vbd_remote_input *input, enum vbd_op op,
	uint64_t length_bytes, const char *length_pointer, uint64_t *ret_addr,
	struct vbd_error *err)
{
	enum vbd_status status = check_access(input->access, op, err);
	uint64_t room_bytes = UINT64_MAX - input->addr;
	bool behind;

	if (status != VBD_OK)
		return status;
	if (input->size_seen && input->size_bytes < room_bytes)
		room_bytes = input->size_bytes;
	behind = input->offset_bytes > room_bytes;
	if (behind || length_bytes > room_bytes - input->offset_bytes)
		return vbd_error_input(err, VBD_E_OUT_OF_RANGE,
			behind ? "/remote/offset_bytes" : length_pointer,
			"%llu bytes at offset %llu reach past the end of the peer's memory, which "
			"has %llu bytes",
			(unsigned long long)length_bytes, (unsigned long long)input->offset_bytes,
			(unsigned long long)room_bytes);
	*ret_addr = input->addr + input->offset_bytes;
	return VBD_OK;
}

/* --- members --------------------------------------------------------------------------------- */

/* Index: enum vbd_op. The field leaves out the last two, which are for windows only. */
static const char *const op_names[VBD_OP_COUNT] = {VBD_OP_MAP(VBD_ENUM_NAME)};

/* Index: `awaits_connection` of struct vbd_transfer_spec. */
static const char *const if_not_established_names[] = {"refuse", "wait"};

struct transfer_create {
	struct vbd_transfer_spec spec;
	struct vbd_connection *connection;
	struct vbd_endpoint_record *endpoint;
	const json_t *sges;
	const json_t *remote;
	struct vbd_remote_input memory; /* from `remote` */
};

static const struct vbd_field range_fields[] = {
	{VBD_FIELD_OF(BUFFER, "buffer", struct vbd_transfer_range, buffer), .required = true},
	{VBD_FIELD(UINT, "offset_bytes", struct vbd_transfer_range, offset_bytes),
		.max = INT64_MAX},
	{VBD_FIELD(UINT, "length_bytes", struct vbd_transfer_range, length_bytes),
		.max = INT64_MAX},
};

static const struct vbd_field create_fields[] = {
	{VBD_FIELD_OF(CONNECTION, "connection", struct transfer_create, connection)},
	{VBD_FIELD_OF(UD_ENDPOINT, "ud_endpoint", struct transfer_create, endpoint)},
	VBD_DESTINATION_FIELDS(struct transfer_create, spec),
	{VBD_FIELD(ENUM, "op", struct transfer_create, spec.op), .required = true,
		.names = op_names, .n_names = VBD_OP_BIND_WINDOW},
	{VBD_FIELD_OF(BUFFER, "buffer", struct transfer_create, spec.buffer)},
	{VBD_FIELD(UINT, "offset_bytes", struct transfer_create, spec.offset_bytes),
		.max = INT64_MAX},
	{VBD_FIELD(UINT, "length_bytes", struct transfer_create, spec.length_bytes),
		.max = INT64_MAX},
	{VBD_FIELD(ARRAY, "sges", struct transfer_create, sges), .min = 1, .max = VBD_SGES_MAX},
	{VBD_FIELD(OPEN, "remote", struct transfer_create, remote)},
	{VBD_FIELD(UINT, "chunk_bytes", struct transfer_create, spec.chunk_bytes), .min = 1,
		.max = UINT64_C(1) << 30},
	{VBD_FIELD(UINT, "message_bytes", struct transfer_create, spec.message_bytes), .min = 1,
		.max = UINT64_C(1) << 30},
	{VBD_FIELD(UINT, "tx_depth", struct transfer_create, spec.tx_depth), .min = 1,
		.max = 16384},
	{VBD_FIELD(BOOL, "inline", struct transfer_create, spec.wr.inlined)},
	{VBD_FIELD(UINT, "imm", struct transfer_create, spec.wr.imm), .max = UINT32_MAX},
	/* No operation may have both. */
	{VBD_FIELD(HEX, "add", struct transfer_create, spec.wr.compare_add), .max = UINT64_MAX},
	{VBD_FIELD(HEX, "compare", struct transfer_create, spec.wr.compare_add), .max = UINT64_MAX},
	{VBD_FIELD(HEX, "swap", struct transfer_create, spec.wr.swap), .max = UINT64_MAX},
	{VBD_FIELD(UINT, "timeout_ms", struct transfer_create, spec.timeout_ms), .min = 1,
		.max = 3600000},
	{VBD_FIELD(ENUM, "if_not_established", struct transfer_create, spec.awaits_connection),
		VBD_NAMES(if_not_established_names)},
};

/* --- required members ------------------------------------------------------------------------ */

/* Check that @op has a member exactly if it needs one. @why: reason why @op does not allow it. */
static void check_member(const json_t *json, enum vbd_op op, const char *pointer, bool wanted,
	const char *why, struct vbd_error *err)
{
	bool given = vbd_given(json, pointer + 1);

	if (wanted && !given)
		(void)vbd_error_input(err, VBD_E_MISSING_FIELD, pointer,
			"%s is missing: %s needs it", pointer, vbd_op_name(op));
	if (!wanted && given)
		(void)vbd_error_input(err, VBD_E_BAD_VALUE, pointer, "%s is not allowed for %s%s",
			pointer, vbd_op_name(op), why);
}

static enum vbd_status check_operands(const json_t *json, enum vbd_op op, struct vbd_error *err)
{
	check_member(json, op, "/remote", vbd_ops[op].needs_remote,
		op == VBD_OP_RECV ? ": the peer sends" : ": the data goes into the peer's receive",
		err);
	check_member(json, op, "/imm", vbd_ops[op].has_imm, "", err);
	check_member(json, op, "/add", op == VBD_OP_FETCH_ADD, "", err);
	check_member(json, op, "/compare", op == VBD_OP_COMPARE_SWAP, "", err);
	check_member(json, op, "/swap", op == VBD_OP_COMPARE_SWAP, "", err);
	return err->status;
}

static enum vbd_status check_wait(
	const json_t *json, const struct vbd_transfer_spec *spec, struct vbd_error *err)
{
	if (!spec->awaits_connection || vbd_given(json, "connection"))
		return VBD_OK;
	return vbd_error_input(err, VBD_E_BAD_VALUE, "/if_not_established",
		"to wait is possible for a connection only");
}

static enum vbd_status check_splitting(
	const json_t *json, const struct vbd_transfer_spec *spec, struct vbd_error *err)
{
	bool chunks = vbd_given(json, "chunk_bytes");

	if (spec->wr.inlined && !vbd_ops[spec->op].may_inline)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/inline",
			"/inline is not allowed for %s: the request carries no data",
			vbd_op_name(spec->op));
	if (spec->message_bytes && !vbd_ops[spec->op].sends)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/message_bytes",
			"/message_bytes is not allowed for %s: use /chunk_bytes",
			vbd_op_name(spec->op));
	if (vbd_given(json, "sges") && (spec->message_bytes || chunks))
		return vbd_error_input(err, VBD_E_BAD_VALUE,
			chunks ? "/chunk_bytes" : "/message_bytes",
			"a list of ranges is one work request");
	return VBD_OK;
}

static enum vbd_status check_ranges(
	const json_t *json, const struct vbd_transfer_spec *spec, struct vbd_error *err)
{
	static const char *const whole[] = {"/buffer", "/offset_bytes", "/length_bytes"};
	bool nothing = vbd_given(json, "length_bytes") && !spec->length_bytes;
	bool is_list = vbd_given(json, "sges");
	enum vbd_op op = spec->op;

	for (size_t i = 0; is_list && i < VBD_ARRAY_LEN(whole); i++) {
		if (vbd_given(json, whole[i] + 1))
			return vbd_error_input(err, VBD_E_BAD_VALUE, whole[i],
				"with /sges the range is given there");
	}
	if (is_list && vbd_ops[op].is_atomic)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/sges",
			"/sges is not allowed for %s: the old value has eight bytes, and is stored "
			"in /buffer if that is given",
			vbd_op_name(op));
	if (is_list || vbd_given(json, "buffer") || vbd_ops[op].is_atomic || nothing)
		return VBD_OK;
	return vbd_error_input(err, VBD_E_MISSING_FIELD, "/buffer",
		"/buffer or /sges is missing; without them /length_bytes must be 0");
}

static enum vbd_status check_transfer(
	const json_t *json, const struct vbd_transfer_spec *spec, struct vbd_error *err)
{
	enum vbd_status status = check_operands(json, spec->op, err);

	if (!status)
		status = check_splitting(json, spec, err);
	if (!status)
		status = check_wait(json, spec, err);
	return status ? status : check_ranges(json, spec, err);
}

/* --- the named objects ----------------------------------------------------------------------- */

/* The length of a range without one. */
static uint64_t bytes_to_end(const struct vbd_buffer *buffer, uint64_t offset_bytes)
{
	return offset_bytes < buffer->mem.size_bytes ? buffer->mem.size_bytes - offset_bytes : 0;
}

static enum vbd_status resolve_range(struct vbd_daemon *daemon, const json_t *json, size_t index,
	struct vbd_transfer_spec *spec, struct vbd_error *err)
{
	struct vbd_transfer_range *range = &spec->ranges[index];
	char pointer[40];

	(void)snprintf(pointer, sizeof(pointer), "/sges/%zu", index);
	if (vbd_decode_at(json, VBD_FIELDS(range_fields), pointer, range, err) != VBD_OK ||
		vbd_members_find(daemon, spec->origin.caller, json, pointer,
			VBD_FIELDS(range_fields), range, err) != VBD_OK)
		return err->status;
	if (!vbd_given(json, "length_bytes"))
		range->length_bytes = bytes_to_end(range->buffer, range->offset_bytes);
	return VBD_OK;
}

static enum vbd_status resolve_list(struct vbd_daemon *daemon, const json_t *list,
	struct vbd_transfer_spec *spec, struct vbd_error *err)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		enum vbd_status status =
			resolve_range(daemon, json_array_get(list, i), i, spec, err);

		if (status)
			return status;
		spec->length_bytes += spec->ranges[i].length_bytes;
		spec->range_count++;
	}
	return VBD_OK;
}

static enum vbd_status resolve_memory(struct vbd_daemon *daemon, const json_t *json,
	struct transfer_create *input, struct vbd_error *err)
{
	struct vbd_transfer_spec *spec = &input->spec;
	bool has_length = vbd_given(json, "length_bytes");

	if (input->sges)
		return resolve_list(daemon, input->sges, spec, err);
	if (!has_length && vbd_ops[spec->op].is_atomic)
		spec->length_bytes = VBD_ATOMIC_BYTES;
	else if (!has_length && spec->buffer)
		spec->length_bytes = bytes_to_end(spec->buffer, spec->offset_bytes);
	if (!spec->buffer)
		spec->offset_bytes = 0;
	return VBD_OK;
}

static enum vbd_status check_qp(const json_t *json, struct vbd_error *err)
{
	bool connection = vbd_given(json, "connection");
	bool endpoint = vbd_given(json, "ud_endpoint");

	if (connection && endpoint)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/ud_endpoint",
			"give /connection or /ud_endpoint, not both");
	if (!connection && !endpoint)
		return vbd_error_input(err, VBD_E_MISSING_FIELD, "/connection",
			"/connection or /ud_endpoint is missing");
	return VBD_OK;
}

static enum vbd_status set_remote_addr(
	const json_t *json, struct transfer_create *input, struct vbd_error *err)
{
	struct vbd_transfer_spec *spec = &input->spec;
	bool to_the_end = input->memory.offset_bytes && !vbd_given(json, "length_bytes");
	const char *pointer = to_the_end ? "/remote/offset_bytes" : "/length_bytes";

	if (!input->remote)
		return VBD_OK;
	spec->wr.rkey = input->memory.rkey;
	return vbd_remote_aim(&input->memory, spec->op, spec->length_bytes,
		input->sges ? "/sges" : pointer, &spec->wr.remote_addr, err);
}

static enum vbd_status resolve_objects(struct vbd_daemon *daemon, const json_t *json,
	struct transfer_create *input, struct vbd_error *err)
{
	enum vbd_status status = check_qp(json, err);

	if (!status)
		status = vbd_members_find(daemon, input->spec.origin.caller, json, "",
			VBD_FIELDS(create_fields), input, err);
	if (status)
		return status;
	input->spec.qp =
		input->connection ? &input->connection->conn->qp : &input->endpoint->endpoint->qp;
	status = resolve_memory(daemon, json, input, err);
	return status ? status : set_remote_addr(json, input, err);
}

enum vbd_status vbd_transfer_decode(struct vbd_daemon *daemon, const struct vbd_origin *origin,
	const json_t *json, struct vbd_transfer_spec *ret_spec, struct vbd_faults *faults,
	struct vbd_error *err)
{
	struct transfer_create input = {
		.spec = {.origin = *origin, .chunk_bytes = 262144, .timeout_ms = 30000}};
	enum vbd_status status =
		vbd_decode_all(json, "", VBD_FIELDS(create_fields), &input, faults, err);

	if (!status)
		status = check_transfer(json, &input.spec, err);
	if (!status && input.remote)
		status = vbd_remote_decode(input.remote, &input.memory, err);
	if (status)
		return status;
	*ret_spec = input.spec;
	status = resolve_objects(daemon, json, &input, err);
	if (!status)
		*ret_spec = input.spec;
	return status;
}
