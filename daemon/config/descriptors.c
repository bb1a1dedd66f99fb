/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config/descriptors.h"

#include "base/log.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

/* Descriptors for everything but HTTP clients: devices, channels, workers, files, and the clients
 * of the HTTP server's reserve or that linger. */
#define KEPT_BACK 160

static uint64_t soft_limit(void)
{
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

	(void)getrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_cur;
}

void vbd_descriptors_raise(const struct vbd_config *config)
{
	const uint64_t needed = config->limits.http_connections + KEPT_BACK;
	struct rlimit limit = {0};

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
			vbd_log(VBD_LOG_WARNING, NULL, "can't raise RLIMIT_NOFILE: %s",
				strerror(errno));
	}
	if (soft_limit() >= needed)
		return;
	vbd_log(VBD_LOG_WARNING, NULL,
		"RLIMIT_NOFILE is %llu; limits.http_connections (%llu) and RDMA objects need "
		"%llu, so at most %llu HTTP connections are served (LimitNOFILE= in the unit)",
		(unsigned long long)soft_limit(),
		(unsigned long long)config->limits.http_connections, (unsigned long long)needed,
		(unsigned long long)vbd_descriptors_for_http(config));
}

uint64_t vbd_descriptors_for_http(const struct vbd_config *config)
{
	const uint64_t limit = soft_limit();
	const uint64_t room = limit < 2 * KEPT_BACK ? limit / 2 : limit - KEPT_BACK;

	return room < config->limits.http_connections ? room : config->limits.http_connections;
}
