/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "daemon/faults/faults.h"

#include "daemon/observe/explain.h"
#include "tests/unit/openapi.h"
#include "tests/unit/svc.h"

static struct vbd_explanation explained; /* too large for a stack frame */

static int setup(void **state)
{
	struct svc *svc;

	if (svc_setup(state) != 0)
		return -1;
	svc = *state;
	svc->config.fault_injection = true;
	return 0;
}

#define FAULTS_TEST(name) TEST_WITH(name, struct svc *svc, setup, svc_teardown)

static struct vbd_fault_spec spec_of(enum vbd_fault_effect effect)
{
	return (struct vbd_fault_spec){
		.effect = effect,
		.rule = {.probability_percent = 100},
		.expires_ms = VBD_FAULT_EXPIRES_MS,
	};
}

static struct vbd_fault_spec failing(enum vbd_pv_call call, int errnum)
{
	struct vbd_fault_spec spec = spec_of(VBD_FAULT_FAIL_CALL);

	spec.rule.call = call;
	spec.rule.errnum = errnum;
	spec.call_seen = true;
	return spec;
}

static struct vbd_fault_record *inject(struct svc *svc, const struct vbd_fault_spec *spec)
{
	struct vbd_fault_record *record = NULL;

	assert_int_equal(vbd_fault_create(svc->daemon, spec, &record, &svc->err), VBD_OK);
	return record;
}

static uint64_t fired(const struct vbd_fault_record *record)
{
	return vbd_fault_fired(&record->fault);
}

static void assert_refused(struct svc *svc, const struct vbd_fault_spec *spec,
	enum vbd_status status, const char *pointer)
{
	struct vbd_fault_record *record = NULL;
	struct vbd_error err = {0};

	assert_int_equal(vbd_fault_create(svc->daemon, spec, &record, &err), status);
	assert_null(record);
	assert_string_equal(err.pointer, pointer);
	assert_int_equal(vbd_registry_count(svc->daemon->faults), 0);
}

