/* SPDX-License-Identifier: Apache-2.0 */
/* The model of `verbsctl top`: rates, order, filter, columns, keys. */
#include "tests/unit/unit.h"

#include "cmd/verbsctl/common/json.h"
#include "cmd/verbsctl/common/text.h"
#include "cmd/verbsctl/common/view.h"
#include "cmd/verbsctl/top/top.h"

#include <jansson.h>
#include <locale.h>

#define MS UINT64_C(1000000)

static json_t *parse(const char *text)
{
	json_t *json = vbd_ctl_json_keep(json_loads(text, 0, NULL));

	assert_non_null(json);
	return json;
}

static void take(struct vbd_ctl_top *top, const char *connections, const char *cqs, uint64_t at_ms)
{
	vbd_ctl_top_take(top, parse(connections), cqs ? parse(cqs) : NULL, at_ms * MS);
}

/* A computed number of a row; NULL if it is unknown. */
static const json_t *number_of(const struct vbd_ctl_top *top, uint64_t id, const char *path)
{
	const char *key = vbd_ctl_format("%llu", (unsigned long long)id);

	return vbd_ctl_json_at(json_object_get(top->rows, key), path);
}

/* The line of a connection in a list that is wide enough for all. */
static void assert_line(struct vbd_ctl_top *top, uint64_t id, const char *wanted)
{
	char *rest = vbd_ctl_top_table(top, SIZE_MAX / 2, 200);
	const char *line;

	while ((line = strsep(&rest, "\n"))) {
		if (strtoull(line, NULL, 10) == id && strstr(line, wanted))
			return;
	}
	fail_msg("%s", vbd_ctl_top_table(top, SIZE_MAX / 2, 200));
}

TEST(test_rows__rates_are_per_second_between_two_looks)
{
	struct vbd_ctl_top top = {0};

	take(&top,
		"[{\"id\": 7, \"state\": \"established\", \"counters\": {\"send\": {\"bytes\": "
		"1000, \"completed\": 10}, \"recv\": {\"bytes\": 0, \"completed\": 4}}}]",
		NULL, 1000);
	assert_null(number_of(&top, 7, "top.sent_rate"));
	assert_line(&top, 7, "established -                -           -      -     -");
	take(&top,
		"[{\"id\": 7, \"state\": \"established\", \"counters\": {\"send\": {\"bytes\": "
		"3000, \"completed\": 20}, \"write_imm\": {\"bytes\": 500, \"completed\": 1}, "
		"\"recv\": {\"bytes\": 100, \"completed\": 5}, \"read\": {\"bytes\": 400}}}]",
		NULL, 1500);
	assert_true(json_number_value(number_of(&top, 7, "top.sent_rate")) == 5000);
	assert_true(json_number_value(number_of(&top, 7, "top.recv_rate")) == 1000);
	assert_true(json_number_value(number_of(&top, 7, "top.ops_rate")) == 24);
	assert_true(top.sent_rate == 5000 && top.received_rate == 1000);
	assert_line(&top, 7, "  4.9K   1000    24 ");
	vbd_ctl_top_fini(&top);
}

TEST(test_rows__a_counter_that_went_back_and_a_new_connection_have_no_rate)
{
	struct vbd_ctl_top top = {0};

	take(&top, "[{\"id\": 7, \"counters\": {\"send\": {\"bytes\": 1000}}}]", NULL, 1000);
	take(&top,
		"[{\"id\": 7, \"counters\": {\"send\": {\"bytes\": 10}}},"
		" {\"id\": 8, \"counters\": {\"send\": {\"bytes\": 10}}}]",
		NULL, 2000);
	assert_null(number_of(&top, 7, "top.sent_rate"));
	assert_null(number_of(&top, 8, "top.sent_rate"));
	assert_true(top.sent_rate == 0);
	vbd_ctl_top_fini(&top);
}

