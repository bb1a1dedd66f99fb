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

/* A family of series of objects. */
struct vbd_metrics_family {
	const char *name, *type, *help;
	/* Put the series of an object. @id: the object's, as a text; @offset: of the family */
	void (*put)(struct vbd_metrics_text *out, const char *id, const struct vbd_object *object,
		size_t offset);
	size_t offset; /* of the counter in the struct that `put` reads */
};

#define VBD_METRICS_FAMILIES_MAX 6

/* A walk over the objects of a registry that have not ended. The series of a family come together,
 * so each family has a text of its own until the walk is over. */
struct vbd_metrics_walk {
	const struct vbd_registry *registry;
	const struct vbd_caller *scope; /* only the objects that it sees; NULL: all */
	uint64_t max;			/* objects that have series, the first ones */
	const struct vbd_metrics_family *families;
	size_t count;
	uint64_t after; /* id of the object that was walked over last */
	uint64_t shown; /* objects that have series */
	struct vbd_metrics_text texts[VBD_METRICS_FAMILIES_MAX];
};

/** vbd_metrics_walk - walk over some objects; after the last put the families and return true */
bool vbd_metrics_walk(struct vbd_metrics_walk *walk, struct vbd_metrics_text *out);

/** vbd_metrics_walk_drop - free the texts; allowed at any time, and more than once */
void vbd_metrics_walk_drop(struct vbd_metrics_walk *walk);

/* Connections that have series of their own. */
#define VBD_METRICS_CONNECTIONS_MAX 1000

/** vbd_metrics_connections - a walk over the connections that @scope sees; NULL: all */
struct vbd_metrics_walk vbd_metrics_connections(
	const struct vbd_daemon *daemon, const struct vbd_caller *scope);

/** vbd_metrics_put_omitted - the number of connections that have no series after @walk */
void vbd_metrics_put_omitted(struct vbd_metrics_text *out, const struct vbd_metrics_walk *walk);

/** vbd_metrics_cqs - as vbd_metrics_connections(), for completion queues */
struct vbd_metrics_walk vbd_metrics_cqs(
	const struct vbd_daemon *daemon, const struct vbd_caller *scope);

/** vbd_metrics_put_device_cqs - completion queues, added up by device */
void vbd_metrics_put_device_cqs(struct vbd_metrics_text *out, const struct vbd_fabric *fabric);

/** vbd_metrics_put_async_events - by present device and type */
void vbd_metrics_put_async_events(struct vbd_metrics_text *out, const struct vbd_fabric *fabric);

/** vbd_metrics_put_ports - the kernel's counters, by device and port */
void vbd_metrics_put_ports(struct vbd_metrics_text *out, const struct vbd_kernel_view *view);

#endif
