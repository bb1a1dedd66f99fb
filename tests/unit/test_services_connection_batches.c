/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/connections/connections.h"
#include "daemon/core/batch.h"

#include "tests/unit/svc.h"

#define COUNT 40

static struct vbd_connection_spec spec_of(struct svc *svc, uint32_t count)
{
	struct vbd_connection_spec spec = svc_spec_to(svc_listen(svc, NULL));

	(void)snprintf(spec.name, sizeof(spec.name), "w");
	spec.count = count;
	spec.numbered = true;
	return spec;
}

static enum vbd_status try_begin(struct svc *svc, const struct vbd_connection_spec *spec,
	struct vbd_batch **ret_batch, struct vbd_error *err)
{
	struct vbd_object *objects[VBD_BATCH_MAX];
	enum vbd_status status = vbd_connections_prepare(svc->daemon, spec, objects, err);

	if (status)
		return status;
	status = vbd_batch_create(svc->daemon->connection_batches, &vbd_connection_batch_ops,
		objects, spec->count, ret_batch, err);
	for (uint32_t i = 0; status && i < spec->count; i++)
		vbd_connection_batch_ops.discard(objects[i]);
	return status;
}

static struct vbd_batch *begin(struct svc *svc, const struct vbd_connection_spec *spec)
{
	struct vbd_batch *batch = NULL;

	assert_int_equal(try_begin(svc, spec, &batch, &svc->err), VBD_OK);
	return batch;
}

static uint32_t count_of(const struct vbd_batch *batch, enum vbd_connection_outcome outcome)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < batch->count; i++)
		count += vbd_batch_outcome(&batch->items[i]) == outcome;
	return count;
}

static void wait_for_end(struct svc *svc, const struct vbd_batch *batch)
{
	SVC_UNTIL(svc, batch->state != VBD_BATCH_RUNNING);
	assert_true(batch->object.ended);
	assert_true(batch->object.ended_ns > 0);
	assert_int_equal(count_of(batch, VBD_CONNECTION_OUTCOME_QUEUED), 0);
	assert_int_equal(count_of(batch, VBD_CONNECTION_OUTCOME_CONNECTING), 0);
}

/* Nothing tells that a connection was tried. */
static void assert_nothing_made(struct svc *svc)
{
	assert_int_equal(vbd_registry_count(svc->daemon->connections), 0);
	assert_int_equal(vbd_registry_count(svc->daemon->connection_batches), 0);
	assert_int_equal(svc->daemon->connections->open, 0);
	assert_int_equal(svc->daemon->connections_in_state[VBD_CONN_QUEUED], 0);
	assert_int_equal(svc->daemon->qp_receives_bytes, 0);
	assert_true(vbd_list_empty(&svc->daemon->queued_connections));
	assert_int_equal(svc_count_events(svc, VBD_EVENT_CONNECTION_CREATED), 0);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_CONNECTION_DELETED), 0);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_CONNECTION_STATE_CHANGED), 0);
}

static void close_all(struct svc *svc)
{
	vbd_registry_for_each (object, svc->daemon->connections)
		vbd_object_cancel(object);
	SVC_UNTIL(svc, svc->daemon->connections->open == 0);
}

SVC_TEST(test_services_connection_batches__all_established_is_done)
{
	const struct vbd_connection_spec spec = spec_of(svc, COUNT);
	const struct vbd_batch *batch = begin(svc, &spec);
	char name[16];

	assert_int_equal(count_of(batch, VBD_CONNECTION_OUTCOME_QUEUED), COUNT);
	for (uint32_t i = 0; i < COUNT; i++) {
		struct vbd_object *object =
			vbd_registry_find_id(svc->daemon->connections, batch->items[i].id);

		(void)snprintf(name, sizeof(name), "w-%u", i + 1);
		assert_string_equal(object->name, name);
		assert_true(i == 0 || object->id > batch->items[i - 1].id);
	}
	wait_for_end(svc, batch);
	assert_int_equal(batch->state, VBD_BATCH_DONE);
	assert_int_equal(count_of(batch, VBD_CONNECTION_OUTCOME_ESTABLISHED), COUNT);
	assert_int_equal(batch->error.status, VBD_OK);
	assert_int_equal(svc->daemon->connects_in_flight, 0);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_CONNECTION_BATCH_CREATED), 1);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_CONNECTION_BATCH_ENDED), 1);
	close_all(svc);
	assert_int_equal(count_of(batch, VBD_CONNECTION_OUTCOME_ESTABLISHED), COUNT);
}

