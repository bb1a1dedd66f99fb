/* SPDX-License-Identifier: Apache-2.0 */
/* Queue pairs that are made before a connection needs them: what is made, taken and given up. */
#include "rdma/data/qp_pool.h"

#include "base/attr.h"
#include "rdma/data/calls.h"
#include "rdma/data/qp_pool_kinds.h"
#include "rdma/device/cq.h"
#include "rdma/fabric/shared.h"
#include "tests/unit/rig.h"
#include "tests/unit/slabs.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#define SIZE 6

static int setup(void **state)
{
	int rc = rig_setup(state);

	if (rc == 0)
		vbd_fabric_set_qp_pool(((struct rig *)*state)->fabric, SIZE);
	return rc;
}

static int setup_two_workers(void **state)
{
	int rc = rig_setup_two_workers(state);

	if (rc == 0)
		vbd_fabric_set_qp_pool(((struct rig *)*state)->fabric, SIZE);
	return rc;
}

static struct vbd_qp_pools *pools(struct rig *rig)
{
	return &rig->fabric->qp_pools;
}

/* As if no connection had opened for a while. */
static void fill(struct rig *rig)
{
	pools(rig)->last_open_ns = 0;
	vbd_fabric_turn_qp_pools(rig->fabric);
	rig_settle(rig);
}

static struct rig_conn *open_one(struct rig *rig, const struct vbd_conn_params *params)
{
	struct rig_conn *rc = rig_conn_connect(rig, params);

	assert_non_null(rc);
	assert_int_equal(rc->conn->state, VBD_CONN_ESTABLISHED);
	return rc;
}

static void open_and_fill(struct rig *rig)
{
	(void)open_one(rig, NULL);
	fill(rig);
	assert_int_equal(pools(rig)->queue_pairs, SIZE);
}

/* Nobody's queue pairs, those of connections aside. */
static unsigned int others(const struct rig *rig)
{
	unsigned int own = 0;

	for (unsigned int i = 0; i < rig->conn_count; i++)
		own += rig->conns[i].conn && rig->conns[i].conn->qp.ibv_qp;
	return fake_live().qps - own;
}

static void test_qp_pool__the_first_open_decides_what_the_next_one_finds(void **state)
{
	struct rig *rig = *state;
	struct rig_conn *rc;
	unsigned int created, moved;

	open_and_fill(rig);
	assert_int_equal(pools(rig)->misses, 1);
	assert_int_equal(others(rig), SIZE);
	created = fake_count("ibv_create_qp");
	moved = fake_count("ibv_modify_qp");
	rc = open_one(rig, NULL);
	assert_true(rc->conn->qp.pooled);
	assert_int_equal(pools(rig)->hits, 1);
	assert_int_equal(pools(rig)->queue_pairs, SIZE - 1);
	assert_int_equal(fake_count("ibv_create_qp"), created);
	/* To RTR and to RTS; it was in INIT with the access flags of the first one. */
	assert_int_equal(fake_count("ibv_modify_qp"), moved + 2);
	rig_close(rc);
	rig_assert_gone(rc);
}

static void test_qp_pool__is_filled_a_few_at_a_time_and_not_while_others_open(void **state)
{
	struct rig *rig = *state;
	unsigned int created;

	(void)open_one(rig, NULL);
	created = fake_count("ibv_create_qp");
	vbd_fabric_turn_qp_pools(rig->fabric);
	rig_settle(rig);
	assert_int_equal(fake_count("ibv_create_qp"), created);
	/* One call; the next one would follow when it is back. */
	pools(rig)->last_open_ns = 0;
	vbd_fabric_turn_qp_pools(rig->fabric);
	while (vbd_calls_busy(rig->fabric->calls))
		(void)sched_yield();
	assert_int_equal(fake_count("ibv_create_qp"), created + 4);
	fill(rig);
	assert_int_equal(fake_count("ibv_create_qp"), created + SIZE);
	fill(rig);
	assert_int_equal(fake_count("ibv_create_qp"), created + SIZE);
}

static void test_qp_pool__an_accepted_connection_takes_one_and_keeps_to_its_access(void **state)
{
	struct rig *rig = *state;
	struct rig_listener *listener;
	struct rig_conn *rc;

	open_and_fill(rig);
	listener = rig_listener(rig);
	listener->params.remote_access = 0;
	listener->accept = true;
	rig_listen(listener);
	rc = rig_request(listener);
	assert_non_null(rc);
	rig_settle(rig);
	assert_true(rc->conn->qp.pooled);
	assert_int_equal(rc->conn->qp.in_init.access, 0);
	assert_int_equal(pools(rig)->hits, 1);
	rig_close(rc);
}

