/* SPDX-License-Identifier: Apache-2.0 */
/* A shared receive queue whose worker the test turns by hand. */
#include "rdma/data/srq.h"

#include "rdma/data/worker.h"
#include "rdma/device/cq.h"
#include "rdma/device/pd.h"
#include "rdma/fabric/shared.h"
#include "tests/unit/rig.h"

#define DEPTH 8

static struct vbd_srq *make(struct rig *rig, uint32_t limit)
{
	const struct vbd_srq_params params = {
		.depth = DEPTH, .recv_size_bytes = 64, .limit = limit};
	struct vbd_pd *pd = vbd_fabric_device(rig->fabric, "fake0")->pd;
	struct vbd_srq *srq;

	fake_one_thread();
	assert_int_equal(vbd_fabric_plan_srq(pd, NULL, &params, &srq, &rig->err), VBD_OK);
	assert_int_equal(vbd_mem_prepare(&srq->mem, &rig->err), VBD_OK);
	assert_int_equal(vbd_fabric_add_srq(rig->fabric, srq, NULL, &rig->err), VBD_OK);
	rig_settle(rig);
	return srq;
}

static struct rig_conn *user(struct rig *rig, const struct vbd_srq *srq, enum vbd_service service)
{
	struct vbd_conn_params params = rig_params();
	struct rig_conn *rc;

	params.qp.srq_id = srq->id;
	params.qp.service = service;
	rc = rig_conn_connect(rig, &params);
	assert_int_equal(rc->conn->state, VBD_CONN_ESTABLISHED);
	rig_settle(rig);
	return rc;
}

static void arrive(struct rig_conn *rc, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		fake_recv_done(rc->conn->qp.ibv_qp, "x", 1);
		while (rig_turn_workers(rc->rig))
			;
	}
}

static void assert_posted(struct vbd_srq *srq, unsigned int posted)
{
	assert_int_equal(vbd_counter_get(&srq->posted), posted);
	assert_int_equal(fake_srq_recvs(srq->srq), posted);
	assert_int_equal(vbd_counter_get(&srq->cq->outstanding), posted);
	assert_int_equal(posted + srq->spare_count, DEPTH);
}

RIG_TEST(test_srq__its_receives_are_counted_and_go_with_it)
{
	struct vbd_srq *srq = make(rig, 0);
	struct vbd_cq *cq = srq->cq;

	assert_ptr_equal(vbd_fabric_srq(rig->fabric, srq->id), srq);
	assert_null(vbd_fabric_srq(rig->fabric, srq->id + 1));
	assert_posted(srq, DEPTH);
	assert_int_equal(vbd_counter_get(&cq->high_water), DEPTH);
	assert_int_equal(cq->reserved_cqe, DEPTH);
	assert_int_equal(rig->fabric->srqs_bytes, DEPTH * 64);
	assert_int_equal(fake_srq_limit(srq->srq), 0);
	for (uint32_t i = 0; i < DEPTH; i++)
		assert_ptr_equal(
			vbd_srq_recv_data(&srq->slots[i]), UNIT_BYTES(&srq->mem) + (size_t)i * 64);
	vbd_fabric_delete_srq(srq);
	assert_null(vbd_fabric_srq(rig->fabric, 1));
	rig_settle(rig);
	assert_int_equal(fake_live().srqs, 0);
	assert_int_equal(rig->fabric->srqs_bytes, 0);
	assert_int_equal(cq->reserved_cqe, 0);
	assert_int_equal(vbd_counter_get(&cq->outstanding), 0);
}

