/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/connections/listeners.h"

#include "tests/unit/openapi.h"
#include "tests/unit/svc.h"

#include <arpa/inet.h>

static struct vbd_listener *listen_with(struct svc *svc, enum vbd_accept accept)
{
	struct vbd_listener_spec spec = svc_listener_spec();

	spec.accept = accept;
	return svc_listen(svc, &spec);
}

/* A connection whose request waits for a decision. */
static struct vbd_connection *request(struct svc *svc, struct vbd_listener *listener)
{
	const struct vbd_connection_spec spec = svc_spec_to(listener);
	uint64_t before = listener->requests;

	(void)svc_connect(svc, &spec);
	SVC_UNTIL(svc, listener->requests > before);
	return svc_newest_of(svc, listener);
}

TEST(test_services_listeners__names_are_those_of_the_contract)
{
	struct openapi_enum contract;

	openapi_read_property_enum("ListenerCreate", "accept", &contract);
	assert_int_equal(contract.count, VBD_ACCEPT_COUNT);
	for (unsigned int i = 0; i < VBD_ACCEPT_COUNT; i++)
		assert_true(openapi_enum_has(&contract, vbd_accept_name((enum vbd_accept)i)));
	openapi_read_property_enum("Listener", "state", &contract);
	assert_int_equal(contract.count, VBD_LISTENER_STATE_COUNT);
	for (unsigned int i = 0; i < VBD_LISTENER_STATE_COUNT; i++)
		assert_true(openapi_enum_has(
			&contract, vbd_listener_state_name((enum vbd_listener_state)i)));
}

SVC_TEST(test_services_listeners__a_port_is_picked_and_shown)
{
	struct vbd_listener_spec spec = svc_listener_spec();
	struct vbd_listener *listener;

	(void)snprintf(spec.name, sizeof(spec.name), "door");
	listener = svc_listen(svc, &spec);
	assert_int_not_equal(vbd_addr_port(&listener->addr), 0);
	assert_int_equal(listener->state, VBD_LISTENER_LISTENING);
	assert_ptr_equal(svc_find(svc->daemon->listeners, "door", &svc->err), listener);
	assert_ptr_equal(svc_find(svc->daemon->listeners, "1", &svc->err), listener);
	assert_null(svc_find(svc->daemon->listeners, "window", &svc->err));
	assert_int_equal(svc_count_events(svc, VBD_EVENT_LISTENER_CREATED), 1);
}

SVC_TEST(test_services_listeners__what_can_not_listen_leaves_nothing)
{
	struct vbd_listener_spec spec = svc_listener_spec();
	struct vbd_listener *listener = svc_listen(svc, NULL);
	struct vbd_listener *other = NULL;
	struct vbd_error err = {0};
	char port[16];

	spec.port = vbd_addr_port(&listener->addr);
	assert_int_equal(
		vbd_listener_create(svc->daemon, &spec, &other, &err), VBD_E_ADDRESS_IN_USE);
	(void)snprintf(port, sizeof(port), "port %u", spec.port);
	assert_non_null(strstr(err.text, port));
	assert_string_equal(err.call, "rdma_bind_addr");

	memset(&err, 0, sizeof(err));
	spec.port = 0;
	(void)snprintf(spec.addr, sizeof(spec.addr), "10.9.9.9");
	assert_int_equal(
		vbd_listener_create(svc->daemon, &spec, &other, &err), VBD_E_ADDRESS_NOT_AVAILABLE);

	memset(&err, 0, sizeof(err));
	(void)snprintf(spec.addr, sizeof(spec.addr), "somewhere");
	assert_int_equal(vbd_listener_create(svc->daemon, &spec, &other, &err), VBD_E_BAD_VALUE);
	assert_string_equal(err.pointer, "/addr");
	assert_null(other);
	assert_int_equal(vbd_registry_count(svc->daemon->listeners), 1);
	SVC_UNTIL(svc, fake_live().ids == 1 + svc->daemon->fabric->report_port_count);
}

