/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hugepage.h"

#include "base/text.h"

#include <dirent.h>
#include <limits.h>

#define MEMINFO	  "/proc/meminfo"
#define SIZES_DIR "/sys/kernel/mm/hugepages"

/* Whether the kernel has pages of this size. Fills @text with all sizes that it has. */
static bool find_page_size(uint64_t wanted_bytes, char *text, size_t text_bytes)
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
	uint64_t page_size_bytes =
		wanted_bytes ? wanted_bytes : vbd_proc_bytes(MEMINFO, "Hugepagesize");
	char sizes[120] = "";

	if (page_size_bytes && find_page_size(page_size_bytes, sizes, sizeof(sizes))) {
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

/* Returns @otherwise if the file is missing or has no number, as one with "max" for no limit. */
static uint64_t read_number_file(const char *path, uint64_t otherwise)
{
	FILE *file = fopen(path, "re");
	uint64_t number = otherwise;

	if (!file)
		return otherwise;
	(void)!fscanf(file, "%" SCNu64, &number);
	(void)fclose(file);
	return number;
}

static uint64_t read_page_count(uint64_t page_size_bytes, const char *name)
{
	char path[120];

	(void)snprintf(path, sizeof(path), SIZES_DIR "/hugepages-%" PRIu64 "kB/%s",
		page_size_bytes >> 10, name);
	return read_number_file(path, 0);
}

/* Record the limit of the hugetlb controller that @bytes more exceed in the folder of a cgroup. */
static enum vbd_status check_cgroup_limit(const char *dir, uint64_t page_size_bytes, uint64_t bytes,
	const char *needed, struct vbd_error *err)
{
	/* Limit and usage, of cgroup v2 and of v1. */
	static const char *const files[][2] = {{"max", "current"}, {"rsvd.max", "rsvd.current"},
		{"limit_in_bytes", "usage_in_bytes"},
		{"rsvd.limit_in_bytes", "rsvd.usage_in_bytes"}};
	int unit = (63 - __builtin_clzll(page_size_bytes)) / 10;
	char path[2][PATH_MAX + 80];

	for (size_t i = 0; i < VBD_ARRAY_LEN(files); i++) {
		uint64_t numbers[2];

		for (size_t j = 0; j < 2; j++) {
			(void)snprintf(path[j], sizeof(path[j]), "%s/hugetlb.%" PRIu64 "%cB.%s",
				dir, page_size_bytes >> 10 * unit, " KMGT"[unit], files[i][j]);
			numbers[j] = read_number_file(path[j], j ? 0 : UINT64_MAX);
		}
		if (numbers[0] < numbers[1] + bytes)
			return vbd_error_set(err, VBD_E_NO_MEMORY,
				"%s, but %s is %" PRIu64 ", and %" PRIu64 " are used", needed,
				vbd_text_path(path[0]).text, numbers[0], numbers[1]);
	}
	return VBD_OK;
}

/* The same for the cgroups of this process and all their parents. */
static enum vbd_status check_cgroup_limits(
	uint64_t page_size_bytes, uint64_t bytes, const char *needed, struct vbd_error *err)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	enum vbd_status status = VBD_OK;
	char line[PATH_MAX], dir[PATH_MAX + 32];

	while (file && !status && fgets(line, sizeof(line), file)) {
		bool is_v2 = strncmp(line, "0::", 3) == 0;
		char *path = strstr(line, ":/"), *end;

		if (!path)
			continue;
		*path++ = '\0';
		if (!is_v2 && !strstr(line, "hugetlb"))
			continue;
		/* A path is "/" in a container, which may see its own cgroup only. */
		end = path[1] == '\n' ? path : path + strcspn(path, "\n");
		for (; end && !status; end = strrchr(path, '/')) {
			*end = '\0';
			(void)snprintf(dir, sizeof(dir), "/sys/fs/cgroup%s%s",
				is_v2 ? "" : "/hugetlb", path);
			status = check_cgroup_limit(dir, page_size_bytes, bytes, needed, err);
		}
	}
	if (file)
		(void)fclose(file);
	return status;
}

enum vbd_status vbd_hugepage_shortage(
	uint64_t page_size_bytes, uint64_t pages, struct vbd_error *err)
{
	uint64_t total = read_page_count(page_size_bytes, "nr_hugepages");
	uint64_t unused = read_page_count(page_size_bytes, "free_hugepages");
	uint64_t promised = read_page_count(page_size_bytes, "resv_hugepages");
	uint64_t left = unused > promised ? unused - promised : 0;
	char needed[120];

	(void)snprintf(needed, sizeof(needed),
		"%" PRIu64 " huge pages of %" PRIu64 " bytes are needed, %" PRIu64 " of %" PRIu64
		" are free",
		pages, page_size_bytes, left, total);
	if (left < pages)
		return vbd_error_set(err, VBD_E_NO_MEMORY,
			"%s: echo %" PRIu64 " > " SIZES_DIR "/hugepages-%" PRIu64 "kB/nr_hugepages",
			needed, total + (pages - left), page_size_bytes >> 10);
	if (check_cgroup_limits(page_size_bytes, pages * page_size_bytes, needed, err))
		return VBD_E_NO_MEMORY;
	return vbd_error_set(err, VBD_E_NO_MEMORY,
		"%s, and the kernel refused them for another reason, as a NUMA policy", needed);
}

uint64_t vbd_proc_bytes(const char *path, const char *name)
{
	FILE *file = fopen(path, "re");
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
	uint64_t available_bytes = vbd_proc_bytes(MEMINFO, "MemAvailable");

	if (!available_bytes || size_bytes <= available_bytes - available_bytes / 16)
		return VBD_OK;
	return vbd_error_set(err, VBD_E_NO_MEMORY,
		"%zu bytes are needed, and %" PRIu64 " are available on this host", size_bytes,
		available_bytes);
}