static void test_qp_pool__other_parameters_do_not_fit(void **state)
{
	struct rig *rig = *state;
	struct vbd_conn_params params = rig_params();

	open_and_fill(rig);
	params.qp.sq_depth++;
	assert_false(open_one(rig, &params)->conn->qp.pooled);
	params = rig_params();
	params.qp.rq_depth++;
	assert_false(open_one(rig, &params)->conn->qp.pooled);
	params = rig_params();
	params.qp.max_send_sge--;
	assert_false(open_one(rig, &params)->conn->qp.pooled);
	params = rig_params();
	params.qp.max_recv_sge++;
	assert_false(open_one(rig, &params)->conn->qp.pooled);
	params = rig_params();
	params.qp.inline_bytes--;
	assert_false(open_one(rig, &params)->conn->qp.pooled);
	assert_int_equal(pools(rig)->hits, 0);
	assert_int_equal(pools(rig)->misses, 6);
	/* The queue pairs of the first open are still there. */
	assert_true(open_one(rig, NULL)->conn->qp.pooled);
}

static void test_qp_pool__is_shared_among_the_parameters_of_the_last_opens(void **state)
{
	struct rig *rig = *state;
	struct vbd_conn_params params = rig_params();

	params.qp.sq_depth = 2;
	open_and_fill(rig);
	(void)open_one(rig, &params);
	fill(rig);
	assert_int_equal(others(rig), SIZE);
	assert_true(open_one(rig, NULL)->conn->qp.pooled);
	assert_true(open_one(rig, &params)->conn->qp.pooled);
	/* Sixteen opens later nobody remembers the first ones. */
	for (int i = 0; i < 16; i++)
		rig_close(open_one(rig, &params));
	fill(rig);
	assert_int_equal(others(rig), SIZE);
	for (int i = 0; i < SIZE; i++)
		assert_true(open_one(rig, &params)->conn->qp.pooled);
	assert_false(open_one(rig, NULL)->conn->qp.pooled);
}

/* Half of an odd size is rounded up for both. */
static void test_qp_pool__shares_make_no_more_than_its_size(void **state)
{
	struct rig *rig = *state;
	struct vbd_conn_params params = rig_params();

	vbd_fabric_set_qp_pool(rig->fabric, 5);
	params.qp.sq_depth = 2;
	(void)open_one(rig, NULL);
	(void)open_one(rig, &params);
	for (int i = 0; i < 3; i++) {
		fill(rig);
		assert_true(pools(rig)->queue_pairs <= 5);
	}
	assert_int_equal(pools(rig)->queue_pairs, 5);
	assert_int_equal(others(rig), 5);
}

static void test_qp_pool__each_worker_finds_its_own(void **state)
{
	struct rig *rig = *state;

	(void)open_one(rig, NULL);
	(void)open_one(rig, NULL);
	fill(rig);
	assert_int_equal(pools(rig)->queue_pairs, SIZE);
	for (int i = 0; i < SIZE; i++)
		assert_true(open_one(rig, NULL)->conn->qp.pooled);
	assert_int_equal(pools(rig)->queue_pairs, 0);
}

static void test_qp_pool__one_that_is_brought_up_by_hand_takes_none(void **state)
{
	struct rig *rig = *state;
	struct rig_conn *rc;

	open_and_fill(rig);
	rc = rig_manual(rig, NULL, NULL);
	assert_non_null(rc);
	assert_false(rc->conn->qp.pooled);
	assert_int_equal(pools(rig)->hits, 0);
	assert_int_equal(pools(rig)->misses, 1);
}

static void test_qp_pool__none_is_made_over_iwarp_or_in_the_pd_of_a_client(void **state)
{
	struct rig *rig = *state;
	struct vbd_conn_params params = rig_params();
	struct vbd_pd *pd;

	assert_int_equal(vbd_fabric_make_pd(rig->fabric, vbd_fabric_device(rig->fabric, "fake0"),
				 &pd, &rig->err),
		VBD_OK);
	params.qp.pd_id = pd->id;
	rig_close(open_one(rig, &params));
	rig_make_iwarp(rig);
	rig_close(open_one(rig, NULL));
	fill(rig);
	assert_int_equal(pools(rig)->misses, 0);
	assert_int_equal(fake_live().qps, 0);
	vbd_pd_delete(pd);
}

