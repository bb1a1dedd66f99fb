/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limit of file descriptors, RLIMIT_NOFILE, which HTTP clients and RDMA objects share.
 *
 * Only at the start.
 */
#ifndef VBD_DAEMON_CONFIG_DESCRIPTORS_H
#define VBD_DAEMON_CONFIG_DESCRIPTORS_H

#include "daemon/config/config.h"

#include <stdint.h>

/** vbd_descriptors_raise - raise the soft limit to the hard one; warn if the limits of the
 * configuration need more */
void vbd_descriptors_raise(const struct vbd_config *config);

/**
 * vbd_descriptors_for_http - the number of HTTP connections that may be open
 *
 * limits.http_connections, or less, so that RDMA objects have descriptors whatever the clients do.
 */
uint64_t vbd_descriptors_for_http(const struct vbd_config *config);

#endif
