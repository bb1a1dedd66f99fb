/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/observe/stats_parts.h"

#include "tests/unit/slabs.h"
#include "tests/unit/svc.h"

#define LOOPBACK_INDEX 1 /* index of "lo", in every network namespace */

struct watcher {
	struct vbd_watch watch;
	unsigned int calls, gone;
};

static void on_watch(struct vbd_watch *watch, bool gone)
{
	struct watcher *watcher = VBD_CONTAINER_OF(watch, struct watcher, watch);

	watcher->calls++;
	watcher->gone += gone;
}

static void watch(struct watcher *watcher, struct vbd_connection *connection)
{
	*watcher = (struct watcher){.watch.cb = on_watch};
	vbd_list_init(&watcher->watch.link);
	vbd_watch_add(&connection->object.watches, &watcher->watch);
}

static const struct vbd_message *message_at(const struct vbd_connection *connection, unsigned int i)
{
	vbd_list_for_each (link, &connection->inbox.messages) {
		if (i-- == 0)
			return VBD_CONTAINER_OF(link, struct vbd_message, link);
	}
	return NULL;
}

static void send_text(struct svc *svc, struct vbd_connection *connection, const char *text)
{
	struct vbd_transfer_record *record = NULL;

	assert_int_equal(svc_send_message(connection, (const uint8_t *)text, (uint32_t)strlen(text),
				 NULL, 10000, &record, &svc->err),
		VBD_OK);
	SVC_UNTIL(svc, vbd_transfer_state_ended(record->transfer.state));
	assert_int_equal(record->transfer.state, VBD_TRANSFER_DONE);
}

/* Creating. */

SVC_TEST(test_services_connections__two_of_one_daemon_connect)
{
	struct vbd_listener *listener = svc_listen(svc, NULL);
	struct vbd_connection_spec spec = svc_spec_to(listener);
	struct vbd_connection *active, *passive;
	struct watcher watcher;
	char id[24];

	(void)snprintf(spec.name, sizeof(spec.name), "first");
	active = svc_connect(svc, &spec);
	watch(&watcher, active);
	assert_int_equal(active->conn->state, VBD_CONN_RESOLVING_ADDR);
	SVC_UNTIL(svc, active->conn->state == VBD_CONN_ESTABLISHED);
	passive = svc_newest_of(svc, listener);
	SVC_UNTIL(svc, passive->conn->state == VBD_CONN_ESTABLISHED);
	assert_int_equal(svc->daemon->connections->open, 2);
	assert_ptr_equal(svc_find(svc->daemon->connections, "first", &svc->err), active);
	(void)snprintf(id, sizeof(id), "%llu", (unsigned long long)active->object.id);
	assert_ptr_equal(svc_find(svc->daemon->connections, id, &svc->err), active);
	assert_null(svc_find(svc->daemon->connections, "4711", &svc->err));
	assert_int_equal(svc->err.status, VBD_E_NOT_FOUND);
	assert_string_equal(active->dst_addr, "10.0.0.1");
	assert_int_equal(passive->listener_id, listener->object.id);
	assert_null(passive->dst_addr);
	assert_int_equal(listener->requests, 1);
	assert_int_equal(listener->accepted, 1);
	assert_int_equal(listener->waiting, 0);
	assert_int_equal(watcher.calls, 3);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_CONNECTION_ESTABLISHED), 2);
	assert_true(svc_count_events(svc, VBD_EVENT_CONNECTION_QP_STATE_CHANGED) >= 6);
	vbd_watch_remove(&watcher.watch);
}

SVC_TEST(test_services_connections__a_taken_name_names_its_holder)
{
	struct vbd_listener *listener = svc_listen(svc, NULL);
	struct vbd_connection_spec spec = svc_spec_to(listener);
	struct vbd_connection *one, *two = NULL;
	struct vbd_error err = {0};

	(void)snprintf(spec.name, sizeof(spec.name), "mine");
	one = svc_connect(svc, &spec);
	assert_int_equal(vbd_connection_create(svc->daemon, &spec, &two, &err), VBD_E_NAME_TAKEN);
	assert_non_null(strstr(err.object, "/v1/connections/"));
	assert_int_equal(svc->daemon->connections->open, 1);
	SVC_UNTIL(svc, one->conn->state == VBD_CONN_ESTABLISHED);
	svc_close(svc, one);
	assert_ptr_equal(svc_find(svc->daemon->connections, "mine", &err), one);
	/* An ended connection keeps its name, which leads to the new one. */
	two = svc_connect(svc, &spec);
	assert_string_equal(two->object.name, "mine");
	assert_string_equal(one->object.name, "mine");
	assert_ptr_equal(svc_find(svc->daemon->connections, "mine", &err), two);
	SVC_UNTIL(svc, two->conn->state == VBD_CONN_ESTABLISHED);
	svc_close(svc, two);
	assert_ptr_equal(svc_find(svc->daemon->connections, "mine", &err), two);
	vbd_object_delete(&two->object);
	SVC_UNTIL(svc, svc_find(svc->daemon->connections, "mine", &err) == one);
}

