/* SPDX-License-Identifier: Apache-2.0 */
#include "api/observe/metrics_parts.h"
#include "base/clock.h"

static void put_text(struct vbd_encoder *out, const char *text)
{
	vbd_encode_raw(out, text, strlen(text));
}

static void put_escaped(struct vbd_encoder *out, const char *value)
{
	for (;;) {
		size_t plain = strcspn(value, "\\\"\n");

		vbd_encode_raw(out, value, plain);
		value += plain;
		if (!*value)
			return;
		vbd_encode_raw(out, "\\", 1);
		vbd_encode_raw(out, *value == '\n' ? "n" : value, 1);
		value++;
	}
}

/* Write a number with @digits digits at least. */
static void put_decimal(struct vbd_encoder *out, uint64_t value, size_t digits)
{
	char text[20];
	size_t at = sizeof(text);

	do {
		text[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value || sizeof(text) - at < digits);
	vbd_encode_raw(out, text + at, sizeof(text) - at);
}

/* Write the name and the labels of a sample. Returns the character before one more label. */
static char put_name(struct vbd_encoder *out, const char *family, const char *suffix,
	const struct vbd_metrics_label *labels)
{
	char before = '{';

	put_text(out, family);
	put_text(out, suffix);
	for (; labels && labels->name; labels++) {
		vbd_encode_raw(out, &before, 1);
		put_text(out, labels->name);
		vbd_encode_raw(out, "=\"", 2);
		put_escaped(out, labels->value);
		vbd_encode_raw(out, "\"", 1);
		before = ',';
	}
	return before;
}

/* Write a line up to its value. */
static void put_sample(
	struct vbd_metrics_text *out, const char *suffix, const struct vbd_metrics_label *labels)
{
	bool has_labels = put_name(&out->text, out->family, suffix, labels) == ',';

	put_text(&out->text, has_labels ? "} " : " ");
}

static void put_number(struct vbd_metrics_text *out, uint64_t value)
{
	put_decimal(&out->text, value, 1);
	vbd_encode_raw(&out->text, "\n", 1);
}

static void put_ns(struct vbd_metrics_text *out, uint64_t value_ns)
{
	put_decimal(&out->text, value_ns / VBD_NS_PER_S, 1);
	vbd_encode_raw(&out->text, ".", 1);
	put_decimal(&out->text, value_ns % VBD_NS_PER_S, 9);
	vbd_encode_raw(&out->text, "\n", 1);
}

void vbd_metrics_family(
	struct vbd_metrics_text *out, const char *name, const char *type, const char *help)
{
	(void)snprintf(out->family, sizeof(out->family), "%s", name);
	put_text(&out->text, "# HELP ");
	put_text(&out->text, name);
	vbd_encode_raw(&out->text, " ", 1);
	put_text(&out->text, help);
	put_text(&out->text, "\n# TYPE ");
	put_text(&out->text, name);
	vbd_encode_raw(&out->text, " ", 1);
	put_text(&out->text, type);
	vbd_encode_raw(&out->text, "\n", 1);
}

void vbd_metrics_put(
	struct vbd_metrics_text *out, const struct vbd_metrics_label *labels, uint64_t value)
{
	put_sample(out, "", labels);
	put_number(out, value);
}

void vbd_metrics_put_seconds(
	struct vbd_metrics_text *out, const struct vbd_metrics_label *labels, uint64_t value_ns)
{
	put_sample(out, "", labels);
	put_ns(out, value_ns);
}

/* --- histograms ------------------------------------------------------------------------------ */

/* The bounds of the buckets: 2^10, 2^12 ... ns in seconds. */
static const char *const bounds[] = {"0.000001024", "0.000004096", "0.000016384", "0.000065536",
	"0.000262144", "0.001048576", "0.004194304", "0.016777216", "0.067108864", "0.268435456",
	"1.073741824", "4.294967296", "17.179869184", "68.719476736"};

/* The lines of the buckets are alike up to the bound. */
static void put_buckets(struct vbd_metrics_text *out, const struct vbd_metrics_label *labels,
	const struct vbd_histogram *histogram)
{
	struct vbd_encoder start = {0};
	const char before = put_name(&start, out->family, "_bucket", labels);
	unsigned int from_bits = 0;
	uint64_t count = 0;

	vbd_encode_raw(&start, &before, 1);
	put_text(&start, "le=\"");
	out->text.failed |= start.failed;
	for (unsigned int i = 0; i < VBD_ARRAY_LEN(bounds); i++) {
		const unsigned int bits = 10 + 2 * i;

		count += vbd_histogram_between(histogram, from_bits, bits);
		vbd_encode_raw(&out->text, start.bytes, start.len);
		put_text(&out->text, bounds[i]);
		put_text(&out->text, "\"} ");
		put_number(out, count);
		from_bits = bits;
	}
	vbd_encode_raw(&out->text, start.bytes, start.len);
	put_text(&out->text, "+Inf\"} ");
	put_number(out, vbd_counter_get(&histogram->count));
	vbd_encode_drop(&start);
}

void vbd_metrics_put_histogram(struct vbd_metrics_text *out, const struct vbd_metrics_label *labels,
	const struct vbd_histogram *histogram)
{
	put_buckets(out, labels, histogram);
	put_sample(out, "_sum", labels);
	put_ns(out, vbd_counter_get(&histogram->sum));
	put_sample(out, "_count", labels);
	put_number(out, vbd_counter_get(&histogram->count));
}
