/* SPDX-License-Identifier: Apache-2.0 */
/* Kept objects of a daemon over the fake: lists of the configuration, requests, earlier runs. */
#include "api/api.h"
#include "api/core/keep.h"
#include "api/core/task.h"
#include "base/clock.h"
#include "base/memfd.h"
#include "daemon/connections/peer_reports.h"
#include "daemon/drain.h"
#include "daemon/kept/held.h"
#include "daemon/kept/reconciler.h"
#include "daemon/store/keeper.h"
#include "tests/unit/client.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* --- the disk -------------------------------------------------------------------------------- */

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

static void hold_disk(void)
{
	(void)pthread_mutex_lock(&disk);
}

static void release_disk(int result)
{
	atomic_store(&disk_result, result);
	(void)pthread_mutex_unlock(&disk);
}

static void disk_is_well(void)
{
	atomic_store(&disk_result, SQLITE_OK);
}

/* --- requests -------------------------------------------------------------------------------- */

static unsigned int post(struct client *f, const char *target, const char *body)
{
	return client_ask(f, "alice", "POST", target, body);
}

static void assert_body_has(const struct client *f, const char *part)
{
	if (!client_says(f, part))
		fail_msg("%s is not in: %.*s", part, (int)f->req.reply.body_bytes,
			f->req.reply.body);
}

static void must_refuse(struct client *f, const char *target, const char *body, const char *code,
	const char *pointer)
{
	json_t *json;
	const json_t *fault;

	assert_true(post(f, target, body) >= 400);
	json = client_document(f);
	fault = json_array_get(json_object_get(json, "errors"), 0);
	assert_string_equal(json_string_value(json_object_get(json, "code")), code);
	if (fault)
		assert_string_equal(json_string_value(json_object_get(fault, "pointer")), pointer);
	json_decref(json);
}

/* --- the fixture ----------------------------------------------------------------------------- */

static void open_api(struct client *f)
{
	static const struct client_caller callers[] = {{"control", VBD_ROLE_CONTROL},
		{"alice", VBD_ROLE_OPERATE}, {"bob", VBD_ROLE_OPERATE}};

	client_open(f, callers, VBD_ARRAY_LEN(callers));
	vbd_keeper_encode_with(f->svc->daemon, vbd_record_encode);
	vbd_keep_begin(f->svc->daemon);
}

static void close_api(struct client *f)
{
	vbd_keeper_encode_with(f->svc->daemon, NULL);
	client_close(f);
}

static int setup(void **state)
{
	*state = client_begin(true);
	open_api(*state);
	return 0;
}

static int teardown(void **state)
{
	const struct client *f = *state;

	vbd_keeper_encode_with(f->svc->daemon, NULL);
	return client_end(state);
}

#define KEPT_TEST(name) TEST_WITH(name, struct client *f, setup, teardown)

static void restart(struct client *f)
{
	close_api(f);
	svc_restart(f->svc);
	open_api(f);
}

static struct vbd_kept *kept(struct client *f, const char *name)
{
	struct vbd_object *object = vbd_registry_find_name(f->svc->daemon->kept_objects, name);

	return object ? VBD_CONTAINER_OF(object, struct vbd_kept, object) : NULL;
}

/* Until the object of this name is kept in the state. */
static void await(struct client *f, const char *name, enum vbd_kept_state wanted)
{
	SVC_UNTIL(f->svc, kept(f, name) && kept(f, name)->state == wanted);
}

static struct vbd_listener *listener(struct client *f, const char *name)
{
	struct vbd_object *object = vbd_registry_find_name(f->svc->daemon->listeners, name);

	return object ? VBD_CONTAINER_OF(object, struct vbd_listener, object) : NULL;
}

static struct vbd_buffer *buffer(struct client *f, const char *name)
{
	struct vbd_object *object = vbd_registry_find_name(f->svc->daemon->buffers, name);

	return object ? VBD_CONTAINER_OF(object, struct vbd_buffer, object) : NULL;
}

static struct vbd_connection *connection(struct client *f, const char *name)
{
	struct vbd_object *object = vbd_registry_find_name(f->svc->daemon->connections, name);

	return object ? VBD_CONTAINER_OF(object, struct vbd_connection, object) : NULL;
}

/* The lists of a file, in place of those before. */
static void configure(struct client *f, const char *yaml)
{
	static struct vbd_config config;
	struct vbd_config_specs specs = {0};
	struct vbd_error err = {0};
	char path[SCRATCH_PATH_BYTES + 32];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/verbsd.yaml", f->folder);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(yaml, file) >= 0);
	assert_int_equal(fclose(file), 0);
	if (vbd_config_load(&config, path, &specs, &err) != VBD_OK ||
		vbd_keep_check(&specs, &err) != VBD_OK)
		fail_msg("%s", err.text);
	vbd_keep_use(f->svc->daemon, &specs);
	vbd_config_specs_fini(&specs);
}

static void unplug(struct client *f)
{
	fake_device_unplug(f->svc->device);
	fake_device_cm_removal(f->svc->device);
	unit_rescan(f->svc->daemon->fabric);
	SVC_UNTIL(f->svc, fake_device_let_go(f->svc->device));
}

static void plug_in_another(struct client *f, enum ibv_transport_type type)
{
	const struct sockaddr_in addr = f->svc->device->addr;

	f->svc->device = fake_device_add("fake0");
	f->svc->device->addr = addr;
	f->svc->device->ibv.transport_type = type;
	unit_rescan(f->svc->daemon->fabric);
}

static void plug_in(struct client *f)
{
	plug_in_another(f, IBV_TRANSPORT_IB);
}

#define DOOR "listeners:\n- {name: door, addr: 10.0.0.1, port: 7471}\n"
#define TO_DOOR                                                                                    \
	"{\"name\": \"to-door\", \"dst_addr\": \"10.0.0.1\", \"dst_port\": 7471, \"keep\": true, " \
	"\"reconnect_min_ms\": 10, \"reconnect_max_ms\": 20"

/* --- the configuration ----------------------------------------------------------------------- */

KEPT_TEST(test_api_kept__what_the_file_lists_is_made)
{
	configure(f, DOOR "buffers:\n- name: pool\n  size_bytes: 64K\n  access: [remote_write]\n");
	await(f, "door", VBD_KEPT_UP);
	await(f, "pool", VBD_KEPT_UP);
	assert_int_equal(listener(f, "door")->state, VBD_LISTENER_LISTENING);
	assert_int_equal(buffer(f, "pool")->mem.size_bytes, 65536);
	assert_null(buffer(f, "pool")->object.owner);
	assert_true(vbd_kept_outlives(kept(f, "pool")));
}

KEPT_TEST(test_api_kept__a_registration_that_fails_loses_no_bytes_of_the_run_before)
{
	struct vbd_holder *holder;
	int fd = -1;

	close_api(f);
	svc_restart(f->svc);
	holder = &f->svc->daemon->reconciler->holder;
	assert_int_equal(vbd_memfd_create(4096, 0, &fd, NULL), VBD_OK);
	assert_int_equal(pwrite(fd, "before", 6, 0), 6);
	vbd_holder_use(holder, 8);
	vbd_holder_found("buffer//pool", fd, holder);
	configure(f, "buffers:\n- name: pool\n  kind: shared\n  size_bytes: 4K\n");
	fake_fail_next("ibv_reg_mr", EINVAL);
	open_api(f);
	await(f, "pool", VBD_KEPT_WAITING);
	SVC_UNTIL(f->svc, kept(f, "pool")->failures == 1);
	assert_true(vbd_kept_bytes_outlive(kept(f, "pool")));
	await(f, "pool", VBD_KEPT_UP);
	assert_int_equal(kept(f, "pool")->tries, 2);
	assert_memory_equal(UNIT_BYTES(&buffer(f, "pool")->mem), "before", 6);
	assert_true(vbd_kept_bytes_outlive(kept(f, "pool")));
}

/* A socket in place of systemd's, which says what it was told. */
static int systemd_listen(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	char path[64];
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	(void)snprintf(path, sizeof(path), "@verbsd-test-kept-%d", (int)getpid());
	memcpy(addr.sun_path, path, strlen(path));
	addr.sun_path[0] = '\0';
	assert_int_equal(
		bind(fd, (const struct sockaddr *)&addr,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path))),
		0);
	assert_int_equal(setenv("NOTIFY_SOCKET", path, 1), 0);
	return fd;
}

/* The next message but the descriptor with it; NULL @text: there is none. */
static void systemd_heard(int fd, const char *text)
{
	char bytes[256] = "";
	ssize_t count = recv(fd, bytes, sizeof(bytes) - 1, MSG_DONTWAIT);

	if (text)
		assert_string_equal(bytes, text);
	else if (count >= 0)
		fail_msg("systemd was told %s", bytes);
}

