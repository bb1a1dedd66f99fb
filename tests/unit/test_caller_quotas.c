/* SPDX-License-Identifier: Apache-2.0 */
/* The things of a caller are counted until they are gone, and do not go beyond its quotas. */
#include "daemon/core/quota.h"

#include "api/http/problem.h"
#include "api/observe/metrics_parts.h"
#include "base/clock.h"
#include "daemon/memory/shared.h"
#include "rdma/data/srq.h"
#include "tests/unit/document.h"
#include "tests/unit/svc.h"

struct fixture {
	struct svc *svc;
	struct vbd_caller *alice, *bob;
	struct vbd_error err;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	void *svc = NULL;

	if (!f || svc_setup(&svc) != 0)
		return -1;
	f->svc = svc;
	f->alice = vbd_callers_get(&f->svc->daemon->callers, "alice");
	f->bob = vbd_callers_get(&f->svc->daemon->callers, "bob");
	if (!f->alice || !f->bob)
		return -1;
	f->alice->role = VBD_ROLE_OPERATE;
	f->bob->role = VBD_ROLE_OPERATE;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	void *svc = f->svc;

	vbd_caller_unref(f->alice);
	vbd_caller_unref(f->bob);
	free(f);
	return svc_teardown(&svc);
}

#define CALLER_QUOTAS_TEST(name) TEST_WITH(name, struct fixture *f, setup, teardown)

/* From now on this caller makes the objects. */
static void act_as(struct fixture *f, struct vbd_caller *caller)
{
	f->svc->origin.caller = caller;
	f->err = (struct vbd_error){0};
}

static void used_is(const struct vbd_caller *caller, enum vbd_quota quota, uint64_t used)
{
	assert_int_equal(vbd_quota_used(caller, quota, 0), used);
}

static void metrics_have(
	const struct fixture *f, const struct vbd_caller *caller, const char *line, bool has)
{
	struct vbd_metrics_text out = {0};
	size_t len_bytes;
	char *text;

	vbd_metrics_put_callers(&out, f->svc->daemon, caller);
	text = vbd_encode_take(&out.text, &len_bytes);
	assert_non_null(text);
	if ((memmem(text, len_bytes, line, strlen(line)) != NULL) != has)
		fail_msg("%s: %s in\n%.*s", line, has ? "missing" : "unexpected", (int)len_bytes,
			text);
	free(text);
}

static void gauge_is(
	const struct fixture *f, const char *gauge, enum vbd_quota quota, uint64_t value)
{
	char line[160];

	(void)snprintf(line, sizeof(line), "verbsd_caller_%s{caller=\"alice\",quota=\"%s\"} %llu\n",
		gauge, vbd_quota_name(quota), (unsigned long long)value);
	metrics_have(f, NULL, line, true);
}

/* The last call was refused because of a quota of alice: the problem and the gauges tell. */
static void refused_for(const struct fixture *f, enum vbd_quota quota)
{
	bool throttles = quota == VBD_QUOTA_streams || quota == VBD_QUOTA_requests_per_s;
	struct vbd_encoder out = vbd_encode_begin();
	json_t *problem;

	vbd_put_problem(&out, &f->err, NULL);
	problem = document_end(&out);
	assert_int_equal(
		json_integer_value(json_object_get(problem, "status")), throttles ? 429 : 409);
	assert_string_equal(json_string_value(json_object_get(problem, "code")),
		throttles ? "throttled" : "quota_exceeded");
	assert_int_equal(json_integer_value(json_object_get(problem, "limit")),
		vbd_quota_max(f->alice, quota));
	assert_string_equal(
		json_string_value(json_object_get(problem, "limit_name")), vbd_quota_name(quota));
	assert_string_equal(json_string_value(json_object_get(problem, "caller")), "alice");
	json_decref(problem);
	gauge_is(f, "quota", quota, vbd_quota_max(f->alice, quota));
	if (quota != VBD_QUOTA_requests_per_s)
		gauge_is(f, "usage", quota, f->alice->used[quota]);
}

/* --- connections ----------------------------------------------------------------------------- */

static enum vbd_status connect_to(
	struct fixture *f, const struct vbd_listener *to, struct vbd_connection **ret_connection)
{
	struct vbd_connection_spec spec = svc_spec_to(to);

