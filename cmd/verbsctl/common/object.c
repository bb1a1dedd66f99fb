/* SPDX-License-Identifier: Apache-2.0 */
/* Whole objects of the server, without a word about each kind of them, and its errors. */
#include "cmd/verbsctl/common/args.h"
#include "cmd/verbsctl/common/json.h"
#include "cmd/verbsctl/common/view.h"

#include <ctype.h>

#define NAME_CHARS "abcdefghijklmnopqrstuvwxyz0123456789_"

/* "rq depth" of "rq_depth", behind @prefix; without the last @unit_len characters; safe for a
 * terminal. */
static char *member_label(const char *prefix, const char *name, size_t unit_len)
{
	char *label = vbd_ctl_text_safe(vbd_ctl_format(
		"%s%s%.*s", prefix, *prefix ? " " : "", (int)(strlen(name) - unit_len), name));

	for (char *c = label; *c; c++)
		*c = *c == '_' ? ' ' : *c;
	return label;
}

static bool is_list_of_inner(const json_t *value)
{
	return vbd_ctl_is_inner(json_array_get(value, 0));
}

/* Whether a text, or one of a list, is a sentence. */
static bool has_sentence(const json_t *value)
{
	const json_t *item;
	size_t i;

	json_array_foreach(value, i, item)
	{
		if (has_sentence(item))
			return true;
	}
	return json_is_string(value) && strchr(json_string_value(value), ' ');
}

/* Whether an object has no objects in it, and no sentences unless they may be there: then it is
 * told in one line, or in a row of a table. */
static bool is_short(json_t *object, bool sentences)
{
	const char *name;
	json_t *value;

	json_object_foreach(object, name, value)
	{
		if (vbd_ctl_is_inner(value) || is_list_of_inner(value) ||
			(!sentences && has_sentence(value)))
			return false;
	}
	return true;
}

/* Prints "messages 2, capacity 16"; nothing if all is 0, as of operations that were not used.
 * @cell: format for all members, taken from a unit in the object's name; NULL to choose by
 *        member */
static void put_joined(const char *label, json_t *object, vbd_ctl_cell_fn cell)
{
	const char *joined = "";
	bool happened = false;
	const char *name;
	json_t *value;

	json_object_foreach(object, name, value)
	{
		vbd_ctl_cell_fn own;
		size_t unit_len = vbd_ctl_cell_for(name, &own);

		if (!json_is_null(value))
			joined = vbd_ctl_format("%s%s%s %s", joined, *joined ? ", " : "",
				member_label("", name, unit_len), (cell ? cell : own)(value));
		happened = happened || !json_is_integer(value) || json_integer_value(value) != 0;
	}
	if (happened && *joined)
		vbd_ctl_label_put(label, joined);
}

/* Prints the members that have a value, and no objects in lists. A member that repeats one of the
 * object around it is left out. */
static void put_members(json_t *object, const char *prefix, const json_t *around)
{
	const char *name;
	json_t *value;

	json_object_foreach(object, name, value)
	{
		vbd_ctl_cell_fn cell;
		size_t unit_len = vbd_ctl_cell_for(name, &cell);
		char *label;

		if (json_is_null(value) || is_list_of_inner(value) ||
			json_equal(value, json_object_get(around, name)))
			continue;
		label = member_label(prefix, name, unit_len);
		if (vbd_ctl_is_inner(value) && is_short(value, false))
			put_joined(label, value, unit_len ? cell : NULL);
		else if (vbd_ctl_is_inner(value))
			put_members(value, label, object);
		else if (json_is_array(value) && has_sentence(value))
			vbd_ctl_list_put(label, value, "{}");
		else
			vbd_ctl_cell_put(label, value, cell);
	}
}

