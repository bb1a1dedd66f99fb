/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interfaces between the files of /metrics:
 *
 *   metrics.c          the page, the table of counters, the HTTP server, quotas of callers
 *   metrics_objects.c  connections one by one; completion queues, one by one or by device
 *   metrics_ports.c    devices, and the kernel's counters of their ports
 *   metrics_text.c     the text format
 *
 * Control thread.
 */
#ifndef VBD_API_OBSERVE_METRICS_PARTS_H
#define VBD_API_OBSERVE_METRICS_PARTS_H

#include "api/json/writer.h"
#include "daemon/core/context.h"
#include "daemon/observe/stats_row.h"

struct vbd_fabric;
struct vbd_kernel_view;
struct vbd_server_stats;

/* --- metrics_text.c -------------------------------------------------------------------------- */

/* The text format of Prometheus, version 0.0.4: families of samples. vbd_encode_take() of `text`
 * gives the text; after a failure (no memory) it returns NULL instead of an incomplete one. */

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

#define VBD_LABEL(name_, value_)   \
	(struct vbd_metrics_label) \
	{                          \
		(name_), (value_)  \
	}
#define VBD_LABELS(...)                    \
	(const struct vbd_metrics_label[]) \
	{                                  \
		__VA_ARGS__,               \
		{                          \
			0                  \
		}                          \
	}

/**
 * vbd_api_stats_walk - call @cb with each row; rows of one metric come together
 * @fresh: the snapshot of the kernel is new, not an older one
 */
void vbd_api_stats_walk(const struct vbd_server_stats *http, const struct vbd_config_limits *limits,
	bool fresh, vbd_stat_cb cb, void *arg);

/** vbd_metrics_put_callers - the quotas of each caller that @scope may know of, and what of them is
 * used */
void vbd_metrics_put_callers(struct vbd_metrics_text *out, const struct vbd_daemon *daemon,
	const struct vbd_caller *scope);

/* How far a family after the other, and in each an object after the other, was put; all zero at the
 * beginning. */
struct vbd_metrics_place {
	size_t family;
	bool begun;	/* the family */
	uint64_t after; /* id of the last object of the family */
	uint64_t shown; /* objects of the family */
};

/* Objects of which one family is put in a step: a series takes less than a microsecond. */
#define VBD_METRICS_STEP_OBJECTS 100

/* Connections that have series of their own. */
#define VBD_METRICS_CONNECTIONS_MAX 1000

/**
 * vbd_metrics_put_connections - put the next series of the connections that have not ended, up to
 * VBD_METRICS_CONNECTIONS_MAX
 * @scope: the connections that it sees; NULL: all
 *
 * Returns true after the last step.
 */
bool vbd_metrics_put_connections(struct vbd_metrics_text *out, const struct vbd_daemon *daemon,
	const struct vbd_caller *scope, struct vbd_metrics_place *at);

/** vbd_metrics_put_cqs - as vbd_metrics_put_connections(), for completion queues */
bool vbd_metrics_put_cqs(struct vbd_metrics_text *out, const struct vbd_daemon *daemon,
	const struct vbd_caller *scope, struct vbd_metrics_place *at);

/** vbd_metrics_put_device_cqs - completion queues, added up by device */
void vbd_metrics_put_device_cqs(struct vbd_metrics_text *out, const struct vbd_fabric *fabric);

/** vbd_metrics_put_async_events - by present device and type */
void vbd_metrics_put_async_events(struct vbd_metrics_text *out, const struct vbd_fabric *fabric);

/** vbd_metrics_put_ports - the kernel's counters, by device and port */
void vbd_metrics_put_ports(struct vbd_metrics_text *out, const struct vbd_kernel_view *view);

struct vbd_metrics_objects {
	const struct vbd_registry *registry;
	const struct vbd_caller *scope; /* only the objects that it sees; NULL: all */
	uint64_t max;			/* objects that have series, the first ones */
	size_t families;
	void (*begin_family)(struct vbd_metrics_text *out, size_t family);
	/* Put the series of an object in the present family. @id: the object's, as a text */
	void (*put)(struct vbd_metrics_text *out, const char *id, const struct vbd_object *object,
		size_t family);
};

/** vbd_metrics_put_objects - put the series of the next VBD_METRICS_STEP_OBJECTS objects that have
 * not ended, behind @at. Returns true after the last family. */
bool vbd_metrics_put_objects(struct vbd_metrics_text *out,
	const struct vbd_metrics_objects *objects, struct vbd_metrics_place *at);

#endif
