/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a daemon in stages, with one call of the provider, one allocation or one call of
 * SQLite failing in a stage: the first, the second and so on, until there are no more. Whichever
 * fails, a request that fails gets a problem, the next try works, what is kept is there after the
 * next start, and nothing is left behind. Allocations of libraries do not fail: jansson 2.14
 * ignores in lex_save() that a string could not grow, and reads on behind its end.
 *
 * Runs with a few of the numbers; with all of them if VERBSD_TORTURE is set (scripts/torture).
 */
#include "api/api.h"
#include "api/core/context.h"
#include "api/core/keep.h"
#include "api/http/dispatch.h"
#include "daemon/config/config.h"
#include "daemon/kept/kept.h"
#include "daemon/store/keeper.h"
#include "tests/unit/scratch.h"
#include "tests/unit/sqlite_faults.h"
#include "tests/unit/svc.h"
#include "tests/unit/transport.h"

static const uint64_t json_max_bytes = 65536;

#define DOOR	   "listeners:\n- {name: door, addr: 10.0.0.1, port: 7471}\n"
#define POOL(name) DOOR "buffers:\n- {name: " name ", size_bytes: 64K, access: [remote_write]}\n"
#define TO_DOOR                                                                                    \
	"{\"name\": \"to-door\", \"dst_addr\": \"10.0.0.1\", \"dst_port\": 7471, \"keep\": true, " \
	"\"reconnect_min_ms\": 10, \"reconnect_max_ms\": 20}"

struct life {
	struct svc *svc;
	struct vbd_api api;
	struct vbd_credentials *credentials;
	struct vbd_dispatch *dispatch;
	struct vbd_request req;
	char target[64];
	char folder[SCRATCH_PATH_BYTES];
	uint64_t made_id; /* of the kept connection, before it was lost */
};

/* --- what fails ------------------------------------------------------------------------------ */

struct means {
	const char *name;
	void (*let_fail)(unsigned int nth); /* 0: none */
	bool (*has_failed)(void);
};

static unsigned int sqlite_nth;

static void fail_call(unsigned int nth)
{
	fake_fail_nth(nth, EIO);
}

static bool call_has_failed(void)
{
	return fake_failed_call() != NULL;
}

static void fail_sqlite(unsigned int nth)
{
	if (nth)
		sqlite_nth = nth;
	sqlite_let_fail((int)nth, 0, SQLITE_IOERR);
}

static bool sqlite_has_failed(void)
{
	return sqlite_calls() >= (int)sqlite_nth;
}

static const struct means calls = {"call", fail_call, call_has_failed};
static const struct means allocations = {"allocation", fake_memory_fail_nth, fake_memory_failed};
static const struct means statements = {"call of SQLite", fail_sqlite, sqlite_has_failed};

/* --- requests -------------------------------------------------------------------------------- */

static const struct vbd_transport transport = {
	.park = unit_park, .answered = unit_ignore, .wake = unit_ignore};

/* Returns the HTTP status; a failure must be a problem, unless there was no memory for one. */
static unsigned int ask(
	struct life *life, enum vbd_method method, const char *target, const char *body)
{
	static const struct vbd_auth_peer peer = {.loopback = true, .local_addr = "127.0.0.1"};
	struct vbd_request *req = &life->req;
	size_t len = body ? strlen(body) : 0;

	vbd_request_fini(req);
	req->transport = &transport;
	unit_set_headers(req, "Bearer control");
	(void)snprintf(life->target, sizeof(life->target), "%s", target);
	req->path = target;
	req->content_bytes = len;
	vbd_dispatch_head(life->dispatch, req, vbd_method_name(method), life->target, &peer);
	if (!req->reply.status && len)
		vbd_dispatch_body(life->dispatch, req, body, len);
	vbd_dispatch_run(life->dispatch, req);
	SVC_UNTIL(life->svc, req->reply.status);
	if (req->reply.status >= 400 && req->reply.body)
		assert_non_null(memmem(req->reply.body, req->reply.body_bytes, "\"code\":", 7));
	return req->reply.status;
}

