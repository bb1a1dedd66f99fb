/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of the table of counters (daemon/observe/stats.h) that this layer adds.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_API_STATS_H
#define VBD_API_RESOURCES_API_STATS_H

#include "daemon/observe/stats.h"

struct vbd_server_stats;

/**
 * vbd_api_stats_walk - call @cb with each row; rows of one metric come together
 * @waiting: requests that wait for something, without the one that asks
 * @fresh:   the kernel answered in time
 */
void vbd_api_stats_walk(const struct vbd_server_stats *http, uint64_t waiting, bool fresh,
	vbd_stat_cb cb, void *arg);

#endif
