/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/top/rows.h"

#include "cmd/verbsctl/common/json.h"
#include "cmd/verbsctl/common/text.h"
#include "cmd/verbsctl/common/view.h"

#include "base/clock.h"

/* Over a shorter time the rate would show the jitter of the answers. */
#define SHORTEST_S 0.05

static const struct vbd_ctl_top_column_spec specs[VBD_CTL_TOP_COLUMN_END] = {
#define VBD_CTL_TOP_COLUMN_SPEC(sym, name, title, letter, form, path, stays, least, most) \
	[sym] = {name, title, letter, VBD_CTL_TOP_##form, path, stays, least, most},
	VBD_CTL_TOP_COLUMN_MAP(VBD_CTL_TOP_COLUMN_SPEC)
#undef VBD_CTL_TOP_COLUMN_SPEC
};

const struct vbd_ctl_top_column_spec *vbd_ctl_top_column_spec(enum vbd_ctl_top_column column)
{
	return &specs[column];
}

enum vbd_ctl_top_column vbd_ctl_top_column_of_letter(int key)
{
	for (size_t i = 0; i < VBD_CTL_TOP_COLUMN_END; i++) {
		if (specs[i].letter == key)
			return (enum vbd_ctl_top_column)i;
	}
	return VBD_CTL_TOP_COLUMN_END;
}

enum vbd_ctl_top_column vbd_ctl_top_column_of_name(const char *name)
{
	for (size_t i = 0; i < VBD_CTL_TOP_COLUMN_END; i++) {
		if (strcmp(specs[i].name, name) == 0)
			return (enum vbd_ctl_top_column)i;
	}
	return VBD_CTL_TOP_COLUMN_END;
}

/* --- rows ------------------------------------------------------------------------------------ */

/* Sums all operations, also those that only a newer server has. */
static uint64_t completed_of(json_t *counters)
{
	uint64_t sum = 0;
	const char *operation;
	json_t *of_one;

	json_object_foreach(counters, operation, of_one) sum +=
		vbd_ctl_json_uint(of_one, "completed");
	return sum;
}

static struct vbd_ctl_maybe known(double value)
{
	return (struct vbd_ctl_maybe){.known = true, .value = value};
}

/* Outstanding share of the completion queue that the connection uses. */
static struct vbd_ctl_maybe cq_share_of(const json_t *connection, const json_t *cqs)
{
	uint64_t id = vbd_ctl_json_uint(connection, "cq.id");

	for (size_t i = 0; id && i < json_array_size(cqs); i++) {
		const json_t *cq = json_array_get(cqs, i);
		uint64_t capacity = vbd_ctl_json_uint(cq, "cqe");

		if (vbd_ctl_json_uint(cq, "id") == id && capacity)
			return known((double)vbd_ctl_json_uint(cq, "outstanding_cqe") /
				     (double)capacity);
	}
	return (struct vbd_ctl_maybe){0};
}

static struct vbd_ctl_row row_of(const json_t *connection, const json_t *cqs)
{
	json_t *counters = vbd_ctl_json_at(connection, "counters");
	struct vbd_ctl_row row = {
		.id = vbd_ctl_json_uint(connection, "id"),
		.ended = vbd_ctl_json_is(connection, "state", "closed") ||
			 vbd_ctl_json_is(connection, "state", "failed"),
		.completed = completed_of(counters),
		.number = {[VBD_CTL_TOP_CQ] = cq_share_of(connection, cqs),
			[VBD_CTL_TOP_SENT] = known((double)vbd_ctl_sent_bytes(counters)),
			[VBD_CTL_TOP_RECV] = known((double)vbd_ctl_received_bytes(counters))},
	};

	for (size_t i = 0; i < VBD_CTL_TOP_COLUMN_END; i++) {
		const char *path = specs[i].path;
		const json_t *value = path ? vbd_ctl_json_at(connection, path) : NULL;

		if (i == VBD_CTL_TOP_PEER)
			row.text[i] = vbd_ctl_must(strdup(vbd_ctl_cell_endpoint(value)));
		else if (specs[i].form == VBD_CTL_TOP_TEXT)
			row.text[i] = vbd_ctl_must(strdup(vbd_ctl_cell_text(value)));
		else if (vbd_ctl_json_has_uint(value, ""))
			row.number[i] = known((double)vbd_ctl_json_uint(value, ""));
	}
	return row;
}

/* A counter that decreased was restarted: its rate is unknown. */
static struct vbd_ctl_maybe rate_of(double now, double before, double seconds)
{
	return now < before ? (struct vbd_ctl_maybe){0} : known((now - before) / seconds);
}

static void take_rates(struct vbd_ctl_row *row, const struct vbd_ctl_row *before, double seconds)
{
	struct vbd_ctl_maybe *now = row->number;
	const struct vbd_ctl_maybe *old = before->number;

	/* An ended connection has no current rate. */
	if (row->ended)
		return;
	if (seconds < SHORTEST_S) {
		for (size_t i = VBD_CTL_TOP_SENT_RATE; i <= VBD_CTL_TOP_OPS_RATE; i++)
			now[i] = old[i];
		return;
	}
	now[VBD_CTL_TOP_SENT_RATE] =
		rate_of(now[VBD_CTL_TOP_SENT].value, old[VBD_CTL_TOP_SENT].value, seconds);
	now[VBD_CTL_TOP_RECV_RATE] =
		rate_of(now[VBD_CTL_TOP_RECV].value, old[VBD_CTL_TOP_RECV].value, seconds);
	now[VBD_CTL_TOP_OPS_RATE] =
		rate_of((double)row->completed, (double)before->completed, seconds);
}

static int by_id(const void *a, const void *b)
{
	uint64_t left = ((const struct vbd_ctl_row *)a)->id;
	uint64_t right = ((const struct vbd_ctl_row *)b)->id;

	return (left > right) - (left < right);
}

void vbd_ctl_rows_init(const json_t *connections, const json_t *cqs, uint64_t at_ns,
	const struct vbd_ctl_rows *before, struct vbd_ctl_rows *ret_rows)
{
	size_t room = json_array_size(connections) + 1;
	double seconds;

	*ret_rows = (struct vbd_ctl_rows){.at_ns = at_ns};
	ret_rows->items = vbd_ctl_must(calloc(room, sizeof(*ret_rows->items)));
	for (size_t i = 0; i < json_array_size(connections); i++) {
		const json_t *connection = json_array_get(connections, i);

		if (vbd_ctl_json_has_uint(connection, "id"))
			ret_rows->items[ret_rows->count++] = row_of(connection, cqs);
	}
	qsort(ret_rows->items, ret_rows->count, sizeof(*ret_rows->items), by_id);
	seconds = before ? (double)(at_ns - before->at_ns) / (double)VBD_NS_PER_S : 0;
	for (size_t i = 0; before && i < ret_rows->count; i++) {
		struct vbd_ctl_row *row = &ret_rows->items[i];
		const struct vbd_ctl_row *old = vbd_ctl_rows_find(before, row->id);

		if (old)
			take_rates(row, old, seconds);
		ret_rows->sent_rate += row->number[VBD_CTL_TOP_SENT_RATE].value;
		ret_rows->received_rate += row->number[VBD_CTL_TOP_RECV_RATE].value;
	}
}

void vbd_ctl_rows_fini(struct vbd_ctl_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		for (size_t k = 0; k < VBD_CTL_TOP_COLUMN_END; k++)
			free(rows->items[i].text[k]);
	}
	free(rows->items);
	*rows = (struct vbd_ctl_rows){0};
}