	spec.origin = f->svc->origin;
	return vbd_connection_create(f->svc->daemon, &spec, ret_connection, &f->err);
}

CALLER_QUOTAS_TEST(test_quotas__connections_count_until_they_end)
{
	struct vbd_listener *listener = svc_listen(f->svc, NULL);
	struct vbd_connection *first, *other;

	f->alice->quotas.connections = 1;
	act_as(f, f->alice);
	assert_int_equal(connect_to(f, listener, &first), VBD_OK);
	assert_int_equal(connect_to(f, listener, &other), VBD_E_QUOTA_EXCEEDED);
	refused_for(f, VBD_QUOTA_connections);
	act_as(f, f->bob);
	assert_int_equal(connect_to(f, listener, &other), VBD_OK);
	act_as(f, f->alice);
	SVC_UNTIL(f->svc, first->conn->state == VBD_CONN_ESTABLISHED);
	svc_close(f->svc, first);
	used_is(f->alice, VBD_QUOTA_connections, 0);
	used_is(f->alice, VBD_QUOTA_pinned_bytes, 0);
	assert_int_equal(connect_to(f, listener, &other), VBD_OK);
	used_is(f->alice, VBD_QUOTA_connections, 1);
	act_as(f, NULL);
}

CALLER_QUOTAS_TEST(test_quotas__a_connection_that_fails_at_once_does_not_count)
{
	struct vbd_connection *connection;

	act_as(f, f->alice);
	fake_fail_next("rdma_create_id", ENOMEM);
	assert_int_equal(connect_to(f, NULL, &connection), VBD_OK);
	assert_true(connection->object.ended);
	used_is(f->alice, VBD_QUOTA_connections, 0);
	used_is(f->alice, VBD_QUOTA_pinned_bytes, 0);
	act_as(f, NULL);
}

/* The listener has refused so many connections for a quota of its owner, whose event tells it; the
 * peer learns no more than that. */
static void refused_by_quota(struct fixture *f, const struct vbd_listener *listener,
	const struct vbd_connection *refused, uint64_t count)
{
	static const char reason[] = "verbsd: quota";
	const struct vbd_private_data *said = &refused->conn->peer_private_data;

	assert_int_equal(listener->rejected, count);
	assert_int_equal(listener->refused[VBD_CONNECT_REFUSAL_QUOTA], count);
	assert_int_equal(f->svc->daemon->connects_refused[VBD_CONNECT_REFUSAL_QUOTA], count);
	assert_int_equal(vbd_private_data_shown_bytes(said), strlen(reason));
	assert_memory_equal(said->bytes, reason, strlen(reason));
	assert_int_equal(svc_count_events(f->svc, VBD_EVENT_SECURITY_CONNECT_REFUSED), count);
}

CALLER_QUOTAS_TEST(test_quotas__accepted_connections_are_the_listeners_owners)
{
	struct vbd_connection *first, *other;
	struct vbd_listener *listener;

	f->alice->quotas.connections = 1;
	act_as(f, f->alice);
	listener = svc_listen(f->svc, NULL);
	act_as(f, NULL);
	assert_int_equal(connect_to(f, listener, &first), VBD_OK);
	SVC_UNTIL(f->svc, first->conn->state == VBD_CONN_ESTABLISHED);
	used_is(f->alice, VBD_QUOTA_connections, 1);
	assert_int_equal(connect_to(f, listener, &other), VBD_OK);
	SVC_UNTIL(f->svc, other->object.ended);
	assert_int_equal(other->conn->qp.first_error.error.status, VBD_E_REJECTED);
	refused_by_quota(f, listener, other, 1);
	svc_close(f->svc, first);
	SVC_UNTIL(f->svc, f->alice->used[VBD_QUOTA_connections] == 0);
	assert_int_equal(connect_to(f, listener, &first), VBD_OK);
	SVC_UNTIL(f->svc, first->conn->state == VBD_CONN_ESTABLISHED);
	/* The memory of its receives counts as well. */
	f->alice->quotas.connections = 0;
	f->alice->quotas.pinned_bytes = f->alice->used[VBD_QUOTA_pinned_bytes];
	assert_int_equal(connect_to(f, listener, &other), VBD_OK);
	SVC_UNTIL(f->svc, other->object.ended);
	refused_by_quota(f, listener, other, 2);
}