KEPT_TEST(test_api_kept__systemd_holds_as_many_as_it_has_room_for)
{
	struct vbd_holder *holder = &f->svc->daemon->reconciler->holder;
	int systemd = systemd_listen();

	vbd_holder_use(holder, 1);
	configure(f, "buffers:\n- {name: a, kind: shared, size_bytes: 4096}\n");
	await(f, "a", VBD_KEPT_UP);
	systemd_heard(systemd, "FDSTORE=1\nFDNAME=buffer//a");
	configure(f, "buffers:\n- {name: a, kind: shared, size_bytes: 4096}\n"
		     "- {name: b, kind: shared, size_bytes: 4096}\n"
		     "- {name: c, size_bytes: 4096}\n");
	await(f, "b", VBD_KEPT_UP);
	await(f, "c", VBD_KEPT_UP);
	systemd_heard(systemd, NULL);
	assert_int_equal(holder->stored, 1);
	assert_true(vbd_held_is_stored(kept(f, "a")));
	assert_false(vbd_held_is_stored(kept(f, "b")));
	assert_null(kept(f, "c")->held);
	assert_int_equal(svc_count_events(f->svc, VBD_EVENT_KEPT_OBJECT_WITHOUT_BYTES), 1);
	/* The room of the first is given to the second. */
	configure(f, "buffers:\n- {name: b, kind: shared, size_bytes: 4096}\n");
	SVC_UNTIL(f->svc, !kept(f, "a") && vbd_held_is_stored(kept(f, "b")));
	systemd_heard(systemd, "FDSTOREREMOVE=1\nFDNAME=buffer//a");
	systemd_heard(systemd, "FDSTORE=1\nFDNAME=buffer//b");
	assert_int_equal(holder->stored, 1);
	configure(f, "");
	SVC_UNTIL(f->svc, !kept(f, "b") && holder->stored == 0);
	systemd_heard(systemd, "FDSTOREREMOVE=1\nFDNAME=buffer//b");
	systemd_heard(systemd, NULL);
	assert_true(vbd_list_empty(&holder->all));
	assert_int_equal(unsetenv("NOTIFY_SOCKET"), 0);
	assert_int_equal(close(systemd), 0);
}

/* Warnings of the log; the others are of no interest here. */
static struct {
	unsigned int count;
	char last[256];
} warned;

static void on_line(enum vbd_log_level level, const char *object, const char *text, void *arg)
{
	(void)object;
	(void)arg;
	if (level != VBD_LOG_WARNING)
		return;
	warned.count++;
	(void)snprintf(warned.last, sizeof(warned.last), "%s", text);
}

KEPT_TEST(test_api_kept__a_systemd_that_does_not_read_is_told_later)
{
	struct vbd_holder *holder = &f->svc->daemon->reconciler->holder;
	int systemd = systemd_listen();

	vbd_holder_use(holder, 8);
	configure(f, "buffers:\n- {name: a, kind: shared, size_bytes: 4096}\n");
	await(f, "a", VBD_KEPT_UP);
	systemd_heard(systemd, "FDSTORE=1\nFDNAME=buffer//a");
	assert_int_equal(close(systemd), 0);
	memset(&warned, 0, sizeof(warned));
	vbd_log_set_level(VBD_LOG_WARNING);
	vbd_log_set_observer(on_line, NULL);
	configure(f, "buffers:\n- {name: b, kind: shared, size_bytes: 4096}\n");
	await(f, "b", VBD_KEPT_UP);
	SVC_UNTIL(f->svc, !kept(f, "a") && holder->is_failing);
	/* Systemd has the one still, and not yet the other. */
	assert_int_equal(holder->stored, 1);
	assert_true(kept(f, "b")->held->to_add);
	assert_false(vbd_held_is_stored(kept(f, "b")));
	/* The next try fails too, and the log has one line of both. */
	vbd_timer_set(holder->timer, 0);
	svc_turn(f->svc);
	assert_true(holder->is_failing);
	assert_int_equal(holder->stored, 1);
	assert_int_equal(warned.count, 1);
	assert_non_null(strstr(warned.last, "systemd takes no message"));
	assert_non_null(strstr(warned.last, "are not held until it does"));
	systemd = systemd_listen();
	SVC_UNTIL(f->svc, vbd_held_is_stored(kept(f, "b")));
	vbd_log_set_observer(NULL, NULL);
	vbd_log_set_level(VBD_LOG_ERROR);
	assert_false(holder->is_failing);
	systemd_heard(systemd, "FDSTOREREMOVE=1\nFDNAME=buffer//a");
	systemd_heard(systemd, "FDSTORE=1\nFDNAME=buffer//b");
	systemd_heard(systemd, NULL);
	assert_int_equal(holder->stored, 1);
	assert_int_equal(warned.count, 1);
	configure(f, "");
	SVC_UNTIL(f->svc, !kept(f, "b") && vbd_list_empty(&holder->all));
	systemd_heard(systemd, "FDSTOREREMOVE=1\nFDNAME=buffer//b");
	assert_int_equal(holder->stored, 0);
	assert_int_equal(unsetenv("NOTIFY_SOCKET"), 0);
	assert_int_equal(close(systemd), 0);
}

KEPT_TEST(test_api_kept__descriptors_of_no_kept_buffer_are_given_back)
{
	struct vbd_holder *holder;
	int systemd = systemd_listen(), fds[4];
	char longest[VBD_HELD_NAME_BYTES + 1];

	close_api(f);
	svc_restart(f->svc);
	holder = &f->svc->daemon->reconciler->holder;
	vbd_holder_use(holder, 8);
	for (size_t i = 0; i < VBD_ARRAY_LEN(fds); i++)
		assert_int_equal(vbd_memfd_create(4096, 0, &fds[i], NULL), VBD_OK);
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	vbd_holder_found("buffer//gone", fds[0], holder);
	vbd_holder_found("buffer//twice", fds[1], holder);
	vbd_holder_found("buffer//twice", fds[2], holder);
	vbd_holder_found(longest, fds[3], holder);
	assert_true(fcntl(fds[0], F_GETFD) >= 0);
	for (size_t i = 1; i < VBD_ARRAY_LEN(fds); i++)
		assert_int_equal(fcntl(fds[i], F_GETFD), -1);
	assert_int_equal(holder->stored, 2);
	/* A buffer of another name takes none of them. */
	configure(f, "buffers:\n- {name: other, kind: shared, size_bytes: 4096}\n");
	open_api(f);
	await(f, "other", VBD_KEPT_UP);
	SVC_UNTIL(f->svc, vbd_held_is_stored(kept(f, "other")));
	systemd_heard(systemd, "FDSTOREREMOVE=1\nFDNAME=buffer//gone");
	systemd_heard(systemd, "FDSTOREREMOVE=1\nFDNAME=buffer//twice");
	systemd_heard(systemd, "FDSTORE=1\nFDNAME=buffer//other");
	assert_int_equal(holder->stored, 1);
	assert_int_equal(unsetenv("NOTIFY_SOCKET"), 0);
	assert_int_equal(close(systemd), 0);
}

KEPT_TEST(test_api_kept__a_descriptor_that_nobody_wants_goes_back_at_once)
{
	struct vbd_holder *holder;
	int systemd = systemd_listen(), fd = -1;

	close_api(f);
	svc_restart(f->svc);
	holder = &f->svc->daemon->reconciler->holder;
	vbd_holder_use(holder, 8);
	assert_int_equal(vbd_memfd_create(4096, 0, &fd, NULL), VBD_OK);
	vbd_holder_found("buffer//gone", fd, holder);
	open_api(f);
	SVC_UNTIL(f->svc, vbd_list_empty(&holder->all));
	systemd_heard(systemd, "FDSTOREREMOVE=1\nFDNAME=buffer//gone");
	systemd_heard(systemd, NULL);
	assert_int_equal(holder->stored, 0);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(unsetenv("NOTIFY_SOCKET"), 0);
	assert_int_equal(close(systemd), 0);
}

KEPT_TEST(test_api_kept__what_is_in_use_goes_when_it_is_not)
{
	configure(f, "buffers:\n- {name: pool, size_bytes: 4096}\n");
	await(f, "pool", VBD_KEPT_UP);
	buffer(f, "pool")->users = 1;
	configure(f, "");
	assert_non_null(kept(f, "pool"));
	assert_int_equal(kept(f, "pool")->last_error.status, VBD_E_IN_USE);
	assert_non_null(buffer(f, "pool"));
	buffer(f, "pool")->users = 0;
	SVC_UNTIL(f->svc, !kept(f, "pool") && !buffer(f, "pool"));
	SVC_UNTIL(f->svc, f->svc->daemon->pool_jobs == 0);
}

KEPT_TEST(test_api_kept__what_a_reload_lists_no_longer_goes)
{
	configure(f, DOOR "buffers:\n- {name: pool, size_bytes: 4096}\n");
	await(f, "door", VBD_KEPT_UP);
	await(f, "pool", VBD_KEPT_UP);
	assert_int_equal(post(f, "/v1/listeners",
				 "{\"name\": \"own\", \"addr\": \"10.0.0.1\", \"keep\": true}"),
		201);
	configure(f, "buffers:\n- {name: pool, size_bytes: 4096}\n");
	assert_null(listener(f, "door"));
	assert_null(kept(f, "door"));
	assert_non_null(buffer(f, "pool"));
	assert_non_null(listener(f, "own"));
	assert_int_equal(kept(f, "pool")->tries, 1);
}

KEPT_TEST(test_api_kept__a_changed_spec_replaces_the_object)
{
	uint64_t id;

	configure(f, DOOR);
	await(f, "door", VBD_KEPT_UP);
	id = listener(f, "door")->object.id;
	configure(f, "listeners:\n- {name: door, addr: 10.0.0.1, port: 7472}\n");
	SVC_UNTIL(f->svc, listener(f, "door") && listener(f, "door")->object.id != id);
	await(f, "door", VBD_KEPT_UP);
	assert_int_equal(kept(f, "door")->previous_id, id);
	assert_int_equal(vbd_registry_count(f->svc->daemon->listeners), 1);
}

KEPT_TEST(test_api_kept__a_file_with_a_fault_is_refused_with_its_line)
{
	struct vbd_config_specs specs = {0};
	static const char *const bodies[] = {"{\"name\": \"a\", \"addr\": 7}", "{\"addr\": \"::\"}",
		"{\"name\": \"a\", \"addr\": \"::\", \"keep\": true}",
		"{\"name\": \"a\", \"addr\": \"::\", \"reconnect\": \"never\"}"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(bodies); i++) {
		struct vbd_error err = {0};
		struct vbd_config_spec item = {
			.list = VBD_SPEC_LISTENERS, .body = (char *)bodies[i], .line = 12};

		specs = (struct vbd_config_specs){.items = &item, .count = 1, .path = "x.yaml"};
		assert_int_not_equal(vbd_keep_check(&specs, &err), VBD_OK);
		assert_ptr_equal(strstr(err.text, "x.yaml:12: listeners: "), err.text);
	}
	assert_int_equal(vbd_registry_count(f->svc->daemon->kept_objects), 0);
}

