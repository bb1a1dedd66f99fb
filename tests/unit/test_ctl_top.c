/* SPDX-License-Identifier: Apache-2.0 */
/* The model of `verbsctl top`: rates, order, filter, columns, keys. */
#include "tests/unit/unit.h"

#include "cmd/verbsctl/common/json.h"
#include "cmd/verbsctl/common/text.h"
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

static struct vbd_ctl_rows take_snapshot(
	const char *connections, const char *cqs, uint64_t at_ms, const struct vbd_ctl_rows *before)
{
	json_t *list = parse(connections);
	json_t *queues = cqs ? parse(cqs) : NULL;
	struct vbd_ctl_rows rows;

	vbd_ctl_rows_init(list, queues, at_ms * MS, before, &rows);
	return rows;
}

static void assert_cell(const struct vbd_ctl_rows *rows, uint64_t id,
	enum vbd_ctl_top_column column, const char *wanted)
{
	assert_string_equal(vbd_ctl_top_cell(vbd_ctl_rows_find(rows, id), column), wanted);
}

/* A computed number of a row; NULL if it is unknown. */
static const json_t *number_of(const struct vbd_ctl_rows *rows, uint64_t id, const char *path)
{
	return vbd_ctl_json_at(vbd_ctl_rows_find(rows, id), path);
}

TEST(test_rows__rates_are_per_second_between_two_looks)
{
	struct vbd_ctl_rows first = take_snapshot(
		"[{\"id\": 7, \"state\": \"established\", \"counters\": {\"send\": {\"bytes\": "
		"1000, \"completed\": 10}, \"recv\": {\"bytes\": 0, \"completed\": 4}}}]",
		NULL, 1000, NULL);
	struct vbd_ctl_rows second = take_snapshot(
		"[{\"id\": 7, \"state\": \"established\", \"counters\": {\"send\": {\"bytes\": "
		"3000, \"completed\": 20}, \"write_imm\": {\"bytes\": 500, \"completed\": 1}, "
		"\"recv\": {\"bytes\": 100, \"completed\": 5}, \"read\": {\"bytes\": 400}}}]",
		NULL, 1500, &first);

	assert_null(number_of(&first, 7, "top.sent_rate"));
	assert_cell(&first, 7, VBD_CTL_TOP_SENT_RATE, "-");
	assert_true(json_number_value(number_of(&second, 7, "top.sent_rate")) == 5000);
	assert_true(json_number_value(number_of(&second, 7, "top.recv_rate")) == 1000);
	assert_true(json_number_value(number_of(&second, 7, "top.ops_rate")) == 24);
	assert_true(second.sent_rate == 5000 && second.received_rate == 1000);
	assert_cell(&second, 7, VBD_CTL_TOP_SENT_RATE, "4.9K");
	vbd_ctl_rows_fini(&second);
	vbd_ctl_rows_fini(&first);
}

TEST(test_rows__a_counter_that_went_back_and_a_new_connection_have_no_rate)
{
	struct vbd_ctl_rows first = take_snapshot(
		"[{\"id\": 7, \"counters\": {\"send\": {\"bytes\": 1000}}}]", NULL, 1000, NULL);
	struct vbd_ctl_rows second =
		take_snapshot("[{\"id\": 7, \"counters\": {\"send\": {\"bytes\": 10}}},"
			      " {\"id\": 8, \"counters\": {\"send\": {\"bytes\": 10}}}]",
			NULL, 2000, &first);

	assert_null(number_of(&second, 7, "top.sent_rate"));
	assert_null(number_of(&second, 8, "top.sent_rate"));
	assert_true(second.sent_rate == 0);
	vbd_ctl_rows_fini(&second);
	vbd_ctl_rows_fini(&first);
}

TEST(test_rows__an_ended_connection_has_no_rate)
{
	struct vbd_ctl_rows first =
		take_snapshot("[{\"id\": 7, \"state\": \"established\"}]", NULL, 0, NULL);
	struct vbd_ctl_rows second = take_snapshot("[{\"id\": 7, \"state\": \"failed\", "
						   "\"end_code\": \"peer_unreachable\"}]",
		NULL, 1000, &first);

	assert_null(number_of(&second, 7, "top.sent_rate"));
	assert_cell(&second, 7, VBD_CTL_TOP_END_CODE, "peer_unreachable");
	vbd_ctl_rows_fini(&second);
	vbd_ctl_rows_fini(&first);
}

