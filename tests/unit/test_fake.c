/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the fake provider itself: it detects breaches of the libraries' rules. */
#include "tests/fake/provider_fake.h"

#include "tests/unit/unit.h"

#include <poll.h>

struct fixture {
	struct vbd_account account;
	struct fake_device *device;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *comp_channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct vbd_error err;
};

static struct ibv_qp *make_qp(struct fixture *f)
{
	struct ibv_qp_init_attr init = {
		.send_cq = f->cq,
		.recv_cq = f->cq,
		.cap = {.max_send_wr = 2,
			.max_recv_wr = 2,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = 16},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp = NULL;

	assert_int_equal(vbd_pv_create_qp(&f->account, f->pd, &init, &qp, &f->err), VBD_OK);
	return qp;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	fake_reset();
	fake_one_thread();
	f->device = fake_device_add("fake0");
	assert_int_equal(vbd_pv_open_device(&f->account, "uverbs0", &f->context, &f->err), VBD_OK);
	assert_int_equal(vbd_pv_alloc_pd(&f->account, f->context, &f->pd, &f->err), VBD_OK);
	assert_int_equal(vbd_pv_create_comp_channel(f->context, &f->comp_channel, &f->err), VBD_OK);
	assert_int_equal(vbd_pv_create_cq(&f->account, f->context, 3, f, f->comp_channel, 0, &f->cq,
				 &f->err),
		VBD_OK);
	f->qp = make_qp(f);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	vbd_account_close(&f->account);
	fake_reset();
	assert_int_equal(fake_live_total(), 0);
	assert_null(fake_misuse());
	free(f);
	return 0;
}

#define FAKE_TEST(name) TEST_WITH(name, struct fixture *f, setup, teardown)

static enum vbd_status move(struct fixture *f, enum ibv_qp_state to, int mask)
{
	struct ibv_qp_attr attr = {.qp_state = to, .ah_attr.is_global = 1};

