/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn_qp.h"

#include "rdma/caps.h"
#include "rdma/conn_cm.h"
#include "rdma/cq.h"
#include "rdma/device.h"
#include "rdma/fabric.h"
#include "rdma/manual_attr.h"
#include "rdma/names.h"
#include "rdma/pd.h"
#include "rdma/provider.h"
#include "rdma/resources.h"
#include "rdma/service.h"
#include "rdma/worker_messages.h"

#include <stdio.h>
#include <string.h>

/* Packet numbers have 24 bits. */
#define PSN_MASK 0xffffffU

static enum vbd_status missing(const char *kind, uint64_t id, struct vbd_error *err)
{
	return vbd_error_set(
		err, VBD_E_NOT_FOUND, "there is no %s '%llu'", kind, (unsigned long long)id);
}

/* Ids, not pointers, were kept: what was asked for may be gone with its device. */
static enum vbd_status take_resources(
	struct vbd_conn *conn, struct vbd_device *device, struct vbd_error *err)
{
	const struct vbd_conn_params *params = &conn->params;
	struct vbd_srq *srq = NULL;
	struct vbd_pd *pd = device->pd;
	char one[40];

	if (params->qp.srq_id) {
		srq = vbd_fabric_srq(conn->fabric, params->qp.srq_id);
		if (!srq)
			return missing("shared receive queue", params->qp.srq_id, err);
		pd = srq->pd;
	}
	if (params->qp.pd_id) {
		pd = vbd_fabric_pd(conn->fabric, params->qp.pd_id);
		if (!pd || !pd->ibv_pd)
			return missing("protection domain", params->qp.pd_id, err);
	}
	if (pd->device != device)
		return vbd_error_set(err, VBD_E_BAD_VALUE,
			"the connection is on %s, and what it shall use on %s", device->name,
			pd->device->name);
	(void)snprintf(one, sizeof(one), "srq %llu", (unsigned long long)params->qp.srq_id);
	if (srq && vbd_pd_require_same(srq->pd, one, pd, "the connection", err) != VBD_OK)
		return VBD_E_PD_MISMATCH;
	conn->device = device;
	conn->pd = pd;
	vbd_pd_ref(pd);
	conn->srq = srq;
	if (srq)
		srq->users++;
	return VBD_OK;
}

static enum vbd_status take_device(struct vbd_conn *conn, struct vbd_error *err)
{
	struct vbd_device *device;
	enum vbd_status status;

	if (conn->cm_id)
		vbd_conn_cm_take_device_name(conn);
	device = vbd_fabric_device(conn->fabric, conn->device_name);
	if (!device)
		return vbd_error_set(err, VBD_E_NO_DEVICE, "no device \"%s\" to make a QP on",
			conn->device_name);
	status = vbd_device_usable(device, err);
	if (status)
		return status;
	status = vbd_conn_params_check(&conn->params, device, err);
	if (status)
		return status;
	return take_resources(conn, device, err);
}

/* The receives of an SRQ have their room already. */
static uint32_t cqe_needed(const struct vbd_conn *conn)
{
	return conn->params.qp.sq_depth + (conn->params.qp.srq_id ? 0 : conn->params.qp.rq_depth);
}

static enum vbd_status admit(struct vbd_conn *conn, struct vbd_cq **ret_cq, struct vbd_error *err)
{
	uint32_t cqe = cqe_needed(conn);
	struct vbd_cq *cq = conn->srq ? conn->srq->cq : NULL;

	if (!cq && !conn->params.qp.cq_id)
		return vbd_fabric_admit(conn->fabric, conn->device, cqe, ret_cq, err);
	if (!cq)
		cq = vbd_fabric_cq(conn->fabric, conn->params.qp.cq_id);
	if (!cq)
		return vbd_error_set(err, VBD_E_NOT_FOUND, "there is no completion queue '%llu'",
			(unsigned long long)conn->params.qp.cq_id);
	if (cq->device != conn->device)
		return vbd_error_set(err, VBD_E_BAD_VALUE, "cq %llu is of %s, the connection on %s",
			(unsigned long long)cq->id, cq->device->name, conn->device->name);
	*ret_cq = cq;
	return vbd_fabric_admit_in(cq, cqe, err);
}

