/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/svc.h"

#include "daemon/observe/stats_parts.h"
#include "daemon/memory/shared.h"

bool svc_start(struct svc *svc)
{
	memset(&svc->err, 0, sizeof(svc->err));
	svc->stopped = false;
	if (vbd_daemon_create(&svc->config, &svc->daemon, &svc->err) == VBD_OK)
		return true;
	svc->daemon = NULL;
	return false;
}

static void on_stopped(void *arg)
{
	((struct svc *)arg)->stopped = true;
}

/* Compare the numbers that are counted as objects come and go with the lists. */
static void check_numbers(struct svc *svc)
{
	struct vbd_daemon *daemon = svc->daemon;
	uint64_t in_state[VBD_CONN_STATE_COUNT] = {0};

	for (size_t i = 0; i < VBD_ARRAY_LEN(daemon->registries); i++) {
		struct vbd_registry *registry = &daemon->registries[i];
		uint64_t objects = registry->of_daemon.objects, open = registry->of_daemon.open;
		uint64_t listed_open = 0;

		if (!registry->kind)
			continue;
		for (struct vbd_caller *caller = daemon->callers.by_name; caller;
			caller = caller->by_name.next) {
			objects += caller->tallies[i].objects;
			open += caller->tallies[i].open;
		}
		vbd_registry_for_each (object, registry)
			listed_open += !object->ended;
		assert_int_equal(objects, vbd_registry_count(registry));
		assert_int_equal(open, registry->open);
		assert_true(open >= listed_open);
	}
	vbd_registry_for_each (object, daemon->connections) {
		const struct vbd_connection *connection =
			VBD_CONTAINER_OF(object, struct vbd_connection, object);

		if (!object->ended && connection->conn)
			in_state[connection->conn->state]++;
	}
	assert_memory_equal(in_state, daemon->connections_in_state, sizeof(in_state));
}

/* An object gives back what is counted for it as it ends. */
static void check_nothing_counted(const struct svc *svc)
{
	const struct vbd_daemon *daemon = svc->daemon;
	uint64_t buffers_bytes = 0;

	assert_int_equal(daemon->connections->open, 0);
	assert_int_equal(daemon->transfers->open, 0);
	assert_int_equal(daemon->ud_endpoints->open, 0);
	assert_int_equal(daemon->connections_accepted, 0);
	assert_int_equal(daemon->connects_in_flight, 0);
	assert_int_equal(daemon->receives_open, 0);
	assert_int_equal(daemon->qp_receives_bytes, 0);
	assert_int_equal(daemon->pool_jobs, 0);
	vbd_registry_for_each (object, daemon->buffers)
		buffers_bytes += VBD_CONTAINER_OF(object, struct vbd_buffer, object)->counted_bytes;
	assert_int_equal(daemon->buffers_bytes, buffers_bytes);
	for (const struct vbd_caller *caller = daemon->callers.by_name; caller;
		caller = caller->by_name.next) {
		assert_int_equal(caller->used[VBD_QUOTA_connections], 0);
		assert_int_equal(caller->used[VBD_QUOTA_transfers], 0);
	}
}

/* A copy of the lists of objects, kept by a client that only reads events. */
struct mirror {
	struct mirrored {
		enum vbd_object_kind kind;
		uint64_t id;
		char name[VBD_NAME_BYTES];
		const char *state;
	} * objects;
	size_t count;
};

static struct mirrored *find_mirrored(
	const struct mirror *mirror, enum vbd_object_kind kind, uint64_t id)
{
	for (size_t i = 0; i < mirror->count; i++) {
		if (mirror->objects[i].kind == kind && mirror->objects[i].id == id)
			return &mirror->objects[i];
	}
	return NULL;
}

static bool is_death(const struct vbd_event *event)
{
	const char *code = event->words[VBD_EVENT_CODE];

	return code && strcmp(code, vbd_status_code(VBD_E_DAEMON_DIED)) == 0;
}