SVC_TEST(test_services_listeners__they_are_limited_and_named_once)
{
	struct vbd_listener_spec spec = svc_listener_spec();
	struct vbd_listener *listener = NULL;
	struct vbd_error err = {0};

	svc->config.limits.listeners = 2;
	svc_restart(svc);
	(void)snprintf(spec.name, sizeof(spec.name), "door");
	(void)svc_listen(svc, &spec);
	assert_int_equal(
		vbd_listener_create(svc->daemon, &spec, &listener, &err), VBD_E_NAME_TAKEN);
	assert_string_equal(err.object, "/v1/listeners/1");
	spec.name[0] = '\0';
	listener = svc_listen(svc, &spec);
	memset(&err, 0, sizeof(err));
	assert_int_equal(
		vbd_listener_create(svc->daemon, &spec, &listener, &err), VBD_E_LIMIT_REACHED);
	assert_int_equal(err.limit, 2);
	vbd_listener_delete(listener);
	(void)svc_listen(svc, &spec);
}

/* Policies. */

SVC_TEST(test_services_listeners__reject_makes_no_connection)
{
	struct vbd_listener *listener = listen_with(svc, VBD_ACCEPT_REJECT);
	const struct vbd_connection_spec spec = svc_spec_to(listener);
	struct vbd_connection *connection = svc_connect(svc, &spec);

	SVC_UNTIL(svc, connection->object.ended);
	assert_int_equal(connection->conn->qp.reason, VBD_REASON_REJECTED);
	assert_int_equal(connection->conn->qp.first_error.error.raw, 28);
	assert_int_equal(listener->requests, 1);
	assert_int_equal(listener->rejected, 1);
	assert_null(svc_newest_of(svc, listener));
}

SVC_TEST(test_services_listeners__manual_waits_for_a_decision)
{
	const struct vbd_connection_accept how = {.name = "guest", .service = VBD_SERVICE_ECHO};
	struct vbd_listener *listener = listen_with(svc, VBD_ACCEPT_MANUAL);
	struct vbd_connection *one = request(svc, listener);
	struct vbd_connection *two = request(svc, listener);
	struct vbd_error err = {0};

	assert_int_equal(listener->waiting, 2);
	assert_int_equal(one->conn->state, VBD_CONN_REQUESTED);
	assert_int_equal(vbd_connection_accept(one, &how, &svc->err), VBD_OK);
	assert_int_equal(listener->waiting, 1);
	assert_int_equal(listener->accepted, 1);
	SVC_UNTIL(svc, one->conn->state == VBD_CONN_ESTABLISHED);
	assert_int_equal(one->conn->params.qp.service, VBD_SERVICE_ECHO);
	assert_ptr_equal(svc_find(svc->daemon->connections, "guest", &svc->err), one);
	/* The name is taken now, and the request still waits. */
	assert_int_equal(vbd_connection_accept(two, &how, &err), VBD_E_NAME_TAKEN);
	assert_int_equal(two->conn->state, VBD_CONN_REQUESTED);
	assert_int_equal(vbd_connection_reject(two, NULL, false, &svc->err), VBD_OK);
	assert_int_equal(listener->waiting, 0);
	assert_int_equal(listener->rejected, 1);
	assert_true(two->object.ended);
	memset(&err, 0, sizeof(err));
	assert_int_equal(vbd_connection_accept(two, &how, &err), VBD_E_WRONG_STATE);
	assert_int_equal(vbd_connection_reject(one, NULL, false, NULL), VBD_E_WRONG_STATE);
}

