/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of a daemon one after the other, with one state_dir. */
#include "daemon/core/labels.h"
#include "daemon/store/database.h"
#include "daemon/store/disk.h"
#include "daemon/store/keeper.h"
#include "daemon/store/tables.h"
#include "tests/unit/scratch.h"
#include "tests/unit/sqlite_ask.h"
#include "tests/unit/svc.h"

static char folder[SCRATCH_PATH_BYTES];

static int setup(void **state)
{
	scratch_make(folder);
	if (svc_setup(state) != 0)
		return -1;
	return svc_restart_in(*state, folder) ? 0 : -1;
}

static int teardown(void **state)
{
	int rc = svc_teardown(state);

	scratch_remove(folder);
	return rc;
}

#define STORE_TEST(name) TEST_WITH(name, struct svc *svc, setup, teardown)

/* The next run gets the files as they are now, as if this one had been killed. */
static void kill_and_restart(struct svc *svc)
{
	static unsigned int copies;
	char copy[SCRATCH_PATH_BYTES + 32];

	UNIT_UNTIL (!vbd_keeper_state(svc->daemon).waiting)
		svc_turn(svc);
	(void)snprintf(copy, sizeof(copy), "%s/copy%u", folder, copies++);
	scratch_copy(svc->config.state_dir, copy);
	svc_stop(svc);
	(void)snprintf(svc->config.state_dir, sizeof(svc->config.state_dir), "%s", copy);
	assert_true(svc_start(svc));
}

static const struct vbd_event *find_event(
	const struct svc *svc, enum vbd_event_type type, enum vbd_object_kind kind, uint64_t id)
{
	struct vbd_event_filter filter = {.kind = kind, .object_id = id, .by_type = true};

	filter.types[type] = true;
	return vbd_eventlog_next(svc->daemon->eventlog, 0, &filter);
}

STORE_TEST(test_services_store__events_of_a_stopped_run_are_there)
{
	size_t deaths;
	uint64_t id = svc_buffer(svc, "front", 4096, 0)->object.id;
	char server_id[17];
	const struct vbd_event *event;
	uint64_t last;

	memcpy(server_id, svc->daemon->server_id, sizeof(server_id));
	svc_restart(svc);
	event = find_event(svc, VBD_EVENT_BUFFER_REGISTERED, VBD_KIND_BUFFER, id);
	assert_non_null(event);
	assert_string_equal(event->run->server_id, server_id);
	assert_string_equal(event->name, "front");
	assert_string_equal(event->words[VBD_EVENT_STATE], "ready");
	assert_null(vbd_keeper_died(svc->daemon, &deaths));
	last = vbd_eventlog_find_run(svc->daemon->eventlog, server_id)->last;
	assert_int_equal(
		vbd_eventlog_get(svc->daemon->eventlog, last)->type, VBD_EVENT_DAEMON_STOPPING);
	assert_null(vbd_eventlog_get(svc->daemon->eventlog, last + 1)->run);
}

STORE_TEST(test_services_store__ids_grow_over_a_stop)
{
	uint64_t id = svc_buffer(svc, "", 4096, 0)->object.id;
	uint64_t pd = svc->daemon->pds->last_id;

	svc_restart(svc);
	assert_int_equal(svc_buffer(svc, "", 4096, 0)->object.id, id + 1);
	assert_true(svc->daemon->pds->last_id > pd);
}

STORE_TEST(test_services_store__ids_and_numbers_grow_over_a_kill)
{
	size_t deaths;
	uint64_t id = svc_buffer(svc, "", 4096, 0)->object.id;
	uint64_t seq = vbd_eventlog_last(svc->daemon->eventlog);
	char server_id[17];

	memcpy(server_id, svc->daemon->server_id, sizeof(server_id));
	kill_and_restart(svc);
	assert_string_equal(vbd_keeper_died(svc->daemon, &deaths), server_id);
	assert_non_null(find_event(svc, VBD_EVENT_BUFFER_REGISTERED, VBD_KIND_BUFFER, id));
	assert_true(svc_buffer(svc, "", 4096, 0)->object.id > id);
	assert_true(vbd_eventlog_last(svc->daemon->eventlog) > seq);
	assert_int_equal(vbd_eventlog_first(svc->daemon->eventlog), 1);
	assert_int_equal(vbd_eventlog_find_run(svc->daemon->eventlog, server_id)->last, seq);
}

