/* SPDX-License-Identifier: Apache-2.0 */
/* Answers to requests with an Idempotency-Key, over a restart of the daemon. */
#include "api/api.h"
#include "base/clock.h"
#include "daemon/store/keeper.h"
#include "tests/unit/client.h"

#include <sqlite3.h>

/* Locked: the store's thread waits in its next call. */
static pthread_mutex_t disk = PTHREAD_MUTEX_INITIALIZER;
static atomic_int disk_result; /* of the calls, unless it is SQLITE_OK */

int __real_sqlite3_step(sqlite3_stmt *stmt);
int __wrap_sqlite3_step(sqlite3_stmt *stmt);
int __wrap_sqlite3_step(sqlite3_stmt *stmt)
{
	int result;

	(void)pthread_mutex_lock(&disk);
	result = atomic_load(&disk_result);
	(void)pthread_mutex_unlock(&disk);
	return result ? result : __real_sqlite3_step(stmt);
}

/* By how much the clock of the host was set. */
static atomic_ullong set_by_ns;

uint64_t __real_vbd_clock_wall_of_ns(uint64_t mono_ns);
uint64_t __wrap_vbd_clock_wall_of_ns(uint64_t mono_ns);
uint64_t __wrap_vbd_clock_wall_of_ns(uint64_t mono_ns)
{
	return __real_vbd_clock_wall_of_ns(mono_ns) + atomic_load(&set_by_ns);
}

uint64_t __wrap_vbd_clock_mono_of_wall_ns(uint64_t wall_ns);
uint64_t __wrap_vbd_clock_mono_of_wall_ns(uint64_t wall_ns)
{
	return wall_ns - __wrap_vbd_clock_wall_of_ns(0);
}

static void start_api(struct client *f)
{
	static const struct client_caller callers[] = {
		{"alice", VBD_ROLE_CONTROL}, {"bob", VBD_ROLE_CONTROL}};

	client_open(f, callers, VBD_ARRAY_LEN(callers));
}

static int setup(void **state)
{
	*state = client_begin(true);
	start_api(*state);
	return 0;
}

#define KEPT_ANSWERS_TEST(name) TEST_WITH(name, struct client *f, setup, client_end)

static void restart(struct client *f)
{
	client_close(f);
	svc_restart(f->svc);
	start_api(f);
}

static void send_request(
	struct client *f, const char *caller, const char *key, const char *target, const char *body)
{
	f->key = key;
	client_send(f, caller, "POST", target, body);
}

static unsigned int post(
	struct client *f, const char *caller, const char *key, const char *target, const char *body)
{
	f->key = key;
	return client_ask(f, caller, "POST", target, body);
}

/* The header is absent from an answer that a later run gives as well. */
static const char *durable(const struct client *f)
{
	return vbd_reply_find_header(&f->req.reply, "Idempotency-Durable");
}

static const char pd[] = "{\"name\":\"spare\"}";

KEPT_ANSWERS_TEST(test_kept_answers__a_repeat_gets_the_answer_of_the_run_before)
{
	size_t first_bytes;
	char *first;

	assert_int_equal(post(f, "alice", "k", "/v1/pds", pd), 201);
	first_bytes = f->req.reply.body_bytes;
	first = malloc(first_bytes);
	assert_non_null(first);
	memcpy(first, f->req.reply.body, first_bytes);
	restart(f);
	assert_int_equal(post(f, "alice", "k", "/v1/pds", pd), 201);
	assert_int_equal(f->req.reply.body_bytes, first_bytes);
	assert_memory_equal(f->req.reply.body, first, first_bytes);
	assert_string_equal(f->req.reply.content_type, "application/json");
	assert_string_equal(vbd_reply_find_header(&f->req.reply, "Location"), "/v1/pds/2");
	assert_non_null(vbd_reply_find_header(&f->req.reply, "ETag"));
	assert_null(vbd_registry_find_name(f->svc->daemon->pds, "spare"));
	assert_null(durable(f));
	free(first);
	restart(f);
	assert_int_equal(post(f, "alice", "k", "/v1/pds", pd), 201);
	assert_null(vbd_registry_find_name(f->svc->daemon->pds, "spare"));
	assert_null(durable(f));
}

