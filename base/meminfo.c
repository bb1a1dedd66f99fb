/* SPDX-License-Identifier: Apache-2.0 */
#include "base/meminfo.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

uint64_t vbd_meminfo_bytes(const char *name)
{
	FILE *file = fopen("/proc/meminfo", "re");
	size_t len = strlen(name);
	uint64_t kib = 0;
	char line[128];

	if (!file)
		return 0;
	while (!kib && fgets(line, sizeof(line), file)) {
		if (strncmp(line, name, len) == 0 && line[len] == ':')
			(void)sscanf(line + len, ": %" SCNu64 " kB", &kib);
	}
	(void)fclose(file);
	return kib << 10;
}

enum vbd_status vbd_meminfo_check(size_t size_bytes, struct vbd_error *err)
{
	uint64_t available_bytes = vbd_meminfo_bytes("MemAvailable");

	if (!available_bytes || size_bytes <= available_bytes - available_bytes / 16)
		return VBD_OK;
	return vbd_error_set(err, VBD_E_NO_MEMORY,
		"%zu bytes are needed, and %" PRIu64 " are available on this host", size_bytes,
		available_bytes);
}
