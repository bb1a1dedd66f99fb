/* SPDX-License-Identifier: Apache-2.0 */
/* Each page of a database is damaged in turn, and what can be read of the others is taken over. */
#include "daemon/store/disk.h"

#include "daemon/store/database.h"
#include "daemon/store/tables.h"
#include "tests/unit/scratch.h"
#include "tests/unit/sqlite_ask.h"

#include <sys/stat.h>
#include <unistd.h>

#define PAGE_BYTES 4096

/* Bytes of a body such that few rows are in a page. */
#define BODY_BYTES "600"

struct fixture {
	char folder[SCRATCH_PATH_BYTES];
	char whole[SCRATCH_PATH_BYTES + 16], from[SCRATCH_PATH_BYTES + 16],
		to[SCRATCH_PATH_BYTES + 16];
	struct vbd_error err;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	scratch_make(f->folder);
	(void)snprintf(f->whole, sizeof(f->whole), "%s/whole", f->folder);
	(void)snprintf(f->from, sizeof(f->from), "%s/from", f->folder);
	(void)snprintf(f->to, sizeof(f->to), "%s/to", f->folder);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	scratch_remove(f->folder);
	free(f);
	return 0;
}

#define SALVAGE_TEST(name) TEST_WITH(name, struct fixture *f, setup, teardown)

/* --- files ----------------------------------------------------------------------------------- */

static void make_empty(const char *path)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fclose(file), 0);
}

/* A copy with one page, or none, that has other bytes. Returns whether there is such a page. */
static bool copy_without(const struct fixture *f, long page)
{
	char bytes[PAGE_BYTES];
	FILE *in = fopen(f->whole, "r"), *out = fopen(f->from, "w");
	long at = 0;

	assert_non_null(in);
	assert_non_null(out);
	while (fread(bytes, 1, sizeof(bytes), in) == sizeof(bytes)) {
		if (++at == page)
			memset(bytes, 0x5a, sizeof(bytes));
		assert_int_equal(fwrite(bytes, 1, sizeof(bytes), out), sizeof(bytes));
	}
	(void)fclose(in);
	assert_int_equal(fclose(out), 0);
	return page <= at;
}

static void fill(struct fixture *f, unsigned int rows)
{
	static const char insert[] =
		"INSERT INTO runs VALUES (1, '0123456789abcdef', '1', 1, 2);"
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %u)"
		" INSERT INTO desired (name, kind, owner, body) SELECT 'name' || i, 'buffer', '',"
		" hex(zeroblob(" BODY_BYTES " / 2)) FROM n;"
		"UPDATE desired SET sum = " VBD_DESIRED_SUM ";"
		"INSERT INTO events (seq, run, at_ns, type, severity, detail)"
		" SELECT 1000000000000000 + rowid, 1, 1, 'audit', 'notice', name FROM desired;"
		"UPDATE events SET sum = " VBD_EVENT_SUM ";"
		"INSERT INTO ids VALUES ('buffer', 7), ('transaction', 8);"
		"PRAGMA journal_mode = DELETE";
	struct vbd_database *database;
	char sql[sizeof(insert) + 16];

	make_empty(f->whole);
	(void)snprintf(sql, sizeof(sql), insert, rows);
	assert_int_equal(vbd_database_open(f->whole, &database, &f->err), VBD_OK);
	assert_int_equal(vbd_schema_prepare(database, &f->err), VBD_OK);
	assert_int_equal(vbd_database_run(database, sql, &f->err), VBD_OK);
	vbd_database_close(database);
}

static uint64_t salvage(struct fixture *f)
{
	uint64_t kept = 0;
	char log[sizeof(f->to) + 8];

	make_empty(f->to);
	assert_int_equal(vbd_salvage(f->from, f->to, &kept, &f->err), VBD_OK);
	(void)snprintf(log, sizeof(log), "%s-wal", f->to);
	assert_int_equal(access(log, F_OK), -1);
	assert_int_equal(
		sqlite_ask(f->to, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"), 1);
	assert_int_equal(sqlite_ask(f->to, "SELECT count(*) FROM desired"), kept);
	return kept;
}

/* --- the tests ------------------------------------------------------------------------------- */

SALVAGE_TEST(test_salvage__a_whole_file_is_taken_over_whole)
{
	fill(f, 50);
	(void)copy_without(f, 0);
	assert_int_equal(salvage(f), 50);
	assert_int_equal(sqlite_ask(f->to, "SELECT count(*) FROM events"), 50);
	assert_int_equal(sqlite_ask(f->to, "SELECT max(seq) FROM events"), 1000000000000050);
	assert_int_equal(sqlite_ask(f->to, "SELECT last FROM ids WHERE kind = 'transaction'"), 8);
	assert_int_equal(sqlite_ask(f->to, "SELECT count(*) FROM runs"), 1);
}

/* A damaged page takes its own rows with it. The first page, and the root of a table of several
 * pages, are the way to the others. */
SALVAGE_TEST(test_salvage__one_damaged_page_takes_no_rows_of_others)
{
	unsigned int rows = 100, losses = 0;
	int64_t root;

	fill(f, rows);
	root = sqlite_ask(f->whole, "SELECT rootpage FROM sqlite_schema WHERE name = 'desired'");
	for (long page = 1; copy_without(f, page); page++) {
		uint64_t kept = salvage(f);

		if (page == 1 || page == root)
			continue;
		assert_true(kept >= rows - 8);
		losses += kept < rows;
	}
	/* The leaves of the table. */
	assert_true(losses >= rows / 8);
}

/* Damage in a table of one page is the damage of that table only. */
SALVAGE_TEST(test_salvage__kept_objects_outlive_damage_elsewhere)
{
	unsigned int losses = 0;

	fill(f, 5);
	for (long page = 1; copy_without(f, page); page++)
		losses += salvage(f) < 5;
	assert_int_equal(losses, 2);
}

SALVAGE_TEST(test_salvage__a_row_with_other_bytes_is_left_out)
{
	sqlite3 *handle = NULL;

	fill(f, 5);
	(void)copy_without(f, 0);
	assert_int_equal(sqlite3_open(f->from, &handle), SQLITE_OK);
	assert_int_equal(sqlite3_exec(handle, "UPDATE desired SET body = '{}' WHERE rowid = 3",
				 NULL, NULL, NULL),
		SQLITE_OK);
	(void)sqlite3_close(handle);
	assert_int_equal(salvage(f), 4);
}

SALVAGE_TEST(test_salvage__no_room_is_no_damage)
{
	uint64_t kept;

	fill(f, 5);
	(void)copy_without(f, 0);
	assert_int_equal(symlink("/dev/full", f->to), 0);
	assert_int_not_equal(vbd_salvage(f->from, f->to, &kept, &f->err), VBD_OK);
}
