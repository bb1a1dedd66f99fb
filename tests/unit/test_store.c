/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store over real files. Calls of SQLite go through a shim, which lets the n-th of them fail.
 */
#include "daemon/store/store.h"

#include "daemon/store/database.h"
#include "daemon/store/tables.h"
#include "tests/unit/scratch.h"
#include "tests/unit/sqlite_faults.h"
#include "tests/unit/unit.h"

#include <poll.h>
#include <semaphore.h>
#include <sys/stat.h>
#include <unistd.h>

#define EVENTS_KEPT 8
#define PATIENCE_MS 60000

/* --- the fixture ----------------------------------------------------------------------------- */

struct fixture {
	char folder[SCRATCH_PATH_BYTES];
	char dir[SCRATCH_PATH_BYTES + 32];
	char file[SCRATCH_PATH_BYTES + 64];
	struct vbd_store *store;
	struct vbd_words words;
	/* Loaded by the last store: */
	struct vbd_link events; /* rows */
	size_t event_count;
	uint64_t ids[VBD_KIND_COUNT];
	char killed[VBD_SERVER_ID_BYTES]; /* the run before */
};

static void forget(struct fixture *f)
{
	vbd_rows_free(&f->events);
	f->event_count = 0;
}

static enum vbd_status load(struct vbd_database *database, void *arg, struct vbd_error *err)
{
	struct fixture *f = arg;
	enum vbd_status status = vbd_run_table_load(database, f->killed, err);

	forget(f);
	if (status == VBD_OK)
		status = vbd_id_table_load(database, f->ids, err);
	if (status == VBD_OK)
		status = vbd_event_table_load(database, EVENTS_KEPT, &f->events, err);
	vbd_list_for_each (link, &f->events) {
		struct vbd_event event;

		f->event_count += vbd_event_of_row(
			VBD_CONTAINER_OF(link, struct vbd_row, link), &f->words, NULL, &event);
	}
	return status;
}

static enum vbd_status begin(
	struct vbd_database *database, uint64_t floor, void *arg, struct vbd_error *err)
{
	(void)floor;
	(void)arg;
	return vbd_run_table_begin(database, "0123456789abcdef", 1, err);
}

static enum vbd_status trim(struct vbd_database *database, void *arg, struct vbd_error *err)
{
	(void)arg;
	return vbd_trim_events(database, EVENTS_KEPT, err);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	sqlite_let_fail(0, 0, 0);
	scratch_make(f->folder);
	(void)snprintf(f->dir, sizeof(f->dir), "%s/state", f->folder);
	(void)snprintf(f->file, sizeof(f->file), "%s/state.db", f->dir);
	vbd_list_init(&f->events);
	*state = f;
	return 0;
}

static void close_store(struct fixture *f)
{
	assert_true(vbd_store_destroy(f->store, 10000));
	f->store = NULL;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	close_store(f);
	forget(f);
	vbd_words_free(&f->words);
	scratch_remove(f->folder);
	free(f);
	return 0;
}

#define STORE_TEST(name) TEST_WITH(name, struct fixture *f, setup, teardown)

static struct vbd_store_state open_store(struct fixture *f)
{
	static const struct vbd_store_ops ops = {.load = load, .begin = begin, .trim = trim};

	close_store(f);
	forget(f);
	assert_int_equal(vbd_store_create(f->dir, &ops, f, &f->store, NULL), VBD_OK);
	return vbd_store_state(f->store);
}

static struct vbd_event last_event(struct fixture *f)
{
	struct vbd_event event;

	assert_true(vbd_event_of_row(
		VBD_CONTAINER_OF(f->events.prev, struct vbd_row, link), &f->words, NULL, &event));
	return event;
}

static void put(struct fixture *f, uint64_t first, uint64_t last)
{
	for (uint64_t seq = first; seq <= last; seq++) {
		struct vbd_event event = {
			.seq = seq,
			.at_ns = 1,
			.type = VBD_EVENT_CONNECTION_ENDED,
			.severity = VBD_SEVERITY_WARNING,
			.kind = VBD_KIND_CONNECTION,
			.object_id = 7,
			.name = "to-b",
			.words[VBD_EVENT_STATE] = "failed",
			.words[VBD_EVENT_CODE] = "timed_out",
			.detail = "it's over",
		};

		vbd_event_put(f->store, &event);
	}
}

