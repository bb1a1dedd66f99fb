/* SPDX-License-Identifier: Apache-2.0 */
/* Answers to requests with an Idempotency-Key, over a restart of the daemon. */
#include "api/http/dispatch.h"
#include "api/resources/context.h"
#include "api/routes.h"
#include "base/clock.h"
#include "daemon/store/keeper.h"
#include "tests/unit/scratch.h"
#include "tests/unit/svc.h"
#include "tests/unit/transport.h"

#include <sqlite3.h>

static const uint64_t json_max_bytes = 65536;

struct fixture {
	struct svc *svc;
	char folder[SCRATCH_PATH_BYTES];
	struct vbd_api api;
	struct vbd_credentials *credentials;
	struct vbd_dispatch *dispatch;
	struct vbd_request req;
	char target[64], path[64], authorization[64];
	const char *key; /* Idempotency-Key */
};

static struct fixture *current;

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

static const char *header(struct vbd_request *req, const char *name)
{
	(void)req;
	if (strcasecmp(name, "Idempotency-Key") == 0)
		return current->key;
	return unit_header(current->authorization, name);
}

/* The wait of the request of the test. */
static struct {
	vbd_request_cb on_gone;
	void *arg;
} parked;

static enum vbd_status park(struct vbd_request *req, uint64_t timeout_ms, vbd_request_cb on_timeout,
	vbd_request_cb on_gone, void *arg, struct vbd_error *err)
{
	parked.on_gone = on_gone;
	parked.arg = arg;
	return unit_park(req, timeout_ms, on_timeout, on_gone, arg, err);
}

static const struct vbd_transport transport = {.header = header,
	.park = park,
	.answered = unit_ignore,
	.follow = unit_follow,
	.wake = unit_ignore};

static void start_api(struct fixture *f)
{
	struct vbd_dispatch_config config = {
		.router = vbd_routes(), .json_max_bytes = &json_max_bytes, .idem_max = 16};
	struct vbd_caller_list list = {0};

	f->api.daemon = f->svc->daemon;
	unit_add_caller(&list, "alice", VBD_ROLE_CONTROL);
	unit_add_caller(&list, "bob", VBD_ROLE_CONTROL);
	assert_int_equal(
		vbd_credentials_create(&f->svc->daemon->callers, &list, &f->credentials, NULL),
		VBD_OK);
	vbd_credentials_use(f->credentials, NULL);
	config.auth.callers = &f->svc->daemon->callers;
	config.auth.credentials = f->credentials;
	config.context = &f->api;
	config.keeper = f->svc->daemon->keeper;
	f->dispatch = vbd_dispatch_create(&config);
	assert_non_null(f->dispatch);
}

static void stop_api(struct fixture *f)
{
	vbd_request_fini(&f->req);
	memset(&f->req, 0, sizeof(f->req));
	vbd_dispatch_destroy(f->dispatch);
	vbd_credentials_destroy(f->credentials);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	void *svc = NULL;

	if (!f || svc_setup(&svc) != 0)
		return -1;
	f->svc = svc;
	scratch_make(f->folder);
	if (!svc_restart_in(f->svc, f->folder))
		return -1;
	current = f;
	start_api(f);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	void *svc = f->svc;
	int rc;

	stop_api(f);
	rc = svc_teardown(&svc);
	scratch_remove(f->folder);
	free(f);
	return rc;
}

#define KEPT_ANSWERS_TEST(name) TEST_WITH(name, struct fixture *f, setup, teardown)

static void restart(struct fixture *f)
{
	stop_api(f);
	svc_restart(f->svc);
	start_api(f);
}

static void send_request(struct fixture *f, const char *caller, const char *key, const char *target,
	const char *body)
{
	static const struct vbd_auth_peer peer = {.loopback = true, .local_addr = "127.0.0.1"};

	vbd_request_fini(&f->req);
	memset(&f->req, 0, sizeof(f->req));
	f->key = key;
	(void)snprintf(f->target, sizeof(f->target), "%s", target);
	(void)snprintf(f->path, sizeof(f->path), "%s", target);
	(void)snprintf(f->authorization, sizeof(f->authorization), "Bearer %s", caller);
	f->req.transport = &transport;
	f->req.path = f->path;
	f->req.content_bytes = strlen(body);
	vbd_dispatch_head(f->dispatch, &f->req, "POST", f->target, &peer);
	if (!f->req.reply.status)
		vbd_dispatch_body(f->dispatch, &f->req, body, strlen(body));
	vbd_dispatch_run(f->dispatch, &f->req);
}

static unsigned int post(struct fixture *f, const char *caller, const char *key, const char *target,
	const char *body)
{
	send_request(f, caller, key, target, body);
	SVC_UNTIL(f->svc, f->req.reply.status && !f->req.held);
	return f->req.reply.status;
}

/* The header is absent from an answer that a later run gives as well. */
static const char *durable(const struct fixture *f)
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
static int count_bodies(const struct fixture *f, const char *text)
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
static void spoil_digests(const struct fixture *f)
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
	struct fixture *f, const struct vbd_listener *listener, const char *key)
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
	stop_api(f);
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
	parked.on_gone(&f->req, parked.arg);
	(void)pthread_mutex_unlock(&disk);
	assert_int_equal(post(f, "alice", "k", "/v1/pds", "{\"name\":\"other\"}"), 201);
	assert_null(vbd_registry_find_name(f->svc->daemon->pds, "spare"));
}
