/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the store that are set aside. */
#include "daemon/store/disk.h"

#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

#include <sys/stat.h>
#include <unistd.h>

struct fixture {
	char folder[SCRATCH_PATH_BYTES];
	struct vbd_store_files files;
	struct vbd_error err;
};

static void path_of(const struct fixture *f, const char *end, char path[VBD_STORE_PATH_BYTES])
{
	(void)snprintf(path, VBD_STORE_PATH_BYTES, "%s/state/" VBD_STORE_FILE "%s", f->folder, end);
}

static void put(const struct fixture *f, const char *end, const char *text)
{
	char path[VBD_STORE_PATH_BYTES];
	FILE *file;

	path_of(f, end, path);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* @text: NULL: there is no such file */
static void expect(const struct fixture *f, const char *end, const char *text)
{
	char path[VBD_STORE_PATH_BYTES], found[32] = "";
	FILE *file;

	path_of(f, end, path);
	file = fopen(path, "r");
	if (!text) {
		assert_null(file);
		return;
	}
	assert_non_null(file);
	found[fread(found, 1, sizeof(found) - 1, file)] = '\0';
	assert_int_equal(fclose(file), 0);
	assert_string_equal(found, text);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	char folder[SCRATCH_PATH_BYTES + 16];

	assert_non_null(f);
	scratch_make(f->folder);
	(void)snprintf(folder, sizeof(folder), "%s/state", f->folder);
	assert_int_equal(vbd_store_files_open(&f->files, folder, &f->err), VBD_OK);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char folder[SCRATCH_PATH_BYTES + 16];

	vbd_store_files_close(&f->files);
	(void)snprintf(folder, sizeof(folder), "%s/state", f->folder);
	scratch_remove(folder);
	scratch_remove(f->folder);
	free(f);
	return 0;
}

#define STORE_FILES_TEST(name) TEST_WITH(name, struct fixture *f, setup, teardown)

static void set_aside(struct fixture *f)
{
	assert_int_equal(vbd_store_files_make_new(&f->files, &f->err), VBD_OK);
	assert_int_equal(vbd_store_files_set_aside(&f->files, &f->err), VBD_OK);
}

STORE_FILES_TEST(test_store_files__all_files_of_the_database_are_set_aside)
{
	char path[VBD_STORE_PATH_BYTES];
	struct stat found;

	put(f, "", "database");
	put(f, "-wal", "log");
	put(f, "-shm", "memory");
	put(f, ".new", "of a daemon that was killed");
	put(f, ".new-wal", "likewise");
	set_aside(f);
	expect(f, "", "");
	expect(f, "-wal", NULL);
	expect(f, "-shm", NULL);
	expect(f, ".new", NULL);
	expect(f, ".new-wal", NULL);
	expect(f, ".damaged", "database");
	expect(f, ".damaged-wal", "log");
	expect(f, ".damaged-shm", "memory");
	path_of(f, "", path);
	assert_int_equal(stat(path, &found), 0);
	assert_int_equal(found.st_mode & 0777, 0600);
}

STORE_FILES_TEST(test_store_files__an_older_log_does_not_stand_beside_the_database)
{
	put(f, "", "database");
	put(f, ".damaged-wal", "older");
	set_aside(f);
	expect(f, ".damaged", "database");
	expect(f, ".damaged-wal", NULL);
}

STORE_FILES_TEST(test_store_files__the_first_and_the_newest_that_were_set_aside_stay)
{
	static const char *const texts[] = {"first", "second", "third"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(texts); i++) {
		put(f, "", texts[i]);
		if (i == 1)
			put(f, "-wal", "log");
		set_aside(f);
	}
	expect(f, ".damaged", "first");
	expect(f, ".damaged.newest", "third");
	expect(f, ".damaged.newest-wal", NULL);
}

STORE_FILES_TEST(test_store_files__a_new_database_takes_its_place_after_a_kill)
{
	char folder[SCRATCH_PATH_BYTES + 16];

	(void)snprintf(folder, sizeof(folder), "%s/state", f->folder);
	put(f, ".new", "new");
	vbd_store_files_close(&f->files);
	assert_int_equal(unlink(f->files.database), 0);
	assert_int_equal(vbd_store_files_open(&f->files, folder, &f->err), VBD_OK);
	expect(f, "", "new");
	/* Beside a database, a new one is not complete. */
	put(f, ".new", "half");
	vbd_store_files_close(&f->files);
	assert_int_equal(vbd_store_files_open(&f->files, folder, &f->err), VBD_OK);
	expect(f, "", "new");
}

/* Whether a state_dir below a folder of this mode is used. */
static bool opens_below(struct fixture *f, mode_t mode, const char *state_dir)
{
	enum vbd_status status;

	vbd_store_files_close(&f->files);
	f->err = (struct vbd_error){0};
	assert_int_equal(chmod(f->folder, mode), 0);
	status = vbd_store_files_open(&f->files, state_dir, &f->err);
	assert_int_equal(chmod(f->folder, 0700), 0);
	if (status != VBD_OK) {
		assert_int_equal(status, VBD_E_PERMISSION_DENIED);
		assert_non_null(strstr(f->err.text, "others can write to "));
	}
	return status == VBD_OK;
}

STORE_FILES_TEST(test_store_files__a_folder_above_that_others_can_write_to_is_refused)
{
	char link[SCRATCH_PATH_BYTES + 16], elsewhere[SCRATCH_PATH_BYTES],
		target[SCRATCH_PATH_BYTES + 16], dir[SCRATCH_PATH_BYTES + 16];

	(void)snprintf(dir, sizeof(dir), "%s/state", f->folder);
	(void)snprintf(link, sizeof(link), "%s/link", f->folder);
	scratch_make(elsewhere);
	(void)snprintf(target, sizeof(target), "%s/state", elsewhere);
	assert_int_equal(symlink(target, link), 0);
	assert_int_equal(mkdir(target, 0700), 0);
	assert_true(opens_below(f, 0755, dir));
	assert_true(opens_below(f, 01777, dir));
	assert_false(opens_below(f, 0777, dir));
	assert_true(opens_below(f, 0755, link));
	assert_false(opens_below(f, 0777, link));
	scratch_remove(elsewhere);
	assert_int_equal(unlink(link), 0);
	assert_true(opens_below(f, 0700, dir));
}

/* A line of the mark with a check that fits. */
STORE_FILES_TEST(test_store_files__a_mark_with_an_id_that_no_verbsd_gives_is_damaged)
{
	static const uint64_t highest[] = {
		VBD_STORE_ID_MAX + 1, UINT64_C(1) << 63, UINT64_MAX, VBD_STORE_ID_MAX};
	struct vbd_store_mark found;

	for (size_t i = 0; i < VBD_ARRAY_LEN(highest); i++) {
		const struct vbd_store_mark mark = {7, highest[i], 8, 9};

		assert_int_equal(
			vbd_store_files_write_mark(&f->files, &mark, true, &f->err), VBD_OK);
		assert_int_equal(vbd_store_files_read_mark(&f->files, &found),
			highest[i] > VBD_STORE_ID_MAX ? VBD_E_BAD_VALUE : VBD_OK);
	}
}

STORE_FILES_TEST(test_store_files__without_a_database_nothing_is_set_aside)
{
	assert_int_equal(unlink(f->files.database), 0);
	assert_int_not_equal(vbd_store_files_set_aside(&f->files, &f->err), VBD_OK);
	assert_int_equal(f->err.source, VBD_SOURCE_ERRNO);
	assert_int_equal(f->err.raw, ENOENT);
	assert_string_equal(f->err.call, "rename");
	expect(f, "", NULL);
}

/* SQLite would play its contents back into the database. */
STORE_FILES_TEST(test_store_files__what_another_user_has_put_beside_the_database_is_refused)
{
	static const char *const ends[] = {"-wal", "-shm", "-journal"};
	char path[VBD_STORE_PATH_BYTES], folder[SCRATCH_PATH_BYTES + 16];

	if (geteuid() != 0)
		skip();
	(void)snprintf(folder, sizeof(folder), "%s/state", f->folder);
	for (size_t i = 0; i < VBD_ARRAY_LEN(ends); i++) {
		vbd_store_files_close(&f->files);
		put(f, ends[i], "mine");
		path_of(f, ends[i], path);
		assert_int_equal(chown(path, 1, 1), 0);
		assert_int_equal(
			vbd_store_files_open(&f->files, folder, &f->err), VBD_E_PERMISSION_DENIED);
		assert_int_equal(unlink(path), 0);
	}
}

STORE_FILES_TEST(test_store_files__files_that_others_may_read_are_closed_to_them)
{
	static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
	char path[VBD_STORE_PATH_BYTES], folder[SCRATCH_PATH_BYTES + 16];
	struct stat found;

	(void)snprintf(folder, sizeof(folder), "%s/state", f->folder);
	vbd_store_files_close(&f->files);
	for (size_t i = 0; i < VBD_ARRAY_LEN(ends); i++) {
		put(f, ends[i], "");
		path_of(f, ends[i], path);
		assert_int_equal(chmod(path, 0666), 0);
	}
	assert_int_equal(vbd_store_files_open(&f->files, folder, &f->err), VBD_OK);
	for (size_t i = 0; i < VBD_ARRAY_LEN(ends); i++) {
		path_of(f, ends[i], path);
		assert_int_equal(stat(path, &found), 0);
		assert_int_equal(found.st_mode & 0777, 0600);
	}
}
