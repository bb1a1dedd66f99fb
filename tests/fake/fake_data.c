/* SPDX-License-Identifier: Apache-2.0 */
/* Completion channels, completion queues, queue pairs and work requests. */
#include "tests/fake/fake.h"

#include <endian.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

static struct fake_context *context_of(struct ibv_context *context)
{
	return (struct fake_context *)(void *)context;
}

static struct fake_qp *qp_of(struct ibv_qp *qp)
{
	return (struct fake_qp *)(void *)qp;
}

static struct fake_cq *cq_of(struct ibv_cq *cq)
{
	return (struct fake_cq *)(void *)cq;
}

/* Completion channels. */

enum vbd_status vbd_pv_create_comp_channel(
	struct ibv_context *ibv, struct ibv_comp_channel **ret_comp_channel, struct vbd_error *err)
{
	struct fake_comp_channel *comp_channel;
	int errnum;

	fake_lock();
	errnum = fake_call(VBD_PV_CALL_CREATE_COMP_CHANNEL);
	if (!errnum) {
		comp_channel = fake_allocate(sizeof(*comp_channel));
		comp_channel->context = context_of(ibv);
		comp_channel->ibv.context = ibv;
		comp_channel->ibv.fd = fake_eventfd(EFD_SEMAPHORE);
		comp_channel->context->children++;
		g_fake.live.comp_channels++;
		vbd_list_append(&g_fake.comp_channels, &comp_channel->link);
		*ret_comp_channel = &comp_channel->ibv;
	}
	fake_unlock();
	return fake_result(VBD_PV_CALL_CREATE_COMP_CHANNEL, errnum, err);
}

static void free_comp_channel(struct fake_comp_channel *comp_channel)
{
	vbd_list_remove(&comp_channel->link);
	comp_channel->context->children--;
	g_fake.live.comp_channels--;
	(void)close(comp_channel->ibv.fd);
	free(comp_channel);
}

void vbd_pv_destroy_comp_channel(struct ibv_comp_channel *ibv)
{
	struct fake_comp_channel *comp_channel = (struct fake_comp_channel *)(void *)ibv;

	if (!ibv)
		return;
	fake_lock();
	fake_note("ibv_destroy_comp_channel");
	if (comp_channel->children)
		fake_broken("a completion channel is destroyed before its CQ");
	else
		free_comp_channel(comp_channel);
	fake_unlock();
}

/* Completion queues. */

static int create_cq(struct fake_context *context, uint32_t depth_cqe, void *cq_context,
	struct ibv_comp_channel *comp_channel, struct ibv_cq **ret_cq)
{
	struct fake_cq *cq;

	if (depth_cqe < 1 || depth_cqe > (uint32_t)context->device->attr.max_cqe)
		return EINVAL;
	cq = fake_allocate(sizeof(*cq));
	cq->context = context;
	cq->comp_channel = (struct fake_comp_channel *)(void *)comp_channel;
	cq->ibv.context = &context->ibv;
	cq->ibv.channel = comp_channel;
	cq->ibv.cq_context = cq_context;
	cq->ibv.cqe = (int)depth_cqe;
	cq->room = depth_cqe;
	cq->wcs = fake_allocate(cq->room * sizeof(*cq->wcs));
	context->children++;
	if (cq->comp_channel)
		cq->comp_channel->children++;
	g_fake.live.cqs++;
	vbd_list_append(&g_fake.cqs, &cq->link);
	*ret_cq = &cq->ibv;
	return 0;
}

enum vbd_status vbd_pv_create_cq(struct vbd_account *account, struct ibv_context *ibv,
	uint32_t depth_cqe, void *cq_context, struct ibv_comp_channel *comp_channel,
	unsigned int comp_vector, struct ibv_cq **ret_cq, struct vbd_error *err)
{
	int errnum;

	(void)comp_vector;

	fake_lock();
	errnum = fake_call(VBD_PV_CALL_CREATE_CQ);
	if (!errnum)
		errnum = create_cq(context_of(ibv), depth_cqe, cq_context, comp_channel, ret_cq);
	if (!errnum)
		vbd_account_made(account, VBD_PV_CQ);
	fake_unlock();
	return fake_result(VBD_PV_CALL_CREATE_CQ, errnum, err);
}

static void free_cq(struct fake_cq *cq)
{
	vbd_list_remove(&cq->link);
	cq->context->children--;
	if (cq->comp_channel)
		cq->comp_channel->children--;
	g_fake.live.cqs--;
	free(cq->wcs);
	free(cq);
}

void vbd_pv_destroy_cq(struct vbd_account *account, struct ibv_cq *ibv)
{
	struct fake_cq *cq = cq_of(ibv);

	if (!ibv)
		return;
	fake_lock();
	fake_note("ibv_destroy_cq");
	if (cq->qps) {
		fake_broken("a CQ is destroyed while %u queues use it", cq->qps);
	} else {
		free_cq(cq);
		vbd_account_destroyed(account, VBD_PV_CQ);
	}
	fake_unlock();
}

