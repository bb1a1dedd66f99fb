/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole pictures of `verbsctl top`. Below a line of the screen stand its styles, if any is not
 * plain: o bold, # bar, + good, - bad, ! alarm.
 */
#include "tests/unit/unit.h"

#include "cmd/verbsctl/common/json.h"
#include "cmd/verbsctl/common/text.h"
#include "cmd/verbsctl/top/top.h"

#include <jansson.h>

#define LINES_MAX   40
#define COLUMNS_MAX 100

/* --- a screen -------------------------------------------------------------------------------- */

static struct {
	size_t lines, columns;
	char text[LINES_MAX][COLUMNS_MAX + 1], styles[LINES_MAX][COLUMNS_MAX + 1];
	bool shown;
	char picture[8192];
} screen;

size_t vbd_ctl_screen_lines(void)
{
	return screen.lines;
}

size_t vbd_ctl_screen_columns(void)
{
	return screen.columns;
}

void vbd_ctl_screen_clear(void)
{
	memset(screen.text, ' ', sizeof(screen.text));
	memset(screen.styles, ' ', sizeof(screen.styles));
	screen.shown = false;
}

void vbd_ctl_screen_put(
	size_t line, size_t column, size_t columns, enum vbd_ctl_style style, const char *text)
{
	char *fit = vbd_ctl_text_fit(text, columns);

	assert_true(line < screen.lines && column + columns <= screen.columns);
	assert_int_equal(strlen(fit), columns);
	memcpy(screen.text[line] + column, fit, columns);
	memset(screen.styles[line] + column, " o#+-!"[style], columns);
}

void vbd_ctl_screen_show(void)
{
	screen.shown = true;
}

static void add_line(const char *line)
{
	size_t used = strlen(screen.picture), len = COLUMNS_MAX;

	while (len && line[len - 1] == ' ')
		len--;
	(void)snprintf(
		screen.picture + used, sizeof(screen.picture) - used, "%.*s\n", (int)len, line);
}

/* Compares what is drawn with a text. */
static void draws(struct vbd_ctl_top *top)
{
	size_t last = 0;

	vbd_ctl_top_draw(top);
	assert_true(screen.shown);
	screen.picture[0] = '\0';
	for (size_t i = 0; i < screen.lines; i++) {
		if (strspn(screen.text[i], " ") < COLUMNS_MAX)
			last = i;
	}
	for (size_t i = 0; i <= last; i++) {
		add_line(screen.text[i]);
		if (strspn(screen.styles[i], " ") < COLUMNS_MAX)
			add_line(screen.styles[i]);
	}
	unit_golden(screen.picture);
}

/* --- what is drawn --------------------------------------------------------------------------- */

static json_t *parse(const char *text)
{
	char copy[2048];
	json_t *json;

	(void)snprintf(copy, sizeof(copy), "%s", text);
	for (char *at = copy; *at; at++)
		*at = *at == '\'' ? '"' : *at;
	json = vbd_ctl_json_keep(json_loads(copy, 0, NULL));
	assert_non_null(json);
	return json;
}

#define THREE                                                                               \
	"[{'id':1,'name':'one','state':'established','peer':{'addr':'192.0.2.1','port':1}," \
	"'device':'rxe0','counters':{'send':{'bytes':2048,'completed':2}}},"                \
	"{'id':2,'name':'two','state':'failed','end_code':'rejected'},"                     \
	"{'id':3,'name':null,'state':'resolving_addr'}]"

static struct vbd_ctl_top top;

static void use_rows(const char *list)
{
	vbd_ctl_top_take(&top, parse(list), NULL, 1);
}

static int set_up(void **state)
{
	(void)state;
	screen.lines = 10;
	screen.columns = 80;
	top = (struct vbd_ctl_top){.server = "http://h:1",
		.index = parse("{'version':'1.2.3'}"),
		.stats = parse("{'uptime_ms':3723000,'connections':3,'connections_established':2,"
			       "'connections_ended':6,'connections_failed':1,'transfers':4}"),
		.total = 3,
		.stale_s = 9};
	use_rows(THREE);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	vbd_ctl_top_fini(&top);
	return 0;
}

