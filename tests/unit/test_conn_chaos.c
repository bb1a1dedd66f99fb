/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random events on connections; the same seed gives the same order. Each connection and each
 * transfer must end exactly once, and no object may be left.
 */
#include "rdma/conn/conn.h"

#include "rdma/data/worker.h"
#include "tests/unit/rig.h"

#define SEEDS 200
#define STEPS 250
#define ALIVE 6

struct chaos {
	struct rig *rig;
	uint64_t random;
	struct rig_listener *listener;
	uint8_t bytes[256];
};

/* xorshift64*: the same numbers on every machine. */
static unsigned int pick(struct chaos *chaos, unsigned int below)
{
	chaos->random ^= chaos->random >> 12;
	chaos->random ^= chaos->random << 25;
	chaos->random ^= chaos->random >> 27;
	return (unsigned int)((chaos->random * 0x2545f4914f6cdd1dULL) >> 33) % below;
}

static struct rig_conn *pick_conn(struct chaos *chaos)
{
	struct rig *rig = chaos->rig;
	struct rig_conn *rc;

	if (!rig->conn_count)
		return NULL;
	/* Prefer the newest connections; most others have ended. */
	rc = &rig->conns[rig->conn_count - 1 -
			 pick(chaos, rig->conn_count < ALIVE + 2 ? rig->conn_count : ALIVE + 2)];
	return rc->conn ? rc : NULL;
}

static unsigned int alive(const struct rig *rig)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < rig->conn_count; i++)
		count += rig->conns[i].conn && !vbd_conn_state_terminal(rig->conns[i].conn->state);
	return count;
}

static bool device_present(const struct rig *rig)
{
	const struct vbd_device *device = vbd_fabric_device(rig->fabric, "fake0");

	return device && device->state == VBD_DEVICE_PRESENT;
}

/* Creating. */

static void connect_one(struct chaos *chaos)
{
	struct vbd_conn_params params = rig_params();

	if (alive(chaos->rig) >= ALIVE || chaos->rig->conn_count >= RIG_CONNS - 1)
		return;
	params.qp.service = (enum vbd_service)pick(chaos, VBD_SERVICE_COUNT);
	params.qp.sq_depth = 1 + pick(chaos, 4);
	params.qp.signal_every = 1 + pick(chaos, params.qp.sq_depth);
	(void)rig_conn_create(chaos->rig, &params);
}

static void request_one(struct chaos *chaos)
{
	if (alive(chaos->rig) >= ALIVE || chaos->rig->conn_count >= RIG_CONNS - 1)
		return;
	chaos->listener->accept = pick(chaos, 2);
	chaos->listener->refuse = pick(chaos, 4) == 0;
	chaos->listener->params.qp.service = (enum vbd_service)pick(chaos, VBD_SERVICE_COUNT);
	if (chaos->listener->cm.cm_id && device_present(chaos->rig))
		(void)fake_connect_request(chaos->listener->cm.cm_id, chaos->rig->device);
}

static void transfer_one(struct chaos *chaos, struct rig_conn *rc)
{
	static const enum vbd_op ops[] = {VBD_OP_SEND, VBD_OP_WRITE, VBD_OP_SEND_IMM,
		VBD_OP_WRITE_IMM, VBD_OP_FETCH_ADD, VBD_OP_RECV};
	static const struct vbd_sge nothing = {0};
	const struct vbd_mem mem = {.addr = (uintptr_t)chaos->bytes};
	enum vbd_op op = ops[pick(chaos, VBD_ARRAY_LEN(ops))];
	struct rig *rig = chaos->rig;
	struct rig_transfer *rt;

	if (rc->conn->state != VBD_CONN_ESTABLISHED || rig->transfer_count >= RIG_TRANSFERS)
		return;
	if (op == VBD_OP_RECV && rc->conn->params.qp.service != VBD_SERVICE_NONE)
		return;
	rt = rig_transfer(rc, op, &mem, pick(chaos, 200), 16 + pick(chaos, 40));
	rt->transfer.wr.inlined = !vbd_ops[op].is_atomic;
	if (op == VBD_OP_SEND || op == VBD_OP_SEND_IMM) {
		rt->transfer.length_bytes %= VBD_INLINE_BYTES + 1;
		rt->transfer.chunk_bytes = VBD_INLINE_BYTES;
	} else if (vbd_ops[op].is_atomic) {
		rt->transfer.local_addr = 0;
		rt->transfer.length_bytes = VBD_ATOMIC_BYTES;
	} else if (op == VBD_OP_RECV) {
		rt->transfer.length_bytes = 0;
		rt->transfer.sges = &nothing;
		rt->transfer.sge_count = 1;
	}
	vbd_transfer_submit(&rt->transfer);
}

