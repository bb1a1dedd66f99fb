/* SPDX-License-Identifier: Apache-2.0 */
/* Address handles, SIDR answers, multicast groups, datagrams. */
#include "tests/fake/fake.h"

#define GRH_BYTES 40
#define CM_QKEY	  0x01234567
#define GROUP_QPN 0xffffff

static struct fake_id *id_of(const struct rdma_cm_id *id)
{
	return (struct fake_id *)(uintptr_t)id;
}

static struct fake_qp *qp_of(struct ibv_qp *qp)
{
	return (struct fake_qp *)(void *)qp;
}

/* Address handles. */

enum vbd_status vbd_pv_create_ah(
	struct ibv_pd *pd, struct ibv_ah_attr *attr, struct ibv_ah **ret_ah, struct vbd_error *err)
{
	struct fake_ah *ah;
	/* The hardware address of a multicast group follows from its GID. */
	int errnum = attr->grh.dgid.raw[0] == 0xff ? 0 : fake_may_block(VBD_WAIT_CREATE_AH);

	fake_lock();
	if (!errnum)
		errnum = fake_call(VBD_PV_CALL_CREATE_AH);
	if (!errnum) {
		ah = fake_allocate(sizeof(*ah));
		ah->pd = (struct fake_pd *)(void *)pd;
		ah->ibv.pd = pd;
		ah->ibv.context = pd->context;
		ah->attr = *attr;
		ah->pd->children++;
		g_fake.live.ahs++;
		vbd_list_append(&g_fake.ahs, &ah->link);
		*ret_ah = &ah->ibv;
	}
	fake_unlock();
	return fake_result(VBD_PV_CALL_CREATE_AH, errnum, err);
}

static void free_ah(struct fake_ah *ah)
{
	vbd_list_remove(&ah->link);
	ah->pd->children--;
	g_fake.live.ahs--;
	free(ah);
}

void vbd_pv_destroy_ah(struct ibv_ah *ah)
{
	if (!ah)
		return;
	(void)fake_may_block(VBD_WAIT_DESTROY_AH);
	fake_lock();
	fake_note("ibv_destroy_ah");
	vbd_list_for_each (link, &g_fake.qps) {
		struct fake_qp *qp = VBD_CONTAINER_OF(link, struct fake_qp, link);

		vbd_list_for_each (wr_link, &qp->sends) {
			if (VBD_CONTAINER_OF(wr_link, struct fake_wr, link)->ah == ah)
				fake_broken("an address handle is destroyed while a send uses it");
		}
	}
	free_ah((struct fake_ah *)(void *)ah);
	fake_unlock();
}

enum vbd_status vbd_pv_ah_attr_of_wc(struct ibv_context *context, uint8_t port_num,
	struct ibv_wc *wc, const uint8_t grh[40], struct ibv_ah_attr *ret_attr,
	struct vbd_error *err)
{
	int errnum;

	(void)context;
	fake_lock();
	errnum = fake_call(VBD_PV_CALL_AH_ATTR_OF_WC);
	if (!errnum && !(wc->wc_flags & IBV_WC_GRH))
		errnum = EINVAL;
	if (!errnum) {
		*ret_attr = (struct ibv_ah_attr){
			.is_global = 1, .port_num = port_num, .sl = wc->sl, .dlid = wc->slid};
		ret_attr->grh.hop_limit = 64;
		memset(ret_attr->grh.dgid.raw + 10, 0xff, 2);
		memcpy(ret_attr->grh.dgid.raw + 12, grh + 32, 4);
	}
	fake_unlock();
	return fake_result(VBD_PV_CALL_AH_ATTR_OF_WC, errnum, err);
}

struct ibv_ah_attr fake_ah_attr(const struct ibv_ah *ah)
{
	return ((const struct fake_ah *)(const void *)ah)->attr;
}

/* Events of the CM. */