static void mirror_event(struct mirror *mirror, const struct vbd_event *event, bool has_past)
{
	struct mirrored *object = find_mirrored(mirror, event->kind, event->object_id);
	const char *type = vbd_event_type_name(event->type);
	const char *verb = strrchr(type, '_');

	if (event->kind == VBD_KIND_NONE)
		return;
	/* Ended objects of earlier runs are in no registry. */
	if (!object && (strcmp(verb, "_deleted") == 0 || is_death(event))) {
		assert_true(has_past);
		return;
	}
	if (strcmp(verb, "_deleted") == 0) {
		*object = mirror->objects[--mirror->count];
		return;
	}
	if (!object) {
		mirror->objects =
			realloc(mirror->objects, (mirror->count + 1) * sizeof(*mirror->objects));
		assert_non_null(mirror->objects);
		object = &mirror->objects[mirror->count++];
	}
	*object = (struct mirrored){.kind = event->kind, .id = event->object_id};
	object->state = event->words[VBD_EVENT_STATE];
	(void)snprintf(object->name, sizeof(object->name), "%s", event->name);
}

static void check_mirrored(const struct mirror *mirror, enum vbd_object_kind kind, uint64_t id,
	const char *name, const char *state)
{
	const struct mirrored *object = find_mirrored(mirror, kind, id);

	if (!object)
		fail_msg("no event told of %s %llu", vbd_object_kind_name(kind),
			(unsigned long long)id);
	else if (object->state != state)
		fail_msg("%s %llu is %s; the last event about it says %s",
			vbd_object_kind_name(kind), (unsigned long long)id, state, object->state);
	else if (name)
		assert_string_equal(object->name, name);
}

/* Whether the event of its creation follows in a turn to come. */
static bool is_unannounced(const struct svc *svc, const struct vbd_object *object)
{
	return object->registry == svc->daemon->connections &&
	       !vbd_list_empty(
		       &VBD_CONTAINER_OF(object, struct vbd_connection, object)->unannounced_link);
}

/* Compare what the events told with the lists. */
static void check_events(const struct svc *svc)
{
	const struct vbd_daemon *daemon = svc->daemon;
	const struct vbd_event_filter all = {0};
	struct mirror mirror = {0};
	const struct vbd_event *event;
	size_t count = 0;

	if (vbd_eventlog_dropped(daemon->eventlog))
		return;
	for (uint64_t at = 0; (event = vbd_eventlog_next(daemon->eventlog, at, &all));
		at = event->seq) {
		if (!event->run)
			mirror_event(&mirror, event, daemon->keeper);
	}
	for (size_t i = 0; i < VBD_ARRAY_LEN(daemon->registries); i++) {
		const struct vbd_registry *registry = &daemon->registries[i];

		vbd_registry_for_each (object, registry) {
			if (is_unannounced(svc, object))
				continue;
			check_mirrored(&mirror, (enum vbd_object_kind)i, object->id, object->name,
				registry->kind->state ? registry->kind->state(object) : NULL);
			count++;
		}
	}
	vbd_list_for_each (link, &daemon->fabric->devices) {
		const struct vbd_device *device = VBD_CONTAINER_OF(link, struct vbd_device, link);

		check_mirrored(&mirror, VBD_KIND_DEVICE, device->id, device->name,
			vbd_device_state_name(device->state));
		count++;
	}
	assert_int_equal(mirror.count, count);
	free(mirror.objects);
}

/* Each work request that was posted has come to one end. */
static void check_work(const struct svc *svc)
{
	struct vbd_totals totals;

	vbd_totals_of(svc->daemon->fabric, &totals);
	for (int op = 0; op < VBD_OP_COUNT; op++) {
		const struct vbd_op_totals *ops = &totals.ops[op];

		if (ops->posted != ops->completed + ops->errors + ops->flushed)
			fail_msg("%s: %llu posted, %llu completed, %llu failed, %llu flushed",
				vbd_op_name((enum vbd_op)op), (unsigned long long)ops->posted,
				(unsigned long long)ops->completed, (unsigned long long)ops->errors,
				(unsigned long long)ops->flushed);
	}
}

