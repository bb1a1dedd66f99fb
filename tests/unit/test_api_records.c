/* SPDX-License-Identifier: Apache-2.0 */
/* Ended objects of earlier runs, in lists and by themselves. */
#include "api/api.h"
#include "api/core/task.h"
#include "base/clock.h"
#include "daemon/store/database.h"
#include "daemon/store/keeper.h"
#include "daemon/store/tables.h"
#include "tests/unit/client.h"

#include <sqlite3.h>

static void start_api(struct client *f)
{
	static const struct client_caller callers[] = {
		{"alice", VBD_ROLE_CONTROL}, {"bob", VBD_ROLE_OPERATE}, {"eve", VBD_ROLE_READ}};

	client_open(f, callers, VBD_ARRAY_LEN(callers));
	vbd_keeper_encode_with(f->svc->daemon, vbd_record_encode);
}

static void stop_api(struct client *f)
{
	vbd_keeper_encode_with(f->svc->daemon, NULL);
	client_close(f);
}

static int setup(void **state)
{
	*state = client_begin(true);
	start_api(*state);
	return 0;
}

static int teardown(void **state)
{
	const struct client *f = *state;

	vbd_keeper_encode_with(f->svc->daemon, NULL);
	return client_end(state);
}

#define RECORDS_TEST(name) TEST_WITH(name, struct client *f, setup, teardown)

static void on_stopped(void *arg)
{
	((struct svc *)arg)->stopped = true;
}

/* As when the process ends: the API answers until the daemon has stopped. */
static void restart(struct client *f)
{
	struct svc *svc = f->svc;

	svc->stopped = false;
	vbd_daemon_stop(svc->daemon, on_stopped, svc);
	SVC_UNTIL(svc, svc->stopped);
	stop_api(f);
	svc_restart(svc);
	start_api(f);
}

/* The next run gets the files as they are now, as if this one had been killed. */
static void kill_and_restart(struct client *f)
{
	static unsigned int copies;
	char copy[SCRATCH_PATH_BYTES + 32];

	UNIT_UNTIL (!vbd_keeper_state(f->svc->daemon).waiting)
		svc_turn(f->svc);
	(void)snprintf(copy, sizeof(copy), "%s/copy%u", f->folder, copies++);
	scratch_copy(f->svc->config.state_dir, copy);
	stop_api(f);
	svc_stop(f->svc);
	(void)snprintf(f->svc->config.state_dir, sizeof(f->svc->config.state_dir), "%s", copy);
	assert_true(svc_start(f->svc));
	start_api(f);
}

static unsigned int ask(struct client *f, const char *method, const char *target)
{
	return client_ask(f, "alice", method, target, NULL);
}

/* The caller frees it. A record has what a reader saw. */
static json_t *get(struct client *f, const char *target)
{
	assert_int_equal(client_ask(f, "eve", "GET", target, NULL), 200);
	return client_document(f);
}