/* --- requests -------------------------------------------------------------------------------- */

KEPT_TEST(test_api_kept__a_request_keeps_what_it_makes)
{
	json_t *json;
	const json_t *desired;

	assert_int_equal(post(f, "/v1/listeners",
				 "{\"name\": \"own\", \"addr\": \"10.0.0.1\", \"keep\": true, "
				 "\"labels\": {\"job\": \"x\"}}"),
		201);
	json = client_document(f);
	desired = json_object_get(json, "desired");
	assert_string_equal(json_string_value(json_object_get(desired, "source")), "api");
	assert_string_equal(json_string_value(json_object_get(desired, "state")), "up");
	json_decref(json);
	assert_int_equal(kept(f, "own")->made_id, listener(f, "own")->object.id);
	assert_string_equal(kept(f, "own")->object.owner->name, "alice");
}

KEPT_TEST(test_api_kept__a_request_that_makes_nothing_keeps_nothing)
{
	must_refuse(f, "/v1/listeners",
		"{\"name\": \"own\", \"addr\": \"nowhere\", \"keep\": true}", "bad_value", "/addr");
	assert_null(kept(f, "own"));
	assert_int_equal(svc_count_events(f->svc, VBD_EVENT_KEPT_OBJECT_CREATED), 0);
	must_refuse(f, "/v1/listeners", "{\"addr\": \"10.0.0.1\", \"keep\": true}", "missing_field",
		"/name");
	must_refuse(f, "/v1/pds", "{\"name\": \"a\", \"keep\": true}", "unknown_field", "/keep");
	must_refuse(f, "/v1/connections",
		"{\"dst_addr\": \"10.0.0.1\", \"dst_port\": 1, \"reconnect\": \"never\"}",
		"bad_value", "/reconnect");
	must_refuse(f, "/v1/connections", TO_DOOR ", \"count\": 2}", "unknown_field", "/count");
	assert_int_equal(vbd_registry_count(f->svc->daemon->kept_objects), 0);
}

KEPT_TEST(test_api_kept__a_deleted_object_is_kept_no_longer)
{
	assert_int_equal(post(f, "/v1/listeners",
				 "{\"name\": \"own\", \"addr\": \"10.0.0.1\", \"keep\": true}"),
		201);
	assert_int_equal(client_ask(f, "alice", "DELETE", "/v1/listeners/own", NULL), 204);
	assert_null(kept(f, "own"));
	restart(f);
	svc_turn(f->svc);
	assert_null(kept(f, "own"));
}

static void must_be_forgotten(struct client *f, const char *name)
{
	assert_null(kept(f, name));
	restart(f);
	assert_null(kept(f, name));
}

KEPT_TEST(test_api_kept__a_buffer_that_fails_is_kept_no_longer_before_the_answer)
{
	const struct vbd_daemon *daemon;

	daemon = f->svc->daemon;
	fake_fail_next("ibv_reg_mr", EINVAL);
	hold_disk();
	client_send(f, "alice", "POST", "/v1/buffers",
		"{\"name\": \"pool\", \"size_bytes\": 4096, \"keep\": true}");
	/* No other try comes while the disk is held. */
	kept(f, "pool")->policy.min_ms = 3600000;
	kept(f, "pool")->policy.max_ms = 3600000;
	SVC_UNTIL(f->svc, buffer(f, "pool")->state == VBD_BUFFER_FAILED);
	release_disk(SQLITE_OK);
	SVC_UNTIL(f->svc, f->req.reply.status);
	assert_true(f->req.reply.status >= 400);
	assert_true(vbd_keeper_has(daemon->keeper, vbd_keeper_newest_ticket(daemon)));
	assert_null(buffer(f, "pool"));
	must_be_forgotten(f, "pool");
}

KEPT_TEST(test_api_kept__what_is_not_kept_any_more_stays)
{
	assert_int_equal(post(f, "/v1/listeners",
				 "{\"name\": \"own\", \"addr\": \"10.0.0.1\", \"keep\": true}"),
		201);
	assert_int_equal(client_ask(f, "alice", "DELETE", "/v1/kept_objects/own", NULL), 204);
	assert_null(kept(f, "own"));
	assert_int_equal(listener(f, "own")->state, VBD_LISTENER_LISTENING);
}

KEPT_TEST(test_api_kept__an_operator_can_not_drop_what_the_file_lists)
{
	configure(f, DOOR);
	await(f, "door", VBD_KEPT_UP);
	assert_int_equal(client_ask(f, "alice", "DELETE", "/v1/kept_objects/door", NULL), 403);
	assert_int_equal(client_ask(f, "control", "DELETE", "/v1/kept_objects/door", NULL), 204);
}

/* --- restarts -------------------------------------------------------------------------------- */

KEPT_TEST(test_api_kept__the_next_run_makes_it_for_the_same_owner)
{
	assert_int_equal(post(f, "/v1/listeners",
				 "{\"name\": \"own\", \"addr\": \"10.0.0.1\", \"port\": 7473, "
				 "\"keep\": true, \"labels\": {\"job\": \"x\"}}"),
		201);
	restart(f);
	await(f, "own", VBD_KEPT_UP);
	assert_int_equal(kept(f, "own")->source, VBD_KEPT_FROM_API);
	assert_string_equal(listener(f, "own")->object.owner->name, "alice");
	assert_non_null(listener(f, "own")->object.labels);
	assert_int_equal(client_ask(f, "alice", "GET", "/v1/listeners/own", NULL), 200);
}

static json_int_t made(struct client *f, const char *path, const char *body)
{
	json_int_t id;
	json_t *json;

	if (post(f, path, body) != 201)
		fail_msg("%s: %.*s", path, (int)f->req.reply.body_bytes,
			(const char *)f->req.reply.body);
	json = client_document(f);
	id = json_integer_value(json_object_get(json, "id"));
	json_decref(json);
	return id;
}

KEPT_TEST(test_api_kept__no_id_of_an_earlier_run_is_given_again)
{
	static const char *const all[][2] = {
		{"/v1/pds", "{\"name\": \"p\", \"device\": \"fake0\"}"},
		{"/v1/cqs", "{\"name\": \"q\", \"device\": \"fake0\", \"cqe\": 100}"},
		{"/v1/srqs",
			"{\"pd\": \"p\", \"cq\": \"q\", \"max_wr\": 16, \"recv_size_bytes\": 64}"},
		{"/v1/buffers", "{\"size_bytes\": 4096}"},
		{"/v1/listeners", "{\"addr\": \"10.0.0.1\", \"port\": 0}"},
		{"/v1/ud_endpoints", "{}"},
	};
	json_int_t last[VBD_ARRAY_LEN(all)];

	for (size_t i = 0; i < VBD_ARRAY_LEN(all); i++)
		last[i] = made(f, all[i][0], all[i][1]);
	restart(f);
	for (size_t i = 0; i < VBD_ARRAY_LEN(all); i++)
		assert_true(made(f, all[i][0], all[i][1]) > last[i]);
}

KEPT_TEST(test_api_kept__after_a_restart_it_counts_for_its_owner)
{
	struct vbd_caller *alice;

	assert_int_equal(post(f, "/v1/buffers",
				 "{\"name\": \"pool\", \"size_bytes\": 4096, \"keep\": true}"),
		201);
	restart(f);
	await(f, "pool", VBD_KEPT_UP);
	alice = buffer(f, "pool")->object.owner;
	assert_string_equal(alice->name, "alice");
	assert_int_equal(vbd_tally_of(f->svc->daemon->buffers, alice)->open, 1);
	assert_int_equal(vbd_tally_of(f->svc->daemon->buffers, NULL)->open, 0);
}

KEPT_TEST(test_api_kept__without_state_dir_it_says_that_it_ends_with_this_run)
{
	json_t *json;

	f->svc->config.state_dir[0] = '\0';
	restart(f);
	assert_int_equal(post(f, "/v1/listeners",
				 "{\"name\": \"own\", \"addr\": \"10.0.0.1\", \"keep\": true}"),
		201);
	assert_int_equal(client_ask(f, "alice", "GET", "/v1/kept_objects/own", NULL), 200);
	json = client_document(f);
	assert_true(json_is_false(json_object_get(json, "outlives_restart")));
	json_decref(json);
}

/* --- promises -------------------------------------------------------------------------------- */

#define OWN "{\"name\": \"own\", \"addr\": \"10.0.0.1\", \"port\": 7473, \"keep\": true}"

static void on_stopped(void *arg)
{
	(void)arg;
}

static bool outlives(struct client *f)
{
	json_t *json = client_document(f);
	bool outlives =
		json_is_true(json_object_get(json_object_get(json, "desired"), "outlives_restart"));

	json_decref(json);
	return outlives;
}

KEPT_TEST(test_api_kept__the_answer_waits_until_it_is_written)
{
	hold_disk();
	client_send(f, "alice", "POST", "/v1/listeners", OWN);
	assert_int_equal(listener(f, "own")->state, VBD_LISTENER_LISTENING);
	assert_int_equal(f->req.reply.status, 0);
	assert_int_equal(f->timeout_ms, 5000);
	release_disk(SQLITE_OK);
	SVC_UNTIL(f->svc, f->req.reply.status);
	assert_int_equal(f->req.reply.status, 201);
	assert_true(outlives(f));
}

