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
	char *fit = vbd_ctl_text_fit(text, columns, false);

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
static void draws(struct vbd_ctl_top_view *view, const struct vbd_ctl_top_picture *picture)
{
	size_t last = 0;

	vbd_ctl_top_draw(view, picture);
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

static struct vbd_ctl_rows rows_of(const char *list)
{
	struct vbd_ctl_rows rows;

	vbd_ctl_rows_init(parse(list), NULL, 1, NULL, &rows);
	return rows;
}

#define THREE                                                                               \
	"[{'id':1,'name':'one','state':'established','peer':{'addr':'192.0.2.1','port':1}," \
	"'device':'rxe0','counters':{'send':{'bytes':2048,'completed':2}}},"                \
	"{'id':2,'name':'two','state':'failed','end_code':'rejected'},"                     \
	"{'id':3,'name':null,'state':'resolving_addr'}]"

static struct {
	struct vbd_ctl_top_view view;
	struct vbd_ctl_rows rows;
	json_t *stats;
	struct vbd_ctl_top_picture picture;
} test;

static int set_up(void **state)
{
	(void)state;
	memset(&test, 0, sizeof(test));
	screen.lines = 10;
	screen.columns = 80;
	test.rows = rows_of(THREE);
	test.stats = parse("{'uptime_ms':3723000,'connections':3,'connections_established':2,"
			   "'connections_ended':6,'connections_failed':1,'transfers':4}");
	test.view = (struct vbd_ctl_top_view){.sort = VBD_CTL_TOP_ID};
	test.picture = (struct vbd_ctl_top_picture){.server = "http://h:1",
		.index = parse("{'version':'1.2.3'}"),
		.stats = test.stats,
		.rows = &test.rows,
		.total = 3,
		.stale_s = 9};
	vbd_ctl_top_view_take(&test.view, &test.rows);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	vbd_ctl_top_view_fini(&test.view);
	vbd_ctl_rows_fini(&test.rows);
	return 0;
}

#define CTL_DRAW_TEST(name) TEST_WITH(name, void *no_fixture, set_up, tear_down)

static void use_rows(const char *list)
{
	vbd_ctl_rows_fini(&test.rows);
	test.rows = rows_of(list);
	vbd_ctl_top_view_take(&test.view, &test.rows);
}

CTL_DRAW_TEST(test_draw__a_list_of_connections)
{
	draws(&test.view, &test.picture);
}

CTL_DRAW_TEST(test_draw__what_is_shown_of_more)
{
	test.view.reverse = true;
	test.view.ended = true;
	(void)snprintf(test.view.filter, sizeof(test.view.filter), "o");
	vbd_ctl_top_view_take(&test.view, &test.rows);
	test.picture.total = 4;
	draws(&test.view, &test.picture);
}

CTL_DRAW_TEST(test_draw__a_list_is_cut_where_the_screen_ends)
{
	screen.lines = 7;
	screen.columns = 40;
	test.view.chosen_at = 2;
	test.view.holds = true;
	draws(&test.view, &test.picture);
}

CTL_DRAW_TEST(test_draw__trouble_goes_before_typing_and_typing_before_news)
{
	screen.lines = 6;
	test.picture.news = "restarted";
	draws(&test.view, &test.picture);
	test.view.typing = true;
	(void)snprintf(test.view.filter, sizeof(test.view.filter), "ab");
	draws(&test.view, &test.picture);
	test.picture.trouble = "no\nanswer";
	draws(&test.view, &test.picture);
}

CTL_DRAW_TEST(test_draw__an_empty_list_says_why)
{
	screen.lines = 6;
	(void)snprintf(test.view.filter, sizeof(test.view.filter), "zzz");
	vbd_ctl_top_view_take(&test.view, &test.rows);
	draws(&test.view, &test.picture);
	test.view.filter[0] = '\0';
	use_rows("[]");
	draws(&test.view, &test.picture);
	test.view.ended = true;
	draws(&test.view, &test.picture);
	test.picture.stats = NULL;
	test.picture.index = NULL;
	draws(&test.view, &test.picture);
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
		assert_int_equal(json_object_set_new(test.stats, "uptime_ms",
					 json_integer((json_int_t)cases[i].uptime_ms)),
			0);
		vbd_ctl_top_draw(&test.view, &test.picture);
		screen.picture[0] = '\0';
		add_line(screen.text[0]);
		assert_non_null(strstr(screen.picture, cases[i].text));
	}
}

CTL_DRAW_TEST(test_draw__the_help_scrolls)
{
	screen.lines = 30;
	test.view.page = VBD_CTL_TOP_HELP;
	draws(&test.view, &test.picture);
	screen.lines = 8;
	test.view.scroll = 1;
	draws(&test.view, &test.picture);
	test.view.scroll = 1000;
	draws(&test.view, &test.picture);
}

CTL_DRAW_TEST(test_draw__the_detail_is_awaited_and_fits)
{
	screen.lines = 8;
	screen.columns = 40;
	test.view.page = VBD_CTL_TOP_DETAIL;
	draws(&test.view, &test.picture);
	test.picture.detail = "first\n  label         a text that is longer than a line\nthird\n"
			      "four\033th\n";
	draws(&test.view, &test.picture);
	screen.lines = 7;
	test.view.scroll = 2;
	draws(&test.view, &test.picture);
}

CTL_DRAW_TEST(test_draw__a_small_terminal_is_told_what_is_needed)
{
	static const size_t sizes[][2] = {{5, 24}, {6, 23}, {6, 24}};

	for (size_t i = 0; i < VBD_ARRAY_LEN(sizes); i++) {
		screen.lines = sizes[i][0];
		screen.columns = sizes[i][1];
		vbd_ctl_top_draw(&test.view, &test.picture);
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