SVC_TEST(test_services_connections__bad_specs_are_refused_at_once)
{
	struct vbd_connection_spec spec = svc_spec_to(NULL);
	struct vbd_connection *connection = NULL;
	struct vbd_error err = {0};

	(void)snprintf(spec.src_addr, sizeof(spec.src_addr), "not-an-address");
	assert_int_equal(
		vbd_connection_create(svc->daemon, &spec, &connection, &err), VBD_E_BAD_VALUE);
	assert_string_equal(err.pointer, "/src_addr");
	spec = svc_spec_to(NULL);
	(void)snprintf(spec.name, sizeof(spec.name), "no/name");
	memset(&err, 0, sizeof(err));
	assert_int_equal(
		vbd_connection_create(svc->daemon, &spec, &connection, &err), VBD_E_BAD_VALUE);
	fake_device_unplug(svc->device);
	unit_rescan(svc->daemon->fabric);
	SVC_UNTIL(svc, svc->daemon->fabric->calls->under_way == 0);
	svc_turn(svc);
	spec = svc_spec_to(NULL);
	memset(&err, 0, sizeof(err));
	assert_int_equal(
		vbd_connection_create(svc->daemon, &spec, &connection, &err), VBD_E_NO_DEVICE);
	assert_null(connection);
	assert_int_equal(vbd_registry_count(svc->daemon->connections), 0);
}

SVC_TEST(test_services_connections__what_an_address_lacks_is_seen_at_once)
{
	static const struct {
		const char *dst, *src, *device, *pointer;
	} wrong[] = {
		{"fe80::1", "", "", "/dst_addr"},
		{"fe80::1%nope0", "", "", "/dst_addr"},
		{"fd00::1", "fe80::1", "", "/src_addr"},
		{"fd00::1", "10.0.0.1", "", "/src_addr"},
		{"10.0.0.1", "::1", "", "/src_addr"},
		{"10.0.0.1", "", "nope", "/device"},
	};
	struct vbd_connection *connection = NULL;

	for (size_t i = 0; i < VBD_ARRAY_LEN(wrong); i++) {
		struct vbd_connection_spec spec = svc_spec_to(NULL);
		struct vbd_error err = {0};

		strcpy(spec.dst_addr, wrong[i].dst);
		strcpy(spec.src_addr, wrong[i].src);
		strcpy(spec.cm.device, wrong[i].device);
		assert_int_not_equal(
			vbd_connection_create(svc->daemon, &spec, &connection, &err), VBD_OK);
		assert_string_equal(err.pointer, wrong[i].pointer);
	}
	assert_int_equal(vbd_registry_count(svc->daemon->connections), 0);
}

/* No device of the fake serves the loopback interface, unless a GID of its names it. */
SVC_TEST(test_services_connections__the_loopback_without_a_device_is_refused)
{
	static const struct {
		const char *dst, *src, *param;
	} rows[] = {
		{"127.0.0.1", "", "dst_addr"},
		{"127.9.9.9", "", "dst_addr"},
		{"::1", "", "dst_addr"},
		{"10.0.0.1", "127.0.0.1", "src_addr"},
	};
	struct vbd_connection *connection = NULL;

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct vbd_connection_spec spec = svc_spec_to(NULL);
		struct vbd_error err = {0};

		strcpy(spec.dst_addr, rows[i].dst);
		strcpy(spec.src_addr, rows[i].src);
		assert_int_equal(vbd_connection_create(svc->daemon, &spec, &connection, &err),
			VBD_E_ADDRESS_NOT_AVAILABLE);
		assert_string_equal(err.param, rows[i].param);
	}
	assert_int_equal(vbd_registry_count(svc->daemon->connections), 0);
	svc->device->gids[0].ndev_ifindex = LOOPBACK_INDEX;
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct vbd_connection_spec spec = svc_spec_to(NULL);

		strcpy(spec.dst_addr, rows[i].dst);
		strcpy(spec.src_addr, rows[i].src);
		assert_non_null(svc_connect(svc, &spec));
	}
}

/* The rdma cgroup of a process may allow it no device. */
SVC_TEST(test_services_connections__a_device_that_can_not_be_opened_says_why)
{
	static const char *const names[] = {"fake0", ""};

	fake_device_unplug(svc->device);
	unit_rescan(svc->daemon->fabric);
	svc_turn(svc);
	SVC_UNTIL(svc, svc->daemon->fabric->calls->under_way == 0);
	svc_turn(svc);
	svc->device->plugged = true;
	fake_fail_next("ibv_open_device", EAGAIN);
	unit_rescan(svc->daemon->fabric);
	svc_turn(svc);
	for (size_t i = 0; i < VBD_ARRAY_LEN(names); i++) {
		struct vbd_connection_spec spec = svc_spec_to(NULL);
		struct vbd_connection *connection = NULL;
		struct vbd_error err = {0};

		strcpy(spec.cm.device, names[i]);
		assert_int_equal(vbd_connection_create(svc->daemon, &spec, &connection, &err),
			VBD_E_DEVICE_LIMIT);
		assert_string_equal(err.pointer, i ? "" : "/device");
		assert_non_null(strstr(err.text, "ibv_open_device"));
		assert_non_null(strstr(err.text, "tries again"));
	}
}

SVC_TEST(test_services_connections__a_name_of_the_loopback_fails_before_the_cm)
{
	struct vbd_connection_spec spec = svc_spec_to(NULL);
	struct vbd_connection *connection;
	struct vbd_error problem;

	(void)snprintf(spec.dst_addr, sizeof(spec.dst_addr), "localhost");
	connection = svc_connect(svc, &spec);
	SVC_UNTIL(svc, connection->object.ended);
	vbd_object_problem(&connection->object, &problem);
	assert_int_equal(problem.status, VBD_E_RESOURCE_ERROR);
	assert_non_null(strstr(problem.text, "the loopback"));
	assert_string_equal(problem.hint, vbd_status_hint(VBD_E_ADDRESS_NOT_AVAILABLE));
	assert_int_equal(fake_count("rdma_create_id"), svc->daemon->fabric->report_port_count);
}

