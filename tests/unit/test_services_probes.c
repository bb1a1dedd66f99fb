/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/work/probes.h"

#include "tests/unit/svc.h"

/* A client of rping, and its peer with @service. */
static struct svc_pair pair_to(struct svc *svc, enum vbd_service service)
{
	struct vbd_listener_spec listener = svc_listener_spec();
	struct vbd_connection_spec spec;
	struct svc_pair pair;

	listener.params.qp.service = service;
	spec = svc_spec_to(svc_listen(svc, &listener));
	spec.params.qp.service = VBD_SERVICE_RPING_CLIENT;
	pair.active = svc_connect(svc, &spec);
	SVC_UNTIL(svc, pair.active->conn->state == VBD_CONN_ESTABLISHED);
	pair.passive = NULL;
	return pair;
}

static struct vbd_probe_spec spec_of(struct vbd_connection *connection)
{
	return (struct vbd_probe_spec){
		.connection = connection,
		.kind = VBD_PROBE_RPING,
		.count = 5,
		.size_bytes = 64,
		.timeout_ms = 30000,
	};
}

static struct vbd_probe_record *begin(struct svc *svc, const struct vbd_probe_spec *spec)
{
	struct vbd_probe_record *record = NULL;

	assert_int_equal(vbd_probe_create(svc->daemon, spec, &record, &svc->err), VBD_OK);
	return record;
}

static void wait_for_end(struct svc *svc, const struct vbd_probe_record *record)
{
	SVC_UNTIL(svc, record->state != VBD_PROBE_RUNNING);
	assert_null(record->connection);
}

static void assert_refused_at(struct svc *svc, const struct vbd_probe_spec *spec,
	enum vbd_status status, const char *pointer)
{
	struct vbd_probe_record *record = NULL;
	struct vbd_error err = {0};
	uint32_t open = svc->daemon->probes->open;

	assert_int_equal(vbd_probe_create(svc->daemon, spec, &record, &err), status);
	assert_string_equal(err.pointer, pointer);
	assert_null(record);
	assert_int_equal(svc->daemon->probes->open, open);
}

static void assert_refused(
	struct svc *svc, const struct vbd_probe_spec *spec, enum vbd_status status)
{
	assert_refused_at(svc, spec, status, "/connection");
}

/* Every millisecond, until cancelled. */
static struct vbd_probe_spec endless(struct vbd_connection *connection)
{
	return (struct vbd_probe_spec){
		.connection = connection,
		.kind = VBD_PROBE_ACK,
		.interval_ms = 1,
	};
}

static uint64_t completed(const struct vbd_probe_record *record)
{
	return vbd_counter_get(&record->probe.counters.completed);
}

/* Single pings do not wake the control thread. */
static bool on_tick(struct svc *svc)
{
	svc_turn(svc);
	return true;
}

SVC_TEST(test_services_probes__our_rping_answers_our_client)
{
	static const uint32_t sizes[] = {2, 64, 4096, 65535};
	struct svc_pair pair = pair_to(svc, VBD_SERVICE_RPING);
	struct vbd_probe_spec spec = spec_of(pair.active);

	for (size_t i = 0; i < VBD_ARRAY_LEN(sizes); i++) {
		struct vbd_probe_record *record;

		spec.size_bytes = sizes[i];
		record = begin(svc, &spec);
		assert_ptr_equal(pair.active->probe, record);
		wait_for_end(svc, record);
		assert_int_equal(record->state, VBD_PROBE_DONE);
		assert_null(pair.active->probe);
		assert_int_equal(vbd_counter_get(&record->probe.counters.completed), 5);
		assert_int_equal(vbd_counter_get(&record->probe.mismatched), 0);
	}
	assert_int_equal(svc->daemon->probes->open, 0);
	assert_int_equal(svc->daemon->probes_done, 4);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_PROBE_CREATED), 4);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_PROBE_ENDED), 4);
	assert_non_null(svc_find(svc->daemon->probes, "4", &svc->err));
	assert_null(svc_find(svc->daemon->probes, "5", &svc->err));
}