KEPT_TEST(test_api_kept__what_ends_before_the_answer_is_told_to_be_kept)
{
	hold_disk();
	client_send(f, "alice", "POST", "/v1/listeners", OWN);
	vbd_daemon_stop(f->svc->daemon, on_stopped, f);
	SVC_UNTIL(f->svc, !listener(f, "own"));
	assert_int_equal(f->req.reply.status, 0);
	release_disk(SQLITE_OK);
	SVC_UNTIL(f->svc, f->req.reply.status);
	assert_int_equal(f->req.reply.status, 424);
	assert_body_has(f, "\"code\":\"stopping\"");
	assert_body_has(f, "\"kept_object\":\"/v1/kept_objects/");
	restart(f);
	await(f, "own", VBD_KEPT_UP);
}

KEPT_TEST(test_api_kept__a_disk_that_hangs_does_not_hold_the_answer_for_ever)
{
	hold_disk();
	client_send(f, "alice", "POST", "/v1/listeners", OWN);
	f->on_timeout(&f->req, f->park_arg);
	release_disk(SQLITE_OK);
	assert_int_equal(f->req.reply.status, 201);
	assert_false(outlives(f));
	SVC_UNTIL(f->svc, vbd_kept_outlives(kept(f, "own")));
}

KEPT_TEST(test_api_kept__a_full_disk_is_told_and_the_object_is_there)
{
	hold_disk();
	client_send(f, "alice", "POST", "/v1/listeners", OWN);
	release_disk(SQLITE_FULL);
	SVC_UNTIL(f->svc, f->req.reply.status);
	assert_int_equal(f->req.reply.status, 201);
	assert_false(outlives(f));
	/* Nothing waits for a disk that is known to be full, only for the port. */
	client_send(f, "alice", "DELETE", "/v1/listeners/own", NULL);
	SVC_UNTIL(f->svc, f->req.reply.status);
	assert_int_equal(f->req.reply.status, 204);
	disk_is_well();
	assert_int_equal(svc_count_events(f->svc, VBD_EVENT_STORE_FAILED), 1);
	SVC_UNTIL(f->svc, f->svc->daemon->fabric->calls->under_way == 0);
	assert_int_equal(post(f, "/v1/listeners", OWN), 201);
	SVC_UNTIL(f->svc, svc_count_events(f->svc, VBD_EVENT_STORE_RECOVERED) == 1);
}

/* Other bytes in all of the file, and none in the log. */
static void damage_database(const struct client *f)
{
	char path[SCRATCH_PATH_BYTES + 32], bytes[4096];
	struct stat about;
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/state/state.db", f->folder);
	memset(bytes, 0x5a, sizeof(bytes));
	assert_int_equal(stat(path, &about), 0);
	file = fopen(path, "r+");
	assert_non_null(file);
	for (off_t at = 0; at < about.st_size; at += (off_t)sizeof(bytes))
		assert_int_equal(fwrite(bytes, 1, sizeof(bytes), file), sizeof(bytes));
	assert_int_equal(fclose(file), 0);
	(void)snprintf(path, sizeof(path), "%s/state/state.db-wal", f->folder);
	assert_int_equal(truncate(path, 0), 0);
}

/* More than a step puts into the new database. */
KEPT_TEST(test_api_kept__a_damaged_database_loses_no_kept_object)
{
	char body[96], name[16] = "";
	uint64_t ticket;

	for (unsigned int i = 0; i < 70; i++) {
		(void)snprintf(name, sizeof(name), "pool-%u", i);
		(void)snprintf(body, sizeof(body),
			"{\"name\": \"%s\", \"size_bytes\": 4096, \"keep\": true}", name);
		assert_int_equal(post(f, "/v1/buffers", body), 201);
	}
	ticket = kept(f, name)->ticket;
	damage_database(f);
	assert_int_equal(post(f, "/v1/pds", "{\"name\": \"spare\"}"), 201);
	SVC_UNTIL(f->svc, vbd_keeper_state(f->svc->daemon).losses == 1);
	SVC_UNTIL(f->svc, kept(f, name)->ticket > ticket && vbd_kept_outlives(kept(f, name)));
	restart(f);
	assert_int_equal(vbd_registry_count(f->svc->daemon->kept_objects), 70);
}

/* The id behind which the next run goes on, as it is on the disk now; 0: none. */
static uint64_t last_id_on_disk(const struct client *f, const char *kind)
{
	char path[SCRATCH_PATH_BYTES + 32], sql[80];
	sqlite3_stmt *stmt = NULL;
	sqlite3 *database = NULL;
	uint64_t last = 0;

	(void)snprintf(path, sizeof(path), "%s/state/state.db", f->folder);
	(void)snprintf(sql, sizeof(sql), "SELECT last FROM ids WHERE kind = '%s'", kind);
	assert_int_equal(sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &stmt, NULL), SQLITE_OK);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		last = (uint64_t)sqlite3_column_int64(stmt, 0);
	(void)sqlite3_finalize(stmt);
	(void)sqlite3_close(database);
	return last;
}

KEPT_TEST(test_api_kept__a_database_that_replaces_a_damaged_one_begins_with_the_ids)
{
	assert_int_equal(post(f, "/v1/listeners", OWN), 201);
	SVC_UNTIL(f->svc, vbd_keeper_state(f->svc->daemon).waiting == 0);
	assert_true(last_id_on_disk(f, "listener") >= 1);
	damage_database(f);
	assert_int_equal(post(f, "/v1/pds", "{\"name\": \"spare\"}"), 201);
	SVC_UNTIL(f->svc, vbd_keeper_state(f->svc->daemon).losses == 1 &&
				  vbd_keeper_state(f->svc->daemon).waiting == 0);
	assert_true(last_id_on_disk(f, "listener") >= 1);
	assert_true(last_id_on_disk(f, "event") >= vbd_eventlog_last(f->svc->daemon->eventlog));
}

KEPT_TEST(test_api_kept__a_deletion_is_answered_when_it_is_written)
{
	assert_int_equal(post(f, "/v1/listeners", OWN), 201);
	hold_disk();
	client_send(f, "alice", "DELETE", "/v1/listeners/own", NULL);
	assert_null(listener(f, "own"));
	assert_int_equal(f->req.reply.status, 0);
	release_disk(SQLITE_OK);
	SVC_UNTIL(f->svc, f->req.reply.status);
	assert_int_equal(f->req.reply.status, 204);
}

KEPT_TEST(test_api_kept__a_client_that_leaves_has_made_its_connection)
{
	hold_disk();
	client_send(f, "alice", "POST", "/v1/connections?wait_ms=1000", TO_DOOR "}");
	f->req.abandoned = true;
	f->on_gone(&f->req, f->park_arg);
	release_disk(SQLITE_OK);
	assert_int_equal(f->req.reply.status, 202);
	assert_non_null(kept(f, "to-door"));
}

KEPT_TEST(test_api_kept__a_wait_follows_the_wait_for_the_disk)
{
	configure(f, DOOR);
	await(f, "door", VBD_KEPT_UP);
	hold_disk();
	client_send(f, "alice", "POST", "/v1/connections?wait_ms=60000", TO_DOOR "}");
	assert_int_equal(f->timeout_ms, 5000);
	release_disk(SQLITE_OK);
	SVC_UNTIL(f->svc, f->req.reply.status);
	assert_int_equal(f->req.reply.status, 201);
	assert_true(outlives(f));
}

KEPT_TEST(test_api_kept__no_second_wait_begins_after_a_wait_for_the_disk)
{
	hold_disk();
	client_send(f, "alice", "POST", "/v1/connections?wait_ms=60000", TO_DOOR "}");
	f->on_timeout(&f->req, f->park_arg);
	release_disk(SQLITE_OK);
	assert_int_equal(f->req.reply.status, 202);
	assert_false(outlives(f));
}

/* --- devices --------------------------------------------------------------------------------- */

KEPT_TEST(test_api_kept__the_device_brings_back_buffers_with_their_bytes)
{
	uint64_t id;

	configure(f, DOOR "buffers:\n- {name: pool, size_bytes: 4096}\n");
	await(f, "pool", VBD_KEPT_UP);
	await(f, "door", VBD_KEPT_UP);
	id = buffer(f, "pool")->object.id;
	UNIT_BYTES(&buffer(f, "pool")->mem)[7] = 42;
	unplug(f);
	await(f, "pool", VBD_KEPT_WAITING);
	await(f, "door", VBD_KEPT_LOST);
	plug_in(f);
	await(f, "pool", VBD_KEPT_UP);
	await(f, "door", VBD_KEPT_UP);
	assert_int_equal(buffer(f, "pool")->object.id, id);
	assert_int_equal(buffer(f, "pool")->state, VBD_BUFFER_READY);
	assert_int_equal(UNIT_BYTES(&buffer(f, "pool")->mem)[7], 42);
}

KEPT_TEST(test_api_kept__without_a_device_it_waits_for_one)
{
	unplug(f);
	configure(f, "buffers:\n- {name: pool, size_bytes: 4096}\n");
	SVC_UNTIL(f->svc, kept(f, "pool")->tries > 0);
	assert_int_equal(kept(f, "pool")->state, VBD_KEPT_WAITING);
	assert_int_equal(kept(f, "pool")->last_error.status, VBD_E_NO_DEVICE);
	assert_true(kept(f, "pool")->next_try_ns > kept(f, "pool")->last_try_ns);
	plug_in(f);
	await(f, "pool", VBD_KEPT_UP);
	assert_int_equal(kept(f, "pool")->last_error.status, VBD_OK);
}

/* --- connections ----------------------------------------------------------------------------- */

static void open_to_door(struct client *f, const char *members)
{
	char body[512];

	configure(f, DOOR);
	await(f, "door", VBD_KEPT_UP);
	(void)snprintf(body, sizeof(body), TO_DOOR "%s}", members);
	/* The connection may be established before its row is written. */
	assert_in_range(post(f, "/v1/connections", body), 201, 202);
	await(f, "to-door", VBD_KEPT_UP);
}

/* The peer ends the connection. */
static void end_by_peer(struct client *f)
{
	vbd_connection_close(svc_newest_of(f->svc, listener(f, "door")));
}