static int resize_cq(struct fake_cq *cq, uint32_t depth_cqe)
{
	struct ibv_wc *wcs;

	if (depth_cqe < cq->count || depth_cqe < 1 ||
		depth_cqe > (uint32_t)cq->context->device->attr.max_cqe)
		return EINVAL;
	wcs = fake_allocate(depth_cqe * sizeof(*wcs));
	for (unsigned int i = 0; i < cq->count; i++)
		wcs[i] = cq->wcs[(cq->first + i) % cq->room];
	free(cq->wcs);
	cq->wcs = wcs;
	cq->first = 0;
	cq->room = depth_cqe;
	cq->ibv.cqe = (int)depth_cqe;
	return 0;
}

enum vbd_status vbd_pv_resize_cq(struct ibv_cq *ibv, uint32_t depth_cqe, struct vbd_error *err)
{
	int errnum;

	fake_lock();
	errnum = fake_call(VBD_PV_CALL_RESIZE_CQ);
	if (!errnum)
		errnum = resize_cq(cq_of(ibv), depth_cqe);
	fake_unlock();
	return fake_result(VBD_PV_CALL_RESIZE_CQ, errnum, err);
}

enum vbd_status vbd_pv_moderate_cq(
	struct ibv_cq *ibv, uint16_t count, uint16_t period_us, struct vbd_error *err)
{
	struct fake_cq *cq = cq_of(ibv);
	int errnum;

	fake_lock();
	errnum = fake_call(VBD_PV_CALL_MODERATE_CQ);
	if (!errnum && !cq->context->device->cq_mod_caps.max_cq_count)
		errnum = EOPNOTSUPP;
	if (!errnum) {
		cq->moderation_count = count;
		cq->moderation_period_us = period_us;
	}
	fake_unlock();
	return fake_result(VBD_PV_CALL_MODERATE_CQ, errnum, err);
}

void fake_cq_moderation(struct ibv_cq *cq, uint16_t *ret_count, uint16_t *ret_period_us)
{
	fake_lock();
	*ret_count = cq_of(cq)->moderation_count;
	*ret_period_us = cq_of(cq)->moderation_period_us;
	fake_unlock();
}

enum vbd_status vbd_pv_arm_cq(struct ibv_cq *ibv, struct vbd_error *err)
{
	int errnum;

	fake_lock();
	errnum = fake_call(VBD_PV_CALL_ARM_CQ);
	if (!errnum)
		cq_of(ibv)->armed = true;
	fake_unlock();
	return fake_result(VBD_PV_CALL_ARM_CQ, errnum, err);
}

void *vbd_pv_take_cq_event(struct ibv_comp_channel *comp_channel)
{
	void *cq_context = NULL;

	fake_lock();
	vbd_list_for_each (link, &g_fake.cqs) {
		struct fake_cq *cq = VBD_CONTAINER_OF(link, struct fake_cq, link);

		if (cq->ibv.channel != comp_channel || cq->events == 0 || cq_context)
			continue;
		cq->events--;
		fake_fd_lower(comp_channel->fd);
		cq_context = cq->ibv.cq_context;
	}
	fake_unlock();
	return cq_context;
}

static atomic_bool g_stalled;
static atomic_uint g_in_stall; /* threads */

void fake_polls_stalled(bool stalled)
{
	atomic_store(&g_stalled, stalled);
}

bool fake_poll_is_stalled(void)
{
	return atomic_load(&g_in_stall) > 0;
}

unsigned int vbd_pv_poll_cq(struct ibv_cq *ibv, struct ibv_wc *wcs, unsigned int max)
{
	struct fake_cq *cq = cq_of(ibv);
	unsigned int count = 0;

	if (atomic_load(&g_stalled)) {
		atomic_fetch_add(&g_in_stall, 1);
		while (atomic_load(&g_stalled))
			(void)usleep(1000);
		atomic_fetch_sub(&g_in_stall, 1);
	}
	fake_lock();
	for (; count < max && cq->count > 0; count++) {
		wcs[count] = cq->wcs[cq->first];
		cq->first = (cq->first + 1) % cq->room;
		cq->count--;
	}
	fake_unlock();
	return count;
}

static void push_wc(struct fake_cq *cq, const struct ibv_wc *wc)
{
	if (cq->count == cq->room) {
		fake_broken("a CQ of %d overruns", cq->ibv.cqe);
		return;
	}
	cq->wcs[(cq->first + cq->count++) % cq->room] = *wc;
	if (cq->count > cq->high_water)
		cq->high_water = cq->count;
	if (!cq->armed)
		return;
	cq->armed = false;
	if (!cq->comp_channel)
		return;
	cq->events++;
	fake_fd_raise(cq->comp_channel->ibv.fd);
}

