/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/top/top.h"

#include "cmd/verbsctl/common/json.h"
#include "cmd/verbsctl/common/view.h"

#include "base/clock.h"

/* Over a shorter time the rate would show the jitter of the answers. */
#define SHORTEST_S 0.05

const struct vbd_ctl_top_column_spec vbd_ctl_top_columns[VBD_CTL_TOP_COLUMN_END] = {
#define VBD_CTL_TOP_COLUMN_SPEC(sym, name, title, letter, form, path, stays, least, most) \
	[sym] = {name, title, letter, VBD_CTL_TOP_##form, path, stays, least, most},
	VBD_CTL_TOP_COLUMN_MAP(VBD_CTL_TOP_COLUMN_SPEC)
#undef VBD_CTL_TOP_COLUMN_SPEC
};

enum vbd_ctl_top_column vbd_ctl_top_column_of(const char *name, int key)
{
	size_t i = 0;

	while (i < VBD_CTL_TOP_COLUMN_END && (name ? strcmp(vbd_ctl_top_columns[i].name, name) != 0
						   : vbd_ctl_top_columns[i].letter != key))
		i++;
	return (enum vbd_ctl_top_column)i;
}

/* --- rows ------------------------------------------------------------------------------------ */

static void set_number(json_t *row, const char *path, double value)
{
	vbd_ctl_json_set(row, path, json_real(value));
}

static double number_at(const json_t *row, const char *path)
{
	return json_number_value(vbd_ctl_json_at(row, path));
}

/* Outstanding share of the completion queue that the connection uses. */
static void set_cq_share(json_t *row, const json_t *cqs)
{
	uint64_t id = vbd_ctl_json_uint(row, "cq.id");

	for (size_t i = 0; id && i < json_array_size(cqs); i++) {
		const json_t *cq = json_array_get(cqs, i);
		double capacity = (double)vbd_ctl_json_uint(cq, "cqe");

		if (vbd_ctl_json_uint(cq, "id") == id && capacity > 0)
			set_number(row, "top.cq",
				(double)vbd_ctl_json_uint(cq, "outstanding_cqe") / capacity);
	}
}

/* Sums all operations, also those that only a newer server has. */
static void set_totals(json_t *row)
{
	json_t *counters = vbd_ctl_json_at(row, "counters");
	uint64_t completed = 0;
	const char *operation;
	json_t *of_one;

	json_object_foreach(counters, operation, of_one) completed +=
		vbd_ctl_json_uint(of_one, "completed");
	set_number(row, "top.completed", (double)completed);
	set_number(row, "top.sent", (double)vbd_ctl_sent_bytes(counters));
	set_number(row, "top.recv", (double)vbd_ctl_received_bytes(counters));
}

static void set_rates(json_t *row, const json_t *before, double seconds)
{
	static const struct {
		const char *rate, *total;
	} rates[] = {{"top.sent_rate", "top.sent"}, {"top.recv_rate", "top.recv"},
		{"top.ops_rate", "top.completed"}};

	/* An ended connection has no current rate. */
	if (vbd_ctl_json_is(row, "state", "closed") || vbd_ctl_json_is(row, "state", "failed"))
		return;
	for (size_t i = 0; i < VBD_ARRAY_LEN(rates); i++) {
		double now = number_at(row, rates[i].total);
		double old = number_at(before, rates[i].total);
		json_t *last = vbd_ctl_json_at(before, rates[i].rate);

		/* A counter that decreased was restarted: its rate is unknown. */
		if (seconds >= SHORTEST_S && now >= old)
			set_number(row, rates[i].rate, (now - old) / seconds);
		else if (seconds < SHORTEST_S && last)
			vbd_ctl_json_set(row, rates[i].rate, json_incref(last));
	}
}

void vbd_ctl_rows_init(json_t *connections, const json_t *cqs, uint64_t at_ns,
	const struct vbd_ctl_rows *before, struct vbd_ctl_rows *ret_rows)
{
	double seconds = before ? (double)(at_ns - before->at_ns) / (double)VBD_NS_PER_S : 0;

	*ret_rows = (struct vbd_ctl_rows){.by_id = vbd_ctl_must(json_object()), .at_ns = at_ns};
	for (size_t i = 0; i < json_array_size(connections); i++) {
		json_t *row = json_array_get(connections, i);
		const json_t *old;

		if (!vbd_ctl_json_has_uint(row, "id"))
			continue;
		old = before ? vbd_ctl_rows_find(before, vbd_ctl_json_uint(row, "id")) : NULL;
		set_cq_share(row, cqs);
		set_totals(row);
		if (old)
			set_rates(row, old, seconds);
		ret_rows->sent_rate += number_at(row, "top.sent_rate");
		ret_rows->received_rate += number_at(row, "top.recv_rate");
		vbd_ctl_json_set(
			ret_rows->by_id, vbd_ctl_top_cell(row, VBD_CTL_TOP_ID), json_incref(row));
	}
}

void vbd_ctl_rows_fini(struct vbd_ctl_rows *rows)
{
	json_decref(rows->by_id);
	*rows = (struct vbd_ctl_rows){0};
}

json_t *vbd_ctl_rows_find(const struct vbd_ctl_rows *rows, uint64_t id)
{
	return json_object_get(rows->by_id, vbd_ctl_format("%llu", (unsigned long long)id));
}

/* --- columns --------------------------------------------------------------------------------- */

char *vbd_ctl_short_count(double count)
{
	static const char *const units[] = {"", "K", "M", "G", "T", "P", "E"};
	size_t unit = 0;

	/* Rounded, 1023.5 would become "1024". */
	while (count >= 1023.5 && unit + 1 < VBD_ARRAY_LEN(units)) {
		count /= 1024;
		unit++;
	}
	return vbd_ctl_format("%.*f%s", unit && count < 99.95 ? 1 : 0, count, units[unit]);
}

char *vbd_ctl_short_ns(double ns)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	size_t unit = 0;

	while (ns >= 999.5 && unit + 1 < VBD_ARRAY_LEN(units)) {
		ns /= 1000;
		unit++;
	}
	return vbd_ctl_format("%.*f%s",
		!unit || ns >= 99.95 ? 0
		: ns >= 9.995	     ? 1
				     : 2,
		ns, units[unit]);
}