STORE_TEST(test_services_store__an_event_keeps_its_labels_and_owner)
{
	struct vbd_label_selector selector = {0};
	struct vbd_labels *labels = vbd_labels_create(2);
	struct vbd_event event = {.type = VBD_EVENT_AUDIT};
	const struct vbd_event *found;

	assert_non_null(labels);
	vbd_labels_add(labels, "job", "x=1");
	vbd_labels_add(labels, "team/a", "");
	event.labels = labels;
	event.owner = vbd_callers_get(&svc->daemon->callers, "backup");
	(void)vbd_eventlog_append(svc->daemon->eventlog, &event, "x");
	vbd_labels_unref(labels);
	vbd_caller_unref(event.owner);
	svc_restart(svc);
	found = find_event(svc, VBD_EVENT_AUDIT, VBD_KIND_NONE, 0);
	assert_non_null(found);
	assert_string_equal(found->owner->name, "backup");
	assert_int_equal(
		vbd_label_selector_parse(&selector, "job=x=1,team/a=", "label", NULL), VBD_OK);
	assert_true(vbd_labels_match(found->labels, &selector));
}

STORE_TEST(test_services_store__the_log_holds_as_many_as_it_may)
{
	const struct vbd_event event = {.type = VBD_EVENT_AUDIT};
	uint64_t last;

	for (unsigned int i = 0; i < 1000; i++)
		(void)vbd_eventlog_append(svc->daemon->eventlog, &event, "%u", i);
	last = vbd_eventlog_last(svc->daemon->eventlog);
	svc->config.records.events = 100;
	svc_restart(svc);
	assert_int_equal(vbd_eventlog_held(svc->daemon->eventlog), 100);
	assert_true(vbd_eventlog_first(svc->daemon->eventlog) > last - 100);
	assert_non_null(vbd_eventlog_get(svc->daemon->eventlog, last));
	assert_null(vbd_eventlog_get(
		svc->daemon->eventlog, vbd_eventlog_first(svc->daemon->eventlog) - 1));
}

STORE_TEST(test_services_store__a_store_that_fails_is_an_event)
{
	char detail[240];
	FILE *file;

	assert_int_equal(vbd_keeper_check(svc->daemon, detail, sizeof(detail)), VBD_KEEPING_OK);
	svc_stop(svc);
	(void)snprintf(svc->config.state_dir, sizeof(svc->config.state_dir), "%.200s/file", folder);
	file = fopen(svc->config.state_dir, "w");
	assert_non_null(file);
	(void)fclose(file);
	assert_true(svc_start(svc));
	assert_int_equal(svc_count_events(svc, VBD_EVENT_STORE_FAILED), 1);
	assert_int_equal(
		vbd_keeper_check(svc->daemon, detail, sizeof(detail)), VBD_KEEPING_FAILING);
	assert_non_null(strstr(detail, "is not a directory"));
	assert_true(vbd_keeper_state(svc->daemon).waiting > 0);
	/* The ids of earlier runs are not known. */
	assert_true(svc_buffer(svc, "", 4096, 0)->object.id > 1000000000);
}