static enum vbd_status check_receives(const struct vbd_conn *conn, struct vbd_error *err)
{
	if (!conn->srq || conn->params.qp.service != VBD_SERVICE_NONE)
		return VBD_OK;
	return vbd_error_param(err, VBD_E_BAD_VALUE, "srq",
		"with the service none a client posts the receives; those of srq %llu are there "
		"already",
		(unsigned long long)conn->params.qp.srq_id);
}

/* The default is lowered to what the device has; more than that is refused. */
static enum vbd_status check_sges(const struct vbd_conn *conn, struct vbd_error *err)
{
	const struct vbd_conn_params *params = &conn->params;
	uint32_t of_device = conn->device->attr.max_sge;
	bool send = params->qp.max_send_sge > of_device &&
		    params->qp.max_send_sge > vbd_conn_params_default().qp.max_send_sge;

	if (!send && params->qp.max_recv_sge <= of_device)
		return VBD_OK;
	return vbd_error_param(err, VBD_E_OUT_OF_RANGE, send ? "max_send_sge" : "max_recv_sge",
		"%s is %u; a work request of device %s has %u ranges at most",
		send ? "max_send_sge" : "max_recv_sge",
		send ? params->qp.max_send_sge : params->qp.max_recv_sge, conn->device_name,
		of_device);
}

static uint32_t lowered_sges(const struct vbd_conn *conn)
{
	uint32_t of_device = conn->device->attr.max_sge;

	return conn->params.qp.max_send_sge < of_device ? conn->params.qp.max_send_sge : of_device;
}

static enum vbd_status make_channel(struct vbd_conn *conn, struct vbd_error *err)
{
	const struct vbd_channel_limits limits = {
		.transport = conn->params.qp.transport,
		.sq_depth = conn->params.qp.sq_depth,
		.rq_depth = conn->srq ? conn->srq->depth : conn->params.qp.rq_depth,
		.recv_size_bytes =
			conn->srq ? conn->srq->recv_size_bytes : conn->params.qp.recv_size_bytes,
		.srq = conn->srq,
		.max_send_sge = lowered_sges(conn),
		.max_recv_sge = conn->params.qp.max_recv_sge,
		.inline_bytes = conn->params.qp.inline_bytes,
		.signal_every = conn->params.qp.signal_every,
		.service = conn->params.qp.service,
		.service_ops = vbd_service_ops(conn->params.qp.service),
	};
	enum vbd_status status;
	struct vbd_cq *cq;

	status = check_sges(conn, err);
	if (!status)
		status = check_receives(conn, err);
	if (status)
		return status;
	status = admit(conn, &cq, err);
	if (status)
		return status;
	status = vbd_channel_create(
		&vbd_conn_channel_ops, conn, conn->pd, cq, &limits, &conn->channel, err);
	if (status) {
		vbd_cq_release(cq, cqe_needed(conn));
		return status;
	}
	conn->cq_id = cq->id;
	return VBD_OK;
}

/* No attribute says how much goes inline: the device refuses the queue pair. */
static bool too_much_inline(struct vbd_conn *conn, struct ibv_qp_init_attr init)
{
	struct ibv_qp *qp;

	if (init.cap.max_inline_data <= VBD_INLINE_BYTES)
		return false;
	init.cap.max_inline_data = VBD_INLINE_BYTES;
	if (vbd_pv_create_qp(&conn->account, conn->pd->ibv_pd, &init, &qp, NULL) != VBD_OK)
		return false;
	vbd_pv_destroy_qp(&conn->account, qp);
	return true;
}

static enum vbd_status make_qp(
	struct vbd_conn *conn, struct ibv_qp_init_attr *init, struct vbd_error *err)
{
	uint32_t inline_bytes = init->cap.max_inline_data;
	struct vbd_error error = {0};
	enum vbd_status status =
		vbd_pv_create_qp(&conn->account, conn->pd->ibv_pd, init, &conn->qp, &error);

	if (status && too_much_inline(conn, *init))
		return vbd_error_param(err, VBD_E_OUT_OF_RANGE, "inline_bytes",
			"a work request of device %s has no room for %u bytes", conn->device_name,
			inline_bytes);
	if (status && err && err->status == VBD_OK)
		*err = error;
	return status;
}