SVC_TEST(test_services_connections__a_source_port_that_is_taken_says_so)
{
	struct vbd_connection_spec spec = svc_spec_to(NULL);
	struct vbd_connection *connection;
	struct vbd_error problem;

	spec.cm.src_port = 7999;
	fake_fail_next("rdma_resolve_addr", EADDRNOTAVAIL);
	connection = svc_connect(svc, &spec);
	assert_true(connection->object.ended);
	vbd_object_problem(&connection->object, &problem);
	assert_int_equal(problem.status, VBD_E_RESOURCE_ERROR);
	assert_non_null(strstr(problem.text, "port 7999 is taken"));
	assert_string_equal(problem.hint, vbd_status_hint(VBD_E_ADDRESS_IN_USE));
}

SVC_TEST(test_services_connections__what_no_message_carries_is_refused_at_once)
{
	struct vbd_connection_spec spec = svc_spec_to(NULL);
	struct vbd_connection *connection = NULL;
	struct vbd_error err = {0};

	spec.cm.private_data.length_bytes = 57;
	assert_int_equal(
		vbd_connection_create(svc->daemon, &spec, &connection, &err), VBD_E_TOO_LONG);
	assert_string_equal(err.pointer, "/private_data/data");
	assert_int_equal(vbd_registry_count(svc->daemon->connections), 0);
}

/* Replaces the fake device of svc_setup() by one of iWARP. */
static void become_iwarp(struct svc *svc)
{
	fake_device_unplug(svc->device);
	unit_rescan(svc->daemon->fabric);
	svc_turn(svc);
	SVC_UNTIL(svc, svc->daemon->fabric->calls->under_way == 0);
	svc_turn(svc);
	svc->device->ibv.transport_type = IBV_TRANSPORT_IWARP;
	svc->device->plugged = true;
	unit_rescan(svc->daemon->fabric);
	svc_turn(svc);
}

SVC_TEST(test_services_connections__a_named_device_says_what_fits)
{
	struct vbd_connection_spec spec = svc_spec_to(NULL);
	struct vbd_connection *connection = NULL;
	struct vbd_error err = {0};

	become_iwarp(svc);
	spec.cm.private_data.length_bytes = 251;
	assert_int_equal(
		vbd_connection_create(svc->daemon, &spec, &connection, NULL), VBD_E_TOO_LONG);
	strcpy(spec.cm.device, "fake0");
	spec.params.path_mtu_bytes = 512;
	assert_int_equal(
		vbd_connection_create(svc->daemon, &spec, &connection, &err), VBD_E_NOT_SUPPORTED);
	assert_string_equal(err.device, "fake0");
	assert_string_equal(err.capability, "path_mtu");
	spec.params.path_mtu_bytes = 0;
	connection = svc_connect(svc, &spec);
	SVC_UNTIL(svc, connection->object.ended);
	/* The fake RoCE GID is of no use on iWARP, but the request itself was valid. */
	assert_int_not_equal(connection->conn->qp.reason, VBD_REASON_NONE);
}

SVC_TEST(test_services_connections__open_ones_are_limited)
{
	struct vbd_listener *listener;
	struct vbd_connection_spec spec;
	struct vbd_connection *connection = NULL, *other;
	struct vbd_error err = {0};
	struct svc_pair pair;

	svc->config.limits.connections = 2;
	svc_restart(svc);
	listener = svc_listen(svc, NULL);
	pair = svc_pair(svc, listener);
	spec = svc_spec_to(listener);
	assert_int_equal(
		vbd_connection_create(svc->daemon, &spec, &connection, &err), VBD_E_LIMIT_REACHED);
	assert_int_equal(err.limit, 2);
	svc_close(svc, pair.active);
	SVC_UNTIL(svc, pair.passive->object.ended);
	/* The limit has no room for a passive side: the peer whose request comes first is rejected.
	 * Both have their memory registered by call threads, in any order. */
	connection = svc_connect(svc, &spec);
	other = svc_connect(svc, &spec);
	SVC_UNTIL(svc, connection->object.ended || other->object.ended);
	if (!connection->object.ended)
		connection = other;
	assert_int_equal(connection->conn->qp.reason, VBD_REASON_REJECTED);
	assert_true(svc_count_events(svc, VBD_EVENT_SECURITY_CONNECT_REFUSED) >= 1);
	assert_true(listener->rejected >= 1);
}

SVC_TEST(test_services_connections__the_memory_of_receives_is_limited)
{
	struct vbd_connection_spec spec = svc_spec_to(NULL);
	struct vbd_connection *connection = NULL;
	struct vbd_error err = {0};

	svc->config.limits.receives_bytes = 4 * 64 + 100;
	svc_restart(svc);
	connection = svc_connect(svc, &spec);
	assert_int_equal(svc->daemon->qp_receives_bytes, 256);
	assert_int_equal(
		vbd_connection_create(svc->daemon, &spec, &connection, &err), VBD_E_LIMIT_REACHED);
	assert_string_equal(err.pointer, "/qp");
	assert_int_equal(err.limit, 356);
	SVC_UNTIL(svc, connection->object.ended);
	assert_int_equal(svc->daemon->qp_receives_bytes, 0);
}

/* Failing. */