TEST(test_rows__what_is_forgotten_gives_no_rate)
{
	struct vbd_ctl_top top = {0};

	take(&top, "[{\"id\": 7, \"state\": \"established\"}]", NULL, 1000);
	vbd_ctl_top_take(&top, NULL, NULL, 0);
	assert_int_equal(top.shown_count, 0);
	take(&top, "[{\"id\": 7, \"state\": \"established\"}]", NULL, 2000);
	assert_null(number_of(&top, 7, "top.sent_rate"));
	vbd_ctl_top_fini(&top);
}

TEST(test_rows__an_ended_connection_has_no_rate)
{
	struct vbd_ctl_top top = {.ended = true};

	take(&top, "[{\"id\": 7, \"state\": \"established\"}]", NULL, 0);
	take(&top,
		"[{\"id\": 7, \"state\": \"failed\", "
		"\"end_code\": \"peer_unreachable\"}]",
		NULL, 1000);
	assert_null(number_of(&top, 7, "top.sent_rate"));
	assert_line(&top, 7, " peer_unreachable");
	vbd_ctl_top_fini(&top);
}

TEST(test_rows__a_look_of_just_now_has_its_rates_taken_over)
{
	struct vbd_ctl_top top = {0};

	take(&top, "[{\"id\": 7, \"counters\": {\"send\": {\"bytes\": 0}}}]", NULL, 1000);
	take(&top, "[{\"id\": 7, \"counters\": {\"send\": {\"bytes\": 1000}}}]", NULL, 2000);
	take(&top, "[{\"id\": 7, \"counters\": {\"send\": {\"bytes\": 900000}}}]", NULL, 2001);
	assert_true(json_number_value(number_of(&top, 7, "top.sent_rate")) == 1000);
	vbd_ctl_top_fini(&top);
}

TEST(test_rows__cq_and_rtt_are_shown_where_they_are_known)
{
	struct vbd_ctl_top top = {0};

	take(&top,
		"[{\"id\": 2, \"cq\": {\"id\": 5}, \"rtt\": "
		"{\"last_ns\": 12345, \"p99_ns\": 99400}},"
		" {\"id\": 1, \"cq\": {\"id\": 6}, \"rtt\": "
		"null}, {\"id\": 3}, {\"name\": \"none\"}, 17]",
		"[{\"id\": 5, \"cqe\": 1000, \"outstanding_cqe\": 250},"
		" {\"id\": 6, \"cqe\": 0, \"outstanding_cqe\": 0}]",
		0);
	assert_int_equal(json_object_size(top.rows), 3);
	assert_line(&top, 2, "  25% 12.3us 99.4us ");
	assert_line(&top, 1, "    -      -      - ");
	assert_line(&top, 3, " 3 -          -           -  ");
	vbd_ctl_top_fini(&top);
}

TEST(test_rows__names_can_not_steer_the_terminal)
{
	struct vbd_ctl_top top = {0};

	take(&top, "[{\"id\": 1, \"name\": \"\\u001b[2J\"}]", NULL, 0);
	assert_line(&top, 1, " 1 \\x1b[2J ");
	vbd_ctl_top_fini(&top);
}

/* Four connections: 4 has no rate, the others 300, 100 and 100. */
static struct vbd_ctl_top four(size_t sort)
{
	struct vbd_ctl_top top = {.sort = sort};

	take(&top, "[{\"id\": 1}, {\"id\": 2}, {\"id\": 3}]", NULL, 0);
	take(&top,
		"[{\"id\": 1, \"name\": \"web\", \"counters\": {\"send\": {\"bytes\": 300}}},"
		" {\"id\": 2, \"name\": \"store-a\", \"counters\": {\"send\": {\"bytes\": 100}}},"
		" {\"id\": 3, \"name\": \"Store-B\", \"counters\": {\"send\": {\"bytes\": 100}},"
		"  \"peer\": {\"addr\": \"192.0.2.9\", \"port\": 7471}}, {\"id\": 4}]",
		NULL, 1000);
	return top;
}