/* No row is written while another connection holds the database. */
STORE_TEST(test_services_store__a_run_that_uses_up_its_reserve_takes_ids_of_no_other)
{
	const struct vbd_event event = {.type = VBD_EVENT_DAEMON_STARTED};
	char path[sizeof(svc->config.state_dir) + 32];
	uint64_t id, seq, reserve;
	sqlite3 *holder;

	UNIT_UNTIL (!vbd_keeper_state(svc->daemon).waiting)
		svc_turn(svc);
	(void)snprintf(path, sizeof(path), "%s/" VBD_STORE_FILE, svc->config.state_dir);
	assert_int_equal(sqlite3_open(path, &holder), SQLITE_OK);
	assert_int_equal(sqlite3_exec(holder, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	id = svc_buffer(svc, "", 4096, 0)->object.id;
	reserve = vbd_eventlog_last(svc->daemon->eventlog) + VBD_IDS_AHEAD / 2;
	while ((seq = vbd_eventlog_last(svc->daemon->eventlog)) < reserve)
		(void)vbd_eventlog_append(svc->daemon->eventlog, &event, "one of many");
	assert_int_equal(svc_buffer(svc, "", 4096, 0)->object.id, id + 1);
	for (uint64_t i = 0; i < VBD_IDS_AHEAD / 2; i++)
		(void)vbd_eventlog_append(svc->daemon->eventlog, &event, "one of many");
	assert_true(vbd_eventlog_last(svc->daemon->eventlog) > UINT64_C(1) << 48);
	assert_true(svc_buffer(svc, "", 4096, 0)->object.id > UINT64_C(1) << 48);
	assert_int_equal(sqlite3_close(holder), SQLITE_OK);
	UNIT_UNTIL (!vbd_keeper_state(svc->daemon).waiting)
		svc_turn(svc);
	id = svc_buffer(svc, "", 4096, 0)->object.id;
	seq = vbd_eventlog_last(svc->daemon->eventlog);
	kill_and_restart(svc);
	assert_true(svc_buffer(svc, "", 4096, 0)->object.id > id);
	assert_true(vbd_eventlog_last(svc->daemon->eventlog) > seq);
}

static int64_t ask(const struct svc *svc, const char *sql)
{
	char path[sizeof(svc->config.state_dir) + 32];

	(void)snprintf(path, sizeof(path), "%s/" VBD_STORE_FILE, svc->config.state_dir);
	return sqlite_ask(path, sql);
}

static void change(const struct svc *svc, const char *sql)
{
	char path[sizeof(svc->config.state_dir) + 32];
	sqlite3 *handle;

	(void)snprintf(path, sizeof(path), "%s/" VBD_STORE_FILE, svc->config.state_dir);
	assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
	assert_int_equal(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK);
	(void)sqlite3_close(handle);
}

/* A table is gone: nothing says what the run may use. */
STORE_TEST(test_services_store__a_run_that_can_not_load_takes_ids_of_no_other)
{
	uint64_t id = svc_buffer(svc, "", 4096, 0)->object.id;
	uint64_t seq = vbd_eventlog_last(svc->daemon->eventlog);
	char detail[240];

	svc_stop(svc);
	change(svc, "DROP TABLE desired");
	assert_true(svc_start(svc));
	assert_true(svc_buffer(svc, "", 4096, 0)->object.id > id);
	assert_true(vbd_eventlog_last(svc->daemon->eventlog) > seq);
	assert_int_equal(
		vbd_keeper_check(svc->daemon, detail, sizeof(detail)), VBD_KEEPING_FAILING);
	assert_non_null(strstr(detail, "no such table: desired"));
}

/* Reads what is kept with no memory for the @nth allocation; returns whether that came to pass. */
static bool load_without(struct vbd_database *database, unsigned int nth)
{
	struct vbd_link rows;
	unsigned int count = 0;
	enum vbd_status status;
	bool failed;

	vbd_list_init(&rows);
	fake_memory_fail_nth(nth);
	status = vbd_desired_table_load(database, &rows, NULL);
	failed = fake_memory_failed();
	fake_memory_fail_nth(0);
	assert_int_equal(status, failed ? VBD_E_NO_MEMORY : VBD_OK);
	vbd_list_for_each (link, &rows)
		assert_string_equal(vbd_row_text(VBD_CONTAINER_OF(link, struct vbd_row, link), 1),
			count++ ? "rear" : "front");
	assert_true(count == 2 || failed);
	vbd_rows_free(&rows);
	return failed;
}

STORE_TEST(test_services_store__what_is_kept_is_read_whole_or_not_at_all)
{
	struct vbd_desired row = {
		.kind = "buffer", .name = "front", .owner = "", .body = "{\"size_bytes\": 1}"};
	char path[sizeof(svc->config.state_dir) + 32];
	struct vbd_database *database;
	unsigned int failures = 0;

	(void)vbd_keeper_put_desired(svc->daemon->keeper, &row);
	row.name = "rear";
	(void)vbd_keeper_put_desired(svc->daemon->keeper, &row);
	svc_stop(svc);
	(void)snprintf(path, sizeof(path), "%s/" VBD_STORE_FILE, svc->config.state_dir);
	assert_int_equal(vbd_database_open(path, &database, &svc->err), VBD_OK);
	while (load_without(database, failures + 1))
		failures++;
	/* The rows. */
	assert_true(failures >= 2);
	vbd_database_close(database);
}

/* Changes the first letter of a text in a page of the file. */
static void spoil(const struct svc *svc, int64_t number, const char *text)
{
	char path[sizeof(svc->config.state_dir) + 32], page[4096], *at;
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/" VBD_STORE_FILE, svc->config.state_dir);
	file = fopen(path, "r+");
	assert_non_null(file);
	assert_int_equal(fseek(file, (number - 1) * (long)sizeof(page), SEEK_SET), 0);
	assert_int_equal(fread(page, 1, sizeof(page), file), sizeof(page));
	at = memmem(page, sizeof(page), text, strlen(text));
	assert_non_null(at);
	*at = '_';
	assert_int_equal(fseek(file, (number - 1) * (long)sizeof(page), SEEK_SET), 0);
	assert_int_equal(fwrite(page, 1, sizeof(page), file), sizeof(page));
	assert_int_equal(fclose(file), 0);
}

STORE_TEST(test_services_store__a_damaged_index_hides_no_row)
{
	static const char root[] = "SELECT rootpage FROM sqlite_schema"
				   " WHERE name = 'sqlite_autoindex_desired_1'";
	struct vbd_desired row = {
		.kind = "buffer", .name = "front", .owner = "", .body = "{\"size_bytes\": 1}"};

	(void)vbd_keeper_put_desired(svc->daemon->keeper, &row);
	svc_stop(svc);
	spoil(svc, ask(svc, root), "front");
	assert_true(svc_start(svc));
	(void)vbd_keeper_drop_desired(svc->daemon->keeper, "front");
	svc_stop(svc);
	assert_int_equal(ask(svc, "SELECT count(*) FROM desired"), 0);
}

STORE_TEST(test_services_store__a_record_whose_kind_is_damaged_is_told)
{
	static const char damage[] =
		"INSERT INTO records (kind, id, run, state, created_ns, ended_ns, body, sum)"
		" VALUES ('prob_', 5, 1, 'done', 1, 2, '{}', 7) RETURNING 1";

	svc_stop(svc);
	assert_int_equal(ask(svc, damage), 1);
	assert_true(svc_start(svc));
	assert_int_equal(vbd_keeper_state(svc->daemon).losses, 1);
	assert_non_null(strstr(vbd_keeper_state(svc->daemon).loss, "1 rows have values"));
}

STORE_TEST(test_services_store__a_record_with_other_bytes_is_told)
{
	char detail[240];

	svc_stop(svc);
	change(svc, "INSERT INTO records (kind, id, run, state, created_ns, ended_ns, body, sum)"
		    " VALUES ('probe', 5, 1, 'done', 1, 2, x'00ff', 7)");
	assert_true(svc_start(svc));
	assert_int_equal(svc_count_events(svc, VBD_EVENT_STORE_DAMAGED), 1);
	assert_int_equal(vbd_keeper_check(svc->daemon, detail, sizeof(detail)), VBD_KEEPING_LESS);
	assert_non_null(strstr(detail, "1 rows have values"));
	assert_true(svc->daemon->registries[VBD_KIND_PROBE].past_ended.count == 0);
}

STORE_TEST(test_services_store__without_state_dir_nothing_is_kept)
{
	char detail[240];

	svc->config.state_dir[0] = '\0';
	svc_restart(svc);
	assert_null(svc->daemon->keeper);
	assert_int_equal(
		vbd_keeper_check(svc->daemon, detail, sizeof(detail)), VBD_KEEPING_NOTHING);
	assert_non_null(strstr(detail, "no state_dir"));
}