/* The first line says that the fault did it. */
static void assert_told(const struct vbd_connection *connection, const char *fault)
{
	vbd_explain_connection(connection, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	assert_true(explained.verdicts.cause_count > 0);
	assert_ptr_equal(
		explained.verdicts.causes[0].row, &vbd_cause_rows[VBD_CAUSE_FAULT_ON_PURPOSE]);
	assert_non_null(strstr(explained.verdicts.causes[0].text, fault));
}

static void assert_not_told(const struct vbd_connection *connection)
{
	vbd_explain_connection(connection, NULL, NULL, VBD_ROLE_OPERATE, &explained);
	for (size_t i = 0; i < explained.verdicts.cause_count; i++)
		assert_ptr_not_equal(explained.verdicts.causes[i].row,
			&vbd_cause_rows[VBD_CAUSE_FAULT_ON_PURPOSE]);
}

/* A send of @messages messages from the active side, or NULL for what can't begin. */
static struct vbd_transfer_record *begin_send(
	struct svc *svc, const struct svc_pair *pair, unsigned int messages, uint32_t timeout_ms)
{
	const struct vbd_transfer_spec spec = {
		.qp = &pair->active->conn->qp,
		.buffer = svc_buffer(svc, "", 4096, 0),
		.op = VBD_OP_SEND,
		.length_bytes = messages * 8,
		.message_bytes = 8,
		.timeout_ms = timeout_ms,
	};
	struct vbd_transfer_record *record = NULL;

	assert_int_equal(vbd_transfer_create(svc->daemon, &spec, &record, &svc->err), VBD_OK);
	return record;
}

static bool is_over(const struct vbd_transfer_record *record)
{
	return vbd_transfer_state_ended(record->transfer.state);
}

/* Two connections, of which the passive one takes all messages. */
static struct svc_pair sink_pair(struct svc *svc)
{
	struct vbd_listener_spec spec = svc_listener_spec();

	spec.params.qp.service = VBD_SERVICE_SINK;
	return svc_pair(svc, svc_listen(svc, &spec));
}

/* --- what is refused ------------------------------------------------------------------------- */

FAULTS_TEST(test_faults__names_are_those_of_the_contract)
{
	struct openapi_enum contract;

	openapi_read_enum("FaultEffect", &contract);
	assert_int_equal(contract.count, VBD_FAULT_EFFECT_COUNT);
	for (unsigned int i = 0; i < VBD_FAULT_EFFECT_COUNT; i++)
		assert_true(openapi_enum_has(
			&contract, vbd_fault_effect_name((enum vbd_fault_effect)i)));
	openapi_read_enum("FaultCall", &contract);
	assert_int_equal(contract.count, VBD_PV_CALL_COUNT);
	for (unsigned int i = 0; i < VBD_PV_CALL_COUNT; i++)
		assert_true(openapi_enum_has(&contract, vbd_pv_call_name((enum vbd_pv_call)i)));
}

FAULTS_TEST(test_faults__none_without_the_key_in_the_configuration)
{
	const struct vbd_fault_spec spec = spec_of(VBD_FAULT_QP_ERROR);

	svc->config.fault_injection = false;
	assert_refused(svc, &spec, VBD_E_FAULT_INJECTION_OFF, "");
	assert_int_equal(svc_count_events(svc, VBD_EVENT_FAULT_CREATED), 0);
}

FAULTS_TEST(test_faults__members_without_a_meaning_are_refused)
{
	struct vbd_fault_spec spec = spec_of(VBD_FAULT_FAIL_CALL);

	assert_refused(svc, &spec, VBD_E_MISSING_FIELD, "/call");
	spec.call_seen = true;
	spec.target.id = 1;
	assert_refused(svc, &spec, VBD_E_BAD_VALUE, "/target");
	spec.target = (struct vbd_fault_target){.selector.count = 1};
	assert_refused(svc, &spec, VBD_E_BAD_VALUE, "/selector");
	spec = spec_of(VBD_FAULT_DELAY_COMPLETIONS);
	assert_refused(svc, &spec, VBD_E_MISSING_FIELD, "/delay_ms");
	spec = spec_of(VBD_FAULT_HOLD_RECEIVES);
	spec.call_seen = true;
	assert_refused(svc, &spec, VBD_E_BAD_VALUE, "/call");
	spec.call_seen = false;
	spec.errnum_seen = true;
	assert_refused(svc, &spec, VBD_E_BAD_VALUE, "/errno");
	spec.errnum_seen = false;
	spec.delay_seen = true;
	assert_refused(svc, &spec, VBD_E_BAD_VALUE, "/delay_ms");
}

/* --- which occasions are hit ----------------------------------------------------------------- */

static unsigned int hits_of(struct vbd_fault_rule rule, unsigned int occasions)
{
	struct vbd_fault fault = {.effect = VBD_FAULT_REFUSE_ACCEPTS, .rule = rule};
	unsigned int hits = 0;

	vbd_list_init(&fault.link);
	vbd_fault_arm(&fault);
	for (unsigned int i = 0; i < occasions; i++)
		hits += vbd_fault_take(VBD_FAULT_REFUSE_ACCEPTS, 0, NULL, NULL);
	assert_int_equal(vbd_fault_fired(&fault), hits);
	vbd_fault_disarm(&fault);
	vbd_fault_disarm(&fault);
	assert_false(vbd_fault_take(VBD_FAULT_REFUSE_ACCEPTS, 0, NULL, NULL));
	return hits;
}

FAULTS_TEST(test_faults__a_rule_says_which_occasions_are_hit)
{
	unsigned int drawn;

	assert_int_equal(hits_of((struct vbd_fault_rule){.probability_percent = 100}, 10), 10);
	assert_int_equal(
		hits_of((struct vbd_fault_rule){.probability_percent = 100, .after = 4}, 10), 6);
	assert_int_equal(
		hits_of((struct vbd_fault_rule){.probability_percent = 100, .after = 4, .count = 2},
			10),
		2);
	/* Chance would miss this range once in 10^80 runs. */
	drawn = hits_of((struct vbd_fault_rule){.probability_percent = 50}, 10000);
	assert_in_range(drawn, 4000, 6000);
}

/* --- FAIL_CALL ------------------------------------------------------------------------------- */

FAULTS_TEST(test_faults__the_nth_call_fails_and_the_next_works)
{
	struct vbd_fault_spec spec = failing(VBD_PV_CALL_CREATE_QP, ENOMEM);
	struct vbd_listener *listener = svc_listen(svc, NULL);
	const struct vbd_connection_spec to = svc_spec_to(listener);
	struct vbd_fault_record *record;
	struct vbd_connection *failed;
	struct vbd_error problem;

	spec.rule.after = 2;
	spec.rule.count = 1;
	record = inject(svc, &spec);
	(void)svc_pair(svc, listener);
	assert_int_equal(fired(record), 0);
	failed = svc_connect(svc, &to);
	SVC_UNTIL(svc, failed->object.ended);
	assert_int_equal(fired(record), 1);
	vbd_object_problem(&failed->object, &problem);
	assert_int_equal(problem.raw, ENOMEM);
	assert_string_equal(problem.call, "ibv_create_qp");
	assert_non_null(strstr(problem.text, "a fault makes this call fail"));
	assert_told(failed, "fail_call");
	(void)svc_pair(svc, listener);
	vbd_fault_delete(record);
	svc_turn(svc);
	assert_int_equal(vbd_registry_count(svc->daemon->faults), 0);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_FAULT_CREATED), 1);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_FAULT_FIRED), 1);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_FAULT_DELETED), 1);
}