static struct vbd_pv_cm_event ud_event(enum rdma_cm_event_type type, uint32_t qpn)
{
	return (struct vbd_pv_cm_event){
		.type = type,
		.has_ud_param = true,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh.hop_limit = 64},
		.qp_num = qpn,
		.qkey = CM_QKEY,
	};
}

static void push_joined(struct fake_id *id)
{
	struct vbd_pv_cm_event event = ud_event(RDMA_CM_EVENT_MULTICAST_JOIN, GROUP_QPN);

	event.ah_attr.grh.dgid.raw[0] = 0xff;
	event.ah_attr.grh.dgid.raw[1] = 0x0e;
	event.ah_attr.grh.dgid.raw[15] = 1;
	event.ah_attr.dlid = 0xc001;
	fake_event_push(id, &event);
}

bool fake_id_is_ud(const struct fake_id *id)
{
	return id->ibv.qp_type == IBV_QPT_UD;
}

void fake_ud_answer(struct fake_id *id)
{
	struct vbd_pv_cm_event event = ud_event(RDMA_CM_EVENT_ESTABLISHED, id->asked.param.qp_num);

	memcpy(event.ah_attr.grh.dgid.raw, id->device->gids[0].gid.raw, 16);
	fake_event_set_private_data(
		&event, id->peer, id->asked.private_data, id->asked.private_data_bytes);
	fake_event_push(id->peer, &event);
	id->peer->peer = NULL;
	id->peer = NULL;
}

/* Groups. */

enum vbd_status vbd_pv_attach_mcast(
	struct ibv_qp *qp, const uint8_t mgid[16], uint16_t mlid, struct vbd_error *err)
{
	int errnum;

	(void)mgid;
	(void)mlid;
	fake_lock();
	errnum = fake_call(VBD_PV_CALL_ATTACH_MCAST);
	if (!errnum && qp->qp_type != IBV_QPT_UD)
		errnum = EINVAL;
	if (!errnum)
		qp_of(qp)->groups++;
	fake_unlock();
	return fake_result(VBD_PV_CALL_ATTACH_MCAST, errnum, err);
}

void vbd_pv_detach_mcast(struct ibv_qp *qp, const uint8_t mgid[16], uint16_t mlid)
{
	(void)mgid;
	(void)mlid;
	fake_lock();
	fake_note("ibv_detach_mcast");
	if (qp_of(qp)->groups == 0)
		fake_broken("a QP is detached from a group that it is not attached to");
	else
		qp_of(qp)->groups--;
	fake_unlock();
}

unsigned int fake_attached(struct ibv_qp *qp)
{
	unsigned int groups;

	fake_lock();
	groups = qp_of(qp)->groups;
	fake_unlock();
	return groups;
}

enum vbd_status vbd_pv_join_multicast(struct rdma_cm_id *ibv, bool send_only, struct vbd_error *err)
{
	struct fake_id *id = id_of(ibv);
	int errnum = fake_may_block(VBD_WAIT_JOIN_MULTICAST);

	fake_lock();
	if (!errnum)
		errnum = fake_call(VBD_PV_CALL_JOIN_MULTICAST);
	/* Attributes that the kernel's rdma_join_multicast() requests. */
	if (!errnum && (!id->device || ibv->qp_type != IBV_QPT_UD))
		errnum = EINVAL;
	if (!errnum) {
		id->asked.joined = true;
		id->asked.send_only = send_only;
		if (g_fake.loopback)
			push_joined(id);
	}
	fake_unlock();
	return fake_result(VBD_PV_CALL_JOIN_MULTICAST, errnum, err);
}

/* Script functions. */

void fake_sidr_answer(struct rdma_cm_id *id, uint32_t qpn)
{
	static const uint8_t peer[] = {0xff, 0xff, 10, 0, 0, 99};
	struct vbd_pv_cm_event event = ud_event(RDMA_CM_EVENT_ESTABLISHED, qpn);

	memcpy(event.ah_attr.grh.dgid.raw + 10, peer, sizeof(peer));
	event.private_data_bytes = 3;
	memcpy(event.private_data, "yes", 3);
	fake_cm_event_with(id, &event);
}

