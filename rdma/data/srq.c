/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/data/srq.h"

#include "base/log.h"
#include "rdma/data/worker.h"
#include "rdma/device/cq.h"
#include "rdma/device/pd.h"
#include "rdma/names/wr_id.h"
#include "rdma/provider/provider.h"

uint8_t *vbd_srq_recv_data(const struct vbd_recv_slot *slot)
{
	return vbd_mem_own(&slot->srq->mem) + (size_t)slot->index * slot->srq->recv_size_bytes;
}

static enum vbd_status allocate_slots(struct vbd_srq *srq, struct vbd_error *err)
{
	srq->slots = calloc(srq->depth, sizeof(*srq->slots));
	srq->spare = calloc(srq->depth, sizeof(*srq->spare));
	if (!srq->slots || !srq->spare)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a shared receive queue");
	for (uint32_t i = 0; i < srq->depth; i++) {
		srq->slots[i].srq = srq;
		srq->slots[i].index = i;
	}
	return VBD_OK;
}

static enum vbd_status post_receive(struct vbd_srq *srq, uint32_t index, struct vbd_error *err)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)vbd_srq_recv_data(&srq->slots[index]),
		.length = srq->recv_size_bytes,
		.lkey = srq->mem.lkey,
	};
	struct ibv_recv_wr wr = {
		.wr_id = vbd_wr_id(srq->generation, srq->index, true, index),
		.sg_list = &sge,
		.num_sge = 1,
	};
	enum vbd_status status = vbd_pv_post_srq_recv(srq->srq, &wr, err);

	if (!status)
		vbd_counter_add(&srq->posted, 1);
	return status;
}

enum vbd_status vbd_srq_plan(struct vbd_pd *pd, const struct vbd_srq_params *params,
	struct vbd_srq **ret_srq, struct vbd_error *err)
{
	struct vbd_srq *srq = calloc(1, sizeof(*srq));
	enum vbd_status status;

	if (!srq)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a shared receive queue");
	vbd_list_init(&srq->link);
	vbd_list_init(&srq->worker_link);
	for (size_t i = 0; i < VBD_SRQ_LISTS; i++)
		vbd_list_init(&srq->channels[i]);
	vbd_list_init(&srq->more_cqs);
	srq->depth = params->depth;
	srq->recv_size_bytes = params->recv_size_bytes;
	vbd_counter_set(&srq->limit, params->limit);
	srq->pd = pd;
	vbd_pd_ref(pd);
	srq->mem.size_bytes = (size_t)srq->depth * srq->recv_size_bytes;
	vbd_mem_plan(&srq->mem, pd);
	status = allocate_slots(srq, err);
	if (status) {
		vbd_srq_destroy(srq);
		return status;
	}
	*ret_srq = srq;
	return VBD_OK;
}

enum vbd_status vbd_srq_open(
	struct vbd_srq *srq, uint64_t id, struct vbd_cq *cq, struct vbd_error *err)
{
	enum vbd_status status;

	if (!vbd_channel_table_reserve(&cq->worker->channels, &srq->index, &srq->generation))
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a shared receive queue");
	srq->id = id;
	srq->cq = cq;
	srq->worker = cq->worker;
	status = vbd_pv_create_srq(&srq->account, srq->pd->ibv_pd, srq->depth, &srq->srq, err);
	for (uint32_t i = 0; i < srq->depth && !status; i++)
		status = post_receive(srq, i, err);
	return status;
}

void vbd_srq_destroy(struct vbd_srq *srq)
{
	vbd_list_remove(&srq->link);
	vbd_pv_destroy_srq(&srq->account, srq->srq);
	if (srq->worker)
		vbd_channel_table_release(&srq->worker->channels, srq->index);
	vbd_account_close(&srq->account);
	vbd_mem_free(&srq->mem);
	vbd_pd_unref(srq->pd);
	free(srq->slots);
	free(srq->spare);
	free(srq);
}

/* There is one limit command: send the next when it comes back. */
static void send_limit_command(struct vbd_srq *srq)
{
	if (srq->removing)
		return;
	srq->limit_owed = srq->limit_sent;
	if (srq->limit_sent)
		return;
	srq->limit_sent = true;
	vbd_worker_send(srq->worker, &srq->limit_command, VBD_WORKER_SRQ_LIMIT);
}

void vbd_srq_set_limit(struct vbd_srq *srq, uint32_t limit)
{
	vbd_counter_set(&srq->limit, limit);
	send_limit_command(srq);
}

