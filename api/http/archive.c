/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/archive.h"

#include "api/json/writer.h"
#include "base/clock.h"
#include "base/error.h"

#include <string.h>
#include <time.h>

#define EXPLANATION "explanation" /* of vbd_put_past_explanation() */
#define DESIRED	    "desired"	  /* of vbd_put_desired() */

bool vbd_archived_open(struct vbd_archived *ret_archived, const struct vbd_record *record)
{
	json_t *body = json_loadb(record->body, record->body_bytes, 0, NULL);

	if (!json_is_object(body)) {
		json_decref(body);
		return false;
	}
	*ret_archived = (struct vbd_archived){.record = record,
		.body = body,
		.explanation = json_incref(json_object_get(body, EXPLANATION))};
	(void)json_object_del(body, EXPLANATION);
	/* A later run may keep another object in its place, or none any more. */
	if (json_object_get(body, DESIRED))
		(void)json_object_set_new(body, DESIRED, json_null());
	return true;
}

void vbd_archived_close(struct vbd_archived *archived)
{
	json_decref(archived->explanation);
	json_decref(archived->body);
	archived->explanation = NULL;
	archived->body = NULL;
}

/* --- writing --------------------------------------------------------------------------------- */

static void put_value(struct vbd_encoder *out, const char *name, json_t *value);

static void put_object(struct vbd_encoder *out, const char *name, json_t *object)
{
	const char *member;
	json_t *value;

	vbd_begin_object(out, name);
	json_object_foreach(object, member, value) put_value(out, member, value);
	vbd_end(out);
}

static void put_array(struct vbd_encoder *out, const char *name, const json_t *array)
{
	vbd_begin_array(out, name);
	for (size_t i = 0; i < json_array_size(array); i++)
		put_value(out, NULL, json_array_get(array, i));
	vbd_end(out);
}

/* NOLINTNEXTLINE(misc-no-recursion): jansson bounds the depth, and so does the encoder */
static void put_value(struct vbd_encoder *out, const char *name, json_t *value)
{
	json_int_t number = json_integer_value(value);

	switch (json_typeof(value)) {
	case JSON_OBJECT:
		put_object(out, name, value);
		break;
	case JSON_ARRAY:
		put_array(out, name, value);
		break;
	case JSON_STRING:
		vbd_put_utf8(out, name, json_string_value(value), json_string_length(value));
		break;
	case JSON_INTEGER:
		if (number < 0)
			vbd_put_i64(out, name, number);
		else
			vbd_put_u64(out, name, (uint64_t)number);
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		vbd_put_bool(out, name, json_is_true(value));
		break;
	case JSON_REAL: /* verbsd writes none */
	case JSON_NULL:
		vbd_put_null(out, name);
		break;
	}
}

/* The body was written before the end, and nothing later than that is known. */
static bool is_cut(const struct vbd_archived *archived)
{
	return strcmp(vbd_archived_text(archived, "state"), archived->record->state) != 0;
}

static void put_death(struct vbd_encoder *out, const char *name, const struct vbd_record *record)
{
	vbd_begin_object(out, name);
	vbd_put_text(out, "code", record->end_code);
	vbd_put_text(out, "detail", vbd_status_text(VBD_E_DAEMON_DIED));
	vbd_put_text(out, "hint", vbd_status_hint(VBD_E_DAEMON_DIED));
	vbd_put_null(out, "first");
	vbd_end(out);
}

static void put_wall_time(struct vbd_encoder *out, const char *name, uint64_t wall_ns)
{
	char text[VBD_TIME_TEXT_BYTES];

	vbd_put_text(out, name, vbd_clock_format_wall(wall_ns, text));
}

static void put_cut(
	struct vbd_encoder *out, const char *name, json_t *value, const struct vbd_record *record)
{
	if (strcmp(name, "state") == 0)
		vbd_put_text(out, name, record->state);
	else if (strcmp(name, "end_code") == 0)
		vbd_put_text(out, name, record->end_code);
	else if (strcmp(name, "error") == 0)
		put_death(out, name, record);
	else if (strcmp(name, "ended_at") == 0)
		put_wall_time(out, name, record->ended_wall_ns);
	else if (strcmp(name, "waits_for") == 0)
		vbd_put_null(out, name);
	else
		put_value(out, name, value);
}