/* --- a run of the daemon --------------------------------------------------------------------- */

static void open_api(struct life *life)
{
	struct vbd_caller_list list = {0};
	struct vbd_dispatch_config config = {
		.router = vbd_routes(), .json_max_bytes = &json_max_bytes, .idem_max = 16};

	life->api.daemon = life->svc->daemon;
	unit_add_caller(&list, "control", VBD_ROLE_CONTROL);
	assert_int_equal(vbd_credentials_create(
				 &life->svc->daemon->callers, &list, &life->credentials, NULL),
		VBD_OK);
	vbd_caller_list_fini(&list);
	vbd_credentials_use(life->credentials, NULL);
	config.auth.credentials = life->credentials;
	config.context = &life->api;
	life->dispatch = vbd_dispatch_create(&config);
	assert_non_null(life->dispatch);
	vbd_keep_begin(life->svc->daemon);
}

static void end_run(struct life *life)
{
	vbd_request_fini(&life->req);
	vbd_dispatch_destroy(life->dispatch);
	vbd_credentials_destroy(life->credentials);
	svc_stop(life->svc);
}

static bool use_lists(struct life *life, const char *yaml)
{
	static struct vbd_config config;
	struct vbd_config_specs specs = {0};
	struct vbd_error err = {0};
	char path[SCRATCH_PATH_BYTES + 32];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/verbsd.yaml", life->folder);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(yaml, file) >= 0);
	assert_int_equal(fclose(file), 0);
	if (vbd_config_load(&config, path, &specs, &err) != VBD_OK ||
		vbd_keep_check(&specs, &err) != VBD_OK) {
		assert_int_not_equal(err.status, VBD_OK);
		assert_null(strstr(err.text, "line -1"));
		vbd_config_specs_fini(&specs);
		return false;
	}
	vbd_keep_use(life->svc->daemon, &specs);
	vbd_config_specs_fini(&specs);
	return true;
}

static struct vbd_kept *kept(const struct life *life, const char *name)
{
	struct vbd_object *object = vbd_registry_find_name(life->svc->daemon->kept_objects, name);

	return object ? VBD_CONTAINER_OF(object, struct vbd_kept, object) : NULL;
}

static void await_up(struct life *life, const char *name)
{
	SVC_UNTIL(life->svc, kept(life, name) && kept(life, name)->state == VBD_KEPT_UP);
}

static struct vbd_object *named(const struct vbd_registry *registry, const char *name)
{
	struct vbd_object *object = vbd_registry_find_name(registry, name);

	assert_non_null(object);
	return object;
}

/* --- the stages ------------------------------------------------------------------------------ */

/* Each does its work with something that fails, and then again or on without, unless it is done. */
struct stage {
	const char *name;
	/* Returns true if it is done. */
	bool (*play)(struct life *life);
	/* All that must be there after it. */
	void (*check)(struct life *life);
};

static bool start(struct life *life)
{
	if (svc_start(life->svc))
		return true;
	assert_int_not_equal(life->svc->err.status, VBD_OK);
	return false;
}

/* The next look at the devices opens what the start could not. */
static void started(struct life *life)
{
	open_api(life);
	unit_rescan(life->svc->daemon->fabric);
}

static bool list(struct life *life)
{
	return use_lists(life, POOL("pool"));
}

static void listed(struct life *life)
{
	/* Without memory an object of the lists is left out, and the log says so. */
	if (!kept(life, "door") || !kept(life, "pool"))
		assert_true(list(life));
	await_up(life, "door");
	await_up(life, "pool");
}

static bool connect_kept(struct life *life)
{
	return ask(life, VBD_METHOD_POST, "/v1/connections", TO_DOOR) < 400;
}

static void connected(struct life *life)
{
	await_up(life, "to-door");
}