static enum vbd_status create_qp(struct vbd_conn *conn, struct vbd_error *err)
{
	struct vbd_channel *channel = conn->channel;
	struct ibv_qp_init_attr init = {
		.send_cq = channel->cq->cq,
		.recv_cq = channel->cq->cq,
		.srq = conn->srq ? conn->srq->srq : NULL,
		.cap =
			{
				.max_send_wr = channel->limits.sq_depth,
				.max_recv_wr = conn->srq ? 0 : channel->limits.rq_depth,
				.max_send_sge = channel->limits.max_send_sge,
				.max_recv_sge = channel->limits.max_recv_sge,
				.max_inline_data = channel->limits.inline_bytes,
			},
		.qp_type = conn->params.qp.transport == VBD_TRANSPORT_UC ? IBV_QPT_UC : IBV_QPT_RC,
	};
	enum vbd_status status;

	status = make_qp(conn, &init, err);
	if (status)
		return status;
	channel->qp = conn->qp;
	channel->qpn = conn->qp->qp_num;
	conn->had_qp = true;
	conn->qp_info = (struct vbd_qp_info){.state = IBV_QPS_RESET, .lqpn = conn->qp->qp_num};
	vbd_fabric_add_qp(conn->fabric, conn);
	vbd_conn_note(conn, VBD_TIMELINE_CALL, "ibv_create_qp", "lqpn 0x%06x, cq %llu",
		conn->qp->qp_num, (unsigned long long)conn->cq_id);
	return VBD_OK;
}

enum vbd_status vbd_conn_qp_open(struct vbd_conn *conn, struct vbd_error *err)
{
	enum vbd_status status = take_device(conn, err);

	if (!status)
		status = make_channel(conn, err);
	if (!status)
		status = create_qp(conn, err);
	return status;
}

enum vbd_status vbd_conn_qp_attach(struct vbd_conn *conn, struct vbd_error *err)
{
	enum vbd_status status = vbd_conn_qp_move(conn, IBV_QPS_INIT, err);

	if (status)
		return status;
	/* Before the peer can send: a message without a receive costs it an RNR wait (spdk #2429).
	 */
	status = vbd_channel_post_receives(conn->channel, err);
	if (status) {
		/* RESET forgets those that were posted. */
		(void)!vbd_conn_qp_move(conn, IBV_QPS_RESET, NULL);
		vbd_channel_renew(conn->channel);
		return status;
	}
	conn->channel->attached = true;
	vbd_worker_send(conn->channel->worker, &conn->channel->mail_attach, VBD_WORKER_ATTACH);
	return VBD_OK;
}

/* The cap is no promise of the CM's: nothing in its messages tells the peer of it. */
static enum ibv_mtu capped_mtu(const struct vbd_conn *conn, enum ibv_mtu mtu)
{
	int cap = vbd_mtu_of_bytes(conn->params.path_mtu_bytes);

	return cap && cap < (int)mtu ? (enum ibv_mtu)cap : mtu;
}

/* What the connection asked for, in place of what the CM took from the peer. */
static void apply_params(const struct vbd_conn *conn, struct ibv_qp_attr *attr, int mask)
{
	const struct vbd_device_attr *limits = &conn->device->attr;

	if (mask & IBV_QP_PATH_MTU)
		attr->path_mtu = capped_mtu(conn, attr->path_mtu);
	/* The passive side answers with the traffic class of the request (kernel cm.c, 6.1),
	 * whatever its listener's ToS. */
	if (mask & IBV_QP_AV && conn->passive && conn->cm.tos >= 0 && attr->ah_attr.is_global)
		attr->ah_attr.grh.traffic_class = (uint8_t)conn->cm.tos;
	if (mask & IBV_QP_MIN_RNR_TIMER)
		attr->min_rnr_timer = conn->params.min_rnr_timer;
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
		attr->max_dest_rd_atomic = vbd_conn_lowered(conn->params.responder_resources,
			limits->max_qp_rd_atom, conn->peer_responder_resources);
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
		attr->max_rd_atomic = vbd_conn_lowered(conn->params.initiator_depth,
			limits->max_qp_init_rd_atom, conn->peer_initiator_depth);
	if (mask & IBV_QP_TIMEOUT)
		attr->timeout = conn->params.ack_timeout;
	if (mask & IBV_QP_RETRY_CNT)
		attr->retry_cnt = conn->params.retry_count;
	if (mask & IBV_QP_RNR_RETRY)
		attr->rnr_retry = conn->params.rnr_retry;
}