void fake_cq_push(struct ibv_cq *cq, const struct ibv_wc *wc)
{
	fake_lock();
	push_wc(cq_of(cq), wc);
	fake_unlock();
}

unsigned int fake_cq_high_water(struct ibv_cq *cq)
{
	unsigned int high_water;

	fake_lock();
	high_water = cq_of(cq)->high_water;
	fake_unlock();
	return high_water;
}

/* Queue pairs. */

struct fake_qp *fake_qp_by_number(uint32_t qp_num)
{
	vbd_list_for_each (link, &g_fake.qps) {
		struct fake_qp *qp = VBD_CONTAINER_OF(link, struct fake_qp, link);

		if (qp->ibv.qp_num == qp_num)
			return qp;
	}
	return NULL;
}

static int create_qp(
	struct fake_pd *pd, const struct ibv_qp_init_attr *init, struct ibv_qp **ret_qp)
{
	uint32_t max_wr = (uint32_t)pd->context->device->attr.max_qp_wr;
	uint32_t max_sge = (uint32_t)pd->context->device->attr.max_sge;
	struct fake_qp *qp;

	if ((init->qp_type != IBV_QPT_RC && init->qp_type != IBV_QPT_UC &&
		    init->qp_type != IBV_QPT_UD) ||
		!init->send_cq || !init->recv_cq)
		return EINVAL;
	if (init->cap.max_send_sge > max_sge || init->cap.max_recv_sge > max_sge)
		return EINVAL;
	if (init->cap.max_send_wr > max_wr || init->cap.max_recv_wr > max_wr)
		return EINVAL;
	qp = fake_allocate(sizeof(*qp));
	vbd_list_init(&qp->sends);
	vbd_list_init(&qp->recvs);
	qp->pd = pd;
	qp->send_cq = cq_of(init->send_cq);
	qp->recv_cq = cq_of(init->recv_cq);
	qp->cap = init->cap;
	qp->srq = (struct fake_srq *)(void *)init->srq;
	if (qp->srq && qp->srq->pd != pd)
		fake_broken("a QP and its SRQ are in different PDs");
	if (qp->srq)
		qp->srq->qps++;
	qp->ibv.srq = init->srq;
	qp->ibv.context = pd->ibv.context;
	qp->ibv.pd = &pd->ibv;
	qp->ibv.send_cq = init->send_cq;
	qp->ibv.recv_cq = init->recv_cq;
	qp->ibv.qp_type = init->qp_type;
	qp->ibv.qp_num = ++g_fake.last_qpn;
	qp->ibv.state = IBV_QPS_RESET;
	pd->children++;
	qp->send_cq->qps++;
	qp->recv_cq->qps++;
	g_fake.live.qps++;
	vbd_list_append(&g_fake.qps, &qp->link);
	*ret_qp = &qp->ibv;
	return 0;
}

enum vbd_status vbd_pv_create_qp(struct vbd_account *account, struct ibv_pd *pd,
	struct ibv_qp_init_attr *init, struct ibv_qp **ret_qp, struct vbd_error *err)
{
	int errnum;

	fake_lock();
	errnum = fake_call(VBD_PV_CALL_CREATE_QP);
	if (!errnum)
		errnum = create_qp((struct fake_pd *)(void *)pd, init, ret_qp);
	if (!errnum)
		vbd_account_made(account, VBD_PV_QP);
	fake_unlock();
	return fake_result(VBD_PV_CALL_CREATE_QP, errnum, err);
}

static void drop_wrs(struct fake_qp *qp)
{
	struct fake_wr *wr;

	while ((wr = VBD_LIST_FIRST(&qp->sends, struct fake_wr, link))) {
		vbd_list_remove(&wr->link);
		free(wr);
	}
	while ((wr = VBD_LIST_FIRST(&qp->recvs, struct fake_wr, link))) {
		vbd_list_remove(&wr->link);
		free(wr);
	}
	qp->send_count = 0;
	qp->recv_count = 0;
}

static void free_qp(struct fake_qp *qp)
{
	drop_wrs(qp);
	fake_async_remove(&qp->ibv);
	vbd_list_remove(&qp->link);
	if (qp->srq)
		qp->srq->qps--;
	qp->pd->children--;
	qp->send_cq->qps--;
	qp->recv_cq->qps--;
	g_fake.live.qps--;
	free(qp);
}

static bool is_iwarp(const struct fake_qp *qp)
{
	return qp->pd->context->device->ibv.transport_type == IBV_TRANSPORT_IWARP;
}

