/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn/conn_parts.h"

#include "rdma/provider/provider.h"

enum vbd_status vbd_conn_call(struct vbd_conn *conn, enum vbd_conn_calling what,
	void (*work)(struct vbd_call *call), const struct vbd_conn_call *args,
	struct vbd_error *err)
{
	struct vbd_conn_call *call = malloc(sizeof(*call));

	if (!call)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a call");
	*call = *args;
	call->conn = conn;
	call->call = (struct vbd_call){.work = work, .done = conn->call_done};
	conn->calling = what;
	conn->call = call;
	vbd_call_start(conn->fabric->calls, &call->call,
		what == VBD_CONN_CALLS_PREPARE ? VBD_LANE_MEMORY : VBD_LANE_PEER);
	return VBD_OK;
}

/* Packet numbers have 24 bits. */
#define PSN_MASK 0xffffffU

static enum vbd_status reserve_qp(struct vbd_conn *conn, struct vbd_error *err)
{
	struct vbd_device *device;
	enum vbd_status status;

	if (conn->cm_id)
		vbd_conn_cm_take_device(conn);
	device = vbd_fabric_device(conn->fabric, conn->device.name);
	if (!device)
		return vbd_error_set(err, VBD_E_NO_DEVICE, "no device \"%s\" to make a QP on",
			conn->device.name);
	status = vbd_device_usable(device, err);
	if (!status)
		status = vbd_conn_params_check(&conn->params, device, err);
	if (status)
		return status;
	vbd_conn_params_fit(&conn->params, device);
	return vbd_qp_reserve(&conn->qp, device, &conn->params.qp, err);
}

/* Call thread. */
static void prepare_channel_work(struct vbd_call *call)
{
	struct vbd_conn_call *of = vbd_conn_call_of(call);

	of->status = vbd_channel_prepare(of->conn->qp.channel, &of->error);
}

enum vbd_status vbd_conn_qp_prepare(struct vbd_conn *conn, struct vbd_error *err)
{
	enum vbd_status status = reserve_qp(conn, err);

	if (!status && !vbd_channel_try_prepare(conn->qp.channel))
		status = vbd_conn_call(conn, VBD_CONN_CALLS_PREPARE, prepare_channel_work,
			&(const struct vbd_conn_call){.status = VBD_OK}, err);
	return status;
}

enum vbd_status vbd_conn_qp_open(struct vbd_conn *conn, struct vbd_error *err)
{
	enum vbd_status status = vbd_qp_open(&conn->qp, err);

	if (!status)
		vbd_conn_notef(conn, VBD_TIMELINE_CALL, "ibv_create_qp", "lqpn 0x%06x, cq %llu",
			conn->qp.info.lqpn, (unsigned long long)conn->qp.cq_id);
	return status;
}

enum vbd_status vbd_conn_qp_attach(struct vbd_conn *conn, struct vbd_error *err)
{
	enum vbd_status status = vbd_conn_qp_move(conn, IBV_QPS_INIT, err);

	if (status)
		return status;
	/* Before the peer can send: a message without a receive costs it an RNR wait (spdk #2429).
	 */
	status = vbd_channel_post_receives(conn->qp.channel, err);
	if (status) {
		/* RESET removes the posted receives without completions. */
		(void)!vbd_conn_qp_move(conn, IBV_QPS_RESET, NULL);
		vbd_channel_renew(conn->qp.channel);
		return status;
	}
	vbd_qp_attach(&conn->qp);
	return VBD_OK;
}

/* Local only: no CM message contains the limit. */
static enum ibv_mtu lowered_mtu(const struct vbd_conn *conn, enum ibv_mtu mtu)
{
	int cap = vbd_mtu_of_bytes(conn->params.path_mtu_bytes);

	return cap && cap < (int)mtu ? (enum ibv_mtu)cap : mtu;
}

/* Replace attributes of the CM, which are the peer's, by the connection's parameters. A move
 * ignores those that its mask does not name: ibv_modify_qp(3). */
static void apply_conn_params(const struct vbd_conn *conn, struct ibv_qp_attr *attr)
{
	const struct vbd_device_attr *limits = &conn->qp.device->attr;

	attr->qp_access_flags &= vbd_mem_access_flags(conn->params.remote_access);
	attr->path_mtu = lowered_mtu(conn, attr->path_mtu);
	/* The CM of the passive side uses the traffic class of the request instead of the
	 * listener's ToS (kernel cm.c, 6.1). */
	if (conn->passive && conn->cm.tos >= 0 && attr->ah_attr.is_global)
		attr->ah_attr.grh.traffic_class = (uint8_t)conn->cm.tos;
	attr->min_rnr_timer = conn->params.min_rnr_timer;
	attr->max_dest_rd_atomic = vbd_conn_lowered(conn->params.responder_resources,
		limits->max_qp_rd_atom, conn->peer_responder_resources);
	attr->max_rd_atomic = vbd_conn_lowered(conn->params.initiator_depth,
		limits->max_qp_init_rd_atom, conn->peer_initiator_depth);
	attr->timeout = conn->params.ack_timeout;
	attr->retry_cnt = conn->params.retry_count;
	attr->rnr_retry = conn->params.rnr_retry;
}