/* By structure, not by time: the registrations stand still, and everything else goes on. */
SVC_TEST(test_services_listeners__accepting_registers_nothing_on_the_control_thread)
{
	struct vbd_listener_spec spec = svc_listener_spec();
	struct vbd_connection *accepted[64];
	struct vbd_listener *listener;

	spec.accept = VBD_ACCEPT_AUTO;
	spec.params.qp.recv_size_bytes = 1 << 20;
	listener = svc_listen(svc, &spec);
	fake_block("ibv_reg_mr");
	for (size_t i = 0; i < VBD_ARRAY_LEN(accepted); i++) {
		(void)fake_connect_request(listener->cm.cm_id, svc->device);
		SVC_UNTIL(svc, listener->requests == i + 1);
		accepted[i] = svc_newest_of(svc, listener);
		assert_int_equal(accepted[i]->conn->state, VBD_CONN_ACCEPTING);
		assert_null(accepted[i]->conn->qp.ibv_qp);
	}
	assert_int_equal(listener->accepted, VBD_ARRAY_LEN(accepted));
	fake_unblock();
	for (size_t i = 0; i < VBD_ARRAY_LEN(accepted); i++)
		SVC_UNTIL(svc, fake_id_asked(accepted[i]->conn->cm_id).accepted);
	assert_int_equal(fake_on_control(), 0);
	assert_int_equal(fake_live().mrs, VBD_ARRAY_LEN(accepted));
}

SVC_TEST(test_services_listeners__an_answer_has_private_data_of_its_own)
{
	struct vbd_connection_accept how = {.service = -1, .private_data_seen = true};
	struct vbd_private_data why = {.length_bytes = 149};
	struct vbd_listener_spec spec = svc_listener_spec();
	struct vbd_connection *one, *two;
	struct vbd_listener *listener;
	struct vbd_error err = {0};

	spec.accept = VBD_ACCEPT_MANUAL;
	spec.cm.private_data = (struct vbd_private_data){.length_bytes = 1, .bytes = {'l'}};
	listener = svc_listen(svc, &spec);
	one = request(svc, listener);
	two = request(svc, listener);
	how.private_data.length_bytes = 197;
	for (how.service = -1; how.service <= VBD_SERVICE_SINK; how.service++) {
		err = (struct vbd_error){0};
		assert_int_equal(vbd_connection_accept(one, &how, &err), VBD_E_TOO_LONG);
		assert_string_equal(err.pointer, "/private_data/data");
	}
	how.service = -1;
	assert_int_equal(vbd_connection_reject(two, &why, false, NULL), VBD_E_TOO_LONG);
	assert_int_equal(listener->waiting, 2);
	how.private_data = (struct vbd_private_data){.length_bytes = 1, .bytes = {'o'}};
	assert_int_equal(vbd_connection_accept(one, &how, &svc->err), VBD_OK);
	SVC_UNTIL(svc, fake_id_asked(one->conn->cm_id).accepted);
	assert_int_equal(fake_id_asked(one->conn->cm_id).private_data[0], 'o');
	assert_int_equal(one->conn->cm.private_data.message, VBD_CM_MESSAGE_REPLY);
	how.private_data_seen = false;
	how.private_data.length_bytes = 0;
	assert_int_equal(vbd_connection_accept(two, &how, &svc->err), VBD_OK);
	SVC_UNTIL(svc, fake_id_asked(two->conn->cm_id).accepted);
	assert_int_equal(fake_id_asked(two->conn->cm_id).private_data[0], 'l');
}