void fake_multicast_joined(struct rdma_cm_id *id)
{
	fake_lock();
	push_joined(id_of(id));
	fake_unlock();
}

struct rdma_cm_id *fake_id_latest(void)
{
	struct rdma_cm_id *id = NULL;

	fake_lock();
	if (!vbd_list_empty(&g_fake.ids))
		id = &VBD_CONTAINER_OF(g_fake.ids.prev, struct fake_id, link)->ibv;
	fake_unlock();
	return id;
}

static uint16_t checksum(const uint8_t *bytes)
{
	uint32_t sum = 0;

	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* rxe writes this header before a message: the first half is unused, the second one is the IPv4
 * header. */
static void fill_grh(uint8_t *grh)
{
	uint8_t ip[20] = {0x45, [8] = 64, [9] = 17, [12] = 10, [15] = 99, [16] = 10, [19] = 1};
	uint16_t sum = checksum(ip);

	ip[10] = (uint8_t)(sum >> 8);
	ip[11] = (uint8_t)sum;
	memset(grh, 0, GRH_BYTES);
	memcpy(grh + 20, ip, sizeof(ip));
}

/* A datagram without a receive that is large enough is lost. */
static void deliver(struct fake_qp *to, uint32_t src_qp, const struct fake_wr *sent)
{
	struct fake_wr *wr = VBD_LIST_FIRST(&to->recvs, struct fake_wr, link);
	uint32_t length_bytes = GRH_BYTES + sent->length_bytes;
	uint8_t *bytes;

	if (!wr || wr->length_bytes < length_bytes || to->ibv.state == IBV_QPS_ERR)
		return;
	bytes = fake_allocate(length_bytes);
	fill_grh(bytes);
	fake_wr_gather(sent, bytes + GRH_BYTES);
	fake_wr_scatter(wr, bytes, length_bytes);
	free(bytes);
	fake_deliver_from(to, wr, length_bytes, src_qp);
}

void fake_ud_send(struct fake_qp *qp, struct fake_wr *wr)
{
	struct fake_wr sent = *wr;

	vbd_list_for_each (link, &g_fake.qps) {
		struct fake_qp *to = VBD_CONTAINER_OF(link, struct fake_qp, link);

		if (to->ibv.qp_type != IBV_QPT_UD || to->attr.qkey != sent.remote_qkey)
			continue;
		if (to->ibv.qp_num == sent.remote_qpn ||
			(sent.remote_qpn == GROUP_QPN && to->groups))
			deliver(to, qp->ibv.qp_num, &sent);
	}
	fake_complete(qp, wr, IBV_WC_SUCCESS, 0, sent.length_bytes);
}

void fake_datagram(struct ibv_qp *ibv, uint32_t src_qp, const void *data, uint32_t length_bytes)
{
	struct fake_qp *qp = qp_of(ibv);
	struct fake_wr *wr;
	uint8_t *bytes;

	fake_lock();
	wr = VBD_LIST_FIRST(&qp->recvs, struct fake_wr, link);
	if (!wr || wr->length_bytes < GRH_BYTES + length_bytes)
		fake_abort("no receive has room for the datagram");
	bytes = fake_allocate(GRH_BYTES + length_bytes);
	fill_grh(bytes);
	if (length_bytes)
		memcpy(bytes + GRH_BYTES, data, length_bytes);
	fake_wr_scatter(wr, bytes, GRH_BYTES + length_bytes);
	free(bytes);
	fake_deliver_from(qp, wr, GRH_BYTES + length_bytes, src_qp);
	fake_unlock();
}

void fake_ud_reset(void)
{
	struct fake_ah *ah;

	while ((ah = VBD_LIST_FIRST(&g_fake.ahs, struct fake_ah, link)))
		free_ah(ah);
}
