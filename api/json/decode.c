/* SPDX-License-Identifier: Apache-2.0 */
#include "api/json/decode.h"

#include "base/text.h"

#define POINTER_BYTES 96

/* --- pointers (RFC 6901) --------------------------------------------------------------------- */

static void pointer_add(char pointer[POINTER_BYTES], const char *name)
{
	size_t used = strlen(pointer);

	if (used + 1 < POINTER_BYTES)
		pointer[used++] = '/';
	for (; *name && used + 2 < POINTER_BYTES; name++) {
		if (*name == '~' || *name == '/') {
			pointer[used++] = '~';
			pointer[used++] = *name == '~' ? '0' : '1';
		} else {
			pointer[used++] = *name;
		}
	}
	pointer[used] = '\0';
}

static void pointer_add_index(char pointer[POINTER_BYTES], size_t index)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%zu", index);
	pointer_add(pointer, text);
}

/* --- values ---------------------------------------------------------------------------------- */

static const char *type_name(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "an array";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
		return "an integer";
	case JSON_REAL:
		return "a fraction";
	case JSON_TRUE:
	case JSON_FALSE:
		return "a boolean";
	case JSON_NULL:
		return "null";
	}
	return "something else";
}

static enum vbd_status wrong_type(
	const char *pointer, const char *want, const json_t *value, struct vbd_faults *faults)
{
	return vbd_fault(faults, VBD_E_WRONG_TYPE, pointer, "%s must be %s, not %s",
		*pointer ? pointer : "the body", want, type_name(value));
}

static void store_uint(void *target, const struct vbd_field *field, uint64_t value)
{
	char *at = (char *)target + field->offset;
	uint32_t u32 = (uint32_t)value;
	uint16_t u16 = (uint16_t)value;
	uint8_t u8 = (uint8_t)value;

	switch (field->size) {
	case sizeof(u8):
		memcpy(at, &u8, sizeof(u8));
		break;
	case sizeof(u16):
		memcpy(at, &u16, sizeof(u16));
		break;
	case sizeof(u32):
		memcpy(at, &u32, sizeof(u32));
		break;
	default:
		memcpy(at, &value, sizeof(value));
		break;
	}
}

static enum vbd_status decode_string(const struct vbd_field *field, const json_t *value,
	const char *pointer, void *target, struct vbd_faults *faults)
{
	const char *text = json_string_value(value);
	size_t length;

	if (!text)
		return wrong_type(pointer, "a string", value, faults);
	length = vbd_utf8_length(text);
	if (length < field->min)
		return vbd_fault(faults, VBD_E_BAD_VALUE, pointer,
			"%s must have at least %" PRIu64 " characters", pointer, field->min);
	if (length > field->max)
		return vbd_fault(faults, VBD_E_TOO_LONG, pointer,
			"%s has %zu characters; at most %" PRIu64 " are allowed", pointer, length,
			field->max);
	if (field->check && !field->check(text))
		return vbd_fault(
			faults, VBD_E_BAD_VALUE, pointer, "%s %s", pointer, field->check_text);
	if (!field->raw && !vbd_utf8_line(text, strlen(text)))
		return vbd_fault(faults, VBD_E_BAD_VALUE, pointer,
			"%s must have no control characters and no others that show nothing",
			pointer);
	if (field->type == VBD_FIELD_TEXT && strlen(text) >= field->size)
		return vbd_fault(faults, VBD_E_TOO_LONG, pointer,
			"%s has %zu bytes; at most %zu are allowed", pointer, strlen(text),
			field->size - 1);
	if (field->type == VBD_FIELD_TEXT)
		memcpy((char *)target + field->offset, text, strlen(text) + 1);
	else
		memcpy((char *)target + field->offset, &text, sizeof(text));
	return VBD_OK;
}

static enum vbd_status decode_uint(const struct vbd_field *field, const json_t *value,
	const char *pointer, void *target, struct vbd_faults *faults)
{
	json_int_t number = json_integer_value(value);

	if (field->nullable && json_is_null(value)) {
		store_uint(target, field, 0);
		return VBD_OK;
	}
	if (!json_is_integer(value))
		return wrong_type(pointer, field->nullable ? "an integer or null" : "an integer",
			value, faults);
	if (number < 0 || (uint64_t)number < field->min || (uint64_t)number > field->max)
		return vbd_fault(faults, VBD_E_OUT_OF_RANGE, pointer,
			"%s must be from %" PRIu64 " to %" PRIu64 ", not %" JSON_INTEGER_FORMAT,
			pointer, field->min, field->max, number);
	store_uint(target, field, (uint64_t)number);
	return VBD_OK;
}

