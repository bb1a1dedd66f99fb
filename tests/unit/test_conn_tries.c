/* SPDX-License-Identifier: Apache-2.0 */
/* The tries to connect: each address of a name, and again while the caller's time lasts. */
#include "base/clock.h"
#include "tests/unit/rig.h"

#include <netdb.h>

#define AWAY	       (-ETIMEDOUT)
#define REJ_NO_SERVICE 8

static struct rig_conn *connect_to(
	struct rig *rig, const struct vbd_conn_params *params, const char *const *texts)
{
	struct rig_conn *rc = rig_conn_create_unresolved(rig, params);
	struct vbd_addrs addrs = {0};

	for (; *texts; texts++)
		assert_true(vbd_addr_parse(*texts, 7471, &addrs.items[addrs.count++]));
	vbd_conn_resolve_named(rc->conn, &addrs);
	rig_settle(rig);
	return rc;
}

static const char *const one[] = {"10.0.0.1", NULL};
static const char *const two[] = {"10.0.0.1", "10.0.0.2", NULL};
static const char *const three[] = {"10.0.0.1", "10.0.0.2", "10.0.0.3", NULL};

static const char *peer_of(const struct rig_conn *rc)
{
	static char text[VBD_ADDR_TEXT_BYTES];

	return vbd_addr_format(&rc->conn->peer, text);
}

static void answer_to(struct rig_conn *rc, enum vbd_conn_state state)
{
	while (rc->conn->state != state) {
		assert_true(rig_conn_answer(rc));
		rig_settle(rc->rig);
	}
}

static void report(struct rig_conn *rc, enum rdma_cm_event_type event, int status)
{
	fake_cm_event(rc->conn->cm_id, event, status);
	rig_settle(rc->rig);
}

/* The texts of the tries that failed, each with a line feed. */
static const char *failures_of(const struct rig_conn *rc)
{
	static char text[2048];
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < rc->conn->timeline.count; i++) {
		const struct vbd_timeline_entry *entry = rc->conn->timeline.entries[i];

		if (entry->kind != VBD_TIMELINE_TRY)
			continue;
		assert_string_equal(entry->what, "failed");
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s\n", entry->detail);
	}
	return text;
}

static void assert_failed(struct rig_conn *rc, enum vbd_reason reason, const char *text)
{
	const struct vbd_error *error = &rc->conn->qp.first_error.error;
	char start[sizeof(error->text)];

	rig_settle(rc->rig);
	assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
	assert_string_equal(vbd_reason_name(rc->conn->qp.reason), vbd_reason_name(reason));
	/* A number of milliseconds may stand at the end. */
	(void)snprintf(start, sizeof(start), "%.*s", (int)strlen(text), error->text);
	assert_string_equal(start, text);
	rig_assert_gone(rc);
	rig_assert_idle(rc->rig);
}

/* --- the addresses of a name ----------------------------------------------------------------- */

RIG_TEST(test_conn_tries__each_address_of_a_name_is_tried_in_its_order)
{
	static const enum vbd_conn_state told[] = {VBD_CONN_RESOLVING_ROUTE, VBD_CONN_CONNECTING,
		VBD_CONN_RETRYING, VBD_CONN_RESOLVING_ADDR, VBD_CONN_RESOLVING_ADDR,
		VBD_CONN_RESOLVING_ROUTE, VBD_CONN_CONNECTING, VBD_CONN_ESTABLISHED};
	struct rig_conn *rc = connect_to(rig, NULL, three);

	assert_string_equal(peer_of(rc), "10.0.0.1");
	answer_to(rc, VBD_CONN_CONNECTING);
	report(rc, RDMA_CM_EVENT_REJECTED, REJ_NO_SERVICE);
	assert_int_equal(rc->conn->state, VBD_CONN_RESOLVING_ADDR);
	assert_string_equal(peer_of(rc), "10.0.0.2");
	report(rc, RDMA_CM_EVENT_ADDR_ERROR, -ENODEV);
	assert_string_equal(peer_of(rc), "10.0.0.3");
	answer_to(rc, VBD_CONN_ESTABLISHED);
	assert_int_equal(rc->state_count, VBD_ARRAY_LEN(told));
	assert_memory_equal(rc->states, told, sizeof(told));
	assert_string_equal(failures_of(rc),
		"10.0.0.1: nobody listens on that port (invalid service id)\n"
		"10.0.0.2: the interface that leads to the address has no RDMA device (ENODEV)\n");
	assert_int_equal(rc->conn->qp.reason, VBD_REASON_NONE);
	assert_int_equal(rc->conn->qp.first_error.at_ns, 0);
	assert_null(rc->conn->tries);
	assert_int_equal(rc->deadline_ms, 0);
	rig_close(rc);
	assert_int_equal(rc->conn->state, VBD_CONN_CLOSED);
}