SVC_TEST(test_services_connections__nobody_listening_is_a_rejection)
{
	const struct vbd_connection_spec spec = svc_spec_to(NULL);
	struct vbd_connection *connection = svc_connect(svc, &spec);
	struct vbd_error problem;

	SVC_UNTIL(svc, connection->object.ended);
	assert_int_equal(connection->conn->state, VBD_CONN_FAILED);
	vbd_object_problem(&connection->object, &problem);
	assert_int_equal(problem.status, VBD_E_REJECTED);
	assert_int_equal(problem.source, VBD_SOURCE_CM_EVENT);
	assert_non_null(strstr(problem.text, "nobody listens"));
	assert_string_equal(problem.object, "/v1/connections/1");
	assert_int_equal(svc->daemon->connections_failed, 1);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_CONNECTION_ENDED), 1);
}

SVC_TEST(test_services_connections__a_name_that_is_none_fails_the_connection)
{
	struct vbd_connection_spec spec = svc_spec_to(NULL);
	struct vbd_connection *connection;
	struct vbd_error problem;

	/* An empty label: no resolver sends a query for it. */
	(void)snprintf(spec.dst_addr, sizeof(spec.dst_addr), "no..such.name");
	connection = svc_connect(svc, &spec);
	assert_int_equal(connection->conn->state, VBD_CONN_RESOLVING_ADDR);
	SVC_UNTIL(svc, connection->object.ended);
	assert_int_equal(connection->conn->qp.reason, VBD_REASON_NAME_NOT_RESOLVED);
	vbd_object_problem(&connection->object, &problem);
	assert_int_equal(problem.status, VBD_E_NAME_NOT_RESOLVED);
}

SVC_TEST(test_services_connections__a_name_that_is_no_text_fails_it)
{
	struct vbd_connection_spec spec = svc_spec_to(NULL);
	struct vbd_connection *connection;
	struct vbd_error problem;

	(void)snprintf(spec.dst_addr, sizeof(spec.dst_addr), "\xff.example");
	connection = svc_connect(svc, &spec);
	SVC_UNTIL(svc, connection->object.ended);
	assert_int_equal(connection->conn->qp.reason, VBD_REASON_NAME_NOT_RESOLVED);
	vbd_object_problem(&connection->object, &problem);
	assert_int_equal(problem.status, VBD_E_NAME_NOT_RESOLVED);
}

SVC_TEST(test_services_connections__closing_while_the_name_is_looked_up)
{
	struct vbd_connection_spec spec = svc_spec_to(NULL);
	struct vbd_connection *connection;

	(void)snprintf(spec.dst_addr, sizeof(spec.dst_addr), "localhost");
	connection = svc_connect(svc, &spec);
	vbd_connection_close(connection);
	assert_int_equal(connection->conn->state, VBD_CONN_CLOSED);
	assert_null(connection->resolution);
	svc_turn(svc);
	assert_int_equal(connection->conn->state, VBD_CONN_CLOSED);
	assert_int_equal(fake_count("rdma_create_id"), svc->daemon->fabric->report_port_count);
}

SVC_TEST(test_services_connections__a_silent_peer_ends_at_the_deadline)
{
	struct vbd_connection_spec spec = svc_spec_to(NULL);
	struct vbd_connection *connection;
	struct vbd_error problem;

	fake_loopback(false);
	spec.timeout_ms = 5;
	connection = svc_connect(svc, &spec);
	SVC_UNTIL(svc, connection->object.ended);
	vbd_object_problem(&connection->object, &problem);
	assert_int_equal(problem.status, VBD_E_TIMED_OUT);
	assert_int_equal(problem.raw, 5);
}

SVC_TEST(test_services_connections__a_call_that_fails_is_named_with_what_helps)
{
	const struct vbd_connection_spec spec = svc_spec_to(NULL);
	struct vbd_connection *connection;
	struct vbd_error problem;

	fake_fail_next("rdma_create_id", EMFILE);
	connection = svc_connect(svc, &spec);
	assert_true(connection->object.ended);
	vbd_object_problem(&connection->object, &problem);
	assert_int_equal(problem.status, VBD_E_RESOURCE_ERROR);
	assert_string_equal(problem.hint, vbd_status_hint(VBD_E_FD_LIMIT));
	assert_string_equal(problem.call, "rdma_create_id");
}

SVC_TEST(test_services_connections__a_name_is_looked_up)
{
	struct vbd_connection_spec spec = svc_spec_to(svc_listen(svc, NULL));
	struct vbd_connection *connection;

	svc->device->gids[0].ndev_ifindex = LOOPBACK_INDEX;
	(void)snprintf(spec.dst_addr, sizeof(spec.dst_addr), "localhost");
	(void)snprintf(spec.src_addr, sizeof(spec.src_addr), "10.0.0.1");
	connection = svc_connect(svc, &spec);
	assert_non_null(connection->resolution);
	SVC_UNTIL(svc, connection->conn->state == VBD_CONN_ESTABLISHED);
	assert_null(connection->resolution);
	assert_string_equal(connection->dst_addr, "localhost");
}

SVC_TEST(test_services_connections__a_clean_end_is_a_problem_for_who_waited)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct vbd_error problem;

	svc_close(svc, pair.active);
	SVC_UNTIL(svc, pair.passive->object.ended);
	vbd_object_problem(&pair.active->object, &problem);
	assert_int_equal(problem.status, VBD_E_LOCAL_CLOSE);
	vbd_object_problem(&pair.passive->object, &problem);
	assert_int_equal(problem.status, VBD_E_PEER_DISCONNECT);
	assert_true(problem.text[0] != '\0');
}