SVC_TEST(test_services_listeners__criteria_that_can_not_be_met_are_refused)
{
	struct vbd_listener *listener = NULL;
	struct vbd_listener_spec spec = svc_listener_spec();
	struct vbd_error err = {0};

	spec.cm.v6_only = VBD_CHOICE_YES;
	assert_int_equal(vbd_listener_create(svc->daemon, &spec, &listener, &err), VBD_E_BAD_VALUE);
	assert_string_equal(err.pointer, "/v6_only");
	spec = svc_listener_spec();
	strcpy(spec.addr, "fe80::1");
	assert_int_equal(vbd_listener_create(svc->daemon, &spec, &listener, NULL), VBD_E_BAD_VALUE);
	spec = svc_listener_spec();
	strcpy(spec.cm.device, "nope");
	assert_int_equal(vbd_listener_create(svc->daemon, &spec, &listener, NULL), VBD_E_NO_DEVICE);
	spec = svc_listener_spec();
	spec.cm.private_data.length_bytes = 197;
	assert_int_equal(vbd_listener_create(svc->daemon, &spec, &listener, NULL), VBD_E_TOO_LONG);
	assert_int_equal(vbd_registry_count(svc->daemon->listeners), 0);
	assert_int_equal(fake_count("rdma_create_id"), svc->daemon->fabric->report_port_count);
}

SVC_TEST(test_services_listeners__an_accept_that_fails_waits_no_more)
{
	static const char *const calls[] = {
		"rdma_set_option", "ibv_reg_mr", "ibv_create_qp", "ibv_modify_qp", "rdma_accept"};
	const struct vbd_connection_accept how = {.service = -1};
	struct vbd_listener_spec spec = svc_listener_spec();
	struct vbd_listener *listener;

	/* Receives of this size have a slab of their own, so each accept registers memory. */
	spec.params.qp.recv_size_bytes = 1 << 20;
	spec.accept = VBD_ACCEPT_MANUAL;
	listener = svc_listen(svc, &spec);
	for (size_t i = 0; i < VBD_ARRAY_LEN(calls); i++) {
		struct vbd_connection *connection = request(svc, listener);

		fake_fail_next(calls[i], EIO);
		assert_int_equal(vbd_connection_accept(connection, &how, &svc->err), VBD_OK);
		SVC_UNTIL(svc, connection->object.ended);
		assert_int_equal(connection->conn->state, VBD_CONN_FAILED);
		assert_string_equal(connection->conn->qp.first_error.error.call, calls[i]);
		/* The peer's end must not make the next call that is to fail. */
		SVC_UNTIL(svc, svc->daemon->connections->open == 0);
		assert_int_equal(listener->waiting, 0);
		assert_int_equal(listener->requests, listener->accepted + listener->rejected);
	}
}

SVC_TEST(test_services_listeners__an_undecided_request_is_rejected_in_time)
{
	struct vbd_listener *listener = listen_with(svc, VBD_ACCEPT_MANUAL);
	struct vbd_listener_rules rules;
	struct vbd_connection *connection;

	rules = vbd_listener_rules(listener);
	rules.accept_timeout_ms = 5;
	assert_int_equal(vbd_listener_change(listener, &rules, NULL), VBD_OK);
	connection = request(svc, listener);
	SVC_UNTIL(svc, connection->object.ended);
	assert_int_equal(connection->conn->qp.reason, VBD_REASON_TIMED_OUT);
	assert_int_equal(listener->waiting, 0);
	assert_int_equal(listener->rejected, 1);
	assert_int_equal(fake_count("rdma_reject"), 1);
}

SVC_TEST(test_services_listeners__a_new_policy_is_for_later_requests)
{
	struct vbd_listener *listener = listen_with(svc, VBD_ACCEPT_MANUAL);
	struct vbd_connection *waits = request(svc, listener);
	struct vbd_listener_rules rules = vbd_listener_rules(listener);
	struct vbd_connection *accepted;

	rules.accept = VBD_ACCEPT_AUTO;
	assert_int_equal(vbd_listener_change(listener, &rules, NULL), VBD_OK);
	accepted = request(svc, listener);
	SVC_UNTIL(svc, accepted->conn->state == VBD_CONN_ESTABLISHED);
	assert_int_equal(waits->conn->state, VBD_CONN_REQUESTED);
	assert_int_equal(listener->waiting, 1);
}

/* Limits on peers. */

static struct vbd_listener *listen_behind(struct svc *svc, const struct vbd_gate_rules *rules)
{
	struct vbd_listener_spec spec = svc_listener_spec();

