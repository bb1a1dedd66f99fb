/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/common/view.h"

#include "cmd/verbsctl/common/args.h"
#include "cmd/verbsctl/common/json.h"

#include "base/clock.h"

#include <libsmartcols.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LABEL_COLUMNS 13
#define LINE_COLUMNS  100 /* of a long text */
#define COLUMNS_MAX   24

/* Output file; NULL for standard output, which is not a constant expression. */
static FILE *target;

static size_t label_columns = LABEL_COLUMNS;
static bool measures_labels;

void vbd_ctl_view_to(FILE *out)
{
	target = out;
}

static FILE *view_out(void)
{
	return target ? target : stdout;
}

/* The name of a colour in libsmartcols, or NULL. */
static const char *state_color(const char *state)
{
	if (vbd_ctl_is_word("established listening ready present active done ok up", state))
		return "green";
	return vbd_ctl_is_word("failed failing degraded lost removed timed_out down", state) ? "red"
											     : NULL;
}

/* A column of a table. */
struct column {
	char *title;
	struct vbd_ctl_field field;
	bool state; /* coloured by the state */
	int flags;
};

static bool is_in_rows(const struct column *column, const json_t *rows, bool number)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		const json_t *value = vbd_ctl_field_value(&column->field, row);

		if (number ? json_is_number(value) : value != NULL)
			return true;
	}
	return false;
}

/* The column "TITLE=field". */
static struct column parse_column(const char *text, const json_t *rows)
{
	const char *equals = strchr(text, '=');
	struct column column = {.title = vbd_ctl_format("%.*s", (int)(equals - text), text)};
	const char *path, *name;

	vbd_ctl_field_init(&column.field, equals + 1, strlen(equals + 1));
	path = column.field.path;
	name = strrchr(path, '.') ? strrchr(path, '.') + 1 : path;
	column.state = vbd_ctl_is_word("state status", name);
	if (column.field.right || is_in_rows(&column, rows, true))
		column.flags |= SCOLS_FL_RIGHT;
	/* These become narrower if the terminal is too narrow. */
	if (vbd_ctl_is_word("code detail end_code server_id", name))
		column.flags |= SCOLS_FL_TRUNC;
	/* Few objects are of an earlier run. */
	if (strcmp(path, "server_id") == 0 && !is_in_rows(&column, rows, false))
		column.flags |= SCOLS_FL_HIDDEN;
	return column;
}

static void add_row(
	struct libscols_table *table, const struct column *columns, size_t count, const json_t *row)
{
	struct libscols_line *line = vbd_ctl_must(scols_table_new_line(table, NULL));
	size_t kept = vbd_ctl_kept();

	for (size_t i = 0; i < count; i++) {
		char *text = columns[i].field.cell(vbd_ctl_field_value(&columns[i].field, row));
		const char *color = columns[i].state ? state_color(text) : NULL;

		if (color && scols_cell_set_color(scols_line_get_cell(line, i), color) < 0)
			vbd_ctl_must(NULL);
		if (scols_line_set_data(line, i, text) < 0)
			vbd_ctl_must(NULL);
	}
	vbd_ctl_release(kept);
}

static struct libscols_table *make_table(const char *columns, const json_t *rows, bool color)
{
	struct libscols_table *table = vbd_ctl_must(scols_new_table());
	struct column parsed[COLUMNS_MAX];
	size_t count = 0;
	const char *word;

	scols_table_enable_colors(table, color);
	(void)scols_table_enable_noencoding(table, 1); /* cells are safe */
	while (count < COLUMNS_MAX && (word = vbd_ctl_word(columns, count))) {
		struct column *column = &parsed[count++];

		*column = parse_column(word, rows);
		vbd_ctl_must(scols_table_new_column(table, column->title, 0, column->flags));
	}
	for (size_t i = 0; i < json_array_size(rows); i++)
		add_row(table, parsed, count, json_array_get(rows, i));
	return table;
}

void vbd_ctl_table_put(const char *columns, const json_t *rows, bool color)
{
	struct libscols_table *table = make_table(columns, rows, color);

	if (scols_table_set_stream(table, view_out()) < 0)
		vbd_ctl_must(NULL);
	(void)scols_print_table(table);
	scols_unref_table(table);
}

char *vbd_ctl_table_text(const char *columns, const size_t *least, const json_t *rows, size_t width)
{
	struct libscols_table *table = make_table(columns, rows, false);
	struct libscols_column *column;
	char *text = NULL;

	for (size_t i = 0; (column = scols_table_get_column(table, i)); i++) {
		struct libscols_cell *title = scols_column_get_header(column);
		bool right = scols_column_is_right(column);
		int columns_least = right ? (int)least[i] : -(int)least[i];

		/* libsmartcols makes no column narrower than its title. */
		(void)scols_cell_set_data(
			title, vbd_ctl_format("%*s", columns_least, scols_cell_get_data(title)));
		if (!right)
			(void)scols_column_set_flags(column, SCOLS_FL_TRUNC);
	}
	(void)scols_table_set_termforce(table, SCOLS_TERMFORCE_ALWAYS);
	(void)scols_table_set_termwidth(table, width);
	if (scols_print_table_to_string(table, &text) < 0 || !text)
		text = strdup("");
	scols_unref_table(table);
	return vbd_ctl_keep(text, free);
}

void vbd_ctl_labels(enum vbd_ctl_labels labels)
{
	if (labels != VBD_CTL_LABELS_FIT)
		label_columns = LABEL_COLUMNS;
	measures_labels = labels == VBD_CTL_LABELS_MEASURE;
}