SVC_TEST(test_services_connections__rping_needs_reads_and_room_for_its_messages)
{
	static const enum vbd_service services[] = {VBD_SERVICE_RPING, VBD_SERVICE_RPING_CLIENT};
	struct vbd_listener_spec manual = svc_listener_spec();
	const struct vbd_connection_accept how = {.service = VBD_SERVICE_RPING};
	struct vbd_connection *connection = NULL;
	struct vbd_connection *passive;
	struct vbd_listener *listener = NULL;
	struct vbd_connection_spec spec;

	for (size_t i = 0; i < VBD_ARRAY_LEN(services); i++) {
		struct vbd_error errs[3] = {0};

		spec = svc_spec_to(NULL);
		spec.params.qp.service = services[i];
		spec.params.qp.transport = VBD_TRANSPORT_UC;
		assert_int_equal(vbd_connection_create(svc->daemon, &spec, &connection, &errs[0]),
			VBD_E_NOT_SUPPORTED);
		assert_string_equal(errs[0].param, "service");
		spec.params.qp.transport = VBD_TRANSPORT_RC;
		spec.params.qp.recv_size_bytes = 15;
		assert_int_equal(vbd_connection_create(svc->daemon, &spec, &connection, &errs[1]),
			VBD_E_BAD_VALUE);
		assert_string_equal(errs[1].param, "recv_size_bytes");
		manual.params = spec.params;
		assert_int_equal(vbd_listener_create(svc->daemon, &manual, &listener, &errs[2]),
			VBD_E_BAD_VALUE);
	}
	assert_int_equal(vbd_registry_count(svc->daemon->connections), 0);
	assert_int_equal(vbd_registry_count(svc->daemon->listeners), 0);

	manual.params.qp.service = VBD_SERVICE_INBOX;
	manual.accept = VBD_ACCEPT_MANUAL;
	listener = svc_listen(svc, &manual);
	spec = svc_spec_to(listener);
	connection = svc_connect(svc, &spec);
	SVC_UNTIL(svc, listener->waiting == 1);
	passive = svc_newest_of(svc, listener);
	assert_int_equal(vbd_connection_accept(passive, &how, &svc->err), VBD_E_BAD_VALUE);
	assert_int_equal(passive->conn->state, VBD_CONN_REQUESTED);
	assert_int_equal(passive->conn->params.qp.service, VBD_SERVICE_INBOX);
	svc_close(svc, connection);
}

static void send_hello(struct svc *svc, const struct svc_pair *pair)
{
	uint64_t before = pair->passive->inbox.last_seq;
	struct vbd_transfer_record *record;

	assert_int_equal(svc_send_message(pair->active, (const uint8_t *)"hello", 5, NULL, 10000,
				 &record, &svc->err),
		VBD_OK);
	SVC_UNTIL(svc, pair->passive->inbox.last_seq == before + 1);
}

/* As beyond a limit of locked memory, or of the rdma cgroup. */
SVC_TEST(test_services_connections__a_slab_that_fails_ends_only_who_needs_it)
{
	struct vbd_listener_spec spec = svc_listener_spec();
	struct vbd_connection_spec to;
	struct vbd_listener *listener;
	struct vbd_connection *active;
	struct svc_pair pairs[3]; /* a slab has room for three */

	spec.params.qp.recv_size_bytes = 128 << 10;
	listener = svc_listen(svc, &spec);
	for (size_t i = 0; i < VBD_ARRAY_LEN(pairs); i++)
		pairs[i] = svc_pair(svc, listener);
	assert_int_equal(slabs_use(svc->daemon->fabric).slabs, 1);
	fake_fail_next("ibv_reg_mr", ENOMEM);
	to = svc_spec_to(listener);
	active = svc_connect(svc, &to);
	SVC_UNTIL(svc, active->object.ended);
	assert_int_equal(slabs_use(svc->daemon->fabric).slabs, 1);
	for (size_t i = 0; i < VBD_ARRAY_LEN(pairs); i++)
		send_hello(svc, &pairs[i]);
	(void)svc_pair(svc, listener);
	assert_int_equal(slabs_use(svc->daemon->fabric).slabs, 2);
}

/* Creates one connection to the daemon itself while the nth allocation fails, and waits for its
 * end. */
static bool try_pair(struct svc *svc, struct vbd_listener *listener, unsigned int nth)
{
	const struct vbd_connection_spec spec = svc_spec_to(listener);
	struct vbd_connection *connection = NULL;
	unsigned int told = svc_count_events(svc, VBD_EVENT_CONNECTION_CREATED);
	struct vbd_error err = {0};
	bool failed;

	fake_memory_fail_nth(nth);
	if (vbd_connection_create(svc->daemon, &spec, &connection, &err) != VBD_OK) {
		assert_int_equal(err.status, VBD_E_NO_MEMORY);
		/* A connection that could not be created raises no event. */
		assert_int_equal(svc_count_events(svc, VBD_EVENT_CONNECTION_CREATED), told);
	} else {
		SVC_UNTIL(svc, connection->object.ended ||
				       connection->conn->state == VBD_CONN_ESTABLISHED);
	}
	failed = fake_memory_failed();
	fake_memory_fail_nth(0);
	vbd_registry_for_each (object, svc->daemon->connections)
		vbd_connection_close(VBD_CONTAINER_OF(object, struct vbd_connection, object));
	SVC_UNTIL(svc,
		svc->daemon->connections->open == 0 && svc->daemon->fabric->calls->under_way == 0);
	/* A report of one side may be on its way to the other. */
	SVC_UNTIL(svc, fake_live().ids == 1 + svc->daemon->fabric->report_port_count);
	assert_int_equal(svc->daemon->qp_receives_bytes, 0);
	assert_int_equal(slabs_use(svc->daemon->fabric).taken_bytes, 0);
	assert_int_equal(slabs_other_mrs(svc->daemon->fabric), 0);
	assert_int_equal(fake_live().qps, 0);
	assert_int_equal(listener->waiting, 0);
	return failed;
}

