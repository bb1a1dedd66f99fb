/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interfaces between the files of /metrics:
 *
 *   metrics.c              the page, and the table of counters
 *   metrics_callers.c      quotas of callers
 *   metrics_connections.c  connections one by one
 *   metrics_cqs.c          completion queues, by device or one by one
 *   metrics_ports.c        devices, and the kernel's counters of their ports
 *   metrics_text.c         the text format
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_METRICS_PARTS_H
#define VBD_API_RESOURCES_METRICS_PARTS_H

#include "api/resources/metrics_text.h"
#include "daemon/core/context.h"

struct vbd_fabric;
struct vbd_kernel_view;

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

/** vbd_metrics_put_callers - the quotas of each caller that @caller may know of, and what of them
 * is used */
void vbd_metrics_put_callers(struct vbd_metrics_text *out, const struct vbd_daemon *daemon,
	const struct vbd_caller *caller);

/** vbd_metrics_put_connections - the series of each connection that has not ended, up to the limit,
 * that @caller may know of */
void vbd_metrics_put_connections(struct vbd_metrics_text *out, const struct vbd_daemon *daemon,
	const struct vbd_caller *caller);

/** vbd_metrics_put_cqs - completion queues; @each: one by one as far as @caller may know of them,
 * not added up by device */
void vbd_metrics_put_cqs(struct vbd_metrics_text *out, const struct vbd_daemon *daemon,
	const struct vbd_caller *caller, bool each);

/** vbd_metrics_put_async_events - by present device and type */
void vbd_metrics_put_async_events(struct vbd_metrics_text *out, const struct vbd_fabric *fabric);

/** vbd_metrics_put_ports - the kernel's counters, by device and port */
void vbd_metrics_put_ports(struct vbd_metrics_text *out, const struct vbd_kernel_view *view);

#endif
