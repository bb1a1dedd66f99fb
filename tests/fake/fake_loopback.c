/* SPDX-License-Identifier: Apache-2.0 */
/* The wire between two ends in the same program. */
#include "tests/fake/fake.h"

#include <fcntl.h>
#include <unistd.h>

/* IB CM reject reasons (IBTA 12.6.7.2). */
#define REJECT_INVALID_SERVICE_ID 8
#define REJECT_CONSUMER		  28
#define REJECT_VENDOR_OPTION	  35

/* IB SIDR statuses (IBTA 12.11.2.2). */
#define SIDR_UNSUPPORTED 1
#define SIDR_REJECT	 2

static struct fake_device *first_plugged(void)
{
	vbd_list_for_each (link, &g_fake.devices) {
		struct fake_device *device = VBD_CONTAINER_OF(link, struct fake_device, link);

		if (device->plugged)
			return device;
	}
	return NULL;
}

static struct fake_device *device_of_addr(const struct sockaddr *addr)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)addr;

	vbd_list_for_each (link, &g_fake.devices) {
		struct fake_device *device = VBD_CONTAINER_OF(link, struct fake_device, link);

		if (device->plugged && addr->sa_family == AF_INET &&
			device->addr.sin_addr.s_addr == in->sin_addr.s_addr)
			return device;
	}
	return first_plugged();
}