static enum vbd_status decode_bool(const struct vbd_field *field, const json_t *value,
	const char *pointer, void *target, struct vbd_faults *faults)
{
	bool on = json_is_true(value);

	if (!json_is_boolean(value))
		return wrong_type(pointer, "true or false", value, faults);
	memcpy((char *)target + field->offset, &on, sizeof(on));
	return VBD_OK;
}

/* Index of @text in the field's names; n_names if it is not among them. */
static size_t find_name(const struct vbd_field *field, const char *text)
{
	size_t i = 0;

	while (i < field->n_names && (!field->names[i] || strcmp(field->names[i], text) != 0))
		i++;
	return i;
}

static enum vbd_status refuse_name(const struct vbd_field *field, const char *pointer,
	const char *text, struct vbd_faults *faults)
{
	char known[120] = "";

	for (size_t i = 0; i < field->n_names; i++) {
		size_t used = strlen(known);

		if (field->names[i])
			(void)snprintf(known + used, sizeof(known) - used, "%s%s", used ? ", " : "",
				field->names[i]);
	}
	return vbd_fault(faults, VBD_E_BAD_VALUE, pointer, "%s must be one of: %s; not '%.32s'",
		pointer, known, text);
}

static enum vbd_status decode_name(const struct vbd_field *field, const json_t *value,
	const char *pointer, size_t *ret_index, struct vbd_faults *faults)
{
	const char *text = json_string_value(value);

	if (!text)
		return wrong_type(pointer, "a string", value, faults);
	*ret_index = find_name(field, text);
	if (*ret_index == field->n_names)
		return refuse_name(field, pointer, text, faults);
	return VBD_OK;
}

static enum vbd_status decode_enum(const struct vbd_field *field, const json_t *value,
	const char *pointer, void *target, struct vbd_faults *faults)
{
	size_t index;
	enum vbd_status status = decode_name(field, value, pointer, &index, faults);

	if (status == VBD_OK)
		store_uint(target, field, index);
	return status;
}

static enum vbd_status decode_enum_set(const struct vbd_field *field, const json_t *value,
	const char *pointer, void *target, struct vbd_faults *faults)
{
	enum vbd_status first = VBD_OK;
	uint64_t set = 0;

	if (!json_is_array(value))
		return wrong_type(pointer, "an array", value, faults);
	for (size_t i = 0; i < json_array_size(value) && faults->total < VBD_FAULTS_MAX; i++) {
		const json_t *item = json_array_get(value, i);
		char item_pointer[POINTER_BYTES];
		enum vbd_status status;
		size_t index;

		(void)snprintf(item_pointer, sizeof(item_pointer), "%s", pointer);
		pointer_add_index(item_pointer, i);
		status = decode_name(field, item, item_pointer, &index, faults);
		if (!status && set & UINT64_C(1) << index)
			status = vbd_fault(faults, VBD_E_BAD_VALUE, item_pointer,
				"%s is given twice", json_string_value(item));
		if (!status)
			set |= UINT64_C(1) << index;
		else
			first = first ? first : status;
	}
	store_uint(target, field, set);
	return first;
}

