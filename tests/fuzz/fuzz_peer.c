/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random behaviour of the other end of a connection: its messages to every service, rping among
 * them, its private data, its CM events and the completions that it causes, over the scripted
 * provider. The input is a list of steps of one byte each, with what a step needs behind it.
 */
#include "rdma/fabric/report.h"
#include "tests/unit/rig.h"
#include "tests/unit/unit.h"

#include <string.h>

struct input {
	const uint8_t *at;
	size_t left;
};

static uint8_t take(struct input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

/* Take at most @max bytes, as many as the next byte says. */
static uint8_t take_bytes(struct input *in, uint8_t *to, uint8_t max)
{
	uint8_t n = (uint8_t)(take(in) % (max + 1));

	memset(to, 0, max);
	n = in->left < n ? (uint8_t)in->left : n;
	memcpy(to, in->at, n);
	in->at += n;
	in->left -= n;
	return n;
}

static void say(struct rig_conn *rc, struct input *in)
{
	uint8_t data[64];
	uint8_t n = take_bytes(in, data, sizeof(data));
	uint8_t how = take(in);

	if (!rc->conn->qp.ibv_qp || fake_recvs(rc->conn->qp.ibv_qp) == 0)
		return;
	if (how % 4 == 0)
		fake_recv_done_imm(rc->conn->qp.ibv_qp, IBV_WC_RECV, data, n, how);
	else if (how % 4 == 1)
		fake_recv_failed(rc->conn->qp.ibv_qp, (enum ibv_wc_status)(1 + how % 21), how);
	else
		fake_recv_done(rc->conn->qp.ibv_qp, data, n);
}

static void complete(struct rig_conn *rc, struct input *in)
{
	uint8_t how = take(in);

	if (!rc->conn->qp.ibv_qp || fake_sends(rc->conn->qp.ibv_qp) == 0)
		return;
	if (how < 200)
		fake_send_done(rc->conn->qp.ibv_qp);
	else
		fake_send_failed(rc->conn->qp.ibv_qp, (enum ibv_wc_status)(1 + how % 21), how);
}

static void tell(struct rig_conn *rc, struct input *in)
{
	static const enum rdma_cm_event_type types[] = {RDMA_CM_EVENT_CONNECT_RESPONSE,
		RDMA_CM_EVENT_CONNECT_ERROR, RDMA_CM_EVENT_UNREACHABLE, RDMA_CM_EVENT_REJECTED,
		RDMA_CM_EVENT_ESTABLISHED, RDMA_CM_EVENT_DISCONNECTED, RDMA_CM_EVENT_ADDR_CHANGE,
		RDMA_CM_EVENT_TIMEWAIT_EXIT};
	struct vbd_pv_cm_event event = {.type = types[take(in) % VBD_ARRAY_LEN(types)],
		.status = (int8_t)take(in),
		.has_conn_param = true,
		.responder_resources = take(in),
		.initiator_depth = take(in),
		.qp_num = 0x77};
	struct vbd_report report;

	event.private_data_bytes = take_bytes(in, event.private_data, VBD_PRIVATE_DATA_BYTES - 1);
	(void)vbd_report_read(event.private_data, event.private_data_bytes, &report);
	if (rc->conn->cm_id)
		fake_cm_event_with(rc->conn->cm_id, &event);
}

static void step(struct rig *rig, struct rig_conn *rc, struct input *in)
{
	uint8_t what = take(in);

	if (!rc->conn)
		return;
	switch (what % 6) {
	case 0:
	case 1:
		say(rc, in);
		break;
	case 2:
		complete(rc, in);
		break;
	case 3:
		tell(rc, in);
		break;
	case 4:
		if (rc->conn->qp.ibv_qp)
			fake_qp_async(rc->conn->qp.ibv_qp, (enum ibv_event_type)(take(in) % 19));
		break;
	default:
		while (rc->message_count)
			rig_release(rc);
		break;
	}
	if (what & 0x80)
		rig_settle(rig);
}

/* The active side connects, or waits for the peer's answer; the passive side was asked. */
static struct rig_conn *begin(struct rig *rig, struct input *in)
{
	struct vbd_conn_params params = rig_params();
	uint8_t how = take(in);

	params.qp.service = (enum vbd_service)(how % VBD_SERVICE_COUNT);
	fake_receives_optional(true); /* the service "none" posts none */
	if (how & 0x80)
		return rig_conn_connect(rig, &params);
	if (how & 0x40)
		return rig_conn_create(rig, &params);
	return rig_conn_in(rig, VBD_CONN_REQUESTED);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	void *state = NULL;
	struct rig_conn *rc;

	(void)rig_setup(&state);
	rc = begin(state, &in);
	for (unsigned int i = 0; rc && in.left && i < 48; i++)
		step(state, rc, &in);
	rig_settle(state);
	(void)rig_teardown(&state);
	return 0;
}