/* A host without a clock of its own starts in the past, or a wrong clock was set right. */
KEPT_ANSWERS_TEST(test_kept_answers__one_of_a_later_date_is_given)
{
	assert_int_equal(post(f, "alice", "k", "/v1/pds", pd), 201);
	for (int days = 0; days < 2; days++) {
		atomic_fetch_sub(&set_by_ns, 86400 * VBD_NS_PER_S + 1);
		restart(f);
		assert_int_equal(post(f, "alice", "k", "/v1/pds", pd), 201);
		assert_null(vbd_registry_find_name(f->svc->daemon->pds, "spare"));
	}
	atomic_store(&set_by_ns, 3600 * VBD_NS_PER_S);
	restart(f);
	assert_int_equal(post(f, "alice", "k", "/v1/pds", pd), 201);
	assert_non_null(vbd_registry_find_name(f->svc->daemon->pds, "spare"));
	atomic_store(&set_by_ns, 0);
}

KEPT_ANSWERS_TEST(test_kept_answers__another_request_or_caller_is_told_apart)
{
	assert_int_equal(post(f, "alice", "k", "/v1/pds", pd), 201);
	restart(f);
	assert_int_equal(post(f, "alice", "k", "/v1/pds", "{\"name\":\"other\"}"), 422);
	assert_int_equal(post(f, "bob", "k", "/v1/pds", pd), 201);
	assert_non_null(vbd_registry_find_name(f->svc->daemon->pds, "spare"));
}

KEPT_ANSWERS_TEST(test_kept_answers__a_refused_request_runs_again)
{
	assert_int_equal(post(f, "alice", "k", "/v1/pds", "{\"nome\":\"spare\"}"), 400);
	restart(f);
	assert_int_equal(post(f, "alice", "k", "/v1/pds", pd), 201);
}

KEPT_ANSWERS_TEST(test_kept_answers__the_oldest_make_room)
{
	char key[16], body[64];

	for (int i = 0; i < 20; i++) {
		(void)snprintf(key, sizeof(key), "k%d", i);
		(void)snprintf(body, sizeof(body), "{\"name\":\"p%d\"}", i);
		assert_int_equal(post(f, "alice", key, "/v1/pds", body), 201);
	}
	restart(f);
	assert_int_equal(vbd_dispatch_idempotency_keys(f->dispatch), 16);
	assert_int_equal(post(f, "alice", "k19", "/v1/pds", "{\"name\":\"p19\"}"), 201);
	assert_null(vbd_registry_find_name(f->svc->daemon->pds, "p19"));
}

