/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/top/top.h"

#include "cmd/verbsctl/common/json.h"
#include "cmd/verbsctl/common/view.h"

/* The smallest readable size of a terminal. */
#define LEAST_LINES   6
#define LEAST_COLUMNS 24

/* Lines of a picture: three above the column titles, one below the rows. */
#define HEAD_LINES 3
#define FOOT_LINES 1

/* Column at which the texts behind labels begin. */
#define DETAIL_INDENT 16
#define HELP_INDENT   17

static const char list_help[] =
	"q quit  enter detail  / filter  < > sort by  r reverse  a ended ones  ? all keys";
static const char typing_help[] = "enter keep the filter  esc undo the change";
static const char page_help[] = "q back";

size_t vbd_ctl_top_page_lines(void)
{
	size_t lines = vbd_ctl_screen_lines();
	size_t others = HEAD_LINES + 1 + FOOT_LINES;

	return lines > others ? lines - others : 0;
}

/* Draws a whole line. */
static void put_line(size_t line, enum vbd_ctl_style style, const char *text)
{
	vbd_ctl_screen_put(line, 0, vbd_ctl_screen_columns(), style, vbd_ctl_text_safe(text));
}

static char *uptime_text(const json_t *stats)
{
	uint64_t s = vbd_ctl_json_uint(stats, "uptime_ms") / 1000;

	if (s < 86400)
		return vbd_ctl_format(
			"%d:%02d:%02d", (int)(s / 3600), (int)(s / 60 % 60), (int)(s % 60));
	return vbd_ctl_format("%llu d %d:%02d", (unsigned long long)(s / 86400),
		(int)(s / 3600 % 24), (int)(s / 60 % 60));
}

static void draw_title(const struct vbd_ctl_top_picture *picture)
{
	const char *version = picture->index ? vbd_ctl_fill(picture->index, " {version}") : "";

	put_line(0, VBD_CTL_STYLE_BOLD,
		vbd_ctl_format("verbsd%s at %s%s%s", version, picture->server,
			picture->stats ? ", up " : "",
			picture->stats ? uptime_text(picture->stats) : ""));
}

static void draw_summary(const struct vbd_ctl_top_picture *picture)
{
	const struct vbd_ctl_rows *rows = picture->rows;
	uint64_t ended = vbd_ctl_json_uint(picture->stats, "connections_ended");
	uint64_t failed = vbd_ctl_json_uint(picture->stats, "connections_failed");

	if (!picture->stats)
		return;
	put_line(1, VBD_CTL_STYLE_PLAIN,
		vbd_ctl_format("%s  sent %s/s  recv %s/s  %s  ended: %llu closed, %llu failed",
			vbd_ctl_fill(picture->stats, "{connections:count} open, "
						     "{connections_established:count} established"),
			vbd_ctl_short_count(rows->sent_rate),
			vbd_ctl_short_count(rows->received_rate),
			vbd_ctl_fill(picture->stats, "transfers {transfers:count}"),
			(unsigned long long)(ended - failed), (unsigned long long)failed));
}

static char *order_text(
	const struct vbd_ctl_top_view *view, const struct vbd_ctl_top_picture *picture)
{
	const char *name = vbd_ctl_top_columns[view->sort].name;
	const char *part = "";
	const char *filter = "";

	if (picture->total > json_object_size(picture->rows->by_id))
		part = vbd_ctl_format(", the newest %zu of %llu",
			json_object_size(picture->rows->by_id), (unsigned long long)picture->total);
	if (view->filter[0])
		filter = vbd_ctl_format(", filter \"%s\": %zu of %zu", view->filter,
			view->shown_count, json_object_size(picture->rows->by_id));
	return vbd_ctl_format("sorted by %s%s%s%s%s", name, view->reverse ? ", reversed" : "",
		view->ended ? ", ended ones too" : "", part, filter);
}

/* Draws the line between summary and titles: the most important of error, news and filter. */
static void draw_news(
	const struct vbd_ctl_top_view *view, const struct vbd_ctl_top_picture *picture)
{
	if (picture->trouble)
		put_line(2, VBD_CTL_STYLE_ALARM,
			vbd_ctl_format("stale since %u s: %s; trying again", picture->stale_s,
				picture->trouble));
	else if (view->typing)
		put_line(2, VBD_CTL_STYLE_BOLD, vbd_ctl_format("filter: %s_", view->filter));
	else if (picture->news)
		put_line(2, VBD_CTL_STYLE_BOLD, picture->news);
	else if (view->page == VBD_CTL_TOP_LIST)
		put_line(2, VBD_CTL_STYLE_PLAIN, order_text(view, picture));
}

static enum vbd_ctl_style style_of_state(const json_t *row)
{
	if (vbd_ctl_json_is(row, "state", "established"))
		return VBD_CTL_STYLE_GOOD;
	return vbd_ctl_json_is(row, "state", "failed") ? VBD_CTL_STYLE_BAD : VBD_CTL_STYLE_PLAIN;
}

/* Draws one line of the table; the titles if @row is NULL. */
static void draw_row(const struct vbd_ctl_top_view *view, const struct vbd_ctl_top_layout *layout,
	size_t line, const json_t *row, enum vbd_ctl_style style)
{
	size_t at = 0;

	vbd_ctl_screen_put(line, 0, vbd_ctl_screen_columns(), style, "");
	for (size_t i = 0; i < VBD_CTL_TOP_COLUMN_END; i++) {
		enum vbd_ctl_top_column column = (enum vbd_ctl_top_column)i;
		const struct vbd_ctl_top_column_spec *spec = &vbd_ctl_top_columns[column];
		enum vbd_ctl_style cell_style = style;
		const char *cell;

		if (!layout->width[i])
			continue;
		if (!row && column == view->sort)
			cell_style = VBD_CTL_STYLE_BOLD;
		else if (row && column == VBD_CTL_TOP_STATE && style == VBD_CTL_STYLE_PLAIN)
			cell_style = style_of_state(row);
		cell = row ? vbd_ctl_top_cell(row, column) : spec->title;
		vbd_ctl_screen_put(line, at, layout->width[i], cell_style,
			vbd_ctl_text_fit(cell, layout->width[i], spec->form != VBD_CTL_TOP_TEXT));
		at += layout->width[i] + 1;
	}
}

