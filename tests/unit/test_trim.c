/* SPDX-License-Identifier: Apache-2.0 */
/* The bounds of the tables: the oldest rows go, once so many have come that it is worth to look. */
#include "daemon/store/tables.h"

#include "daemon/core/kinds.h"
#include "daemon/store/database.h"
#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <unistd.h>

struct fixture {
	char folder[SCRATCH_PATH_BYTES];
	struct vbd_database *database;
	struct vbd_trim trim;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	char path[SCRATCH_PATH_BYTES + 32];

	assert_non_null(f);
	scratch_make(f->folder);
	(void)snprintf(path, sizeof(path), "%s/state.db", f->folder);
	assert_int_equal(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
	assert_int_equal(vbd_database_open(path, &f->database, NULL), VBD_OK);
	assert_int_equal(vbd_schema_prepare(f->database, NULL), VBD_OK);
	f->trim = (struct vbd_trim){.events_max = 3};
	for (size_t i = 0; i < VBD_ARRAY_LEN(f->trim.records_max); i++)
		f->trim.records_max[i] = VBD_KEPT_WITHIN;
	f->trim.records_max[VBD_KIND_CONNECTION] = 6;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	vbd_database_close(f->database);
	scratch_remove(f->folder);
	free(f);
	return 0;
}

#define TRIM_TEST(name) TEST_WITH(name, struct fixture *f, setup, teardown)

/* Inserts rows whose number @first to @last stands for ?1 in @values. */
static void fill(
	struct fixture *f, const char *table, const char *values, uint64_t first, uint64_t last)
{
	char sql[600];

	(void)snprintf(sql, sizeof(sql),
		"WITH RECURSIVE n(i) AS (SELECT %" PRIu64
		" UNION ALL SELECT i + 1 FROM n WHERE i < %" PRIu64
		") INSERT INTO %s SELECT %s FROM n",
		first, last, table, values);
	assert_int_equal(vbd_database_run(f->database, sql, NULL), VBD_OK);
}

#define EVENTS "events (seq, run, at_ns, type, severity, detail)", "i, 1, 1, 'x', 'info', 'x'"
#define ANSWERS                                                                           \
	"answers (id, key, digest, begun_ns, status, code, content_type, headers, body)", \
		"i, i, x'00', CASE WHEN i % 2 THEN 1 ELSE 1 << 62 END, 200, '', '', '', 'x'"
#define RECORDS(kind)                                                 \
	"records (kind, id, run, state, created_ns, ended_ns, body)", \
		"'" kind "', i, 1, 'x', 1, CASE WHEN i % 2 THEN 1 END, 'x'"

static void expect(struct fixture *f, const char *sql, uint64_t wanted)
{
	uint64_t number = 0;

	assert_int_equal(vbd_database_number(f->database, sql, &number, NULL), VBD_OK);
	assert_int_equal(number, wanted);
}

static void run(struct fixture *f)
{
	assert_int_equal(vbd_trim_run(&f->trim, f->database, NULL), VBD_OK);
}

TRIM_TEST(test_trim__the_newest_events_stay)
{
	fill(f, EVENTS, 1, 255);
	run(f);
	expect(f, "SELECT count(*) FROM events", 255);
	fill(f, EVENTS, 256, 256);
	run(f);
	expect(f, "SELECT count(*) FROM events", 3);
	expect(f, "SELECT min(seq) FROM events", 254);
	fill(f, EVENTS, 257, 511);
	run(f);
	expect(f, "SELECT count(*) FROM events", 258);
	fill(f, EVENTS, 512, 512);
	run(f);
	expect(f, "SELECT min(seq) FROM events", 510);
}

TRIM_TEST(test_trim__answers_go_when_they_are_too_old)
{
	fill(f, ANSWERS, 1, 255);
	run(f);
	expect(f, "SELECT count(*) FROM answers", 255);
	fill(f, ANSWERS, 256, 256);
	run(f);
	expect(f, "SELECT count(*) FROM answers", 128);
	expect(f, "SELECT count(*) FROM answers WHERE id % 2", 0);
}

TRIM_TEST(test_trim__of_each_kind_with_a_history_the_newest_ended_records_stay)
{
	fill(f, RECORDS("connection"), 1, 255);
	run(f);
	expect(f, "SELECT count(*) FROM records", 255);
	fill(f, RECORDS("buffer"), 1, 10);
	run(f);
	expect(f, "SELECT count(*) FROM records WHERE kind = 'buffer'", 10);
	expect(f, "SELECT count(*) FROM records WHERE kind = 'connection' AND ended_ns", 6);
	expect(f, "SELECT min(id) FROM records WHERE kind = 'connection' AND ended_ns", 245);
	expect(f, "SELECT count(*) FROM records WHERE kind = 'connection' AND ended_ns IS NULL",
		127);
}
