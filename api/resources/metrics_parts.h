/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interfaces between the files of /metrics:
 *
 *   metrics.c              the page, the table of counters, those of the HTTP server, and the
 * quotas of callers metrics_connections.c  connections one by one metrics_cqs.c          completion
 * queues, by device or one by one metrics_ports.c        devices, and the kernel's counters of
 * their ports metrics_text.c         the text format
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_METRICS_PARTS_H
#define VBD_API_RESOURCES_METRICS_PARTS_H

#include "api/resources/metrics_text.h"
#include "daemon/core/context.h"
#include "daemon/observe/stats_row.h"

struct vbd_fabric;
struct vbd_kernel_view;
struct vbd_server_stats;

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