/* Packets may come as soon as the QP has moved. */
static void begin_counting(struct vbd_conn *conn, const struct ibv_qp_attr *attr)
{
	conn->last_psn = attr->rq_psn;
	vbd_counter_set(&conn->channel->mtu_bytes, (uint64_t)vbd_mtu_bytes((int)attr->path_mtu));
}

enum vbd_status vbd_conn_qp_attributes(struct vbd_conn *conn, int state, struct ibv_qp_attr *attr,
	int *ret_mask, struct vbd_error *err)
{
	enum vbd_status status = VBD_OK;

	memset(attr, 0, sizeof(*attr));
	attr->qp_state = (enum ibv_qp_state)state;
	if (state == IBV_QPS_ERR || state == IBV_QPS_RESET) {
		*ret_mask = IBV_QP_STATE;
		return VBD_OK;
	}
	if (conn->manual.on)
		vbd_manual_attributes(&conn->manual, conn->params.qp.transport, conn->qp_info.state,
			attr, ret_mask);
	else
		status = vbd_pv_init_qp_attr(conn->cm_id, attr, ret_mask, err);
	if (!status)
		apply_params(conn, attr, *ret_mask);
	if (!status && state == IBV_QPS_RTR && conn->params.qp.transport == VBD_TRANSPORT_UC)
		begin_counting(conn, attr);
	return status;
}

void vbd_conn_qp_moved(struct vbd_conn *conn, int state)
{
	int old = conn->qp_info.state;
	char what[32];

	conn->qp_info.state = state;
	if (old == state) {
		vbd_conn_note(conn, VBD_TIMELINE_CALL, "ibv_modify_qp",
			"%s again: access as agreed", vbd_qp_state_name(state));
		return;
	}
	(void)snprintf(
		what, sizeof(what), "%s -> %s", vbd_qp_state_name(old), vbd_qp_state_name(state));
	vbd_conn_note(conn, VBD_TIMELINE_QP, what, "lqpn 0x%06x", conn->qp_info.lqpn);
}

enum vbd_status vbd_conn_qp_move(struct vbd_conn *conn, int state, struct vbd_error *err)
{
	struct ibv_qp_attr attr;
	enum vbd_status status;
	int mask;

	status = vbd_conn_qp_attributes(conn, state, &attr, &mask, err);
	if (status)
		return status;
	if (!(mask & IBV_QP_STATE))
		return VBD_OK;
	status = vbd_pv_modify_qp(conn->qp, &attr, mask, err);
	if (!status)
		vbd_conn_qp_moved(conn, state);
	return status;
}

/* What a QP has got on its way, and what it has not yet. */
static void judge(const struct vbd_conn *conn, struct vbd_qp_info *info)
{
	if (!conn->manual.on) {
		info->path_known = conn->established_ns != 0;
		info->sends_known = info->path_known;
		return;
	}
	/* In ERR it still has what it had. */
	if (info->state == IBV_QPS_RESET || info->state == IBV_QPS_INIT) {
		info->path_known = false;
		info->sends_known = false;
		info->rqpn = 0;
	} else if (info->state == IBV_QPS_RTR) {
		info->path_known = true;
	} else if (info->state == IBV_QPS_RTS) {
		info->path_known = true;
		info->sends_known = true;
	}
}

static void take_grh(struct vbd_conn *conn, const struct ibv_ah_attr *ah)
{
	struct vbd_qp_info *info = &conn->qp_info;
	bool moved = !info->sgid_known || info->gid_index != ah->grh.sgid_index;

	info->gid_known = ah->is_global;
	if (!info->gid_known)
		return;
	info->gid_index = ah->grh.sgid_index;
	info->traffic_class = ah->grh.traffic_class;
	info->hop_limit = ah->grh.hop_limit;
	memcpy(info->dgid, ah->grh.dgid.raw, sizeof(info->dgid));
	if (!moved)
		return;
	info->sgid_known = vbd_device_query_gid(conn->device, conn->port_num, info->gid_index,
				   &info->sgid, NULL) == VBD_OK;
	if (info->sgid_known)
		vbd_conn_cm_take_scope(conn, info->sgid.netdev);
}