TEST(test_rows__a_look_of_just_now_has_its_rates_taken_over)
{
	const char *json[] = {"[{\"id\": 7, \"counters\": {\"send\": {\"bytes\": 0}}}]",
		"[{\"id\": 7, \"counters\": {\"send\": {\"bytes\": 1000}}}]",
		"[{\"id\": 7, \"counters\": {\"send\": {\"bytes\": 900000}}}]"};
	struct vbd_ctl_rows first = take_snapshot(json[0], NULL, 1000, NULL);
	struct vbd_ctl_rows second = take_snapshot(json[1], NULL, 2000, &first);
	struct vbd_ctl_rows third = take_snapshot(json[2], NULL, 2001, &second);

	assert_true(json_number_value(number_of(&third, 7, "top.sent_rate")) == 1000);
	vbd_ctl_rows_fini(&third);
	vbd_ctl_rows_fini(&second);
	vbd_ctl_rows_fini(&first);
}

TEST(test_rows__cq_and_rtt_are_shown_where_they_are_known)
{
	struct vbd_ctl_rows rows = take_snapshot("[{\"id\": 2, \"cq\": {\"id\": 5}, \"rtt\": "
						 "{\"last_ns\": 12345, \"p99_ns\": 99400}},"
						 " {\"id\": 1, \"cq\": {\"id\": 6}, \"rtt\": "
						 "null}, {\"id\": 3}, {\"name\": \"none\"}, 17]",
		"[{\"id\": 5, \"cqe\": 1000, \"outstanding_cqe\": 250},"
		" {\"id\": 6, \"cqe\": 0, \"outstanding_cqe\": 0}]",
		0, NULL);

	assert_int_equal(json_object_size(rows.by_id), 3);
	assert_cell(&rows, 2, VBD_CTL_TOP_CQ, "25%");
	assert_cell(&rows, 2, VBD_CTL_TOP_RTT, "12.3us");
	assert_cell(&rows, 2, VBD_CTL_TOP_RTT_P99, "99.4us");
	assert_cell(&rows, 1, VBD_CTL_TOP_CQ, "-");
	assert_cell(&rows, 1, VBD_CTL_TOP_RTT, "-");
	assert_cell(&rows, 3, VBD_CTL_TOP_CQ, "-");
	assert_cell(&rows, 3, VBD_CTL_TOP_NAME, "-");
	assert_null(vbd_ctl_rows_find(&rows, 4));
	vbd_ctl_rows_fini(&rows);
}

TEST(test_rows__names_can_not_steer_the_terminal)
{
	struct vbd_ctl_rows rows =
		take_snapshot("[{\"id\": 1, \"name\": \"\\u001b[2J\"}]", NULL, 0, NULL);

	assert_cell(&rows, 1, VBD_CTL_TOP_NAME, "\\x1b[2J");
	vbd_ctl_rows_fini(&rows);
}

/* Four connections: 4 has no rate, the others 300, 100 and 100. */
static struct vbd_ctl_rows four(void)
{
	struct vbd_ctl_rows first =
		take_snapshot("[{\"id\": 1}, {\"id\": 2}, {\"id\": 3}]", NULL, 0, NULL);
	struct vbd_ctl_rows rows = take_snapshot(
		"[{\"id\": 1, \"name\": \"web\", \"counters\": {\"send\": {\"bytes\": 300}}},"
		" {\"id\": 2, \"name\": \"store-a\", \"counters\": {\"send\": {\"bytes\": 100}}},"
		" {\"id\": 3, \"name\": \"Store-B\", \"counters\": {\"send\": {\"bytes\": 100}},"
		"  \"peer\": {\"addr\": \"192.0.2.9\", \"port\": 7471}}, {\"id\": 4}]",
		NULL, 1000, &first);

	vbd_ctl_rows_fini(&first);
	return rows;
}

static void assert_order(const struct vbd_ctl_top_view *view, const char *wanted)
{
	char ids[32] = "";

	for (size_t i = 0; i < view->shown_count; i++)
		(void)snprintf(ids + strlen(ids), sizeof(ids) - strlen(ids), "%llu",
			(unsigned long long)vbd_ctl_json_uint(view->shown[i], "id"));
	assert_string_equal(ids, wanted);
}