static void assert_order(const struct vbd_ctl_top *top, const char *wanted)
{
	char ids[32] = "";

	for (size_t i = 0; i < top->shown_count; i++)
		(void)snprintf(ids + strlen(ids), sizeof(ids) - strlen(ids), "%llu",
			(unsigned long long)vbd_ctl_json_uint(top->shown[i], "id"));
	assert_string_equal(ids, wanted);
}

static void press(struct vbd_ctl_top *top, const char *keys)
{
	while (*keys)
		(void)vbd_ctl_top_key(top, (unsigned char)*keys++, 2);
}

TEST(test_view__sorts_by_key_with_the_unknown_last_either_way)
{
	struct vbd_ctl_top top = four(vbd_ctl_top_column_of("sent/s", 0));

	assert_order(&top, "1234"); /* equal values are ordered by id */
	press(&top, "t");
	assert_order(&top, "2314");
	press(&top, "t");
	assert_order(&top, "1234");
	press(&top, "n");
	assert_order(&top, "3214"); /* byte order: capitals come first */
	press(&top, "r");
	assert_order(&top, "1234");
	press(&top, "i");
	assert_order(&top, "1234");
	assert_false(top.reverse);
	press(&top, "ii");
	assert_order(&top, "1234");
	press(&top, "i");
	assert_order(&top, "4321");
	press(&top, "<");
	assert_int_equal(top.sort, vbd_ctl_top_column_count - 1);
	press(&top, ">>");
	assert_string_equal(vbd_ctl_top_columns[top.sort].name, "name");
	vbd_ctl_top_fini(&top);
}

TEST(test_view__filters_while_it_is_typed)
{
	struct vbd_ctl_top top = four(0);

	press(&top, "/store");
	assert_order(&top, "23");
	press(&top, "q"); /* part of the filter, not a command */
	assert_false(top.quit);
	assert_order(&top, "");
	press(&top, "\177\n");
	assert_false(top.typing);
	assert_string_equal(top.filter, "store");
	press(&top, "/\177\177\177\177\177\177192.0.2.9");
	assert_order(&top, "3");
	press(&top, "\033");
	assert_string_equal(top.filter, "store");
	assert_order(&top, "23");
	press(&top, "\033");
	assert_order(&top, "1234");
	press(&top, "/\xc3\xa4\177\n");
	assert_string_equal(top.filter, "");
	vbd_ctl_top_fini(&top);
}

TEST(test_view__a_filter_is_not_longer_than_its_room)
{
	struct vbd_ctl_top top = four(0);

	press(&top, "/");
	for (size_t i = 0; i < 2 * VBD_CTL_TOP_FILTER_BYTES; i++)
		press(&top, "x");
	assert_int_equal(strlen(top.filter), VBD_CTL_TOP_FILTER_BYTES - 1);
	vbd_ctl_top_fini(&top);
}

TEST(test_view__the_choice_stays_with_its_connection)
{
	struct vbd_ctl_top top = four(0);

	press(&top, "i"); /* 4321; the user has chosen no row, so the topmost is */
	assert_int_equal(top.chosen, 4);
	press(&top, "jj");
	assert_int_equal(top.chosen, 2);
	press(&top, "i"); /* 1234 */
	assert_int_equal(top.chosen, 2);
	assert_int_equal(top.chosen_at, 1);
	take(&top, "[{\"id\": 1}, {\"id\": 3}]", NULL, 2000);
	assert_int_equal(top.chosen, 3);
	press(&top, "G");
	assert_int_equal(top.chosen, 3);
	press(&top, "jjj");
	assert_int_equal(top.chosen, 3);
	press(&top, "g");
	assert_int_equal(top.chosen, 1);
	press(&top, "k");
	assert_int_equal(top.chosen, 1);
	vbd_ctl_top_fini(&top);
}