/* "  label         text"; "" if the label is only measured. */
static const char *format_line(const char *label, const char *text)
{
	if (!measures_labels)
		return vbd_ctl_format("  %-*s %s\n", (int)label_columns, label, text);
	if (strlen(label) > label_columns)
		label_columns = strlen(label);
	return "";
}

/* Prints a line of a block. @text is safe for a terminal. */
static void put_line(const char *label, const char *text)
{
	fputs(format_line(label, text), view_out());
}

void vbd_ctl_label_put(const char *label, const char *text)
{
	fputs(vbd_ctl_text_wrap(
		      format_line(label, vbd_ctl_text_safe(text)), LINE_COLUMNS, label_columns + 3),
		view_out());
}

void vbd_ctl_cell_put(const char *label, const json_t *value, vbd_ctl_cell_fn cell)
{
	put_line(label, cell(value));
}

void vbd_ctl_line_put(const char *label, const json_t *object, const char *text)
{
	const char *at = strchr(text, '{') + 1;
	struct vbd_ctl_field field;

	vbd_ctl_field_init(&field, at, strcspn(at, "}"));
	if (vbd_ctl_field_value(&field, object))
		put_line(label, vbd_ctl_fill(object, text));
}

void vbd_ctl_list_put(const char *label, const json_t *items, const char *text)
{
	for (size_t i = 0; i < json_array_size(items); i++)
		put_line(i ? "" : label, vbd_ctl_fill(json_array_get(items, i), text));
}

/* "connection/7 (to-b)", safe for a terminal. */
static char *object_name(const char *kind, const json_t *object)
{
	bool named = json_is_string(vbd_ctl_json_at(object, "name"));

	return vbd_ctl_format(
		"%s/%s", kind, vbd_ctl_fill(object, named ? "{id} ({name})" : "{id}"));
}

void vbd_ctl_sentence_put(const char *kind, const json_t *object, const char *text)
{
	fprintf(view_out(), "%s: %s\n", object_name(kind, object), vbd_ctl_fill(object, text));
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
	const char *shade = color ? state_color(state) : NULL;

	if (shade)
		fprintf(view_out(), "%s  \033[%dm%s\033[0m\n", name,
			strcmp(shade, "green") == 0 ? 32 : 31, state);
	else if (vbd_ctl_json_at(object, "state"))
		fprintf(view_out(), "%s  %s\n", name, state);
	else
		fprintf(view_out(), "%s\n", name);
}

/* --- a progress bar ------------------------------------------------------------------------ */

#define FIRST_AFTER_NS (500 * VBD_NS_PER_MS)
#define REDRAW_NS      (100 * VBD_NS_PER_MS)
#define BAR_COLUMNS    24

bool vbd_ctl_progress_is_seen(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0);
}

void vbd_ctl_progress_init(struct vbd_ctl_progress *progress, const char *what)
{
	*progress = (struct vbd_ctl_progress){
		.what = what,
		.enabled = vbd_ctl_progress_is_seen(),
		.start_ns = vbd_clock_mono_ns(),
	};
}

static unsigned int terminal_columns(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		return 80;
	return size.ws_col;
}

static char *format_bar(uint64_t done_bytes, uint64_t total_bytes)
{
	static const char bar[] = "========================>                        ";
	double share = total_bytes > done_bytes ? (double)done_bytes / (double)total_bytes : 1;
	size_t left = BAR_COLUMNS - (size_t)(share * BAR_COLUMNS);

	return vbd_ctl_format("%3d%% [%.*s] ", (int)(share * 100), BAR_COLUMNS, bar + left);
}

static void draw_progress(
	struct vbd_ctl_progress *progress, uint64_t done_bytes, uint64_t total_bytes, uint64_t ns)
{
	size_t kept = vbd_ctl_kept();
	char *bar = total_bytes ? format_bar(done_bytes, total_bytes) : vbd_ctl_format("%s", "");
	char *done = vbd_ctl_text_of_bytes(done_bytes);
	char *rate = vbd_ctl_text_of_bytes((uint64_t)((double)done_bytes * 1e9 / (double)ns));
	char *line = total_bytes || done_bytes
			     ? vbd_ctl_format("%s  %s%s  %s/s", progress->what, bar, done, rate)
			     : vbd_ctl_format("%s  waiting, %llu s", progress->what,
				       (unsigned long long)(ns / VBD_NS_PER_S));

	/* A carriage return can't overwrite a line that has wrapped. */
	fprintf(stderr, "\r\033[K%.*s", (int)terminal_columns() - 1, vbd_ctl_text_safe(line));
	(void)fflush(stderr);
	vbd_ctl_release(kept);
}

void vbd_ctl_progress_update(
	struct vbd_ctl_progress *progress, uint64_t done_bytes, uint64_t total_bytes)
{
	uint64_t now_ns = vbd_clock_mono_ns();

	if (!progress->enabled || now_ns - progress->start_ns < FIRST_AFTER_NS)
		return;
	if (progress->drawn_ns && now_ns - progress->drawn_ns < REDRAW_NS)
		return;
	progress->drawn_ns = now_ns;
	draw_progress(progress, done_bytes, total_bytes, now_ns - progress->start_ns);
}

void vbd_ctl_progress_fini(struct vbd_ctl_progress *progress)
{
	if (!progress->drawn_ns)
		return;
	progress->drawn_ns = 0;
	fputs("\r\033[K", stderr);
	(void)fflush(stderr);
}