char *vbd_ctl_top_cell(const json_t *row, enum vbd_ctl_top_column column)
{
	const json_t *value = vbd_ctl_json_at(row, vbd_ctl_top_columns[column].path);
	double number = json_number_value(value);

	if (vbd_ctl_top_columns[column].form == VBD_CTL_TOP_TEXT || !json_is_number(value))
		return vbd_ctl_cell_text(value);
	switch (vbd_ctl_top_columns[column].form) {
	case VBD_CTL_TOP_TEXT:
	case VBD_CTL_TOP_WHOLE:
		break;
	case VBD_CTL_TOP_COUNT:
		return vbd_ctl_short_count(number);
	case VBD_CTL_TOP_SHARE:
		return vbd_ctl_format("%.0f%%", number * 100);
	case VBD_CTL_TOP_NS:
		return vbd_ctl_short_ns(number);
	}
	return vbd_ctl_format("%.0f", number);
}

/* The width of the widest cell of a column, limited by the column's bounds. */
static size_t wanted_width(json_t *const *rows, size_t count, enum vbd_ctl_top_column column)
{
	const struct vbd_ctl_top_column_spec *spec = &vbd_ctl_top_columns[column];
	size_t width = spec->least;

	for (size_t i = 0; i < count && width < spec->most; i++) {
		size_t needed = vbd_ctl_text_columns(vbd_ctl_top_cell(rows[i], column));

		if (needed > width)
			width = needed < spec->most ? needed : spec->most;
	}
	return width;
}

/* Total width of a layout, with each column at its current or at its least width. */
static size_t total_width(const struct vbd_ctl_top_layout *layout, bool least)
{
	size_t total = 0;

	for (size_t i = 0; i < VBD_CTL_TOP_COLUMN_END; i++) {
		if (layout->width[i])
			total += (total ? 1 : 0) +
				 (least ? vbd_ctl_top_columns[i].least : layout->width[i]);
	}
	return total;
}

/* Removes the least important column. Returns false if only one is left. */
static bool remove_column(struct vbd_ctl_top_layout *layout)
{
	size_t dropped = VBD_CTL_TOP_ID;

	for (size_t i = 0; i < VBD_CTL_TOP_COLUMN_END; i++) {
		if (layout->width[i] &&
			vbd_ctl_top_columns[i].stays < vbd_ctl_top_columns[dropped].stays)
			dropped = i;
	}
	if (dropped == VBD_CTL_TOP_ID)
		return false;
	layout->width[dropped] = 0;
	return true;
}

/* Makes the widest column that is above its least width one narrower. Returns false if there is
 * none. */
static bool narrow_column(struct vbd_ctl_top_layout *layout)
{
	size_t widest = VBD_CTL_TOP_COLUMN_END;

	for (size_t i = 0; i < VBD_CTL_TOP_COLUMN_END; i++) {
		if (layout->width[i] > vbd_ctl_top_columns[i].least &&
			(widest == VBD_CTL_TOP_COLUMN_END ||
				layout->width[i] > layout->width[widest]))
			widest = i;
	}
	if (widest == VBD_CTL_TOP_COLUMN_END)
		return false;
	layout->width[widest]--;
	return true;
}