/* Called before the move: packets may arrive right after it. */
static void begin_packet_count(struct vbd_conn *conn, const struct ibv_qp_attr *attr)
{
	conn->last_psn = attr->rq_psn;
	vbd_counter_set(&conn->qp.channel->mtu_bytes, (uint64_t)vbd_mtu_bytes((int)attr->path_mtu));
}

/*
 * The move to RTR grants the peer what cm_init_qp_init_attr() grants (cm.c, 6.1): before RTR no
 * packet is received. rdma_init_qp_attr(3) grants it with INIT, but on the connecting side only
 * after the peer's answer. So librdmacm moves to INIT twice, and a QP of a pool would fit one side
 * only.
 */
static void grant_remote_access(struct ibv_qp_attr *attr, int *mask)
{
	attr->qp_access_flags = 0;
	if (attr->qp_state != IBV_QPS_RTR)
		return;
	attr->qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	if (*mask & IBV_QP_MAX_DEST_RD_ATOMIC && attr->max_dest_rd_atomic)
		attr->qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	*mask |= IBV_QP_ACCESS_FLAGS;
}

static enum vbd_status fill_attributes(struct vbd_conn *conn, int state, struct ibv_qp_attr *attr,
	int *ret_mask, struct vbd_error *err)
{
	enum vbd_status status = VBD_OK;

	memset(attr, 0, sizeof(*attr));
	attr->qp_state = (enum ibv_qp_state)state;
	if (state == IBV_QPS_ERR || state == IBV_QPS_RESET) {
		*ret_mask = IBV_QP_STATE;
		return VBD_OK;
	}
	if (conn->manual)
		vbd_manual_attributes(conn->manual, conn->params.qp.transport, conn->qp.info.state,
			attr, ret_mask);
	else
		status = vbd_pv_init_qp_attr(conn->cm_id, attr, ret_mask, err);
	if (!status && !conn->manual && !vbd_device_is_iwarp(conn->qp.device))
		grant_remote_access(attr, ret_mask);
	if (!status && !conn->manual && *ret_mask & IBV_QP_PATH_MTU)
		conn->cm_mtu_bytes = vbd_mtu_bytes((int)attr->path_mtu);
	if (!status)
		apply_conn_params(conn, attr);
	if (!status && state == IBV_QPS_RTR && conn->params.qp.transport == VBD_TRANSPORT_UC)
		begin_packet_count(conn, attr);
	return status;
}

/* Call thread. */
static void move_to_rtr_work(struct vbd_call *call)
{
	struct vbd_conn_call *of = vbd_conn_call_of(call);

	of->status = vbd_pv_modify_qp(of->conn->qp.ibv_qp, &of->attr, of->mask, &of->error);
}

static enum vbd_status call_move_to_rtr(
	struct vbd_conn *conn, const struct ibv_qp_attr *attr, int mask, struct vbd_error *err)
{
	const struct vbd_conn_call args = {.attr = *attr, .mask = mask};

	return vbd_conn_call(conn, VBD_CONN_CALLS_RTR, move_to_rtr_work, &args, err);
}

enum vbd_status vbd_conn_qp_go_rtr(struct vbd_conn *conn, struct vbd_error *err)
{
	struct ibv_qp_attr attr;
	enum vbd_status status;
	int mask;

	status = fill_attributes(conn, IBV_QPS_RTR, &attr, &mask, err);
	if (status)
		return status;
	/* No message of the peer of a manual bring-up says that there is one. */
	if (conn->manual || !(mask & IBV_QP_AV) ||
		!vbd_neighbour_is_known(conn->qp.device, &attr.ah_attr))
		return call_move_to_rtr(conn, &attr, mask, err);
	status = vbd_pv_modify_qp(conn->qp.ibv_qp, &attr, mask, err);
	if (!status)
		vbd_conn_qp_moved(conn, &attr, mask);
	return status;
}

/* Whether the attributes of RTR and RTS are set. */
static void set_known_flags(const struct vbd_conn *conn, struct vbd_qp_info *info)
{
	if (!conn->manual) {
		info->path_known = conn->established_ns != 0;
		info->sends_known = info->path_known;
		return;
	}
	/* ERR keeps the attributes. */
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

static void copy_grh(struct vbd_conn *conn, const struct ibv_ah_attr *ah)
{
	struct vbd_qp_info *info = &conn->qp.info;
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
	info->sgid_known = vbd_device_recent_gid(conn->qp.device, conn->port_num, info->gid_index,
				   &info->sgid) == VBD_OK;
	if (info->sgid_known)
		vbd_conn_cm_take_scope(conn, info->sgid.netdev);
}

/* The device of an unreliable connection reports no lost packets, but the PSN that it expects next
 * counts them. */
static void count_lost_packets(struct vbd_conn *conn, uint32_t rq_psn)
{
	uint64_t came = vbd_counter_get(&conn->qp.channel->packets);

	conn->packets_sent += (rq_psn - conn->last_psn) & PSN_MASK;
	conn->last_psn = rq_psn;
	conn->lost_packets = conn->packets_sent > came ? conn->packets_sent - came : 0;
}

bool vbd_conn_qp_failed(const struct vbd_conn *conn)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_UNKNOWN};

	return conn->qp.ibv_qp && !vbd_device_is_iwarp(conn->qp.device) &&
	       vbd_pv_query_qp(conn->qp.ibv_qp, &attr, IBV_QP_STATE, NULL) == VBD_OK &&
	       attr.qp_state == IBV_QPS_ERR;
}

