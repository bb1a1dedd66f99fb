/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and times in `verbsctl stats --watch` and `history`. */
#include "tests/unit/unit.h"

#include "cmd/verbsctl/common/json.h"
#include "cmd/verbsctl/common/text.h"
#include "cmd/verbsctl/common/watch.h"

#include <jansson.h>

static json_t *changes(
	const char *first, const char *before, const char *now, double seconds, bool lately)
{
	json_t *looks[] = {
		json_loads(first, 0, NULL), json_loads(before, 0, NULL), json_loads(now, 0, NULL)};
	json_t *rows = vbd_ctl_watch_changes(looks[0], looks[1], looks[2], seconds, lately);

	for (size_t i = 0; i < 3; i++)
		json_decref(looks[i]);
	return rows;
}

static void assert_row(const json_t *rows, size_t i, const char *name, uint64_t value,
	const char *change, const char *per_second)
{
	const json_t *row = json_array_get(rows, i);

	assert_true(vbd_ctl_json_is(row, "name", name));
	assert_int_equal(vbd_ctl_json_uint(row, "value"), value);
	assert_string_equal(vbd_ctl_json_text(row, "change"), change);
	assert_string_equal(vbd_ctl_json_text(row, "per_second"), per_second);
}

static void test_watch__shows_what_changed_lately_with_its_rate(void **state)
{
	json_t *rows = changes("{\"a\": 0, \"b\": 5, \"c\": 1}", "{\"a\": 10, \"b\": 7, \"c\": 9}",
		"{\"a\": 16, \"b\": 7, \"c\": 8}", 2, true);

	(void)state;
	assert_int_equal(json_array_size(rows), 2);
	assert_row(rows, 0, "a", 16, "+6", "+3.0");
	assert_row(rows, 1, "c", 8, "-1", "-0.5");
	json_decref(rows);
}

static void test_watch__keeps_what_changed_since_it_began(void **state)
{
	json_t *rows = changes("{\"a\": 0, \"b\": 5, \"c\": 1}", "{\"a\": 10, \"b\": 7, \"c\": 1}",
		"{\"a\": 16, \"b\": 7, \"c\": 1}", 2, false);

	(void)state;
	assert_int_equal(json_array_size(rows), 2);
	assert_row(rows, 0, "a", 16, "+16", "+3.0");
	assert_row(rows, 1, "b", 7, "+2", "+0.0");
	json_decref(rows);
}

static void test_watch__leaves_out_texts_newcomers_and_the_time(void **state)
{
	json_t *rows = changes("{\"uptime_ms\": 1, \"s\": \"x\", \"n\": null}",
		"{\"uptime_ms\": 2, \"s\": \"y\", \"n\": 4}",
		"{\"uptime_ms\": 3, \"s\": \"z\", \"n\": 5, \"new\": 1}", 1, true);

	(void)state;
	assert_int_equal(json_array_size(rows), 0);
	json_decref(rows);
}

static void test_text__times_are_read_as_verbsd_writes_them(void **state)
{
	uint64_t ns = 0;

	(void)state;
	assert_true(vbd_ctl_parse_time("1970-01-02T00:00:01.000000007Z", &ns));
	assert_int_equal(ns, UINT64_C(86401000000007));
	assert_true(vbd_ctl_parse_time("2026-03-04T05:06:07.123456789Z", &ns));
	assert_int_equal(ns, UINT64_C(1772600767123456789));
	assert_false(vbd_ctl_parse_time("", &ns));
	assert_false(vbd_ctl_parse_time("2026-03-04T05:06:07Z", &ns));
	assert_false(vbd_ctl_parse_time("2026-03-04T05:06:07.123Z", &ns));
	assert_false(vbd_ctl_parse_time("2026-03-04T05:06:07.123456789Zx", &ns));
	assert_false(vbd_ctl_parse_time("2026-03-04T05:06:07.123456789+01:00", &ns));
}

static void assert_span(uint64_t ns, const char *wanted)
{
	char *text = vbd_ctl_text_of_span(ns);

	assert_string_equal(text, wanted);
	free(text);
}

static void test_text__spans_are_clocks_from_a_minute_on(void **state)
{
	(void)state;
	assert_span(1500000, "1.500 ms");
	assert_span(UINT64_C(59500000000), "59.500 s");
	assert_span(UINT64_C(60000000000), "0:01:00");
	assert_span(UINT64_C(90061) * 1000000000, "25:01:01");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_watch__shows_what_changed_lately_with_its_rate),
		cmocka_unit_test(test_watch__keeps_what_changed_since_it_began),
		cmocka_unit_test(test_watch__leaves_out_texts_newcomers_and_the_time),
		cmocka_unit_test(test_text__times_are_read_as_verbsd_writes_them),
		cmocka_unit_test(test_text__spans_are_clocks_from_a_minute_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