void vbd_srq_on_limit_event(struct vbd_srq *srq)
{
	vbd_counter_add(&srq->limit_events, 1);
	send_limit_command(srq);
}

void vbd_srq_on_limit_seen(struct vbd_srq *srq)
{
	srq->limit_sent = false;
	if (srq->limit_owed)
		send_limit_command(srq);
}

void vbd_srq_release_held(struct vbd_srq *srq, const struct vbd_channel *channel)
{
	for (uint32_t i = 0; i < srq->depth; i++) {
		struct vbd_recv_slot *slot = &srq->slots[i];

		if (!slot->held || slot->channel != channel)
			continue;
		slot->held = false;
		vbd_worker_send(srq->worker, &slot->item, VBD_WORKER_RELEASE_RECV);
	}
}

/* The worker's side. */

static void uncount_outstanding(struct vbd_srq *srq, uint64_t n)
{
	vbd_cq_uncount_outstanding(srq->cq, n);
	vbd_counter_set(&srq->posted, vbd_counter_get(&srq->posted) - n);
}

static void arm_limit(const struct vbd_srq *srq)
{
	uint32_t limit = (uint32_t)vbd_counter_get(&srq->limit);
	struct vbd_error error = {0};

	if (vbd_pv_arm_srq(srq->srq, limit, &error) != VBD_OK)
		vbd_log(VBD_LOG_DEBUG, "srq", "%s", error.text);
}

void vbd_srq_added(struct vbd_srq *srq)
{
	vbd_list_append(&srq->worker->srqs, &srq->worker_link);
	vbd_cq_count_outstanding(srq->cq, vbd_counter_get(&srq->posted));
	if (vbd_counter_get(&srq->limit))
		arm_limit(srq);
}

void vbd_srq_removed(struct vbd_srq *srq)
{
	vbd_list_remove(&srq->worker_link);
	uncount_outstanding(srq, vbd_counter_get(&srq->posted));
	vbd_worker_notify(srq->worker, &srq->remove_command, VBD_CONTROL_SRQ_REMOVED);
}

/* Receives that can't be posted now stay spare for the next time. */
static void post_spare_receives(struct vbd_srq *srq)
{
	struct vbd_error error = {0};

	if (!srq->spare_count)
		return;
	vbd_counter_add(&srq->refills, 1);
	while (srq->spare_count > 0) {
		if (post_receive(srq, srq->spare[srq->spare_count - 1], &error) != VBD_OK) {
			vbd_log(VBD_LOG_WARNING, "srq", "%s", error.text);
			return;
		}
		srq->spare_count--;
		vbd_cq_count_outstanding(srq->cq, 1);
	}
}

void vbd_srq_refill(struct vbd_srq *srq)
{
	post_spare_receives(srq);
	arm_limit(srq);
}

void vbd_srq_refill_if_low(struct vbd_srq *srq)
{
	uint64_t limit = vbd_counter_get(&srq->limit);

	if (limit == 0)
		post_spare_receives(srq);
	else if (srq->spare_count > 0 && vbd_counter_get(&srq->posted) < (limit + 1) / 2)
		vbd_srq_refill(srq);
}

void vbd_srq_release(struct vbd_srq *srq, struct vbd_recv_slot *slot)
{
	slot->in_service = false;
	srq->spare[srq->spare_count++] = slot->index;
	vbd_srq_refill_if_low(srq);
}

struct vbd_recv_slot *vbd_srq_completed(
	struct vbd_srq *srq, struct vbd_channel *channel, const struct ibv_wc *wc)
{
	struct vbd_recv_slot *slot = &srq->slots[vbd_wr_id_slot(wc->wr_id)];

	uncount_outstanding(srq, 1);
	slot->in_service = true;
	slot->channel = channel;
	if (!channel) {
		vbd_srq_release(srq, slot);
		return NULL;
	}
	if (wc->status == IBV_WC_SUCCESS)
		vbd_counter_add(&srq->messages, 1);
	return slot;
}

void vbd_srq_release_all(struct vbd_srq *srq, const struct vbd_channel *channel)
{
	for (uint32_t i = 0; i < srq->depth; i++) {
		struct vbd_recv_slot *slot = &srq->slots[i];

		if (slot->in_service && slot->channel == channel)
			vbd_srq_release(srq, slot);
	}
}