/* A caller keeps what it had when a reload gave it a smaller quota. */
CALLER_QUOTAS_TEST(test_quotas__a_smaller_quota_holds_for_what_comes_later)
{
	struct vbd_connection *connections[3];

	act_as(f, f->alice);
	assert_int_equal(connect_to(f, NULL, &connections[0]), VBD_OK);
	assert_int_equal(connect_to(f, NULL, &connections[1]), VBD_OK);
	f->alice->quotas.connections = 1;
	assert_false(connections[0]->object.ended);
	assert_int_equal(connect_to(f, NULL, &connections[2]), VBD_E_QUOTA_EXCEEDED);
	refused_for(f, VBD_QUOTA_connections);
	act_as(f, NULL);
}

/* --- memory ---------------------------------------------------------------------------------- */

static enum vbd_status make_buffer(
	struct fixture *f, uint64_t size_bytes, struct vbd_buffer **ret_buffer)
{
	const struct vbd_buffer_spec spec = {.origin = f->svc->origin, .size_bytes = size_bytes};

	return vbd_buffer_create(f->svc->daemon, &spec, ret_buffer, &f->err);
}

CALLER_QUOTAS_TEST(test_quotas__buffers_count_until_they_are_deleted)
{
	struct vbd_buffer *first, *other;

	f->alice->quotas.buffers = 1;
	act_as(f, f->alice);
	assert_int_equal(make_buffer(f, 4096, &first), VBD_OK);
	assert_int_equal(make_buffer(f, 4096, &other), VBD_E_QUOTA_EXCEEDED);
	refused_for(f, VBD_QUOTA_buffers);
	act_as(f, f->bob);
	assert_int_equal(make_buffer(f, 4096, &other), VBD_OK);
	act_as(f, f->alice);
	SVC_UNTIL(f->svc, first->state == VBD_BUFFER_READY);
	assert_int_equal(vbd_buffer_delete(first, &f->err), VBD_OK);
	SVC_UNTIL(f->svc, f->alice->used[VBD_QUOTA_buffers] == 0);
	used_is(f->alice, VBD_QUOTA_pinned_bytes, 0);
	assert_int_equal(make_buffer(f, 4096, &other), VBD_OK);
	act_as(f, NULL);
	SVC_UNTIL(f->svc, other->state == VBD_BUFFER_READY);
}

CALLER_QUOTAS_TEST(test_quotas__a_failed_registration_pins_nothing)
{
	struct vbd_buffer *buffer;

	act_as(f, f->alice);
	fake_fail_next("ibv_reg_mr", ENOMEM);
	assert_int_equal(make_buffer(f, 4096, &buffer), VBD_OK);
	used_is(f->alice, VBD_QUOTA_pinned_bytes, 4096);
	SVC_UNTIL(f->svc, buffer->state == VBD_BUFFER_FAILED);
	used_is(f->alice, VBD_QUOTA_pinned_bytes, 0);
	used_is(f->alice, VBD_QUOTA_buffers, 1);
	act_as(f, NULL);
}

static enum vbd_status make_endpoint(struct fixture *f)
{
	struct vbd_endpoint_spec spec = {
		.origin = f->svc->origin, .params = vbd_endpoint_params_default()};
	struct vbd_endpoint_record *record;

	return vbd_endpoint_create(f->svc->daemon, &spec, &record, &f->err);
}

static void on_srq_made(struct vbd_shared *srq, const struct vbd_error *err, void *arg)
{
	(void)err;
	*(struct vbd_shared **)arg = srq;
}

static enum vbd_status ask_for_srq(struct fixture *f)
{
	const struct vbd_srq_spec spec = {
		.origin = f->svc->origin, .params = {.depth = 4096, .recv_size_bytes = 64}};
	struct vbd_srq_creation *creation;

	return vbd_srq_request(f->svc->daemon, &spec, on_srq_made, NULL, &creation, &f->err);
}

