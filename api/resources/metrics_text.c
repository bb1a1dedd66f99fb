/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources/metrics_text.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM_BYTES 65536
#define FIRST_BITS	 10
#define LAST_BITS	 36
#define STEP_BITS	 2

static bool make_room(struct vbd_metrics_text *out, size_t len_bytes)
{
	size_t room_bytes = out->room_bytes ? out->room_bytes : FIRST_ROOM_BYTES;
	char *text;

	if (out->failed || out->len_bytes + len_bytes < out->room_bytes)
		return !out->failed;
	while (room_bytes <= out->len_bytes + len_bytes)
		room_bytes *= 2;
	text = realloc(out->text, room_bytes);
	if (!text) {
		out->failed = true;
		return false;
	}
	out->text = text;
	out->room_bytes = room_bytes;
	return true;
}

static void put_bytes(struct vbd_metrics_text *out, const char *bytes, size_t len_bytes)
{
	if (!make_room(out, len_bytes))
		return;
	memcpy(out->text + out->len_bytes, bytes, len_bytes);
	out->len_bytes += len_bytes;
}

static void put_text(struct vbd_metrics_text *out, const char *text)
{
	put_bytes(out, text, strlen(text));
}

static void put_escaped(struct vbd_metrics_text *out, const char *value)
{
	for (;;) {
		size_t plain = strcspn(value, "\\\"\n");

		put_bytes(out, value, plain);
		value += plain;
		if (!*value)
			return;
		put_bytes(out, "\\", 1);
		put_bytes(out, *value == '\n' ? "n" : value, 1);
		value++;
	}
}

/* Write a number with @digits digits at least. */
static void put_decimal(struct vbd_metrics_text *out, uint64_t value, size_t digits)
{
	char text[20];
	size_t at = sizeof(text);

	do {
		text[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value || sizeof(text) - at < digits);
	put_bytes(out, text + at, sizeof(text) - at);
}

static void put_seconds(struct vbd_metrics_text *out, uint64_t value_ns)
{
	put_decimal(out, value_ns / VBD_NS_PER_S, 1);
	put_bytes(out, ".", 1);
	put_decimal(out, value_ns % VBD_NS_PER_S, 9);
}

static void put_labels(struct vbd_metrics_text *out, const struct vbd_metrics_label *labels)
{
	const char *before = "{";

	for (; labels && labels->name; labels++) {
		put_bytes(out, before, 1);
		put_text(out, labels->name);
		put_bytes(out, "=\"", 2);
		put_escaped(out, labels->value);
		put_bytes(out, "\"", 1);
		before = ",";
	}
	put_text(out, before[0] == ',' ? "} " : " ");
}

/* Write a line up to its value. */
static void put_sample(
	struct vbd_metrics_text *out, const char *suffix, const struct vbd_metrics_label *labels)
{
	put_text(out, out->family);
	put_text(out, suffix);
	put_labels(out, labels);
}

static void put_number(struct vbd_metrics_text *out, uint64_t value)
{
	put_decimal(out, value, 1);
	put_bytes(out, "\n", 1);
}

static void put_ns(struct vbd_metrics_text *out, uint64_t value_ns)
{
	put_seconds(out, value_ns);
	put_bytes(out, "\n", 1);
}

void vbd_metrics_family(
	struct vbd_metrics_text *out, const char *name, const char *type, const char *help)
{
	(void)snprintf(out->family, sizeof(out->family), "%s", name);
	put_text(out, "# HELP ");
	put_text(out, name);
	put_bytes(out, " ", 1);
	put_text(out, help);
	put_text(out, "\n# TYPE ");
	put_text(out, name);
	put_bytes(out, " ", 1);
	put_text(out, type);
	put_bytes(out, "\n", 1);
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

/* The lines of the buckets of a histogram are alike up to the bound of the bucket. */
struct bucket_start {
	size_t at, len_bytes; /* in the text */
};

static struct bucket_start put_first_start(
	struct vbd_metrics_text *out, const struct vbd_metrics_label *labels)
{
	struct bucket_start start = {.at = out->len_bytes};

	put_sample(out, "_bucket", labels);
	/* The labels go on: "} " becomes ",", and " " becomes "{". */
	if (!out->failed && labels && labels->name)
		out->text[--out->len_bytes - 1] = ',';
	else if (!out->failed)
		out->text[out->len_bytes - 1] = '{';
	put_text(out, "le=\"");
	start.len_bytes = out->len_bytes - start.at;
	return start;
}

static void put_start(struct vbd_metrics_text *out, const struct bucket_start *start)
{
	if (!make_room(out, start->len_bytes))
		return;
	memcpy(out->text + out->len_bytes, out->text + start->at, start->len_bytes);
	out->len_bytes += start->len_bytes;
}

static void put_buckets(struct vbd_metrics_text *out, const struct vbd_metrics_label *labels,
	const struct vbd_histogram *histogram)
{
	const struct bucket_start start = put_first_start(out, labels);
	uint64_t count = 0;

	for (unsigned int bits = FIRST_BITS; bits <= LAST_BITS; bits += STEP_BITS) {
		count += vbd_histogram_between(
			histogram, bits == FIRST_BITS ? 0 : bits - STEP_BITS, bits);
		put_seconds(out, UINT64_C(1) << bits);
		put_text(out, "\"} ");
		put_number(out, count);
		put_start(out, &start);
	}
	put_text(out, "+Inf\"} ");
	put_number(out, vbd_counter_get(&histogram->count));
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

void vbd_metrics_drop(struct vbd_metrics_text *out)
{
	free(out->text);
	*out = (struct vbd_metrics_text){0};
}

char *vbd_metrics_end(struct vbd_metrics_text *out, size_t *ret_len_bytes)
{
	char *text = out->failed ? NULL : out->text;

	*ret_len_bytes = out->len_bytes;
	if (!out->failed)
		out->text = NULL;
	vbd_metrics_drop(out);
	return text;
}
