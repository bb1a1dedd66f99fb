/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources/remote.h"

#include "api/json/decode.h"

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