/* Counts the rows of answers whose body has a text. */
static int count_bodies(const struct client *f, const char *text)
{
	char path[SCRATCH_PATH_BYTES + 64];
	sqlite3_stmt *stmt = NULL;
	sqlite3 *handle = NULL;
	int count;

	(void)snprintf(path, sizeof(path), "%s/state/state.db", f->folder);
	assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
	(void)sqlite3_busy_timeout(handle, 60000);
	assert_int_equal(sqlite3_prepare_v2(handle,
				 "SELECT count(*) FROM answers WHERE instr(CAST(body AS TEXT), ?1)",
				 -1, &stmt, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_bind_text(stmt, 1, text, -1, SQLITE_STATIC), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	count = sqlite3_column_int(stmt, 0);
	(void)sqlite3_finalize(stmt);
	(void)sqlite3_close(handle);
	return count;
}

/* Damages what is kept of each answer, behind the daemon's back. */
static void spoil_digests(const struct client *f)
{
	char path[SCRATCH_PATH_BYTES + 64];
	sqlite3 *handle = NULL;

	(void)snprintf(path, sizeof(path), "%s/state/state.db", f->folder);
	UNIT_UNTIL (!vbd_keeper_state(f->svc->daemon).waiting)
		svc_turn(f->svc);
	assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
	(void)sqlite3_busy_timeout(handle, 60000);
	assert_int_equal(
		sqlite3_exec(handle, "UPDATE answers SET digest = x'00'", NULL, NULL, NULL),
		SQLITE_OK);
	(void)sqlite3_close(handle);
}

KEPT_ANSWERS_TEST(test_kept_answers__one_that_can_not_be_read_is_as_if_it_were_not_there)
{
	assert_int_equal(post(f, "alice", "k", "/v1/pds", pd), 201);
	spoil_digests(f);
	restart(f);
	assert_int_equal(vbd_dispatch_idempotency_keys(f->dispatch), 0);
	assert_int_equal(post(f, "alice", "k", "/v1/pds", pd), 201);
	assert_non_null(vbd_registry_find_name(f->svc->daemon->pds, "spare"));
}

KEPT_ANSWERS_TEST(test_kept_answers__keys_never_reach_the_disk)
{
	static const char body[] =
		"{\"name\":\"front\",\"size_bytes\":4096,\"access\":[\"remote_write\"]}";

	assert_int_equal(post(f, "alice", "k", "/v1/buffers", body), 201);
	assert_non_null(memmem(f->req.reply.body, f->req.reply.body_bytes, "\"rkey\"", 6));
	assert_int_equal(post(f, "alice", "k", "/v1/buffers", body), 201);
	assert_non_null(memmem(f->req.reply.body, f->req.reply.body_bytes, "\"rkey\"", 6));
	assert_int_equal(count_bodies(f, "\"front\""), 1);
	assert_int_equal(count_bodies(f, "key\""), 0);
	restart(f);
	assert_int_equal(post(f, "alice", "k", "/v1/buffers", body), 201);
	assert_null(memmem(f->req.reply.body, f->req.reply.body_bytes, "\"rkey\"", 6));
	assert_non_null(memmem(f->req.reply.body, f->req.reply.body_bytes, "\"front\"", 7));
}

/* Connects to a listener that rejects with private data; returns the HTTP status. */
static unsigned int be_rejected(
	struct client *f, const struct vbd_listener *listener, const char *key)
{
	struct vbd_private_data why = {.length_bytes = 8, .bytes = "tenant 7"};
	struct vbd_connection *passive;
	char body[128];

	(void)snprintf(body, sizeof(body), "{\"dst_addr\":\"10.0.0.1\",\"dst_port\":%u}",
		vbd_addr_port(&listener->addr));
	send_request(f, "alice", key, "/v1/connections?wait_ms=60000", body);
	SVC_UNTIL(f->svc, (passive = svc_newest_of(f->svc, listener)) &&
				  passive->conn->state == VBD_CONN_REQUESTED);
	assert_int_equal(vbd_connection_reject(passive, &why, false, &f->svc->err), VBD_OK);
	SVC_UNTIL(f->svc, f->req.reply.status && !f->req.held);
	return f->req.reply.status;
}

KEPT_ANSWERS_TEST(test_kept_answers__words_of_a_peer_never_reach_the_disk)
{
	struct vbd_listener_spec spec = svc_listener_spec();
	const struct vbd_listener *listener;

	spec.accept = VBD_ACCEPT_MANUAL;
	listener = svc_listen(f->svc, &spec);
	assert_int_equal(be_rejected(f, listener, NULL), 424);
	assert_non_null(memmem(f->req.reply.body, f->req.reply.body_bytes, "tenant 7", 8));
	assert_int_equal(be_rejected(f, listener, "k"), 424);
	assert_int_equal(count_bodies(f, "\"refused_by_program\""), 1);
	assert_int_equal(count_bodies(f, "tenant 7"), 0);
}

/* --- kills ----------------------------------------------------------------------------------- */

KEPT_ANSWERS_TEST(test_kept_answers__a_request_runs_when_its_key_is_on_the_disk)
{
	(void)pthread_mutex_lock(&disk);
	send_request(f, "alice", "k", "/v1/pds", pd);
	svc_turn(f->svc);
	assert_null(vbd_registry_find_name(f->svc->daemon->pds, "spare"));
	assert_int_equal(f->req.reply.status, 0);
	(void)pthread_mutex_unlock(&disk);
	SVC_UNTIL(f->svc, vbd_registry_find_name(f->svc->daemon->pds, "spare"));
	/* The row says that the outcome is not known, or has the answer already. */
	assert_int_equal(count_bodies(f, ""), 1);
}

KEPT_ANSWERS_TEST(test_kept_answers__an_answer_is_sent_when_it_is_on_the_disk)
{
	send_request(f, "alice", "k", "/v1/pds", pd);
	SVC_UNTIL(f->svc, f->req.reply.status);
	assert_true(f->req.held);
	SVC_UNTIL(f->svc, !f->req.held);
	assert_null(durable(f));
	assert_int_equal(count_bodies(f, "spare"), 1);
	assert_int_equal(count_bodies(f, "outcome_unknown"), 0);
}

KEPT_ANSWERS_TEST(test_kept_answers__an_answer_that_is_not_on_the_disk_says_so)
{
	atomic_store(&disk_result, SQLITE_FULL);
	assert_int_equal(post(f, "alice", "k", "/v1/pds", pd), 201);
	assert_string_equal(durable(f), "false");
	assert_int_equal(post(f, "alice", "k", "/v1/pds", pd), 201);
	assert_string_equal(durable(f), "false");
	assert_non_null(vbd_reply_find_header(&f->req.reply, "Idempotency-Replayed"));
	/* A request that did nothing runs again in any case. */
	assert_int_equal(post(f, "alice", "other", "/v1/pds", "{\"nome\":\"spare\"}"), 400);
	assert_null(durable(f));
	atomic_store(&disk_result, SQLITE_OK);
	SVC_UNTIL(f->svc, !vbd_keeper_state(f->svc->daemon).waiting);
	assert_int_equal(post(f, "alice", "k", "/v1/pds", pd), 201);
	assert_null(durable(f));
}

KEPT_ANSWERS_TEST(test_kept_answers__a_refused_request_leaves_no_row)
{
	assert_int_equal(post(f, "alice", "k", "/v1/pds", "{\"nome\":\"spare\"}"), 400);
	assert_int_equal(count_bodies(f, ""), 0);
}

static const char pool[] = "{\"name\":\"pool\",\"size_bytes\":4096}";

/* A store that fails from here on leaves what a kill at this moment leaves. */
KEPT_ANSWERS_TEST(test_kept_answers__a_request_that_a_kill_ended_does_not_run_again)
{
	send_request(f, "alice", "k", "/v1/buffers", pool);
	SVC_UNTIL(f->svc, vbd_registry_find_name(f->svc->daemon->buffers, "pool"));
	atomic_store(&disk_result, SQLITE_FULL);
	/* Nothing waits for a disk that can't be written. */
	SVC_UNTIL(f->svc, f->req.reply.status && !f->req.held);
	assert_int_equal(f->req.reply.status, 201);
	client_close(f);
	svc_stop(f->svc);
	atomic_store(&disk_result, SQLITE_OK);
	assert_true(svc_start(f->svc));
	start_api(f);
	assert_int_equal(post(f, "alice", "k", "/v1/buffers", pool), 409);
	assert_string_equal(f->req.reply.code, "outcome_unknown");
	assert_null(vbd_registry_find_name(f->svc->daemon->buffers, "pool"));
	assert_int_equal(post(f, "alice", "other", "/v1/buffers", pool), 201);
}

KEPT_ANSWERS_TEST(test_kept_answers__a_disk_that_hangs_is_told_and_not_waited_for)
{
	(void)pthread_mutex_lock(&disk);
	send_request(f, "alice", "k", "/v1/buffers", pool);
	SVC_UNTIL(f->svc, svc_count_events(f->svc, VBD_EVENT_STORE_FAILED) == 1);
	SVC_UNTIL(f->svc, f->req.reply.status && !f->req.held);
	assert_int_equal(f->req.reply.status, 201);
	assert_non_null(
		strstr(vbd_keeper_state(f->svc->daemon).text, "did not answer for 3000 ms"));
	(void)pthread_mutex_unlock(&disk);
	SVC_UNTIL(f->svc, svc_count_events(f->svc, VBD_EVENT_STORE_RECOVERED) == 1);
	assert_string_equal(vbd_keeper_state(f->svc->daemon).text, "");
}

KEPT_ANSWERS_TEST(test_kept_answers__a_request_whose_client_leaves_first_does_nothing)
{
	(void)pthread_mutex_lock(&disk);
	send_request(f, "alice", "k", "/v1/pds", pd);
	f->req.abandoned = true;
	f->on_gone(&f->req, f->park_arg);
	(void)pthread_mutex_unlock(&disk);
	assert_int_equal(post(f, "alice", "k", "/v1/pds", "{\"name\":\"other\"}"), 201);
	assert_null(vbd_registry_find_name(f->svc->daemon->pds, "spare"));
}
