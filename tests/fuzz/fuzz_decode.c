/* SPDX-License-Identifier: Apache-2.0 */
/* Random bytes as the JSON body of a request with members of every type. */
#include "api/json/decode.h"
#include "api/json/parse.h"
#include "daemon/core/registry.h"

#include <stdlib.h>
#include <string.h>

struct inner {
	uint64_t addr;
	uint32_t rkey;
};

struct outer {
	const char *name;
	uint8_t small;
	uint64_t size_bytes;
	bool on;
	uint32_t kind;
	uint32_t access;
	struct vbd_json_ref ref;
	struct inner remote;
	bool remote_seen;
};

static const char *const names[] = {"read", "write"};

static const struct vbd_field inner_fields[] = {
	{.name = "addr",
		.type = VBD_FIELD_HEX,
		.required = true,
		VBD_FIELD_AT(struct inner, addr),
		.max = UINT64_MAX},
	{.name = "rkey",
		.type = VBD_FIELD_HEX,
		.required = true,
		VBD_FIELD_AT(struct inner, rkey),
		.max = UINT32_MAX},
};

static const struct vbd_field outer_fields[] = {
	{.name = "name",
		.type = VBD_FIELD_STRING,
		VBD_FIELD_AT(struct outer, name),
		.max = 63,
		.check = vbd_name_valid,
		.check_text = VBD_NAME_RULE},
	{.name = "small", .type = VBD_FIELD_UINT, VBD_FIELD_AT(struct outer, small), .max = 255},
	{.name = "size_bytes",
		.type = VBD_FIELD_UINT,
		VBD_FIELD_AT(struct outer, size_bytes),
		.min = 1,
		.max = INT64_MAX},
	{.name = "on", .type = VBD_FIELD_BOOL, VBD_FIELD_AT(struct outer, on)},
	{.name = "kind",
		.type = VBD_FIELD_ENUM,
		VBD_FIELD_AT(struct outer, kind),
		.names = names,
		.n_names = VBD_ARRAY_LEN(names)},
	{.name = "access",
		.type = VBD_FIELD_ENUM_SET,
		VBD_FIELD_AT(struct outer, access),
		.names = names,
		.n_names = VBD_ARRAY_LEN(names)},
	{.name = "ref", .type = VBD_FIELD_REF, VBD_FIELD_AT(struct outer, ref)},
	{.name = "remote",
		.type = VBD_FIELD_OBJECT,
		VBD_FIELD_AT(struct outer, remote),
		.fields = inner_fields,
		.n_fields = VBD_ARRAY_LEN(inner_fields),
		VBD_FIELD_SEEN(struct outer, remote_seen)},
};

/* Invariants of every error. */
static void check_error(enum vbd_status status, const struct vbd_error *err)
{
	if (err->status != status || !*err->text || !memchr(err->text, 0, sizeof(err->text)) ||
		!memchr(err->pointer, 0, sizeof(err->pointer)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outer outer = {.size_bytes = 1};
	struct vbd_error err = {0};
	json_t *json = NULL;
	enum vbd_status status = vbd_json_parse((const char *)data, size, &json, &err);

	if (status == VBD_OK)
		status = vbd_decode_at(json, VBD_FIELDS(outer_fields), "", &outer, &err);
	if (status != VBD_OK)
		check_error(status, &err);
	else if (outer.kind >= VBD_ARRAY_LEN(names) || outer.access > 3 || !outer.size_bytes)
		abort();
	json_decref(json);
	return 0;
}
