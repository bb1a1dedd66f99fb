/* SPDX-License-Identifier: Apache-2.0 */
#include "api/json/parse.h"

#include <stdarg.h>

static enum vbd_status status_of_json_error(enum json_error_code code)
{
	switch ((unsigned int)code) {
	case json_error_invalid_utf8:
		return VBD_E_BAD_UTF8;
	case json_error_numeric_overflow:
		return VBD_E_OUT_OF_RANGE;
	case json_error_out_of_memory:
		return VBD_E_NO_MEMORY;
	default:
		return VBD_E_MALFORMED_JSON;
	}
}

/* The largest number up to which a double holds every integer. */
#define DOUBLE_EXACT_MAX 9007199254740992.0

/* The integer that a fraction is: JSON Schema takes 5000.0 and 5e3 for integers (JSON Schema Core,
 * 4.2.2). NULL if @value is none, if a double may have rounded it, or without memory, when the
 * value is refused as the fraction that it looks like. */
static json_t *whole_number(const json_t *value)
{
	double real = json_real_value(value);

	if (!json_is_real(value) || real > DOUBLE_EXACT_MAX || real < -DOUBLE_EXACT_MAX ||
		real != (double)(json_int_t)real)
		return NULL;
	return json_integer((json_int_t)real);
}

static void make_integers(json_t *json)
{
	void *at = json_object_iter(json);

	for (; at; at = json_object_iter_next(json, at)) {
		json_t *integer = whole_number(json_object_iter_value(at));

		if (integer)
			(void)json_object_iter_set_new(json, at, integer);
		make_integers(json_object_iter_value(at));
	}
	for (size_t i = 0; i < json_array_size(json); i++) {
		json_t *integer = whole_number(json_array_get(json, i));

		if (integer)
			(void)json_array_set_new(json, i, integer);
		make_integers(json_array_get(json, i));
	}
}

enum vbd_status vbd_json_parse(
	const char *bytes, size_t len_bytes, json_t **ret_json, struct vbd_error *err)
{
	json_error_t problem;
	const char *text = problem.text;
	/* JSON_DECODE_ANY: a lone scalar shall be a wrong type, not malformed JSON. */
	json_t *json =
		json_loadb(bytes, len_bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &problem);

	/* jansson has a text for each fault of a document, and none for a lack of memory. */
	if (!json && !problem.text[0])
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the document");
	if (!json && json_error_code(&problem) == json_error_null_character)
		text = "no string may have \\u0000"; /* jansson names a flag of its own */
	if (!json)
		return vbd_error_set(err, status_of_json_error(json_error_code(&problem)),
			"line %d, column %d: %s", problem.line, problem.column, text);
	make_integers(json);
	*ret_json = json;
	return VBD_OK;
}

/* --- faults ---------------------------------------------------------------------------------- */

static void keep_fault(struct vbd_faults *faults, const struct vbd_error *fault)
{
	struct vbd_error *items;

	if (faults->count == VBD_FAULTS_MAX)
		return;
	items = realloc(faults->items, (faults->count + 1) * sizeof(*items));
	if (!items)
		return;
	items[faults->count++] = *fault;
	faults->items = items;
}

enum vbd_status vbd_fault(struct vbd_faults *faults, enum vbd_status status, const char *pointer,
	const char *fmt, ...)
{
	struct vbd_error fault = {0};
	char text[sizeof(fault.text)];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	status = vbd_error_input(&fault, status, pointer, "%s", text);
	if (faults->total++ == 0)
		faults->first = fault;
	keep_fault(faults, &fault);
	return status;
}

void vbd_faults_fini(struct vbd_faults *faults)
{
	free(faults->items);
	*faults = (struct vbd_faults){0};
}