/* Prints short objects as a table, with a column "RQ-DEPTH" for "rq_depth". */
static void put_rows(const char *heading, const json_t *rows)
{
	const char *columns = "";
	const char *name;
	json_t *value;

	json_object_foreach(json_array_get(rows, 0), name, value)
	{
		vbd_ctl_cell_fn cell;
		size_t unit_len = vbd_ctl_cell_for(name, &cell);
		char *title;

		/* A column has a plain name, as all members of verbsd have. */
		if (!*name || name[strspn(name, NAME_CHARS)])
			continue;
		title = vbd_ctl_format("%.*s", (int)(strlen(name) - unit_len), name);
		for (char *c = title; *c; c++)
			*c = *c == '_' ? '-' : (char)toupper((unsigned char)*c);
		columns = vbd_ctl_format("%s%s=%s ", columns, title, name);
	}
	vbd_ctl_heading_put(heading);
	vbd_ctl_table_put(columns, rows, false);
}

/* Prints objects of a list as a table, or one after another if they have tables themselves. */
static void put_list(const char *label, json_t *list)
{
	json_t *item;
	size_t i;

	if (is_short(json_array_get(list, 0), true)) {
		put_rows(label, list);
		return;
	}
	json_array_foreach(list, i, item)
	{
		vbd_ctl_heading_put(vbd_ctl_format("%s %zu", label, i + 1));
		vbd_ctl_object_put(item, "");
	}
}

static void put_lists(json_t *object, const char *prefix)
{
	const char *name;
	json_t *value;

	json_object_foreach(object, name, value)
	{
		char *label = member_label(prefix, name, 0);

		if (is_list_of_inner(value))
			put_list(label, value);
		else if (vbd_ctl_is_inner(value))
			put_lists(value, label);
	}
}

void vbd_ctl_object_put(json_t *object, const char *except)
{
	json_t *shown = vbd_ctl_json_new();
	const char *name;
	json_t *value;

	json_object_foreach(object, name, value)
	{
		if (!vbd_ctl_is_word(except, name) && json_object_set(shown, name, value) < 0)
			vbd_ctl_must(NULL);
	}
	vbd_ctl_labels(VBD_CTL_LABELS_MEASURE);
	put_members(shown, "", NULL);
	vbd_ctl_labels(VBD_CTL_LABELS_FIT);
	put_members(shown, "", NULL);
	vbd_ctl_labels(VBD_CTL_LABELS_USUAL);
	put_lists(shown, "");
}

/* --- errors -------------------------------------------------------------------------------- */

char *vbd_ctl_problem_object(const char *path)
{
	static const char prefix[] = "/v1/";
	static const char es[] = "ches"; /* of "batches", whose singular ends with "ch" */
	const char *kind;
	const char *id;
	int singular_len;

	if (strncmp(path, prefix, strlen(prefix)) != 0)
		return vbd_ctl_format("%s", path);
	kind = path + strlen(prefix);
	id = strchr(kind, '/');
	if (!id || id == kind || id[-1] != 's')
		return vbd_ctl_format("%s", path);
	singular_len = (int)(id - kind) - 1;
	if (id - kind > (int)strlen(es) && strncmp(id - strlen(es), es, strlen(es)) == 0)
		singular_len--;
	return vbd_ctl_format("%.*s%s", singular_len, kind, id);
}

/* A fault of the request, by the option or operand that sets the member: "--size: must be 1 at
 * least", "--buffer is missing"; NULL if @fault does not say where it is. */
static char *fault_text(const struct vbd_ctl_args *args, const json_t *fault)
{
	const char *pointer = vbd_ctl_json_text(fault, "pointer");
	const char *name = pointer ? pointer : vbd_ctl_json_text(fault, "parameter");
	const char *detail = vbd_ctl_json_text(fault, "detail");
	const char *setter;

	if (!name || !detail)
		return name ? vbd_ctl_format("%s", name) : NULL;
	setter = vbd_ctl_args_setter(args, name);
	if (!setter)
		setter = name;
	if (strncmp(detail, name, strlen(name)) == 0)
		return vbd_ctl_format("%s%s", setter, detail + strlen(name));
	return vbd_ctl_format("%s: %s", setter, detail);
}

