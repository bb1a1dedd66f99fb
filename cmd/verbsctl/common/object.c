/* SPDX-License-Identifier: Apache-2.0 */
/* Whole objects of the server, without a word about each kind of them. */
#include "cmd/verbsctl/common/args.h"
#include "cmd/verbsctl/common/json.h"
#include "cmd/verbsctl/common/view.h"

#include <ctype.h>

#define NAME_CHARS "abcdefghijklmnopqrstuvwxyz0123456789_"

/* "rq depth" of "rq_depth", behind @prefix; without the last @unit_len characters; safe for a
 * terminal. The caller frees the text. */
static char *label_of(const char *prefix, const char *name, size_t unit_len)
{
	char *label = vbd_ctl_format(
		"%s%s%.*s", prefix, *prefix ? " " : "", (int)(strlen(name) - unit_len), name);
	char *safe = vbd_ctl_text_safe(label, strlen(label));

	for (char *c = safe; *c; c++)
		*c = *c == '_' ? ' ' : *c;
	free(label);
	return safe;
}

static bool is_list_of_objects(const json_t *value)
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
		if (vbd_ctl_is_inner(value) || is_list_of_objects(value) ||
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
	char *joined = NULL;
	size_t joined_len = 0;
	FILE *out = vbd_ctl_must(open_memstream(&joined, &joined_len));
	bool happened = false;
	const char *name;
	json_t *value;

	json_object_foreach(object, name, value)
	{
		vbd_ctl_cell_fn own;
		size_t unit_len = vbd_ctl_cell_for(name, &own);
		char *member = label_of("", name, unit_len);
		char *text = (cell ? cell : own)(value);

		if (!json_is_null(value))
			fprintf(out, "%s%s %s", ftell(out) ? ", " : "", member, text);
		happened = happened || !json_is_integer(value) || json_integer_value(value) != 0;
		free(text);
		free(member);
	}
	(void)fclose(out);
	if (happened && *(const char *)vbd_ctl_must(joined))
		vbd_ctl_label_put(label, joined);
	free(joined);
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

		if (json_is_null(value) || is_list_of_objects(value) ||
			json_equal(value, json_object_get(around, name)))
			continue;
		label = label_of(prefix, name, unit_len);
		if (vbd_ctl_is_inner(value) && is_short(value, false))
			put_joined(label, value, unit_len ? cell : NULL);
		else if (vbd_ctl_is_inner(value))
			put_members(value, label, object);
		else if (json_is_array(value) && has_sentence(value))
			vbd_ctl_list_put(label, value, "{}");
		else
			vbd_ctl_cell_put(label, value, cell);
		free(label);
	}
}

/* Prints short objects as a table, with a column "RQ-DEPTH" for "rq_depth". */
static void put_rows(const char *heading, const json_t *rows)
{
	char *columns = NULL;
	size_t columns_len = 0;
	FILE *out = vbd_ctl_must(open_memstream(&columns, &columns_len));
	const char *name;
	json_t *value;

	json_object_foreach(json_array_get(rows, 0), name, value)
	{
		vbd_ctl_cell_fn cell;
		size_t unit_len = vbd_ctl_cell_for(name, &cell);

		/* A column has a plain name, as all members of verbsd have. */
		if (!*name || name[strspn(name, NAME_CHARS)])
			continue;
		for (const char *c = name; c[unit_len]; c++)
			fputc(*c == '_' ? '-' : toupper((unsigned char)*c), out);
		fprintf(out, "=%s ", name);
	}
	(void)fclose(out);
	vbd_ctl_heading_put(heading);
	vbd_ctl_table_put(vbd_ctl_must(columns), rows, false);
	free(columns);
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
		char *heading = vbd_ctl_format("%s %zu", label, i + 1);

		vbd_ctl_heading_put(heading);
		vbd_ctl_object_put(item, "");
		free(heading);
	}
}

static void put_lists(json_t *object, const char *prefix)
{
	const char *name;
	json_t *value;

	json_object_foreach(object, name, value)
	{
		char *label = label_of(prefix, name, 0);

		if (is_list_of_objects(value))
			put_list(label, value);
		else if (vbd_ctl_is_inner(value))
			put_lists(value, label);
		free(label);
	}
}

void vbd_ctl_object_put(json_t *object, const char *except)
{
	json_t *shown = vbd_ctl_must(json_object());
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
	json_decref(shown);
}