/* The peer ends the connection, and another one is established. */
static void reconnect(struct client *f)
{
	uint64_t tries = kept(f, "to-door")->tries;

	end_by_peer(f);
	SVC_UNTIL(f->svc, kept(f, "to-door")->tries > tries);
	await(f, "to-door", VBD_KEPT_UP);
}

static void connection_path(uint64_t id, char path[64])
{
	(void)snprintf(path, 64, "/v1/connections/%" PRIu64, id);
}

KEPT_TEST(test_api_kept__a_connection_that_the_peer_ends_comes_again)
{
	open_to_door(f, "");
	reconnect(f);
	assert_int_equal(kept(f, "to-door")->tries, 2);
	assert_string_equal(connection(f, "to-door")->object.owner->name, "alice");
	assert_true(svc_count_events(f->svc, VBD_EVENT_KEPT_OBJECT_FAILED) > 0);
}

/* Takes a time that is there out of the document. */
static void take_time(json_t *json, const char *name)
{
	const char *time = json_string_value(json_object_get(json, name));

	assert_non_null(time);
	assert_int_equal(strlen(time), strlen("2026-03-04T05:06:07.123456789Z"));
	(void)json_object_del(json, name);
}

KEPT_TEST(test_api_kept__what_is_kept_is_shown_whole)
{
	json_t *json, *wanted;

	open_to_door(f, ", \"reconnect\": \"on_failure\", \"labels\": {\"job\": \"x\"}");
	assert_int_equal(client_ask(f, "alice", "GET", "/v1/kept_objects/to-door", NULL), 200);
	json = client_document(f);
	take_time(json, "last_try_at");
	take_time(json, "created_at");
	wanted = json_pack("{s:I s:s s:s s:s s:{s:s} s:I s:n s:s s:s s:I s:n s:n s:s s:I s:I s:b "
			   "s:n}",
		"id", (json_int_t)kept(f, "to-door")->object.id, "name", "to-door", "owner",
		"alice", "kind", "connection", "labels", "job", "x", "object_id",
		(json_int_t)connection(f, "to-door")->object.id, "previous_id", "source", "api",
		"state", "up", "tries", (json_int_t)1, "next_try_at", "error", "reconnect",
		"on_failure", "reconnect_min_ms", (json_int_t)10, "reconnect_max_ms",
		(json_int_t)20, "outlives_restart", 1, "bytes_outlive_restart");
	if (!json_equal(json, wanted))
		fail_msg("%s", f->req.reply.body);
	json_decref(wanted);
	json_decref(json);
}

KEPT_TEST(test_api_kept__a_name_belongs_to_one_kept_object_of_all_kinds)
{
	assert_int_equal(post(f, "/v1/listeners", OWN), 201);
	must_refuse(f, "/v1/buffers", "{\"name\": \"own\", \"size_bytes\": 4096, \"keep\": true}",
		"name_taken", "/name");
	assert_body_has(f, "\"/name\"");
	assert_int_equal(vbd_registry_count(f->svc->daemon->kept_objects), 1);
	assert_int_equal(vbd_registry_count(f->svc->daemon->buffers), 0);
}

KEPT_TEST(test_api_kept__kept_objects_are_dropped_by_their_label)
{
	assert_int_equal(
		post(f, "/v1/listeners",
			"{\"name\": \"a\", \"addr\": \"10.0.0.1\", \"port\": 7474, \"keep\": "
			"true, \"labels\": {\"job\": \"x\"}}"),
		201);
	assert_int_equal(post(f, "/v1/listeners", OWN), 201);
	assert_int_equal(client_ask(f, "alice", "DELETE",
				 "/v1/objects?kind=kept_object&label=job%3Dx", NULL),
		200);
	assert_body_has(f, "\"done\":1,\"pending\":0,\"failed\":0");
	assert_null(kept(f, "a"));
	assert_non_null(kept(f, "own"));
	assert_int_equal(listener(f, "a")->state, VBD_LISTENER_LISTENING);
}

KEPT_TEST(test_api_kept__on_failure_a_clean_end_is_the_end)
{
	open_to_door(f, ", \"reconnect\": \"on_failure\"");
	end_by_peer(f);
	await(f, "to-door", VBD_KEPT_STOPPED);
	assert_int_equal(kept(f, "to-door")->tries, 1);
}

KEPT_TEST(test_api_kept__on_failure_a_busy_peer_is_asked_again_why_it_left)
{
	unsigned int before = fake_questions();

	open_to_door(f, ", \"reconnect\": \"on_failure\"");
	fake_peers_mute(true);
	end_by_peer(f);
	SVC_UNTIL(f->svc, fake_questions() > before);
	fake_peers_mute(false);
	await(f, "to-door", VBD_KEPT_STOPPED);
	assert_int_equal(kept(f, "to-door")->tries, 1);
}

/* More than the daemon looks at together when connections fail. */
#define LEFT_TOGETHER 40

KEPT_TEST(test_api_kept__on_failure_all_peers_that_leave_together_are_asked_why)
{
	char name[16];

	open_to_door(f, ", \"reconnect\": \"on_failure\"");
	for (int i = 0; i < LEFT_TOGETHER; i++) {
		char body[256];

		(void)snprintf(name, sizeof(name), "to-%d", i);
		(void)snprintf(body, sizeof(body),
			"{\"name\": \"%s\", \"dst_addr\": \"10.0.0.1\", \"dst_port\": 7471, "
			"\"keep\": true, \"reconnect\": \"on_failure\"}",
			name);
		assert_in_range(post(f, "/v1/connections", body), 201, 202);
		await(f, name, VBD_KEPT_UP);
	}
	vbd_registry_for_each (object, f->svc->daemon->connections) {
		struct vbd_connection *connection =
			VBD_CONTAINER_OF(object, struct vbd_connection, object);

		if (connection->listener_id == listener(f, "door")->object.id)
			vbd_connection_close(connection);
	}
	for (int i = 0; i < LEFT_TOGETHER; i++) {
		(void)snprintf(name, sizeof(name), "to-%d", i);
		await(f, name, VBD_KEPT_STOPPED);
		assert_int_equal(kept(f, name)->tries, 1);
	}
}

/* Its kernel disconnects for it, and no verbsd there knows the connection. */
KEPT_TEST(test_api_kept__on_failure_a_killed_peer_is_connected_to_again)
{
	open_to_door(f, ", \"reconnect\": \"on_failure\"");
	vbd_peer_reports_forget(svc_newest_of(f->svc, listener(f, "door")));
	reconnect(f);
	assert_int_equal(kept(f, "to-door")->tries, 2);
}

KEPT_TEST(test_api_kept__a_connection_that_was_up_for_a_second_begins_with_the_shortest_pause)
{
	open_to_door(f, "");
	kept(f, "to-door")->policy.max_ms = 20000;
	for (int steady = 0; steady < 2; steady++) {
		kept(f, "to-door")->failures = 3;
		kept(f, "to-door")->up_ns -= steady ? VBD_NS_PER_S : 0;
		reconnect(f);
		assert_int_equal(kept(f, "to-door")->failures, steady ? 1 : 4);
	}
}

KEPT_TEST(test_api_kept__a_closed_connection_stays_closed_until_a_restart)
{
	open_to_door(f, "");
	assert_int_equal(
		client_ask(f, "alice", "POST", "/v1/connections/to-door/close", NULL), 202);
	await(f, "to-door", VBD_KEPT_STOPPED);
	restart(f);
	configure(f, DOOR);
	await(f, "to-door", VBD_KEPT_UP);
}

KEPT_TEST(test_api_kept__a_peer_that_is_away_is_tried_until_it_is_there)
{
	const struct vbd_reconciler *reconciler = f->svc->daemon->reconciler;

	assert_int_equal(post(f, "/v1/connections", TO_DOOR "}"), 202);
	SVC_UNTIL(f->svc, kept(f, "to-door")->tries > 2);
	configure(f, DOOR);
	await(f, "to-door", VBD_KEPT_UP);
	/* The request made the first try, and each but the last one has failed. */
	assert_int_equal(reconciler->tries, kept(f, "to-door")->tries - 1 + kept(f, "door")->tries);
	assert_int_equal(reconciler->failures, kept(f, "to-door")->tries - 1);
	assert_int_equal(
		svc_count_events(f->svc, VBD_EVENT_KEPT_OBJECT_FAILED), reconciler->failures);
	assert_int_equal(connection(f, "to-door")->conn->state, VBD_CONN_ESTABLISHED);
}

KEPT_TEST(test_api_kept__what_waits_is_tried_when_its_device_tells_something)
{
	assert_int_equal(
		post(f, "/v1/connections",
			"{\"name\": \"to-door\", \"dst_addr\": \"10.0.0.1\", \"dst_port\": 7471,"
			" \"keep\": true, \"reconnect_min_ms\": 60000, \"reconnect_max_ms\": "
			"60000}"),
		202);
	await(f, "to-door", VBD_KEPT_WAITING);
	configure(f, DOOR);
	await(f, "door", VBD_KEPT_UP);
	assert_int_equal(kept(f, "to-door")->tries, 1);
	fake_device_async(f->svc->device, IBV_EVENT_PORT_ACTIVE, 1);
	await(f, "to-door", VBD_KEPT_UP);
	assert_int_equal(kept(f, "to-door")->tries, 2);
}

KEPT_TEST(test_api_kept__a_first_try_that_fails_is_told_to_be_kept)
{
	char path[64];
	json_t *json;

	assert_int_equal(post(f, "/v1/connections?wait_ms=60000", TO_DOOR "}"), 424);
	json = client_document(f);
	(void)snprintf(
		path, sizeof(path), "/v1/kept_objects/%" PRIu64, kept(f, "to-door")->object.id);
	assert_string_equal(json_string_value(json_object_get(json, "kept_object")), path);
	assert_non_null(strstr(json_string_value(json_object_get(json, "detail")), "; it is kept"));
	json_decref(json);
}