	spec.gate = *rules;
	return svc_listen(svc, &spec);
}

/* Connect, and wait until the connection is established or rejected. */
static struct vbd_connection *knock(struct svc *svc, const struct vbd_listener *listener)
{
	const struct vbd_connection_spec spec = svc_spec_to(listener);
	struct vbd_connection *connection = svc_connect(svc, &spec);

	SVC_UNTIL(svc, connection->object.ended || connection->conn->state == VBD_CONN_ESTABLISHED);
	return connection;
}

static void assert_refused(struct svc *svc, const struct vbd_listener *listener, const char *reason)
{
	const struct vbd_connection *connection = knock(svc, listener);
	const struct vbd_private_data *said = &connection->conn->peer_private_data;

	assert_int_equal(connection->conn->qp.reason, VBD_REASON_REJECTED);
	assert_int_equal(vbd_private_data_shown_bytes(said), strlen(reason));
	assert_memory_equal(said->bytes, reason, strlen(reason));
}

SVC_TEST(test_services_listeners__connections_beyond_a_limit_are_rejected)
{
	struct vbd_listener *listener =
		listen_behind(svc, &(const struct vbd_gate_rules){.max_connections = 2});
	struct vbd_connection *first = knock(svc, listener);
	struct vbd_listener_rules rules = vbd_listener_rules(listener);

	(void)knock(svc, listener);
	assert_refused(svc, listener, "verbsd: max_connections");
	assert_int_equal(listener->gate.connections, 2);
	rules.gate.max_per_peer = 2;
	assert_int_equal(vbd_listener_change(listener, &rules, NULL), VBD_OK);
	assert_refused(svc, listener, "verbsd: max_per_peer");
	assert_int_equal(listener->requests, 4);
	assert_int_equal(listener->rejected, 2);
	assert_int_equal(listener->refused[VBD_CONNECT_REFUSAL_CONNECTIONS], 1);
	assert_int_equal(listener->refused[VBD_CONNECT_REFUSAL_PER_PEER], 1);
	/* A connection that ends makes room. */
	svc_close(svc, first);
	SVC_UNTIL(svc, listener->gate.connections == 1);
	assert_int_equal(knock(svc, listener)->conn->state, VBD_CONN_ESTABLISHED);
	vbd_listener_delete(listener);
}

SVC_TEST(test_services_listeners__requests_that_wait_count_as_connections)
{
	struct vbd_listener_spec spec = svc_listener_spec();
	struct vbd_listener *listener;
	struct vbd_connection *waits;

	spec.accept = VBD_ACCEPT_MANUAL;
	spec.gate.max_connections = 1;
	listener = svc_listen(svc, &spec);
	waits = request(svc, listener);
	assert_refused(svc, listener, "verbsd: max_connections");
	assert_int_equal(vbd_connection_reject(waits, NULL, false, &svc->err), VBD_OK);
	assert_int_equal(listener->gate.connections, 0);
}

SVC_TEST(test_services_listeners__strangers_are_rejected)
{
	struct vbd_gate_rules gate = {.allow_count = 1};
	struct vbd_listener_rules rules;
	struct vbd_listener *listener;

	assert_true(vbd_gate_net_parse("192.0.2.0/24", &gate.allow[0]));
	listener = listen_behind(svc, &gate);
	assert_refused(svc, listener, "verbsd: not_allowed");
	rules = vbd_listener_rules(listener);
	assert_true(vbd_gate_net_parse("10.0.0.0/8", &rules.gate.allow[0]));
	assert_int_equal(vbd_listener_change(listener, &rules, NULL), VBD_OK);
	assert_int_equal(knock(svc, listener)->conn->state, VBD_CONN_ESTABLISHED);
}