static void press(struct vbd_ctl_top_view *view, const struct vbd_ctl_rows *rows, const char *keys)
{
	while (*keys)
		(void)vbd_ctl_top_view_key(view, rows, (unsigned char)*keys++, 2);
}

TEST(test_view__sorts_by_key_with_the_unknown_last_either_way)
{
	struct vbd_ctl_top_view view = {.sort = VBD_CTL_TOP_SENT_RATE};
	struct vbd_ctl_rows rows = four();

	vbd_ctl_top_view_take(&view, &rows);
	assert_order(&view, "1234"); /* equal values are ordered by id */
	press(&view, &rows, "t");
	assert_order(&view, "2314");
	press(&view, &rows, "t");
	assert_order(&view, "1234");
	press(&view, &rows, "n");
	assert_order(&view, "3214"); /* byte order: capitals come first */
	press(&view, &rows, "r");
	assert_order(&view, "1234");
	press(&view, &rows, "i");
	assert_order(&view, "1234");
	assert_false(view.reverse);
	press(&view, &rows, "ii");
	assert_order(&view, "1234");
	press(&view, &rows, "i");
	assert_order(&view, "4321");
	press(&view, &rows, "<");
	assert_int_equal(view.sort, VBD_CTL_TOP_COLUMN_END - 1);
	press(&view, &rows, ">>");
	assert_int_equal(view.sort, VBD_CTL_TOP_NAME);
	vbd_ctl_top_view_fini(&view);
	vbd_ctl_rows_fini(&rows);
}

TEST(test_view__filters_while_it_is_typed)
{
	struct vbd_ctl_top_view view = {.sort = VBD_CTL_TOP_ID};
	struct vbd_ctl_rows rows = four();

	vbd_ctl_top_view_take(&view, &rows);
	press(&view, &rows, "/store");
	assert_order(&view, "23");
	press(&view, &rows, "q"); /* part of the filter, not a command */
	assert_false(view.quit);
	assert_order(&view, "");
	press(&view, &rows, "\177\n");
	assert_false(view.typing);
	assert_string_equal(view.filter, "store");
	press(&view, &rows, "/\177\177\177\177\177\177192.0.2.9");
	assert_order(&view, "3");
	press(&view, &rows, "\033");
	assert_string_equal(view.filter, "store");
	assert_order(&view, "23");
	press(&view, &rows, "\033");
	assert_order(&view, "1234");
	press(&view, &rows, "/\xc3\xa4\177\n");
	assert_string_equal(view.filter, "");
	vbd_ctl_top_view_fini(&view);
	vbd_ctl_rows_fini(&rows);
}

TEST(test_view__a_filter_is_not_longer_than_its_room)
{
	struct vbd_ctl_top_view view = {.sort = VBD_CTL_TOP_ID};
	struct vbd_ctl_rows rows = four();

	press(&view, &rows, "/");
	for (size_t i = 0; i < 2 * VBD_CTL_TOP_FILTER_BYTES; i++)
		press(&view, &rows, "x");
	assert_int_equal(strlen(view.filter), VBD_CTL_TOP_FILTER_BYTES - 1);
	vbd_ctl_top_view_fini(&view);
	vbd_ctl_rows_fini(&rows);
}

TEST(test_view__the_choice_stays_with_its_connection)
{
	struct vbd_ctl_top_view view = {.sort = VBD_CTL_TOP_ID};
	struct vbd_ctl_rows rows = four();
	struct vbd_ctl_rows fewer;

	vbd_ctl_top_view_take(&view, &rows);
	press(&view, &rows, "i"); /* 4321; the user has chosen no row, so the topmost is */
	assert_int_equal(view.chosen, 4);
	press(&view, &rows, "jj");
	assert_int_equal(view.chosen, 2);
	press(&view, &rows, "i"); /* 1234 */
	assert_int_equal(view.chosen, 2);
	assert_int_equal(view.chosen_at, 1);
	fewer = take_snapshot("[{\"id\": 1}, {\"id\": 3}]", NULL, 0, NULL);
	vbd_ctl_top_view_take(&view, &fewer);
	assert_int_equal(view.chosen, 3);
	press(&view, &fewer, "G");
	assert_int_equal(view.chosen, 3);
	press(&view, &fewer, "jjj");
	assert_int_equal(view.chosen, 3);
	press(&view, &fewer, "g");
	assert_int_equal(view.chosen, 1);
	press(&view, &fewer, "k");
	assert_int_equal(view.chosen, 1);
	vbd_ctl_top_view_fini(&view);
	vbd_ctl_rows_fini(&fewer);
	vbd_ctl_rows_fini(&rows);
}

