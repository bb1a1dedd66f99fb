/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/data/window.h"

#include "tests/unit/openapi.h"
#include "tests/unit/rig.h"

/* The state table. */

TEST(test_window__every_pair_is_decided_and_ends_are_final)
{
	for (unsigned int s = 0; s < VBD_WINDOW_STATE_COUNT; s++) {
		bool ended = vbd_window_state_ended((enum vbd_window_state)s);

		for (unsigned int e = 0; e < VBD_WINDOW_EVENT_COUNT; e++) {
			const struct vbd_rule *rule =
				vbd_window_rule((enum vbd_window_state)s, (enum vbd_window_event)e);

			assert_non_null(rule->note);
			assert_in_range(rule->next, 0, VBD_WINDOW_STATE_COUNT - 1);
			if (ended) {
				assert_int_equal(rule->next, s);
				assert_int_equal(rule->action, VBD_WINDOW_DO_NOTHING);
			} else {
				/* Exactly the actions into an ended state free the window. */
				assert_int_equal(rule->action == VBD_WINDOW_DO_FREE,
					vbd_window_state_ended(rule->next));
			}
		}
	}
	for (unsigned int e = 0; e < VBD_WINDOW_EVENT_COUNT; e++)
		assert_non_null(vbd_window_event_name((enum vbd_window_event)e));
}

TEST(test_window__states_are_those_of_the_contract)
{
	struct openapi_enum contract;

	openapi_read_property_enum("Window", "state", &contract);
	assert_int_equal(contract.count, VBD_WINDOW_STATE_COUNT);
	for (unsigned int i = 0; i < VBD_WINDOW_STATE_COUNT; i++)
		assert_true(openapi_enum_has(
			&contract, vbd_window_state_name((enum vbd_window_state)i)));
}

/* A window on a connection of the rig. */

struct bound {
	struct rig_conn *rc;
	struct vbd_mem *mem;
	struct vbd_qp *qp;
	struct vbd_window window;
	unsigned int changes;
};

static void on_changed(struct vbd_window *window, void *arg)
{
	struct bound *bound = arg;

	assert_ptr_equal(window, &bound->window);
	bound->changes++;
}

static struct vbd_channel *choose_channel(struct vbd_window *window, void *arg)
{
	struct vbd_qp *qp = ((struct bound *)arg)->qp;

	(void)window;
	return qp ? qp->channel : NULL;
}

static struct bound make(struct rig *rig, unsigned int type)
{
	struct bound bound = {
		.rc = rig_conn_connect(rig, NULL),
		.mem = rig_mem(rig, 4096, VBD_ACCESS_MW_BIND),
	};

	bound.qp = &bound.rc->conn->qp;
	bound.window.range = (struct vbd_window_range){
		.type = type, .offset = 100, .length_bytes = 200, .access = VBD_ACCESS_REMOTE_READ};
	return bound;
}

static void begin(struct rig *rig, struct bound *bound)
{
	bound->window.mem = bound->mem;
	bound->window.changed = on_changed;
	bound->window.choose_channel = choose_channel;
	bound->window.arg = bound;
	assert_int_equal(vbd_window_allocate(&bound->window, &rig->err), VBD_OK);
	vbd_window_register(&bound->window);
	vbd_window_registered(&bound->window);
	rig_settle(rig);
}

static void complete(struct rig *rig, struct bound *bound)
{
	fake_send_done(bound->rc->conn->qp.ibv_qp);
	rig_settle(rig);
}

static void assert_state(const struct bound *bound, enum vbd_window_state state)
{
	assert_string_equal(
		vbd_window_state_name(bound->window.state), vbd_window_state_name(state));
	if (vbd_window_state_ended(state)) {
		assert_false(bound->window.busy);
		assert_null(bound->window.mw);
		assert_int_equal(fake_live().mws, 0);
	}
}

RIG_TEST(test_window__both_types_are_bound_to_their_range_and_revoked)
{
	for (unsigned int type = 1; type <= 2; type++) {
		struct bound bound = make(rig, type);
		struct ibv_qp *qp = bound.rc->conn->qp.ibv_qp;
		struct fake_wr wr;
		uint32_t rkey;

		begin(rig, &bound);
		assert_state(&bound, VBD_WINDOW_BINDING);
		wr = fake_send_at(qp, 0);
		assert_int_equal(wr.opcode, IBV_WR_BIND_MW);
		assert_true(wr.send_flags & IBV_SEND_SIGNALED);
		assert_int_equal(wr.bind.addr, (uintptr_t)bound.mem->addr + 100);
		assert_int_equal(wr.bind.length, 200);
		assert_int_equal(wr.bind.mw_access_flags, IBV_ACCESS_REMOTE_READ);
		rkey = wr.new_rkey;
		complete(rig, &bound);
		assert_state(&bound, VBD_WINDOW_READY);
		assert_int_equal(bound.window.rkey, rkey);
		vbd_window_revoke(&bound.window);
		rig_settle(rig);
		assert_state(&bound, VBD_WINDOW_REVOKING);
		wr = fake_send_at(qp, 0);
		assert_int_equal(wr.opcode, type == 1 ? IBV_WR_BIND_MW : IBV_WR_LOCAL_INV);
		assert_int_equal(wr.bind.length, 0);
		if (type == 2)
			assert_int_equal(wr.new_rkey, rkey);
		complete(rig, &bound);
		assert_state(&bound, VBD_WINDOW_REVOKED);
		assert_int_equal(bound.changes, 3);
		assert_int_equal(
			vbd_counter_get(&vbd_qp_op_counters(&bound.rc->conn->qp, VBD_OP_BIND_WINDOW)
						 ->completed),
			1);
	}
}