/* Its keeper takes a connection that drains for one that is up. */
static bool is_established(const struct life *life)
{
	struct vbd_object *object = named(life->svc->daemon->connections, "to-door");
	const struct vbd_conn *conn = VBD_CONTAINER_OF(object, struct vbd_connection, object)->conn;

	return conn->state == VBD_CONN_ESTABLISHED;
}

static bool move(struct life *life)
{
	const struct vbd_daemon *daemon = life->svc->daemon;
	const struct vbd_buffer *pool =
		VBD_CONTAINER_OF(named(daemon->buffers, "pool"), struct vbd_buffer, object);
	char body[256];

	SVC_UNTIL(life->svc, is_established(life));
	(void)snprintf(body, sizeof(body),
		"{\"op\": \"write\", \"connection\": \"to-door\", \"buffer\": \"pool\", "
		"\"length_bytes\": 1024, \"timeout_ms\": 600000, \"remote\": {\"addr\": "
		"\"0x%llx\", \"rkey\": \"0x%08x\"}}",
		(unsigned long long)(uintptr_t)pool->mem.addr, pool->mem.rkey);
	if (ask(life, VBD_METHOD_POST, "/v1/transfers", body) >= 400)
		return false;
	SVC_UNTIL(life->svc, daemon->transfers->open == 0);
	return daemon->transfers_ended[VBD_TRANSFER_DONE] == 1;
}

/* A transfer that failed has taken its connection along, which comes back by itself. */
static void moved(struct life *life)
{
	if (life->svc->daemon->transfers_ended[VBD_TRANSFER_DONE] == 0) {
		SVC_UNTIL(life->svc, kept(life, "to-door")->state == VBD_KEPT_UP);
		assert_true(move(life));
	}
	await_up(life, "to-door");
}

/* The peer ends the connection. */
static bool lose(struct life *life)
{
	struct vbd_object *door = named(life->svc->daemon->listeners, "door");
	uint64_t tries = kept(life, "to-door")->tries;

	life->made_id = kept(life, "to-door")->made_id;
	vbd_connection_close(
		svc_newest_of(life->svc, VBD_CONTAINER_OF(door, struct vbd_listener, object)));
	SVC_UNTIL(life->svc, kept(life, "to-door")->tries > tries);
	return true;
}

/* Tries that fail half-way leave the id where it is. */
static void tried_again(struct life *life)
{
	await_up(life, "to-door");
	assert_int_equal(named(life->svc->daemon->connections, "to-door")->id, life->made_id);
}

static bool reload(struct life *life)
{
	return use_lists(life, POOL("other"));
}

static void reloaded(struct life *life)
{
	if (!kept(life, "other"))
		assert_true(reload(life));
	await_up(life, "other");
	SVC_UNTIL(life->svc, !kept(life, "pool"));
	await_up(life, "to-door");
}

static bool forget(struct life *life)
{
	if (kept(life, "to-door") &&
		ask(life, VBD_METHOD_DELETE, "/v1/kept_objects/to-door", NULL) >= 400)
		return false;
	return ask(life, VBD_METHOD_DELETE, "/v1/connections/to-door", NULL) < 400;
}

static void forgotten(struct life *life)
{
	/* The other end goes too. Ended ones may have had the name before. */
	SVC_UNTIL(life->svc, life->svc->daemon->connections->open == 0);
	assert_null(kept(life, "to-door"));
}

/* The next run has what is kept, also if the one in between could not read it. */
static bool restart(struct life *life)
{
	return start(life);
}

static void restarted(struct life *life)
{
	started(life);
	end_run(life);
	assert_true(start(life));
	started(life);
	assert_true(use_lists(life, POOL("pool")));
	listed(life);
	await_up(life, "to-door");
}

enum { START, LIST, CONNECT, MOVE, LOSE, RELOAD, FORGET, STAGE_COUNT };

