/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/top/top.h"

#include "cmd/verbsctl/common/json.h"
#include "cmd/verbsctl/common/view.h"

#include "base/clock.h"

/* Over a shorter time the rate would show the jitter of the answers. */
#define SHORTEST_S 0.05

const struct vbd_ctl_top_column vbd_ctl_top_columns[] = {
	{"id", 'i', "ID=id", 100, 2},
	{"name", 'n', "NAME=name", 90, 10},
	{"state", 's', "STATE=state", 99, 11},
	{"peer", 'p', "PEER=peer", 60, 16},
	{"device", 'd', "DEVICE=device", 30, 6},
	{"sent/s", 't', "SENT/s=top.sent_rate:short", 98, 6},
	{"recv/s", 'v', "RECV/s=top.recv_rate:short", 97, 6},
	{"ops/s", 'o', "OPS/s=top.ops_rate:short", 70, 5},
	{"cq", 'c', "CQ=top.cq:share", 75, 4},
	{"rtt", 'l', "RTT=rtt.last_ns:short_ns", 80, 6},
	{"rtt99", '9', "RTT99=rtt.p99_ns:short_ns", 40, 6},
	{"sent", 'T', "SENT=top.sent:short", 35, 5},
	{"recv", 'V', "RECV=top.recv:short", 34, 5},
	/* The last: only ended connections have it. */
	{"end_code", 'w', "END-CODE=end_code", 50, 8},
};
const size_t vbd_ctl_top_column_count = VBD_ARRAY_LEN(vbd_ctl_top_columns);

size_t vbd_ctl_top_column_of(const char *name, int key)
{
	size_t i = 0;

	while (i < VBD_ARRAY_LEN(vbd_ctl_top_columns) &&
		(name ? strcmp(vbd_ctl_top_columns[i].name, name) != 0
		      : vbd_ctl_top_columns[i].letter != key))
		i++;
	return i;
}

static struct vbd_ctl_field field_of(size_t column)
{
	const char *text = strchr(vbd_ctl_top_columns[column].field, '=') + 1;
	struct vbd_ctl_field field;

	vbd_ctl_field_init(&field, text, strlen(text));
	return field;
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
	set_number(row, "top.sent", (double)vbd_ctl_payload_bytes(counters, VBD_CTL_SENDS));
	set_number(row, "top.recv", (double)vbd_ctl_payload_bytes(counters, VBD_CTL_RECEIVES));
}