TEST(test_view__scrolls_so_that_the_choice_is_seen)
{
	struct vbd_ctl_top_view view = {.sort = VBD_CTL_TOP_ID};
	struct vbd_ctl_rows rows = four();

	vbd_ctl_top_view_take(&view, &rows);
	press(&view, &rows, "G");
	vbd_ctl_top_view_settle(&view, 2);
	assert_int_equal(view.first, 2);
	press(&view, &rows, "kk");
	vbd_ctl_top_view_settle(&view, 2);
	assert_int_equal(view.first, 1);
	vbd_ctl_top_view_settle(&view, 10);
	assert_int_equal(view.first, 0);
	vbd_ctl_top_view_settle(&view, 0);
	vbd_ctl_top_view_fini(&view);
	vbd_ctl_rows_fini(&rows);
}

TEST(test_view__pages_open_and_close)
{
	struct vbd_ctl_top_view view = {.sort = VBD_CTL_TOP_ID};
	struct vbd_ctl_rows none = {0};
	struct vbd_ctl_rows rows = four();

	press(&view, &none, "\n"); /* no row to show */
	assert_int_equal(view.page, VBD_CTL_TOP_LIST);
	vbd_ctl_top_view_take(&view, &rows);
	assert_true(vbd_ctl_top_view_key(&view, &rows, VBD_CTL_KEY_ENTER, 2));
	assert_int_equal(view.page, VBD_CTL_TOP_DETAIL);
	press(&view, &rows, "jj");
	assert_int_equal(view.scroll, 2);
	assert_int_equal(view.chosen, 1);
	vbd_ctl_top_view_take(&view, &none); /* the connection ended; its page stays */
	assert_int_equal(view.page, VBD_CTL_TOP_DETAIL);
	assert_int_equal(view.chosen, 1);
	press(&view, &rows, "\033?");
	assert_int_equal(view.page, VBD_CTL_TOP_HELP);
	press(&view, &rows, "?");
	assert_int_equal(view.page, VBD_CTL_TOP_LIST);
	press(&view, &rows, "\n");
	assert_int_equal(view.page, VBD_CTL_TOP_DETAIL);
	press(&view, &rows, "q?q");
	assert_int_equal(view.page, VBD_CTL_TOP_LIST);
	assert_false(view.quit);
	assert_true(vbd_ctl_top_view_key(&view, &rows, 'a', 2));
	assert_true(view.ended);
	(void)vbd_ctl_top_view_key(&view, &rows, VBD_CTL_KEY_GONE, 2);
	assert_true(view.quit);
	vbd_ctl_top_view_fini(&view);
	vbd_ctl_rows_fini(&rows);
}

static size_t width_of(const struct vbd_ctl_top_layout *layout)
{
	size_t total = 0;

	for (size_t i = 0; i < VBD_CTL_TOP_COLUMN_END; i++) {
		if (layout->width[i])
			total += layout->width[i] + (total ? 1 : 0);
	}
	return total;
}

