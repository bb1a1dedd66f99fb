/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/common/view.h"

#include "cmd/verbsctl/common/text.h"
#include "cmd/verbsctl/common/json.h"

#include "base/attr.h"

#include <libsmartcols.h>

#define LABEL_COLUMNS	13
#define LINE_COLUMNS	100 /* of a long text */
#define LINE_COLUMNS	100
#define ROW_COLUMNS_MAX 24

/* Output file; NULL for standard output, which is not a constant expression. */
static FILE *target;

void vbd_ctl_view_to(FILE *out)
{
	target = out;
}

static FILE *view_out(void)
{
	return target ? target : stdout;
}

static char *dash(void)
{
	return vbd_ctl_format("-");
}

bool vbd_ctl_is_reference(const json_t *value)
{
	return json_object_size(value) == 2 && json_object_get(value, "id") &&
	       json_object_get(value, "name");
}

static const json_t *reference_text(const json_t *reference)
{
	const json_t *name = vbd_ctl_json_at(reference, "name");

	return name ? name : vbd_ctl_json_at(reference, "id");
}

char *vbd_ctl_cell_text(const json_t *value)
{
	char *text;
	char *safe;

	if (json_is_string(value))
		return vbd_ctl_text_safe(json_string_value(value), json_string_length(value));
	if (!value || json_is_null(value))
		return dash();
	if (vbd_ctl_is_reference(value))
		return vbd_ctl_cell_text(reference_text(value));
	text = vbd_ctl_must(json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY));
	safe = vbd_ctl_text_safe(text, strlen(text));
	free(text);
	return safe;
}

char *vbd_ctl_cell_count(const json_t *value)
{
	return vbd_ctl_format("%llu", (unsigned long long)vbd_ctl_json_uint(value, ""));
}

char *vbd_ctl_cell_hex(const json_t *value)
{
	if (!json_is_integer(value))
		return dash();
	return vbd_ctl_format("0x%llx", (unsigned long long)json_integer_value(value));
}

char *vbd_ctl_cell_bytes(const json_t *value)
{
	if (!vbd_ctl_json_has_uint(value, ""))
		return dash();
	return vbd_ctl_text_of_bytes(vbd_ctl_json_uint(value, ""));
}

char *vbd_ctl_cell_ns(const json_t *value)
{
	if (!vbd_ctl_json_has_uint(value, ""))
		return dash();
	return vbd_ctl_text_of_ns(vbd_ctl_json_uint(value, ""));
}

char *vbd_ctl_cell_ms(const json_t *value)
{
	if (!vbd_ctl_json_has_uint(value, ""))
		return dash();
	return vbd_ctl_format("%.3f", (double)vbd_ctl_json_uint(value, "") / 1e6);
}

char *vbd_ctl_cell_whole_ms(const json_t *value)
{
	if (!vbd_ctl_json_has_uint(value, ""))
		return dash();
	return vbd_ctl_format("%llu ms", (unsigned long long)vbd_ctl_json_uint(value, ""));
}

char *vbd_ctl_cell_time(const json_t *value)
{
	/* "2026-01-02T03:04:05.000000006Z" without its last six digits, which are too many for a
	 * reader. */
	static const char shape[] = "dddd-dd-ddTdd:dd:dd.dddddddddZ";
	const char *text = json_string_value(value);

	if (!text || strlen(text) != strlen(shape))
		return vbd_ctl_cell_text(value);
	for (size_t i = 0; shape[i]; i++) {
		if (shape[i] == 'd' ? !strchr("0123456789", text[i]) : text[i] != shape[i])
			return vbd_ctl_cell_text(value);
	}
	return vbd_ctl_format("%.23sZ", text);
}

char *vbd_ctl_cell_endpoint(const json_t *value)
{
	const char *addr = vbd_ctl_json_text(value, "addr");
	bool v6 = addr && strchr(addr, ':');
	char *text;
	char *safe;

	if (!addr)
		return dash();
	text = vbd_ctl_format(v6 ? "[%s]:%llu" : "%s:%llu", addr,
		(unsigned long long)vbd_ctl_json_uint(value, "port"));
	safe = vbd_ctl_text_safe(text, strlen(text));
	free(text);
	return safe;
}