FAULTS_TEST(test_faults__a_post_that_fails_ends_its_connection)
{
	const struct vbd_fault_spec spec = failing(VBD_PV_CALL_POST_SEND, EIO);
	struct svc_pair pair = sink_pair(svc);
	struct vbd_fault_record *record = inject(svc, &spec);
	struct vbd_transfer_record *transfer = begin_send(svc, &pair, 2, 10000);

	SVC_UNTIL(svc, is_over(transfer) && pair.active->object.ended);
	assert_int_equal(transfer->transfer.state, VBD_TRANSFER_FAILED);
	assert_true(fired(record) > 0);
	assert_told(pair.active, "fail_call");
}

/* --- the data path --------------------------------------------------------------------------- */

FAULTS_TEST(test_faults__held_receives_make_the_peer_wait_until_it_is_over)
{
	struct svc_pair pair = sink_pair(svc);
	struct vbd_fault_spec spec = spec_of(VBD_FAULT_HOLD_RECEIVES);
	struct vbd_fault_record *record;
	struct vbd_transfer_record *transfer;

	spec.target.id = pair.passive->object.id;
	record = inject(svc, &spec);
	transfer = begin_send(svc, &pair, 20, 20000);
	SVC_UNTIL(svc, fired(record) == pair.passive->conn->params.qp.rq_depth);
	assert_false(is_over(transfer));
	vbd_fault_delete(record);
	SVC_UNTIL(svc, is_over(transfer));
	assert_int_equal(transfer->transfer.state, VBD_TRANSFER_DONE);
}

FAULTS_TEST(test_faults__two_that_hold_are_both_to_be_deleted)
{
	struct svc_pair pair = sink_pair(svc);
	const uint32_t depth = pair.passive->conn->params.qp.rq_depth;
	struct vbd_fault_spec spec = spec_of(VBD_FAULT_HOLD_RECEIVES);
	struct vbd_fault_record *first, *second;
	struct vbd_transfer_record *transfer;

	spec.target.id = pair.passive->object.id;
	first = inject(svc, &spec);
	second = inject(svc, &spec);
	transfer = begin_send(svc, &pair, 20, 20000);
	SVC_UNTIL(svc, fired(first) == depth);
	vbd_fault_delete(first);
	SVC_UNTIL(svc, fired(second) == depth);
	assert_false(is_over(transfer));
	vbd_fault_delete(second);
	SVC_UNTIL(svc, is_over(transfer));
	assert_int_equal(transfer->transfer.state, VBD_TRANSFER_DONE);
}