SVC_TEST(test_services_connection_batches__only_so_many_connect_at_a_time)
{
	struct vbd_connection_spec spec;
	const struct vbd_batch *one, *two;
	uint64_t most = 0;

	svc->config.connects_in_flight = 3;
	svc_restart(svc);
	spec = spec_of(svc, 10);
	one = begin(svc, &spec);
	(void)snprintf(spec.name, sizeof(spec.name), "v");
	two = begin(svc, &spec);
	UNIT_UNTIL (one->object.ended && two->object.ended) {
		vbd_loop_turn(svc->daemon->loop, true);
		assert_true(svc->daemon->connects_in_flight <= 3);
		assert_true(count_of(one, VBD_CONNECTION_OUTCOME_CONNECTING) +
				    count_of(two, VBD_CONNECTION_OUTCOME_CONNECTING) <=
			    3);
		if (svc->daemon->connects_in_flight > most)
			most = svc->daemon->connects_in_flight;
		/* The first that came is the first to be served. */
		if (count_of(one, VBD_CONNECTION_OUTCOME_QUEUED))
			assert_int_equal(count_of(two, VBD_CONNECTION_OUTCOME_QUEUED), 10);
	}
	assert_int_equal(most, 3);
	assert_int_equal(one->state, VBD_BATCH_DONE);
	assert_int_equal(two->state, VBD_BATCH_DONE);
	close_all(svc);
}

SVC_TEST(test_services_connection_batches__one_that_can_not_be_made_makes_none)
{
	struct vbd_connection_spec spec = spec_of(svc, COUNT), holder = spec;
	struct vbd_batch *batch = NULL;
	struct vbd_connection *other;
	struct vbd_error taken = {0}, full = {0}, long_name = {0};

	(void)snprintf(holder.name, sizeof(holder.name), "w-17");
	holder.count = 0;
	other = svc_connect(svc, &holder);
	SVC_UNTIL(svc, other->conn->state == VBD_CONN_ESTABLISHED);
	assert_int_equal(try_begin(svc, &spec, &batch, &taken), VBD_E_NAME_TAKEN);
	assert_string_equal(taken.pointer, "/name");
	svc->config.limits.connections = 20;
	(void)snprintf(spec.name, sizeof(spec.name), "u");
	assert_int_equal(try_begin(svc, &spec, &batch, &full), VBD_E_LIMIT_REACHED);
	svc->config.limits.connections = 10000;
	memset(spec.name, 'u', 61);
	spec.name[61] = '\0';
	assert_int_equal(try_begin(svc, &spec, &batch, &long_name), VBD_E_TOO_LONG);
	assert_string_equal(long_name.pointer, "/name");
	assert_int_equal(svc->daemon->connections->open, 2);
	assert_int_equal(vbd_registry_count(svc->daemon->connections), 2);
	assert_int_equal(svc->daemon->connections_in_state[VBD_CONN_QUEUED], 0);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_CONNECTION_CREATED), 1);
	close_all(svc);
}

SVC_TEST(test_services_connection_batches__without_memory_nothing_is_left)
{
	struct vbd_connection_spec spec = spec_of(svc, 3);
	struct vbd_batch *batch = NULL;
	enum vbd_status status = VBD_E_NO_MEMORY;

	for (unsigned int nth = 1; status; nth++) {
		struct vbd_error err = {0};

		fake_memory_fail_nth(nth);
		status = try_begin(svc, &spec, &batch, &err);
		fake_memory_fail_nth(0);
		if (!status)
			break;
		assert_int_equal(status, VBD_E_NO_MEMORY);
		assert_nothing_made(svc);
	}
	wait_for_end(svc, batch);
	close_all(svc);
}

SVC_TEST(test_services_connection_batches__those_that_fail_are_told)
{
	struct vbd_connection_spec spec = svc_spec_to(NULL);
	const struct vbd_batch *batch;
	struct vbd_error problem = {0};
	char text[40];

	spec.count = 3;
	batch = begin(svc, &spec);
	wait_for_end(svc, batch);
	assert_int_equal(batch->state, VBD_BATCH_FAILED);
	assert_int_equal(count_of(batch, VBD_CONNECTION_OUTCOME_FAILED), 3);
	assert_int_equal(batch->failures.total, 3);
	assert_in_range(batch->failures.items[0].id, batch->items[0].id, batch->items[2].id);
	assert_int_equal(batch->failures.items[0].err.status, batch->error.status);
	vbd_object_problem(&batch->object, &problem);
	(void)snprintf(text, sizeof(text),
		"connection %llu: ", (unsigned long long)batch->failures.items[0].id);
	assert_non_null(strstr(problem.text, text));
}