static void draw_nothing(
	const struct vbd_ctl_top_view *view, const struct vbd_ctl_top_picture *picture)
{
	const char *text = "waiting for the first answer";

	if (picture->stats && json_object_size(picture->rows->by_id))
		text = "no connection matches the filter; esc removes the filter";
	else if (picture->stats)
		text = view->ended ? "no connections"
				   : "no open connections; press a to show ended ones";
	put_line(HEAD_LINES + 1, VBD_CTL_STYLE_PLAIN, text);
}

static void draw_list(struct vbd_ctl_top_view *view, const struct vbd_ctl_top_picture *picture)
{
	size_t lines = vbd_ctl_top_page_lines();
	struct vbd_ctl_top_layout layout = vbd_ctl_top_layout(
		view->shown, view->shown_count, vbd_ctl_screen_columns(), view->ended);

	vbd_ctl_top_view_settle(view, lines);
	draw_row(view, &layout, HEAD_LINES, NULL, VBD_CTL_STYLE_BAR);
	for (size_t i = 0; i < lines && view->first + i < view->shown_count; i++) {
		size_t at = view->first + i;

		draw_row(view, &layout, HEAD_LINES + 1 + i, view->shown[at],
			at == view->chosen_at ? VBD_CTL_STYLE_BAR : VBD_CTL_STYLE_PLAIN);
	}
	if (view->shown_count == 0)
		draw_nothing(view, picture);
}

/* Draws a text of several lines, scrolled. */
static void draw_text(struct vbd_ctl_top_view *view, const char *lines, size_t indent)
{
	char *text = vbd_ctl_text_wrap(lines, vbd_ctl_screen_columns(), indent);
	size_t room = vbd_ctl_top_page_lines() + 1;
	const char *from = text;
	size_t count = 0;

	for (const char *at = text; *at; at++)
		count += *at == '\n';
	if (view->scroll + room > count)
		view->scroll = count > room ? count - room : 0;
	for (size_t i = 0; i < view->scroll; i++)
		from = strchr(from, '\n') + 1;
	for (size_t i = 0; i < room && *from; i++) {
		size_t len = strcspn(from, "\n");

		put_line(HEAD_LINES + i, VBD_CTL_STYLE_PLAIN,
			vbd_ctl_format("%.*s", (int)len, from));
		from += len + 1;
	}
}

static char *help_text(void)
{
	const char *columns = "";

	for (size_t i = 0; i < VBD_CTL_TOP_COLUMN_END; i++) {
		const struct vbd_ctl_top_column_spec *spec = &vbd_ctl_top_columns[i];

		columns = vbd_ctl_format("%s%c  %-10s%s", columns, spec->letter, spec->name,
			i % 4 == 3 ? "\n" : "  ");
	}
	return vbd_ctl_format(
		"up down k j      choose a connection; pgup, pgdn, home, end go further\n"
		"enter            all details of the connection; q goes back\n"
		"/                show only connections with this text in name, state, peer, "
		"device, end code or id\n"
		"esc              show all connections again\n"
		"a                show ended connections too, or only open ones again\n"
		"r                reverse the order\n"
		"< >              sort by the next column to the left or right\n"
		"q                quit, or back from another page\n"
		"\nSort by (a second time reverses the order):\n%s\n\n"
		"SENT and RECV are the payload of work requests completed here; /s is per "
		"second.\n"
		"CQ is how full the connection's completion queue is, RTT the last round trip of "
		"a probe on it.\n",
		columns);
}

static void draw_page(struct vbd_ctl_top_view *view, const struct vbd_ctl_top_picture *picture)
{
	switch (view->page) {
	case VBD_CTL_TOP_LIST:
		draw_list(view, picture);
		break;
	case VBD_CTL_TOP_DETAIL:
		draw_text(view, picture->detail ? picture->detail : "waiting for the answer",
			DETAIL_INDENT);
		break;
	case VBD_CTL_TOP_HELP:
		draw_text(view, help_text(), HELP_INDENT);
		break;
	}
}

void vbd_ctl_top_draw(struct vbd_ctl_top_view *view, const struct vbd_ctl_top_picture *picture)
{
	const char *help = view->typing			    ? typing_help
			   : view->page == VBD_CTL_TOP_LIST ? list_help
							    : page_help;
	size_t kept = vbd_ctl_kept();

	vbd_ctl_screen_clear();
	if (vbd_ctl_screen_lines() < LEAST_LINES || vbd_ctl_screen_columns() < LEAST_COLUMNS) {
		put_line(0, VBD_CTL_STYLE_PLAIN,
			vbd_ctl_format("needs %d x %d", LEAST_COLUMNS, LEAST_LINES));
	} else {
		draw_title(picture);
		draw_summary(picture);
		draw_news(view, picture);
		draw_page(view, picture);
		put_line(vbd_ctl_screen_lines() - 1, VBD_CTL_STYLE_PLAIN, help);
	}
	vbd_ctl_screen_show();
	vbd_ctl_release(kept);
}