static void test_qp_pool__takes_no_room_in_a_cq(void **state)
{
	struct rig *rig = *state;
	struct vbd_cq_totals before, after;

	(void)open_one(rig, NULL);
	vbd_fabric_cq_totals(rig->fabric, NULL, &before);
	fill(rig);
	vbd_fabric_cq_totals(rig->fabric, NULL, &after);
	assert_int_equal(after.reserved_cqe, before.reserved_cqe);
	assert_int_equal(after.capacity_cqe, before.capacity_cqe);
}

static void test_qp_pool__a_device_that_can_make_no_more_is_left_alone(void **state)
{
	struct rig *rig = *state;
	unsigned int created;

	(void)open_one(rig, NULL);
	fake_fail_next("ibv_create_qp", EAGAIN);
	fill(rig);
	assert_int_equal(pools(rig)->failures, 1);
	created = fake_count("ibv_create_qp");
	fill(rig);
	assert_int_equal(fake_count("ibv_create_qp"), created);
	assert_int_equal(pools(rig)->queue_pairs, 0);
	assert_false(open_one(rig, NULL)->conn->qp.pooled);
}

/* The queue pairs before the one that failed stay: each is one that an open or another object can
 * have. */
static void test_qp_pool__a_failure_keeps_what_could_be_made(void **state)
{
	struct rig *rig = *state;

	vbd_fabric_set_qp_pool(rig->fabric, 4);
	rig_settle(rig);
	/* The call makes each and moves it to INIT; a device that is new knows of no failure. */
	for (unsigned int nth = 1; nth <= 8; nth++) {
		(void)open_one(rig, NULL);
		fake_fail_nth(nth, ENOMEM);
		fill(rig);
		assert_int_equal(pools(rig)->queue_pairs, (nth - 1) / 2);
		assert_int_equal(others(rig), (nth - 1) / 2);
		fake_device_unplug(rig->device);
		unit_rescan(rig->fabric);
		rig_settle(rig);
		assert_true(fake_device_let_go(rig->device));
		rig->device = fake_device_add("fake0");
		unit_rescan(rig->fabric);
	}
	assert_int_equal(pools(rig)->failures, 8);
	assert_null(fake_misuse());
}

static void test_qp_pool__gives_way_to_an_open_that_the_device_refuses(void **state)
{
	struct rig *rig = *state;
	struct vbd_conn_params params = rig_params();
	struct rig_conn *rc;

	open_and_fill(rig);
	params.qp.sq_depth = 2;
	fake_fail_next("ibv_create_qp", EAGAIN);
	rc = open_one(rig, &params);
	assert_false(rc->conn->qp.pooled);
	assert_int_equal(pools(rig)->queue_pairs, SIZE - 1);
	assert_int_equal(others(rig), SIZE - 1);
	/* The pool waits before it asks the device again. */
	fill(rig);
	assert_int_equal(others(rig), SIZE - 1);
}

static void test_qp_pool__gives_way_to_a_cq_that_the_device_refuses(void **state)
{
	struct rig *rig = *state;
	struct vbd_device *device = vbd_fabric_device(rig->fabric, "fake0");
	struct vbd_cq *cq;

	open_and_fill(rig);
	fake_fail_next("ibv_create_cq", ENOMEM);
	assert_int_equal(vbd_fabric_make_cq(rig->fabric, device, 16, &cq, &rig->err), VBD_OK);
	assert_int_equal(rig->err.status, VBD_OK);
	rig_settle(rig);
	assert_int_equal(others(rig), SIZE - 1);
	vbd_fabric_delete_cq(rig->fabric, cq);
	rig_settle(rig);
}

static void test_qp_pool__gives_way_to_receives_that_the_device_refuses(void **state)
{
	struct rig *rig = *state;
	struct vbd_conn_params params = rig_params();
	struct rig_conn *rc;

	open_and_fill(rig);
	/* Longer than what the slab of the first connection has left. */
	params.qp.recv_size_bytes = 1 << 20;
	fake_fail_next("ibv_reg_mr", EAGAIN);
	rc = open_one(rig, &params);
	/* One for the memory; the connection has another one. */
	assert_true(rc->conn->qp.pooled);
	assert_int_equal(others(rig), SIZE - 2);
	/* A pool that has nothing left changes nothing. */
	vbd_fabric_set_qp_pool(rig->fabric, 0);
	rig_settle(rig);
	fake_fail_next("ibv_reg_mr", EAGAIN);
	rc = rig_conn_connect(rig, &params);
	assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
}