KEPT_TEST(test_api_kept__a_deleted_connection_does_not_come_again)
{
	open_to_door(f, "");
	(void)client_ask(f, "alice", "DELETE", "/v1/connections/to-door", NULL);
	assert_null(kept(f, "to-door"));
	SVC_UNTIL(f->svc, !connection(f, "to-door"));
}

KEPT_TEST(test_api_kept__a_connection_waits_for_its_device)
{
	open_to_door(f, "");
	unplug(f);
	SVC_UNTIL(f->svc, kept(f, "to-door")->state == VBD_KEPT_WAITING);
	plug_in(f);
	await(f, "to-door", VBD_KEPT_UP);
}

/* A connection of the run before is kept, and none of this run is there yet. */
static void keep_over_a_restart(struct client *f)
{
	open_to_door(f, ", \"labels\": {\"job\": \"x\"}");
	assert_int_equal(
		client_ask(f, "alice", "POST", "/v1/connections/to-door/close", NULL), 202);
	await(f, "to-door", VBD_KEPT_STOPPED);
	restart(f);
	assert_non_null(kept(f, "to-door"));
	assert_null(connection(f, "to-door"));
}

KEPT_TEST(test_api_kept__a_deleted_record_of_an_earlier_run_does_not_come_again)
{
	keep_over_a_restart(f);
	assert_int_equal(client_ask(f, "alice", "DELETE", "/v1/connections/to-door", NULL), 204);
	must_be_forgotten(f, "to-door");
	assert_int_equal(client_ask(f, "alice", "GET", "/v1/connections/to-door", NULL), 404);
}

KEPT_TEST(test_api_kept__records_that_are_deleted_together_do_not_come_again)
{
	keep_over_a_restart(f);
	vbd_drain_begin(f->svc->daemon, 0);
	assert_int_equal(
		client_ask(f, "alice", "DELETE", "/v1/objects?kind=connection&label=job=x", NULL),
		200);
	must_be_forgotten(f, "to-door");
}

KEPT_TEST(test_api_kept__an_older_record_is_deleted_and_the_newest_is_kept)
{
	char older[64], newest[64];

	open_to_door(f, "");
	reconnect(f);
	connection_path(connection(f, "to-door")->previous_id, older);
	connection_path(connection(f, "to-door")->object.id, newest);
	restart(f);
	vbd_drain_begin(f->svc->daemon, 0);
	assert_int_equal(client_ask(f, "alice", "DELETE", older, NULL), 204);
	assert_non_null(kept(f, "to-door"));
	assert_int_equal(client_ask(f, "alice", "DELETE", newest, NULL), 204);
	assert_null(kept(f, "to-door"));
}

KEPT_TEST(test_api_kept__what_is_not_yet_made_can_be_deleted_by_its_name)
{
	static const char *const targets[] = {"/v1/listeners/own", "/v1/buffers/pool"};

	assert_int_equal(post(f, "/v1/listeners",
				 "{\"name\": \"own\", \"addr\": \"10.0.0.1\", \"keep\": true}"),
		201);
	assert_int_equal(post(f, "/v1/buffers",
				 "{\"name\": \"pool\", \"size_bytes\": 4096, \"keep\": true}"),
		201);
	restart(f);
	vbd_drain_begin(f->svc->daemon, 0);
	for (size_t i = 0; i < VBD_ARRAY_LEN(targets); i++) {
		/* There is nothing that could have a tag. */
		f->if_match = "*";
		assert_int_equal(client_ask(f, "alice", "DELETE", targets[i], NULL), 412);
		f->if_match = NULL;
		assert_int_equal(client_ask(f, "alice", "DELETE", targets[i], NULL), 204);
		assert_int_equal(client_ask(f, "alice", "DELETE", targets[i], NULL), 404);
	}
	must_be_forgotten(f, "own");
	assert_null(kept(f, "pool"));
}

KEPT_TEST(test_api_kept__an_operator_can_not_delete_what_the_file_lists_before_it_is_made)
{
	vbd_drain_begin(f->svc->daemon, 0);
	configure(f, DOOR);
	assert_int_equal(client_ask(f, "alice", "DELETE", "/v1/listeners/door", NULL), 403);
	assert_non_null(kept(f, "door"));
	assert_int_equal(client_ask(f, "control", "DELETE", "/v1/listeners/door", NULL), 204);
	assert_null(kept(f, "door"));
}

static uint32_t heartbeat_ms(struct client *f)
{
	return connection(f, "to-door")->conn->params.qp.heartbeat_ms;
}

KEPT_TEST(test_api_kept__a_connection_has_heartbeats_by_default)
{
	open_to_door(f, "");
	assert_int_equal(heartbeat_ms(f), VBD_KEPT_HEARTBEAT_MS);
	reconnect(f);
	assert_int_equal(heartbeat_ms(f), VBD_KEPT_HEARTBEAT_MS);
	assert_in_range(
		post(f, "/v1/connections",
			"{\"name\": \"plain\", \"dst_addr\": \"10.0.0.1\", \"dst_port\": 7471}"),
		201, 202);
	assert_int_equal(connection(f, "plain")->conn->params.qp.heartbeat_ms, 0);
}

KEPT_TEST(test_api_kept__a_spec_that_wants_no_heartbeats_has_none)
{
	open_to_door(f, ", \"qp\": {\"heartbeat_ms\": 0}");
	assert_int_equal(heartbeat_ms(f), 0);
	reconnect(f);
	assert_int_equal(heartbeat_ms(f), 0);
}

/* A spec that names an interval is refused there. */
KEPT_TEST(test_api_kept__without_heartbeats_of_the_device_there_are_none)
{
	unplug(f);
	plug_in_another(f, IBV_TRANSPORT_IWARP);
	open_to_door(f, "");
	assert_int_equal(heartbeat_ms(f), 0);
}

KEPT_TEST(test_api_kept__a_peer_that_refuses_heartbeats_gets_no_more)
{
	open_to_door(f, "");
	connection(f, "to-door")->conn->qp.first_error = (struct vbd_first_error){.at_ns = 1,
		.error = {.status = VBD_E_INTERNAL,
			.source = VBD_SOURCE_WC,
			.kind = IBV_WC_REM_INV_REQ_ERR},
		.op = -1};
	for (int i = 0; i < 2; i++) {
		reconnect(f);
		assert_int_equal(heartbeat_ms(f), 0);
	}
}

/* A transfer over the connection, while the peer has ended it. */
static void transfer_meanwhile(struct client *f, const char *members)
{
	char body[256];

	configure(f, DOOR);
	await(f, "door", VBD_KEPT_UP);
	assert_in_range(
		post(f, "/v1/connections",
			"{\"name\": \"to-door\", \"dst_addr\": \"10.0.0.1\", \"dst_port\": 7471, "
			"\"keep\": true, \"reconnect_min_ms\": 200}"),
		201, 202);
	await(f, "to-door", VBD_KEPT_UP);
	assert_int_equal(
		post(f, "/v1/buffers", "{\"name\": \"source\", \"size_bytes\": 4096}"), 201);
	end_by_peer(f);
	await(f, "to-door", VBD_KEPT_WAITING);
	(void)snprintf(body, sizeof(body),
		"{\"connection\": \"to-door\", \"op\": \"send\", \"buffer\": \"source\", "
		"\"length_bytes\": 8%s}",
		members);
	client_send(f, "alice", "POST", "/v1/transfers", body);
}

#define WAIT ", \"if_not_established\": \"wait\", \"labels\": {\"job\": \"x\"}"

KEPT_TEST(test_api_kept__a_transfer_waits_for_the_next_connection)
{
	const struct vbd_object *transfer;

	transfer_meanwhile(f, WAIT);
	assert_int_equal(f->req.reply.status, 0);
	assert_int_equal(f->timeout_ms, 30000);
	SVC_UNTIL(f->svc, f->req.reply.status);
	assert_int_equal(f->req.reply.status, 202);
	transfer = vbd_registry_after(f->svc->daemon->transfers, 0);
	assert_non_null(transfer->labels);
	assert_string_equal(transfer->owner->name, "alice");
}

KEPT_TEST(test_api_kept__a_transfer_is_refused_unless_it_is_to_wait)
{
	json_t *json;

	transfer_meanwhile(f, "");
	assert_int_equal(f->req.reply.status, 409);
	json = client_document(f);
	assert_non_null(strstr(json_string_value(json_object_get(json, "hint")), "again"));
	json_decref(json);
	must_refuse(f, "/v1/transfers",
		"{\"ud_endpoint\": 1, \"op\": \"send\", \"length_bytes\": 0" WAIT "}", "bad_value",
		"/if_not_established");
	must_refuse(f, "/v1/transfer_batches",
		"{\"transfers\": [{\"connection\": \"to-door\", \"op\": \"send\", "
		"\"length_bytes\": 0, \"if_not_established\": \"wait\"}]}",
		"bad_value", "/transfers/0/if_not_established");
}

KEPT_TEST(test_api_kept__a_transfer_waits_until_its_deadline)
{
	transfer_meanwhile(f, WAIT);
	f->on_timeout(&f->req, f->park_arg);
	assert_int_equal(f->req.reply.status, 409);
	assert_int_equal(vbd_registry_count(f->svc->daemon->transfers), 0);
}

KEPT_TEST(test_api_kept__nothing_waits_for_a_connection_that_is_kept_no_longer)
{
	transfer_meanwhile(f, WAIT);
	(void)vbd_kept_drop(kept(f, "to-door"));
	SVC_UNTIL(f->svc, f->req.reply.status);
	assert_int_equal(f->req.reply.status, 409);
}

