/* SPDX-License-Identifier: Apache-2.0 */
/* The values of /v1/stats with the names that are kept between the answers. */
#include "api/resources/stat_names.h"
#include "base/histogram.h"
#include "tests/fake/provider_fake.h"
#include "tests/unit/document.h"
#include "tests/unit/unit.h"

static const struct vbd_stat open = VBD_STAT("verbsd_open", GAUGE, "Open.", .value = 3);
static const struct vbd_stat requests =
	VBD_STAT("verbsd_http_requests_total", COUNTER, "Requests.", .value = 4);

static struct vbd_stat of_device(const char *name, uint64_t value)
{
	return (struct vbd_stat)VBD_STAT("verbsd_device_bytes", GAUGE, "Bytes.", .label = "device",
		.label_value = name, .value = value);
}

/* Write rows, and compare with the text; returns the tag. */
static uint64_t writes(struct vbd_stat_names *names, const struct vbd_stat *rows, size_t count,
	const char *expected)
{
	struct vbd_encoder out = vbd_encode_begin();
	struct vbd_stat_writer writer = {.names = names, .out = &out};
	size_t len = 0;
	char *text;

	for (size_t i = 0; i < count; i++)
		vbd_stat_write(&rows[i], &writer);
	text = vbd_encode_end(&out, &len);
	assert_non_null(text);
	assert_string_equal(text, expected);
	free(text);
	return writer.tag;
}

static void test_stat_names__rows_may_come_and_go(void **state)
{
	const struct vbd_stat one[] = {open, of_device("b", 7), requests};
	const struct vbd_stat two[] = {open, of_device("a", 5), of_device("b", 7), requests};
	static const char text_of_one[] = "{\"open\":3,\"device_b_bytes\":7,\"http_requests\":4}";
	struct vbd_stat_names names = {0};

	(void)state;
	for (int i = 0; i < 2; i++) {
		(void)writes(&names, one, 3, text_of_one);
		(void)writes(&names, one, 3, text_of_one);
		(void)writes(&names, two, 4,
			"{\"open\":3,\"device_a_bytes\":5,\"device_b_bytes\":7,"
			"\"http_requests\":4}");
		(void)writes(&names, one, 1, "{\"open\":3}");
	}
	vbd_stat_names_fini(&names);
}

static void test_stat_names__a_label_in_the_same_place_is_read_again(void **state)
{
	char label[] = "a";
	struct vbd_stat row = of_device(label, 1);
	struct vbd_stat_names names = {0};

	(void)state;
	(void)writes(&names, &row, 1, "{\"device_a_bytes\":1}");
	label[0] = 'b';
	(void)writes(&names, &row, 1, "{\"device_b_bytes\":1}");
	vbd_stat_names_fini(&names);
}

static void test_stat_names__a_histogram_has_several(void **state)
{
	struct vbd_histogram times = {0};
	struct vbd_stat row = VBD_STAT("verbsd_wait_seconds", TIMES, "Waits.", .times = &times);
	struct vbd_stat_names names = {0};

	(void)state;
	for (int i = 0; i < 2; i++)
		(void)writes(&names, &row, 1,
			"{\"wait_count\":0,\"wait_sum_ns\":0,\"wait_p50_ns\":0,\"wait_p99_ns\":0,"
			"\"wait_p999_ns\":0,\"wait_max_ns\":0}");
	vbd_stat_names_fini(&names);
}

static void test_stat_names__the_tag_is_of_what_a_request_does_not_change(void **state)
{
	struct vbd_stat rows[] = {open, requests};
	struct vbd_stat_names names = {0};
	uint64_t tag;

	(void)state;
	tag = writes(&names, rows, 2, "{\"open\":3,\"http_requests\":4}");
	rows[1].value = 5;
	assert_true(tag == writes(&names, rows, 2, "{\"open\":3,\"http_requests\":5}"));
	rows[0].value = 4;
	assert_true(tag != writes(&names, rows, 2, "{\"open\":4,\"http_requests\":5}"));
	vbd_stat_names_fini(&names);
}

static void test_stat_names__without_memory_there_is_no_answer(void **state)
{
	const struct vbd_stat rows[] = {open, of_device("a", 5), requests};
	bool failed = true;

	(void)state;
	for (unsigned int n = 1; failed; n++) {
		struct vbd_stat_names names = {0};
		struct vbd_encoder out = vbd_encode_begin();
		struct vbd_stat_writer writer = {.names = &names, .out = &out};
		size_t len = 0;
		char *text;

		fake_memory_fail_nth(n);
		for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++)
			vbd_stat_write(&rows[i], &writer);
		failed = fake_memory_failed();
		fake_memory_fail_nth(0);
		text = vbd_encode_end(&out, &len);
		assert_int_equal(text == NULL, failed);
		free(text);
		(void)writes(
			&names, rows, 3, "{\"open\":3,\"device_a_bytes\":5,\"http_requests\":4}");
		vbd_stat_names_fini(&names);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stat_names__rows_may_come_and_go),
		cmocka_unit_test(test_stat_names__a_label_in_the_same_place_is_read_again),
		cmocka_unit_test(test_stat_names__a_histogram_has_several),
		cmocka_unit_test(test_stat_names__the_tag_is_of_what_a_request_does_not_change),
		cmocka_unit_test(test_stat_names__without_memory_there_is_no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
