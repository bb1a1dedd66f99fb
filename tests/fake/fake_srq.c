/* SPDX-License-Identifier: Apache-2.0 */
/* Shared receive queues. */
#include "tests/fake/fake.h"

static struct fake_srq *srq_of(struct ibv_srq *srq)
{
	return (struct fake_srq *)(void *)srq;
}

enum vbd_status vbd_pv_create_srq(struct vbd_account *account, struct ibv_pd *ibv, uint32_t max_wr,
	struct ibv_srq **ret_srq, struct vbd_error *err)
{
	struct fake_pd *pd = (struct fake_pd *)(void *)ibv;
	struct fake_srq *srq;
	int errnum;

	fake_lock();
	errnum = fake_call(VBD_PV_CALL_CREATE_SRQ);
	if (!errnum && max_wr > (uint32_t)pd->context->device->attr.max_srq_wr)
		errnum = EINVAL;
	if (!errnum) {
		srq = fake_allocate(sizeof(*srq));
		srq->pd = pd;
		srq->max_wr = max_wr;
		srq->ibv.context = pd->ibv.context;
		srq->ibv.pd = ibv;
		vbd_list_init(&srq->recvs);
		pd->children++;
		g_fake.live.srqs++;
		vbd_list_append(&g_fake.srqs, &srq->link);
		*ret_srq = &srq->ibv;
	}
	if (!errnum)
		vbd_account_made(account, VBD_PV_SRQ);
	fake_unlock();
	return fake_result(VBD_PV_CALL_CREATE_SRQ, errnum, err);
}

static void free_srq(struct fake_srq *srq)
{
	struct fake_wr *wr;

	while ((wr = VBD_LIST_FIRST(&srq->recvs, struct fake_wr, link))) {
		vbd_list_remove(&wr->link);
		free(wr);
	}
	vbd_list_remove(&srq->link);
	srq->pd->children--;
	g_fake.live.srqs--;
	free(srq);
}

void vbd_pv_destroy_srq(struct vbd_account *account, struct ibv_srq *ibv)
{
	if (!ibv)
		return;
	fake_lock();
	fake_note("ibv_destroy_srq");
	if (srq_of(ibv)->qps) {
		fake_broken("an SRQ is destroyed while %u QPs use it", srq_of(ibv)->qps);
	} else {
		free_srq(srq_of(ibv));
		vbd_account_destroyed(account, VBD_PV_SRQ);
	}
	fake_unlock();
}

enum vbd_status vbd_pv_arm_srq(struct ibv_srq *ibv, uint32_t limit, struct vbd_error *err)
{
	int errnum;

	fake_lock();
	errnum = fake_call(VBD_PV_CALL_ARM_SRQ);
	if (!errnum && limit > srq_of(ibv)->max_wr)
		errnum = EINVAL;
	if (!errnum)
		srq_of(ibv)->limit = limit;
	fake_unlock();
	return fake_result(VBD_PV_CALL_ARM_SRQ, errnum, err);
}

static int post_recv(struct fake_srq *srq, const struct ibv_recv_wr *from)
{
	struct fake_wr *wr;

	if (srq->recv_count >= srq->max_wr) {
		fake_broken("more than %u receives are posted on an SRQ", srq->max_wr);
		return ENOMEM;
	}
	wr = fake_allocate(sizeof(*wr));
	wr->wr_id = from->wr_id;
	wr->recv = true;
	wr->shared = true;
	fake_wr_take_sges(wr, from->sg_list, from->num_sge, 1);
	if (!fake_sges_covered(srq->pd, wr)) {
		free(wr);
		return EINVAL;
	}
	vbd_list_append(&srq->recvs, &wr->link);
	srq->recv_count++;
	vbd_list_for_each (link, &g_fake.qps) {
		struct fake_qp *qp = VBD_CONTAINER_OF(link, struct fake_qp, link);

		if (qp->srq == srq)
			fake_loop_ready(qp);
	}
	return 0;
}

enum vbd_status vbd_pv_post_srq_recv(
	struct ibv_srq *srq, struct ibv_recv_wr *wr, struct vbd_error *err)
{
	int errnum;

	fake_lock();
	errnum = fake_call(VBD_PV_CALL_POST_SRQ_RECV);
	if (!errnum)
		errnum = post_recv(srq_of(srq), wr);
	fake_unlock();
	return fake_result(VBD_PV_CALL_POST_SRQ_RECV, errnum, err);
}

void fake_srq_taken(struct fake_srq *srq)
{
	srq->recv_count--;
	if (srq->recv_count >= srq->limit)
		return;
	srq->limit = 0;
	fake_async_push_to(srq->pd->context->device,
		&(const struct vbd_pv_async_event){
			.type = IBV_EVENT_SRQ_LIMIT_REACHED, .element.srq = &srq->ibv});
}

unsigned int fake_srq_recvs(struct ibv_srq *srq)
{
	unsigned int count;

	fake_lock();
	count = srq_of(srq)->recv_count;
	fake_unlock();
	return count;
}

uint32_t fake_srq_limit(struct ibv_srq *srq)
{
	uint32_t limit;

	fake_lock();
	limit = srq_of(srq)->limit;
	fake_unlock();
	return limit;
}

void fake_srq_reset(void)
{
	struct fake_srq *srq;

	while ((srq = VBD_LIST_FIRST(&g_fake.srqs, struct fake_srq, link)))
		free_srq(srq);
}