/* Reads the number that a query of another connection gives, as a person would. */
static int64_t ask(const struct fixture *f, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	sqlite3 *handle = NULL;
	int64_t number;

	assert_int_equal(sqlite3_open(f->file, &handle), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(handle, sql, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(__real_sqlite3_step(stmt), SQLITE_ROW);
	number = sqlite3_column_int64(stmt, 0);
	(void)sqlite3_finalize(stmt);
	(void)sqlite3_close(handle);
	return number;
}

/* Waits until the store has recovered, and all is written. */
static void settle_well(struct fixture *f)
{
	UNIT_UNTIL (!vbd_store_state(f->store).failing && !vbd_store_state(f->store).waiting)
		(void)poll(NULL, 0, 1);
}

static void change(const struct fixture *f, const char *sql)
{
	sqlite3 *handle = NULL;

	assert_int_equal(sqlite3_open(f->file, &handle), SQLITE_OK);
	assert_int_equal(__real_sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK);
	(void)sqlite3_close(handle);
}

/* Changes it as a newer version would. */
static void resum(const struct fixture *f, const char *sql)
{
	struct vbd_database *database;

	assert_int_equal(vbd_database_open(f->file, &database, NULL), VBD_OK);
	assert_int_equal(vbd_database_run(database, sql, NULL), VBD_OK);
	assert_int_equal(
		vbd_database_run(database, "UPDATE events SET sum = " VBD_EVENT_SUM, NULL), VBD_OK);
	vbd_database_close(database);
}

static void assert_whole(const struct fixture *f)
{
	assert_int_equal(ask(f, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"), 1);
}

/* --- what is kept ---------------------------------------------------------------------------- */

STORE_TEST(test_store__what_was_written_is_there_after_a_restart)
{
	struct vbd_event last, *event = &last;

	assert_true(open_store(f).is_open);
	assert_int_equal(f->event_count, 0);
	put(f, 1, 3);
	vbd_id_put(f->store, VBD_KIND_CONNECTION, 12);
	vbd_id_put(f->store, VBD_KIND_NONE, 3);
	vbd_run_put_stop(f->store);
	assert_true(open_store(f).loaded);
	assert_int_equal(f->event_count, 3);
	last = last_event(f);
	assert_int_equal(event->seq, 3);
	assert_int_equal(event->type, VBD_EVENT_CONNECTION_ENDED);
	assert_int_equal(event->severity, VBD_SEVERITY_WARNING);
	assert_int_equal(event->kind, VBD_KIND_CONNECTION);
	assert_int_equal(event->object_id, 7);
	assert_string_equal(event->name, "to-b");
	assert_string_equal(event->words[VBD_EVENT_STATE], "failed");
	assert_string_equal(event->words[VBD_EVENT_CODE], "timed_out");
	assert_null(event->words[VBD_EVENT_PREVIOUS_STATE]);
	assert_string_equal(event->detail, "it's over");
	assert_int_equal(f->ids[VBD_KIND_CONNECTION], 12);
	assert_int_equal(f->ids[VBD_KIND_NONE], 3);
	assert_int_equal(f->ids[VBD_KIND_BUFFER], 0);
	assert_int_equal(ask(f, "SELECT count(*) FROM runs"), 1);
	assert_string_equal(f->killed, "");
}

STORE_TEST(test_store__only_the_owner_can_read_the_files)
{
	struct stat about;
	char path[SCRATCH_PATH_BYTES + 96];
	mode_t before = umask(0);

	(void)open_store(f);
	put(f, 1, 1);
	vbd_store_settle(f->store, PATIENCE_MS);
	(void)umask(before);
	assert_int_equal(stat(f->dir, &about), 0);
	assert_int_equal(about.st_mode & 0777, 0700);
	assert_int_equal(stat(f->file, &about), 0);
	assert_int_equal(about.st_mode & 0777, 0600);
	(void)snprintf(path, sizeof(path), "%s-wal", f->file);
	assert_int_equal(stat(path, &about), 0);
	assert_int_equal(about.st_mode & 0777, 0600);
}

STORE_TEST(test_store__a_person_reads_it_while_it_is_written)
{
	(void)open_store(f);
	put(f, 1, 3);
	vbd_store_settle(f->store, PATIENCE_MS);
	assert_int_equal(ask(f, "SELECT count(*) FROM events"), 3);
	assert_int_equal(vbd_store_state(f->store).written, 3);
	assert_int_equal(vbd_store_state(f->store).waiting, 0);
}

STORE_TEST(test_store__the_oldest_rows_go_first)
{
	(void)open_store(f);
	put(f, 1, 100);
	vbd_store_settle(f->store, PATIENCE_MS);
	assert_int_equal(ask(f, "SELECT count(*) FROM events"), EVENTS_KEPT);
	assert_int_equal(ask(f, "SELECT min(seq) FROM events"), 100 - EVENTS_KEPT + 1);
}

STORE_TEST(test_store__an_event_of_an_unknown_type_is_left_out)
{
	(void)open_store(f);
	put(f, 1, 3);
	close_store(f);
	resum(f, "UPDATE events SET type = 'moon_rose' WHERE seq = 2");
	assert_int_equal(open_store(f).losses, 0);
	assert_int_equal(f->event_count, 2);
	assert_int_equal(last_event(f).seq, 3);
}

STORE_TEST(test_store__damaged_bytes_of_an_event_are_told)
{
	static const char *const damages[] = {
		"UPDATE events SET type = 'moon_rose' WHERE seq = 2",
		"UPDATE events SET severity = 'info' WHERE seq = 2",
		"UPDATE events SET detail = 'it''s gone' WHERE seq = 2",
		"UPDATE events SET kind = NULL WHERE seq = 2",
		"UPDATE events SET at_ns = at_ns + 1 WHERE seq = 2",
		"UPDATE events SET sum = NULL WHERE seq = 2",
		"UPDATE events SET seq = 7 WHERE seq = 2",
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(damages); i++) {
		struct vbd_store_state now;

		(void)open_store(f);
		put(f, 1, 3);
		close_store(f);
		change(f, damages[i]);
		now = open_store(f);
		assert_int_equal(f->event_count, 2);
		assert_int_equal(now.losses, 1);
		assert_non_null(strstr(now.loss, "1 rows have values that no verbsd writes"));
		close_store(f);
		change(f, "DELETE FROM events");
	}
}

STORE_TEST(test_store__an_event_never_replaces_one_of_another_run)
{
	(void)open_store(f);
	put(f, 1, 3);
	close_store(f);
	change(f, "UPDATE events SET run = 99 WHERE seq = 2");
	(void)open_store(f);
	put(f, 2, 3);
	vbd_store_settle(f->store, PATIENCE_MS);
	assert_int_equal(ask(f, "SELECT run FROM events WHERE seq = 2"), 99);
	assert_non_null(
		strstr(vbd_store_state(f->store).loss, "1 events have numbers of another run"));
}

/* --- the schema ------------------------------------------------------------------------------ */

STORE_TEST(test_store__a_new_file_gets_the_schema)
{
	(void)open_store(f);
	assert_int_equal(ask(f, "PRAGMA user_version"), VBD_SCHEMA_VERSION);
	assert_whole(f);
}

STORE_TEST(test_store__an_event_of_an_unknown_run_is_left_out_and_told)
{
	struct vbd_store_state now;

	(void)open_store(f);
	put(f, 1, 3);
	close_store(f);
	change(f, "UPDATE events SET run = 99 WHERE seq = 2");
	now = open_store(f);
	assert_int_equal(f->event_count, 2);
	assert_int_equal(now.losses, 1);
	assert_non_null(strstr(now.loss, "1 rows have values that no verbsd writes"));
}

STORE_TEST(test_store__another_schema_is_refused_and_stays)
{
	static const struct {
		const char *pragma, *told;
		int version;
	} files[] = {
		{"PRAGMA user_version = 99", "a newer verbsd wrote the file (schema 99", 99},
		{"PRAGMA user_version = 7", "an unreleased verbsd wrote the file (schema 7", 7},
	};

	(void)open_store(f);
	put(f, 1, 3);
	close_store(f);
	for (size_t i = 0; i < VBD_ARRAY_LEN(files); i++) {
		struct vbd_store_state now;

		change(f, files[i].pragma);
		now = open_store(f);
		assert_true(now.failing);
		assert_false(now.is_open);
		assert_int_equal(now.losses, 0);
		assert_non_null(strstr(now.text, files[i].told));
		put(f, 4, 4);
		close_store(f);
		assert_int_equal(ask(f, "PRAGMA user_version"), files[i].version);
		assert_int_equal(ask(f, "SELECT count(*) FROM events"), 3);
	}
}

STORE_TEST(test_store__a_database_of_another_program_is_refused)
{
	struct vbd_store_state now;

	assert_int_equal(mkdir(f->dir, 0700), 0);
	change(f, "CREATE TABLE songs (name TEXT)");
	now = open_store(f);
	assert_true(now.failing);
	assert_non_null(strstr(now.text, "belongs to another program"));
	close_store(f);
	assert_int_equal(ask(f, "SELECT count(*) FROM songs"), 0);
}

/* --- files that can't be used ---------------------------------------------------------------- */

static void overwrite(const struct fixture *f, long at)
{
	char bytes[512];
	FILE *file = fopen(f->file, "r+");

	memset(bytes, 0x5a, sizeof(bytes));
	assert_non_null(file);
	assert_int_equal(fseek(file, at, SEEK_SET), 0);
	assert_int_equal(fwrite(bytes, 1, sizeof(bytes), file), sizeof(bytes));
	assert_int_equal(fclose(file), 0);
}

STORE_TEST(test_store__a_damaged_file_is_set_aside)
{
	static const long places[] = {0, 4096, 8192, 12288};
	char aside[SCRATCH_PATH_BYTES + 96];

	(void)snprintf(aside, sizeof(aside), "%s.damaged", f->file);
	for (size_t i = 0; i < VBD_ARRAY_LEN(places); i++) {
		struct vbd_store_state now;

		(void)open_store(f);
		put(f, 1, 3);
		close_store(f);
		overwrite(f, places[i]);
		now = open_store(f);
		assert_int_equal(now.losses, 1);
		assert_true(now.is_open);
		assert_false(now.failing);
		assert_string_not_equal(now.loss, "");
		/* The first page has the schema, and no event is known without its run. */
		assert_int_equal(f->event_count, places[i] > 4096 ? 3 : 0);
		assert_int_equal(access(aside, F_OK), 0);
		put(f, 4, 4);
		vbd_store_settle(f->store, PATIENCE_MS);
		assert_int_equal(ask(f, "SELECT count(*) FROM events"), f->event_count + 1);
		close_store(f);
		assert_int_equal(unlink(f->file), 0);
	}
}

STORE_TEST(test_store__a_file_that_passes_its_check_is_not_set_aside)
{
	struct vbd_store_state now;
	char aside[SCRATCH_PATH_BYTES + 96];

	(void)snprintf(aside, sizeof(aside), "%s.damaged", f->file);

	(void)open_store(f);
	put(f, 1, 3);
	vbd_store_settle(f->store, PATIENCE_MS);
	sqlite_let_fail(3, 0, SQLITE_CORRUPT);
	put(f, 4, 5);
	vbd_store_settle(f->store, PATIENCE_MS);
	settle_well(f);
	now = vbd_store_state(f->store);
	assert_int_equal(now.losses, 0);
	assert_int_equal(access(aside, F_OK), -1);
	assert_int_equal(ask(f, "SELECT count(*) FROM events"), 5);
	assert_int_equal(ask(f, "SELECT count(*) FROM runs"), 1);
}

STORE_TEST(test_store__what_waits_is_written_when_a_database_can_be_had_again)
{
	struct vbd_store_state now;

	(void)open_store(f);
	put(f, 1, 3);
	vbd_store_settle(f->store, PATIENCE_MS);
	sqlite_let_fail(1, INT32_MAX - 1, SQLITE_CORRUPT);
	put(f, 4, 5);
	vbd_store_settle(f->store, PATIENCE_MS);
	now = vbd_store_state(f->store);
	assert_true(now.failing);
	assert_int_equal(now.losses, 0);
	assert_int_equal(now.written, 3);
	assert_int_equal(now.waiting, 2);
	sqlite_let_fail(0, 0, 0);
	settle_well(f);
	now = vbd_store_state(f->store);
	assert_int_equal(now.written, 5);
	assert_int_equal(now.dropped, 0);
	assert_int_equal(ask(f, "SELECT count(*) FROM events"), 5);
}

STORE_TEST(test_store__a_directory_in_use_is_not_used_twice)
{
	struct vbd_store *first;
	struct vbd_store_state now;

	(void)open_store(f);
	first = f->store;
	f->store = NULL;
	now = open_store(f);
	assert_true(now.failing);
	assert_false(now.is_open);
	assert_non_null(strstr(now.text, "another daemon uses"));
	close_store(f);
	f->store = first;
	put(f, 1, 1);
	vbd_store_settle(first, PATIENCE_MS);
	assert_int_equal(ask(f, "SELECT count(*) FROM events"), 1);
}

STORE_TEST(test_store__what_is_no_directory_or_open_to_others_is_refused)
{
	FILE *file = fopen(f->dir, "w");

	assert_non_null(file);
	(void)fclose(file);
	assert_non_null(strstr(open_store(f).text, "is not a directory"));
	close_store(f);
	assert_int_equal(unlink(f->dir), 0);
	assert_int_equal(mkdir(f->dir, 0700), 0);
	assert_int_equal(chmod(f->dir, 0770), 0);
	assert_non_null(strstr(open_store(f).text, "can be written to by others"));
}

STORE_TEST(test_store__what_is_no_file_or_a_link_is_refused)
{
	assert_int_equal(mkdir(f->dir, 0700), 0);
	assert_int_equal(symlink("/dev/null", f->file), 0);
	assert_true(open_store(f).failing);
	close_store(f);
	assert_int_equal(unlink(f->file), 0);
	assert_int_equal(mkdir(f->file, 0700), 0);
	assert_true(open_store(f).failing);
}

/* --- a disk that fails ----------------------------------------------------------------------- */

STORE_TEST(test_store__a_full_disk_delays_what_waits)
{
	static const int results[] = {
		SQLITE_FULL, SQLITE_READONLY, SQLITE_IOERR_WRITE, SQLITE_BUSY};
	uint64_t last = 0;

	(void)open_store(f);
	for (size_t i = 0; i < VBD_ARRAY_LEN(results); i++) {
		struct vbd_store_state now;

		sqlite_let_fail(1, INT32_MAX - 1, results[i]);
		put(f, last + 1, last + 2);
		vbd_store_settle(f->store, PATIENCE_MS);
		now = vbd_store_state(f->store);
		assert_true(now.failing);
		assert_string_not_equal(now.text, "");
		assert_true(now.failures > 0);
		sqlite_let_fail(0, 0, 0);
		put(f, last + 3, last + 3);
		UNIT_UNTIL (!vbd_store_state(f->store).failing)
			vbd_store_settle(f->store, PATIENCE_MS);
		vbd_store_settle(f->store, PATIENCE_MS);
		last += 3;
		assert_int_equal(ask(f, "SELECT max(seq) FROM events"), last);
		assert_int_equal(vbd_store_state(f->store).dropped, 0);
		assert_int_equal(vbd_store_state(f->store).written, last);
	}
	assert_whole(f);
}

STORE_TEST(test_store__the_queue_is_bounded)
{
	struct vbd_store_state now;
	uint64_t put_in = 0;

	(void)open_store(f);
	sqlite_let_fail(1, INT32_MAX - 1, SQLITE_FULL);
	do {
		put(f, put_in + 1, put_in + 1);
		put_in++;
		now = vbd_store_state(f->store);
	} while (!now.dropped);
	assert_true(now.waiting <= VBD_STORE_ITEMS_MAX);
	assert_int_equal(now.waiting + now.dropped, put_in);
	assert_true(vbd_store_destroy(f->store, 10000));
	f->store = NULL;
	sqlite_let_fail(0, 0, 0);
	assert_whole(f);
}

STORE_TEST(test_store__a_word_is_kept_once)
{
	const char *one = vbd_words_get(&f->words, "established");
	char again[] = "established";

	assert_string_equal(one, "established");
	assert_ptr_not_equal(one, again);
	assert_ptr_equal(vbd_words_get(&f->words, again), one);
	assert_string_equal(vbd_words_get(&f->words, "establish"), "establish");
	assert_string_equal(vbd_words_get(&f->words, ""), "");
	assert_ptr_equal(vbd_words_get(&f->words, again), one);
}

static bool no_thread; /* the next one can not be started */

enum vbd_status __real_vbd_thread_start(void *(*thread)(void *), void *arg, const char *what,
	pthread_t *ret_thread, struct vbd_error *err);
enum vbd_status __wrap_vbd_thread_start(void *(*thread)(void *), void *arg, const char *what,
	pthread_t *ret_thread, struct vbd_error *err);
enum vbd_status __wrap_vbd_thread_start(void *(*thread)(void *), void *arg, const char *what,
	pthread_t *ret_thread, struct vbd_error *err)
{
	if (no_thread)
		return vbd_error_errno(err, VBD_OK, "pthread_create", EAGAIN, "%s", what);
	return __real_vbd_thread_start(thread, arg, what, ret_thread, err);
}

STORE_TEST(test_store__without_a_thread_there_is_none)
{
	static const struct vbd_store_ops ops = {.load = load, .begin = begin, .trim = trim};
	struct vbd_error err = {0};
	int before = dup(STDERR_FILENO), after;

	assert_int_equal(close(before), 0);
	no_thread = true;
	assert_int_not_equal(vbd_store_create(f->dir, &ops, f, &f->store, &err), VBD_OK);
	no_thread = false;
	assert_null(f->store);
	assert_string_equal(err.call, "pthread_create");
	assert_int_equal(err.raw, EAGAIN);
	/* The lowest free descriptor is the same: none is left open. */
	after = dup(STDERR_FILENO);
	assert_int_equal(close(after), 0);
	assert_int_equal(after, before);
}

static bool hurries; /* a wait of VBD_STORE_OPEN_MS is over at once */
static sem_t answers;

struct timespec __real_vbd_cond_deadline(unsigned int timeout_ms);
struct timespec __wrap_vbd_cond_deadline(unsigned int timeout_ms);
struct timespec __wrap_vbd_cond_deadline(unsigned int timeout_ms)
{
	return __real_vbd_cond_deadline(
		hurries && timeout_ms == VBD_STORE_OPEN_MS ? 0 : timeout_ms);
}

static enum vbd_status load_late(struct vbd_database *database, void *arg, struct vbd_error *err)
{
	while (sem_wait(&answers) != 0)
		;
	return load(database, arg, err);
}

/* The daemon starts without the earlier runs, and writes as soon as the disk answers. */
STORE_TEST(test_store__a_database_that_does_not_answer_is_done_without)
{
	static const struct vbd_store_ops ops = {.load = load_late, .begin = begin, .trim = trim};
	struct vbd_store_state now;
	char text[SCRATCH_PATH_BYTES + 80];

	assert_int_equal(sem_init(&answers, 0, 0), 0);
	hurries = true;
	assert_int_equal(vbd_store_create(f->dir, &ops, f, &f->store, NULL), VBD_OK);
	hurries = false;
	(void)snprintf(text, sizeof(text), "%.120s did not answer for 20000 ms", f->dir);
	now = vbd_store_state(f->store);
	assert_true(now.failing);
	assert_false(now.loaded || now.is_open);
	assert_string_equal(now.text, text);
	put(f, 1, 2);
	assert_int_equal(sem_post(&answers), 0);
	settle_well(f);
	assert_true(vbd_store_state(f->store).loaded);
	close_store(f);
	assert_int_equal(sem_destroy(&answers), 0);
	assert_true(open_store(f).is_open);
	assert_int_equal(f->event_count, 2);
}

/* Nothing crashes or leaks, whatever call fails; what is in the file is whole, and the next start
 * finds it. */
STORE_TEST(test_store__any_call_of_sqlite_may_fail)
{
	static const int results[] = {SQLITE_NOMEM, SQLITE_IOERR, SQLITE_FULL, SQLITE_CORRUPT};

	for (size_t i = 0; i < VBD_ARRAY_LEN(results); i++) {
		int needed = INT32_MAX;

		for (int call = 1; call <= needed; call++) {
			sqlite_let_fail(call, 0, results[i]);
			(void)open_store(f);
			put(f, 1, 2);
			vbd_run_put_stop(f->store);
			close_store(f);
			if (sqlite_calls() < call)
				needed = call;
			sqlite_let_fail(0, 0, 0);
			assert_true(open_store(f).is_open);
			assert_true(f->event_count <= 2);
			close_store(f);
			assert_whole(f);
		}
		assert_true(needed > 20);
	}
}