TEST(test_view__scrolls_so_that_the_choice_is_seen)
{
	struct vbd_ctl_top top = four(0);

	press(&top, "G");
	(void)vbd_ctl_top_table(&top, 2, 80);
	assert_int_equal(top.first, 2);
	press(&top, "kk");
	(void)vbd_ctl_top_table(&top, 2, 80);
	assert_int_equal(top.first, 1);
	(void)vbd_ctl_top_table(&top, 10, 80);
	assert_int_equal(top.first, 0);
	(void)vbd_ctl_top_table(&top, 0, 80);
	vbd_ctl_top_fini(&top);
}

TEST(test_view__pages_open_and_close)
{
	struct vbd_ctl_top none = {0};
	struct vbd_ctl_top top = four(0);

	press(&none, "\n"); /* no row to show */
	assert_int_equal(none.page, VBD_CTL_TOP_LIST);
	vbd_ctl_top_fini(&none);
	assert_true(vbd_ctl_top_key(&top, VBD_CTL_KEY_ENTER, 2));
	assert_int_equal(top.page, VBD_CTL_TOP_DETAIL);
	press(&top, "jj");
	assert_int_equal(top.scroll, 2);
	assert_int_equal(top.chosen, 1);
	vbd_ctl_top_take(&top, NULL, NULL, 0); /* the connection ended; its page stays */
	assert_int_equal(top.page, VBD_CTL_TOP_DETAIL);
	assert_int_equal(top.chosen, 1);
	take(&top, "[{\"id\": 1}]", NULL, 2000);
	press(&top, "\033?");
	assert_int_equal(top.page, VBD_CTL_TOP_HELP);
	press(&top, "?");
	assert_int_equal(top.page, VBD_CTL_TOP_LIST);
	press(&top, "\n");
	assert_int_equal(top.page, VBD_CTL_TOP_DETAIL);
	press(&top, "q?q");
	assert_int_equal(top.page, VBD_CTL_TOP_LIST);
	assert_false(top.quit);
	assert_true(vbd_ctl_top_key(&top, 'a', 2));
	assert_true(top.ended);
	(void)vbd_ctl_top_key(&top, VBD_CTL_KEY_GONE, 2);
	assert_true(top.quit);
	vbd_ctl_top_fini(&top);
}

/* The titles of a list in a terminal of this width. */
static char *titles_at(struct vbd_ctl_top *top, size_t width)
{
	char *text = vbd_ctl_top_table(top, 1, width);

	return vbd_ctl_format("%.*s ", (int)strcspn(text, "\n"), text);
}

TEST(test_columns__those_that_matter_least_go_first)
{
	struct vbd_ctl_top top = {.ended = true};
	const char *titles, *wide;

	take(&top,
		"[{\"id\": 123456, \"name\": \"a-name-of-24-characters!!\","
		" \"state\": \"resolving_route\", \"device\": \"rxe0\","
		" \"peer\": {\"addr\": \"fe80::5054:ff:fe12:3456\", "
		"\"port\": 7471}}]",
		NULL, 0);
	assert_string_equal(titles_at(&top, 200),
		"    ID NAME                      STATE           PEER                           "
		"DEVICE SENT/s RECV/s OPS/s   CQ    RTT  RTT99  SENT  RECV END-CODE ");
	top.ended = false;
	assert_null(strstr(titles_at(&top, 200), "END-CODE"));
	titles = titles_at(&top, 80);
	assert_non_null(strstr(titles, " RTT "));
	assert_non_null(strstr(titles, " PEER "));
	assert_null(strstr(titles, " RTT99 "));
	assert_null(strstr(titles, " SENT "));
	titles = titles_at(&top, 30);
	assert_non_null(strstr(titles, " SENT/s "));
	assert_null(strstr(titles, " PEER "));
	take(&top, "[{\"id\": 12, \"name\": \"a-name-of-24-characters!!\"}]", NULL, 1000);
	top.ended = true;
	for (size_t columns = 2; columns < 250; columns++) {
		wide = titles_at(&top, columns);
		assert_true(strlen(wide) <= columns + 1);
		assert_memory_equal(wide, "ID ", 3);
	}
	vbd_ctl_top_fini(&top);
}