RIG_TEST(test_srq__the_last_to_use_a_deleted_cq_takes_it_along)
{
	struct vbd_device *device = vbd_fabric_device(rig->fabric, "fake0");
	const struct vbd_srq_params params = {.depth = DEPTH, .recv_size_bytes = 64};
	struct vbd_srq *srq;
	struct vbd_cq *cq;

	assert_int_equal(vbd_fabric_make_cq(rig->fabric, device, 64, &cq, &rig->err), VBD_OK);
	assert_int_equal(vbd_fabric_plan_srq(device->pd, cq, &params, &srq, &rig->err), VBD_OK);
	assert_int_equal(vbd_mem_prepare(&srq->mem, &rig->err), VBD_OK);
	assert_int_equal(vbd_fabric_add_srq(rig->fabric, srq, cq, &rig->err), VBD_OK);
	rig_settle(rig);
	vbd_fabric_delete_cq(rig->fabric, cq);
	rig_settle(rig);
	assert_int_equal(fake_live().cqs, 1);
	vbd_fabric_delete_srq(srq);
	rig_settle(rig);
	assert_int_equal(fake_live().srqs, 0);
	assert_int_equal(fake_live().cqs, 0);
}

RIG_TEST(test_srq__without_a_limit_a_receive_is_posted_again_at_once)
{
	struct vbd_srq *srq = make(rig, 0);
	struct rig_conn *rc = user(rig, srq, VBD_SERVICE_SINK);

	arrive(rc, 3);
	assert_posted(srq, DEPTH);
	assert_int_equal(vbd_counter_get(&srq->refills), 3);
	assert_int_equal(vbd_counter_get(&srq->messages), 3);
	rig_close(rc);
	assert_posted(srq, DEPTH);
	for (size_t i = 0; i < VBD_SRQ_LISTS; i++)
		assert_true(vbd_list_empty(&srq->channels[i]));
	vbd_fabric_delete_srq(srq);
	rig_settle(rig);
}

RIG_TEST(test_srq__with_a_limit_they_are_posted_together_when_half_of_it_is_left)
{
	/* The receives that are left when none is posted again yet. */
	static const struct {
		uint32_t limit, left;
	} rows[] = {{4, 2}, {3, 2}, {2, 1}, {1, 1}};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct vbd_srq *srq = make(rig, rows[i].limit);
		struct rig_conn *rc = user(rig, srq, VBD_SERVICE_SINK);

		assert_int_equal(fake_srq_limit(srq->srq), rows[i].limit);
		arrive(rc, DEPTH - rows[i].left);
		assert_posted(srq, rows[i].left);
		assert_int_equal(vbd_counter_get(&srq->refills), 0);
		arrive(rc, 1);
		assert_posted(srq, DEPTH);
		assert_int_equal(vbd_counter_get(&srq->refills), 1);
		assert_int_equal(fake_srq_limit(srq->srq), rows[i].limit);
		assert_int_equal(vbd_counter_get(&srq->messages), DEPTH - rows[i].left + 1);
		rig_settle(rig);
		rig_close(rc);
		vbd_fabric_delete_srq(srq);
		rig_settle(rig);
	}
}

RIG_TEST(test_srq__an_event_of_the_device_fills_it_up)
{
	struct vbd_srq *srq = make(rig, 4);
	struct rig_conn *rc = user(rig, srq, VBD_SERVICE_SINK);

	arrive(rc, 5);
	assert_posted(srq, 3);
	rig_settle(rig);
	assert_posted(srq, DEPTH);
	assert_int_equal(vbd_counter_get(&srq->limit_events), 1);
	assert_int_equal(vbd_counter_get(&srq->refills), 1);
	assert_false(srq->limit_sent);
	assert_int_equal(fake_srq_limit(srq->srq), 4);
	rig_close(rc);
	vbd_fabric_delete_srq(srq);
	rig_settle(rig);
}

RIG_TEST(test_srq__one_limit_command_is_under_way_at_a_time)
{
	struct vbd_srq *srq = make(rig, 0);

	vbd_srq_set_limit(srq, 3);
	assert_true(srq->limit_sent);
	assert_false(srq->limit_owed);
	vbd_srq_set_limit(srq, 6);
	assert_true(srq->limit_owed);
	while (rig_turn_workers(rig))
		;
	assert_int_equal(fake_srq_limit(srq->srq), 6);
	vbd_fabric_dispatch_control(rig->fabric);
	/* The one that was owed is sent now. */
	assert_true(srq->limit_sent);
	assert_false(srq->limit_owed);
	rig_settle(rig);
	assert_false(srq->limit_sent);
	vbd_fabric_delete_srq(srq);
	vbd_srq_set_limit(srq, 2);
	assert_false(srq->limit_sent);
	rig_settle(rig);
}

