/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/top/columns.h"

#include "cmd/verbsctl/common/text.h"

static const struct vbd_ctl_top_column_spec specs[VBD_CTL_TOP_COLUMN_END] = {
#define VBD_CTL_TOP_COLUMN_SPEC(sym, name, title, letter, right, falls, stays, least, most) \
	[sym] = {name, title, letter, right, falls, stays, least, most},
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

static struct vbd_ctl_maybe known(uint64_t value)
{
	return (struct vbd_ctl_maybe){.known = true, .value = (double)value};
}

/* The number that a column shows; unknown for a column of texts. */
static struct vbd_ctl_maybe number_of(const struct vbd_ctl_row *row, enum vbd_ctl_top_column column)
{
	switch (column) {
	case VBD_CTL_TOP_ID:
		return known(row->id);
	case VBD_CTL_TOP_SENT_RATE:
		return row->sent_rate;
	case VBD_CTL_TOP_RECV_RATE:
		return row->received_rate;
	case VBD_CTL_TOP_OPS_RATE:
		return row->completed_rate;
	case VBD_CTL_TOP_CQ:
		return row->cq_share;
	case VBD_CTL_TOP_RTT:
		return row->rtt_ns;
	case VBD_CTL_TOP_RTT_P99:
		return row->rtt_p99_ns;
	case VBD_CTL_TOP_SENT:
		return known(row->sent_bytes);
	case VBD_CTL_TOP_RECV:
		return known(row->received_bytes);
	case VBD_CTL_TOP_NAME:
	case VBD_CTL_TOP_STATE:
	case VBD_CTL_TOP_PEER:
	case VBD_CTL_TOP_DEVICE:
	case VBD_CTL_TOP_END_CODE:
	case VBD_CTL_TOP_COLUMN_END:
		break;
	}
	return (struct vbd_ctl_maybe){0};
}

/* The borrowed text that a column shows; NULL for a column of numbers. */
static const char *text_of(const struct vbd_ctl_row *row, enum vbd_ctl_top_column column)
{
	switch (column) {
	case VBD_CTL_TOP_NAME:
		return row->name;
	case VBD_CTL_TOP_STATE:
		return row->state;
	case VBD_CTL_TOP_PEER:
		return row->peer;
	case VBD_CTL_TOP_DEVICE:
		return row->device;
	case VBD_CTL_TOP_END_CODE:
		return row->end_code;
	case VBD_CTL_TOP_ID:
	case VBD_CTL_TOP_SENT_RATE:
	case VBD_CTL_TOP_RECV_RATE:
	case VBD_CTL_TOP_OPS_RATE:
	case VBD_CTL_TOP_CQ:
	case VBD_CTL_TOP_RTT:
	case VBD_CTL_TOP_RTT_P99:
	case VBD_CTL_TOP_SENT:
	case VBD_CTL_TOP_RECV:
	case VBD_CTL_TOP_COLUMN_END:
		break;
	}
	return NULL;
}

char *vbd_ctl_top_cell(const struct vbd_ctl_row *row, enum vbd_ctl_top_column column)
{
	const char *text = text_of(row, column);
	struct vbd_ctl_maybe number = number_of(row, column);

	if (text)
		return vbd_ctl_format("%s", text);
	if (!number.known)
		return vbd_ctl_format("-");
	switch ((unsigned int)column) {
	case VBD_CTL_TOP_ID:
		return vbd_ctl_format("%llu", (unsigned long long)row->id);
	case VBD_CTL_TOP_CQ:
		return vbd_ctl_format("%.0f%%", number.value * 100);
	case VBD_CTL_TOP_RTT:
	case VBD_CTL_TOP_RTT_P99:
		return vbd_ctl_short_ns(number.value);
	default:
		return vbd_ctl_short_count(number.value);
	}
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
	bool falling = specs[column].falls != reverse;
	int order;

	if (text_of(a, column))
		order = compare_texts(text_of(a, column), text_of(b, column), falling);
	else
		order = compare_numbers(number_of(a, column), number_of(b, column), falling);
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
		char *cell = vbd_ctl_top_cell(rows[i], column);
		size_t needed = vbd_ctl_text_columns(cell);

		if (needed > width)
			width = needed < spec->most ? needed : spec->most;
		free(cell);
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
