/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/archive.h"

#include "api/json/writer.h"
#include "base/clock.h"

#include <time.h>

#define EXPLANATION "explanation" /* of vbd_put_past_explanation() */
#define DESIRED	    "desired"	  /* of vbd_put_desired() */
#define SERVER_ID   "server_id"

/* Put the end into a body that was written before it: the run was killed with the object open. */
static bool put_killed_end(json_t *body, const struct vbd_record *record)
{
	char ended_at[VBD_TIME_TEXT_BYTES];
	json_t *end = json_pack("{s:s, s:s, s:{s:s, s:s, s:s, s:n}, s:s, s:n}", "state",
		record->state, "end_code", record->end_code, "error", "code", record->end_code,
		"detail", vbd_status_text(VBD_E_DAEMON_DIED), "hint",
		vbd_status_hint(VBD_E_DAEMON_DIED), "first", "ended_at",
		vbd_clock_format_wall(record->ended_wall_ns, ended_at), "waits_for");
	bool done = json_object_update_existing(body, end) == 0;

	json_decref(end);
	return done;
}

static bool put_end_and_run(const struct vbd_archived *archived)
{
	const struct vbd_record *record = archived->record;
	json_t *server_id = json_string(record->server_id);
	bool was_open = strcmp(vbd_archived_text(archived, "state"), record->state) != 0;
	bool done = server_id && (!was_open || put_killed_end(archived->body, record)) &&
		    json_object_set(archived->body, SERVER_ID, server_id) == 0 &&
		    (!archived->explanation ||
			    json_object_set(archived->explanation, SERVER_ID, server_id) == 0);

	json_decref(server_id);
	return done;
}

bool vbd_archived_open(struct vbd_archived *ret_archived, const struct vbd_record *record)
{
	json_t *body = json_loads(record->body, 0, NULL);

	*ret_archived = (struct vbd_archived){.record = record,
		.body = body,
		.explanation = json_incref(json_object_get(body, EXPLANATION))};
	(void)json_object_del(body, EXPLANATION);
	/* A later run may keep another object in its place, or none any more. */
	if (json_object_get(body, DESIRED))
		(void)json_object_set_new(body, DESIRED, json_null());
	if (json_is_object(body) && put_end_and_run(ret_archived))
		return true;
	vbd_archived_close(ret_archived);
	return false;
}

void vbd_archived_close(struct vbd_archived *archived)
{
	json_decref(archived->explanation);
	json_decref(archived->body);
	archived->explanation = NULL;
	archived->body = NULL;
}

/* --- writing --------------------------------------------------------------------------------- */

void vbd_put_json_members(struct vbd_encoder *out, json_t *object)
{
	const char *name;
	json_t *value;

	json_object_foreach(object, name, value) vbd_put_json(out, name, value);
}

/* NOLINTNEXTLINE(misc-no-recursion): jansson bounds the depth, and so does the encoder */
void vbd_put_json(struct vbd_encoder *out, const char *name, json_t *value)
{
	json_int_t number = json_integer_value(value);

	switch (value ? json_typeof(value) : JSON_NULL) {
	case JSON_OBJECT:
		vbd_begin_object(out, name);
		vbd_put_json_members(out, value);
		vbd_end(out);
		break;
	case JSON_ARRAY:
		vbd_begin_array(out, name);
		for (size_t i = 0; i < json_array_size(value); i++)
			vbd_put_json(out, NULL, json_array_get(value, i));
		vbd_end(out);
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

/* --- reading --------------------------------------------------------------------------------- */

const char *vbd_archived_text(const struct vbd_archived *archived, const char *name)
{
	const json_t *value = json_object_get(archived->body, name);
	const char *text =
		json_string_value(json_is_object(value) ? json_object_get(value, "name") : value);

	return text ? text : "";
}

static uint64_t reference_id(const json_t *reference)
{
	return (uint64_t)json_integer_value(json_object_get(reference, "id"));
}

uint64_t vbd_archived_number(const struct vbd_archived *archived, const char *name)
{
	const json_t *value = json_object_get(archived->body, name);

	return json_is_object(value) ? reference_id(value) : (uint64_t)json_integer_value(value);
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

static bool value_refers_to(json_t *value, const char *name, uint64_t id);

static bool object_refers_to(json_t *object, const char *name, uint64_t id)
{
	const char *member;
	json_t *value;

	json_object_foreach(object, member, value)
	{
		if (strcmp(member, name) == 0 && json_is_object(value) && reference_id(value) == id)
			return true;
		if (value_refers_to(value, name, id))
			return true;
	}
	return false;
}

/* NOLINTNEXTLINE(misc-no-recursion): jansson bounds the depth */
static bool value_refers_to(json_t *value, const char *name, uint64_t id)
{
	if (json_is_object(value))
		return object_refers_to(value, name, id);
	for (size_t i = 0; i < json_array_size(value); i++) {
		if (value_refers_to(json_array_get(value, i), name, id))
			return true;
	}
	return false;
}

bool vbd_archived_refers(const struct vbd_archived *archived, const char *name, uint64_t id)
{
	return value_refers_to(archived->body, name, id);
}