const struct vbd_ctl_row *vbd_ctl_rows_find(const struct vbd_ctl_rows *rows, uint64_t id)
{
	const struct vbd_ctl_row wanted = {.id = id};

	if (rows->count == 0)
		return NULL;
	return bsearch(&wanted, rows->items, rows->count, sizeof(*rows->items), by_id);
}

bool vbd_ctl_row_matches(const struct vbd_ctl_row *row, const char *filter)
{
	bool matches = strcasestr(vbd_ctl_top_cell(row, VBD_CTL_TOP_ID), filter);

	for (size_t i = 0; i < VBD_CTL_TOP_COLUMN_END && !matches; i++)
		matches = row->text[i] && strcasestr(row->text[i], filter);
	return matches;
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

char *vbd_ctl_top_cell(const struct vbd_ctl_row *row, enum vbd_ctl_top_column column)
{
	double number = row->number[column].value;

	if (row->text[column] || !row->number[column].known)
		return vbd_ctl_format("%s", row->text[column] ? row->text[column] : "-");
	switch (specs[column].form) {
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

static int compare_texts(const char *a, const char *b, bool reverse)
{
	bool a_none = strcmp(a, "-") == 0;
	bool b_none = strcmp(b, "-") == 0;
	int order = strcmp(a, b);

	if (a_none || b_none)
		return a_none - b_none;
	return reverse ? -order : order;
}

static int compare_numbers(struct vbd_ctl_maybe a, struct vbd_ctl_maybe b, bool reverse)
{
	int order = (a.value > b.value) - (a.value < b.value);

	if (!a.known || !b.known)
		return b.known - a.known;
	return reverse ? -order : order;
}

int vbd_ctl_top_compare(const struct vbd_ctl_row *a, const struct vbd_ctl_row *b,
	enum vbd_ctl_top_column column, bool reverse)
{
	bool falling = (specs[column].form > VBD_CTL_TOP_WHOLE) != reverse;
	int order;

	if (specs[column].form == VBD_CTL_TOP_TEXT)
		order = compare_texts(a->text[column], b->text[column], falling);
	else
		order = compare_numbers(a->number[column], b->number[column], falling);
	if (order)
		return order;
	return (a->id > b->id) - (a->id < b->id);
}

/* The width of the widest cell of a column, limited by the column's bounds. */
static size_t wanted_width(
	const struct vbd_ctl_row *const *rows, size_t count, enum vbd_ctl_top_column column)
{
	const struct vbd_ctl_top_column_spec *spec = &specs[column];
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
			total += (total ? 1 : 0) + (least ? specs[i].least : layout->width[i]);
	}
	return total;
}

/* Removes the least important column. Returns false if only one is left. */
static bool drop_one(struct vbd_ctl_top_layout *layout)
{
	size_t dropped = VBD_CTL_TOP_ID;

	for (size_t i = 0; i < VBD_CTL_TOP_COLUMN_END; i++) {
		if (layout->width[i] && specs[i].stays < specs[dropped].stays)
			dropped = i;
	}
	if (dropped == VBD_CTL_TOP_ID)
		return false;
	layout->width[dropped] = 0;
	return true;
}

/* Makes the widest column that is above its least width one narrower. Returns false if there is
 * none. */
static bool narrow_one(struct vbd_ctl_top_layout *layout)
{
	size_t widest = VBD_CTL_TOP_COLUMN_END;

	for (size_t i = 0; i < VBD_CTL_TOP_COLUMN_END; i++) {
		if (layout->width[i] > specs[i].least &&
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
	const struct vbd_ctl_row *const *rows, size_t count, size_t columns, bool ended)
{
	struct vbd_ctl_top_layout layout = {{0}};

	for (size_t i = 0; i < VBD_CTL_TOP_COLUMN_END; i++) {
		if (i != VBD_CTL_TOP_END_CODE || ended)
			layout.width[i] = wanted_width(rows, count, (enum vbd_ctl_top_column)i);
	}
	while (total_width(&layout, true) > columns && drop_one(&layout))
		;
	while (total_width(&layout, false) > columns && narrow_one(&layout))
		;
	return layout;
}