/* Make an SRQ, which counts from its request on. */
static struct vbd_shared *make_srq(struct fixture *f)
{
	const struct vbd_srq_spec spec = {
		.origin = f->svc->origin, .params = {.depth = 64, .recv_size_bytes = 64}};
	uint64_t before_bytes = f->svc->origin.caller->used[VBD_QUOTA_pinned_bytes];
	struct vbd_srq_creation *creation;
	struct vbd_shared *srq = NULL;

	assert_int_equal(
		vbd_srq_request(f->svc->daemon, &spec, on_srq_made, &srq, &creation, &f->err),
		VBD_OK);
	assert_true(f->svc->origin.caller->used[VBD_QUOTA_pinned_bytes] > before_bytes);
	SVC_UNTIL(f->svc, srq);
	return srq;
}

CALLER_QUOTAS_TEST(test_quotas__what_could_not_be_made_does_not_count)
{
	const struct vbd_buffer_spec spec = {
		.origin.caller = f->alice, .name = "taken", .size_bytes = 4096};
	struct vbd_buffer *buffer, *other;

	act_as(f, f->alice);
	fake_fail_next("ibv_create_qp", ENOMEM);
	assert_int_equal(make_endpoint(f), VBD_OK);
	SVC_UNTIL(f->svc, f->svc->daemon->ud_endpoints->open == 0);
	used_is(f->alice, VBD_QUOTA_pinned_bytes, 0);
	assert_int_equal(vbd_buffer_create(f->svc->daemon, &spec, &buffer, NULL), VBD_OK);
	assert_int_equal(vbd_buffer_create(f->svc->daemon, &spec, &other, NULL), VBD_E_NAME_TAKEN);
	used_is(f->alice, VBD_QUOTA_buffers, 1);
	used_is(f->alice, VBD_QUOTA_pinned_bytes, 4096);
	act_as(f, NULL);
	SVC_UNTIL(f->svc, buffer->state == VBD_BUFFER_READY);
}

CALLER_QUOTAS_TEST(test_quotas__buffers_and_receives_share_the_pinned_bytes)
{
	struct vbd_connection *connection;
	struct vbd_buffer *buffer, *other;
	struct vbd_shared *srq;

	f->alice->quotas.pinned_bytes = 8192;
	act_as(f, f->alice);
	assert_int_equal(make_buffer(f, 4096, &buffer), VBD_OK);
	srq = make_srq(f);
	used_is(f->alice, VBD_QUOTA_pinned_bytes, 4096 + srq->srq->mem.size_bytes);
	assert_int_equal(make_buffer(f, 4096, &other), VBD_E_QUOTA_EXCEEDED);
	refused_for(f, VBD_QUOTA_pinned_bytes);
	act_as(f, f->alice);
	assert_int_equal(make_endpoint(f), VBD_E_QUOTA_EXCEEDED);
	refused_for(f, VBD_QUOTA_pinned_bytes);
	act_as(f, f->alice);
	assert_int_equal(ask_for_srq(f), VBD_E_QUOTA_EXCEEDED);
	refused_for(f, VBD_QUOTA_pinned_bytes);
	f->alice->quotas.pinned_bytes = 4096 + srq->srq->mem.size_bytes;
	act_as(f, f->alice);
	assert_int_equal(connect_to(f, NULL, &connection), VBD_E_QUOTA_EXCEEDED);
	refused_for(f, VBD_QUOTA_pinned_bytes);
	act_as(f, f->bob);
	assert_int_equal(connect_to(f, NULL, &connection), VBD_OK);
	used_is(f->bob, VBD_QUOTA_pinned_bytes, connection->receive_bytes);
	assert_int_equal(make_endpoint(f), VBD_OK);
	assert_true(f->bob->used[VBD_QUOTA_pinned_bytes] > connection->receive_bytes);
	SVC_UNTIL(f->svc, buffer->state == VBD_BUFFER_READY);
	assert_int_equal(vbd_buffer_delete(buffer, NULL), VBD_OK);
	SVC_UNTIL(f->svc, f->alice->used[VBD_QUOTA_pinned_bytes] == srq->srq->mem.size_bytes);
	act_as(f, f->alice);
	assert_int_equal(make_buffer(f, 4096, &other), VBD_OK);
	assert_int_equal(vbd_shared_delete(srq, NULL, &(struct vbd_users){0}, NULL), VBD_OK);
	used_is(f->alice, VBD_QUOTA_pinned_bytes, 4096);
	act_as(f, NULL);
	SVC_UNTIL(f->svc, other->state == VBD_BUFFER_READY);
}

