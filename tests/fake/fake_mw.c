/* SPDX-License-Identifier: Apache-2.0 */
/* Memory windows. */
#include "tests/fake/fake.h"

static struct fake_mw *mw_of(struct ibv_mw *mw)
{
	return (struct fake_mw *)(void *)mw;
}

enum vbd_status vbd_pv_alloc_mw(
	struct ibv_pd *ibv, enum ibv_mw_type type, struct ibv_mw **ret_mw, struct vbd_error *err)
{
	struct fake_pd *pd = (struct fake_pd *)(void *)ibv;
	struct fake_mw *mw;
	int errnum;

	fake_lock();
	errnum = fake_call(VBD_PV_CALL_ALLOC_MW);
	if (!errnum) {
		mw = fake_allocate(sizeof(*mw));
		mw->pd = pd;
		mw->ibv.context = ibv->context;
		mw->ibv.pd = ibv;
		mw->ibv.type = type;
		/* The lowest byte of the key belongs to the consumer. */
		mw->ibv.rkey = ++g_fake.last_key << 8;
		pd->children++;
		g_fake.live.mws++;
		vbd_list_append(&g_fake.mws, &mw->link);
		*ret_mw = &mw->ibv;
	}
	fake_unlock();
	return fake_result(VBD_PV_CALL_ALLOC_MW, errnum, err);
}

static void unbind(struct fake_mw *mw)
{
	if (mw->mr)
		mw->mr->windows--;
	mw->mr = NULL;
	mw->qp = NULL;
}

static void free_mw(struct fake_mw *mw)
{
	unbind(mw);
	vbd_list_remove(&mw->link);
	mw->pd->children--;
	g_fake.live.mws--;
	free(mw);
}

void vbd_pv_dealloc_mw(struct ibv_mw *ibv)
{
	if (!ibv)
		return;
	fake_lock();
	fake_note("ibv_dealloc_mw");
	free_mw(mw_of(ibv));
	fake_unlock();
}

static struct fake_mw *by_key(const struct fake_pd *pd, uint32_t key)
{
	vbd_list_for_each (link, &g_fake.mws) {
		struct fake_mw *mw = VBD_CONTAINER_OF(link, struct fake_mw, link);

		if (mw->pd == pd && mw->ibv.rkey == key)
			return mw;
	}
	return NULL;
}

int fake_mw_access(const struct fake_qp *qp, uint32_t key, uint64_t addr, uint32_t length_bytes)
{
	const struct fake_mw *mw = by_key(qp->pd, key);

	if (!mw || !mw->mr || (mw->qp && mw->qp != qp))
		return -1;
	if (addr < mw->addr || addr - mw->addr > mw->length_bytes ||
		length_bytes > mw->length_bytes - (addr - mw->addr))
		return 0;
	return mw->access;
}

bool fake_is_window_work(const struct fake_wr *wr)
{
	return !wr->recv && (wr->opcode == IBV_WR_BIND_MW || wr->opcode == IBV_WR_LOCAL_INV);
}

static void apply_bind(struct fake_qp *qp, const struct fake_wr *wr)
{
	struct fake_mw *mw = mw_of(wr->mw);
	struct fake_mr *mr = (struct fake_mr *)(void *)wr->bind.mr;

	if (mw->ibv.type == IBV_MW_TYPE_2 && mw->mr)
		fake_broken("a window of type 2 is bound while it is bound");
	unbind(mw);
	mw->ibv.rkey = wr->new_rkey;
	if (wr->bind.length == 0)
		return;
	if (!(mr->access & IBV_ACCESS_MW_BIND))
		fake_broken("a window is bound to memory that does not allow it");
	if (mr->pd != mw->pd || mw->pd != qp->pd)
		fake_broken("a window, its memory and its QP are of different PDs");
	mr->windows++;
	mw->mr = mr;
	mw->qp = mw->ibv.type == IBV_MW_TYPE_2 ? qp : NULL;
	mw->addr = wr->bind.addr;
	mw->length_bytes = wr->bind.length;
	mw->access = (int)wr->bind.mw_access_flags;
}

void fake_mw_completed(struct fake_qp *qp, const struct fake_wr *wr)
{
	struct fake_mw *mw;

	if (wr->opcode == IBV_WR_BIND_MW) {
		apply_bind(qp, wr);
		return;
	}
	mw = by_key(qp->pd, wr->new_rkey);
	if (!mw || mw->ibv.type != IBV_MW_TYPE_2)
		fake_broken("key 0x%x is of no window of type 2", wr->new_rkey);
	else
		unbind(mw);
}

void fake_mw_qp_destroyed(const struct fake_qp *qp)
{
	vbd_list_for_each (link, &g_fake.mws) {
		if (VBD_CONTAINER_OF(link, struct fake_mw, link)->qp == qp)
			fake_broken("a QP is destroyed while a window is bound on it");
	}
}

enum vbd_status vbd_pv_bind_mw(
	struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind_mw, struct vbd_error *err)
{
	struct ibv_send_wr wr = {
		.wr_id = bind_mw->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = bind_mw->send_flags,
		.bind_mw = {.mw = mw,
			.rkey = ibv_inc_rkey(mw->rkey),
			.bind_info = bind_mw->bind_info},
	};
	struct ibv_send_wr *bad;
	enum vbd_status status = vbd_pv_post_send(qp, &wr, &bad, err);

	if (!status)
		mw->rkey = wr.bind_mw.rkey;
	return status;
}

void fake_mw_reset(void)
{
	struct fake_mw *mw;

	while ((mw = VBD_LIST_FIRST(&g_fake.mws, struct fake_mw, link)))
		free_mw(mw);
}