/* Prints the object, or else the command, and what happened. */
static void put_head(const struct vbd_ctl_args *args, const json_t *problem)
{
	const char *path = vbd_ctl_json_text(problem, "instance");
	const char *code = vbd_ctl_json_text(problem, "code");
	const char *title = vbd_ctl_json_text(problem, "title");
	const char *detail = vbd_ctl_json_text(problem, "detail");
	char *fault = fault_text(args, json_array_get(vbd_ctl_json_at(problem, "errors"), 0));
	const char *where = path ? vbd_ctl_problem_object(path) : args->called;
	const char *what = fault ? fault : detail ? detail : title;

	vbd_ctl_note("%s%s%s%s%s", where, *where ? ": " : "", code ? code : "refused",
		what ? ": " : "", what ? what : "");
}

json_t *vbd_ctl_problem_of(const char *collection, const json_t *object)
{
	/* A later row sets a member that no earlier row has set. */
	static const struct {
		const char *name, *path;
	} rows[] = {{"code", "end_code"}, {"code", "error.code"}, {"code", "state"},
		{"detail", "error.detail"}, {"hint", "error.hint"}, {"explain", "error.explain"}};
	json_t *first = vbd_ctl_json_at(object, "error.first");
	json_t *problem = vbd_ctl_json_new();

	vbd_ctl_json_set(problem, "instance", json_string(vbd_ctl_path_of(collection, object)));
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		json_t *value = vbd_ctl_json_at(object, rows[i].path);

		if (value && !json_object_get(problem, rows[i].name))
			vbd_ctl_json_set(problem, rows[i].name, json_incref(value));
	}
	if (json_is_object(first) && json_object_update_missing(problem, first) < 0)
		vbd_ctl_must(NULL);
	return problem;
}

enum vbd_ctl_exit vbd_ctl_problem_exit(const json_t *problem)
{
	if (vbd_ctl_json_is(problem, "code", "not_found"))
		return VBD_CTL_NOT_FOUND;
	if (vbd_ctl_json_is(problem, "code", "timed_out"))
		return VBD_CTL_TIMED_OUT;
	return VBD_CTL_FAILED;
}

/* Prints the faults of the request behind the first, which stands in the first line. */
static void put_faults(const struct vbd_ctl_args *args, const json_t *problem)
{
	const json_t *errors = vbd_ctl_json_at(problem, "errors");
	size_t shown = json_array_size(errors);
	uint64_t total = vbd_ctl_json_uint(problem, "errors_total");

	for (size_t i = 1; i < shown; i++) {
		char *text = fault_text(args, json_array_get(errors, i));

		if (text)
			vbd_ctl_label_put("also", text);
	}
	if (total > shown && shown)
		vbd_ctl_label_put("also",
			vbd_ctl_format("%llu more faults", (unsigned long long)(total - shown)));
}

/* Prints the cause, what to do about that rather than about the error, and the command that tells
 * more. */
static void put_cause(const json_t *problem)
{
	const char *cause = vbd_ctl_json_text(problem, "cause.detail");
	const char *hint = vbd_ctl_json_text(problem, cause ? "cause.hint" : "hint");
	const char *explain = vbd_ctl_json_text(problem, "explain");
	unsigned long long id;

	if (cause)
		vbd_ctl_label_put("cause", cause);
	if (hint && *hint)
		vbd_ctl_label_put("hint", hint);
	if (explain && sscanf(explain, "/v1/connections/%llu/explain", &id) == 1)
		vbd_ctl_label_put("explain", vbd_ctl_format("verbsctl explain %llu", id));
}

void vbd_ctl_problem_put(const struct vbd_ctl_args *args, json_t *problem)
{
	put_head(args, problem);
	vbd_ctl_view_to(stderr);
	put_faults(args, problem);
	vbd_ctl_object_put(problem,
		"type title status code detail instance errors errors_total hint at source cause "
		"explain");
	put_cause(problem);
	vbd_ctl_view_to(NULL);
}
