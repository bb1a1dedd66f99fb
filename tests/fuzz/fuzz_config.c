/* SPDX-License-Identifier: Apache-2.0 */
/* Random bytes as the configuration file, with its lists of kept objects. */
#include "daemon/config/config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct vbd_config config, before;
	struct vbd_config_specs specs = {0};
	struct vbd_error err = {0};
	char path[32];
	int fd = memfd_create("config", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	vbd_config_init(&config);
	before = config;
	if (vbd_config_load(&config, path, &specs, &err) == VBD_OK) {
		if (config.workers < 1 || config.limits.http_body_bytes < 1024)
			abort();
	} else if (!*err.text || memcmp(&config, &before, sizeof(config)) != 0 || specs.count) {
		abort(); /* a refused file changes nothing, and the refusal says why */
	}
	vbd_config_specs_fini(&specs);
	(void)close(fd);
	return 0;
}