struct vbd_ctl_top_layout vbd_ctl_top_layout(
	json_t *const *rows, size_t count, size_t columns, bool ended)
{
	struct vbd_ctl_top_layout layout = {{0}};

	for (size_t i = 0; i < VBD_CTL_TOP_COLUMN_END; i++) {
		if (i != VBD_CTL_TOP_END_CODE || ended)
			layout.width[i] = wanted_width(rows, count, (enum vbd_ctl_top_column)i);
	}
	while (total_width(&layout, true) > columns && remove_column(&layout))
		;
	while (total_width(&layout, false) > columns && narrow_column(&layout))
		;
	return layout;
}

/* --- the view ------------------------------------------------------------------------------ */

/* Whether a text of the row, or its id, contains @filter in any case. */
static bool row_matches(const json_t *row, const char *filter)
{
	for (size_t i = 0; i < VBD_CTL_TOP_COLUMN_END; i++) {
		if (vbd_ctl_top_columns[i].form <= VBD_CTL_TOP_WHOLE &&
			strcasestr(vbd_ctl_top_cell(row, (enum vbd_ctl_top_column)i), filter))
			return true;
	}
	return false;
}

/* Negative if the first row comes first. An unknown value comes last in either order; rows with
 * equal values are ordered by id. */
static int compare_rows(const void *first, const void *second, void *arg)
{
	const struct vbd_ctl_top_view *view = arg;
	const struct vbd_ctl_top_column_spec *column = &vbd_ctl_top_columns[view->sort];
	const json_t *a = *(json_t *const *)first, *b = *(json_t *const *)second;
	const json_t *of_a = vbd_ctl_json_at(a, column->path);
	const json_t *of_b = vbd_ctl_json_at(b, column->path);
	bool falling = (column->form > VBD_CTL_TOP_WHOLE) != view->reverse;
	double left = json_number_value(of_a), right = json_number_value(of_b);
	int order = (left > right) - (left < right);

	if (column->form == VBD_CTL_TOP_TEXT) {
		const char *text_a = vbd_ctl_cell_text(of_a), *text_b = vbd_ctl_cell_text(of_b);

		order = strcmp(text_a, text_b);
		of_a = strcmp(text_a, "-") == 0 ? NULL : of_a;
		of_b = strcmp(text_b, "-") == 0 ? NULL : of_b;
	}
	if (!of_a != !of_b)
		return !of_a - !of_b;
	if (order)
		return falling ? -order : order;
	return (int)(number_at(a, "id") > number_at(b, "id")) -
	       (int)(number_at(a, "id") < number_at(b, "id"));
}

static void choose_row(struct vbd_ctl_top_view *view, size_t at)
{
	if (at >= view->shown_count)
		at = view->shown_count ? view->shown_count - 1 : 0;
	view->chosen_at = at;
	view->chosen = view->shown_count ? vbd_ctl_json_uint(view->shown[at], "id") : 0;
}

void vbd_ctl_top_view_take(struct vbd_ctl_top_view *view, const struct vbd_ctl_rows *rows)
{
	size_t at = view->holds ? view->chosen_at : 0;
	size_t kept = vbd_ctl_kept();
	const char *id;
	json_t *row;

	free(view->shown);
	view->shown = vbd_ctl_must(calloc(json_object_size(rows->by_id) + 1, sizeof(json_t *)));
	view->shown_count = 0;
	json_object_foreach(rows->by_id, id, row)
	{
		if (row_matches(row, view->filter))
			view->shown[view->shown_count++] = row;
	}
	qsort_r(view->shown, view->shown_count, sizeof(json_t *), compare_rows, view);
	for (size_t i = 0; i < view->shown_count; i++) {
		if (view->holds && vbd_ctl_json_uint(view->shown[i], "id") == view->chosen)
			at = i;
	}
	vbd_ctl_release(kept);
	/* The detail page keeps showing its connection after the list has lost it. */
	if (view->page != VBD_CTL_TOP_DETAIL)
		choose_row(view, at);
}

/* Removes the last character with all its bytes. */
static void filter_shorten(char *filter)
{
	size_t len = strlen(filter);

	while (len && ((unsigned char)filter[len - 1] & 0xc0) == 0x80)
		len--;
	if (len)
		filter[len - 1] = '\0';
}