RIG_TEST(test_srq__messages_that_nobody_read_come_back_with_the_end_of_their_user)
{
	struct vbd_srq *srq = make(rig, 0);
	struct rig_conn *other = user(rig, srq, VBD_SERVICE_INBOX);
	struct rig_conn *rc = user(rig, srq, VBD_SERVICE_INBOX);

	fake_recv_done(rc->conn->qp.ibv_qp, "one", 3);
	fake_recv_done(other->conn->qp.ibv_qp, "two", 3);
	fake_recv_done(rc->conn->qp.ibv_qp, "three", 5);
	rig_settle(rig);
	assert_int_equal(rc->message_count, 2);
	assert_int_equal(fake_srq_recvs(srq->srq), DEPTH - 3);
	rig_close(rc);
	rig_finish_calls(rig);
	rig_settle(rig);
	assert_int_equal(fake_srq_recvs(srq->srq), DEPTH - 1);
	assert_int_equal(other->message_count, 1);
	assert_memory_equal(vbd_channel_recv_data(other->messages[0]), "two", 3);
	rig_release(other);
	assert_posted(srq, DEPTH);
	rig_close(other);
	vbd_fabric_delete_srq(srq);
	rig_settle(rig);
}

RIG_TEST(test_srq__receives_that_can_not_be_posted_wait_for_the_next_time)
{
	struct vbd_srq *srq = make(rig, 0);
	struct rig_conn *rc = user(rig, srq, VBD_SERVICE_SINK);

	rig_tell_story(rig);
	fake_fail_next("ibv_post_srq_recv", ENOMEM);
	arrive(rc, 1);
	assert_int_equal(rig->warnings, 1);
	rig->warnings = 0;
	rig_assert_told(
		rig, "srq: by the script: ibv_post_srq_recv: Cannot allocate memory (ENOMEM)");
	/* Both the release and the end of the completion try. */
	assert_int_equal(vbd_counter_get(&srq->refills), 2);
	assert_posted(srq, DEPTH);
	fake_fail_next("ibv_modify_srq", EINVAL);
	vbd_srq_set_limit(srq, 3);
	rig_settle(rig);
	rig_assert_told(rig, "srq: by the script: ibv_modify_srq: Invalid argument (EINVAL)");
	rig_close(rc);
	vbd_fabric_delete_srq(srq);
	rig_settle(rig);
}

RIG_TEST(test_srq__a_message_before_the_attach_command_is_not_lost)
{
	struct vbd_srq *srq = make(rig, 0);
	struct rig_listener *listener = rig_listener(rig);
	struct rig_conn *rc;

	listener->params.qp.srq_id = srq->id;
	rig_listen(listener);
	rc = rig_request(listener);
	assert_int_equal(vbd_conn_accept(rc->conn, -1, NULL, &rig->err), VBD_OK);
	UNIT_UNTIL (rc->conn->qp.ibv_qp && rc->conn->qp.channel->attached)
		vbd_fabric_dispatch_control(rig->fabric);
	fake_recv_done(rc->conn->qp.ibv_qp, "early", 5);
	rig_settle(rig);
	assert_int_equal(rc->message_count, 1);
	assert_int_equal(rc->messages[0]->received.length_bytes, 5);
	rig_release(rc);
}

RIG_TEST(test_srq__only_its_own_device_takes_it_along)
{
	struct fake_device *other = fake_device_add("fake1");
	struct vbd_srq *srq;

	unit_rescan(rig->fabric);
	srq = make(rig, 0);
	fake_device_unplug(other);
	unit_rescan(rig->fabric);
	rig_settle(rig);
	assert_true(fake_device_let_go(other));
	assert_ptr_equal(vbd_fabric_srq(rig->fabric, srq->id), srq);
	assert_int_equal(fake_live().srqs, 1);
	fake_device_unplug(rig->device);
	unit_rescan(rig->fabric);
	rig_settle(rig);
	assert_int_equal(fake_live().srqs, 0);
	assert_true(fake_device_let_go(rig->device));
}