RIG_TEST(test_conn_tries__a_name_that_nobody_answers_for_names_the_last_address)
{
	struct rig_conn *rc = connect_to(rig, NULL, two);

	report(rc, RDMA_CM_EVENT_ADDR_ERROR, -ENODEV);
	report(rc, RDMA_CM_EVENT_ADDR_ERROR, -ENODEV);
	assert_failed(rc, VBD_REASON_ADDR_ERROR,
		"10.0.0.2: the interface that leads to the address has no RDMA device (ENODEV); "
		"2 tries in ");
	assert_string_equal(peer_of(rc), "10.0.0.2");
	assert_int_equal(rc->looked_up, 0);
}

RIG_TEST(test_conn_tries__the_only_address_of_a_name_is_named_too)
{
	struct rig_conn *rc = connect_to(rig, NULL, one);

	answer_to(rc, VBD_CONN_CONNECTING);
	report(rc, RDMA_CM_EVENT_REJECTED, REJ_NO_SERVICE);
	assert_failed(rc, VBD_REASON_REJECTED,
		"10.0.0.1: nobody listens on that port (invalid service id)");
	assert_string_equal(
		failures_of(rc), "10.0.0.1: nobody listens on that port (invalid service id)\n");
}

RIG_TEST(test_conn_tries__the_try_that_got_furthest_stands_for_the_end)
{
	struct rig_conn *rc = connect_to(rig, NULL, three);

	report(rc, RDMA_CM_EVENT_ADDR_ERROR, -ENODEV);
	answer_to(rc, VBD_CONN_CONNECTING);
	report(rc, RDMA_CM_EVENT_REJECTED, REJ_NO_SERVICE);
	report(rc, RDMA_CM_EVENT_ADDR_ERROR, -ENODEV);
	assert_failed(rc, VBD_REASON_REJECTED,
		"10.0.0.2: nobody listens on that port (invalid service id); 3 tries in ");
	assert_int_equal(rc->conn->ended_in, VBD_CONN_CONNECTING);
	assert_string_equal(peer_of(rc), "10.0.0.2");
	assert_string_equal(rc->conn->device.name, "fake0");
	assert_int_equal(rc->conn->port_num, 1);
	assert_int_equal(rc->conn->qp.first_error.error.kind, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(rc->conn->qp.errors_after_first, 0);
}

RIG_TEST(test_conn_tries__a_silent_address_has_its_part_of_the_time)
{
	struct rig_conn *rc = connect_to(rig, NULL, two);

	answer_to(rc, VBD_CONN_CONNECTING);
	assert_in_range(rc->deadline_ms, 1, 2501);
	assert_int_equal(rc->conn->deadline_ms, 5000);
	rig_deadline(rc);
	assert_int_equal(rc->conn->state, VBD_CONN_RESOLVING_ADDR);
	assert_string_equal(peer_of(rc), "10.0.0.2");
	answer_to(rc, VBD_CONN_CONNECTING);
	rig_deadline(rc);
	assert_failed(rc, VBD_REASON_TIMED_OUT,
		"10.0.0.2: the deadline of 5000 ms passed in state connecting, waiting for the "
		"peer's answer; 2 tries in ");
}

RIG_TEST(test_conn_tries__a_local_failure_of_one_address_is_not_that_of_all)
{
	static const char *const families[] = {"fd00::1", "10.0.0.2", NULL};
	struct rig_conn *rc;

	(void)snprintf(rig->cm.device, sizeof(rig->cm.device), "fake0");
	rc = connect_to(rig, NULL, families);
	assert_string_equal(peer_of(rc), "10.0.0.2");
	assert_string_equal(failures_of(rc), "fd00::1: device fake0 has no global IPv6 address\n");
	answer_to(rc, VBD_CONN_ESTABLISHED);
	rig_close(rc);
}

RIG_TEST(test_conn_tries__what_a_device_lowers_is_lowered_for_its_try)
{
	struct vbd_conn_params params = rig_params();
	struct rig_conn *rc;

	params.responder_resources = 16;
	rc = connect_to(rig, &params, two);
	answer_to(rc, VBD_CONN_CONNECTING);
	rc->conn->params.responder_resources = 1;
	rc->conn->peer_responder_resources = 3;
	report(rc, RDMA_CM_EVENT_REJECTED, REJ_NO_SERVICE);
	assert_int_equal(rc->conn->params.responder_resources, 16);
	assert_int_equal(rc->conn->peer_responder_resources, UINT8_MAX);
	rig_close(rc);
}

/* --- again ----------------------------------------------------------------------------------- */

RIG_TEST(test_conn_tries__a_peer_that_is_away_is_tried_again)
{
	static const struct {
		enum vbd_conn_state state;
		enum rdma_cm_event_type event;
	} rows[] = {
		{VBD_CONN_RESOLVING_ADDR, RDMA_CM_EVENT_ADDR_ERROR},
		{VBD_CONN_RESOLVING_ROUTE, RDMA_CM_EVENT_ROUTE_ERROR},
		{VBD_CONN_CONNECTING, RDMA_CM_EVENT_UNREACHABLE},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct rig_conn *rc = rig_conn_create(rig, NULL);

		for (int tries = 0; tries < 2; tries++) {
			answer_to(rc, rows[i].state);
			report(rc, rows[i].event, AWAY);
			assert_int_equal(rc->conn->state, VBD_CONN_RETRYING);
			assert_null(rc->conn->cm_id);
			assert_null(rc->conn->qp.channel);
			assert_int_equal(rc->deadline_ms, 500);
			rig_deadline(rc);
			assert_int_equal(rc->conn->state, VBD_CONN_RESOLVING_ADDR);
			assert_in_range(rc->deadline_ms, 1, 5000);
			rc->state_count = 0;
		}
		answer_to(rc, VBD_CONN_ESTABLISHED);
		assert_int_equal(rc->conn->qp.reason, VBD_REASON_NONE);
		rig_close(rc);
		assert_int_equal(rc->conn->state, VBD_CONN_CLOSED);
	}
}

/* There was a way, so that the interface here is what is away for a moment. */
RIG_TEST(test_conn_tries__a_way_that_is_lost_meanwhile_may_come_back)
{
	static const int errnos[] = {ENETUNREACH, EHOSTUNREACH, EADDRNOTAVAIL, ENODEV};

	for (size_t i = 0; i < VBD_ARRAY_LEN(errnos); i++) {
		struct rig_conn *rc = rig_conn_create(rig, NULL);

		report(rc, RDMA_CM_EVENT_ADDR_ERROR, AWAY);
		for (int tries = 0; tries < 2; tries++) {
			fake_fail_next("rdma_resolve_addr", errnos[i]);
			rig_deadline(rc);
			assert_int_equal(rc->conn->state, VBD_CONN_RETRYING);
		}
		rig_deadline(rc);
		report(rc, RDMA_CM_EVENT_ADDR_ERROR, -errnos[i]);
		assert_int_equal(rc->conn->state, VBD_CONN_RETRYING);
		rig_deadline(rc);
		answer_to(rc, VBD_CONN_ESTABLISHED);
		rig_close(rc);
	}
}

RIG_TEST(test_conn_tries__a_definite_answer_ends_them)
{
	static const struct {
		enum vbd_conn_state state;
		enum rdma_cm_event_type event;
		int status;
		enum vbd_reason reason;
	} rows[] = {
		{VBD_CONN_RESOLVING_ADDR, RDMA_CM_EVENT_ADDR_ERROR, -ENETUNREACH,
			VBD_REASON_ADDR_ERROR},
		{VBD_CONN_RESOLVING_ROUTE, RDMA_CM_EVENT_ROUTE_ERROR, -EINVAL,
			VBD_REASON_ROUTE_ERROR},
		{VBD_CONN_CONNECTING, RDMA_CM_EVENT_REJECTED, REJ_NO_SERVICE, VBD_REASON_REJECTED},
		{VBD_CONN_CONNECTING, RDMA_CM_EVENT_CONNECT_ERROR, AWAY, VBD_REASON_CONNECT_ERROR},
		{VBD_CONN_CONNECTING, RDMA_CM_EVENT_DEVICE_REMOVAL, 0, VBD_REASON_DEVICE_REMOVED},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct rig_conn *rc = rig_conn_create(rig, NULL);

		answer_to(rc, rows[i].state);
		report(rc, rows[i].event, rows[i].status);
		assert_failed(rc, rows[i].reason, "");
		assert_string_equal(failures_of(rc), "");
	}
}

RIG_TEST(test_conn_tries__the_end_of_the_time_says_why_nobody_answered)
{
	struct rig_conn *rc = rig_conn_create(rig, NULL);

	report(rc, RDMA_CM_EVENT_ADDR_ERROR, AWAY);
	rig_deadline(rc);
	rig_deadline(rc);
	assert_failed(rc, VBD_REASON_ADDR_ERROR, "The address could not be resolved; 2 tries in ");
	assert_int_equal(rc->conn->qp.first_error.error.raw, AWAY);
	assert_int_equal(rc->conn->ended_in, VBD_CONN_RESOLVING_ADDR);
}

RIG_TEST(test_conn_tries__without_time_for_another_one_they_are_over)
{
	struct rig_conn *rc = rig_conn_create_unresolved(rig, NULL);
	struct sockaddr_storage addr;

	assert_true(vbd_addr_parse("10.0.0.1", 7471, &addr));
	rc->conn->timeout_ms = 400;
	vbd_conn_resolve(rc->conn, (const struct sockaddr *)&addr);
	report(rc, RDMA_CM_EVENT_ADDR_ERROR, AWAY);
	assert_failed(rc, VBD_REASON_ADDR_ERROR, "The address could not be resolved");
	assert_int_equal(rc->conn->ended_in, VBD_CONN_RESOLVING_ADDR);
}

RIG_TEST(test_conn_tries__a_name_is_looked_up_again_before_its_addresses_are)
{
	const struct vbd_error again = {
		.status = VBD_E_NAME_NOT_RESOLVED, .source = VBD_SOURCE_GAI, .raw = EAI_AGAIN};
	struct rig_conn *rc = connect_to(rig, NULL, two);
	struct vbd_addrs addrs = {.count = 1};

	/* The round goes on for an address that is away. */
	report(rc, RDMA_CM_EVENT_ADDR_ERROR, AWAY);
	report(rc, RDMA_CM_EVENT_ADDR_ERROR, -ENODEV);
	assert_int_equal(rc->conn->state, VBD_CONN_RETRYING);
	rig_deadline(rc);
	assert_int_equal(rc->conn->state, VBD_CONN_RESOLVING_ADDR);
	assert_int_equal(rc->looked_up, 1);
	vbd_conn_name_failed(rc->conn, &again);
	assert_int_equal(rc->conn->state, VBD_CONN_RETRYING);
	rig_deadline(rc);
	assert_int_equal(rc->looked_up, 2);
	assert_true(vbd_addr_parse("10.0.0.7", 7471, &addrs.items[0]));
	vbd_conn_resolve_named(rc->conn, &addrs);
	answer_to(rc, VBD_CONN_ESTABLISHED);
	assert_string_equal(peer_of(rc), "10.0.0.7");
	rig_close(rc);
}

RIG_TEST(test_conn_tries__a_resolver_that_is_away_is_asked_again)
{
	static const struct vbd_error again = {.status = VBD_E_NAME_NOT_RESOLVED,
		.source = VBD_SOURCE_GAI,
		.raw = EAI_AGAIN,
		.text = "host: getaddrinfo: Temporary failure in name resolution"};
	static const struct vbd_error unknown = {.status = VBD_E_NAME_NOT_RESOLVED,
		.source = VBD_SOURCE_GAI,
		.raw = EAI_NONAME,
		.text = "host: getaddrinfo: Name or service not known"};
	struct rig_conn *rc = rig_conn_create_unresolved(rig, NULL);

	vbd_conn_name_failed(rc->conn, &again);
	assert_int_equal(rc->conn->state, VBD_CONN_RETRYING);
	rig_deadline(rc);
	assert_int_equal(rc->looked_up, 1);
	vbd_conn_name_failed(rc->conn, &unknown);
	assert_failed(rc, VBD_REASON_NAME_NOT_RESOLVED, unknown.text);
	rc = rig_conn_create_unresolved(rig, NULL);
	vbd_conn_name_failed(rc->conn, &again);
	rc->look_up_fails = true;
	rig_deadline(rc);
	assert_failed(rc, VBD_REASON_RESOURCE_ERROR, "no memory to look up");
}

/* --- the end of a try that has begun --------------------------------------------------------- */

RIG_TEST(test_conn_tries__a_client_may_close_between_two)
{
	static const enum vbd_reason reasons[] = {VBD_REASON_LOCAL_CLOSE, VBD_REASON_STOPPING};

	for (size_t i = 0; i < VBD_ARRAY_LEN(reasons); i++) {
		struct rig_conn *rc = rig_conn_create(rig, NULL);

		report(rc, RDMA_CM_EVENT_ADDR_ERROR, AWAY);
		vbd_conn_close(rc->conn, reasons[i]);
		rig_settle(rig);
		assert_int_equal(rc->conn->state, VBD_CONN_CLOSED);
		assert_int_equal(rc->conn->qp.reason, reasons[i]);
		assert_int_equal(rc->deadline_ms, 0);
		rig_assert_gone(rc);
	}
}

static struct rig_conn *in_retreat(struct rig *rig)
{
	struct rig_conn *rc = connect_to(rig, NULL, two);

	answer_to(rc, VBD_CONN_CONNECTING);
	fake_flushes_withheld(true);
	report(rc, RDMA_CM_EVENT_REJECTED, REJ_NO_SERVICE);
	assert_int_equal(rc->conn->state, VBD_CONN_RETRYING);
	assert_non_null(rc->conn->qp.channel);
	return rc;
}

RIG_TEST(test_conn_tries__a_client_may_close_while_a_queue_pair_drains)
{
	struct rig_conn *rc = in_retreat(rig);

	vbd_conn_close(rc->conn, VBD_REASON_LOCAL_CLOSE);
	assert_int_equal(rc->conn->state, VBD_CONN_DRAINING);
	fake_flushes_withheld(false);
	rig_deadline(rc);
	assert_int_equal(rc->conn->state, VBD_CONN_CLOSED);
	rig_assert_gone(rc);
}

RIG_TEST(test_conn_tries__flushes_that_do_not_come_hold_up_no_other_address)
{
	struct rig_conn *rc = in_retreat(rig);

	/* Nobody wants the events of the try that has failed. */
	report(rc, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	report(rc, RDMA_CM_EVENT_ESTABLISHED, 0);
	assert_int_equal(rc->conn->state, VBD_CONN_RETRYING);
	rig_deadline(rc);
	fake_flushes_withheld(false);
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_RESOLVING_ADDR);
	assert_string_equal(peer_of(rc), "10.0.0.2");
	answer_to(rc, VBD_CONN_ESTABLISHED);
	rig_close(rc);
}

RIG_TEST(test_conn_tries__a_device_that_goes_meanwhile_gets_all_back)
{
	struct rig_conn *rc = in_retreat(rig);

	report(rc, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
	assert_int_equal(rc->conn->state, VBD_CONN_RETRYING);
	fake_flushes_withheld(false);
	rig_deadline(rc);
	assert_string_equal(peer_of(rc), "10.0.0.2");
	assert_int_equal(rig->removed, 1);
	rig_close(rc);
}

RIG_TEST(test_conn_tries__a_call_that_waits_is_interrupted_for_the_next_address)
{
	struct rig_conn *rc;

	rig_make_iwarp(rig);
	fake_block("rdma_connect");
	rc = connect_to(rig, NULL, two);
	while (rc->conn->state != VBD_CONN_CONNECTING) {
		assert_true(rig_conn_answer(rc));
		rig_settle(rig);
	}
	assert_int_equal(rc->conn->calling, VBD_CONN_CALLS_CONNECT);
	rig_deadline(rc);
	/* The interrupt of a call that does not sleep yet is lost, and repeated. */
	while (rc->conn->state == VBD_CONN_RETRYING)
		rig_deadline(rc);
	assert_int_equal(rc->conn->state, VBD_CONN_RESOLVING_ADDR);
	assert_string_equal(peer_of(rc), "10.0.0.2");
	fake_unblock();
	rig_close(rc);
}

/* --- the timeline ---------------------------------------------------------------------------- */

RIG_TEST(test_conn_tries__many_leave_room_for_what_follows)
{
	struct rig_conn *rc = rig_conn_create(rig, NULL);
	const struct vbd_timeline *timeline = &rc->conn->timeline;

	for (int i = 0; i < 100; i++) {
		report(rc, RDMA_CM_EVENT_ADDR_ERROR, AWAY);
		rc->state_count = 0;
		rig_deadline(rc);
	}
	rc->state_count = 0;
	assert_string_equal(timeline->entries[1]->what, "rdma_create_id");
	assert_int_equal(timeline->count, VBD_TIMELINE_MAX / 2 + 3);
	assert_true(timeline->dropped > 400);
	answer_to(rc, VBD_CONN_ESTABLISHED);
	assert_string_equal(timeline->entries[timeline->count - 1]->to, "established");
	rig_close(rc);
}