static void edit_filter(struct vbd_ctl_top_view *view, int key)
{
	size_t len = strlen(view->filter);

	if (key == VBD_CTL_KEY_ENTER) {
		view->typing = false;
	} else if (key == VBD_CTL_KEY_ESCAPE) {
		view->typing = false;
		memcpy(view->filter, view->filter_before, sizeof(view->filter));
	} else if (key == VBD_CTL_KEY_BACKSPACE) {
		filter_shorten(view->filter);
	} else if (key >= ' ' && key <= 0xff && len + 1 < sizeof(view->filter)) {
		view->filter[len] = (char)key;
		view->filter[len + 1] = '\0';
	}
}

/* The new position after a movement key at @at of @count; -1 for other keys. */
static long position_after_key(int key, size_t at, size_t count, size_t page_lines)
{
	size_t page = page_lines > 1 ? page_lines - 1 : 1;

	switch (key) {
	case VBD_CTL_KEY_UP:
	case 'k':
		return at ? (long)at - 1 : 0;
	case VBD_CTL_KEY_DOWN:
	case 'j':
		return (long)at + 1;
	case VBD_CTL_KEY_PAGE_UP:
		return at > page ? (long)(at - page) : 0;
	case VBD_CTL_KEY_PAGE_DOWN:
	case ' ':
		return (long)(at + page);
	case VBD_CTL_KEY_HOME:
	case 'g':
		return 0;
	case VBD_CTL_KEY_END:
	case 'G':
		return (long)count;
	default:
		return -1;
	}
}

/* Returns whether other data has to be fetched. */
static bool list_key(struct vbd_ctl_top_view *view, int key, size_t page_lines)
{
	long at = position_after_key(key, view->chosen_at, view->shown_count, page_lines);
	enum vbd_ctl_top_column column = vbd_ctl_top_column_of(NULL, key);

	if (at >= 0) {
		choose_row(view, (size_t)at);
		view->holds = view->chosen_at > 0;
	} else if (column != VBD_CTL_TOP_COLUMN_END) {
		view->reverse = column == view->sort && !view->reverse;
		view->sort = column;
	} else if (key == '<' || key == '>') {
		view->reverse = false;
		view->sort = (view->sort + (key == '<' ? VBD_CTL_TOP_COLUMN_END - 1 : 1)) %
			     VBD_CTL_TOP_COLUMN_END;
	} else if (key == 'r') {
		view->reverse = !view->reverse;
	} else if (key == '/') {
		view->typing = true;
		memcpy(view->filter_before, view->filter, sizeof(view->filter));
	} else if (key == VBD_CTL_KEY_ESCAPE) {
		view->filter[0] = '\0';
	} else if (key == 'a') {
		view->ended = !view->ended;
		return true;
	} else if (key == VBD_CTL_KEY_ENTER && view->chosen) {
		view->page = VBD_CTL_TOP_DETAIL;
		view->holds = true;
		view->scroll = 0;
		return true;
	}
	return false;
}

static void other_page_key(struct vbd_ctl_top_view *view, int key, size_t page_lines)
{
	/* Only the drawing knows the number of lines; it limits the position. */
	long at = position_after_key(key, view->scroll, SIZE_MAX / 4, page_lines);

	if (at >= 0)
		view->scroll = (size_t)at;
	else if (key == VBD_CTL_KEY_ESCAPE || key == VBD_CTL_KEY_ENTER ||
		 key == VBD_CTL_KEY_BACKSPACE || key == '?' || key == 'h' || key == 'q')
		view->page = VBD_CTL_TOP_LIST;
}

bool vbd_ctl_top_view_key(
	struct vbd_ctl_top_view *view, const struct vbd_ctl_rows *rows, int key, size_t page_lines)
{
	bool fetch = false;

	if (key == VBD_CTL_KEY_GONE) {
		view->quit = true;
	} else if (view->typing) {
		edit_filter(view, key);
	} else if (view->page != VBD_CTL_TOP_LIST) {
		other_page_key(view, key, page_lines);
	} else if (key == 'q') {
		view->quit = true;
	} else if (key == '?' || key == 'h') {
		view->page = VBD_CTL_TOP_HELP;
		view->scroll = 0;
	} else {
		fetch = list_key(view, key, page_lines);
	}
	vbd_ctl_top_view_take(view, rows);
	return fetch;
}

void vbd_ctl_top_view_settle(struct vbd_ctl_top_view *view, size_t lines)
{
	size_t last = view->shown_count > lines ? view->shown_count - lines : 0;

	if (view->chosen_at < view->first)
		view->first = view->chosen_at;
	if (lines && view->chosen_at >= view->first + lines)
		view->first = view->chosen_at - lines + 1;
	if (view->first > last)
		view->first = last;
}

void vbd_ctl_top_view_fini(struct vbd_ctl_top_view *view)
{
	free(view->shown);
	view->shown = NULL;
	view->shown_count = 0;
}