#define CTL_DRAW_TEST(name) TEST_WITH(name, void *no_fixture, set_up, tear_down)

CTL_DRAW_TEST(test_draw__a_list_of_connections)
{
	draws(&top);
}

CTL_DRAW_TEST(test_draw__what_is_shown_of_more)
{
	top.reverse = true;
	top.ended = true;
	(void)snprintf(top.filter, sizeof(top.filter), "o");
	use_rows(THREE);
	top.total = 4;
	draws(&top);
}

CTL_DRAW_TEST(test_draw__a_list_is_cut_where_the_screen_ends)
{
	screen.lines = 7;
	screen.columns = 40;
	top.chosen_at = 2;
	top.holds = true;
	draws(&top);
}

CTL_DRAW_TEST(test_draw__trouble_goes_before_typing_and_typing_before_news)
{
	screen.lines = 6;
	top.news = "restarted";
	draws(&top);
	top.typing = true;
	(void)snprintf(top.filter, sizeof(top.filter), "ab");
	draws(&top);
	top.trouble = "no\nanswer";
	draws(&top);
}

CTL_DRAW_TEST(test_draw__an_empty_list_says_why)
{
	screen.lines = 6;
	(void)snprintf(top.filter, sizeof(top.filter), "zzz");
	use_rows(THREE);
	draws(&top);
	top.filter[0] = '\0';
	use_rows("[]");
	draws(&top);
	top.ended = true;
	draws(&top);
	top.stats = NULL;
	top.index = NULL;
	draws(&top);
}

CTL_DRAW_TEST(test_draw__days_are_counted_apart)
{
	static const struct {
		uint64_t uptime_ms;
		const char *text;
	} cases[] = {
		{999, "up 0:00:00\n"},
		{59999, "up 0:00:59\n"},
		{60000, "up 0:01:00\n"},
		{3599000, "up 0:59:59\n"},
		{86399999, "up 23:59:59\n"},
		{86400000, "up 1 d 0:00\n"},
		{UINT64_C(183899000), "up 2 d 3:04\n"},
		{UINT64_C(183900000), "up 2 d 3:05\n"},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++) {
		assert_int_equal(json_object_set_new(top.stats, "uptime_ms",
					 json_integer((json_int_t)cases[i].uptime_ms)),
			0);
		vbd_ctl_top_draw(&top);
		screen.picture[0] = '\0';
		add_line(screen.text[0]);
		assert_non_null(strstr(screen.picture, cases[i].text));
	}
}

CTL_DRAW_TEST(test_draw__the_help_scrolls)
{
	screen.lines = 30;
	top.page = VBD_CTL_TOP_HELP;
	draws(&top);
	screen.lines = 8;
	top.scroll = 1;
	draws(&top);
	top.scroll = 1000;
	draws(&top);
}

CTL_DRAW_TEST(test_draw__the_detail_is_awaited_and_fits)
{
	screen.lines = 8;
	screen.columns = 40;
	top.page = VBD_CTL_TOP_DETAIL;
	draws(&top);
	top.detail = "first\n  label         a text that is longer than a line\nthird\n"
		     "four\033th\n";
	draws(&top);
	screen.lines = 7;
	top.scroll = 2;
	draws(&top);
}

CTL_DRAW_TEST(test_draw__a_small_terminal_is_told_what_is_needed)
{
	static const size_t sizes[][2] = {{5, 24}, {6, 23}, {6, 24}};

	for (size_t i = 0; i < VBD_ARRAY_LEN(sizes); i++) {
		screen.lines = sizes[i][0];
		screen.columns = sizes[i][1];
		vbd_ctl_top_draw(&top);
		screen.picture[0] = '\0';
		add_line(screen.text[0]);
		assert_int_equal(strcmp(screen.picture, "needs 24 x 6\n") == 0, i < 2);
	}
}

CTL_DRAW_TEST(test_draw__a_page_has_the_lines_between_head_and_foot)
{
	static const size_t pages[][2] = {{0, 0}, {5, 0}, {6, 1}, {24, 19}};

	for (size_t i = 0; i < VBD_ARRAY_LEN(pages); i++) {
		screen.lines = pages[i][0];
		assert_int_equal(vbd_ctl_top_page_lines(), pages[i][1]);
	}
}