void vbd_pv_destroy_qp(struct vbd_account *account, struct ibv_qp *ibv)
{
	if (!ibv)
		return;
	/* siw waits until the CM lets go of the QP, which it has at the latest in INIT; rxe for the
	 * packets of a QP that may have sent some. */
	if (ibv->state != IBV_QPS_RESET && (is_iwarp(qp_of(ibv)) || ibv->state != IBV_QPS_INIT))
		(void)fake_may_block(VBD_WAIT_DESTROY_QP);
	fake_lock();
	fake_note("ibv_destroy_qp");
	if (qp_of(ibv)->groups)
		fake_broken("a QP is destroyed while it is attached to a group");
	fake_mw_qp_destroyed(qp_of(ibv));
	free_qp(qp_of(ibv));
	vbd_account_destroyed(account, VBD_PV_QP);
	fake_unlock();
}

/* Required attributes for the moves of an RC QP: IBTA table 91, as in ib_modify_qp_is_ok(). */
static int needed_for(enum ibv_qp_state from, enum ibv_qp_state to)
{
	if (from == IBV_QPS_RESET && to == IBV_QPS_INIT)
		return IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	if (from == IBV_QPS_INIT && to == IBV_QPS_RTR)
		return IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	if (from == IBV_QPS_RTR && to == IBV_QPS_RTS)
		return IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		       IBV_QP_MAX_QP_RD_ATOMIC;
	return 0;
}

/* IBTA table 92: UC neither acknowledges nor retries. */
#define OF_RC_ALONE                                                                             \
	(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | \
		IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)

static int needed_for_ud(enum ibv_qp_state from, enum ibv_qp_state to)
{
	if (from == IBV_QPS_RESET && to == IBV_QPS_INIT)
		return IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
	return from == IBV_QPS_RTR && to == IBV_QPS_RTS ? IBV_QP_SQ_PSN : 0;
}

static bool may_move(enum ibv_qp_state from, enum ibv_qp_state to)
{
	if (to == IBV_QPS_RESET)
		return true;
	if (to == IBV_QPS_ERR)
		return from != IBV_QPS_RESET;
	if (to == IBV_QPS_INIT)
		return from == IBV_QPS_RESET || from == IBV_QPS_INIT;
	if (to == IBV_QPS_RTR)
		return from == IBV_QPS_INIT;
	if (to == IBV_QPS_RTS)
		return from == IBV_QPS_RTR || from == IBV_QPS_RTS || from == IBV_QPS_SQD;
	if (to == IBV_QPS_SQD)
		return from == IBV_QPS_RTS || from == IBV_QPS_SQD;
	return false;
}

/* InfiniBand addresses the peer by LID, RoCE by GID. */
static bool leads_somewhere(const struct fake_qp *qp, const struct ibv_ah_attr *ah)
{
	const struct fake_device *device = qp->pd->context->device;

	if (ah->is_global && ah->grh.sgid_index >= device->gid_count)
		return false;
	if (device->port.link_layer == IBV_LINK_LAYER_INFINIBAND)
		return ah->dlid != 0;
	return ah->is_global;
}