static const struct stage stages[STAGE_COUNT] = {
	[START] = {"start", start, started},
	[LIST] = {"lists of the configuration", list, listed},
	[CONNECT] = {"a kept connection", connect_kept, connected},
	[MOVE] = {"a transfer", move, moved},
	[LOSE] = {"another try", lose, tried_again},
	[RELOAD] = {"a reload", reload, reloaded},
	[FORGET] = {"the end of the connection", forget, forgotten},
};
static const struct stage start_again = {"a start with a state", restart, restarted};

/* --- lives ----------------------------------------------------------------------------------- */

static struct life *current;

static struct life *begin_life(void)
{
	struct life *life = calloc(1, sizeof(*life));
	void *svc = NULL;

	assert_non_null(life);
	current = life;
	assert_int_equal(svc_setup(&svc), 0);
	life->svc = svc;
	svc_stop(life->svc);
	scratch_make(life->folder);
	(void)snprintf(life->svc->config.state_dir, sizeof(life->svc->config.state_dir),
		"%.200s/state", life->folder);
	return life;
}

static void end_life(struct life *life)
{
	void *svc = life->svc;

	end_run(life);
	assert_int_equal(svc_teardown(&svc), 0);
	scratch_remove(life->folder);
	free(life);
}

static void play(struct life *life, const struct stage *stage)
{
	if (!stage->play(life))
		fail_msg("%s fails when no call does: %.*s", stage->name,
			(int)life->req.reply.body_bytes, life->req.reply.body);
	stage->check(life);
}

/* A stage goes on behind its answer. */
static bool all_is_up(const struct life *life)
{
	vbd_registry_for_each (object, life->svc->daemon->kept_objects) {
		if (VBD_CONTAINER_OF(object, struct vbd_kept, object)->state != VBD_KEPT_UP)
			return false;
	}
	return true;
}

static bool all_is_written(const struct life *life)
{
	return !vbd_keeper_state(life->svc->daemon).waiting;
}

/* Returns whether the stage has so many calls. */
static bool play_failing(
	struct life *life, const struct stage *stage, const struct means *means, unsigned int nth)
{
	bool done, has_failed;

	means->let_fail(nth);
	done = stage->play(life);
	if (life->svc->daemon)
		SVC_UNTIL(life->svc,
			all_is_up(life) && (means->has_failed() || all_is_written(life)));
	has_failed = means->has_failed();
	means->let_fail(0);
	if (!done)
		play(life, stage);
	else
		stage->check(life);
	return has_failed;
}

static bool live(const struct stage *failing, const struct means *means, unsigned int nth)
{
	struct life *life = begin_life();
	bool has_failed = false;

	for (int i = 0; i < STAGE_COUNT; i++) {
		if (&stages[i] == failing)
			has_failed = play_failing(life, failing, means, nth);
		else if (i != LOSE) /* which waits for the next try */
			play(life, &stages[i]);
		/* The state is richest before its end. */
		if (i == MOVE && failing == &start_again) {
			end_run(life);
			life->dispatch = NULL;
			has_failed = play_failing(life, failing, means, nth);
		}
	}
	end_life(life);
	return has_failed;
}

static void torture(const struct stage *stage, const struct means *means)
{
	bool all = getenv("VERBSD_TORTURE") != NULL;
	unsigned int nth = 1;

	while (live(stage, means, nth))
		nth += all ? 1 : 1 + nth;
	print_message(
		"%s: the %s %u was the first that was not made\n", stage->name, means->name, nth);
}

TEST(test_torture__each_call_of_the_provider)
{
	for (int i = 0; i < STAGE_COUNT; i++)
		torture(&stages[i], &calls);
	torture(&start_again, &calls);
}

TEST(test_torture__each_allocation)
{
	for (int i = 0; i < STAGE_COUNT; i++)
		torture(&stages[i], &allocations);
	torture(&start_again, &allocations);
}

TEST(test_torture__each_call_of_sqlite)
{
	for (int i = 0; i < STAGE_COUNT; i++)
		torture(&stages[i], &statements);
	torture(&start_again, &statements);
}