static enum vbd_status decode_hex(const struct vbd_field *field, const json_t *value,
	const char *pointer, void *target, struct vbd_faults *faults)
{
	const char *text = json_string_value(value);
	uint64_t number = 0;
	size_t digits;

	if (!text)
		return wrong_type(pointer, "a string of hex digits after 0x", value, faults);
	digits = strncmp(text, "0x", 2) == 0 ? strspn(text + 2, "0123456789abcdef") : 0;
	if (digits == 0 || text[2 + digits] != '\0')
		return vbd_fault(faults, VBD_E_BAD_VALUE, pointer,
			"%s must be 0x and lower-case hex digits, not '%.32s'", pointer, text);
	for (size_t i = 0; i < digits && digits <= 16; i++) {
		char c = text[2 + i];

		number = number << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	if (digits > 16 || number > field->max)
		return vbd_fault(faults, VBD_E_OUT_OF_RANGE, pointer,
			"%s must be at most 0x%" PRIx64 ", not %.32s", pointer, field->max, text);
	store_uint(target, field, number);
	return VBD_OK;
}

/* {id, name}, as answers show a reference. */
static bool is_shown_ref(const json_t *value)
{
	const json_t *name = json_object_get(value, "name");

	return json_is_integer(json_object_get(value, "id")) &&
	       (!name || json_is_string(name) || json_is_null(name)) &&
	       json_object_size(value) == (name ? 2 : 1);
}

struct vbd_json_ref vbd_json_ref_of(const json_t *value)
{
	if (!json_is_object(value))
		return (struct vbd_json_ref){
			(uint64_t)json_integer_value(value), json_string_value(value)};
	return (struct vbd_json_ref){(uint64_t)json_integer_value(json_object_get(value, "id")),
		json_string_value(json_object_get(value, "name"))};
}

static enum vbd_status decode_ref(const struct vbd_field *field, const json_t *value,
	const char *pointer, void *target, struct vbd_faults *faults)
{
	const struct vbd_json_ref ref = vbd_json_ref_of(value);
	const json_t *id = is_shown_ref(value) ? json_object_get(value, "id") : value;

	if (!json_is_integer(id) && !json_is_string(id))
		return wrong_type(pointer, "an id or a name", value, faults);
	if (json_is_integer(id) && json_integer_value(id) < 1)
		return vbd_fault(faults, VBD_E_OUT_OF_RANGE, pointer,
			"%s must be an id from 1 on, or a name", pointer);
	if (json_is_string(id) && !*ref.name)
		return vbd_fault(faults, VBD_E_BAD_VALUE, pointer, "%s must not be empty", pointer);
	if (json_is_string(id) && vbd_utf8_length(ref.name) > 63)
		return vbd_fault(
			faults, VBD_E_TOO_LONG, pointer, "%s has more than 63 characters", pointer);
	if (field->type == VBD_FIELD_REF)
		memcpy((char *)target + field->offset, &ref, sizeof(ref));
	return VBD_OK;
}

static enum vbd_status decode_array(const struct vbd_field *field, const json_t *value,
	const char *pointer, void *target, struct vbd_faults *faults)
{
	size_t count = json_array_size(value);

	if (!json_is_array(value))
		return wrong_type(pointer, "an array", value, faults);
	if (count < field->min || count > field->max)
		return vbd_fault(faults, VBD_E_OUT_OF_RANGE, pointer,
			"%s must have from %" PRIu64 " to %" PRIu64 " items, not %zu", pointer,
			field->min, field->max, count);
	memcpy((char *)target + field->offset, &value, sizeof(value));
	return VBD_OK;
}

static enum vbd_status decode_open(const struct vbd_field *field, const json_t *value,
	const char *pointer, void *target, struct vbd_faults *faults)
{
	if (!json_is_object(value))
		return wrong_type(pointer, "an object", value, faults);
	memcpy((char *)target + field->offset, &value, sizeof(value));
	return VBD_OK;
}

static enum vbd_status decode_object(const json_t *json, const struct vbd_field *fields,
	size_t n_fields, const char *pointer, void *target, struct vbd_faults *faults);

static enum vbd_status decode_value(const struct vbd_field *field, const json_t *value,
	const char *pointer, void *target, struct vbd_faults *faults)
{
	switch (field->type) {
	case VBD_FIELD_STRING:
	case VBD_FIELD_TEXT:
		return decode_string(field, value, pointer, target, faults);
	case VBD_FIELD_UINT:
		return decode_uint(field, value, pointer, target, faults);
	case VBD_FIELD_BOOL:
		return decode_bool(field, value, pointer, target, faults);
	case VBD_FIELD_ENUM:
		return decode_enum(field, value, pointer, target, faults);
	case VBD_FIELD_ENUM_SET:
		return decode_enum_set(field, value, pointer, target, faults);
	case VBD_FIELD_HEX:
		return decode_hex(field, value, pointer, target, faults);
	case VBD_FIELD_REF:
	case VBD_FIELD_FOUND:
	case VBD_FIELD_DEVICE:
		return decode_ref(field, value, pointer, target, faults);
	case VBD_FIELD_OBJECT:
		return decode_object(value, field->fields, field->n_fields, pointer,
			(char *)target + field->offset, faults);
	case VBD_FIELD_ARRAY:
		return decode_array(field, value, pointer, target, faults);
	case VBD_FIELD_OPEN:
		return decode_open(field, value, pointer, target, faults);
	}
	return vbd_fault(faults, VBD_E_INTERNAL, pointer, "%s has no decoder", pointer);
}

/* --- objects --------------------------------------------------------------------------------- */

static const struct vbd_field *find_field(
	const struct vbd_field *fields, size_t n_fields, const char *name)
{
	for (size_t i = 0; i < n_fields; i++) {
		if (strcmp(fields[i].name, name) == 0)
			return &fields[i];
	}
	return NULL;
}

static void refuse_unknown(const struct vbd_field *fields, size_t n_fields, const char *name,
	const char *pointer, struct vbd_faults *faults)
{
	struct vbd_similar similar = {.word = name};

	for (size_t i = 0; i < n_fields; i++)
		vbd_similar_try(&similar, fields[i].name);
	(void)vbd_fault(faults, VBD_E_UNKNOWN_FIELD, pointer,
		"%s is not a member of this request%s%s%s", pointer,
		VBD_DID_YOU_MEAN(similar.like));
}

static void check_required(const json_t *json, const struct vbd_field *fields, size_t n_fields,
	const char *pointer, struct vbd_faults *faults)
{
	for (size_t i = 0; i < n_fields; i++) {
		char missing[POINTER_BYTES];

		if (!fields[i].required || json_object_get(json, fields[i].name))
			continue;
		(void)snprintf(missing, sizeof(missing), "%s", pointer);
		pointer_add(missing, fields[i].name);
		(void)vbd_fault(faults, VBD_E_MISSING_FIELD, missing, "%s is missing", missing);
	}
}

/* Decode all members even if some are wrong, so that the faults are complete. */
static enum vbd_status decode_object(const json_t *json, const struct vbd_field *fields,
	size_t n_fields, const char *pointer, void *target, struct vbd_faults *faults)
{
	const size_t before = faults->total;
	const char *name;
	json_t *value;

	if (!json_is_object(json))
		return wrong_type(pointer, "an object", json, faults);
	json_object_foreach((json_t *)json, name, value)
	{
		const struct vbd_field *field = find_field(fields, n_fields, name);
		char member[POINTER_BYTES];
		const bool seen = true;

		/* This fault is only counted, so look for no similar name. */
		if (!field && faults->total >= VBD_FAULTS_MAX) {
			faults->total++;
			continue;
		}
		(void)snprintf(member, sizeof(member), "%s", pointer);
		pointer_add(member, name);
		if (!field)
			refuse_unknown(fields, n_fields, name, member, faults);
		else if (json_is_null(value) && !field->required && !field->nullable)
			continue; /* null means that the client does not give the member */
		else if (decode_value(field, value, member, target, faults) == VBD_OK &&
			 field->has_seen)
			memcpy((char *)target + field->seen_offset, &seen, sizeof(seen));
	}
	check_required(json, fields, n_fields, pointer, faults);
	return faults->total == before ? VBD_OK : faults->first.status;
}

enum vbd_status vbd_decode_all(const json_t *json, const char *pointer,
	const struct vbd_field *fields, size_t n_fields, void *target, struct vbd_faults *faults,
	struct vbd_error *err)
{
	json_t *empty = json ? NULL : json_object();

	if (!json && !empty)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory to decode a body");
	vbd_faults_fini(faults);
	(void)decode_object(json ? json : empty, fields, n_fields, pointer, target, faults);
	json_decref(empty);
	if (!faults->total)
		return VBD_OK;
	if (err && err->status == VBD_OK)
		*err = faults->first;
	return faults->first.status;
}

enum vbd_status vbd_decode_at(const json_t *json, const struct vbd_field *fields, size_t n_fields,
	const char *pointer, void *target, struct vbd_error *err)
{
	struct vbd_faults faults = {0};
	enum vbd_status status =
		vbd_decode_all(json, pointer, fields, n_fields, target, &faults, err);

	vbd_faults_fini(&faults);
	return status;
}

bool vbd_given(const json_t *json, const char *name)
{
	const json_t *value = json_object_get(json, name);

	return value && !json_is_null(value);
}

const char *vbd_ref_text(const struct vbd_json_ref *ref, char buf[VBD_REF_TEXT_BYTES])
{
	if (ref->name && !ref->id)
		return ref->name;
	(void)snprintf(buf, VBD_REF_TEXT_BYTES, "%" PRIu64, ref->id);
	return buf;
}

void vbd_set_pointer(struct vbd_error *err, const char *pointer)
{
	if (!*err->pointer && !err->param)
		(void)snprintf(err->pointer, sizeof(err->pointer), "%s", pointer);
}

void vbd_copy_text(char *to, size_t to_bytes, const char *text)
{
	(void)snprintf(to, to_bytes, "%s", text ? text : "");
}