static void keep_attr(struct ibv_qp_attr *to, const struct ibv_qp_attr *from, int mask)
{
#define KEEP(flag, member)                         \
	do {                                       \
		if (mask & (flag))                 \
			to->member = from->member; \
	} while (0)
	KEEP(IBV_QP_ACCESS_FLAGS, qp_access_flags);
	KEEP(IBV_QP_PKEY_INDEX, pkey_index);
	KEEP(IBV_QP_PORT, port_num);
	KEEP(IBV_QP_QKEY, qkey);
	KEEP(IBV_QP_AV, ah_attr);
	KEEP(IBV_QP_PATH_MTU, path_mtu);
	KEEP(IBV_QP_TIMEOUT, timeout);
	KEEP(IBV_QP_RETRY_CNT, retry_cnt);
	KEEP(IBV_QP_RNR_RETRY, rnr_retry);
	KEEP(IBV_QP_RQ_PSN, rq_psn);
	KEEP(IBV_QP_SQ_PSN, sq_psn);
	KEEP(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
	KEEP(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	KEEP(IBV_QP_MIN_RNR_TIMER, min_rnr_timer);
	KEEP(IBV_QP_DEST_QPN, dest_qp_num);
#undef KEEP
}

const char *fake_qp_modify(struct fake_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	enum ibv_qp_state to = attr->qp_state;
	int needed = is_iwarp(qp) ? 0 : needed_for(qp->ibv.state, to);

	if (qp->ibv.qp_type == IBV_QPT_UC)
		needed &= ~OF_RC_ALONE;
	if (qp->ibv.qp_type == IBV_QPT_UD)
		needed = needed_for_ud(qp->ibv.state, to);
	if (!(mask & IBV_QP_STATE))
		to = qp->ibv.state;
	if (!may_move(qp->ibv.state, to))
		return "the move is not allowed";
	if ((mask & needed) != needed)
		return "an attribute is missing";
	if (qp->ibv.qp_type == IBV_QPT_UC && (mask & OF_RC_ALONE))
		return "an attribute is RC's alone";
	if ((mask & IBV_QP_AV) && !is_iwarp(qp) && !leads_somewhere(qp, &attr->ah_attr))
		return "the path leads nowhere";
	if ((mask & IBV_QP_PKEY_INDEX) &&
		attr->pkey_index >= qp->pd->context->device->port.pkey_tbl_len)
		return "there is no such partition key";
	keep_attr(&qp->attr, attr, mask);
	fake_qp_set_state(qp, to);
	return NULL;
}

enum vbd_status vbd_pv_modify_qp(
	struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask, struct vbd_error *err)
{
	bool resolves = (mask & IBV_QP_AV) && !is_iwarp(qp_of(ibv));
	const union ibv_gid *peer = &attr->ah_attr.grh.dgid;
	int errnum = resolves ? fake_resolve_neighbour(VBD_WAIT_MODIFY_QP, peer) : 0;
	int old = (int)ibv->state;
	const char *refused;

	fake_lock();
	if (!errnum)
		errnum = fake_call(VBD_PV_CALL_MODIFY_QP);
	if (!errnum) {
		refused = fake_qp_modify(qp_of(ibv), attr, mask);
		if (refused) {
			fake_broken(
				"a QP from state %d to %d: %s", old, (int)attr->qp_state, refused);
			errnum = EINVAL;
		} else if (resolves) {
			fake_neighbour_resolved(peer);
		}
	}
	fake_unlock();
	return fake_result(VBD_PV_CALL_MODIFY_QP, errnum, err);
}

enum vbd_status vbd_pv_query_qp(
	struct ibv_qp *ibv, struct ibv_qp_attr *ret_attr, int mask, struct vbd_error *err)
{
	int errnum;

	(void)mask;
	fake_lock();
	errnum = fake_call(VBD_PV_CALL_QUERY_QP);
	if (!errnum) {
		*ret_attr = qp_of(ibv)->attr;
		ret_attr->qp_state = ibv->state;
	}
	fake_unlock();
	return fake_result(VBD_PV_CALL_QUERY_QP, errnum, err);
}

/* Completions. */

struct fake_wr *fake_qp_recv(struct fake_qp *qp)
{
	return VBD_LIST_FIRST(qp->srq ? &qp->srq->recvs : &qp->recvs, struct fake_wr, link);
}

static void finish(struct fake_qp *qp, struct fake_wr *wr, const struct ibv_wc *wc)
{
	bool signalled = wr->recv || (wr->send_flags & IBV_SEND_SIGNALED);

	vbd_list_remove(&wr->link);
	if (wr->shared)
		fake_srq_taken(qp->srq);
	else if (wr->recv)
		qp->recv_count--;
	else
		qp->send_count--;
	if (signalled || wc->status != IBV_WC_SUCCESS)
		push_wc(wr->recv ? qp->recv_cq : qp->send_cq, wc);
	free(wr);
}

void fake_complete(struct fake_qp *qp, struct fake_wr *wr, enum ibv_wc_status status,
	uint32_t vendor_err, uint32_t byte_len)
{
	static const enum ibv_wc_opcode opcodes[] = {
		[IBV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE,
		[IBV_WR_RDMA_WRITE_WITH_IMM] = IBV_WC_RDMA_WRITE,
		[IBV_WR_SEND] = IBV_WC_SEND,
		[IBV_WR_SEND_WITH_IMM] = IBV_WC_SEND,
		[IBV_WR_RDMA_READ] = IBV_WC_RDMA_READ,
		[IBV_WR_ATOMIC_FETCH_AND_ADD] = IBV_WC_FETCH_ADD,
		[IBV_WR_ATOMIC_CMP_AND_SWP] = IBV_WC_COMP_SWAP,
		[IBV_WR_LOCAL_INV] = IBV_WC_LOCAL_INV,
		[IBV_WR_BIND_MW] = IBV_WC_BIND_MW,
	};
	struct ibv_wc wc = {
		.wr_id = wr->wr_id,
		.status = status,
		.vendor_err = vendor_err,
		.qp_num = qp->ibv.qp_num,
	};

	if (status == IBV_WC_SUCCESS) {
		wc.opcode = wr->recv ? IBV_WC_RECV : opcodes[wr->opcode];
		wc.byte_len = byte_len;
		if (fake_is_window_work(wr))
			fake_mw_completed(qp, wr);
	} else {
		/* Invalid in a completion with an error: ibv_poll_cq(3). */
		wc.opcode = (enum ibv_wc_opcode)0x5a;
		wc.byte_len = 0x5a5a5a5a;
	}
	finish(qp, wr, &wc);
	if (status != IBV_WC_SUCCESS && status != IBV_WC_WR_FLUSH_ERR)
		fake_qp_set_state(qp, IBV_QPS_ERR);
}

void fake_deliver(struct fake_qp *qp, struct fake_wr *wr, enum ibv_wc_opcode opcode,
	uint32_t byte_len, bool has_imm, uint32_t imm_data)
{
	const struct ibv_wc wc = {
		.wr_id = wr->wr_id,
		.status = IBV_WC_SUCCESS,
		.opcode = opcode,
		.byte_len = byte_len,
		.qp_num = qp->ibv.qp_num,
		.wc_flags = has_imm ? IBV_WC_WITH_IMM : 0,
		.imm_data = imm_data,
	};

	finish(qp, wr, &wc);
}

static void flush(struct fake_qp *qp)
{
	struct fake_wr *wr;

	while ((wr = VBD_LIST_FIRST(&qp->sends, struct fake_wr, link)))
		fake_complete(qp, wr, IBV_WC_WR_FLUSH_ERR, 0, 0);
	while ((wr = VBD_LIST_FIRST(&qp->recvs, struct fake_wr, link)))
		fake_complete(qp, wr, IBV_WC_WR_FLUSH_ERR, 0, 0);
}

void fake_qp_set_state(struct fake_qp *qp, enum ibv_qp_state state)
{
	qp->ibv.state = state;
	if (state == IBV_QPS_RESET)
		drop_wrs(qp);
	if (state == IBV_QPS_ERR && !g_fake.withhold_flushes)
		flush(qp);
	fake_loop_pump(qp);
	fake_loop_ready(qp);
}

/* Posting. */

void fake_deliver_from(struct fake_qp *qp, struct fake_wr *wr, uint32_t byte_len, uint32_t src_qp)
{
	const struct ibv_wc wc = {
		.wr_id = wr->wr_id,
		.status = IBV_WC_SUCCESS,
		.opcode = IBV_WC_RECV,
		.byte_len = byte_len,
		.qp_num = qp->ibv.qp_num,
		.wc_flags = IBV_WC_GRH,
		.src_qp = src_qp,
	};

	finish(qp, wr, &wc);
}

bool fake_sges_covered(const struct fake_pd *pd, const struct fake_wr *wr)
{
	bool takes_nothing = pd->context->device->ibv.transport_type == IBV_TRANSPORT_IWARP;

	if (wr->send_flags & IBV_SEND_INLINE)
		return true;
	for (int i = 0; i < wr->sge_count; i++) {
		const struct ibv_sge *sge = &wr->sges[i];
		/* A range of no bytes has 2^31 to some RoCE devices, and none to iWARP ones. */
		uint32_t bytes = sge->length || !takes_nothing ? sge->length : 1;

		if (bytes && fake_mr_by_key(pd, sge->lkey, false, sge->addr, bytes))
			continue;
		fake_broken("lkey 0x%x does not cover %u bytes at 0x%llx", sge->lkey, sge->length,
			(unsigned long long)sge->addr);
		return false;
	}
	return true;
}

void fake_wr_take_sges(struct fake_wr *wr, const struct ibv_sge *sges, int count, uint32_t max)
{
	if (count > FAKE_SGES || (uint32_t)count > max)
		fake_abort("more ranges than the QP has");
	for (int i = 0; i < count; i++) {
		wr->sges[i] = sges[i];
		wr->length_bytes += sges[i].length;
	}
	wr->sge_count = count;
	if (count) {
		wr->addr = (uint8_t *)(uintptr_t)sges->addr;
		wr->lkey = sges->lkey;
	}
}

void fake_wr_gather(const struct fake_wr *wr, uint8_t *to)
{
	if (wr->send_flags & IBV_SEND_INLINE) {
		memcpy(to, wr->inlined, wr->length_bytes);
		return;
	}
	for (int i = 0; i < wr->sge_count; i++) {
		memcpy(to, (const void *)(uintptr_t)wr->sges[i].addr, wr->sges[i].length);
		to += wr->sges[i].length;
	}
}

void fake_wr_scatter(const struct fake_wr *wr, const uint8_t *from, uint32_t length_bytes)
{
	for (int i = 0; i < wr->sge_count && length_bytes; i++) {
		uint32_t part =
			wr->sges[i].length < length_bytes ? wr->sges[i].length : length_bytes;

		memcpy((void *)(uintptr_t)wr->sges[i].addr, from, part);
		from += part;
		length_bytes -= part;
	}
}

static int queue_wr(struct fake_qp *qp, struct fake_wr *wr)
{
	if (!fake_sges_covered(qp->pd, wr)) {
		free(wr);
		return EINVAL;
	}
	if (wr->recv) {
		vbd_list_append(&qp->recvs, &wr->link);
		qp->recv_count++;
	} else {
		vbd_list_append(&qp->sends, &wr->link);
		qp->send_count++;
	}
	if (qp->ibv.state == IBV_QPS_ERR && !g_fake.withhold_flushes)
		flush(qp);
	else if (wr->recv)
		fake_loop_ready(qp);
	else
		fake_loop_pump(qp);
	return 0;
}

static bool is_atomic(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
}

static int post_send(struct fake_qp *qp, const struct ibv_send_wr *from)
{
	struct fake_wr *wr;

	if (qp->ibv.state != IBV_QPS_RTS && qp->ibv.state != IBV_QPS_SQD &&
		qp->ibv.state != IBV_QPS_ERR) {
		fake_broken("a send is posted in QP state %d", (int)qp->ibv.state);
		return EINVAL;
	}
	if (qp->send_count >= qp->cap.max_send_wr) {
		fake_broken("more than %u sends are posted", qp->cap.max_send_wr);
		return ENOMEM;
	}
	wr = fake_allocate(sizeof(*wr));
	wr->wr_id = from->wr_id;
	wr->opcode = from->opcode;
	wr->send_flags = from->send_flags;
	wr->remote_addr = from->wr.rdma.remote_addr;
	wr->rkey = from->wr.rdma.rkey;
	wr->imm_data = from->imm_data;
	if (qp->ibv.qp_type == IBV_QPT_UD) {
		wr->ah = from->wr.ud.ah;
		wr->remote_qpn = from->wr.ud.remote_qpn;
		wr->remote_qkey = from->wr.ud.remote_qkey;
	}
	if (is_atomic(wr->opcode)) {
		wr->remote_addr = from->wr.atomic.remote_addr;
		wr->rkey = from->wr.atomic.rkey;
		wr->compare_add = from->wr.atomic.compare_add;
		wr->swap = from->wr.atomic.swap;
	}
	if (wr->opcode == IBV_WR_BIND_MW) {
		wr->mw = from->bind_mw.mw;
		wr->bind = from->bind_mw.bind_info;
		wr->new_rkey = from->bind_mw.rkey;
	} else if (wr->opcode == IBV_WR_LOCAL_INV) {
		wr->new_rkey = from->invalidate_rkey;
	}
	fake_wr_take_sges(wr, from->sg_list, from->num_sge, qp->cap.max_send_sge);
	if (wr->send_flags & IBV_SEND_INLINE) {
		if (wr->length_bytes > qp->cap.max_inline_data ||
			wr->length_bytes > sizeof(wr->inlined)) {
			fake_broken("%u bytes are posted inline", wr->length_bytes);
			free(wr);
			return EINVAL;
		}
		wr->send_flags &= ~(unsigned int)IBV_SEND_INLINE;
		fake_wr_gather(wr, wr->inlined);
		wr->send_flags |= IBV_SEND_INLINE;
	}
	return queue_wr(qp, wr);
}

/* Whether this work request is the one that fake_fail_post() asked for. */
static int post_fails(void)
{
	return g_fake.fail_post && --g_fake.fail_post == 0 ? EIO : 0;
}

void fake_fail_post(unsigned int nth)
{
	fake_lock();
	g_fake.fail_post = nth;
	fake_unlock();
}

enum vbd_status vbd_pv_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
	struct ibv_send_wr **ret_bad, struct vbd_error *err)
{
	int errnum;

	fake_lock();
	errnum = fake_call(VBD_PV_CALL_POST_SEND);
	for (; wr && !errnum; wr = errnum ? wr : wr->next) {
		errnum = post_fails();
		if (!errnum)
			errnum = post_send(qp_of(qp), wr);
	}
	if (errnum)
		*ret_bad = wr;
	fake_unlock();
	return fake_result(VBD_PV_CALL_POST_SEND, errnum, err);
}

static int post_recv(struct fake_qp *qp, const struct ibv_recv_wr *from)
{
	struct fake_wr *wr;

	if (qp->srq) {
		fake_broken("a receive is posted on a QP with an SRQ");
		return EINVAL;
	}
	if (qp->ibv.state == IBV_QPS_RESET) {
		fake_broken("a receive is posted in QP state RESET");
		return EINVAL;
	}
	if (qp->recv_count >= qp->cap.max_recv_wr) {
		fake_broken("more than %u receives are posted", qp->cap.max_recv_wr);
		return ENOMEM;
	}
	wr = fake_allocate(sizeof(*wr));
	wr->wr_id = from->wr_id;
	wr->recv = true;
	fake_wr_take_sges(wr, from->sg_list, from->num_sge, qp->cap.max_recv_sge);
	return queue_wr(qp, wr);
}

enum vbd_status vbd_pv_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
	struct ibv_recv_wr **ret_bad, struct vbd_error *err)
{
	int errnum;

	fake_lock();
	errnum = fake_call(VBD_PV_CALL_POST_RECV);
	for (; wr && !errnum; wr = errnum ? wr : wr->next) {
		errnum = post_fails();
		if (!errnum)
			errnum = post_recv(qp_of(qp), wr);
	}
	if (errnum)
		*ret_bad = wr;
	fake_unlock();
	return fake_result(VBD_PV_CALL_POST_RECV, errnum, err);
}

/* Script functions. */

unsigned int fake_sends(struct ibv_qp *qp)
{
	unsigned int count;

	fake_lock();
	count = qp_of(qp)->send_count;
	fake_unlock();
	return count;
}

unsigned int fake_recvs(struct ibv_qp *qp)
{
	unsigned int count;

	fake_lock();
	count = qp_of(qp)->recv_count;
	fake_unlock();
	return count;
}

static struct fake_wr *oldest(struct vbd_link *wrs)
{
	struct fake_wr *wr = VBD_LIST_FIRST(wrs, struct fake_wr, link);

	if (!wr)
		fake_abort("no work request is outstanding");
	return wr;
}

static struct fake_wr copy_at(const struct vbd_link *wrs, unsigned int i)
{
	struct fake_wr *found = NULL;
	struct fake_wr copy;

	fake_lock();
	vbd_list_for_each (link, wrs) {
		if (i-- == 0)
			found = VBD_CONTAINER_OF(link, struct fake_wr, link);
	}
	if (!found)
		fake_abort("no such work request is outstanding");
	copy = *found;
	fake_unlock();
	return copy;
}

struct fake_wr fake_send_at(struct ibv_qp *qp, unsigned int i)
{
	return copy_at(&qp_of(qp)->sends, i);
}

struct fake_wr fake_recv_at(struct ibv_qp *qp, unsigned int i)
{
	return copy_at(&qp_of(qp)->recvs, i);
}

void fake_send_done(struct ibv_qp *qp)
{
	struct fake_wr *wr;

	fake_lock();
	wr = oldest(&qp_of(qp)->sends);
	fake_complete(qp_of(qp), wr, IBV_WC_SUCCESS, 0, wr->length_bytes);
	fake_unlock();
}

void fake_sends_done(struct ibv_qp *qp, unsigned int n)
{
	while (n-- > 0)
		fake_send_done(qp);
}

void fake_send_failed(struct ibv_qp *qp, enum ibv_wc_status status, uint32_t vendor_err)
{
	fake_lock();
	fake_complete(qp_of(qp), oldest(&qp_of(qp)->sends), status, vendor_err, 0);
	fake_unlock();
}

static void recv_done(struct ibv_qp *qp, enum ibv_wc_opcode opcode, const void *data,
	uint32_t length_bytes, bool has_imm, uint32_t imm)
{
	bool written = opcode == IBV_WC_RECV_RDMA_WITH_IMM;
	struct fake_wr *wr;

	fake_lock();
	wr = oldest(qp_of(qp)->srq ? &qp_of(qp)->srq->recvs : &qp_of(qp)->recvs);
	if (!written && length_bytes > wr->length_bytes)
		fake_abort("the message is longer than the receive");
	if (!written)
		fake_wr_scatter(wr, data, length_bytes);
	fake_deliver(qp_of(qp), wr, opcode, length_bytes, has_imm, htobe32(imm));
	fake_unlock();
}

void fake_recv_done(struct ibv_qp *qp, const void *data, uint32_t length_bytes)
{
	recv_done(qp, IBV_WC_RECV, data, length_bytes, false, 0);
}

void fake_recv_done_imm(struct ibv_qp *qp, enum ibv_wc_opcode opcode, const void *data,
	uint32_t length_bytes, uint32_t imm)
{
	recv_done(qp, opcode, data, length_bytes, true, imm);
}

void fake_recv_failed(struct ibv_qp *qp, enum ibv_wc_status status, uint32_t vendor_err)
{
	fake_lock();
	fake_complete(qp_of(qp),
		oldest(qp_of(qp)->srq ? &qp_of(qp)->srq->recvs : &qp_of(qp)->recvs), status,
		vendor_err, 0);
	fake_unlock();
}

void fake_qp_to_err(struct ibv_qp *qp)
{
	fake_lock();
	fake_qp_set_state(qp_of(qp), IBV_QPS_ERR);
	fake_unlock();
}

void fake_qp_draining(struct ibv_qp *qp, bool draining)
{
	fake_lock();
	qp_of(qp)->attr.sq_draining = draining;
	fake_unlock();
}

void fake_flushes_withheld(bool withheld)
{
	fake_lock();
	g_fake.withhold_flushes = withheld;
	fake_unlock();
}

void fake_receives_optional(bool optional)
{
	fake_lock();
	g_fake.receives_optional = optional;
	fake_unlock();
}

void fake_flush(struct ibv_qp *qp)
{
	fake_lock();
	flush(qp_of(qp));
	fake_unlock();
}

void fake_data_reset(void)
{
	struct fake_comp_channel *comp_channel;
	struct fake_qp *qp;
	struct fake_cq *cq;

	while ((qp = VBD_LIST_FIRST(&g_fake.qps, struct fake_qp, link)))
		free_qp(qp);
	fake_srq_reset();
	while ((cq = VBD_LIST_FIRST(&g_fake.cqs, struct fake_cq, link)))
		free_cq(cq);
	while ((comp_channel =
			VBD_LIST_FIRST(&g_fake.comp_channels, struct fake_comp_channel, link)))
		free_comp_channel(comp_channel);
}
