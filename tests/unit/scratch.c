/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/scratch.h"

#include "tests/unit/unit.h"

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

void scratch_make(char path[SCRATCH_PATH_BYTES])
{
	(void)snprintf(path, SCRATCH_PATH_BYTES, "%s/verbsd-unit-XXXXXX", unit_tmpdir());
	assert_non_null(mkdtemp(path));
}

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *ftw)
{
	(void)about;
	(void)type;
	(void)ftw;
	return remove(path);
}

void scratch_remove(const char *path)
{
	assert_int_equal(nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static void copy_file(const char *from, const char *to)
{
	FILE *in = fopen(from, "r");
	FILE *out = fopen(to, "w");
	char bytes[4096];
	size_t len;

	assert_non_null(in);
	assert_non_null(out);
	while ((len = fread(bytes, 1, sizeof(bytes), in)) > 0)
		assert_int_equal(fwrite(bytes, 1, len, out), len);
	(void)fclose(in);
	assert_int_equal(fclose(out), 0);
}

void scratch_copy(const char *from, const char *to)
{
	char source[SCRATCH_PATH_BYTES * 2], target[SCRATCH_PATH_BYTES * 2];
	const struct dirent *entry;
	DIR *folder = opendir(from);

	assert_non_null(folder);
	assert_int_equal(mkdir(to, 0700), 0);
	while ((entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(source, sizeof(source), "%s/%s", from, entry->d_name);
		(void)snprintf(target, sizeof(target), "%s/%s", to, entry->d_name);
		copy_file(source, target);
	}
	(void)closedir(folder);
}