/* Attributes that @mask says are set. */
static void copy_attributes(struct vbd_conn *conn, const struct ibv_qp_attr *attr, int mask)
{
	struct vbd_qp_info *info = &conn->qp.info;

	if (mask & IBV_QP_DEST_QPN)
		info->rqpn = attr->dest_qp_num;
	if (mask & IBV_QP_SQ_PSN)
		info->sq_psn = attr->sq_psn;
	if (mask & IBV_QP_RQ_PSN)
		info->rq_psn = attr->rq_psn;
	if (mask & IBV_QP_PATH_MTU)
		info->path_mtu_bytes = vbd_mtu_bytes((int)attr->path_mtu);
	if (mask & IBV_QP_TIMEOUT)
		info->ack_timeout = attr->timeout;
	if (mask & IBV_QP_RETRY_CNT)
		info->retry_count = attr->retry_cnt;
	if (mask & IBV_QP_RNR_RETRY)
		info->rnr_retry = attr->rnr_retry;
	if (mask & IBV_QP_MIN_RNR_TIMER)
		info->min_rnr_timer = attr->min_rnr_timer;
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
		info->responder_resources = attr->max_dest_rd_atomic;
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
		info->initiator_depth = attr->max_rd_atomic;
	if (mask & IBV_QP_AV)
		copy_grh(conn, &attr->ah_attr);
}

static void copy_device_facts(struct vbd_conn *conn)
{
	conn->qp.info.iwarp = vbd_device_is_iwarp(conn->qp.device);
	conn->qp.info.soft_roce = vbd_device_is_soft_roce(conn->qp.device);
	set_known_flags(conn, &conn->qp.info);
}

void vbd_conn_qp_up(struct vbd_conn *conn)
{
	if (conn->manual || vbd_device_is_iwarp(conn->qp.device))
		vbd_conn_refresh_qp(conn);
	else
		copy_device_facts(conn);
}

void vbd_conn_qp_moved(struct vbd_conn *conn, const struct ibv_qp_attr *attr, int mask)
{
	/* A manual bring-up asks the device for its attributes when somebody wants them. */
	if (!conn->manual)
		copy_attributes(conn, attr, mask);
	if (mask & IBV_QP_AV)
		vbd_neighbour_learn(conn->qp.device, &attr->ah_attr);
	vbd_qp_moved(&conn->qp, (int)attr->qp_state);
}

enum vbd_status vbd_conn_qp_move(struct vbd_conn *conn, int state, struct vbd_error *err)
{
	struct ibv_qp_attr attr;
	enum vbd_status status;
	int mask;

	status = fill_attributes(conn, state, &attr, &mask, err);
	if (status)
		return status;
	if (!(mask & IBV_QP_STATE))
		return VBD_OK;
	status = vbd_qp_modify(&conn->qp, &attr, mask, err);
	if (!status && !conn->manual)
		copy_attributes(conn, &attr, mask);
	return status;
}

void vbd_conn_refresh_qp_at(struct vbd_conn *conn, uint64_t now_ns)
{
	uint64_t read_ns = conn->qp.info.read_ns;

	if (read_ns && now_ns - read_ns < VBD_QP_FRESH_NS)
		return;
	vbd_conn_refresh_qp(conn);
	conn->qp.info.read_ns = now_ns;
}

void vbd_conn_refresh_qp(struct vbd_conn *conn)
{
	const int mask = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_RQ_PSN | IBV_QP_PATH_MTU |
			 IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			 IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_DEST_RD_ATOMIC |
			 IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_DEST_QPN | IBV_QP_AV;
	struct vbd_qp_info *info = &conn->qp.info;
	struct ibv_qp_attr attr;

	if (!conn->qp.ibv_qp)
		return;
	memset(&attr, 0, sizeof(attr));
	if (vbd_pv_query_qp(conn->qp.ibv_qp, &attr, mask, NULL) != VBD_OK)
		return;
	/* siw does not report the state (siw_verbs.c, 6.1): the value is RESET, which no iWARP
	 * connection is in. */
	if (!vbd_device_is_iwarp(conn->qp.device) || attr.qp_state != IBV_QPS_RESET)
		info->state = (int)attr.qp_state;
	copy_device_facts(conn);
	if (!info->path_known)
		return;
	if (conn->params.qp.transport == VBD_TRANSPORT_UC && attr.qp_state != IBV_QPS_ERR)
		count_lost_packets(conn, attr.rq_psn);
	copy_attributes(conn, &attr, mask);
}