FAULTS_TEST(test_faults__a_connection_with_held_receives_closes)
{
	struct svc_pair pair = sink_pair(svc);
	struct vbd_fault_spec spec = spec_of(VBD_FAULT_HOLD_RECEIVES);
	struct vbd_fault_record *record = inject(svc, &spec);

	(void)begin_send(svc, &pair, 20, 20000);
	SVC_UNTIL(svc, fired(record) == pair.passive->conn->params.qp.rq_depth);
	svc_close(svc, pair.passive);
	SVC_UNTIL(svc, pair.active->object.ended);
}

FAULTS_TEST(test_faults__a_delay_ends_with_its_fault)
{
	struct svc_pair pair = sink_pair(svc);
	struct vbd_fault_spec spec = spec_of(VBD_FAULT_DELAY_COMPLETIONS);
	struct vbd_fault_record *record;
	struct vbd_transfer_record *transfer, *other;
	struct svc_pair unhurt = sink_pair(svc);

	/* The last send is not hit, and waits behind the first. */
	spec.delay_seen = true;
	spec.rule.delay_ns = 90 * VBD_NS_PER_S;
	spec.rule.count = 1;
	spec.target.id = pair.active->object.id;
	record = inject(svc, &spec);
	transfer = begin_send(svc, &pair, 2, 30000);
	SVC_UNTIL(svc, fired(record) == 1);
	/* The workers have turned when the work of another connection is done. */
	for (int i = 0; i < 3; i++) {
		other = begin_send(svc, &unhurt, 2, 30000);
		SVC_UNTIL(svc, is_over(other));
	}
	assert_false(is_over(transfer));
	vbd_fault_delete(record);
	SVC_UNTIL(svc, is_over(transfer));
	assert_int_equal(transfer->transfer.state, VBD_TRANSFER_DONE);
	assert_int_equal(vbd_counter_get(&transfer->transfer.wrs_done), 2);
}

FAULTS_TEST(test_faults__a_delayed_completion_comes)
{
	struct svc_pair pair = sink_pair(svc);
	struct vbd_fault_spec spec = spec_of(VBD_FAULT_DELAY_COMPLETIONS);
	struct vbd_transfer_record *transfer;
	struct vbd_fault_record *record;

	spec.delay_seen = true;
	spec.rule.delay_ns = 1000000;
	record = inject(svc, &spec);
	transfer = begin_send(svc, &pair, 10, 30000);
	SVC_UNTIL(svc, is_over(transfer));
	assert_int_equal(transfer->transfer.state, VBD_TRANSFER_DONE);
	assert_true(fired(record) >= 10);
}

FAULTS_TEST(test_faults__a_dropped_completion_leaves_a_transfer_to_its_deadline)
{
	struct svc_pair pair = sink_pair(svc);
	struct vbd_fault_spec spec = spec_of(VBD_FAULT_DROP_COMPLETIONS);
	struct vbd_transfer_record *transfer;

	spec.target.id = pair.active->object.id;
	(void)inject(svc, &spec);
	transfer = begin_send(svc, &pair, 1, 5);
	SVC_UNTIL(svc, transfer->transfer.state == VBD_TRANSFER_CANCELLING);
	/* End the grace period at once. */
	vbd_timer_set(transfer->object.deadline, 0);
	SVC_UNTIL(svc, is_over(transfer));
	assert_int_equal(transfer->transfer.state, VBD_TRANSFER_TIMED_OUT);
	SVC_UNTIL(svc, pair.active->object.ended);
	assert_told(pair.active, "drop_completions");
}

/* --- connections and listeners --------------------------------------------------------------- */

FAULTS_TEST(test_faults__a_queue_pair_moved_to_err_ends_its_connection)
{
	struct vbd_listener *listener = svc_listen(svc, NULL);
	struct svc_pair struck = svc_pair(svc, listener);
	struct svc_pair other = svc_pair(svc, listener);
	struct vbd_fault_spec spec = spec_of(VBD_FAULT_QP_ERROR);
	struct vbd_fault_record *record;

	spec.target.id = struck.active->object.id;
	record = inject(svc, &spec);
	SVC_UNTIL(svc, struck.active->object.ended);
	assert_int_equal(struck.active->conn->qp.reason, VBD_REASON_QP_FATAL);
	assert_int_equal(fired(record), 1);
	assert_told(struck.active, "qp_error");
	SVC_UNTIL(svc, struck.passive->object.ended);
	assert_not_told(struck.passive);
	assert_int_equal(other.active->conn->state, VBD_CONN_ESTABLISHED);
	(void)svc_pair(svc, listener);
	assert_int_equal(fired(record), 1);
}