TEST(test_columns__each_has_its_own_letter_and_name)
{
	for (size_t i = 0; i < vbd_ctl_top_column_count; i++) {
		const struct vbd_ctl_top_column *column = &vbd_ctl_top_columns[i];

		assert_int_equal(vbd_ctl_top_column_of(NULL, column->letter), i);
		assert_int_equal(vbd_ctl_top_column_of(column->name, 0), i);
		assert_null(strchr("qQrajkgGh?/<> ", column->letter));
	}
	assert_int_equal(vbd_ctl_top_column_of(NULL, '!'), vbd_ctl_top_column_count);
	assert_int_equal(vbd_ctl_top_column_of("bytes", 0), vbd_ctl_top_column_count);
}

static void assert_short(const char *field, double number, const char *wanted)
{
	json_t *value = vbd_ctl_json_keep(json_real(number));

	assert_string_equal(vbd_ctl_fill(value, field), wanted);
}

TEST(test_columns__numbers_stay_short)
{
	static const struct {
		const char *field, *wanted;
		double number;
	} cases[] = {
		{"{:short}", "0", 0},
		{"{:short}", "1023", 1023},
		{"{:short}", "1.0K", 1023.6},
		{"{:short}", "99.9K", 99.94 * 1024},
		{"{:short}", "100K", 99.96 * 1024},
		{"{:short}", "1.0M", 1023.9 * 1024},
		{"{:short_ns}", "980ns", 980},
		{"{:short_ns}", "1.00us", 999.6},
		{"{:short_ns}", "12.3us", 12345},
		{"{:short_ns}", "999us", 999499},
		{"{:short_ns}", "1.00ms", 999600},
		{"{:short_ns}", "1.50s", 1.5e9},
		{"{:share}", "25%", 0.25},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(cases); i++)
		assert_short(cases[i].field, cases[i].number, cases[i].wanted);
	assert_string_equal(vbd_ctl_fill(NULL, "{:short} {:short_ns} {:share}"), "- - -");
}

static void assert_fit(const char *text, size_t columns, const char *wanted)
{
	char *fit = vbd_ctl_text_fit(text, columns);

	assert_string_equal(fit, wanted);
}

TEST(test_text__is_cut_and_filled_by_columns_not_bytes)
{
	assert_fit("abc", 5, "abc  ");
	assert_fit("abcdef", 5, "abcd~");
	assert_fit("abc", 0, "");
	assert_fit("abc", 1, "~");
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		skip();
	assert_fit("\xc3\xa4"
		   "bc",
		4,
		"\xc3\xa4"
		"bc ");
	assert_fit("\xe6\xbc\xa2\xe5\xad\x97", 3, "\xe6\xbc\xa2~"); /* two columns wide */
	assert_fit("\xe6\xbc\xa2\xe5\xad\x97", 2, "~ ");
	assert_int_equal(vbd_ctl_text_columns("\xe6\xbc\xa2x"), 3);
}

static void assert_wrapped(const char *text, size_t columns, size_t indent, const char *wanted)
{
	char *wrapped = vbd_ctl_text_wrap(text, columns, indent);

	assert_string_equal(wrapped, wanted);
}

TEST(test_text__long_lines_are_broken_at_spaces)
{
	assert_wrapped("one two three\nfour\n", 8, 2, "one two\n  three\nfour\n");
	assert_wrapped("  a b c d e", 6, 3, "  a b\n   c d\n   e\n");
	assert_wrapped("abcdefghij", 4, 1, "abcd\n efg\n hij\n"); /* no space to break at */
	assert_wrapped("  abcdefgh", 4, 1, "  ab\n cde\n fgh\n");
	assert_wrapped("\n\nx", 4, 1, "\n\nx\n");
	assert_wrapped("", 4, 1, "");
	assert_wrapped("abcdefgh", 3, 3, "abcdefgh\n");
	assert_wrapped("one two", 7, 2, "one two\n");
}