/* A peer whose port carries @mtu; the daemon knows that its own carries 1024. */
static struct vbd_connection *knock_with_mtu(
	struct svc *svc, const struct vbd_listener *listener, enum ibv_mtu mtu)
{
	svc->device->port.active_mtu = mtu;
	return knock(svc, listener);
}

/* The kernel's CM takes it, writes pass, and the first large read gets no answer. */
SVC_TEST(test_services_listeners__a_larger_path_mtu_than_the_port_carries_is_refused)
{
	struct vbd_listener *listener = svc_listen(svc, NULL);
	const struct vbd_connection *connection = knock_with_mtu(svc, listener, IBV_MTU_4096);
	const struct vbd_error *error = &connection->conn->qp.first_error.error;

	assert_int_equal(connection->conn->qp.reason, VBD_REASON_REJECTED);
	assert_non_null(strstr(error->text, "path MTU"));
	assert_non_null(strstr(error->hint, "MTU"));
	assert_int_equal(listener->refused[VBD_CONNECT_REFUSAL_PATH_MTU], 1);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_SECURITY_CONNECT_REFUSED), 1);
}

SVC_TEST(test_services_listeners__a_path_mtu_that_fits_is_taken)
{
	struct vbd_listener_spec spec = svc_listener_spec();

	assert_int_equal(knock_with_mtu(svc, svc_listen(svc, NULL), IBV_MTU_512)->conn->state,
		VBD_CONN_ESTABLISHED);
	/* Both sides may be limited by hand: no message of the CM tells that. */
	spec.params.path_mtu_bytes = 1024;
	assert_int_equal(knock_with_mtu(svc, svc_listen(svc, &spec), IBV_MTU_4096)->conn->state,
		VBD_CONN_ESTABLISHED);
}

SVC_TEST(test_services_listeners__some_connections_are_kept_for_our_own)
{
	const struct vbd_connection_spec nowhere = svc_spec_to(NULL);
	struct vbd_listener *listener;

	svc->config.limits.connections = 6;
	svc->config.limits.connections_reserved = 4; /* half of the limit is kept at most */
	svc_restart(svc);
	listener = listen_with(svc, VBD_ACCEPT_MANUAL);
	for (unsigned int i = 1; i <= 4; i++) {
		(void)fake_connect_request(listener->cm.cm_id, svc->device);
		SVC_UNTIL(svc, listener->requests == i);
	}
	assert_int_equal(svc->daemon->connections_accepted, 3);
	assert_int_equal(listener->refused[VBD_CONNECT_REFUSAL_RESERVED], 1);
	for (int i = 0; i < 3; i++)
		(void)svc_connect(svc, &nowhere);
	vbd_connection_close(svc_newest_of(svc, listener));
	assert_int_equal(svc->daemon->connections_accepted, 2);
	vbd_listener_delete(listener);
	SVC_UNTIL(svc, svc->daemon->connections->open == 0);
	assert_int_equal(svc->daemon->connections_accepted, 0);
}

SVC_TEST(test_services_listeners__a_flood_of_refusals_is_summed_up)
{
	struct vbd_listener *listener =
		listen_behind(svc, &(const struct vbd_gate_rules){.connects_per_s = 1});

	for (int i = 0; i < 100; i++)
		(void)knock(svc, listener);
	assert_true(listener->refused[VBD_CONNECT_REFUSAL_RATE] > 20);
	assert_int_equal(svc->daemon->connects_refused[VBD_CONNECT_REFUSAL_RATE],
		listener->refused[VBD_CONNECT_REFUSAL_RATE]);
	assert_true(svc_count_events(svc, VBD_EVENT_SECURITY_CONNECT_REFUSED) <= 20);
	/* The listener's end tells of those that were not told yet. */
	vbd_listener_delete(listener);
	assert_true(svc_count_events(svc, VBD_EVENT_SECURITY_CONNECT_REFUSED) >= 11);
}

/* Deleting. */