void svc_stop(struct svc *svc)
{
	bool was_stopping = svc->daemon && svc->daemon->stopping;

	if (!svc->daemon)
		return;
	check_events(svc);
	check_numbers(svc);
	vbd_daemon_stop(svc->daemon, on_stopped, svc);
	/* The end of the last object has the daemon look whether that was all. */
	SVC_UNTIL(svc, was_stopping ? vbd_daemon_is_drained(svc->daemon) : svc->stopped);
	check_numbers(svc);
	check_nothing_counted(svc);
	svc_turn(svc);
	check_work(svc);
	vbd_daemon_destroy(svc->daemon);
	svc->daemon = NULL;
}

void svc_restart(struct svc *svc)
{
	svc_stop(svc);
	assert_true(svc_start(svc));
}

bool svc_restart_in(struct svc *svc, const char *folder)
{
	svc_stop(svc);
	(void)snprintf(
		svc->config.state_dir, sizeof(svc->config.state_dir), "%.200s/state", folder);
	return svc_start(svc);
}

/* The first loop of a process opens descriptors for all of them (uv_loop_init() in libuv's
 * src/unix/loop.c: a pipe for signals). */
static void open_first_loop(void)
{
	struct vbd_loop *loop = NULL;

	assert_int_equal(vbd_loop_create(&loop, NULL), VBD_OK);
	vbd_loop_destroy(loop);
}

int svc_setup(void **state)
{
	struct svc *svc = calloc(1, sizeof(*svc));

	assert_non_null(svc);
	open_first_loop();
	svc->descriptors = unit_descriptors();
	fake_reset();
	fake_loopback(true);
	vbd_log_setup(VBD_LOG_ERROR, VBD_LOG_TEXT);
	svc->device = fake_device_add("fake0");
	vbd_config_init(&svc->config);
	svc->config.workers = 1;
	svc->config.default_cqe = 1024;
	/* A pool that fills itself would make every number of objects uncertain. */
	assert_true(svc_start(svc));
	*state = svc;
	return 0;
}

int svc_teardown(void **state)
{
	struct svc *svc = *state;

	fake_flushes_withheld(false);
	svc_stop(svc);
	if (fake_misuse())
		fail_msg("%s", fake_misuse());
	assert_int_equal(fake_live_total(), 0);
	assert_int_equal(unit_descriptors(), svc->descriptors);
	fake_reset();
	free(svc);
	return 0;
}

void svc_turn(struct svc *svc)
{
	for (int i = 0; i < 4; i++)
		vbd_loop_turn(svc->daemon->loop, false);
}

void svc_ask_ports(struct svc *svc)
{
	vbd_fabric_forget_recent(svc->daemon->fabric);
	vbd_list_for_each (link, &svc->daemon->fabric->devices)
		SVC_UNTIL(svc, !VBD_CONTAINER_OF(link, struct vbd_device, link)->ports_asked);
}

static struct vbd_conn_params small(void)
{
	struct vbd_conn_params params = vbd_conn_params_default();

	params.qp.sq_depth = 4;
	params.qp.signal_every = 1;
	params.qp.rq_depth = 4;
	params.qp.recv_size_bytes = 64;
	return params;
}

struct vbd_listener_spec svc_listener_spec(void)
{
	return (struct vbd_listener_spec){
		.addr = "0.0.0.0",
		.backlog = 8,
		.accept = VBD_ACCEPT_AUTO,
		.accept_timeout_ms = 20000,
		.params = small(),
		.cm = vbd_cm_params_default(),
	};
}

struct vbd_listener *svc_listen(struct svc *svc, const struct vbd_listener_spec *spec)
{
	struct vbd_listener_spec own = spec ? *spec : svc_listener_spec();
	struct vbd_listener *listener = NULL;

	own.origin = svc->origin;
	assert_int_equal(vbd_listener_create(svc->daemon, &own, &listener, &svc->err), VBD_OK);
	return listener;
}