SVC_TEST(test_services_probes__what_can_not_work_is_refused)
{
	struct svc_pair other = svc_pair(svc, svc_listen(svc, NULL));
	struct svc_pair pair = pair_to(svc, VBD_SERVICE_INBOX);
	struct vbd_probe_spec spec = spec_of(other.active);

	assert_refused(svc, &spec, VBD_E_BAD_VALUE);
	spec.connection = pair.active;
	(void)begin(svc, &spec);
	assert_refused(svc, &spec, VBD_E_IN_USE);
	svc_close(svc, pair.active);
	assert_refused(svc, &spec, VBD_E_WRONG_STATE);
}

static void second_is_refused(
	struct svc *svc, struct vbd_probe_spec spec, struct vbd_caller *as, const char *says)
{
	struct vbd_probe_record *record = NULL;
	struct vbd_error err = {0};

	spec.origin.caller = as;
	assert_int_equal(vbd_probe_create(svc->daemon, &spec, &record, &err), VBD_E_IN_USE);
	assert_non_null(strstr(err.text, says));
}

SVC_TEST(test_services_probes__a_probe_of_another_caller_is_not_named)
{
	struct svc_pair pair = pair_to(svc, VBD_SERVICE_INBOX);
	struct vbd_probe_spec spec = spec_of(pair.active);
	struct vbd_caller *alice = vbd_callers_get(&svc->daemon->callers, "alice");
	struct vbd_caller *bob = vbd_callers_get(&svc->daemon->callers, "bob");

	alice->role = VBD_ROLE_OPERATE;
	bob->role = VBD_ROLE_OPERATE;
	spec.origin.caller = bob;
	(void)begin(svc, &spec);
	second_is_refused(svc, spec, bob, "probe 1 already runs");
	second_is_refused(svc, spec, alice, "a probe of another caller already runs");
	svc_close(svc, pair.active);
	vbd_caller_unref(alice);
	vbd_caller_unref(bob);
}

/* An inbox stores the first message and never answers. */
SVC_TEST(test_services_probes__a_peer_that_does_not_answer_costs_the_connection)
{
	struct svc_pair pair = pair_to(svc, VBD_SERVICE_INBOX);
	struct vbd_probe_spec spec = spec_of(pair.active);
	struct vbd_probe_record *record;
	struct vbd_error problem;

	spec.timeout_ms = 5;
	record = begin(svc, &spec);
	SVC_UNTIL(svc, record->stopping);
	assert_int_equal(record->state, VBD_PROBE_RUNNING);
	/* End the grace period at once. */
	vbd_timer_set(record->object.deadline, 0);
	wait_for_end(svc, record);
	vbd_object_problem(&record->object, &problem);
	assert_int_equal(problem.status, VBD_E_TIMED_OUT);
	assert_string_equal(problem.object, "/v1/probes/1");
	SVC_UNTIL(svc, pair.active->object.ended);
	assert_int_equal(pair.active->conn->qp.reason, VBD_REASON_TIMED_OUT);
	assert_int_equal(svc->daemon->probes_failed, 1);
}

SVC_TEST(test_services_probes__a_cancel_that_is_not_heard_closes)
{
	struct svc_pair pair = pair_to(svc, VBD_SERVICE_INBOX);
	struct vbd_probe_spec spec = spec_of(pair.active);
	struct vbd_probe_record *record = begin(svc, &spec);
	struct vbd_error problem;

	vbd_object_cancel(&record->object);
	vbd_object_cancel(&record->object);
	vbd_timer_set(record->object.deadline, 0);
	wait_for_end(svc, record);
	vbd_object_problem(&record->object, &problem);
	assert_int_equal(problem.status, VBD_E_CANCELLED);
	SVC_UNTIL(svc, pair.active->object.ended);
	assert_int_equal(pair.active->conn->qp.reason, VBD_REASON_LOCAL_CLOSE);
	vbd_object_cancel(&record->object);
	vbd_object_delete(&record->object);
	svc_turn(svc);
	assert_int_equal(vbd_registry_count(svc->daemon->probes), 0);
}