static void free_ended_transfers(struct rig *rig)
{
	for (unsigned int i = 0; i < rig->transfer_count; i++) {
		if (!rig->transfers[i].ended)
			return;
	}
	rig->transfer_count = 0;
}

static void cancel_one(struct chaos *chaos)
{
	struct rig *rig = chaos->rig;
	struct rig_transfer *rt;

	if (!rig->transfer_count)
		return;
	rt = &rig->transfers[pick(chaos, rig->transfer_count)];
	if (!rt->ended)
		vbd_transfer_request_cancel(&rt->transfer, pick(chaos, 2));
}

/* Events of the wire, the device and the operator. */

static void cm_event(struct chaos *chaos, struct rig_conn *rc)
{
	enum rdma_cm_event_type type =
		(enum rdma_cm_event_type)pick(chaos, RDMA_CM_EVENT_TIMEWAIT_EXIT + 1);

	if (!rc->conn->cm_id || type == RDMA_CM_EVENT_CONNECT_REQUEST)
		return;
	/* Only iWARP's CM sends this event to the active side, after it has moved the QP. */
	if (type == RDMA_CM_EVENT_ESTABLISHED && rc->conn->state == VBD_CONN_CONNECTING)
		return;
	fake_cm_event(rc->conn->cm_id, type, (int)pick(chaos, 40) - 5);
}

static void completion(struct chaos *chaos, struct rig_conn *rc)
{
	static const enum ibv_wc_status errors[] = {IBV_WC_REM_ACCESS_ERR, IBV_WC_RETRY_EXC_ERR,
		IBV_WC_LOC_QP_OP_ERR, IBV_WC_WR_FLUSH_ERR};
	struct ibv_qp *qp = rc->conn->qp.ibv_qp;
	bool fail = pick(chaos, 12) == 0;

	/* Work completes only on a QP in RTS or ERR. */
	if (!qp || (qp->state != IBV_QPS_RTS && qp->state != IBV_QPS_ERR))
		return;
	if (pick(chaos, 2) && fake_sends(qp)) {
		if (fail)
			fake_send_failed(qp, errors[pick(chaos, 4)], 1);
		else
			fake_send_done(qp);
	} else if (fake_recvs(qp)) {
		if (fail)
			fake_recv_failed(qp, errors[pick(chaos, 4)], 1);
		else
			fake_recv_done(qp, chaos->bytes,
				rc->conn->params.qp.service == VBD_SERVICE_NONE ? 0
										: pick(chaos, 65));
	}
}

static void async_event(struct chaos *chaos, struct rig_conn *rc)
{
	static const enum ibv_event_type types[] = {IBV_EVENT_COMM_EST, IBV_EVENT_SQ_DRAINED,
		IBV_EVENT_QP_FATAL, IBV_EVENT_QP_ACCESS_ERR};

	if (rc->conn->qp.ibv_qp)
		fake_qp_async(rc->conn->qp.ibv_qp, types[pick(chaos, VBD_ARRAY_LEN(types))]);
}

static void command(struct chaos *chaos, struct rig_conn *rc)
{
	struct vbd_error why = {0};

	switch (pick(chaos, 6)) {
	case 0:
		vbd_conn_close(rc->conn, VBD_REASON_LOCAL_CLOSE);
		break;
	case 1:
		(void)!vbd_conn_accept(rc->conn, -1, NULL, NULL);
		break;
	case 2:
		(void)!vbd_conn_reject(rc->conn, NULL, false, NULL);
		break;
	case 3:
		(void)vbd_error_set(&why, VBD_E_TIMED_OUT, "chaos");
		rc->conn->qp.ops->end(&rc->conn->qp, &why, 7);
		break;
	case 4:
		vbd_conn_refresh_qp(rc->conn);
		break;
	default:
		if (rc->deadline_ms && pick(chaos, 2)) {
			rc->deadline_ms = 0;
			vbd_conn_deadline(rc->conn);
		}
		break;
	}
}