SVC_TEST(test_services_connections__each_allocation_failing_leaves_nothing)
{
	struct vbd_listener *listener = svc_listen(svc, NULL);
	unsigned int nth = 1;

	while (try_pair(svc, listener, nth))
		nth++;
	assert_in_range(nth, 12, 100);
}

/* Deleting, and the history. */

SVC_TEST(test_services_connections__deleting_an_open_one_closes_it)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct watcher watcher;

	watch(&watcher, pair.active);
	vbd_object_delete(&pair.active->object);
	SVC_UNTIL(svc, watcher.gone);
	assert_int_equal(watcher.gone, 1);
	SVC_UNTIL(svc, pair.passive->object.ended);
	assert_int_equal(pair.passive->conn->qp.reason, VBD_REASON_PEER_DISCONNECT);
	assert_int_equal(vbd_registry_count(svc->daemon->connections), 1);
}

SVC_TEST(test_services_connections__deleting_an_ended_one_frees_the_record)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));

	svc_close(svc, pair.active);
	SVC_UNTIL(svc, pair.passive->object.ended);
	vbd_object_delete(&pair.active->object);
	vbd_object_delete(&pair.active->object);
	assert_int_equal(vbd_registry_count(svc->daemon->connections), 2);
	svc_turn(svc);
	assert_int_equal(vbd_registry_count(svc->daemon->connections), 1);
	assert_int_equal(svc->daemon->connections->ended.count, 1);
}

SVC_TEST(test_services_connections__the_history_keeps_the_newest)
{
	const struct vbd_connection_spec spec = svc_spec_to(NULL);
	uint64_t expected = 8;

	svc->config.records.ended = 3;
	svc_restart(svc);
	for (int i = 0; i < 10; i++) {
		struct vbd_connection *connection = svc_connect(svc, &spec);

		SVC_UNTIL(svc, connection->object.ended);
	}
	svc_turn(svc);
	assert_int_equal(svc->daemon->connections->ended.count, 3);
	assert_int_equal(vbd_registry_count(svc->daemon->connections), 3);
	vbd_registry_for_each (object, svc->daemon->connections)
		assert_int_equal(object->id, expected++);
	assert_int_equal(svc->daemon->connections_failed, 10);
	/* Deleting one record keeps the count correct. */
	vbd_object_delete(svc_find(svc->daemon->connections, "9", &svc->err));
	svc_turn(svc);
	assert_int_equal(svc->daemon->connections->ended.count, 2);
}

/* The inbox. */

SVC_TEST(test_services_connections__messages_outlive_their_connection)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct watcher watcher;

	watch(&watcher, pair.passive);
	send_text(svc, pair.active, "one");
	send_text(svc, pair.active, "");
	send_text(svc, pair.active, "three");
	SVC_UNTIL(svc, pair.passive->inbox.count == 3);
	assert_int_equal(watcher.calls, 3);
	assert_int_equal(message_at(pair.passive, 0)->seq, 1);
	assert_memory_equal(vbd_message_data(message_at(pair.passive, 0)), "one", 3);
	assert_non_null(message_at(pair.passive, 0)->slot);
	svc_close(svc, pair.active);
	SVC_UNTIL(svc, pair.passive->object.ended);
	assert_int_equal(pair.passive->inbox.count, 3);
	assert_null(message_at(pair.passive, 0)->slot);
	assert_memory_equal(vbd_message_data(message_at(pair.passive, 0)), "one", 3);
	assert_int_equal(message_at(pair.passive, 1)->received.length_bytes, 0);
	assert_memory_equal(vbd_message_data(message_at(pair.passive, 2)), "three", 5);
	assert_int_equal(vbd_inbox_delete(&pair.passive->inbox, 2, &svc->err), VBD_OK);
	assert_int_equal(pair.passive->inbox.count, 1);
	assert_int_equal(message_at(pair.passive, 0)->seq, 3);
	vbd_watch_remove(&watcher.watch);
}

/* Connect, send @texts, and end the connection; nobody reads the messages. */
static struct vbd_connection *send_and_leave(struct svc *svc, struct vbd_listener *listener,
	const char *const *texts, unsigned int count)
{
	struct svc_pair pair = svc_pair(svc, listener);

	for (unsigned int i = 0; i < count; i++)
		send_text(svc, pair.active, texts[i]);
	SVC_UNTIL(svc, pair.passive->inbox.count == count);
	svc_close(svc, pair.active);
	SVC_UNTIL(svc, pair.passive->object.ended);
	return pair.passive;
}