RIG_TEST(test_window__a_window_that_can_not_be_allocated_leaves_nothing)
{
	struct bound bound = make(rig, 2);
	struct vbd_error err = {0};

	bound.window.mem = bound.mem;
	fake_fail_next("ibv_alloc_mw", EMFILE);
	assert_int_equal(vbd_window_allocate(&bound.window, &err), VBD_E_FD_LIMIT);
	assert_false(bound.window.busy);
	assert_int_equal(fake_sends(bound.rc->conn->qp.ibv_qp), 0);
}

RIG_TEST(test_window__a_bind_that_fails_frees_it)
{
	struct bound bound = make(rig, 2);

	begin(rig, &bound);
	fake_send_failed(bound.rc->conn->qp.ibv_qp, IBV_WC_MW_BIND_ERR, 3);
	rig_settle(rig);
	assert_state(&bound, VBD_WINDOW_FAILED);
	assert_int_equal(bound.window.error.status, VBD_E_LOCAL_ERROR);
	assert_int_equal(bound.changes, 1);
}

RIG_TEST(test_window__a_bind_that_can_not_be_posted_frees_it)
{
	struct bound bound = make(rig, 2);

	fake_fail_next("ibv_post_send", EINVAL);
	begin(rig, &bound);
	assert_state(&bound, VBD_WINDOW_FAILED);
	assert_int_not_equal(bound.rc->conn->state, VBD_CONN_ESTABLISHED);
}

RIG_TEST(test_window__one_revoked_while_it_is_bound_is_revoked_behind)
{
	struct bound bound = make(rig, 1);

	begin(rig, &bound);
	vbd_window_revoke(&bound.window);
	vbd_window_revoke(&bound.window);
	rig_settle(rig);
	assert_state(&bound, VBD_WINDOW_REVOKING);
	assert_int_equal(fake_sends(bound.rc->conn->qp.ibv_qp), 1);
	complete(rig, &bound);
	assert_state(&bound, VBD_WINDOW_REVOKING);
	complete(rig, &bound);
	assert_state(&bound, VBD_WINDOW_REVOKED);
	assert_int_equal(bound.changes, 2);
}

RIG_TEST(test_window__without_a_qp_it_is_freed_at_once)
{
	struct bound bound = make(rig, 1);

	begin(rig, &bound);
	complete(rig, &bound);
	bound.qp = NULL;
	vbd_window_revoke(&bound.window);
	assert_state(&bound, VBD_WINDOW_REVOKED);
	assert_int_equal(bound.changes, 2);
}

RIG_TEST(test_window__a_revocation_that_is_flushed_frees_it)
{
	struct bound bound = make(rig, 2);

	begin(rig, &bound);
	complete(rig, &bound);
	vbd_window_revoke(&bound.window);
	rig_settle(rig);
	vbd_window_revoke_at_once(&bound.window);
	assert_state(&bound, VBD_WINDOW_REVOKING);
	rig_close(bound.rc);
	assert_state(&bound, VBD_WINDOW_REVOKED);
}

RIG_TEST(test_window__a_lost_window_is_freed_without_a_work_request)
{
	struct bound bound = make(rig, 2);

	begin(rig, &bound);
	complete(rig, &bound);
	vbd_window_revoke_at_once(&bound.window);
	assert_state(&bound, VBD_WINDOW_REVOKED);
	assert_int_equal(fake_sends(bound.rc->conn->qp.ibv_qp), 0);
}

RIG_TEST(test_window__its_work_passes_transfers_and_can_be_called_off)
{
	struct bound bound = make(rig, 2);
	struct rig_transfer *rt = rig_transfer(bound.rc, VBD_OP_WRITE, bound.mem, 4096, 512);
	struct ibv_qp *qp = bound.rc->conn->qp.ibv_qp;

	/* Four sends fill the queue. The bind waits for one of them, but not for the other four. */
	rig_start_transfer(rt);
	assert_int_equal(fake_sends(qp), 4);
	begin(rig, &bound);
	assert_int_equal(fake_sends(qp), 4);
	complete(rig, &bound);
	assert_int_equal(fake_send_at(qp, 3).opcode, IBV_WR_BIND_MW);
	fake_sends_done(qp, 4);
	rig_settle(rig);
	assert_state(&bound, VBD_WINDOW_READY);
	/* A request that is not posted yet can be cancelled; then the window is freed. */
	assert_int_equal(fake_sends(qp), 4);
	vbd_window_revoke(&bound.window);
	vbd_window_cancel(&bound.window);
	rig_settle(rig);
	assert_state(&bound, VBD_WINDOW_REVOKED);
	fake_sends_done(qp, 4);
	rig_settle(rig);
	assert_int_equal(rt->ended_as, VBD_TRANSFER_DONE);
	vbd_window_cancel(&bound.window);
}