/*
 * An unreliable connection's device drops what it can't take, or never saw, and says nothing; but
 * it knows the number of the packet that it expects next.
 */
static void count_lost(struct vbd_conn *conn, uint32_t rq_psn)
{
	uint64_t came = vbd_counter_get(&conn->channel->packets);

	conn->packets_sent += (rq_psn - conn->last_psn) & PSN_MASK;
	conn->last_psn = rq_psn;
	conn->lost_packets = conn->packets_sent > came ? conn->packets_sent - came : 0;
}

void vbd_conn_refresh_qp(struct vbd_conn *conn)
{
	struct vbd_qp_info *info = &conn->qp_info;
	struct ibv_qp_attr attr;

	if (!conn->qp)
		return;
	memset(&attr, 0, sizeof(attr));
	if (vbd_pv_query_qp(conn->qp, &attr,
		    IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_RQ_PSN | IBV_QP_PATH_MTU |
			    IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			    IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_DEST_RD_ATOMIC |
			    IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_DEST_QPN | IBV_QP_AV,
		    NULL) != VBD_OK)
		return;
	info->iwarp = vbd_device_is_iwarp(conn->device);
	info->soft_roce = vbd_device_is_soft_roce(conn->device);
	/* siw does not tell the state (siw_verbs.c, 6.1): it then reads RESET, where no connection
	 * of iWARP ever is. */
	if (!info->iwarp || attr.qp_state != IBV_QPS_RESET)
		info->state = (int)attr.qp_state;
	judge(conn, info);
	if (!info->path_known)
		return;
	info->rqpn = attr.dest_qp_num;
	info->sq_psn = attr.sq_psn;
	info->rq_psn = attr.rq_psn;
	if (conn->params.qp.transport == VBD_TRANSPORT_UC && attr.qp_state != IBV_QPS_ERR)
		count_lost(conn, attr.rq_psn);
	info->path_mtu_bytes = vbd_mtu_bytes((int)attr.path_mtu);
	info->ack_timeout = attr.timeout;
	info->retry_count = attr.retry_cnt;
	info->rnr_retry = attr.rnr_retry;
	info->min_rnr_timer = attr.min_rnr_timer;
	info->responder_resources = attr.max_dest_rd_atomic;
	info->initiator_depth = attr.max_rd_atomic;
	take_grh(conn, &attr.ah_attr);
}

void vbd_conn_qp_destroy(struct vbd_conn *conn)
{
	if (!conn->qp)
		return;
	vbd_fabric_remove_qp(conn);
	vbd_pv_destroy_qp(&conn->account, conn->qp);
	conn->qp = NULL;
	vbd_conn_note(conn, VBD_TIMELINE_CALL, "ibv_destroy_qp", "lqpn 0x%06x", conn->qp_info.lqpn);
}

/* Numbers outlive the channel: the closed history shows them. */
static void keep_counters(struct vbd_conn *conn)
{
	for (unsigned int op = 0; op < VBD_OP_COUNT; op++)
		vbd_op_counters_copy(&conn->ended_ops[op], &conn->channel->ops[op]);
}

void vbd_conn_qp_release(struct vbd_conn *conn)
{
	struct vbd_pd *pd = conn->pd;

	vbd_conn_qp_destroy(conn);
	if (conn->channel) {
		struct vbd_cq *cq = conn->channel->cq;

		keep_counters(conn);
		if (conn->ops->before_memory_goes)
			conn->ops->before_memory_goes(conn, conn->ops_arg);
		if (conn->srq)
			vbd_srq_release_held(conn->srq, conn->channel);
		vbd_channel_destroy(conn->channel);
		conn->channel = NULL;
		vbd_cq_release(cq, cqe_needed(conn));
	}
	conn->device = NULL;
	conn->pd = NULL;
	if (!pd)
		return;
	if (conn->srq)
		conn->srq->users--;
	conn->srq = NULL;
	vbd_fabric_release_device(conn->fabric, pd->device);
	vbd_pd_unref(pd);
}