/* --- transfers ------------------------------------------------------------------------------- */

CALLER_QUOTAS_TEST(test_quotas__transfers_count_until_they_end)
{
	struct vbd_transfer_record *first, *other;
	struct vbd_daemon *daemon = f->svc->daemon;
	struct svc_pair pair;

	f->alice->quotas.transfers = 1;
	act_as(f, f->alice);
	pair = svc_pair(f->svc, svc_listen(f->svc, NULL));
	assert_int_equal(svc_send_message(pair.active, (const uint8_t *)"x", 1, NULL, 10000, &first,
				 &f->err),
		VBD_OK);
	used_is(f->alice, VBD_QUOTA_transfers, 1);
	assert_int_equal(svc_send_message(pair.active, (const uint8_t *)"x", 1, NULL, 10000, &other,
				 &f->err),
		VBD_E_QUOTA_EXCEEDED);
	refused_for(f, VBD_QUOTA_transfers);
	assert_int_equal(daemon->transfers->open, 1);
	SVC_UNTIL(f->svc, vbd_transfer_state_ended(first->transfer.state));
	used_is(f->alice, VBD_QUOTA_transfers, 0);
	act_as(f, f->alice);
	assert_int_equal(svc_send_message(pair.active, (const uint8_t *)"x", 1, NULL, 10000, &other,
				 &f->err),
		VBD_OK);
	SVC_UNTIL(f->svc, vbd_transfer_state_ended(other->transfer.state));
	act_as(f, NULL);
}

/* --- requests -------------------------------------------------------------------------------- */

CALLER_QUOTAS_TEST(test_quotas__requests_are_rationed_by_the_second)
{
	uint64_t now_ns = 1000 * VBD_NS_PER_S;

	f->alice->quotas.requests_per_s = 2;
	f->bob->quotas.requests_per_s = 1;
	assert_int_equal(vbd_quota_take_request(f->alice, now_ns, &f->err), VBD_OK);
	assert_int_equal(vbd_quota_take_request(f->alice, now_ns, &f->err), VBD_OK);
	assert_int_equal(vbd_quota_take_request(f->alice, now_ns, &f->err), VBD_E_THROTTLED);
	refused_for(f, VBD_QUOTA_requests_per_s);
	assert_true(vbd_status_retry_after_s(f->err.status) > 0);
	assert_int_equal(vbd_quota_used(f->alice, VBD_QUOTA_requests_per_s, now_ns), 2);
	assert_int_equal(vbd_quota_take_request(f->bob, now_ns, &f->err), VBD_OK);
	now_ns += VBD_NS_PER_S / 2;
	assert_int_equal(vbd_quota_used(f->alice, VBD_QUOTA_requests_per_s, now_ns), 1);
	assert_int_equal(vbd_quota_take_request(f->alice, now_ns, NULL), VBD_OK);
	assert_int_equal(vbd_quota_take_request(f->alice, now_ns, NULL), VBD_E_THROTTLED);
	assert_int_equal(vbd_quota_take_request(NULL, now_ns, NULL), VBD_OK);
}

/* --- what is told ---------------------------------------------------------------------------- */

CALLER_QUOTAS_TEST(test_quotas__gauges_show_usage_and_quota)
{
	struct vbd_connection *connection;

	f->alice->quotas.connections = 7;
	act_as(f, f->alice);
	assert_int_equal(connect_to(f, NULL, &connection), VBD_OK);
	act_as(f, NULL);
	metrics_have(
		f, NULL, "verbsd_caller_usage{caller=\"alice\",quota=\"connections\"} 1\n", true);
	metrics_have(f, f->alice, "verbsd_caller_quota{caller=\"alice\",quota=\"connections\"} 7\n",
		true);
	metrics_have(f, f->alice, "quota=\"buffers\"", false);
	metrics_have(f, f->bob, "alice", false);
	metrics_have(f, NULL, "bob", false);
}