	return vbd_pv_modify_qp(f->qp, &attr, mask | IBV_QP_STATE, NULL);
}

#define INIT_MASK (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define RTR_MASK                                                         \
	(IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | \
		IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS_MASK                                                                \
	(IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | \
		IBV_QP_MAX_QP_RD_ATOMIC)

static void go_rts(struct fixture *f)
{
	assert_int_equal(move(f, IBV_QPS_INIT, INIT_MASK), VBD_OK);
	assert_int_equal(move(f, IBV_QPS_RTR, RTR_MASK), VBD_OK);
	assert_int_equal(move(f, IBV_QPS_RTS, RTS_MASK), VBD_OK);
}

static enum vbd_status post_recv(struct fixture *f, uint64_t wr_id)
{
	struct ibv_recv_wr wr = {.wr_id = wr_id};
	struct ibv_recv_wr *bad;

	return vbd_pv_post_recv(f->qp, &wr, &bad, NULL);
}

static enum vbd_status post_send(struct fixture *f, uint64_t wr_id)
{
	struct ibv_send_wr wr = {
		.wr_id = wr_id, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;

	return vbd_pv_post_send(f->qp, &wr, &bad, NULL);
}

static void assert_noticed(const char *what)
{
	assert_non_null(fake_misuse());
	assert_non_null(strstr(fake_misuse(), what));
}

FAKE_TEST(test_fake__a_qp_may_not_skip_a_state)
{
	assert_int_equal(move(f, IBV_QPS_RTR, RTR_MASK), VBD_E_VERBS_ERROR);
	assert_noticed("not allowed");
}

FAKE_TEST(test_fake__a_move_needs_its_attributes)
{
	assert_int_equal(
		move(f, IBV_QPS_INIT, INIT_MASK & ~IBV_QP_ACCESS_FLAGS), VBD_E_VERBS_ERROR);
	assert_noticed("missing");
}

FAKE_TEST(test_fake__a_qp_that_is_not_ready_can_not_send)
{
	assert_int_equal(move(f, IBV_QPS_INIT, INIT_MASK), VBD_OK);
	assert_int_equal(post_recv(f, 1), VBD_OK);
	assert_null(fake_misuse());
	assert_int_equal(post_send(f, 2), VBD_E_VERBS_ERROR);
	assert_noticed("state 1");
}

FAKE_TEST(test_fake__queues_have_their_depth)
{
	go_rts(f);
	assert_int_equal(post_send(f, 1), VBD_OK);
	assert_int_equal(post_send(f, 2), VBD_OK);
	assert_null(fake_misuse());
	assert_int_equal(post_send(f, 3), VBD_E_VERBS_ERROR);
	assert_noticed("more than 2 sends");
}

FAKE_TEST(test_fake__a_cq_overruns)
{
	go_rts(f);
	for (uint64_t i = 0; i < 2; i++) {
		assert_int_equal(post_send(f, i), VBD_OK);
		assert_int_equal(post_recv(f, i), VBD_OK);
	}
	fake_qp_to_err(f->qp);
	assert_noticed("overruns");
}

FAKE_TEST(test_fake__memory_needs_its_key)
{
	uint8_t bytes[16];
	struct ibv_mr *mr = NULL;
	struct ibv_sge sge = {.addr = (uintptr_t)bytes, .length = 17};
	struct ibv_recv_wr *bad;
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1};

	assert_int_equal(move(f, IBV_QPS_INIT, INIT_MASK), VBD_OK);
	assert_int_equal(
		vbd_pv_reg_mr(&f->account, f->pd, bytes, 16, IBV_ACCESS_LOCAL_WRITE, &mr, &f->err),
		VBD_OK);
	sge.lkey = mr->lkey;
	assert_int_equal(vbd_pv_post_recv(f->qp, &wr, &bad, NULL), VBD_E_VERBS_ERROR);
	assert_noticed("does not cover");
	sge.length = 16;
	assert_int_equal(vbd_pv_post_recv(f->qp, &wr, &bad, NULL), VBD_OK);
}

FAKE_TEST(test_fake__what_is_in_use_is_not_destroyed)
{
	vbd_pv_destroy_cq(&f->account, f->cq);
	assert_noticed("CQ is destroyed");
	assert_int_equal(fake_live().cqs, 1);
	vbd_pv_dealloc_pd(&f->account, f->pd);
	vbd_pv_close_device(&f->account, f->context);
	assert_int_equal(fake_live().pds, 1);
	assert_false(fake_device_let_go(f->device));
	vbd_pv_destroy_qp(&f->account, f->qp);
	vbd_pv_destroy_cq(&f->account, f->cq);
	vbd_pv_destroy_comp_channel(f->comp_channel);
	vbd_pv_dealloc_pd(&f->account, f->pd);
	vbd_pv_close_device(&f->account, f->context);
	assert_int_equal(fake_live_total(), 0);
	assert_true(fake_device_let_go(f->device));
}

static bool is_readable(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	return poll(&poll_fd, 1, 0) == 1;
}

FAKE_TEST(test_fake__an_armed_cq_tells_once)
{
	struct ibv_wc wcs[4];

	go_rts(f);
	assert_int_equal(post_send(f, 11), VBD_OK);
	assert_int_equal(post_send(f, 12), VBD_OK);
	fake_send_done(f->qp);
	assert_false(is_readable(f->comp_channel->fd));
	assert_int_equal(vbd_pv_arm_cq(f->cq, &f->err), VBD_OK);
	assert_false(is_readable(f->comp_channel->fd));
	fake_send_done(f->qp);
	assert_true(is_readable(f->comp_channel->fd));
	assert_ptr_equal(vbd_pv_take_cq_event(f->comp_channel), f);
	assert_null(vbd_pv_take_cq_event(f->comp_channel));
	assert_false(is_readable(f->comp_channel->fd));
	assert_int_equal(vbd_pv_poll_cq(f->cq, wcs, 4), 2);
	assert_int_equal(wcs[0].wr_id, 11);
	assert_int_equal(wcs[1].wr_id, 12);
	assert_int_equal(wcs[1].status, IBV_WC_SUCCESS);
}

FAKE_TEST(test_fake__the_nth_call_fails_once)
{
	struct ibv_port_attr attr;

	fake_fail_nth(2, EIO);
	assert_int_equal(vbd_pv_query_port(f->context, 1, &attr, NULL), VBD_OK);
	assert_null(fake_failed_call());
	assert_int_equal(vbd_pv_query_port(f->context, 1, &attr, &f->err), VBD_E_VERBS_ERROR);
	assert_string_equal(fake_failed_call(), "ibv_query_port");
	assert_int_equal(f->err.raw, EIO);
	assert_int_equal(vbd_pv_query_port(f->context, 1, &attr, NULL), VBD_OK);
	assert_int_equal(fake_count("ibv_query_port"), 3);
	assert_true(fake_first("ibv_query_port") < fake_last("ibv_query_port"));
	assert_int_equal(fake_first("rdma_connect"), -1);
}

FAKE_TEST(test_fake__the_nth_allocation_fails_once)
{
	/* Volatile: a compiler may remove an unused allocation. */
	void *volatile one, *volatile two, *volatile three;

	fake_memory_fail_nth(2);
	one = malloc(1);
	two = calloc(1, 1);
	assert_true(fake_memory_failed());
	three = calloc(1, 1);
	assert_non_null(one);
	assert_null(two);
	assert_non_null(three);
	free(one);
	free(three);
}
