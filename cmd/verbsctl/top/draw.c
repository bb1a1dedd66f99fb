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

static void draw_title(const struct vbd_ctl_top *top)
{
	const char *version = top->index ? vbd_ctl_fill(top->index, " {version}") : "";

	put_line(0, VBD_CTL_STYLE_BOLD,
		vbd_ctl_format("verbsd%s at %s%s%s", version, top->server,
			top->stats ? ", up " : "", top->stats ? uptime_text(top->stats) : ""));
}

static void draw_summary(const struct vbd_ctl_top *top)
{
	uint64_t failed = vbd_ctl_json_uint(top->stats, "connections_failed");
	uint64_t closed = vbd_ctl_json_uint(top->stats, "connections_ended") - failed;

	if (!top->stats)
		return;
	vbd_ctl_json_set(top->stats, "top.sent_rate", json_real(top->sent_rate));
	vbd_ctl_json_set(top->stats, "top.recv_rate", json_real(top->received_rate));
	vbd_ctl_json_set(top->stats, "top.closed", json_integer((json_int_t)closed));
	put_line(1, VBD_CTL_STYLE_PLAIN,
		vbd_ctl_fill(top->stats,
			"{connections:count} open, {connections_established:count} established  "
			"sent {top.sent_rate:short}/s  recv {top.recv_rate:short}/s  "
			"transfers {transfers:count}  "
			"ended: {top.closed:count} closed, {connections_failed:count} failed"));
}

static char *order_text(const struct vbd_ctl_top *top)
{
	size_t count = json_object_size(top->rows);
	const char *part = "";
	const char *filter = "";

	if (top->total > count)
		part = vbd_ctl_format(
			", the newest %zu of %llu", count, (unsigned long long)top->total);
	if (top->filter[0])
		filter = vbd_ctl_format(
			", filter \"%s\": %zu of %zu", top->filter, top->shown_count, count);
	return vbd_ctl_format("sorted by %s%s%s%s%s", vbd_ctl_top_columns[top->sort].name,
		top->reverse ? ", reversed" : "", top->ended ? ", ended ones too" : "", part,
		filter);
}

/* Draws the line between summary and page: the most important of error, news and filter. */
static void draw_news(const struct vbd_ctl_top *top)
{
	if (top->trouble)
		put_line(2, VBD_CTL_STYLE_ALARM,
			vbd_ctl_format(
				"stale since %u s: %s; trying again", top->stale_s, top->trouble));
	else if (top->typing)
		put_line(2, VBD_CTL_STYLE_BOLD, vbd_ctl_format("filter: %s_", top->filter));
	else if (top->news)
		put_line(2, VBD_CTL_STYLE_BOLD, top->news);
	else if (top->page == VBD_CTL_TOP_LIST)
		put_line(2, VBD_CTL_STYLE_PLAIN, order_text(top));
}

/* Draws @text again, where the column @title begins. */
static void put_styled(const char *titles, const char *title, size_t line, enum vbd_ctl_style style,
	const char *text)
{
	size_t len = strcspn(title, "=");
	const char *at = titles;

	while (*at && (strncmp(at, title, len) != 0 || (at > titles && at[-1] != ' ') ||
			      (at[len] && at[len] != ' ')))
		at++;
	if (*at)
		vbd_ctl_screen_put(
			line, (size_t)(at - titles), vbd_ctl_text_columns(text), style, text);
}

static enum vbd_ctl_style style_of(const char *state)
{
	if (strcmp(state, "established") == 0)
		return VBD_CTL_STYLE_GOOD;
	return strcmp(state, "failed") == 0 ? VBD_CTL_STYLE_BAD : VBD_CTL_STYLE_PLAIN;
}

static void draw_empty(const struct vbd_ctl_top *top)
{
	const char *text = "waiting for the first answer";

	if (top->stats && json_object_size(top->rows))
		text = "no connection matches the filter; esc removes the filter";
	else if (top->stats)
		text = top->ended ? "no connections"
				  : "no open connections; press a to show ended ones";
	put_line(HEAD_LINES + 1, VBD_CTL_STYLE_PLAIN, text);
}

static void draw_list(struct vbd_ctl_top *top)
{
	const char *sorted = vbd_ctl_top_columns[top->sort].field;
	char *rest = vbd_ctl_top_table(top, vbd_ctl_top_page_lines(), vbd_ctl_screen_columns());
	const char *titles = *rest ? strsep(&rest, "\n") : NULL;
	const char *row;

	if (!titles) {
		draw_empty(top);
		return;
	}
	put_line(HEAD_LINES, VBD_CTL_STYLE_BAR, titles);
	put_styled(titles, sorted, HEAD_LINES, VBD_CTL_STYLE_BOLD,
		vbd_ctl_format("%.*s", (int)strcspn(sorted, "="), sorted));
	for (size_t i = top->first; (row = strsep(&rest, "\n")) && *row; i++) {
		size_t line = HEAD_LINES + 1 + i - top->first;
		const char *state = vbd_ctl_json_text(top->shown[i], "state");

		put_line(line, i == top->chosen_at ? VBD_CTL_STYLE_BAR : VBD_CTL_STYLE_PLAIN, row);
		if (i != top->chosen_at && state && style_of(state) != VBD_CTL_STYLE_PLAIN)
			put_styled(titles, "STATE", line, style_of(state), state);
	}
}

/* Draws a text of several lines, scrolled. */
static void draw_text(struct vbd_ctl_top *top, const char *lines, size_t indent)
{
	char *text = vbd_ctl_text_wrap(lines, vbd_ctl_screen_columns(), indent);
	size_t room = vbd_ctl_top_page_lines() + 1;
	const char *from = text;
	size_t count = 0;

	for (const char *at = text; *at; at++)
		count += *at == '\n';
	if (top->scroll + room > count)
		top->scroll = count > room ? count - room : 0;
	for (size_t i = 0; i < top->scroll; i++)
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

	for (size_t i = 0; i < vbd_ctl_top_column_count; i++)
		columns = vbd_ctl_format("%s%c  %-10s%s", columns, vbd_ctl_top_columns[i].letter,
			vbd_ctl_top_columns[i].name, i % 4 == 3 ? "\n" : "  ");
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

static void draw_page(struct vbd_ctl_top *top)
{
	const char *detail = top->detail ? top->detail : "waiting for the answer";

	if (top->page == VBD_CTL_TOP_LIST)
		draw_list(top);
	else if (top->page == VBD_CTL_TOP_DETAIL)
		draw_text(top, detail, DETAIL_INDENT);
	else
		draw_text(top, help_text(), HELP_INDENT);
}

void vbd_ctl_top_draw(struct vbd_ctl_top *top)
{
	const char *help = top->typing			   ? typing_help
			   : top->page == VBD_CTL_TOP_LIST ? list_help
							   : page_help;
	size_t kept = vbd_ctl_kept();

	vbd_ctl_screen_clear();
	if (vbd_ctl_screen_lines() < LEAST_LINES || vbd_ctl_screen_columns() < LEAST_COLUMNS) {
		put_line(0, VBD_CTL_STYLE_PLAIN,
			vbd_ctl_format("needs %d x %d", LEAST_COLUMNS, LEAST_LINES));
	} else {
		draw_title(top);
		draw_summary(top);
		draw_news(top);
		draw_page(top);
		put_line(vbd_ctl_screen_lines() - 1, VBD_CTL_STYLE_PLAIN, help);
	}
	vbd_ctl_screen_show();
	vbd_ctl_release(kept);
}