static struct vbd_fault_spec for_job(const char *job)
{
	struct vbd_fault_spec spec = spec_of(VBD_FAULT_QP_ERROR);
	char text[80];

	(void)snprintf(text, sizeof(text), "job=%s", job);
	assert_int_equal(
		vbd_label_selector_parse(&spec.target.selector, text, "/selector", NULL), VBD_OK);
	return spec;
}

FAULTS_TEST(test_faults__labels_select_connections)
{
	struct vbd_labels *labels = vbd_labels_create(1);
	const struct vbd_fault_spec missed = for_job("y"), met = for_job("x");
	struct vbd_listener *listener = svc_listen(svc, NULL);
	struct svc_pair plain = svc_pair(svc, listener);
	const struct vbd_connection_spec to = svc_spec_to(listener);
	struct vbd_connection *labelled;
	struct vbd_fault_record *record;

	vbd_labels_add(labels, "job", "x");
	svc->origin.labels = labels;
	labelled = svc_connect(svc, &to);
	svc->origin.labels = NULL;
	vbd_labels_unref(labels);
	SVC_UNTIL(svc, labelled->conn->state == VBD_CONN_ESTABLISHED);
	record = inject(svc, &missed);
	(void)inject(svc, &met);
	SVC_UNTIL(svc, labelled->object.ended);
	assert_int_equal(plain.active->conn->state, VBD_CONN_ESTABLISHED);
	assert_int_equal(fired(record), 0);
}

FAULTS_TEST(test_faults__a_listener_refuses_with_the_reason)
{
	struct vbd_listener_spec how = svc_listener_spec();
	struct vbd_fault_spec spec = spec_of(VBD_FAULT_REFUSE_ACCEPTS);
	struct vbd_listener *named, *other;
	struct vbd_connection_spec to;
	struct vbd_connection *refused;
	struct vbd_error problem;

	(void)snprintf(how.name, sizeof(how.name), "door");
	named = svc_listen(svc, &how);
	other = svc_listen(svc, NULL);
	(void)snprintf(spec.target.name, sizeof(spec.target.name), "door");
	spec.rule.count = 1;
	(void)inject(svc, &spec);
	(void)svc_pair(svc, other);
	to = svc_spec_to(named);
	refused = svc_connect(svc, &to);
	SVC_UNTIL(svc, refused->object.ended);
	vbd_object_problem(&refused->object, &problem);
	assert_int_equal(problem.status, VBD_E_REJECTED);
	assert_int_equal(named->refused[VBD_CONNECT_REFUSAL_FAULT], 1);
	(void)svc_pair(svc, named);
}

/* --- the end of a fault ---------------------------------------------------------------------- */

FAULTS_TEST(test_faults__one_is_gone_after_its_time)
{
	struct vbd_fault_spec spec = spec_of(VBD_FAULT_REFUSE_ACCEPTS);

	spec.expires_ms = 1;
	(void)inject(svc, &spec);
	SVC_UNTIL(svc, vbd_registry_count(svc->daemon->faults) == 0);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_FAULT_DELETED), 1);
	(void)svc_pair(svc, svc_listen(svc, NULL));
}

FAULTS_TEST(test_faults__a_daemon_that_stops_takes_its_faults_along)
{
	struct vbd_fault_spec spec = spec_of(VBD_FAULT_HOLD_RECEIVES);

	(void)sink_pair(svc);
	(void)inject(svc, &spec);
	spec = for_job("x");
	(void)inject(svc, &spec);
	svc_stop(svc);
	for (unsigned int i = 0; i < VBD_FAULT_EFFECT_COUNT; i++)
		assert_false(vbd_faults_armed((enum vbd_fault_effect)i));
}