static void test_qp_pool__has_no_part_in_other_failures(void **state)
{
	struct rig *rig = *state;
	struct vbd_conn_params params = rig_params();
	struct rig_conn *rc;

	open_and_fill(rig);
	params.qp.sq_depth = 2;
	fake_fail_next("ibv_create_qp", EINVAL);
	rc = rig_conn_connect(rig, &params);
	assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
	assert_int_equal(pools(rig)->queue_pairs, SIZE);
}

static void test_qp_pool__goes_with_its_device(void **state)
{
	struct rig *rig = *state;

	open_and_fill(rig);
	fake_device_unplug(rig->device);
	unit_rescan(rig->fabric);
	rig_settle(rig);
	assert_int_equal(rig->removed, 1);
	assert_int_equal(pools(rig)->queue_pairs, 0);
	assert_int_equal(fake_live().qps, 0);
	assert_true(fake_device_let_go(rig->device));
}

static void test_qp_pool__a_device_that_goes_while_it_is_filled_goes_all_the_same(void **state)
{
	struct rig *rig = *state;

	(void)open_one(rig, NULL);
	pools(rig)->last_open_ns = 0;
	vbd_fabric_turn_qp_pools(rig->fabric);
	fake_device_unplug(rig->device);
	unit_rescan(rig->fabric);
	rig_settle(rig);
	assert_int_equal(rig->removed, 1);
	assert_int_equal(fake_live().qps, 0);
	assert_true(fake_device_let_go(rig->device));
}

static void test_qp_pool__a_smaller_size_empties_it_and_none_ends_it(void **state)
{
	struct rig *rig = *state;

	open_and_fill(rig);
	vbd_fabric_set_qp_pool(rig->fabric, 2);
	rig_settle(rig);
	assert_int_equal(others(rig), 0);
	(void)open_one(rig, NULL);
	fill(rig);
	assert_int_equal(others(rig), 2);
	vbd_fabric_set_qp_pool(rig->fabric, 0);
	rig_settle(rig);
	assert_int_equal(others(rig), 0);
	(void)open_one(rig, NULL);
	fill(rig);
	assert_int_equal(others(rig), 0);
	assert_int_equal(pools(rig)->misses, 2);
}

static void test_qp_pool__a_fabric_that_ends_destroys_it(void **state)
{
	struct rig *rig = *state;

	open_and_fill(rig);
	rig_stop(rig);
	assert_int_equal(fake_live().qps, 0);
}

static void test_qp_pool__does_not_keep_a_cq_that_a_client_deletes(void **state)
{
	struct rig *rig = *state;
	struct vbd_device *device = vbd_fabric_device(rig->fabric, "fake0");
	struct vbd_conn_params params = rig_params();
	unsigned int cqs = fake_live().cqs;
	struct vbd_cq *cq;

	assert_int_equal(vbd_fabric_make_cq(rig->fabric, device, 64, &cq, &rig->err), VBD_OK);
	params.qp.cq_id = cq->id;
	rig_close(open_one(rig, &params));
	fill(rig);
	assert_int_equal(cq->pooled, SIZE);
	assert_int_equal(cq->connections, 0);
	vbd_fabric_delete_cq(rig->fabric, cq);
	rig_settle(rig);
	assert_int_equal(fake_live().cqs, cqs);
	assert_int_equal(others(rig), 0);
	/* Its shape is forgotten too. */
	fill(rig);
	assert_int_equal(others(rig), 0);
}

static void test_qp_pool__does_not_keep_an_srq_that_a_client_deletes(void **state)
{
	const struct vbd_srq_params srq_params = {.depth = 8, .recv_size_bytes = 64};
	struct rig *rig = *state;
	struct vbd_device *device = vbd_fabric_device(rig->fabric, "fake0");
	struct vbd_conn_params params = rig_params();
	struct vbd_srq *srq;

	fake_one_thread();
	assert_int_equal(
		vbd_fabric_plan_srq(device->pd, NULL, &srq_params, &srq, &rig->err), VBD_OK);
	assert_int_equal(vbd_srq_prepare(srq, &rig->err), VBD_OK);
	assert_int_equal(vbd_fabric_add_srq(rig->fabric, srq, NULL, &rig->err), VBD_OK);
	params.qp.srq_id = srq->id;
	rig_close(open_one(rig, &params));
	fill(rig);
	assert_int_equal(srq->pooled, SIZE);
	assert_int_equal(srq->users, 0);
	assert_true(open_one(rig, &params)->conn->qp.pooled);
	rig_close(&rig->conns[rig->conn_count - 1]);
	vbd_fabric_delete_srq(srq);
	rig_settle(rig);
	assert_int_equal(fake_live().srqs, 0);
	assert_int_equal(others(rig), 0);
}