char *vbd_ctl_cell_list(const json_t *value)
{
	char *text = NULL;
	size_t text_len = 0;
	FILE *out;

	if (json_array_size(value) == 0)
		return dash();
	out = vbd_ctl_must(open_memstream(&text, &text_len));
	for (size_t i = 0; i < json_array_size(value); i++) {
		char *item = vbd_ctl_cell_text(json_array_get(value, i));

		fprintf(out, "%s%s", i ? "," : "", item);
		free(item);
	}
	(void)fclose(out);
	return vbd_ctl_must(text);
}

/* The name of a colour in libsmartcols, or NULL. */
static const char *color_of(const char *state)
{
	static const char *const good[] = {
		"established", "listening", "ready", "present", "active", "done", "ok", "up"};
	static const char *const bad[] = {
		"failed", "failing", "degraded", "lost", "removed", "timed_out", "down"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(good); i++) {
		if (strcmp(state, good[i]) == 0)
			return "green";
	}
	for (size_t i = 0; i < VBD_ARRAY_LEN(bad); i++) {
		if (strcmp(state, bad[i]) == 0)
			return "red";
	}
	return NULL;
}

static void table_add_row(struct libscols_table *table, const struct vbd_ctl_column *columns,
	size_t column_count, const json_t *row)
{
	struct libscols_line *line = vbd_ctl_must(scols_table_new_line(table, NULL));

	for (size_t i = 0; i < column_count; i++) {
		char *text = columns[i].cell(vbd_ctl_json_at(row, columns[i].path));
		const char *color = columns[i].flags & VBD_CTL_COLUMN_STATE ? color_of(text) : NULL;

		if (color && scols_cell_set_color(scols_line_get_cell(line, i), color) < 0)
			vbd_ctl_must(NULL);
		/* libsmartcols owns the text from now on. */
		if (scols_line_refer_data(line, i, text) < 0)
			vbd_ctl_must(NULL);
	}
}

static bool is_in_rows(const char *path, const json_t *rows)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		if (vbd_ctl_json_at(row, path))
			return true;
	}
	return false;
}

static int flags_of(const struct vbd_ctl_column *column, const json_t *rows)
{
	int flags = 0;

	if (column->flags & VBD_CTL_COLUMN_RIGHT)
		flags |= SCOLS_FL_RIGHT;
	if (column->flags & VBD_CTL_COLUMN_TRUNC)
		flags |= SCOLS_FL_TRUNC;
	if (column->flags & VBD_CTL_COLUMN_RARE && !is_in_rows(column->path, rows))
		flags |= SCOLS_FL_HIDDEN;
	return flags;
}

void vbd_ctl_table_put(
	const struct vbd_ctl_column *columns, size_t column_count, const json_t *rows, bool color)
{
	struct libscols_table *table = vbd_ctl_must(scols_new_table());

	scols_table_enable_colors(table, color);
	for (size_t i = 0; i < column_count; i++)
		vbd_ctl_must(scols_table_new_column(
			table, columns[i].title, 0, flags_of(&columns[i], rows)));
	for (size_t i = 0; i < json_array_size(rows); i++)
		table_add_row(table, columns, column_count, json_array_get(rows, i));
	if (scols_table_set_stream(table, view_out()) < 0)
		vbd_ctl_must(NULL);
	(void)scols_print_table(table);
	scols_unref_table(table);
}

/* Writes the member that @field, "path}" or "path:format}", names. Returns the end of @field. */
static const char *fill_field(FILE *out, const json_t *object, const char *field)
{
	static const struct {
		const char *name;
		vbd_ctl_cell_fn cell;
	} formats[] = {
		{":hex}", vbd_ctl_cell_hex},
		{":bytes}", vbd_ctl_cell_bytes},
		{":ns}", vbd_ctl_cell_ns},
		{":endpoint}", vbd_ctl_cell_endpoint},
		{":time}", vbd_ctl_cell_time},
		{":count}", vbd_ctl_cell_count},
	};
	size_t len = strcspn(field, ":}");
	size_t format_len = strcspn(field + len, "}") + 1;
	vbd_ctl_cell_fn cell = vbd_ctl_cell_text;
	char *path = vbd_ctl_must(strndup(field, len));
	char *text;

	for (size_t i = 0; i < VBD_ARRAY_LEN(formats); i++) {
		if (strncmp(field + len, formats[i].name, format_len) == 0)
			cell = formats[i].cell;
	}
	text = cell(vbd_ctl_json_at(object, path));
	fputs(text, out);
	free(text);
	free(path);
	return field + len + format_len;
}

