/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counters of the API, as rows like those of daemon/observe/stats.h.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_API_STATS_H
#define VBD_API_RESOURCES_API_STATS_H

#include "daemon/observe/stats.h"

struct vbd_server_stats;

/**
 * vbd_api_stats_walk - call @cb with each row; rows of one metric come together
 * @fresh: the snapshot of the kernel is new, not an older one
 */
void vbd_api_stats_walk(const struct vbd_server_stats *http, const struct vbd_config_limits *limits,
	bool fresh, vbd_stat_cb cb, void *arg);

#endif