KEPT_TEST(test_api_kept__a_transfer_waits_for_no_connection_of_another)
{
	char refs[3][32] = {"\"to-door\""}, body[256];
	unsigned long long id;

	transfer_meanwhile(f, WAIT);
	SVC_UNTIL(f->svc, f->req.reply.status);
	end_by_peer(f);
	await(f, "to-door", VBD_KEPT_WAITING);
	id = connection(f, "to-door")->object.id;
	(void)snprintf(refs[1], sizeof(refs[1]), "%llu", id);
	(void)snprintf(refs[2], sizeof(refs[2]), "\"%llu\"", id);
	for (size_t i = 0; i < VBD_ARRAY_LEN(refs); i++) {
		(void)snprintf(body, sizeof(body),
			"{\"connection\": %s, \"op\": \"send\", \"length_bytes\": 0%s}", refs[i],
			WAIT);
		client_send(f, "bob", "POST", "/v1/transfers", body);
		assert_int_equal(f->req.reply.status, 404);
	}
}

/* --- what is shared --------------------------------------------------------------------------- */

/* Bob writes to the buffer @name, reads its key, and can't delete it. */
static void must_be_shared(struct client *f, const char *name)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/v1/buffers/%s", name);
	await(f, name, VBD_KEPT_UP);
	assert_int_equal(client_ask(f, "bob", "GET", path, NULL), 200);
	assert_body_has(f, "\"share\":\"operators\"");
	assert_body_has(f, "\"owner\":null");
	assert_body_has(f, "\"rkey\"");
	assert_int_equal(client_ask(f, "bob", "DELETE", path, NULL), 403);
	(void)snprintf(path, sizeof(path), "/v1/buffers/%s/data", name);
	assert_int_equal(client_ask(f, "bob", "GET", path, NULL), 200);
}

KEPT_TEST(test_api_kept__what_is_shared_is_shared_after_a_restart)
{
	assert_int_equal(client_ask(f, "control", "POST", "/v1/buffers",
				 "{\"name\": \"pool\", \"size_bytes\": 4096, \"keep\": true, "
				 "\"share\": \"operators\"}"),
		201);
	must_be_shared(f, "pool");
	restart(f);
	must_be_shared(f, "pool");
}

/* A list can open an object that it had not opened before. */
KEPT_TEST(test_api_kept__the_configuration_shares_what_it_says)
{
	static const char own[] = "buffers:\n- {name: pool, size_bytes: 4096}\n";
	static const char shared[] =
		"buffers:\n- {name: pool, size_bytes: 4096, share: operators}\n";

	configure(f, own);
	await(f, "pool", VBD_KEPT_UP);
	assert_int_equal(client_ask(f, "bob", "GET", "/v1/buffers/pool", NULL), 200);
	assert_null(memmem(f->req.reply.body, f->req.reply.body_bytes, "operators", 9));
	assert_int_equal(client_ask(f, "bob", "GET", "/v1/buffers/pool/data", NULL), 403);
	configure(f, shared);
	SVC_UNTIL(f->svc, buffer(f, "pool") && buffer(f, "pool")->object.shared);
	must_be_shared(f, "pool");
	configure(f, own);
	SVC_UNTIL(f->svc, buffer(f, "pool") && !buffer(f, "pool")->object.shared);
	await(f, "pool", VBD_KEPT_UP);
	assert_int_equal(client_ask(f, "bob", "GET", "/v1/buffers/pool/data", NULL), 403);
}

/* --- one id ---------------------------------------------------------------------------------- */

/* Member of the answer to a GET of the connection with the id; -1 if it has no such number. */
static int64_t member_of(struct client *f, uint64_t id, const char *name)
{
	char path[64];
	const json_t *member;
	int64_t value;
	json_t *json;

	connection_path(id, path);
	assert_int_equal(client_ask(f, "alice", "GET", path, NULL), 200);
	json = client_document(f);
	member = json_object_get(json, name);
	value = json_is_integer(member) ? json_integer_value(member) : -1;
	json_decref(json);
	return value;
}

static bool is_in_state(struct client *f, uint64_t id, const char *state)
{
	char path[64];
	json_t *json;
	bool is;

	connection_path(id, path);
	assert_int_equal(client_ask(f, "alice", "GET", path, NULL), 200);
	json = client_document(f);
	is = strcmp(json_string_value(json_object_get(json, "state")), state) == 0;
	json_decref(json);
	return is;
}

/* The number of entries about tries in the timeline of the connection. */
static unsigned int count_tries(struct client *f, uint64_t id, const char *what)
{
	char path[64], target[80];
	const json_t *entry;
	unsigned int count = 0;
	json_t *json;
	size_t i;

	connection_path(id, path);
	(void)snprintf(target, sizeof(target), "%s/timeline", path);
	assert_int_equal(client_ask(f, "alice", "GET", target, NULL), 200);
	json = client_document(f);
	json_array_foreach(json_object_get(json, "items"), i, entry)
	{
		if (strcmp(json_string_value(json_object_get(entry, "kind")), "try") == 0)
			count += strcmp(json_string_value(json_object_get(entry, "what")), what) ==
				 0;
	}
	json_decref(json);
	return count;
}

KEPT_TEST(test_api_kept__a_connection_that_is_made_again_keeps_its_id)
{
	struct vbd_event_filter renumbered = {.by_type = true};
	uint64_t id, version, first, second;
	char *text;

	open_to_door(f, "");
	id = connection(f, "to-door")->object.id;
	version = connection(f, "to-door")->object.version;
	reconnect(f);
	first = connection(f, "to-door")->previous_id;
	reconnect(f);
	second = connection(f, "to-door")->previous_id;
	assert_int_equal(connection(f, "to-door")->object.id, id);
	assert_true(connection(f, "to-door")->object.version > version);
	assert_int_equal(kept(f, "to-door")->made_id, id);
	assert_int_equal(kept(f, "to-door")->previous_id, second);
	assert_true(is_in_state(f, id, "established"));
	assert_true(is_in_state(f, first, "closed"));
	assert_int_equal(member_of(f, id, "previous_id"), second);
	assert_int_equal(member_of(f, second, "previous_id"), first);
	assert_int_equal(member_of(f, first, "previous_id"), -1);
	assert_int_equal(svc_count_events(f->svc, VBD_EVENT_CONNECTION_RENUMBERED), 2);
	renumbered.types[VBD_EVENT_CONNECTION_RENUMBERED] = true;
	assert_true(asprintf(&text, "the record of connection %llu is now %llu",
			    (unsigned long long)id, (unsigned long long)first) > 0);
	assert_string_equal(
		vbd_eventlog_next(f->svc->daemon->eventlog, 0, &renumbered)->detail, text);
	free(text);
}

KEPT_TEST(test_api_kept__the_timeline_tells_why_each_try_was_over)
{
	uint64_t id;

	open_to_door(f, "");
	id = connection(f, "to-door")->object.id;
	assert_int_equal(count_tries(f, id, "waiting"), 0);
	reconnect(f);
	reconnect(f);
	assert_int_equal(count_tries(f, id, "waiting"), 2);
	assert_int_equal(count_tries(f, id, "begun"), 1);
	assert_int_equal(count_tries(f, connection(f, "to-door")->previous_id, "waiting"), 2);
}

/* Events of the type that the log and the dashboard show by default. */
static unsigned int count_told(struct client *f, const char *type)
{
	char target[96];
	unsigned int count;
	json_t *json;

	(void)snprintf(target, sizeof(target), "/v1/events?type=%s&severity=info", type);
	assert_int_equal(client_ask(f, "alice", "GET", target, NULL), 200);
	json = client_document(f);
	count = (unsigned int)json_array_size(json_object_get(json, "items"));
	json_decref(json);
	return count;
}

KEPT_TEST(test_api_kept__tries_that_fail_alike_are_one_row)
{
	struct vbd_connection *accepted;
	uint64_t id, tries;

	assert_int_equal(post(f, "/v1/connections", TO_DOOR "}"), 202);
	id = connection(f, "to-door")->object.id;
	SVC_UNTIL(f->svc, kept(f, "to-door")->tries > 30);
	SVC_UNTIL(f->svc, kept(f, "to-door")->state == VBD_KEPT_WAITING);
	tries = kept(f, "to-door")->tries;
	assert_int_equal(vbd_registry_count(f->svc->daemon->connections), 1);
	assert_int_equal(member_of(f, id, "previous_id"), -1);
	assert_int_equal(count_tries(f, id, "waiting"), 1);
	assert_int_equal(svc_count_events(f->svc, VBD_EVENT_CONNECTION_RENUMBERED), 0);
	assert_true(svc_count_events(f->svc, VBD_EVENT_CONNECTION_ENDED) >= tries - 1);
	assert_int_equal(count_told(f, "connection_created"), 1);
	assert_int_equal(count_told(f, "connection_ended"), 1);
	assert_int_equal(count_told(f, "kept_object_failed"), 1);
	configure(f, DOOR);
	await(f, "to-door", VBD_KEPT_UP);
	assert_int_equal(connection(f, "to-door")->object.id, id);
	assert_int_equal(count_tries(f, id, "waiting"), 1);
	assert_int_equal(count_tries(f, id, "begun"), 1);
	assert_int_equal(connection(f, "to-door")->conn->timeline.dropped, 0);

	/* After it was up, the next failure is told again. */
	accepted = svc_newest_of(f->svc, listener(f, "door"));
	configure(f, "");
	vbd_connection_close(accepted);
	SVC_UNTIL(f->svc, kept(f, "to-door")->tries > tries + 5);
	assert_true(count_told(f, "kept_object_failed") > 1);
	assert_true(count_told(f, "kept_object_failed") < 5);
}