/* Whichever call fails, each connection has an outcome, and nothing stays behind. */
SVC_TEST(test_services_connection_batches__a_failing_call_ends_one_connection)
{
	struct vbd_connection_spec spec = spec_of(svc, 3);
	bool failed = true;

	spec.numbered = false;
	spec.name[0] = '\0';
	for (unsigned int nth = 1; failed; nth++) {
		const struct vbd_batch *batch;

		fake_fail_nth(nth, ENOMEM);
		batch = begin(svc, &spec);
		wait_for_end(svc, batch);
		SVC_UNTIL(svc, svc->daemon->connects_in_flight == 0);
		failed = fake_failed_call() != NULL;
		fake_fail_nth(0, 0);
		assert_true(failed || batch->state == VBD_BATCH_DONE);
		close_all(svc);
	}
}

SVC_TEST(test_services_connection_batches__a_cancel_closes_those_that_wait)
{
	struct vbd_connection_spec spec;
	struct vbd_batch *batch;

	svc->config.connects_in_flight = 1;
	svc_restart(svc);
	spec = spec_of(svc, COUNT);
	batch = begin(svc, &spec);
	SVC_UNTIL(svc, count_of(batch, VBD_CONNECTION_OUTCOME_ESTABLISHED) == 2);
	assert_false(vbd_object_delete(&batch->object));
	SVC_UNTIL(svc, vbd_registry_count(svc->daemon->connection_batches) == 0);
	assert_true(vbd_list_empty(&svc->daemon->queued_connections));
	/* The established ones stay, with their peers. */
	SVC_UNTIL(svc, svc->daemon->connections_in_state[VBD_CONN_ESTABLISHED] == 4 &&
			       svc->daemon->connections->open == 4);
	close_all(svc);
}

SVC_TEST(test_services_connection_batches__what_waits_ends_with_the_daemon)
{
	struct vbd_connection_spec spec;

	svc->config.connects_in_flight = 1;
	svc_restart(svc);
	spec = spec_of(svc, COUNT);
	(void)begin(svc, &spec);
	svc_restart(svc);
	assert_nothing_made(svc);
}

SVC_TEST(test_services_connection_batches__a_turn_announces_and_starts_a_few)
{
	struct vbd_connection_spec spec;
	unsigned int announced = 0;

	svc->config.connects_in_flight = 1000;
	svc_restart(svc);
	spec = spec_of(svc, 500);
	(void)begin(svc, &spec);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_CONNECTION_CREATED), 0);
	UNIT_UNTIL (announced >= 500) {
		uint64_t queued = svc->daemon->connections_in_state[VBD_CONN_QUEUED];
		unsigned int before = announced;

		vbd_loop_turn(svc->daemon->loop, false);
		announced = svc_count_events(svc, VBD_EVENT_CONNECTION_CREATED);
		assert_in_range(announced - before, 0, 100 + 16);
		assert_in_range(queued - svc->daemon->connections_in_state[VBD_CONN_QUEUED], 0, 16);
	}
	close_all(svc);
}

SVC_TEST(test_services_connection_batches__without_time_a_turn_starts_one)
{
	struct vbd_connection_spec spec = spec_of(svc, COUNT);

	svc->daemon->turns.budget_ns = 0;
	(void)begin(svc, &spec);
	UNIT_UNTIL (svc->daemon->connections_in_state[VBD_CONN_QUEUED] == 0) {
		uint64_t queued = svc->daemon->connections_in_state[VBD_CONN_QUEUED];

		vbd_loop_turn(svc->daemon->loop, false);
		assert_in_range(queued - svc->daemon->connections_in_state[VBD_CONN_QUEUED], 0, 1);
	}
	close_all(svc);
}

static void on_stopped(void *arg)
{
	*(bool *)arg = true;
}

SVC_TEST(test_services_connection_batches__a_stop_closes_a_few_in_a_turn)
{
	struct vbd_connection_spec spec;
	bool stopped = false;

	svc->config.connects_in_flight = 1;
	svc_restart(svc);
	spec = spec_of(svc, 200);
	(void)begin(svc, &spec);
	vbd_daemon_stop(svc->daemon, on_stopped, &stopped);
	assert_in_range(svc->daemon->connections->open, 200 - 16, 200);
	UNIT_UNTIL (svc->daemon->connections->open == 0) {
		uint32_t open = svc->daemon->connections->open;

		vbd_loop_turn(svc->daemon->loop, false);
		assert_in_range(open - svc->daemon->connections->open, 0, 16);
	}
	assert_int_equal(svc_count_events(svc, VBD_EVENT_CONNECTION_CREATED), 200);
	SVC_UNTIL(svc, stopped);
}