static const char *text_of(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

/* The ids of a list: "3 2 1". */
static void assert_ids(struct client *f, const char *target, const char *wanted)
{
	json_t *page = get(f, target);
	json_t *items = json_object_get(page, "items");
	char ids[160] = "";

	for (size_t i = 0; i < json_array_size(items); i++) {
		size_t used = strlen(ids);

		(void)snprintf(ids + used, sizeof(ids) - used, "%s%lld", used ? " " : "",
			(long long)json_integer_value(
				json_object_get(json_array_get(items, i), "id")));
	}
	assert_string_equal(ids, wanted);
	json_decref(page);
}

/* An ended connection, with the id that is returned. What a thread still finds out of a failure
 * would change its record later. */
static uint64_t fail_to_connect(struct client *f, const char *name)
{
	struct vbd_connection_spec spec = svc_spec_to(NULL);
	struct vbd_connection *connection;

	(void)snprintf(spec.name, sizeof(spec.name), "%s", name);
	connection = svc_connect(f->svc, &spec);
	SVC_UNTIL(f->svc, connection->object.ended && !connection->keeping);
	return connection->object.id;
}

static unsigned int count_deaths(struct client *f)
{
	json_t *page = get(f, "/v1/events?code=daemon_died&limit=1000");
	unsigned int count = (unsigned int)json_array_size(json_object_get(page, "items"));

	json_decref(page);
	return count;
}

/* --- tests ----------------------------------------------------------------------------------- */

RECORDS_TEST(test_records__an_ended_object_is_there_after_a_restart)
{
	char server_id[VBD_SERVER_ID_BYTES];
	json_t *before, *after;

	assert_int_equal(fail_to_connect(f, "front"), 1);
	memcpy(server_id, f->svc->daemon->server_id, sizeof(server_id));
	before = get(f, "/v1/connections/1");
	assert_null(text_of(before, "server_id"));
	for (int i = 0; i < 2; i++) {
		restart(f);
		after = get(f, i ? "/v1/connections/front" : "/v1/connections/1");
		assert_string_equal(text_of(after, "server_id"), server_id);
		json_object_del(after, "server_id");
		assert_true(json_equal(before, after));
		json_decref(after);
	}
	assert_ids(f, "/v1/connections?state=ended", "1");
	assert_ids(f, "/v1/connections", "");
	assert_int_equal(fail_to_connect(f, "front"), 2);
	assert_ids(f, "/v1/connections?state=ended,open", "1 2");
	after = get(f, "/v1/connections/front?fields=name");
	assert_int_equal(json_integer_value(json_object_get(after, "id")), 2);
	json_decref(after);
	json_decref(before);
}

RECORDS_TEST(test_records__each_object_has_the_id_of_its_run)
{
	char runs[3][VBD_SERVER_ID_BYTES];
	char path[32];

	for (int run = 0; run < 3; run++) {
		if (run)
			restart(f);
		memcpy(runs[run], f->svc->daemon->server_id, sizeof(runs[run]));
		assert_int_equal(fail_to_connect(f, ""), 2 * run + 1);
		assert_int_equal(fail_to_connect(f, ""), 2 * run + 2);
	}
	for (int id = 1; id <= 4; id++) {
		json_t *ended;

		(void)snprintf(path, sizeof(path), "/v1/connections/%d", id);
		ended = get(f, path);
		assert_string_equal(text_of(ended, "server_id"), runs[(id - 1) / 2]);
		json_decref(ended);
	}
}

RECORDS_TEST(test_records__what_a_killed_run_had_open_has_died)
{
	struct vbd_listener *listener = svc_listen(f->svc, NULL);
	struct vbd_connection_spec named = svc_spec_to(listener);
	struct vbd_connection *front, *passive;
	char path[64];
	json_t *died;
	char *text;

	(void)snprintf(named.name, sizeof(named.name), "front");
	front = svc_connect(f->svc, &named);
	SVC_UNTIL(f->svc, front->conn->state == VBD_CONN_ESTABLISHED);
	passive = svc_newest_of(f->svc, listener);
	SVC_UNTIL(f->svc, passive->conn->state == VBD_CONN_ESTABLISHED);
	(void)snprintf(
		path, sizeof(path), "/v1/connections/%llu", (unsigned long long)front->object.id);
	for (int i = 0; i < 2; i++) {
		kill_and_restart(f);
		died = get(f, path);
		assert_string_equal(text_of(died, "state"), "failed");
		assert_string_equal(text_of(died, "end_code"), "daemon_died");
		assert_string_equal(text_of(json_object_get(died, "error"), "code"), "daemon_died");
		assert_non_null(text_of(died, "established_at"));
		assert_non_null(text_of(died, "ended_at"));
		assert_true(json_is_null(json_object_get(died, "waits_for")));
		json_decref(died);
		(void)strcat(path, "/explain");
		died = get(f, path);
		*strrchr(path, '/') = '\0';
		assert_string_equal(text_of(died, "summary"),
			"It failed: the daemon ended before the object did.");
		assert_int_equal(json_array_size(json_object_get(died, "hints")), 1);
		json_decref(died);
		assert_ids(f, "/v1/connections?state=failed&end_code=daemon_died", "1 2");
		assert_int_equal(count_deaths(f), 2);
		died = get(f, "/v1/events?code=daemon_died&limit=1");
		text = json_dumps(died, JSON_COMPACT);
		assert_non_null(strstr(text, "\"name\":\"front\""));
		free(text);
		json_decref(died);
		assert_int_equal(
			f->svc->daemon->connections_ended[VBD_REASON_DAEMON_DIED], i ? 0 : 2);
	}
}

/* The row of the object that gets the id is not written yet when the daemon is killed. */
RECORDS_TEST(test_records__a_record_that_got_another_id_is_whole_after_a_kill)
{
	json_t *moved;

	assert_int_equal(fail_to_connect(f, "to-nowhere"), 1);
	UNIT_UNTIL (!vbd_keeper_state(f->svc->daemon).waiting)
		svc_turn(f->svc);
	f->svc->daemon->record_ops->replaced(f->svc->daemon, VBD_KIND_CONNECTION, 1, 7);
	kill_and_restart(f);
	assert_ids(f, "/v1/connections?state=ended", "7");
	moved = get(f, "/v1/connections/7");
	assert_int_equal(json_integer_value(json_object_get(moved, "id")), 7);
	assert_string_equal(text_of(moved, "name"), "to-nowhere");
	assert_string_equal(text_of(moved, "state"), "failed");
	json_decref(moved);
}

/* The entries are those of the event log, in its order. */
static void expect_events(struct client *f, const json_t *timeline, const char *object)
{
	const json_t *entries = json_object_get(timeline, "items");
	const json_t *events;
	json_int_t before_ns = 0;
	char target[64];
	json_t *page;

	(void)snprintf(target, sizeof(target), "/v1/events?object=%s&limit=1000", object);
	page = get(f, target);
	events = json_object_get(page, "items");
	assert_true(json_array_size(entries) > 1);
	assert_int_equal(json_array_size(entries), json_array_size(events));
	assert_int_equal(
		json_array_size(entries), json_integer_value(json_object_get(timeline, "total")));
	for (size_t i = 0; i < json_array_size(entries); i++) {
		const json_t *entry = json_array_get(entries, i);
		const json_t *event = json_array_get(events, i);
		json_int_t since_ns = json_integer_value(json_object_get(entry, "since_start_ns"));

		assert_int_equal(json_object_size(entry), 7);
		assert_string_equal(text_of(entry, "kind"), "event");
		assert_string_equal(text_of(entry, "what"), text_of(event, "type"));
		assert_true(json_equal(
			json_object_get(entry, "detail"), json_object_get(event, "detail")));
		assert_string_equal(text_of(entry, "at"), text_of(event, "at"));
		assert_true(json_is_null(json_object_get(entry, "from")));
		assert_true(json_is_null(json_object_get(entry, "to")));
		assert_true(since_ns >= before_ns && since_ns < 600 * (json_int_t)VBD_NS_PER_S);
		before_ns = since_ns;
	}
	assert_true(before_ns > 0);
	json_decref(page);
}

RECORDS_TEST(test_records__an_end_is_explained_as_it_was)
{
	const struct vbd_connection_spec nowhere = svc_spec_to(NULL);
	struct vbd_connection *failed = svc_connect(f->svc, &nowhere);
	struct vbd_listener_spec spec = svc_listener_spec();
	struct svc_pair pair;
	json_t *before, *after, *timeline;

	SVC_UNTIL(f->svc, failed->object.ended && !failed->keeping);
	pair = svc_pair(f->svc, svc_listen(f->svc, &spec));
	vbd_connection_close(pair.active);
	SVC_UNTIL(f->svc, pair.active->object.ended);
	before = get(f, "/v1/connections/1/explain");
	assert_null(json_object_get(before, "server_id"));
	restart(f);
	after = get(f, "/v1/connections/1/explain");
	assert_non_null(text_of(after, "server_id"));
	assert_string_equal(text_of(after, "summary"), text_of(before, "summary"));
	assert_string_equal(text_of(after, "end_code"), text_of(before, "end_code"));
	assert_true(json_equal(json_object_get(after, "hints"), json_object_get(before, "hints")));
	assert_true(json_equal(json_object_get(after, "cause"), json_object_get(before, "cause")));
	json_decref(before);
	json_decref(after);
	after = get(f, "/v1/connections/1");
	assert_null(json_object_get(after, "explanation"));
	json_decref(after);
	after = get(f, "/v1/connections/2/explain");
	assert_string_equal(
		text_of(after, "summary"), "It was closed: a client closed the connection.");
	assert_true(json_is_null(json_object_get(after, "facts")));
	json_decref(after);
	timeline = get(f, "/v1/connections/1/timeline");
	assert_true(json_is_true(json_object_get(timeline, "incomplete")));
	assert_true(json_is_null(json_object_get(timeline, "next")));
	assert_int_equal(json_integer_value(json_object_get(timeline, "dropped")), 0);
	expect_events(f, timeline, "connection/1");
	json_decref(timeline);
}

RECORDS_TEST(test_records__each_death_has_an_event)
{
	struct vbd_listener *listener = svc_listen(f->svc, NULL);

	for (int i = 0; i < 60; i++)
		(void)svc_pair(f->svc, listener);
	kill_and_restart(f);
	assert_int_equal(count_deaths(f), 120);
}

RECORDS_TEST(test_records__a_stop_ends_objects_as_stopping)
{
	struct vbd_listener_spec spec = svc_listener_spec();

	(void)svc_pair(f->svc, svc_listen(f->svc, &spec));
	restart(f);
	assert_ids(f, "/v1/connections?state=ended", "1 2");
	assert_ids(f, "/v1/connections?state=ended&end_code=daemon_died", "");
	assert_int_equal(count_deaths(f), 0);
}

RECORDS_TEST(test_records__lists_sort_select_and_go_on_over_runs)
{
	json_t *page;
	char target[160];

	(void)fail_to_connect(f, "b");
	(void)fail_to_connect(f, "c");
	restart(f);
	(void)fail_to_connect(f, "a");
	restart(f);
	(void)fail_to_connect(f, "d");
	assert_ids(f, "/v1/connections?state=ended&sort=name", "3 1 2 4");
	assert_ids(f, "/v1/connections?state=ended&sort=-id", "4 3 2 1");
	assert_ids(f, "/v1/connections?state=ended&sort=-created_at", "4 3 2 1");
	assert_ids(f, "/v1/connections?state=ended&sort=ended_at", "1 2 3 4");
	assert_ids(f, "/v1/connections?state=ended&name=c", "2");
	assert_ids(f, "/v1/connections?state=closed", "");
	page = get(f, "/v1/connections?state=ended&limit=2");
	assert_int_equal(json_integer_value(json_object_get(page, "total")), 4);
	(void)snprintf(target, sizeof(target), "/v1/connections?state=ended&limit=2&after=%s",
		text_of(page, "next"));
	json_decref(page);
	assert_ids(f, target, "3 4");
	assert_int_equal(ask(f, "GET", "/v1/connections?state=ended&sort=-duration"), 200);
	assert_int_equal(ask(f, "GET", "/v1/connections?state=ended&sort=bytes"), 200);
}

RECORDS_TEST(test_records__a_list_has_the_fields_that_were_asked_for)
{
	json_t *page, *wanted;

	(void)fail_to_connect(f, "a");
	restart(f);
	(void)fail_to_connect(f, "b");
	page = get(f, "/v1/connections?state=ended&fields=name,end_code");
	wanted = json_pack("[{s:i s:s s:s} {s:i s:s s:s}]", "id", 1, "name", "a", "end_code",
		"rejected", "id", 2, "name", "b", "end_code", "rejected");
	if (!json_equal(json_object_get(page, "items"), wanted))
		fail_msg("%s", f->req.reply.body);
	json_decref(wanted);
	json_decref(page);
}

static void refuses(struct client *f, const char *target, const char *code, const char *parameter)
{
	json_t *problem;
	const json_t *fault;

	assert_int_equal(ask(f, "GET", target), 400);
	problem = json_loadb(f->req.reply.body, f->req.reply.body_bytes, 0, NULL);
	fault = json_array_get(json_object_get(problem, "errors"), 0);
	assert_string_equal(text_of(problem, "code"), code);
	assert_string_equal(text_of(fault, "parameter"), parameter);
	json_decref(problem);
}

RECORDS_TEST(test_records__a_bad_query_is_refused_for_earlier_runs_too)
{
	(void)fail_to_connect(f, "a");
	restart(f);
	refuses(f, "/v1/connections/1?fields=nothing", "bad_value", "fields");
	refuses(f, "/v1/connections/1?view=some", "unknown_field", "view");
	refuses(f,
		"/v1/connections?state=ended&device="
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		"too_long", "device");
}

RECORDS_TEST(test_records__lists_select_by_label_over_runs)
{
	struct vbd_labels *labels = vbd_labels_create(1);

	vbd_labels_add(labels, "job", "x");
	(void)fail_to_connect(f, "a");
	f->svc->origin.labels = labels;
	(void)fail_to_connect(f, "b");
	f->svc->origin.labels = NULL;
	restart(f);
	f->svc->origin.labels = labels;
	(void)fail_to_connect(f, "c");
	f->svc->origin.labels = NULL;
	vbd_labels_unref(labels);
	assert_ids(f, "/v1/connections?state=ended", "1 2 3");
	assert_ids(f, "/v1/connections?state=ended&label=job%3Dx", "2 3");
	assert_ids(f, "/v1/connections?state=ended&label=job", "2 3");
	assert_ids(f, "/v1/connections?state=ended&label=job%3Dy", "");
}

RECORDS_TEST(test_records__a_deleted_record_is_gone_for_good)
{
	for (int i = 0; i < 4; i++)
		(void)fail_to_connect(f, "");
	assert_int_equal(ask(f, "DELETE", "/v1/connections/1"), 204);
	restart(f);
	assert_int_equal(ask(f, "POST", "/v1/connections/2/close"), 200);
	assert_int_equal(ask(f, "DELETE", "/v1/connections/2"), 204);
	assert_int_equal(ask(f, "GET", "/v1/connections/2"), 404);
	assert_ids(f, "/v1/connections?state=ended", "3 4");
	restart(f);
	assert_ids(f, "/v1/connections?state=ended", "3 4");
	assert_int_equal(ask(f, "DELETE", "/v1/objects?kind=connection&all=true"), 200);
	assert_ids(f, "/v1/connections?state=ended", "");
	restart(f);
	assert_ids(f, "/v1/connections?state=ended", "");
}

RECORDS_TEST(test_records__a_selection_names_what_it_would_delete)
{
	static const char front[] = "\"id\":1,\"name\":\"front\"";

	(void)fail_to_connect(f, "front");
	restart(f);
	assert_int_equal(
		ask(f, "DELETE", "/v1/objects?kind=connection&all=true&dry_run=true"), 200);
	assert_non_null(memmem(f->req.reply.body, f->req.reply.body_bytes, front, strlen(front)));
	assert_ids(f, "/v1/connections?state=ended", "1");
}

/* The ETag of the newest answer. */
static void copy_etag(const struct client *f, char *ret_tag, size_t tag_bytes)
{
	const struct vbd_reply *reply = &f->req.reply;

	ret_tag[0] = '\0';
	for (size_t i = 0; i < reply->n_headers; i++) {
		if (strcmp(reply->headers[i].name, "ETag") == 0)
			(void)snprintf(ret_tag, tag_bytes, "%s", reply->headers[i].value);
	}
	assert_true(ret_tag[0]);
}

RECORDS_TEST(test_records__a_record_that_a_request_does_not_mean_stays)
{
	static const char path[] = "/v1/connections/1";
	char tag[128];

	(void)fail_to_connect(f, "");
	assert_int_equal(ask(f, "GET", path), 200);
	copy_etag(f, tag, sizeof(tag));
	restart(f);
	f->if_match = tag; /* of the run before */
	assert_int_equal(ask(f, "DELETE", path), 412);
	assert_int_equal(ask(f, "POST", "/v1/connections/1/close"), 412);
	f->if_match = NULL;
	assert_int_equal(ask(f, "GET", path), 200);
	copy_etag(f, tag, sizeof(tag));
	f->if_match = tag;
	assert_int_equal(ask(f, "POST", "/v1/connections/1/close"), 200);
	assert_int_equal(ask(f, "DELETE", path), 204);
}

RECORDS_TEST(test_records__newer_ones_take_the_place_of_older_ones)
{
	f->svc->config.records.ended = 3;
	restart(f);
	for (int i = 0; i < 4; i++)
		(void)fail_to_connect(f, "");
	assert_ids(f, "/v1/connections?state=ended", "2 3 4");
	restart(f);
	assert_ids(f, "/v1/connections?state=ended", "2 3 4");
	(void)fail_to_connect(f, "");
	(void)fail_to_connect(f, "");
	assert_ids(f, "/v1/connections?state=ended", "4 5 6");
	f->svc->config.records.ended = 1;
	restart(f);
	assert_ids(f, "/v1/connections?state=ended", "6");
}

RECORDS_TEST(test_records__another_caller_does_not_see_them)
{
	f->svc->origin.caller = vbd_callers_get(&f->svc->daemon->callers, "carol");
	(void)fail_to_connect(f, "front");
	vbd_caller_unref(f->svc->origin.caller);
	f->svc->origin.caller = NULL;
	restart(f);
	assert_int_equal(ask(f, "GET", "/v1/connections/front"), 200);
	assert_int_equal(client_ask(f, "bob", "GET", "/v1/connections/front", NULL), 404);
	assert_int_equal(client_ask(f, "bob", "DELETE", "/v1/connections/1", NULL), 404);
	assert_int_equal(client_ask(f, "bob", "GET", "/v1/connections?state=ended", NULL), 200);
	assert_non_null(memmem(f->req.reply.body, f->req.reply.body_bytes, "\"total\":0", 9));
}

/* Counts the rows of records whose body has a text. */
static int count_bodies(const struct client *f, const char *text)
{
	char path[SCRATCH_PATH_BYTES + 64];
	sqlite3_stmt *stmt = NULL;
	sqlite3 *handle = NULL;
	int count;

	(void)snprintf(path, sizeof(path), "%s/state/state.db", f->folder);
	UNIT_UNTIL (!vbd_keeper_state(f->svc->daemon).waiting)
		svc_turn(f->svc);
	assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
	assert_int_equal(
		sqlite3_prepare_v2(handle, "SELECT count(*) FROM records WHERE instr(body, ?1)", -1,
			&stmt, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_bind_text(stmt, 1, text, -1, SQLITE_STATIC), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	count = sqlite3_column_int(stmt, 0);
	(void)sqlite3_finalize(stmt);
	(void)sqlite3_close(handle);
	return count;
}

/* Executes a statement behind the daemon's back. */
static void change(const struct client *f, const char *sql)
{
	char path[SCRATCH_PATH_BYTES + 64];
	struct vbd_database *database;

	(void)snprintf(path, sizeof(path), "%s/state/state.db", f->folder);
	UNIT_UNTIL (!vbd_keeper_state(f->svc->daemon).waiting)
		svc_turn(f->svc);
	assert_int_equal(vbd_database_open(path, &database, NULL), VBD_OK);
	assert_int_equal(vbd_database_run(database, sql, NULL), VBD_OK);
	vbd_database_close(database);
}

static void assert_unreadable(struct client *f, const char *target)
{
	static const char said[] = "the record of connection 1 in state_dir can't be read";

	assert_int_equal(ask(f, "GET", target), 404);
	assert_non_null(memmem(f->req.reply.body, f->req.reply.body_bytes, said, strlen(said)));
}

RECORDS_TEST(test_records__one_that_can_not_be_read_is_told)
{
	assert_int_equal(fail_to_connect(f, "front"), 1);
	change(f, "UPDATE records SET body = '{', sum = " VBD_RECORD_SUM_OF(
			  "id", "state", "end_code", "ended_ns", "'{'"));
	restart(f);
	assert_unreadable(f, "/v1/connections/1");
	assert_unreadable(f, "/v1/connections/front/explain");
}

RECORDS_TEST(test_records__a_damaged_one_is_told)
{
	assert_int_equal(fail_to_connect(f, "front"), 1);
	change(f, "UPDATE records SET end_code = 'canceled'");
	restart(f);
	assert_int_equal(ask(f, "GET", "/v1/connections/1"), 404);
	assert_int_equal(svc_count_events(f->svc, VBD_EVENT_STORE_DAMAGED), 1);
}

RECORDS_TEST(test_records__private_data_never_reaches_the_disk)
{
	struct vbd_listener_spec listen = svc_listener_spec();
	struct vbd_connection_spec spec = svc_spec_to(svc_listen(f->svc, &listen));
	struct vbd_connection *connection;

	memcpy(spec.cm.private_data.bytes, "secret", 6);
	spec.cm.private_data.length_bytes = 6;
	connection = svc_connect(f->svc, &spec);
	SVC_UNTIL(f->svc, connection->conn->state == VBD_CONN_ESTABLISHED);
	assert_int_equal(count_bodies(f, "\"established\""), 2);
	assert_int_equal(count_bodies(f, "private_data"), 0);
}

RECORDS_TEST(test_records__transfers_are_found_by_what_they_used)
{
	struct vbd_listener_spec listen = svc_listener_spec();
	struct svc_pair pair = svc_pair(f->svc, svc_listen(f->svc, &listen));
	static const uint8_t hello[5] = "hello";
	struct vbd_transfer_record *record;

	assert_int_equal(svc_send_message(pair.active, hello, sizeof(hello), NULL, 10000, &record,
				 &f->svc->err),
		VBD_OK);
	SVC_UNTIL(f->svc, record->object.ended);
	restart(f);
	assert_ids(f, "/v1/transfers?state=ended&connection=1", "1");
	assert_ids(f, "/v1/transfers?state=done&connection=2", "");
	assert_ids(f, "/v1/transfers?state=done&sort=op", "1");
	assert_int_equal(ask(f, "POST", "/v1/transfers/1/cancel"), 200);
	assert_int_equal(ask(f, "DELETE", "/v1/transfers/1"), 204);
	assert_int_equal(ask(f, "GET", "/v1/transfers/1"), 404);
}