static void test_qp_pool__a_cq_that_the_device_gives_up_is_left(void **state)
{
	struct rig *rig = *state;
	struct rig_conn *rc;

	open_and_fill(rig);
	rc = &rig->conns[0];
	fake_cq_overrun(rc->conn->qp.channel->cq->cq, 1);
	rig_settle(rig);
	assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
	assert_int_equal(others(rig), 0);
	assert_false(open_one(rig, NULL)->conn->qp.pooled);
	fill(rig);
	assert_true(open_one(rig, NULL)->conn->qp.pooled);
}

static void test_qp_pool__a_connected_one_does_not_come_back(void **state)
{
	struct rig *rig = *state;
	struct rig_conn *rc;
	uint32_t lqpn;

	open_and_fill(rig);
	rc = open_one(rig, NULL);
	lqpn = rc->conn->qp.info.lqpn;
	rig_close(rc);
	fill(rig);
	assert_int_equal(pools(rig)->queue_pairs, SIZE);
	for (int i = 0; i < SIZE; i++)
		assert_int_not_equal(open_one(rig, NULL)->conn->qp.info.lqpn, lqpn);
}

static void test_qp_pool__a_new_kind_knows_nothing_of_the_one_before_it(void **state)
{
	static const struct vbd_qp_init nothing;
	struct vbd_qp_kinds kinds;
	struct vbd_qp_shape shape = {0};

	(void)state;
	vbd_qp_kinds_init(&kinds);
	for (shape.sq_depth = 1; shape.sq_depth <= 2 * VBD_QP_POOL_RECENT; shape.sq_depth++) {
		struct vbd_qp_kind *kind = vbd_qp_kinds_open(&kinds, &shape);

		assert_int_equal(kind->opens, 1);
		assert_int_equal(kind->shape.sq_depth, shape.sq_depth);
		assert_memory_equal(&kind->init, &nothing, sizeof(nothing));
		assert_ptr_equal(vbd_qp_kinds_find(&kinds, &shape), kind);
		kind->init.mask = 7;
		kind->init.port_num = 1;
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_qp_pool__##name, setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_open_decides_what_the_next_one_finds),
		TEST(is_filled_a_few_at_a_time_and_not_while_others_open),
		TEST(an_accepted_connection_takes_one_and_keeps_to_its_access),
		TEST(other_parameters_do_not_fit),
		TEST(is_shared_among_the_parameters_of_the_last_opens),
		TEST(shares_make_no_more_than_its_size),
		cmocka_unit_test_setup_teardown(
			test_qp_pool__each_worker_finds_its_own, setup_two_workers, rig_teardown),
		TEST(one_that_is_brought_up_by_hand_takes_none),
		TEST(none_is_made_over_iwarp_or_in_the_pd_of_a_client),
		TEST(takes_no_room_in_a_cq),
		TEST(a_device_that_can_make_no_more_is_left_alone),
		TEST(a_failure_keeps_what_could_be_made),
		TEST(gives_way_to_an_open_that_the_device_refuses),
		TEST(gives_way_to_a_cq_that_the_device_refuses),
		TEST(gives_way_to_receives_that_the_device_refuses),
		TEST(has_no_part_in_other_failures),
		TEST(goes_with_its_device),
		TEST(a_device_that_goes_while_it_is_filled_goes_all_the_same),
		TEST(a_smaller_size_empties_it_and_none_ends_it),
		TEST(a_fabric_that_ends_destroys_it),
		TEST(does_not_keep_a_cq_that_a_client_deletes),
		TEST(does_not_keep_an_srq_that_a_client_deletes),
		TEST(a_cq_that_the_device_gives_up_is_left),
		TEST(a_connected_one_does_not_come_back),
		cmocka_unit_test(test_qp_pool__a_new_kind_knows_nothing_of_the_one_before_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