SVC_TEST(test_services_connections__unread_messages_of_ended_ones_are_limited)
{
	static const char *const texts[] = {"one", "two", "three"};
	const uint64_t limit_bytes = 7 * (sizeof(struct vbd_message) + 8);
	struct vbd_connection *ended[10];
	struct vbd_listener *listener;
	unsigned int kept = 0;

	svc->config.records.messages_bytes = limit_bytes;
	svc_restart(svc);
	listener = svc_listen(svc, NULL);
	for (unsigned int i = 0; i < VBD_ARRAY_LEN(ended); i++) {
		ended[i] = send_and_leave(svc, listener, texts, VBD_ARRAY_LEN(texts));
		assert_true(svc->daemon->kept_messages_bytes > 0);
		assert_true(svc->daemon->kept_messages_bytes <= limit_bytes);
	}
	for (unsigned int i = 0; i < VBD_ARRAY_LEN(ended); i++)
		kept += ended[i]->inbox.count;
	assert_int_equal(kept, 7);
	assert_int_equal(ended[6]->inbox.count, 0);
	assert_int_equal(ended[6]->inbox.dropped, 3);
	assert_int_equal(ended[7]->inbox.count, 1);
	assert_memory_equal(vbd_message_data(message_at(ended[7], 0)), "three", 5);
	assert_int_equal(ended[9]->inbox.count, 3);
	assert_int_equal(svc->daemon->messages_dropped, 30 - 7);
	assert_true(svc_count_events(svc, VBD_EVENT_CONNECTION_MESSAGE_DROPPED) > 0);
	/* Messages that are read, and records that are deleted, make room. */
	assert_int_equal(vbd_inbox_delete(&ended[9]->inbox, 3, &svc->err), VBD_OK);
	vbd_object_delete(&ended[8]->object);
	vbd_object_delete(&ended[7]->object);
	svc_turn(svc);
	assert_int_equal(svc->daemon->kept_messages_bytes, 0);
	assert_true(vbd_list_empty(&svc->daemon->kept_inboxes));
}

SVC_TEST(test_services_connections__of_too_many_messages_the_newest_stay)
{
	static const char *const texts[] = {"one", "two", "three"};
	struct vbd_connection *connection;

	svc->config.records.messages_bytes = sizeof(struct vbd_message) + 5;
	svc_restart(svc);
	connection = send_and_leave(svc, svc_listen(svc, NULL), texts, VBD_ARRAY_LEN(texts));
	assert_int_equal(connection->inbox.count, 1);
	assert_int_equal(connection->inbox.dropped, 2);
	assert_int_equal(message_at(connection, 0)->seq, 3);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_CONNECTION_MESSAGE_DROPPED), 1);
}

SVC_TEST(test_services_connections__a_full_inbox_holds_the_sender_back)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct vbd_transfer_record *record = NULL;

	for (int i = 0; i < 4; i++)
		send_text(svc, pair.active, "full");
	assert_int_equal(svc_send_message(pair.active, (const uint8_t *)"more", 4, NULL, 10000,
				 &record, &svc->err),
		VBD_OK);
	SVC_UNTIL(svc, record->transfer.state == VBD_TRANSFER_RUNNING);
	SVC_UNTIL(svc, pair.passive->inbox.count == 4);
	assert_int_equal(record->transfer.state, VBD_TRANSFER_RUNNING);
	assert_int_equal(vbd_inbox_delete(&pair.passive->inbox, 1, &svc->err), VBD_OK);
	SVC_UNTIL(svc, vbd_transfer_state_ended(record->transfer.state));
	assert_int_equal(record->transfer.state, VBD_TRANSFER_DONE);
	SVC_UNTIL(svc, pair.passive->inbox.last_seq == 5);
	assert_int_equal(pair.passive->inbox.count, 4);
}

SVC_TEST(test_services_connections__only_what_came_can_be_deleted)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct vbd_error err = {0};

	send_text(svc, pair.active, "one");
	SVC_UNTIL(svc, pair.passive->inbox.count == 1);
	assert_int_equal(vbd_inbox_delete(&pair.passive->inbox, 2, &err), VBD_E_OUT_OF_RANGE);
	assert_string_equal(err.pointer, "through");
	assert_int_equal(pair.passive->inbox.count, 1);
	assert_int_equal(vbd_inbox_delete(&pair.passive->inbox, 1, &svc->err), VBD_OK);
	assert_int_equal(vbd_inbox_delete(&pair.passive->inbox, 1, &svc->err), VBD_OK);
	assert_int_equal(vbd_inbox_delete(&pair.passive->inbox, 0, &svc->err), VBD_OK);
	assert_int_equal(pair.passive->inbox.count, 0);
}

SVC_TEST(test_services_connections__what_it_moved_stays_in_the_totals)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct vbd_totals totals;

	send_text(svc, pair.active, "twelve bytes");
	SVC_UNTIL(svc, pair.passive->inbox.count == 1);
	vbd_totals_of(svc->daemon->fabric, &totals);
	assert_int_equal(totals.ops[VBD_OP_SEND].completed, 1);
	assert_int_equal(totals.ops[VBD_OP_SEND].bytes, 12);
	assert_int_equal(totals.ops[VBD_OP_RECV].completed, 1);
	svc_close(svc, pair.active);
	SVC_UNTIL(svc, pair.passive->object.ended);
	vbd_object_delete(&pair.active->object);
	vbd_object_delete(&pair.passive->object);
	svc_turn(svc);
	vbd_totals_of(svc->daemon->fabric, &totals);
	assert_int_equal(totals.ops[VBD_OP_SEND].completed, 1);
	assert_int_equal(totals.ops[VBD_OP_RECV].bytes, 12);
	/* Each receive that was posted has ended, also those that control posted. */
	assert_int_equal(totals.ops[VBD_OP_RECV].posted,
		totals.ops[VBD_OP_RECV].completed + totals.ops[VBD_OP_RECV].flushed);
}

static uint64_t count_in_all_states(const struct vbd_daemon *daemon)
{
	uint64_t count = 0;

	for (enum vbd_conn_state state = 0; state < VBD_CONN_STATE_COUNT; state++)
		count += daemon->connections_in_state[state];
	return count;
}