SVC_TEST(test_services_probes__the_end_of_the_connection_is_told)
{
	struct svc_pair pair = pair_to(svc, VBD_SERVICE_INBOX);
	struct vbd_probe_spec spec = spec_of(pair.active);
	struct vbd_probe_record *record = begin(svc, &spec);
	struct vbd_error problem;

	svc_close(svc, pair.active);
	wait_for_end(svc, record);
	vbd_object_problem(&record->object, &problem);
	assert_int_equal(problem.status, VBD_E_LOCAL_CLOSE);
}

SVC_TEST(test_services_probes__the_daemon_stops_with_one_under_way)
{
	struct svc_pair pair = pair_to(svc, VBD_SERVICE_INBOX);
	struct vbd_probe_spec spec = spec_of(pair.active);

	(void)begin(svc, &spec);
	svc_stop(svc);
}

SVC_TEST(test_services_probes__the_newest_records_are_kept)
{
	struct vbd_probe_spec spec;
	struct svc_pair pair;

	svc->config.records.ended = 2;
	svc_restart(svc);
	pair = pair_to(svc, VBD_SERVICE_RPING);
	spec = spec_of(pair.active);
	spec.count = 1;
	for (unsigned int i = 0; i < 5; i++)
		wait_for_end(svc, begin(svc, &spec));
	svc_turn(svc);
	assert_int_equal(vbd_registry_count(svc->daemon->probes), 2);
	assert_int_equal(vbd_registry_after(svc->daemon->probes, 0)->id, 4);
}

SVC_TEST(test_services_probes__without_memory_nothing_is_left)
{
	struct svc_pair pair = pair_to(svc, VBD_SERVICE_RPING);
	struct vbd_probe_spec spec = spec_of(pair.active);
	unsigned int nth = 0;
	bool failed;

	/* The first probe makes the workers allocate room for the connections. */
	wait_for_end(svc, begin(svc, &spec));
	do {
		struct vbd_probe_record *record = NULL;
		struct vbd_error err = {0};

		fake_memory_fail_nth(++nth);
		if (vbd_probe_create(svc->daemon, &spec, &record, &err) == VBD_OK)
			wait_for_end(svc, record);
		else
			assert_int_equal(err.status, VBD_E_NO_MEMORY);
		failed = fake_memory_failed();
		fake_memory_fail_nth(0);
		assert_null(pair.active->probe);
		assert_int_equal(svc->daemon->probes->open, 0);
	} while (failed);
}

SVC_TEST(test_services_probes__one_without_a_count_goes_on_until_it_is_deleted)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct vbd_probe_spec spec = endless(pair.active);
	struct vbd_probe_record *record;

	assert_null(vbd_probe_of(pair.active));
	record = begin(svc, &spec);
	while (completed(record) < 3 && on_tick(svc))
		;
	assert_int_equal(record->state, VBD_PROBE_RUNNING);
	assert_ptr_equal(vbd_probe_of(pair.active), record);
	assert_null(vbd_probe_of(pair.passive));
	vbd_object_cancel(&record->object);
	wait_for_end(svc, record);
	assert_int_equal(record->state, VBD_PROBE_DONE);
	assert_int_equal(record->error.status, VBD_OK);
	assert_int_equal(pair.active->conn->state, VBD_CONN_ESTABLISHED);
	/* The result stays with the connection until the probe is deleted or another one runs. */
	assert_ptr_equal(vbd_probe_of(pair.active), record);
	vbd_object_delete(&record->object);
	svc_turn(svc);
	assert_null(vbd_probe_of(pair.active));
}

SVC_TEST(test_services_probes__a_clean_end_of_the_connection_is_one_of_the_probe)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct vbd_probe_spec spec = endless(pair.active);
	struct vbd_probe_record *record = begin(svc, &spec);
	struct vbd_error error = {.source = VBD_SOURCE_DEADLINE};

	svc_close(svc, pair.active);
	wait_for_end(svc, record);
	assert_int_equal(record->state, VBD_PROBE_DONE);

	pair = svc_pair(svc, svc_listen(svc, NULL));
	spec = endless(pair.active);
	record = begin(svc, &spec);
	(void)vbd_error_set(&error, VBD_E_TIMED_OUT, "as if");
	pair.active->conn->qp.ops->end(&pair.active->conn->qp, &error, 0);
	wait_for_end(svc, record);
	assert_int_equal(record->state, VBD_PROBE_FAILED);
	assert_int_equal(record->error.status, VBD_E_TIMED_OUT);
}