TEST(test_columns__those_that_matter_least_go_first)
{
	struct vbd_ctl_top_view view = {.sort = VBD_CTL_TOP_ID};
	struct vbd_ctl_rows rows =
		take_snapshot("[{\"id\": 123456, \"name\": \"a-name-of-24-characters!!\","
			      " \"state\": \"resolving_route\", \"device\": \"rxe0\","
			      " \"peer\": {\"addr\": \"fe80::5054:ff:fe12:3456\", "
			      "\"port\": 7471}}]",
			NULL, 0, NULL);
	struct vbd_ctl_top_layout layout;

	vbd_ctl_top_view_take(&view, &rows);
	layout = vbd_ctl_top_layout(view.shown, 1, 200, true);
	for (size_t i = 0; i < VBD_CTL_TOP_COLUMN_END; i++)
		assert_int_not_equal(layout.width[i], 0);
	assert_int_equal(layout.width[VBD_CTL_TOP_ID], 6);
	assert_int_equal(layout.width[VBD_CTL_TOP_NAME], 24);
	assert_int_equal(layout.width[VBD_CTL_TOP_PEER], 30);
	assert_int_equal(layout.width[VBD_CTL_TOP_STATE], 15);
	layout = vbd_ctl_top_layout(view.shown, 1, 200, false);
	assert_int_equal(layout.width[VBD_CTL_TOP_END_CODE], 0);
	layout = vbd_ctl_top_layout(view.shown, 1, 80, false);
	assert_int_not_equal(layout.width[VBD_CTL_TOP_RTT], 0);
	assert_int_not_equal(layout.width[VBD_CTL_TOP_PEER], 0);
	assert_int_equal(layout.width[VBD_CTL_TOP_RTT_P99], 0);
	assert_int_equal(layout.width[VBD_CTL_TOP_SENT], 0);
	layout = vbd_ctl_top_layout(view.shown, 1, 30, false);
	assert_int_not_equal(layout.width[VBD_CTL_TOP_SENT_RATE], 0);
	assert_int_equal(layout.width[VBD_CTL_TOP_PEER], 0);
	for (size_t columns = 2; columns < 250; columns++) {
		layout = vbd_ctl_top_layout(view.shown, 1, columns, true);
		assert_true(width_of(&layout) <= columns);
		assert_int_not_equal(layout.width[VBD_CTL_TOP_ID], 0);
	}
	vbd_ctl_top_view_fini(&view);
	vbd_ctl_rows_fini(&rows);
}

TEST(test_columns__each_has_its_own_letter_and_name)
{
	for (size_t i = 0; i < VBD_CTL_TOP_COLUMN_END; i++) {
		enum vbd_ctl_top_column column = (enum vbd_ctl_top_column)i;
		const struct vbd_ctl_top_column_spec *spec = &vbd_ctl_top_columns[column];

		assert_int_equal(vbd_ctl_top_column_of(NULL, spec->letter), column);
		assert_int_equal(vbd_ctl_top_column_of(spec->name, 0), column);
		assert_true(spec->least <= spec->most);
		assert_null(strchr("qQrajkgGh?/<> ", spec->letter));
	}
	assert_int_equal(vbd_ctl_top_column_of(NULL, '!'), VBD_CTL_TOP_COLUMN_END);
	assert_int_equal(vbd_ctl_top_column_of("bytes", 0), VBD_CTL_TOP_COLUMN_END);
}

TEST(test_columns__numbers_stay_short)
{
	assert_string_equal(vbd_ctl_short_count(0), "0");
	assert_string_equal(vbd_ctl_short_count(1023), "1023");
	assert_string_equal(vbd_ctl_short_count(1023.6), "1.0K");
	assert_string_equal(vbd_ctl_short_count(99.94 * 1024), "99.9K");
	assert_string_equal(vbd_ctl_short_count(99.96 * 1024), "100K");
	assert_string_equal(vbd_ctl_short_count(1023.9 * 1024), "1.0M");
	assert_string_equal(vbd_ctl_short_ns(980), "980ns");
	assert_string_equal(vbd_ctl_short_ns(999.6), "1.00us");
	assert_string_equal(vbd_ctl_short_ns(12345), "12.3us");
	assert_string_equal(vbd_ctl_short_ns(999499), "999us");
	assert_string_equal(vbd_ctl_short_ns(999600), "1.00ms");
	assert_string_equal(vbd_ctl_short_ns(1.5e9), "1.50s");
}

static void assert_fit(const char *text, size_t columns, bool right, const char *wanted)
{
	char *fit = vbd_ctl_text_fit(text, columns, right);

	assert_string_equal(fit, wanted);
}

TEST(test_text__is_cut_and_filled_by_columns_not_bytes)
{
	assert_fit("abc", 5, false, "abc  ");
	assert_fit("abc", 5, true, "  abc");
	assert_fit("abcdef", 5, false, "abcd~");
	assert_fit("abc", 0, false, "");
	assert_fit("abc", 1, false, "~");
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		skip();
	assert_fit("\xc3\xa4"
		   "bc",
		4, false,
		"\xc3\xa4"
		"bc ");
	assert_fit("\xe6\xbc\xa2\xe5\xad\x97", 3, false, "\xe6\xbc\xa2~"); /* two columns wide */
	assert_fit("\xe6\xbc\xa2\xe5\xad\x97", 2, false, "~ ");
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
