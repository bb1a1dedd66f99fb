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
