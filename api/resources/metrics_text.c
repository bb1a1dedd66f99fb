/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources/metrics_text.h"

#include "base/attr.h"
#include "base/clock.h"

#include <stdarg.h>
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

static void VBD_PRINTF(2, 3) put(struct vbd_metrics_text *out, const char *fmt, ...)
{
	char text[200];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put_text(out, text);
}

static void put_escaped(struct vbd_metrics_text *out, const char *value)
{
	for (; *value; value++) {
		if (*value == '\\' || *value == '"')
			put_bytes(out, "\\", 1);
		if (*value == '\n')
			put_text(out, "\\n");
		else
			put_bytes(out, value, 1);
	}
}

static void put_label(
	struct vbd_metrics_text *out, const char *before, const char *name, const char *value)
{
	put_text(out, before);
	put_text(out, name);
	put_text(out, "=\"");
	put_escaped(out, value);
	put_text(out, "\"");
}

/* Write a line up to its value. */
static void put_sample(struct vbd_metrics_text *out, const char *suffix,
	const struct vbd_metrics_label *labels, const char *le)
{
	const char *before = "{";

	put_text(out, out->family);
	put_text(out, suffix);
	for (; labels && labels->name; labels++) {
		put_label(out, before, labels->name, labels->value);
		before = ",";
	}
	if (le) {
		put_label(out, before, "le", le);
		before = ",";
	}
	put_text(out, before[0] == ',' ? "} " : " ");
}

static void put_number(struct vbd_metrics_text *out, uint64_t value)
{
	put(out, "%llu\n", (unsigned long long)value);
}

static void put_ns(struct vbd_metrics_text *out, uint64_t value_ns)
{
	put(out, "%llu.%09llu\n", (unsigned long long)(value_ns / VBD_NS_PER_S),
		(unsigned long long)(value_ns % VBD_NS_PER_S));
}

void vbd_metrics_family(
	struct vbd_metrics_text *out, const char *name, const char *type, const char *help)
{
	(void)snprintf(out->family, sizeof(out->family), "%s", name);
	put(out, "# HELP %s %s\n", name, help);
	put(out, "# TYPE %s %s\n", name, type);
}

void vbd_metrics_put(
	struct vbd_metrics_text *out, const struct vbd_metrics_label *labels, uint64_t value)
{
	put_sample(out, "", labels, NULL);
	put_number(out, value);
}

void vbd_metrics_put_seconds(
	struct vbd_metrics_text *out, const struct vbd_metrics_label *labels, uint64_t value_ns)
{
	put_sample(out, "", labels, NULL);
	put_ns(out, value_ns);
}

void vbd_metrics_put_histogram(struct vbd_metrics_text *out, const struct vbd_metrics_label *labels,
	const struct vbd_histogram *histogram)
{
	uint64_t count = 0;
	char le[32];

	for (unsigned int bits = FIRST_BITS; bits <= LAST_BITS; bits += STEP_BITS) {
		uint64_t bound_ns = UINT64_C(1) << bits;

		count += vbd_histogram_between(
			histogram, bits == FIRST_BITS ? 0 : bits - STEP_BITS, bits);
		(void)snprintf(le, sizeof(le), "%llu.%09llu",
			(unsigned long long)(bound_ns / VBD_NS_PER_S),
			(unsigned long long)(bound_ns % VBD_NS_PER_S));
		put_sample(out, "_bucket", labels, le);
		put_number(out, count);
	}
	put_sample(out, "_bucket", labels, "+Inf");
	put_number(out, vbd_counter_get(&histogram->count));
	put_sample(out, "_sum", labels, NULL);
	put_ns(out, vbd_counter_get(&histogram->sum));
	put_sample(out, "_count", labels, NULL);
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