/* A connection that is kept, and tried again after such a pause; it waits for that. */
static uint64_t wait_for_the_next_try(struct client *f, const char *pause_ms)
{
	char body[256];

	configure(f, DOOR);
	await(f, "door", VBD_KEPT_UP);
	(void)snprintf(body, sizeof(body),
		"{\"name\": \"to-door\", \"dst_addr\": \"10.0.0.1\", \"dst_port\": 7471, "
		"\"keep\": true, \"reconnect_min_ms\": %s, \"reconnect_max_ms\": 3600000}",
		pause_ms);
	assert_in_range(post(f, "/v1/connections", body), 201, 202);
	await(f, "to-door", VBD_KEPT_UP);
	end_by_peer(f);
	await(f, "to-door", VBD_KEPT_WAITING);
	return kept(f, "to-door")->made_id;
}

#define LONG "3600000"

KEPT_TEST(test_api_kept__between_tries_the_id_has_the_one_that_ended)
{
	uint64_t id = wait_for_the_next_try(f, LONG);
	const json_t *desired;
	json_t *json;

	assert_true(is_in_state(f, id, "closed"));
	json = client_document(f);
	desired = json_object_get(json, "desired");
	assert_string_equal(json_string_value(json_object_get(desired, "state")), "waiting");
	assert_true(json_is_string(json_object_get(desired, "next_try_at")));
	json_decref(json);
}

KEPT_TEST(test_api_kept__a_close_between_tries_ends_the_tries)
{
	const json_t *desired;
	json_t *json;

	(void)wait_for_the_next_try(f, LONG);
	assert_int_equal(
		client_ask(f, "alice", "POST", "/v1/connections/to-door/close", NULL), 200);
	json = client_document(f);
	desired = json_object_get(json, "desired");
	assert_string_equal(json_string_value(json_object_get(desired, "state")), "stopped");
	assert_true(json_is_null(json_object_get(desired, "next_try_at")));
	json_decref(json);
}

/* Another connection, which is not kept, begins and ends. */
static void open_and_close_another(struct client *f)
{
	struct vbd_connection *other;

	assert_in_range(
		post(f, "/v1/connections",
			"{\"name\": \"plain\", \"dst_addr\": \"10.0.0.1\", \"dst_port\": 7471}"),
		201, 202);
	other = connection(f, "plain");
	SVC_UNTIL(f->svc, other->conn->state == VBD_CONN_ESTABLISHED);
	vbd_connection_close(other);
	SVC_UNTIL(f->svc, f->svc->daemon->connections->open == 0);
}

KEPT_TEST(test_api_kept__what_waits_for_a_try_is_no_record_that_makes_room)
{
	uint64_t id = wait_for_the_next_try(f, LONG);
	struct vbd_registry *registry = f->svc->daemon->connections;

	registry->kept = 1;
	open_and_close_another(f);
	assert_non_null(vbd_registry_find_id(registry, id));
	(void)vbd_kept_drop(kept(f, "to-door"));
	assert_int_equal(registry->ended.count, 1);
}

KEPT_TEST(test_api_kept__without_a_history_the_id_stays)
{
	uint64_t id, version;

	f->svc->daemon->connections->kept = 0;
	open_to_door(f, "");
	id = connection(f, "to-door")->object.id;
	for (int i = 0; i < 3; i++) {
		version = connection(f, "to-door")->object.version;
		reconnect(f);
		assert_int_equal(connection(f, "to-door")->object.id, id);
		assert_true(connection(f, "to-door")->object.version > version);
	}
	SVC_UNTIL(f->svc, vbd_registry_count(f->svc->daemon->connections) == 2);
}

KEPT_TEST(test_api_kept__a_stopped_connection_that_gets_another_spec_keeps_its_id)
{
	uint64_t id;

	configure(f, DOOR "connections:\n- {name: to-door, dst_addr: 10.0.0.1, dst_port: 7471}\n");
	await(f, "to-door", VBD_KEPT_UP);
	id = connection(f, "to-door")->object.id;
	vbd_connection_close(connection(f, "to-door"));
	await(f, "to-door", VBD_KEPT_STOPPED);
	configure(f, DOOR "connections:\n- {name: to-door, dst_addr: 10.0.0.1, dst_port: 7471, "
			  "timeout_ms: 9000}\n");
	await(f, "to-door", VBD_KEPT_UP);
	assert_int_equal(connection(f, "to-door")->object.id, id);
	assert_int_equal(connection(f, "to-door")->conn->timeout_ms, 9000);
	SVC_UNTIL(f->svc, f->svc->daemon->connections->ended.count == 2);
}

/* A GET of the connection that waits; it has no answer yet. */
static void get_later(struct client *f, uint64_t id, const char *until)
{
	char path[64], target[120];

	connection_path(id, path);
	(void)snprintf(target, sizeof(target), "%s?until=%s&wait_ms=60000", path, until);
	client_send(f, "alice", "GET", target, NULL);
	assert_int_equal(f->req.reply.status, 0);
}

static void must_get(struct client *f, uint64_t id, const char *member, const char *value)
{
	json_t *json;

	assert_int_equal(f->req.reply.status, 200);
	json = client_document(f);
	assert_int_equal(json_integer_value(json_object_get(json, "id")), id);
	if (member)
		assert_string_equal(json_string_value(json_object_get(json, member)), value);
	json_decref(json);
}

KEPT_TEST(test_api_kept__a_request_waits_over_a_try_until_a_state_is_there)
{
	uint64_t id = wait_for_the_next_try(f, "200");

	get_later(f, id, "established");
	SVC_UNTIL(f->svc, f->req.reply.status);
	must_get(f, id, "state", "established");
}

KEPT_TEST(test_api_kept__a_request_that_waits_for_a_change_sees_the_next_try)
{
	uint64_t id = wait_for_the_next_try(f, "200");

	get_later(f, id, "changed");
	SVC_UNTIL(f->svc, f->req.reply.status);
	must_get(f, id, NULL, NULL);
}

KEPT_TEST(test_api_kept__a_request_waits_no_longer_for_what_is_not_kept)
{
	uint64_t id = wait_for_the_next_try(f, LONG);

	get_later(f, id, "established");
	(void)vbd_kept_drop(kept(f, "to-door"));
	must_get(f, id, "state", "closed");
}

KEPT_TEST(test_api_kept__a_transfer_by_id_waits_for_the_next_try)
{
	char body[200];
	uint64_t id;

	assert_int_equal(
		post(f, "/v1/buffers", "{\"name\": \"source\", \"size_bytes\": 4096}"), 201);
	id = wait_for_the_next_try(f, "200");
	(void)snprintf(body, sizeof(body),
		"{\"connection\": %" PRIu64 ", \"op\": \"send\", \"buffer\": \"source\", "
		"\"length_bytes\": 8" WAIT "}",
		id);
	client_send(f, "alice", "POST", "/v1/transfers", body);
	assert_int_equal(f->req.reply.status, 0);
	SVC_UNTIL(f->svc, f->req.reply.status);
	assert_int_equal(f->req.reply.status, 202);
	assert_int_equal(connection(f, "to-door")->object.id, id);
}

KEPT_TEST(test_api_kept__messages_are_numbered_over_all_tries)
{
	open_to_door(f, "");
	connection(f, "to-door")->inbox.last_seq = 7;
	reconnect(f);
	assert_int_equal(connection(f, "to-door")->inbox.last_seq, 7);
}

KEPT_TEST(test_api_kept__after_a_restart_the_name_is_that_of_the_newest_try)
{
	uint64_t id, previous;

	open_to_door(f, "");
	id = connection(f, "to-door")->object.id;
	reconnect(f);
	previous = connection(f, "to-door")->previous_id;
	restart(f);
	vbd_drain_begin(f->svc->daemon, 0);
	assert_int_equal(client_ask(f, "alice", "GET", "/v1/connections/to-door", NULL), 200);
	must_get(f, id, "name", "to-door");
	assert_int_equal(member_of(f, previous, "id"), previous);
}

/* --- drain, many ----------------------------------------------------------------------------- */

static bool tries_at_some_time(struct client *f, const char *name)
{
	json_t *json;
	bool tries;

	assert_int_equal(client_ask(f, "alice", "GET", name, NULL), 200);
	json = client_document(f);
	tries = json_is_string(json_object_get(json, "next_try_at"));
	json_decref(json);
	return tries;
}

KEPT_TEST(test_api_kept__a_drain_ends_the_tries_until_it_is_taken_back)
{
	struct vbd_error err = {0};

	open_to_door(f, "");
	vbd_drain_begin(f->svc->daemon, 0);
	end_by_peer(f);
	SVC_UNTIL(f->svc, !vbd_list_empty(&f->svc->daemon->reconciler->due));
	svc_turn(f->svc);
	assert_int_equal(kept(f, "to-door")->state, VBD_KEPT_WAITING);
	assert_int_equal(kept(f, "to-door")->tries, 1);
	assert_int_equal(svc_count_events(f->svc, VBD_EVENT_KEPT_OBJECT_FAILED), 1);
	assert_false(tries_at_some_time(f, "/v1/kept_objects/to-door"));
	assert_int_equal(vbd_drain_undo(f->svc->daemon, &err), VBD_OK);
	assert_true(tries_at_some_time(f, "/v1/kept_objects/to-door"));
	await(f, "to-door", VBD_KEPT_UP);
	assert_int_equal(kept(f, "to-door")->tries, 2);
}

/* All of them at once would be a storm. */
KEPT_TEST(test_api_kept__many_are_tried_a_few_in_a_turn)
{
	char yaml[8192] = "buffers:\n";

	for (int i = 0; i < 40; i++)
		(void)snprintf(yaml + strlen(yaml), sizeof(yaml) - strlen(yaml),
			"- {name: pool-%d, size_bytes: 4096}\n", i);
	configure(f, yaml);
	SVC_UNTIL(f->svc, f->svc->daemon->reconciler->tries > 0);
	assert_true(f->svc->daemon->reconciler->tries < 40);
	SVC_UNTIL(f->svc, f->svc->daemon->reconciler->in_state[VBD_KEPT_UP] == 40);
	assert_int_equal(f->svc->daemon->reconciler->tries, 40);
}