SVC_TEST(test_services_connections__are_counted_in_their_states)
{
	struct vbd_listener *listener = svc_listen(svc, NULL);
	struct vbd_connection_spec spec = svc_spec_to(listener);
	struct svc_pair pair = svc_pair(svc, listener);
	const uint64_t *counts = svc->daemon->connections_in_state;
	struct vbd_connection *connecting = svc_connect(svc, &spec);

	assert_int_equal(counts[VBD_CONN_ESTABLISHED], 2);
	assert_int_equal(counts[connecting->conn->state], 1);
	SVC_UNTIL(svc, counts[VBD_CONN_ESTABLISHED] == 4);
	assert_int_equal(count_in_all_states(svc->daemon), 4);
	svc_close(svc, pair.active);
	SVC_UNTIL(svc, pair.passive->object.ended);
	assert_int_equal(counts[VBD_CONN_ESTABLISHED], 2);
	assert_int_equal(count_in_all_states(svc->daemon), 2);
}

/* Two echoes send each other a message for ever, so their CQ always has completions. */
static void bounce(struct svc *svc, struct vbd_listener *listener)
{
	struct vbd_connection_spec spec = svc_spec_to(listener);
	struct vbd_connection *connection;

	spec.params.qp.service = VBD_SERVICE_ECHO;
	connection = svc_connect(svc, &spec);
	SVC_UNTIL(svc, connection->conn->state == VBD_CONN_ESTABLISHED);
	send_text(svc, connection, "ball");
}

SVC_TEST(test_services_connections__a_forced_end_waits_for_no_traffic_of_others)
{
	struct vbd_listener_spec spec = svc_listener_spec();
	struct vbd_listener *echo;
	struct svc_pair pair;

	svc->config.drain_timeout_ms = 20;
	svc_restart(svc);
	spec.params.qp.service = VBD_SERVICE_ECHO;
	echo = svc_listen(svc, &spec);
	pair = svc_pair(svc, svc_listen(svc, NULL));
	bounce(svc, echo);
	fake_flushes_withheld(true);
	svc_close(svc, pair.active);
	SVC_UNTIL(svc, pair.passive->object.ended);
	fake_flushes_withheld(false);
	assert_int_equal(fake_live().cqs, 1);
}

/* Devices. */

SVC_TEST(test_services_connections__a_removed_device_ends_them)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));

	fake_device_unplug(svc->device);
	unit_rescan(svc->daemon->fabric);
	SVC_UNTIL(svc, svc->daemon->fabric->calls->under_way == 0);
	svc_turn(svc);
	SVC_UNTIL(svc, pair.active->object.ended && pair.passive->object.ended);
	assert_int_equal(pair.active->conn->qp.reason, VBD_REASON_DEVICE_REMOVED);
	SVC_UNTIL(
		svc, fake_device_let_go(svc->device) && svc->daemon->fabric->calls->under_way == 0);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_DEVICE_REMOVED), 1);
}

SVC_TEST(test_services_connections__bytes_are_counted_either_way)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));

	send_text(svc, pair.active, "seven..");
	SVC_UNTIL(svc, pair.passive->inbox.count == 1);
	assert_int_equal(vbd_connection_moved_bytes(pair.active), 7);
	assert_int_equal(vbd_connection_moved_bytes(pair.passive), 7);
	svc_close(svc, pair.active);
	assert_int_equal(vbd_connection_moved_bytes(pair.active), 7);
}

static unsigned int count_open(const struct svc *svc)
{
	unsigned int count = 0;

	vbd_registry_for_each (object, svc->daemon->connections) {
		const struct vbd_connection *connection =
			VBD_CONTAINER_OF(object, struct vbd_connection, object);

		count += !vbd_conn_state_terminal(connection->conn->state);
		assert_int_equal(object->ended, vbd_conn_state_terminal(connection->conn->state));
	}
	return count;
}

SVC_TEST(test_services_connections__the_open_ones_are_counted_for_their_owner)
{
	struct vbd_caller *alice = vbd_callers_get(&svc->daemon->callers, "alice");
	struct vbd_connection_spec nowhere = svc_spec_to(NULL);
	struct vbd_connection *failed;
	struct svc_pair pair;

	alice->role = VBD_ROLE_OPERATE;
	svc->origin.caller = alice;
	pair = svc_pair(svc, svc_listen(svc, NULL));
	svc->origin.caller = NULL;
	failed = svc_connect(svc, &nowhere);
	assert_int_equal(vbd_tally_seen(svc->daemon->connections, alice).open, 3);
	SVC_UNTIL(svc, failed->object.ended);
	assert_int_equal(vbd_tally_seen(svc->daemon->connections, alice).open, 2);
	assert_int_equal(vbd_tally_seen(svc->daemon->connections, alice).objects, 3);
	assert_int_equal(count_open(svc), 2);
	svc_close(svc, pair.active);
	SVC_UNTIL(svc, pair.passive->object.ended);
	assert_int_equal(vbd_tally_seen(svc->daemon->connections, alice).open, 0);
	assert_int_equal(vbd_tally_seen(svc->daemon->connections, alice).objects, 3);
	assert_int_equal(vbd_tally_seen(svc->daemon->connections, NULL).objects, 3);
	assert_int_equal(count_open(svc), 0);
	vbd_caller_unref(alice);
}

SVC_TEST(test_services_connections__a_peer_that_the_device_refused_is_told_of)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct svc_pair other = svc_pair(svc, svc_listen(svc, NULL));

	fake_qp_to_err(pair.passive->conn->qp.ibv_qp);
	SVC_UNTIL(svc, pair.passive->object.ended && pair.active->object.ended);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_SECURITY_PEER_REFUSED), 1);
	assert_int_equal(svc->daemon->peer_refusals[VBD_REFUSAL_QP_STATE], 1);
	svc_close(svc, other.active);
	SVC_UNTIL(svc, other.passive->object.ended);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_SECURITY_PEER_REFUSED), 1);
}
