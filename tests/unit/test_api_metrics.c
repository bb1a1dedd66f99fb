/* SPDX-License-Identifier: Apache-2.0 */
/* The text format of Prometheus. */
#include "api/observe/metrics_parts.h"
#include "tests/unit/unit.h"

/* The text written so far; the caller frees it. */
static char *end(struct vbd_metrics_text *out)
{
	size_t len_bytes;
	char *text = vbd_encode_take(&out->text, &len_bytes);
	char *copy;

	assert_non_null(text);
	copy = calloc(1, len_bytes + 1);
	assert_non_null(copy);
	memcpy(copy, text, len_bytes);
	free(text);
	assert_int_equal(strlen(copy), len_bytes);
	return copy;
}

TEST(test_api_metrics__a_family_has_help_type_and_samples)
{
	const struct vbd_metrics_label labels[] = {{"op", "write"}, {"device", "rxe0"}, {0}};
	struct vbd_metrics_text out = {0};
	char *text;

	vbd_metrics_family(&out, "verbsd_x_total", "counter", "What it is.");
	vbd_metrics_put(&out, NULL, 7);
	vbd_metrics_put(&out, labels, UINT64_MAX);
	text = end(&out);
	assert_string_equal(text, "# HELP verbsd_x_total What it is.\n"
				  "# TYPE verbsd_x_total counter\n"
				  "verbsd_x_total 7\n"
				  "verbsd_x_total{op=\"write\",device=\"rxe0\"} "
				  "18446744073709551615\n");
	free(text);
}

TEST(test_api_metrics__label_values_are_escaped)
{
	const struct vbd_metrics_label labels[] = {{"name", "a\"b\\c\nd"}, {0}};
	struct vbd_metrics_text out = {0};
	char *text;

	vbd_metrics_family(&out, "verbsd_x", "gauge", "X.");
	vbd_metrics_put(&out, labels, 1);
	text = end(&out);
	assert_non_null(strstr(text, "verbsd_x{name=\"a\\\"b\\\\c\\nd\"} 1\n"));
	free(text);
}

TEST(test_api_metrics__times_are_in_seconds)
{
	struct vbd_metrics_text out = {0};
	char *text;

	vbd_metrics_family(&out, "verbsd_x_seconds", "gauge", "X.");
	vbd_metrics_put_seconds(&out, NULL, 12000000034);
	text = end(&out);
	assert_non_null(strstr(text, "verbsd_x_seconds 12.000000034\n"));
	free(text);
}

TEST(test_api_metrics__buckets_add_up)
{
	const struct vbd_metrics_label labels[] = {{"phase", "addr"}, {0}};
	struct vbd_histogram *times = calloc(1, sizeof(*times));
	struct vbd_metrics_text out = {0};
	char *text;

	assert_non_null(times);
	vbd_histogram_add(times, 1000);
	vbd_histogram_add(times, 5000);
	vbd_histogram_add(times, UINT64_C(200000000000));
	vbd_metrics_family(&out, "verbsd_x_seconds", "histogram", "X.");
	vbd_metrics_put_histogram(&out, labels, times);
	text = end(&out);
	assert_non_null(strstr(text, "_bucket{phase=\"addr\",le=\"0.000001024\"} 1\n"));
	assert_non_null(strstr(text, "_bucket{phase=\"addr\",le=\"0.000004096\"} 1\n"));
	assert_non_null(strstr(text, "_bucket{phase=\"addr\",le=\"0.000016384\"} 2\n"));
	assert_non_null(strstr(text, "_bucket{phase=\"addr\",le=\"68.719476736\"} 2\n"));
	assert_non_null(strstr(text, "_bucket{phase=\"addr\",le=\"+Inf\"} 3\n"));
	assert_non_null(strstr(text, "_sum{phase=\"addr\"} 200.000006000\n"));
	assert_non_null(strstr(text, "_count{phase=\"addr\"} 3\n"));
	free(text);
	free(times);
}

TEST(test_api_metrics__a_long_page_grows)
{
	struct vbd_metrics_text out = {0};
	char *text;

	vbd_metrics_family(&out, "verbsd_x", "gauge", "X.");
	for (uint64_t i = 0; i < 20000; i++)
		vbd_metrics_put(&out, NULL, i);
	text = end(&out);
	assert_non_null(strstr(text, "\nverbsd_x 19999\n"));
	free(text);
}
