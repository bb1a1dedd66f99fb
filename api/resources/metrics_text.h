/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text format of Prometheus, version 0.0.4: families of samples. vbd_encode_take() of `text`
 * gives the text; after a failure (no memory) it returns NULL instead of an incomplete one.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_METRICS_TEXT_H
#define VBD_API_RESOURCES_METRICS_TEXT_H

#include "api/json/writer.h"
#include "base/histogram.h"

#define VBD_METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct vbd_metrics_text {
	struct vbd_encoder text;
	char family[128]; /* the current one; "" before the first */
};

/* A label of a sample; a list ends with the name NULL. */
struct vbd_metrics_label {
	const char *name;
	const char *value; /* any text; escaped when written */
};

/** vbd_metrics_family - begin a family, to which the following samples belong
 * @type: "counter", "gauge", "histogram", "untyped"; @help: one line */
void vbd_metrics_family(
	struct vbd_metrics_text *out, const char *name, const char *type, const char *help);

/** vbd_metrics_put - write a sample; @labels: NULL for none */
void vbd_metrics_put(
	struct vbd_metrics_text *out, const struct vbd_metrics_label *labels, uint64_t value);

/** vbd_metrics_put_seconds - write a time in ns as a sample in seconds */
void vbd_metrics_put_seconds(
	struct vbd_metrics_text *out, const struct vbd_metrics_label *labels, uint64_t value_ns);

/** vbd_metrics_put_histogram - write all samples of a histogram of ns, in seconds: buckets at 2^10,
 * 2^12 … 2^36 ns (1 us to 69 s). @labels: NULL for none */
void vbd_metrics_put_histogram(struct vbd_metrics_text *out, const struct vbd_metrics_label *labels,
	const struct vbd_histogram *histogram);

#endif