SVC_TEST(test_services_probes__so_many_acks_can_be_cancelled_and_reach_a_deadline)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct vbd_probe_spec spec = endless(pair.active);
	struct vbd_probe_record *record;

	spec.count = 3;
	record = begin(svc, &spec);
	wait_for_end(svc, record);
	assert_int_equal(record->state, VBD_PROBE_DONE);
	assert_int_equal(completed(record), 3);

	spec.interval_ms = 3600000;
	record = begin(svc, &spec);
	vbd_object_cancel(&record->object);
	wait_for_end(svc, record);
	assert_int_equal(record->error.status, VBD_E_CANCELLED);
	assert_int_equal(record->state, VBD_PROBE_CANCELLED);
	assert_int_equal(svc->daemon->probes_cancelled, 1);

	spec.timeout_ms = 1;
	record = begin(svc, &spec);
	wait_for_end(svc, record);
	assert_int_equal(record->error.status, VBD_E_TIMED_OUT);
	assert_int_equal(record->state, VBD_PROBE_FAILED);
	assert_int_equal(pair.active->conn->state, VBD_CONN_ESTABLISHED);
}

SVC_TEST(test_services_probes__the_daemon_sums_counters_by_kind)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct svc_pair other = pair_to(svc, VBD_SERVICE_RPING);
	struct vbd_probe_counters totals;
	struct vbd_probe_spec spec = endless(pair.active);

	spec.count = 3;
	wait_for_end(svc, begin(svc, &spec));
	spec.connection = pair.passive;
	wait_for_end(svc, begin(svc, &spec));
	spec = spec_of(other.active);
	wait_for_end(svc, begin(svc, &spec));
	vbd_probes_totals(svc->daemon, VBD_PROBE_ACK, &totals);
	assert_int_equal(vbd_counter_get(&totals.sent), 6);
	assert_int_equal(vbd_counter_get(&totals.completed), 6);
	assert_int_equal(vbd_counter_get(&totals.lost), 0);
	assert_int_equal(vbd_counter_get(&totals.rtt_ns.count), 6);
	vbd_probes_totals(svc->daemon, VBD_PROBE_RPING, &totals);
	assert_int_equal(vbd_counter_get(&totals.sent), 5);
	assert_int_equal(vbd_counter_get(&totals.rtt_ns.count), 5);
}

/* A sink, and a peer that echoes. */
static struct vbd_connection *sink_to_echo(struct svc *svc)
{
	struct vbd_listener_spec listener = svc_listener_spec();
	struct vbd_connection_spec spec;
	struct vbd_connection *connection;

	listener.params.qp.service = VBD_SERVICE_ECHO;
	spec = svc_spec_to(svc_listen(svc, &listener));
	spec.params.qp.service = VBD_SERVICE_SINK;
	spec.params.qp.inline_bytes = 64;
	connection = svc_connect(svc, &spec);
	SVC_UNTIL(svc, connection->conn->state == VBD_CONN_ESTABLISHED);
	return connection;
}