void vbd_archived_put(struct vbd_encoder *out, const struct vbd_archived *archived)
{
	bool cut = is_cut(archived);
	const char *name;
	json_t *value;

	json_object_foreach(archived->body, name, value)
	{
		if (cut)
			put_cut(out, name, value, archived->record);
		else
			put_value(out, name, value);
	}
	vbd_put_text(out, "server_id", archived->record->server_id);
}

void vbd_archived_put_member(
	struct vbd_encoder *out, const struct vbd_archived *archived, const char *name)
{
	json_t *value = json_object_get(archived->body, name);

	if (!value)
		vbd_put_null(out, name);
	else if (is_cut(archived))
		put_cut(out, name, value, archived->record);
	else
		put_value(out, name, value);
}

const char *vbd_archived_error(const struct vbd_archived *archived, const char *name)
{
	const json_t *error = json_object_get(archived->body, "error");

	if (!is_cut(archived))
		return json_string_value(json_object_get(error, name));
	return strcmp(name, "hint") == 0 ? vbd_status_hint(VBD_E_DAEMON_DIED)
					 : vbd_status_text(VBD_E_DAEMON_DIED);
}

void vbd_archived_put_explanation(struct vbd_encoder *out, const struct vbd_archived *archived)
{
	const char *name;
	json_t *value;

	json_object_foreach(archived->explanation, name, value) put_value(out, name, value);
	vbd_put_text(out, "server_id", archived->record->server_id);
}

/* --- reading --------------------------------------------------------------------------------- */

const char *vbd_archived_text(const struct vbd_archived *archived, const char *name)
{
	const json_t *value = json_object_get(archived->body, name);
	const char *text =
		json_string_value(json_is_object(value) ? json_object_get(value, "name") : value);

	return text ? text : "";
}

static uint64_t id_of(const json_t *reference)
{
	return (uint64_t)json_integer_value(json_object_get(reference, "id"));
}

uint64_t vbd_archived_number(const struct vbd_archived *archived, const char *name)
{
	const json_t *value = json_object_get(archived->body, name);

	return json_is_object(value) ? id_of(value) : (uint64_t)json_integer_value(value);
}

static uint64_t fraction_ns(const char *digits)
{
	uint64_t ns = 0, unit_ns = VBD_NS_PER_S / 10;

	for (; *digits >= '0' && *digits <= '9' && unit_ns; digits++, unit_ns /= 10)
		ns += (uint64_t)(*digits - '0') * unit_ns;
	return ns;
}

uint64_t vbd_archived_time_ns(const struct vbd_archived *archived, const char *name)
{
	struct tm tm = {0};
	const char *rest = strptime(vbd_archived_text(archived, name), "%Y-%m-%dT%H:%M:%S", &tm);

	if (!rest)
		return 0;
	return (uint64_t)timegm(&tm) * VBD_NS_PER_S + (*rest == '.' ? fraction_ns(rest + 1) : 0);
}

static bool refers(json_t *value, const char *name, uint64_t id);

static bool member_refers(json_t *object, const char *name, uint64_t id)
{
	const char *member;
	json_t *value;

	json_object_foreach(object, member, value)
	{
		if (strcmp(member, name) == 0 && json_is_object(value) && id_of(value) == id)
			return true;
		if (refers(value, name, id))
			return true;
	}
	return false;
}

/* NOLINTNEXTLINE(misc-no-recursion): jansson bounds the depth */
static bool refers(json_t *value, const char *name, uint64_t id)
{
	if (json_is_object(value))
		return member_refers(value, name, id);
	for (size_t i = 0; i < json_array_size(value); i++) {
		if (refers(json_array_get(value, i), name, id))
			return true;
	}
	return false;
}

bool vbd_archived_refers(const struct vbd_archived *archived, const char *name, uint64_t id)
{
	return refers(archived->body, name, id);
}