static void release_one(struct rig_conn *rc)
{
	if (!rc->message_count)
		return;
	rc->message_count--;
	vbd_qp_release_message(&rc->conn->qp, rc->messages[rc->message_count]);
}

static void device_event(struct chaos *chaos)
{
	struct rig *rig = chaos->rig;

	switch (pick(chaos, 5)) {
	case 0:
		fake_device_cm_removal(rig->device);
		break;
	case 1:
		vbd_fabric_remove_uverbs(rig->fabric, rig->device->ibv.dev_name);
		break;
	case 2:
		fake_device_async(rig->device, IBV_EVENT_PORT_ERR, 1);
		break;
	case 3:
		fake_device_unplug(rig->device);
		rig->device = fake_device_add("fake0");
		break;
	default:
		break;
	}
	unit_rescan(rig->fabric);
}

static void trouble(struct chaos *chaos)
{
	static const char *const calls[] = {"ibv_post_send", "ibv_post_recv", "ibv_modify_qp",
		"rdma_connect", "rdma_accept", "rdma_establish", "rdma_disconnect", "ibv_create_qp",
		"ibv_reg_mr", "ibv_create_cq", "rdma_init_qp_attr", "rdma_notify", "ibv_query_qp"};

	if (pick(chaos, 3) == 0)
		fake_memory_fail_nth(1 + pick(chaos, 3));
	else
		fake_fail_next(calls[pick(chaos, VBD_ARRAY_LEN(calls))], EIO);
	fake_flushes_withheld(pick(chaos, 4) == 0);
}

/* A part of a turn: chance decides which thread is faster. */
static void let_run(struct chaos *chaos)
{
	struct rig *rig = chaos->rig;

	switch (pick(chaos, 5)) {
	case 0:
		(void)rig_turn_workers(rig);
		break;
	case 1:
		vbd_fabric_dispatch_cm(rig->fabric);
		break;
	case 2:
		vbd_fabric_dispatch_control(rig->fabric);
		break;
	default:
		rig_settle(rig);
		break;
	}
	free_ended_transfers(rig);
}

static void step(struct chaos *chaos)
{
	unsigned int what = pick(chaos, 100);
	struct rig_conn *rc = pick_conn(chaos);

	if (what < 8)
		connect_one(chaos);
	else if (what < 12)
		request_one(chaos);
	else if (!rc || what < 40)
		let_run(chaos);
	else if (what < 55)
		(void)rig_conn_answer(rc);
	else if (what < 65)
		transfer_one(chaos, rc);
	else if (what < 80)
		completion(chaos, rc);
	else if (what < 84)
		release_one(rc);
	else if (what < 87)
		cancel_one(chaos);
	else if (what < 91)
		cm_event(chaos, rc);
	else if (what < 93)
		async_event(chaos, rc);
	else if (what < 96)
		command(chaos, rc);
	else if (what < 98)
		trouble(chaos);
	else
		device_event(chaos);
}

static void run(struct rig *rig, uint64_t seed)
{
	struct chaos chaos = {.rig = rig, .random = seed * 0x9e3779b97f4a7c15ULL};

	fake_reset();
	fake_receives_optional(true);
	rig->device = fake_device_add("fake0");
	rig->free_removed = true;
	assert_true(rig_start(rig, 2));
	chaos.listener = rig_listener(rig);
	rig_listen(chaos.listener);
	for (int i = 0; i < STEPS; i++)
		step(&chaos);
	fake_memory_fail_nth(0);
	fake_fail_next("", 0);
	rig_free_conns(rig);
	for (unsigned int i = 0; i < rig->transfer_count; i++)
		assert_int_equal(rig->transfers[i].ended, 1);
	rig_stop(rig);
	if (fake_misuse() || fake_live_total())
		fail_msg("seed %u", (unsigned int)seed);
}

RIG_TEST(test_conn_chaos__nothing_is_left_whatever_the_order)
{
	const char *only = getenv("CHAOS_SEED");

	rig_stop(rig);
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		run(rig, only ? strtoull(only, NULL, 10) + seed : seed);
}