static void set_rates(json_t *row, const json_t *before, double seconds)
{
	static const struct {
		const char *rate, *total;
	} rates[] = {{"top.sent_rate", "top.sent"}, {"top.recv_rate", "top.recv"},
		{"top.ops_rate", "top.completed"}};

	/* An ended connection has no current rate. */
	if (!before || vbd_ctl_json_is(row, "state", "closed") ||
		vbd_ctl_json_is(row, "state", "failed"))
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

static void make_rows(
	struct vbd_ctl_top *top, json_t *connections, const json_t *cqs, double seconds)
{
	json_t *before = top->rows;
	json_t *row;
	size_t i;

	top->rows = vbd_ctl_must(json_object());
	top->sent_rate = 0;
	top->received_rate = 0;
	json_array_foreach(connections, i, row)
	{
		const char *id = vbd_ctl_cell_text(vbd_ctl_json_at(row, "id"));

		if (!vbd_ctl_json_has_uint(row, "id"))
			continue;
		set_cq_share(row, cqs);
		set_totals(row);
		set_rates(row, json_object_get(before, id), seconds);
		top->sent_rate += number_at(row, "top.sent_rate");
		top->received_rate += number_at(row, "top.recv_rate");
		vbd_ctl_json_set(top->rows, id, json_incref(row));
	}
	json_decref(before);
}

/* --- the view ------------------------------------------------------------------------------ */

/* Whether a text of the row, or its id, contains the filter in any case. */
static bool row_matches(const json_t *row, const char *filter)
{
	for (size_t i = 0; i < VBD_ARRAY_LEN(vbd_ctl_top_columns); i++) {
		struct vbd_ctl_field field = field_of(i);

		if (!field.right &&
			strcasestr(field.cell(vbd_ctl_field_value(&field, row)), filter))
			return true;
	}
	return false;
}

static int compare_numbers(const json_t *a, const json_t *b)
{
	double left = json_number_value(a), right = json_number_value(b);

	return (left > right) - (left < right);
}

/* Negative if the first row comes first. An unknown value comes last in either order; rows with
 * equal values are ordered by id. */
static int compare_rows(const void *first, const void *second, void *arg)
{
	const struct vbd_ctl_top *top = arg;
	const struct vbd_ctl_field field = field_of(top->sort);
	const json_t *a = *(json_t *const *)first, *b = *(json_t *const *)second;
	const json_t *of_a = vbd_ctl_field_value(&field, a);
	const json_t *of_b = vbd_ctl_field_value(&field, b);
	const char *text_a = field.cell(of_a), *text_b = field.cell(of_b);
	bool unknown_a = strcmp(text_a, "-") == 0, unknown_b = strcmp(text_b, "-") == 0;
	int order = json_is_number(of_a) ? compare_numbers(of_a, of_b) : strcmp(text_a, text_b);

	if (unknown_a != unknown_b)
		return unknown_a - unknown_b;
	if (order)
		return field.right != top->reverse ? -order : order;
	return compare_numbers(json_object_get(a, "id"), json_object_get(b, "id"));
}

static void choose_row(struct vbd_ctl_top *top, size_t at)
{
	if (at >= top->shown_count)
		at = top->shown_count ? top->shown_count - 1 : 0;
	top->chosen_at = at;
	top->chosen = top->shown_count ? vbd_ctl_json_uint(top->shown[at], "id") : 0;
}

/* Filters and orders the rows. */
static void update_view(struct vbd_ctl_top *top)
{
	size_t at = top->holds ? top->chosen_at : 0;
	size_t kept = vbd_ctl_kept();
	const char *id;
	json_t *row;

	free(top->shown);
	top->shown = vbd_ctl_must(calloc(json_object_size(top->rows) + 1, sizeof(json_t *)));
	top->shown_count = 0;
	json_object_foreach(top->rows, id, row)
	{
		if (row_matches(row, top->filter))
			top->shown[top->shown_count++] = row;
	}
	qsort_r(top->shown, top->shown_count, sizeof(json_t *), compare_rows, top);
	for (size_t i = 0; i < top->shown_count; i++) {
		if (top->holds && vbd_ctl_json_uint(top->shown[i], "id") == top->chosen)
			at = i;
	}
	vbd_ctl_release(kept);
	/* The detail page keeps showing its connection after the list has lost it. */
	if (top->page != VBD_CTL_TOP_DETAIL)
		choose_row(top, at);
}

void vbd_ctl_top_take(
	struct vbd_ctl_top *top, json_t *connections, const json_t *cqs, uint64_t at_ns)
{
	make_rows(top, connections, cqs, (double)(at_ns - top->rows_ns) / (double)VBD_NS_PER_S);
	top->rows_ns = at_ns;
	update_view(top);
}

/* --- keys ---------------------------------------------------------------------------------- */

/* Removes the last character with all its bytes. */
static void filter_shorten(char *filter)
{
	size_t len = strlen(filter);

	while (len && ((unsigned char)filter[len - 1] & 0xc0) == 0x80)
		len--;
	if (len)
		filter[len - 1] = '\0';
}

static void edit_filter(struct vbd_ctl_top *top, int key)
{
	size_t len = strlen(top->filter);

	if (key == VBD_CTL_KEY_ENTER) {
		top->typing = false;
	} else if (key == VBD_CTL_KEY_ESCAPE) {
		top->typing = false;
		memcpy(top->filter, top->filter_before, sizeof(top->filter));
	} else if (key == VBD_CTL_KEY_BACKSPACE) {
		filter_shorten(top->filter);
	} else if (key >= ' ' && key <= 0xff && len + 1 < sizeof(top->filter)) {
		top->filter[len] = (char)key;
		top->filter[len + 1] = '\0';
	}
}

/* Moves a position by a movement key, maybe behind the end. Returns false for other keys. */
static bool move(size_t *at, int key, size_t page_lines)
{
	const long page = page_lines > 1 ? (long)page_lines - 1 : 1;
	const struct {
		int key, letter;
		long by;
	} moves[] = {
		{VBD_CTL_KEY_UP, 'k', -1},
		{VBD_CTL_KEY_DOWN, 'j', 1},
		{VBD_CTL_KEY_PAGE_UP, VBD_CTL_KEY_PAGE_UP, -page},
		{VBD_CTL_KEY_PAGE_DOWN, ' ', page},
		{VBD_CTL_KEY_HOME, 'g', -INT32_MAX},
		{VBD_CTL_KEY_END, 'G', INT32_MAX},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(moves); i++) {
		if (key != moves[i].key && key != moves[i].letter)
			continue;
		*at = (long)*at + moves[i].by > 0 ? *at + (size_t)moves[i].by : 0;
		return true;
	}
	return false;
}

/* Returns whether other data has to be fetched. */
static bool list_key(struct vbd_ctl_top *top, int key, size_t page_lines)
{
	size_t column = vbd_ctl_top_column_of(NULL, key);
	size_t at = top->chosen_at;

	if (move(&at, key, page_lines)) {
		choose_row(top, at);
		top->holds = top->chosen_at > 0;
	} else if (column < VBD_ARRAY_LEN(vbd_ctl_top_columns)) {
		top->reverse = column == top->sort && !top->reverse;
		top->sort = column;
	} else if (key == '<' || key == '>') {
		top->reverse = false;
		top->sort += key == '<' ? VBD_ARRAY_LEN(vbd_ctl_top_columns) - 1 : 1;
		top->sort %= VBD_ARRAY_LEN(vbd_ctl_top_columns);
	} else if (key == 'r') {
		top->reverse = !top->reverse;
	} else if (key == '/') {
		top->typing = true;
		memcpy(top->filter_before, top->filter, sizeof(top->filter));
	} else if (key == VBD_CTL_KEY_ESCAPE) {
		top->filter[0] = '\0';
	} else if (key == 'a') {
		top->ended = !top->ended;
		return true;
	} else if (key == VBD_CTL_KEY_ENTER && top->chosen) {
		top->page = VBD_CTL_TOP_DETAIL;
		top->holds = true;
		top->scroll = 0;
		return true;
	}
	return false;
}

bool vbd_ctl_top_key(struct vbd_ctl_top *top, int key, size_t page_lines)
{
	bool list = top->page == VBD_CTL_TOP_LIST;
	bool help = key == '?' || key == 'h';
	bool fetch = false;

	if (key == VBD_CTL_KEY_GONE) {
		top->quit = true;
	} else if (top->typing) {
		edit_filter(top, key);
	} else if (!list && (help || key == 'q' || key == VBD_CTL_KEY_ESCAPE ||
				    key == VBD_CTL_KEY_ENTER || key == VBD_CTL_KEY_BACKSPACE)) {
		top->page = VBD_CTL_TOP_LIST;
	} else if (!list) {
		/* Only the drawing knows the number of lines; it limits the position. */
		(void)move(&top->scroll, key, page_lines);
	} else if (key == 'q') {
		top->quit = true;
	} else if (help) {
		top->page = VBD_CTL_TOP_HELP;
		top->scroll = 0;
	} else {
		fetch = list_key(top, key, page_lines);
	}
	update_view(top);
	return fetch;
}

/* --- the list ------------------------------------------------------------------------------ */

/* Whether a column and all that matter more have room at their least widths. */
static bool has_room(size_t column, size_t count, size_t width)
{
	size_t total = 0;

	for (size_t i = 0; i < count; i++) {
		if (vbd_ctl_top_columns[i].stays >= vbd_ctl_top_columns[column].stays)
			total += vbd_ctl_top_columns[i].least + 1;
	}
	return column == 0 || total <= width + 1;
}

static void scroll_to_chosen(struct vbd_ctl_top *top, size_t lines)
{
	size_t last = top->shown_count > lines ? top->shown_count - lines : 0;

	if (top->chosen_at < top->first)
		top->first = top->chosen_at;
	if (lines && top->chosen_at >= top->first + lines)
		top->first = top->chosen_at - lines + 1;
	if (top->first > last)
		top->first = last;
}

char *vbd_ctl_top_table(struct vbd_ctl_top *top, size_t lines, size_t width)
{
	size_t count = VBD_ARRAY_LEN(vbd_ctl_top_columns) - !top->ended;
	size_t least[VBD_ARRAY_LEN(vbd_ctl_top_columns)], chosen = 0;
	json_t *rows = vbd_ctl_json_keep(vbd_ctl_must(json_array()));
	const char *columns = "";

	scroll_to_chosen(top, lines);
	for (size_t i = top->first; i < top->shown_count && i < top->first + lines; i++) {
		if (json_array_append(rows, top->shown[i]) < 0)
			vbd_ctl_must(NULL);
	}
	for (size_t i = 0; i < count; i++) {
		if (!has_room(i, count, width))
			continue;
		columns = vbd_ctl_format("%s %s", columns, vbd_ctl_top_columns[i].field);
		least[chosen++] = vbd_ctl_top_columns[i].least;
	}
	return vbd_ctl_table_text(columns, least, rows, width);
}

void vbd_ctl_top_fini(struct vbd_ctl_top *top)
{
	free(top->shown);
	json_decref(top->rows);
	top->shown = NULL;
	top->rows = NULL;
}
