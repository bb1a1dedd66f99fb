/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hugepage.h"

#include <dirent.h>

#define SIZES_DIR "/sys/kernel/mm/hugepages"

/* Whether the kernel has pages of this size. Fills @text with all sizes that it has. */
static bool look_up(uint64_t wanted_bytes, char *text, size_t text_bytes)
{
	const struct dirent *entry;
	bool found = false;
	size_t used = 0;
	uint64_t kib;
	DIR *dir;

	text[0] = '\0';
	dir = opendir(SIZES_DIR);
	if (!dir)
		return false;
	while ((entry = readdir(dir))) {
		if (sscanf(entry->d_name, "hugepages-%" SCNu64 "kB", &kib) != 1)
			continue;
		found |= kib << 10 == wanted_bytes;
		if (used < text_bytes)
			used += (size_t)snprintf(text + used, text_bytes - used, "%s%" PRIu64,
				used ? ", " : "", kib << 10);
	}
	(void)closedir(dir);
	return found;
}

enum vbd_status vbd_hugepage_choose(
	uint64_t wanted_bytes, uint64_t *ret_page_bytes, struct vbd_error *err)
{
	uint64_t page_size_bytes = wanted_bytes ? wanted_bytes : vbd_meminfo_bytes("Hugepagesize");
	char sizes[120] = "";

	if (page_size_bytes && look_up(page_size_bytes, sizes, sizeof(sizes))) {
		*ret_page_bytes = page_size_bytes;
		return VBD_OK;
	}
	if (!page_size_bytes || !sizes[0])
		return vbd_error_set(err, VBD_E_NOT_SUPPORTED,
			"the kernel has no huge pages (" SIZES_DIR " is not there)");
	return vbd_error_input(err, VBD_E_BAD_VALUE, "/page_size_bytes",
		"the kernel has no huge pages of %" PRIu64 " bytes, only of: %s", page_size_bytes,
		sizes);
}

static uint64_t read_count(uint64_t page_size_bytes, const char *name)
{
	uint64_t count = 0;
	char path[120];
	FILE *file;

	(void)snprintf(path, sizeof(path), SIZES_DIR "/hugepages-%" PRIu64 "kB/%s",
		page_size_bytes >> 10, name);
	file = fopen(path, "re");
	if (!file)
		return 0;
	(void)!fscanf(file, "%" SCNu64, &count);
	(void)fclose(file);
	return count;
}

enum vbd_status vbd_hugepage_shortage(
	uint64_t page_size_bytes, uint64_t pages, struct vbd_error *err)
{
	uint64_t total = read_count(page_size_bytes, "nr_hugepages");
	uint64_t unused = read_count(page_size_bytes, "free_hugepages");
	uint64_t promised = read_count(page_size_bytes, "resv_hugepages");
	uint64_t left = unused > promised ? unused - promised : 0;

	return vbd_error_set(err, VBD_E_NO_MEMORY,
		"%" PRIu64 " huge pages of %" PRIu64 " bytes are needed, %" PRIu64 " of %" PRIu64
		" are free: echo %" PRIu64 " > " SIZES_DIR "/hugepages-%" PRIu64 "kB/nr_hugepages",
		pages, page_size_bytes, left, total, total - left + pages, page_size_bytes >> 10);
}

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
