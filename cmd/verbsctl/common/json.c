/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/common/json.h"

#include "base/attr.h"
#include "base/text.h"
#include "cmd/verbsctl/common/text.h"

json_t *vbd_ctl_json_at(const json_t *object, const char *path)
{
	json_t *value = (json_t *)object;

	for (size_t len; *path; path += len + (path[len] == '.')) {
		len = strcspn(path, ".");
		value = json_object_getn(value, path, len);
	}
	return json_is_null(value) ? NULL : value;
}

const char *vbd_ctl_json_text(const json_t *object, const char *path)
{
	return json_string_value(vbd_ctl_json_at(object, path));
}

bool vbd_ctl_json_has_uint(const json_t *object, const char *path)
{
	const json_t *value = vbd_ctl_json_at(object, path);

	return json_is_integer(value) && json_integer_value(value) >= 0;
}

uint64_t vbd_ctl_json_uint(const json_t *object, const char *path)
{
	if (!vbd_ctl_json_has_uint(object, path))
		return 0;
	return (uint64_t)json_integer_value(vbd_ctl_json_at(object, path));
}

static void release_json(void *json)
{
	json_decref(json);
}

json_t *vbd_ctl_json_keep(json_t *json)
{
	return json ? vbd_ctl_keep(json, release_json) : NULL;
}

json_t *vbd_ctl_json_new(void)
{
	return vbd_ctl_json_keep(vbd_ctl_must(json_object()));
}

char *vbd_ctl_path_of(const char *collection, const json_t *object)
{
	return vbd_ctl_format(
		"%s/%llu", collection, (unsigned long long)vbd_ctl_json_uint(object, "id"));
}

bool vbd_ctl_json_is(const json_t *object, const char *path, const char *text)
{
	const char *value = vbd_ctl_json_text(object, path);

	return value && strcmp(value, text) == 0;
}

/* The id of "KIND/ID", as verbsd and verbsctl print an object, if @where ends with the kind, or
 * with its plural; else @ref. */
static const char *id_in_ref(const char *where, const char *ref)
{
	const char *kind = where + strlen(where);
	size_t len = strcspn(ref, "/");
	uint64_t id;

	while (kind > where && !strchr("./", kind[-1]))
		kind--;
	if (!ref[len] || strncmp(kind, ref, len) != 0 || !vbd_parse_uint(ref + len + 1, &id))
		return ref;
	kind += len;
	return !*kind || strcmp(kind, "s") == 0 || strcmp(kind, "es") == 0 ? ref + len + 1 : ref;
}

char *vbd_ctl_path(const char *collection, const char *ref, const char *tail)
{
	return vbd_ctl_format(
		"%s/%s%s", collection, vbd_ctl_text_percent(id_in_ref(collection, ref)), tail);
}

json_t *vbd_ctl_json_ref(const char *member, const char *text)
{
	uint64_t id;

	text = id_in_ref(member, text);
	return vbd_parse_uint(text, &id) ? json_integer((json_int_t)id) : json_string(text);
}

void vbd_ctl_json_set(json_t *object, const char *path, json_t *value)
{
	for (const char *dot; (dot = strchr(path, '.')); path = dot + 1) {
		size_t len = (size_t)(dot - path);
		json_t *inner = json_object_getn(object, path, len);

		if (!inner) {
			inner = vbd_ctl_must(json_object());
			if (json_object_setn_new(object, path, len, inner) < 0)
				vbd_ctl_must(NULL);
		}
		object = inner;
	}
	if (json_object_set_new(object, path, value) < 0)
		vbd_ctl_must(NULL);
}

static void put_json(FILE *out, const json_t *value, size_t flags)
{
	char *text = vbd_ctl_keep(json_dumps(value, flags | JSON_ENCODE_ANY), free);

	fprintf(out, "%s\n", vbd_ctl_text_safe_json(text));
}

void vbd_ctl_json_put(FILE *out, const json_t *value)
{
	put_json(out, value, JSON_INDENT(2));
}

void vbd_ctl_json_put_line(FILE *out, const json_t *value)
{
	put_json(out, value, JSON_COMPACT);
}
