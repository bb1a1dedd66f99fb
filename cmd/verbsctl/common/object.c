/* SPDX-License-Identifier: Apache-2.0 */
/* Whole objects of the server, without a word about each kind of them. */
#include "cmd/verbsctl/common/args.h"
#include "cmd/verbsctl/common/json.h"
#include "cmd/verbsctl/common/view.h"

#include <ctype.h>

#define ROW_COLUMNS_MAX 24 /* the others are left out */

static bool ends_with(const char *text, const char *tail)
{
	size_t len = strlen(text);
	size_t tail_len = strlen(tail);

	return len >= tail_len && strcmp(text + len - tail_len, tail) == 0;
}

/* "{addr, port}" */
static bool is_endpoint(const json_t *value)
{
	return json_object_size(value) == 2 && json_object_get(value, "addr") &&
	       json_object_get(value, "port");
}

/* Chooses the format of a value. Returns the length of the suffix of @name that is its unit, which
 * the formatted value shows. */
static size_t cell_for(const char *name, const json_t *value, vbd_ctl_cell_fn *ret_cell)
{
	static const struct {
		const char *tail;
		vbd_ctl_cell_fn cell;
	} units[] = {
		{"_at", vbd_ctl_cell_time},
		{"_bytes", vbd_ctl_cell_bytes},
		{"_ns", vbd_ctl_cell_ns},
		{"_ms", vbd_ctl_cell_whole_ms},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(units); i++) {
		if (ends_with(name, units[i].tail)) {
			*ret_cell = units[i].cell;
			return strlen(units[i].tail);
		}
	}
	*ret_cell = json_is_array(value)     ? vbd_ctl_cell_list
		    : is_endpoint(value)     ? vbd_ctl_cell_endpoint
		    : ends_with(name, "qpn") ? vbd_ctl_cell_hex
					     : vbd_ctl_cell_text;
	return 0;
}

/* "rq depth" of "rq_depth", behind @prefix; without the last @unit_len characters. The caller frees
 * the text. */
static char *label_of(const char *prefix, const char *name, size_t unit_len)
{
	char *label = vbd_ctl_format(
		"%s%s%.*s", prefix, *prefix ? " " : "", (int)(strlen(name) - unit_len), name);

	for (char *c = label; *c; c++)
		*c = *c == '_' ? ' ' : *c;
	return label;
}

static bool is_inner(const json_t *value)
{
	return json_is_object(value) && !vbd_ctl_is_reference(value) && !is_endpoint(value);
}

static bool is_list_of_objects(const json_t *value)
{
	return is_inner(json_array_get(value, 0));
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

/* Whether an object is told in one line: it has neither objects nor sentences in it. */
static bool is_short(json_t *object)
{
	const char *name;
	json_t *value;

	json_object_foreach(object, name, value)
	{
		if (is_inner(value) || is_list_of_objects(value) || has_sentence(value))
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
		size_t unit_len = cell_for(name, value, &own);
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
		size_t unit_len = cell_for(name, value, &cell);
		char *label;

		if (json_is_null(value) || is_list_of_objects(value) ||
			json_equal(value, json_object_get(around, name)))
			continue;
		label = label_of(prefix, name, unit_len);
		if (is_inner(value) && is_short(value))
			put_joined(label, value, unit_len ? cell : NULL);
		else if (is_inner(value))
			put_members(value, label, object);
		else if (json_is_array(value) && has_sentence(value))
			vbd_ctl_list_put(label, value, "{}");
		else
			vbd_ctl_cell_put(label, value, cell);
		free(label);
	}
}

/* "RQ-DEPTH" of "rq_depth". The caller frees the text. */
static char *title_of(const char *name, size_t unit_len)
{
	char *title = label_of("", name, unit_len);

	for (char *c = title; *c; c++)
		*c = (char)(*c == ' ' ? '-' : toupper((unsigned char)*c));
	return title;
}

/* Prints objects alike as a table with a column for each member that is no object. */
static void put_rows(const char *heading, json_t *rows)
{
	struct vbd_ctl_column columns[ROW_COLUMNS_MAX];
	size_t count = 0;
	const char *name;
	json_t *value;

	json_object_foreach(json_array_get(rows, 0), name, value)
	{
		struct vbd_ctl_column *column = &columns[count];
		size_t unit_len;

		if (is_inner(value) || count == ROW_COLUMNS_MAX)
			continue;
		*column = (struct vbd_ctl_column){.path = name};
		unit_len = cell_for(name, value, &column->cell);
		column->flags = json_is_number(value) ? VBD_CTL_COLUMN_RIGHT : 0;
		column->title = title_of(name, unit_len);
		count++;
	}
	if (count) {
		vbd_ctl_heading_put(heading);
		vbd_ctl_table_put(columns, count, rows, false);
	}
	for (size_t i = 0; i < count; i++)
		free((char *)columns[i].title);
}

/* Prints objects of a list as a table, or one after another if they have tables themselves. */
static void put_list(const char *label, json_t *list)
{
	json_t *item;
	size_t i;

	if (is_short(json_array_get(list, 0))) {
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
		else if (is_inner(value))
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
	put_members(shown, "", NULL);
	put_lists(shown, "");
	json_decref(shown);
}