SVC_TEST(test_services_probes__the_echo_service_sends_pings_back)
{
	struct vbd_probe_spec spec = endless(sink_to_echo(svc));
	struct vbd_probe_record *record;

	spec.kind = VBD_PROBE_ECHO;
	spec.count = 5;
	spec.interval_ms = 0;
	for (spec.size_bytes = 16; spec.size_bytes <= 64; spec.size_bytes += 24) {
		record = begin(svc, &spec);
		wait_for_end(svc, record);
		assert_int_equal(record->state, VBD_PROBE_DONE);
		assert_int_equal(completed(record), 5);
	}
	assert_refused_at(svc, &spec, VBD_E_OUT_OF_RANGE, "/size_bytes");
	spec.size_bytes = 15;
	assert_refused_at(svc, &spec, VBD_E_OUT_OF_RANGE, "/size_bytes");
	spec.size_bytes = 16;
	spec.connection->conn->params.qp.transport = VBD_TRANSPORT_UC;
	assert_refused_at(svc, &spec, VBD_E_BAD_VALUE, "/interval_ms");
	spec.connection->conn->params.qp.transport = VBD_TRANSPORT_RC;
	spec.connection = svc_pair(svc, svc_listen(svc, NULL)).active;
	assert_refused(svc, &spec, VBD_E_BAD_VALUE);
}

SVC_TEST(test_services_probes__an_echo_must_fit_a_receive)
{
	struct vbd_connection *connection = sink_to_echo(svc);
	struct vbd_channel_limits *limits = &connection->conn->qp.channel->limits;
	struct vbd_probe_spec spec = endless(connection);

	spec.kind = VBD_PROBE_ECHO;
	spec.count = 1;
	limits->recv_size_bytes = 32;
	spec.size_bytes = 33;
	assert_refused_at(svc, &spec, VBD_E_OUT_OF_RANGE, "/size_bytes");
	spec.size_bytes = 32;
	wait_for_end(svc, begin(svc, &spec));
	assert_int_equal(svc->daemon->probes_done, 1);
	limits->recv_size_bytes = 64;
}

SVC_TEST(test_services_probes__one_that_gets_other_bytes_has_failed)
{
	struct svc_pair pair = pair_to(svc, VBD_SERVICE_RPING);
	const struct vbd_probe_spec spec = spec_of(pair.active);
	struct vbd_probe_record *record = begin(svc, &spec);
	struct vbd_error problem;

	vbd_counter_set(&record->probe.mismatched, 2);
	wait_for_end(svc, record);
	assert_int_equal(record->state, VBD_PROBE_FAILED);
	vbd_object_problem(&record->object, &problem);
	assert_int_equal(problem.status, VBD_E_REMOTE_OPERATION);
	assert_non_null(strstr(problem.text, "2 of 5 pings returned with other bytes"));
	assert_int_equal(svc->daemon->probes_failed, 1);
	assert_int_equal(svc->daemon->probes_done, 0);
}

SVC_TEST(test_services_probes__what_a_kind_has_not_is_refused)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct vbd_probe_spec spec = endless(pair.active);

	spec.interval_ms = 0;
	assert_refused_at(svc, &spec, VBD_E_BAD_VALUE, "/interval_ms");
	spec.interval_ms = 1000;
	spec.size_bytes = 1;
	assert_refused_at(svc, &spec, VBD_E_BAD_VALUE, "/size_bytes");
	spec.size_bytes = 0;
	pair.active->conn->params.qp.transport = VBD_TRANSPORT_UC;
	assert_refused(svc, &spec, VBD_E_NOT_SUPPORTED);
	pair.active->conn->params.qp.transport = VBD_TRANSPORT_RC;
	pair = pair_to(svc, VBD_SERVICE_RPING);
	spec = spec_of(pair.active);
	spec.size_bytes = 1;
	assert_refused_at(svc, &spec, VBD_E_OUT_OF_RANGE, "/size_bytes");
	spec.size_bytes = 65536;
	assert_refused_at(svc, &spec, VBD_E_OUT_OF_RANGE, "/size_bytes");
}

SVC_TEST(test_services_probes__a_write_that_nobody_acknowledges_tells_nothing)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct vbd_probe_spec spec = endless(pair.active);
	struct vbd_probe_record *record = NULL;
	struct vbd_error err = {0};

	pair.active->conn->qp.device->caps &= ~(UINT64_C(1) << VBD_CAP_WRITE_ACK);
	assert_int_equal(vbd_probe_create(svc->daemon, &spec, &record, &err), VBD_E_NOT_SUPPORTED);
	assert_string_equal(err.capability, "write_ack");
	assert_string_equal(err.device, "fake0");
}