SVC_TEST(test_services_listeners__a_deleted_one_rejects_what_waits)
{
	const struct vbd_connection_accept how = {.service = -1};
	struct vbd_listener *listener = listen_with(svc, VBD_ACCEPT_MANUAL);
	struct vbd_connection *goes_on = request(svc, listener);
	struct vbd_connection *waits;

	assert_int_equal(vbd_connection_accept(goes_on, &how, &svc->err), VBD_OK);
	SVC_UNTIL(svc, goes_on->conn->state == VBD_CONN_ESTABLISHED);
	waits = request(svc, listener);
	vbd_listener_delete(listener);
	assert_int_equal(vbd_registry_count(svc->daemon->listeners), 0);
	assert_true(waits->object.ended);
	assert_int_equal(waits->conn->qp.reason, VBD_REASON_LOCAL_CLOSE);
	svc_turn(svc);
	assert_int_equal(goes_on->conn->state, VBD_CONN_ESTABLISHED);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_LISTENER_DELETED), 1);
	svc_close(svc, goes_on);
}

/* Devices. */

SVC_TEST(test_services_listeners__one_is_lost_and_found_with_its_device)
{
	struct vbd_listener_spec spec = svc_listener_spec();
	const struct sockaddr_in addr = svc->device->addr;
	struct vbd_listener *bound, *any, *named;
	struct svc_pair pair;
	uint16_t port;

	strcpy(spec.cm.device, "fake0");
	named = svc_listen(svc, &spec);
	spec = svc_listener_spec();
	(void)snprintf(spec.addr, sizeof(spec.addr), "10.0.0.1");
	bound = svc_listen(svc, &spec);
	any = svc_listen(svc, NULL);
	port = vbd_addr_port(&bound->addr);
	assert_string_equal(bound->cm.device.name, "fake0");
	fake_device_unplug(svc->device);
	fake_device_cm_removal(svc->device);
	unit_rescan(svc->daemon->fabric);
	svc_turn(svc);
	assert_int_equal(bound->state, VBD_LISTENER_LOST);
	assert_int_equal(bound->error.status, VBD_E_DEVICE_REMOVED);
	assert_int_equal(any->state, VBD_LISTENER_LISTENING);
	SVC_UNTIL(svc, svc->daemon->fabric->calls->under_way == 0);
	assert_true(fake_device_let_go(svc->device));
	assert_int_equal(svc_count_events(svc, VBD_EVENT_LISTENER_LOST), 2);

	/* The device is back without its address; the listener that named the device gets another
	 * one. */
	svc->device = fake_device_add("fake0");
	port = vbd_addr_port(&named->addr);
	unit_rescan(svc->daemon->fabric);
	assert_int_equal(named->state, VBD_LISTENER_LISTENING);
	assert_int_equal(vbd_addr_port(&named->addr), port);
	assert_int_equal(((const struct sockaddr_in *)&named->addr)->sin_addr.s_addr,
		svc->device->addr.sin_addr.s_addr);
	vbd_listener_delete(named);
	port = vbd_addr_port(&bound->addr);
	assert_int_equal(bound->state, VBD_LISTENER_LOST);
	assert_int_equal(bound->error.status, VBD_E_ADDRESS_NOT_AVAILABLE);
	svc->device->addr = addr;
	fake_device_async(svc->device, IBV_EVENT_GID_CHANGE, 1);
	SVC_UNTIL(svc, bound->state == VBD_LISTENER_LISTENING);
	assert_int_equal(vbd_addr_port(&bound->addr), port);
	assert_int_equal(bound->error.status, VBD_OK);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_LISTENER_RESTORED), 2);
	pair = svc_pair(svc, bound);
	assert_int_equal(pair.passive->listener_id, bound->object.id);
}