void fake_loop_resolve_addr(struct fake_id *id)
{
	struct fake_device *device;

	if (!g_fake.loopback)
		return;
	device = device_of_addr(&id->ibv.route.addr.src_addr);
	if (!device) {
		fake_event_push_plain(id, RDMA_CM_EVENT_ADDR_ERROR, -ENODEV);
		return;
	}
	fake_id_bind(id, device);
	fake_event_push_plain(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
}

void fake_loop_resolve_route(struct fake_id *id)
{
	if (g_fake.loopback)
		fake_event_push_plain(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
}

void fake_loop_connect(struct fake_id *id)
{
	const struct sockaddr *dst = &id->ibv.route.addr.dst_addr;
	struct fake_id *listener;
	struct fake_id *request;

	if (!g_fake.loopback)
		return;
	listener = fake_listener_on(dst);
	if (!listener && fake_id_is_ud(id)) {
		fake_event_push_plain(id, RDMA_CM_EVENT_UNREACHABLE, SIDR_UNSUPPORTED);
		return;
	}
	if (!listener) {
		fake_event_push_plain(id, RDMA_CM_EVENT_REJECTED, REJECT_INVALID_SERVICE_ID);
		return;
	}
	request = fake_request_push(
		listener, device_of_addr(dst), dst, &id->ibv.route.addr.src_addr, &id->asked.param);
	request->peer = id;
	request->path_mtu = id->path_mtu;
	id->peer = request;
}

static bool is_iwarp(const struct fake_id *id)
{
	return id->device && id->device->ibv.transport_type == IBV_TRANSPORT_IWARP;
}

void fake_loop_accept(struct fake_id *id)
{
	const struct rdma_conn_param *param = &id->asked.param;
	struct vbd_pv_cm_event event = {
		.type = RDMA_CM_EVENT_CONNECT_RESPONSE,
		.has_conn_param = true,
		.responder_resources = param->initiator_depth,
		.initiator_depth = param->responder_resources,
		.qp_num = param->qp_num,
	};
	struct fake_qp *qp;

	if (!id->peer)
		return;
	if (fake_id_is_ud(id->peer)) {
		fake_ud_answer(id);
		return;
	}
	if (is_iwarp(id)) {
		/* iWARP's CM notifies both sides at the same time, and moves the QPs. */
		event.type = RDMA_CM_EVENT_ESTABLISHED;
		fake_event_push_plain(id, RDMA_CM_EVENT_ESTABLISHED, 0);
		qp = fake_qp_by_number(param->qp_num);
		if (qp)
			qp->attr.dest_qp_num = id->peer->asked.param.qp_num;
		qp = fake_qp_by_number(id->peer->asked.param.qp_num);
		if (qp)
			qp->attr.dest_qp_num = param->qp_num;
	}
	fake_event_set_private_data(
		&event, id->peer, id->asked.private_data, id->asked.private_data_bytes);
	fake_event_push(id->peer, &event);
}

void fake_loop_reject(struct fake_id *id)
{
	struct vbd_pv_cm_event event = {
		.type = RDMA_CM_EVENT_REJECTED,
		.status = id->asked.vendor_option ? REJECT_VENDOR_OPTION : REJECT_CONSUMER,
	};

	if (id->ask)
		fake_ask_replied(id->ask, id->asked.private_data, id->asked.private_data_bytes);
	if (!id->peer)
		return;
	if (fake_id_is_ud(id->peer)) {
		event.type = RDMA_CM_EVENT_UNREACHABLE;
		event.status = SIDR_REJECT;
	}
	fake_event_set_private_data(
		&event, id->peer, id->asked.private_data, id->asked.private_data_bytes);
	fake_event_push(id->peer, &event);
	id->peer->peer = NULL;
	id->peer = NULL;
}

void fake_loop_establish(struct fake_id *id)
{
	if (id->peer)
		fake_event_push_plain(id->peer, RDMA_CM_EVENT_ESTABLISHED, 0);
}

void fake_loop_gone(struct fake_id *id)
{
	struct fake_id *peer = id->peer;

	if (!peer)
		return;
	id->peer = NULL;
	peer->peer = NULL;
	/* The kernel keeps back what happens to an id that has not been accepted; its accept fails.
	 */
	if (peer->state == FAKE_ID_REQUESTED)
		peer->state = FAKE_ID_OVER;
	/* The CM rejects a request when its id is destroyed. */
	else if (id->state == FAKE_ID_REQUESTED)
		fake_event_push_plain(peer, RDMA_CM_EVENT_REJECTED, REJECT_CONSUMER);
	else
		fake_event_push_plain(peer, RDMA_CM_EVENT_DISCONNECTED, 0);
}

void fake_loopback(bool on)
{
	fake_lock();
	g_fake.loopback = on;
	fake_unlock();
}

/* Work requests. */

static struct fake_qp *peer_of(const struct fake_qp *qp)
{
	struct fake_qp *peer = fake_qp_by_number(qp->attr.dest_qp_num);

	return peer && peer->attr.dest_qp_num == qp->ibv.qp_num ? peer : NULL;
}

/* The peer's device refuses the request: both QPs go to ERR. */
static void refuse(
	struct fake_qp *qp, struct fake_qp *peer, struct fake_wr *wr, enum ibv_wc_status status)
{
	fake_complete(qp, wr, status, 0x88, 0);
	fake_async_push(peer->pd->context->device,
		status == IBV_WC_REM_ACCESS_ERR ? IBV_EVENT_QP_ACCESS_ERR : IBV_EVENT_QP_REQ_ERR,
		&peer->ibv, 0);
	fake_qp_set_state(peer, IBV_QPS_ERR);
}

static bool has_imm(const struct fake_wr *wr)
{
	return wr->opcode == IBV_WR_SEND_WITH_IMM || wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static int witness_fd = -1;

void fake_witness(const char *path)
{
	witness_fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
}

/* Copies the bytes of @wr to @to, which has room for them. */
static void carry(const struct fake_wr *wr, const struct fake_wr *to)
{
	uint8_t *bytes = fake_allocate(wr->length_bytes + 1U);

	fake_wr_gather(wr, bytes);
	fake_wr_scatter(to, bytes, wr->length_bytes);
	if (witness_fd >= 0)
		(void)!write(witness_fd, bytes, wr->length_bytes);
	free(bytes);
}

/* Every message is one packet here. */
static void count_packet(const struct fake_qp *qp, struct fake_qp *peer)
{
	if (qp->ibv.qp_type == IBV_QPT_UC)
		peer->attr.rq_psn = (peer->attr.rq_psn + 1) & 0xffffff;
}

/* Returns false if the peer has no receive: RC waits (RNR), UC loses the message. */
static bool deliver(struct fake_qp *qp, struct fake_qp *peer, struct fake_wr *wr)
{
	struct fake_wr *recv = fake_qp_recv(peer);
	uint32_t length_bytes = wr->length_bytes;

	if (recv || qp->ibv.qp_type == IBV_QPT_UC)
		count_packet(qp, peer);
	if (!recv && qp->ibv.qp_type == IBV_QPT_UC) {
		fake_complete(qp, wr, IBV_WC_SUCCESS, 0, length_bytes);
		return true;
	}
	if (!recv)
		return false;
	if (length_bytes > recv->length_bytes) {
		fake_complete(peer, recv, IBV_WC_LOC_LEN_ERR, 0x89, 0);
		fake_complete(qp, wr, IBV_WC_REM_INV_REQ_ERR, 0x89, 0);
		return true;
	}
	carry(wr, recv);
	fake_deliver(peer, recv, IBV_WC_RECV, length_bytes, has_imm(wr), wr->imm_data);
	fake_complete(qp, wr, IBV_WC_SUCCESS, 0, length_bytes);
	return true;
}

static int access_for(enum ibv_wr_opcode opcode)
{
	if (opcode == IBV_WR_RDMA_READ)
		return IBV_ACCESS_REMOTE_READ;
	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP)
		return IBV_ACCESS_REMOTE_ATOMIC;
	return IBV_ACCESS_REMOTE_WRITE;
}

/* Executes a write, read or atomic operation on the peer's memory, which was checked before. */
static void touch(const struct fake_wr *wr)
{
	uint8_t *remote = (uint8_t *)(uintptr_t)wr->remote_addr;
	uint64_t old;

	if (wr->opcode == IBV_WR_RDMA_READ) {
		fake_wr_scatter(wr, remote, wr->length_bytes);
		return;
	}
	if (access_for(wr->opcode) == IBV_ACCESS_REMOTE_WRITE) {
		fake_wr_gather(wr, remote);
		return;
	}
	memcpy(&old, remote, sizeof(old));
	fake_wr_scatter(wr, (const uint8_t *)&old, sizeof(old));
	if (wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		old += wr->compare_add;
	else if (old == wr->compare_add)
		old = wr->swap;
	memcpy(remote, &old, sizeof(old));
}

static int access_of(const struct fake_qp *peer, const struct fake_wr *wr)
{
	const struct fake_mr *mr =
		fake_mr_by_key(peer->pd, wr->rkey, true, wr->remote_addr, wr->length_bytes);
	int access = fake_mw_access(peer, wr->rkey, wr->remote_addr, wr->length_bytes);

	if (access >= 0)
		return access;
	return mr ? mr->access : 0;
}

/* Returns false if the request waits for a receive of the peer. */
static bool move(struct fake_qp *qp, struct fake_qp *peer, struct fake_wr *wr)
{
	int access = access_for(wr->opcode);
	struct fake_wr *recv = fake_qp_recv(peer);

	/* The key of an access of zero bytes is not checked: IBTA 9.7.4.1.5. */
	if (wr->length_bytes && !(access_of(peer, wr) & access)) {
		refuse(qp, peer, wr, IBV_WC_REM_ACCESS_ERR);
		return true;
	}
	if (!(peer->attr.qp_access_flags & (unsigned int)access) ||
		(access == IBV_ACCESS_REMOTE_ATOMIC && wr->remote_addr % 8)) {
		refuse(qp, peer, wr, IBV_WC_REM_INV_REQ_ERR);
		return true;
	}
	if (has_imm(wr) && !recv && qp->ibv.qp_type != IBV_QPT_UC)
		return false;
	count_packet(qp, peer);
	if (wr->length_bytes)
		touch(wr);
	if (has_imm(wr) && recv)
		fake_deliver(peer, recv, IBV_WC_RECV_RDMA_WITH_IMM, wr->length_bytes, true,
			wr->imm_data);
	fake_complete(qp, wr, IBV_WC_SUCCESS, 0, wr->length_bytes);
	return true;
}

void fake_loop_pump(struct fake_qp *qp)
{
	struct fake_wr *wr;

	if (!g_fake.loopback)
		return;
	while (qp->ibv.state == IBV_QPS_RTS &&
		(wr = VBD_LIST_FIRST(&qp->sends, struct fake_wr, link))) {
		struct fake_qp *peer = peer_of(qp);

		if (qp->ibv.qp_type == IBV_QPT_UD) {
			fake_ud_send(qp, wr);
			continue;
		}
		if (fake_is_window_work(wr)) {
			fake_complete(qp, wr, IBV_WC_SUCCESS, 0, 0);
			continue;
		}
		/* A QP that is down does not answer; the CM tells the requester. */
		if (!peer || (peer->ibv.state != IBV_QPS_RTR && peer->ibv.state != IBV_QPS_RTS))
			return;
		if (wr->opcode == IBV_WR_SEND || wr->opcode == IBV_WR_SEND_WITH_IMM) {
			if (!deliver(qp, peer, wr))
				return;
		} else if (!move(qp, peer, wr)) {
			return;
		}
	}
}

void fake_loop_ready(struct fake_qp *qp)
{
	struct fake_qp *peer;

	if (!g_fake.loopback)
		return;
	peer = peer_of(qp);
	if (peer)
		fake_loop_pump(peer);
}