char *vbd_ctl_fill(const json_t *object, const char *text)
{
	char *filled = NULL;
	size_t filled_len = 0;
	FILE *out = vbd_ctl_must(open_memstream(&filled, &filled_len));

	while (*text) {
		size_t plain = strcspn(text, "{");

		fwrite(text, 1, plain, out);
		text += plain;
		if (*text)
			text = fill_field(out, object, text + 1);
	}
	(void)fclose(out);
	return vbd_ctl_must(filled);
}

/* "  label         text"; two spaces stand behind a long label. The caller frees the line. */
static char *line_of(const char *label, const char *text)
{
	return vbd_ctl_format("  %-*s %s%s", LABEL_COLUMNS, label,
		strlen(label) < LABEL_COLUMNS ? "" : " ", text);
}

/* Prints a line of a block. @text is safe for a terminal. */
static void put_line(const char *label, const char *text)
{
	char *line = line_of(label, text);

	vbd_ctl_text_put(line);
	free(line);
}

void vbd_ctl_label_put(const char *label, const char *text)
{
	char *safe = vbd_ctl_text_safe(text, strlen(text));
	char *line = line_of(label, safe);
	char *wrapped = vbd_ctl_text_wrap(line, LINE_COLUMNS, LABEL_COLUMNS + 3);

	fputs(wrapped, view_out());
	free(wrapped);
	free(line);
	free(safe);
}

void vbd_ctl_cell_put(const char *label, const json_t *value, vbd_ctl_cell_fn cell)
{
	char *text = cell(value);

	put_line(label, text);
	free(text);
}

static bool has_first_member(const json_t *object, const char *text)
{
	const char *field = strchr(text, '{') + 1;
	char *path = vbd_ctl_must(strndup(field, strcspn(field, ":}")));
	bool has = vbd_ctl_json_at(object, path);

	free(path);
	return has;
}

void vbd_ctl_lines_put(const json_t *object, const struct vbd_ctl_line *lines, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *filled;

		if (!has_first_member(object, lines[i].text))
			continue;
		filled = vbd_ctl_fill(object, lines[i].text);
		put_line(lines[i].label, filled);
		free(filled);
	}
}

void vbd_ctl_list_put(const char *label, const json_t *items, const char *text)
{
	for (size_t i = 0; i < json_array_size(items); i++) {
		char *filled = vbd_ctl_fill(json_array_get(items, i), text);

		put_line(i ? "" : label, filled);
		free(filled);
	}
}

/* "connection/7 (to-b)", safe for a terminal. The caller frees the text. */
static char *object_name(const char *kind, const json_t *object)
{
	bool named = json_is_string(vbd_ctl_json_at(object, "name"));
	char *name = vbd_ctl_fill(object, named ? "{id} ({name})" : "{id}");
	char *text = vbd_ctl_format("%s/%s", kind, name);

	free(name);
	return text;
}

void vbd_ctl_sentence_put(const char *kind, const json_t *object, const char *text)
{
	char *name = object_name(kind, object);
	char *filled = vbd_ctl_fill(object, text);

	fprintf(view_out(), "%s: %s\n", name, filled);
	free(filled);
	free(name);
}

void vbd_ctl_text_put(const char *text)
{
	fprintf(view_out(), "%s\n", text);
}

void vbd_ctl_heading_put(const char *text)
{
	fprintf(view_out(), "\n%s\n", text);
}

void vbd_ctl_title_put(const char *kind, const json_t *object, bool color)
{
	char *name = object_name(kind, object);
	char *state = vbd_ctl_cell_text(vbd_ctl_json_at(object, "state"));
	const char *shade = color ? color_of(state) : NULL;

	if (shade)
		fprintf(view_out(), "%s  \033[%dm%s\033[0m\n", name,
			strcmp(shade, "green") == 0 ? 32 : 31, state);
	else if (vbd_ctl_json_at(object, "state"))
		fprintf(view_out(), "%s  %s\n", name, state);
	else
		fprintf(view_out(), "%s\n", name);
	free(state);
	free(name);
}