SVC_TEST(test_services_listeners__the_cm_alone_may_say_that_the_device_goes)
{
	struct vbd_listener_spec spec = svc_listener_spec();
	struct vbd_listener *bound;

	(void)snprintf(spec.addr, sizeof(spec.addr), "10.0.0.1");
	bound = svc_listen(svc, &spec);
	fake_device_unplug(svc->device);
	fake_device_cm_removal(svc->device);
	SVC_UNTIL(svc, bound->state == VBD_LISTENER_LOST);
	SVC_UNTIL(
		svc, fake_device_let_go(svc->device) && svc->daemon->fabric->calls->under_way == 0);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_LISTENER_LOST), 1);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_DEVICE_REMOVED), 1);
}

SVC_TEST(test_services_listeners__one_is_found_when_the_cm_knows_the_device_late)
{
	struct vbd_listener_spec spec = svc_listener_spec();
	const struct sockaddr_in addr = svc->device->addr;
	struct vbd_listener *bound;

	(void)snprintf(spec.addr, sizeof(spec.addr), "10.0.0.1");
	bound = svc_listen(svc, &spec);
	fake_device_unplug(svc->device);
	unit_rescan(svc->daemon->fabric);
	assert_int_equal(bound->state, VBD_LISTENER_LOST);
	SVC_UNTIL(svc, svc->daemon->fabric->calls->under_way == 0);
	assert_true(fake_device_let_go(svc->device));
	svc->device = fake_device_add("fake0");
	svc->device->addr = addr;
	fake_fail_next("rdma_bind_addr", ENODEV);
	unit_rescan(svc->daemon->fabric);
	assert_int_equal(bound->state, VBD_LISTENER_LOST);
	assert_int_equal(bound->error.raw, ENODEV);
	SVC_UNTIL(svc, bound->state == VBD_LISTENER_LISTENING);
	assert_int_equal(bound->error.status, VBD_OK);
}

/* No event tells of an address that moves to another device. */
SVC_TEST(test_services_listeners__a_lost_one_tries_again_by_itself)
{
	struct vbd_listener_spec spec = svc_listener_spec();
	const struct sockaddr_in addr = svc->device->addr;
	struct fake_device *other = fake_device_add("fake1");
	struct vbd_listener *bound;
	uint16_t port;

	unit_rescan(svc->daemon->fabric);
	(void)snprintf(spec.addr, sizeof(spec.addr), "10.0.0.1");
	bound = svc_listen(svc, &spec);
	port = vbd_addr_port(&bound->addr);
	fake_device_unplug(svc->device);
	fake_device_cm_removal(svc->device);
	unit_rescan(svc->daemon->fabric);
	SVC_UNTIL(svc, bound->state == VBD_LISTENER_LOST);
	SVC_UNTIL(
		svc, fake_device_let_go(svc->device) && svc->daemon->fabric->calls->under_way == 0);
	assert_string_equal(bound->error.text, "the listener's device was removed");
	svc->device = other;
	other->addr = addr;
	SVC_UNTIL(svc, bound->state == VBD_LISTENER_LISTENING);
	assert_string_equal(bound->cm.device.name, "fake1");
	assert_int_equal(vbd_addr_port(&bound->addr), port);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_LISTENER_LOST), 1);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_LISTENER_RESTORED), 1);
}

SVC_TEST(test_services_listeners__a_lost_one_can_be_deleted)
{
	struct vbd_listener_spec spec = svc_listener_spec();
	struct vbd_listener *bound;

	(void)snprintf(spec.addr, sizeof(spec.addr), "10.0.0.1");
	bound = svc_listen(svc, &spec);
	fake_device_unplug(svc->device);
	unit_rescan(svc->daemon->fabric);
	assert_int_equal(bound->state, VBD_LISTENER_LOST);
	SVC_UNTIL(svc, svc->daemon->fabric->calls->under_way == 0);
	assert_true(fake_device_let_go(svc->device));
	vbd_listener_delete(bound);
	svc_turn(svc);
	assert_int_equal(vbd_registry_count(svc->daemon->listeners), 0);
}