struct vbd_connection_spec svc_spec_to(const struct vbd_listener *listener)
{
	return (struct vbd_connection_spec){
		.dst_addr = "10.0.0.1",
		.dst_port = listener ? vbd_addr_port(&listener->addr) : 1,
		.timeout_ms = 10000,
		.cm = vbd_cm_params_default(),
		.params = small(),
	};
}

struct vbd_connection *svc_connect(struct svc *svc, const struct vbd_connection_spec *spec)
{
	struct vbd_connection_spec own = *spec;
	struct vbd_connection *connection = NULL;

	own.origin = svc->origin;
	assert_int_equal(vbd_connection_create(svc->daemon, &own, &connection, &svc->err), VBD_OK);
	return connection;
}

struct vbd_connection *svc_newest_of(struct svc *svc, const struct vbd_listener *listener)
{
	struct vbd_connection *newest = NULL;

	vbd_registry_for_each (object, svc->daemon->connections) {
		struct vbd_connection *connection =
			VBD_CONTAINER_OF(object, struct vbd_connection, object);

		if (connection->listener_id == listener->object.id)
			newest = connection;
	}
	return newest;
}

struct svc_pair svc_pair(struct svc *svc, struct vbd_listener *listener)
{
	const struct vbd_connection_spec spec = svc_spec_to(listener);
	struct svc_pair pair = {.active = svc_connect(svc, &spec)};

	SVC_UNTIL(svc, pair.active->conn->state == VBD_CONN_ESTABLISHED);
	pair.passive = svc_newest_of(svc, listener);
	assert_non_null(pair.passive);
	SVC_UNTIL(svc, pair.passive->conn->state == VBD_CONN_ESTABLISHED);
	return pair;
}

void svc_close(struct svc *svc, struct vbd_connection *connection)
{
	vbd_connection_close(connection);
	SVC_UNTIL(svc, connection->object.ended);
}

struct vbd_buffer *svc_buffer(
	struct svc *svc, const char *name, uint64_t size_bytes, unsigned int access)
{
	struct vbd_buffer_spec spec = {
		.origin = svc->origin, .size_bytes = size_bytes, .access = access};
	struct vbd_buffer *buffer = NULL;

	(void)snprintf(spec.name, sizeof(spec.name), "%s", name);
	assert_int_equal(vbd_buffer_create(svc->daemon, &spec, &buffer, &svc->err), VBD_OK);
	SVC_UNTIL(svc, buffer->state != VBD_BUFFER_REGISTERING);
	assert_int_equal(buffer->state, VBD_BUFFER_READY);
	return buffer;
}

unsigned int svc_count_events(struct svc *svc, enum vbd_event_type type)
{
	struct vbd_event_filter filter = {.by_type = true};
	const struct vbd_event *event;
	unsigned int count = 0;
	uint64_t after = 0;

	filter.types[type] = true;
	while ((event = vbd_eventlog_next(svc->daemon->eventlog, after, &filter))) {
		after = event->seq;
		count++;
	}
	return count;
}

void *svc_find(const struct vbd_registry *registry, const char *ref, struct vbd_error *err)
{
	return vbd_registry_find_for(registry, NULL, ref, VBD_TO_USE, err);
}

enum vbd_status svc_send_message(struct vbd_connection *connection, const uint8_t *data,
	uint32_t length_bytes, const uint32_t *imm, uint32_t timeout_ms,
	struct vbd_transfer_record **ret_record, struct vbd_error *err)
{
	const struct vbd_transfer_spec to = {
		.origin = vbd_origin_like(&connection->object), .qp = &connection->conn->qp};

	return vbd_transfer_send(connection->object.registry->daemon, &to, data, length_bytes, imm,
		timeout_ms, ret_record, err);
}

void *svc_find_shared(const struct vbd_registry *registry, const char *ref, struct vbd_error *err)
{
	const struct vbd_shared *shared = svc_find(registry, ref, err);

	return shared ? shared->item : NULL;
}
