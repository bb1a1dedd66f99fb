/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn/manual.h"

#include "rdma/conn/conn_parts.h"
#include "rdma/device/caps.h"
#include "rdma/device/device.h"
#include "tests/unit/rig.h"

#define PEER_QPN 0x4711
#define PEER_PSN 0x123456

/* Parameters of a peer on RoCE. */
static struct vbd_manual_remote roce_peer(void)
{
	return (struct vbd_manual_remote){
		.gid = {[10] = 0xff, 0xff, 10, 0, 0, 99},
		.qpn = PEER_QPN,
		.psn = PEER_PSN,
		.hop_limit = 64,
		.responder_resources = VBD_DEPTH_UNKNOWN,
		.initiator_depth = VBD_DEPTH_UNKNOWN,
	};
}

static struct vbd_manual_remote peer_of(const struct rig_conn *rc)
{
	const struct vbd_manual_local *local = &rc->conn->manual->local;
	struct vbd_manual_remote remote = {
		.lid = local->lid,
		.qpn = rc->conn->qp.info.lqpn,
		.psn = local->psn,
		.port_mtu_bytes = local->port_mtu_bytes,
		.hop_limit = 64,
		.responder_resources = local->responder_resources,
		.initiator_depth = local->initiator_depth,
	};

	memcpy(remote.gid, local->gid, sizeof(remote.gid));
	return remote;
}

static void bring(struct rig_conn *rc, const struct vbd_manual_remote *remote, enum vbd_qp_step to)
{
	struct vbd_error err = {0};

	if (vbd_conn_remote(rc->conn, remote, to, &err) != VBD_OK)
		fail_msg("%s", err.text);
	rig_settle(rc->rig);
}

static void step(struct rig_conn *rc, enum vbd_qp_step to)
{
	struct vbd_error err = {0};

	if (vbd_conn_set_qp_state(rc->conn, to, &err) != VBD_OK)
		fail_msg("%s", err.text);
	rig_settle(rc->rig);
}

static void assert_refused(
	struct rig_conn *rc, const struct vbd_manual_remote *remote, const char *param)
{
	struct vbd_error err = {0};

	assert_int_equal(vbd_conn_remote(rc->conn, remote, VBD_QP_TO_RTS, &err), VBD_E_BAD_VALUE);
	assert_string_equal(err.param, param);
	assert_int_equal(rc->conn->qp.info.state, IBV_QPS_INIT);
	assert_false(rc->conn->manual->has_remote);
}

static void assert_is(const struct rig_conn *rc, enum vbd_conn_state state, enum ibv_qp_state qp)
{
	assert_string_equal(vbd_conn_state_name(rc->conn->state), vbd_conn_state_name(state));
	assert_int_equal(rc->conn->qp.info.state, qp);
	assert_int_equal(rc->conn->qp.ibv_qp->state, qp);
}

static void assert_ended(struct rig_conn *rc, enum vbd_conn_state state, enum vbd_reason reason)
{
	rig_settle(rc->rig);
	assert_string_equal(vbd_conn_state_name(rc->conn->state), vbd_conn_state_name(state));
	assert_string_equal(vbd_reason_name(rc->conn->qp.reason), vbd_reason_name(reason));
	rig_assert_gone(rc);
	rig_assert_idle(rc->rig);
}

static struct ibv_qp_attr attr_of(const struct rig_conn *rc)
{
	struct ibv_qp_attr attr;

	assert_int_equal(vbd_pv_query_qp(rc->conn->qp.ibv_qp, &attr, IBV_QP_STATE, NULL), VBD_OK);
	return attr;
}

static struct rig_conn *in_state(struct rig *rig, enum ibv_qp_state state)
{
	const struct vbd_manual_params reset = {.port_num = 1, .stay_in_reset = true};
	struct rig_conn *rc = rig_manual(rig, NULL, state == IBV_QPS_RESET ? &reset : NULL);
	const struct vbd_manual_remote remote = roce_peer();

	assert_non_null(rc);
	if (state > IBV_QPS_INIT && state != IBV_QPS_ERR)
		bring(rc, &remote, VBD_QP_TO_RTR);
	if (state > IBV_QPS_RTR && state != IBV_QPS_ERR)
		step(rc, VBD_QP_TO_RTS);
	if (state == IBV_QPS_SQD)
		step(rc, VBD_QP_TO_SQD);
	if (state == IBV_QPS_ERR)
		step(rc, VBD_QP_TO_ERR);
	rig_settle(rig);
	assert_int_equal(rc->conn->qp.ibv_qp->state, state);
	return rc;
}

static const enum ibv_qp_state qp_states[] = {
	IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_ERR};

RIG_TEST(test_conn_manual__a_peer_that_contradicts_is_refused)
{
	struct vbd_conn_params params = rig_params();
	struct vbd_manual_remote remote = roce_peer();
	struct rig_conn *rc;

	params.path_mtu_bytes = 512;
	rc = rig_manual(rig, &params, NULL);
	remote.qp_type = "uc";
	assert_refused(rc, &remote, "qp_type");
	remote = roce_peer();
	strcpy(remote.gid_type, "roce_v1");
	assert_refused(rc, &remote, "gid_type");
	remote = roce_peer();
	remote.path_mtu_bytes = 1024;
	assert_refused(rc, &remote, "path_mtu_bytes");

	remote.path_mtu_bytes = 256;
	remote.qp_type = "rc";
	strcpy(remote.gid_type, rc->conn->manual->local.gid_type);
	bring(rc, &remote, VBD_QP_TO_RTS);
	assert_int_equal(attr_of(rc).path_mtu, IBV_MTU_256);
}

RIG_TEST(test_conn_manual__depths_are_lowered_to_those_of_the_peer)
{
	struct vbd_manual_remote remote = roce_peer();
	struct rig_conn *rc = rig_manual(rig, NULL, NULL);

	remote.responder_resources = 0;
	remote.initiator_depth = 2;
	bring(rc, &remote, VBD_QP_TO_RTS);
	assert_int_equal(attr_of(rc).max_rd_atomic, 0);
	assert_int_equal(attr_of(rc).max_dest_rd_atomic, 2);
}

/* Two connections that are brought up with each other's parameters. */
struct pair {
	struct rig_conn *a, *b;
};

static struct pair joined(
	struct rig *rig, enum vbd_qp_transport transport, enum vbd_service service)
{
	struct vbd_conn_params params = rig_params();
	struct vbd_manual_remote to_a, to_b;
	struct pair pair;

	fake_loopback(true);
	params.qp.transport = transport;
	pair.a = rig_manual(rig, &params, NULL);
	params.qp.service = service;
	pair.b = rig_manual(rig, &params, NULL);
	to_a = peer_of(pair.a);
	to_b = peer_of(pair.b);
	bring(pair.a, &to_b, VBD_QP_TO_RTS);
	bring(pair.b, &to_a, VBD_QP_TO_RTR);
	return pair;
}

static struct rig_transfer *send_five(struct rig_conn *rc, const struct vbd_mem *mem)
{
	struct rig_transfer *rt = rig_transfer(rc, VBD_OP_SEND, mem, 5, 64);

	rig_start_transfer(rt);
	return rt;
}

/* Bring-up. */

RIG_TEST(test_conn_manual__it_waits_in_init)
{
	struct rig_conn *rc = rig_manual(rig, NULL, NULL);
	const struct vbd_manual_local *local = &rc->conn->manual->local;

	assert_is(rc, VBD_CONN_AWAITING_REMOTE, IBV_QPS_INIT);
	assert_int_equal(fake_count("rdma_create_id"), 0);
	assert_int_equal(fake_recvs(rc->conn->qp.ibv_qp), 4);
	assert_int_equal(rc->deadline_ms, 0);
	assert_int_equal(local->lid, 0);
	assert_int_equal(local->port_mtu_bytes, 1024);
	assert_int_equal(local->gid_index, 0);
	assert_memory_equal(local->gid, rig->device->gids[0].gid.raw, 16);
	assert_in_range(local->psn, 0, 0xffffff);
	assert_true(rig_has_entry(rc, VBD_TIMELINE_QP, "RESET -> INIT"));
	rig_close(rc);
	assert_ended(rc, VBD_CONN_CLOSED, VBD_REASON_LOCAL_CLOSE);
}

RIG_TEST(test_conn_manual__it_may_stay_in_reset)
{
	struct rig_conn *rc = in_state(rig, IBV_QPS_RESET);

	assert_is(rc, VBD_CONN_AWAITING_REMOTE, IBV_QPS_RESET);
	assert_int_equal(fake_count("ibv_modify_qp"), 0);
	assert_int_equal(fake_recvs(rc->conn->qp.ibv_qp), 0);
	step(rc, VBD_QP_TO_INIT);
	assert_is(rc, VBD_CONN_AWAITING_REMOTE, IBV_QPS_INIT);
	assert_int_equal(fake_recvs(rc->conn->qp.ibv_qp), 4);
}

RIG_TEST(test_conn_manual__the_peers_attributes_take_it_up)
{
	struct vbd_conn_params params = rig_params();
	const struct vbd_manual_params how = {.port_num = 1, .psn_given = true, .psn = 0xabcdef};
	struct vbd_manual_remote remote = roce_peer();
	struct ibv_qp_attr attr;
	struct rig_conn *rc;

	params.retry_count = 3;
	params.rnr_retry = 2;
	params.ack_timeout = 15;
	params.min_rnr_timer = 9;
	params.responder_resources = 5;
	params.initiator_depth = 200;
	remote.port_mtu_bytes = 512;
	remote.sl = 3;
	remote.traffic_class = 0x68;
	remote.flow_label = 0x12345;
	rc = rig_manual(rig, &params, &how);
	bring(rc, &remote, VBD_QP_TO_RTS);
	assert_is(rc, VBD_CONN_ESTABLISHED, IBV_QPS_RTS);
	assert_int_equal(rc->state_count, 1);
	assert_int_not_equal(rc->conn->established_ns, 0);
	attr = attr_of(rc);
	assert_int_equal(attr.dest_qp_num, PEER_QPN);
	assert_int_equal(attr.rq_psn, PEER_PSN);
	assert_int_equal(attr.sq_psn, 0xabcdef);
	assert_int_equal(attr.path_mtu, IBV_MTU_512);
	assert_int_equal(attr.retry_cnt, 3);
	assert_int_equal(attr.rnr_retry, 2);
	assert_int_equal(attr.timeout, 15);
	assert_int_equal(attr.min_rnr_timer, 9);
	assert_int_equal(attr.max_dest_rd_atomic, 5);
	assert_int_equal(attr.max_rd_atomic, 128);
	assert_int_equal(attr.ah_attr.is_global, 1);
	assert_int_equal(attr.ah_attr.dlid, 0);
	assert_int_equal(attr.ah_attr.sl, 3);
	assert_int_equal(attr.ah_attr.grh.hop_limit, 64);
	assert_int_equal(attr.ah_attr.grh.traffic_class, 0x68);
	assert_int_equal(attr.ah_attr.grh.flow_label, 0x12345);
	assert_memory_equal(attr.ah_attr.grh.dgid.raw, remote.gid, 16);
	assert_int_equal(attr.qp_access_flags,
		IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
}

RIG_TEST(test_conn_manual__the_path_has_the_lower_mtu)
{
	static const struct {
		uint32_t cap_bytes, theirs_bytes;
		enum ibv_mtu mtu;
	} rows[] = {
		{0, 0, IBV_MTU_1024}, /* of the port */
		{0, 4096, IBV_MTU_1024},
		{0, 256, IBV_MTU_256},
		{512, 0, IBV_MTU_512},
		{512, 256, IBV_MTU_256},
		{4096, 4096, IBV_MTU_1024},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct vbd_conn_params params = rig_params();
		struct vbd_manual_remote remote = roce_peer();
		struct rig_conn *rc;

		params.path_mtu_bytes = rows[i].cap_bytes;
		remote.port_mtu_bytes = rows[i].theirs_bytes;
		rc = rig_manual(rig, &params, NULL);
		bring(rc, &remote, VBD_QP_TO_RTR);
		assert_int_equal(attr_of(rc).path_mtu, rows[i].mtu);
	}
}

RIG_TEST(test_conn_manual__each_step_shows_its_result)
{
	struct rig_conn *rc = in_state(rig, IBV_QPS_RTR);
	struct vbd_qp_info *info = &rc->conn->qp.info;

	assert_is(rc, VBD_CONN_AWAITING_REMOTE, IBV_QPS_RTR);
	/* The move to RTS sets these. */
	assert_int_equal(info->ack_timeout | info->retry_count | info->rnr_retry, 0);
	assert_int_equal(info->initiator_depth, 0);
	assert_int_equal(info->sq_psn, 0);
	vbd_conn_refresh_qp(rc->conn);
	assert_true(info->path_known);
	assert_false(info->sends_known);
	assert_int_equal(info->rqpn, PEER_QPN);
	assert_int_equal(info->rq_psn, PEER_PSN);
	assert_int_equal(info->min_rnr_timer, rc->conn->params.min_rnr_timer);
	step(rc, VBD_QP_TO_RTS);
	vbd_conn_refresh_qp(rc->conn);
	assert_true(info->sends_known);
	assert_int_equal(info->ack_timeout, rc->conn->params.ack_timeout);
	assert_int_equal(info->retry_count, rc->conn->params.retry_count);
	assert_int_equal(info->rnr_retry, rc->conn->params.rnr_retry);
	assert_int_not_equal(info->sq_psn, 0);
	step(rc, VBD_QP_TO_RESET);
	vbd_conn_refresh_qp(rc->conn);
	assert_false(info->path_known);
	assert_false(info->sends_known);
	assert_int_equal(info->rqpn, 0);
}

RIG_TEST(test_conn_manual__uc_knows_no_timers_and_carries_messages)
{
	struct pair pair = joined(rig, VBD_TRANSPORT_UC, VBD_SERVICE_INBOX);
	const struct vbd_mem *mem = rig_mem(rig, 64, 0);

	assert_int_equal(pair.a->conn->qp.ibv_qp->qp_type, IBV_QPT_UC);
	assert_int_equal(attr_of(pair.a).qp_access_flags, IBV_ACCESS_REMOTE_WRITE);
	assert_int_equal(attr_of(pair.a).timeout, 0);
	assert_int_equal(send_five(pair.a, mem)->ended, 1);
	rig_settle(rig);
	assert_int_equal(pair.b->message_count, 1);
}

/* Move 8 bytes between the two halves of @mem, the second being the peer's: how does that end? */
static enum vbd_transfer_state reach(struct rig_conn *rc, enum vbd_op op, const struct vbd_mem *mem)
{
	struct rig_transfer *rt = rig_transfer(rc, op, mem, 8, 8);

	rt->transfer.wr.remote_addr = (uintptr_t)mem->addr + 8;
	rt->transfer.wr.rkey = mem->rkey;
	rig_start_transfer(rt);
	rig_settle(rc->rig);
	return rt->ended_as;
}

RIG_TEST(test_conn_manual__the_peer_may_do_what_remote_access_says)
{
	struct vbd_conn_params params = rig_params();
	struct vbd_manual_remote to_a, to_b;
	const struct vbd_mem *mem = rig_mem(rig, 16, VBD_ACCESS_REMOTE_ALL);
	struct rig_conn *a, *b;

	fake_loopback(true);
	a = rig_manual(rig, &params, NULL);
	params.remote_access = VBD_ACCESS_REMOTE_READ;
	b = rig_manual(rig, &params, NULL);
	assert_int_equal(attr_of(b).qp_access_flags, IBV_ACCESS_REMOTE_READ);
	to_a = peer_of(a);
	to_b = peer_of(b);
	bring(a, &to_b, VBD_QP_TO_RTS);
	bring(b, &to_a, VBD_QP_TO_RTS);
	assert_int_equal(reach(a, VBD_OP_READ, mem), VBD_TRANSFER_DONE);
	assert_int_equal(reach(b, VBD_OP_WRITE, mem), VBD_TRANSFER_DONE);
	assert_int_equal(reach(a, VBD_OP_WRITE, mem), VBD_TRANSFER_FAILED);
	assert_int_equal(a->conn->qp.reason, VBD_REASON_REMOTE_INVALID);
}

/* InfiniBand. */

static void make_infiniband(struct rig *rig)
{
	rig->device->port.link_layer = IBV_LINK_LAYER_INFINIBAND;
	rig->device->port.lid = 0x12;
	rig->device->port.pkey_tbl_len = 4;
	rig->device->gids[0].gid_type = IBV_GID_TYPE_IB;
	memcpy(rig->device->gids[0].gid.raw, "\xfe\x80\0\0\0\0\0\0\x50\x54\0\xff\xfe\x12\x34\x56",
		16);
	rig_ask_ports(rig);
}

RIG_TEST(test_conn_manual__on_infiniband_a_lid_leads_to_the_peer)
{
	const struct vbd_manual_params how = {.port_num = 1, .pkey_index = 3, .sl = 5};
	const struct vbd_manual_remote remote = {.lid = 0x34, .qpn = PEER_QPN, .sl = 5};
	struct ibv_qp_attr attr;
	struct rig_conn *rc;

	make_infiniband(rig);
	rc = rig_manual(rig, NULL, &how);
	assert_true(rc->conn->manual->local.infiniband);
	assert_int_equal(rc->conn->manual->local.lid, 0x12);
	assert_int_equal(rc->conn->manual->local.sl, 5);
	bring(rc, &remote, VBD_QP_TO_RTS);
	attr = attr_of(rc);
	assert_int_equal(attr.pkey_index, 3);
	assert_int_equal(attr.ah_attr.dlid, 0x34);
	assert_int_equal(attr.ah_attr.sl, 5);
	assert_int_equal(attr.ah_attr.is_global, 0);
	assert_int_equal(attr.ah_attr.port_num, 1);
}

RIG_TEST(test_conn_manual__on_infiniband_a_gid_adds_a_route_header)
{
	struct vbd_manual_remote remote = {.lid = 0x34,
		.qpn = PEER_QPN,
		.hop_limit = 7,
		.traffic_class = 8,
		.flow_label = 9,
		.gid = {0xfe, 0xc0, [15] = 1}};
	struct ibv_qp_attr attr;
	struct rig_conn *rc;

	make_infiniband(rig);
	rc = rig_manual(rig, NULL, NULL);
	bring(rc, &remote, VBD_QP_TO_RTS);
	attr = attr_of(rc);
	assert_int_equal(attr.ah_attr.dlid, 0x34);
	assert_int_equal(attr.ah_attr.is_global, 1);
	assert_int_equal(attr.ah_attr.grh.sgid_index, 0);
	assert_int_equal(attr.ah_attr.grh.hop_limit, 7);
	assert_int_equal(attr.ah_attr.grh.traffic_class, 8);
	assert_int_equal(attr.ah_attr.grh.flow_label, 9);
	assert_memory_equal(attr.ah_attr.grh.dgid.raw, remote.gid, 16);
}

static void assert_remote_refused(
	struct rig_conn *rc, const struct vbd_manual_remote *remote, const char *param)
{
	struct vbd_error err = {0};

	assert_int_equal(vbd_conn_remote(rc->conn, remote, VBD_QP_TO_RTS, &err), VBD_E_BAD_VALUE);
	assert_string_equal(err.param ? err.param : "", param);
	assert_is(rc, VBD_CONN_AWAITING_REMOTE, IBV_QPS_INIT);
	assert_false(rc->conn->manual->has_remote);
}

RIG_TEST(test_conn_manual__on_infiniband_a_path_needs_a_unicast_lid)
{
	struct vbd_manual_remote remote = {.lid = 0, .qpn = PEER_QPN};
	struct rig_conn *rc;

	make_infiniband(rig);
	rc = rig_manual(rig, NULL, NULL);
	assert_remote_refused(rc, &remote, "lid");
	remote.lid = 0xc000;
	assert_remote_refused(rc, &remote, "lid");
	remote.lid = 0xbfff;
	remote.gid[0] = 0xff;
	assert_remote_refused(rc, &remote, "gid");
	remote.gid[0] = 0;
	bring(rc, &remote, VBD_QP_TO_RTS);
}

RIG_TEST(test_conn_manual__on_infiniband_it_goes_without_a_gid)
{
	struct vbd_manual_remote remote = {.lid = 0x34, .qpn = PEER_QPN, .gid = {0xfe, 0x80}};
	struct rig_conn *rc;

	make_infiniband(rig);
	rig->device->gid_count = 0;
	rc = rig_manual(rig, NULL, NULL);
	assert_false(rc->conn->manual->local.gid_known);
	assert_remote_refused(rc, &remote, "gid");
	memset(remote.gid, 0, sizeof(remote.gid));
	bring(rc, &remote, VBD_QP_TO_RTS);
}

RIG_TEST(test_conn_manual__on_roce_a_path_needs_a_gid_of_its_family)
{
	struct rig_conn *rc = rig_manual(rig, NULL, NULL);
	struct vbd_manual_remote remote = {.lid = 1, .qpn = PEER_QPN};

	assert_remote_refused(rc, &remote, "gid");
	remote.gid[0] = 0xff;
	assert_remote_refused(rc, &remote, "gid");
	remote.gid[0] = 0xfd;
	assert_remote_refused(rc, &remote, "gid");
}

/* Choice of device and GID. */

static void set_gid(struct rig *rig, size_t i, uint32_t type, const char *raw)
{
	struct ibv_gid_entry *entry = &rig->device->gids[i];

	*entry = (struct ibv_gid_entry){.gid_index = (uint32_t)i, .port_num = 1, .gid_type = type};
	memcpy(entry->gid.raw, raw, 16);
	rig->device->gid_count = i + 1;
}

#define LINK_LOCAL "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\1"
#define GLOBAL	   "\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1"
#define IPV4	   "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\1"

static uint32_t chosen(struct rig *rig)
{
	const struct vbd_manual_params how = {.port_num = 1};
	struct vbd_manual_local local = {.gid_index = 99};

	assert_int_equal(
		vbd_manual_choose(vbd_fabric_device(rig->fabric, "fake0"), &how, &local, &rig->err),
		VBD_OK);
	return local.gid_index;
}

RIG_TEST(test_conn_manual__the_gid_that_routes_farthest_is_taken)
{
	set_gid(rig, 0, IBV_GID_TYPE_ROCE_V1, LINK_LOCAL);
	assert_int_equal(chosen(rig), 0);
	set_gid(rig, 1, IBV_GID_TYPE_ROCE_V1, IPV4);
	assert_int_equal(chosen(rig), 1);
	set_gid(rig, 2, IBV_GID_TYPE_ROCE_V2, LINK_LOCAL);
	assert_int_equal(chosen(rig), 2);
	set_gid(rig, 3, IBV_GID_TYPE_ROCE_V2, GLOBAL);
	assert_int_equal(chosen(rig), 3);
	set_gid(rig, 4, IBV_GID_TYPE_ROCE_V2, IPV4);
	set_gid(rig, 5, IBV_GID_TYPE_ROCE_V2, IPV4);
	assert_int_equal(chosen(rig), 4);
}

static void assert_not_chosen(struct rig *rig, const struct vbd_manual_params *how,
	enum vbd_status status, const char *param)
{
	struct vbd_manual_local local;
	struct vbd_error err = {0};

	assert_int_equal(
		vbd_manual_choose(vbd_fabric_device(rig->fabric, "fake0"), how, &local, &err),
		status);
	assert_string_equal(err.param ? err.param : "", param);
	assert_true(err.text[0] != '\0');
}

RIG_TEST(test_conn_manual__what_the_port_has_not_is_refused)
{
	struct vbd_manual_params how = {.port_num = 2};

	assert_not_chosen(rig, &how, VBD_E_OUT_OF_RANGE, "port_num");
	how.port_num = 0;
	assert_not_chosen(rig, &how, VBD_E_OUT_OF_RANGE, "port_num");
	how = (struct vbd_manual_params){.port_num = 1, .pkey_index = 1};
	assert_not_chosen(rig, &how, VBD_E_OUT_OF_RANGE, "pkey_index");
	how = (struct vbd_manual_params){.port_num = 1, .gid_index_given = true, .gid_index = 1};
	assert_not_chosen(rig, &how, VBD_E_BAD_VALUE, "gid_index");
	how.gid_index_given = false;
	rig->device->gid_count = 0;
	assert_not_chosen(rig, &how, VBD_E_BAD_VALUE, "port_num");
	assert_int_equal(fake_count("ibv_create_qp"), 0);
}

RIG_TEST(test_conn_manual__a_port_that_can_not_be_asked_is_an_error)
{
	const struct vbd_manual_params how = {.port_num = 1};

	fake_fail_next("ibv_query_port", EIO);
	rig_ask_ports(rig);
	assert_not_chosen(rig, &how, VBD_E_VERBS_ERROR, "");
	rig_ask_ports(rig);
	fake_fail_next("ibv_query_gid_table", EIO);
	assert_not_chosen(rig, &how, VBD_E_VERBS_ERROR, "");
}

RIG_TEST(test_conn_manual__the_psn_is_random_unless_given)
{
	uint32_t seen = 0;

	/* 24 bits, all used: with 64 tries the chance to miss one is 2^-59. */
	for (int i = 0; i < 64; i++) {
		const struct vbd_manual_params how = {.port_num = 1};
		struct vbd_manual_local local;

		assert_int_equal(vbd_manual_choose(vbd_fabric_device(rig->fabric, "fake0"), &how,
					 &local, NULL),
			VBD_OK);
		seen |= local.psn;
	}
	assert_int_equal(seen, 0xffffff);
}

RIG_TEST(test_conn_manual__iwarp_is_refused)
{
	const struct vbd_manual_params how = {.port_num = 1};
	struct vbd_manual_local local;
	struct vbd_error err = {0};
	struct vbd_device *device;

	rig_make_iwarp(rig);
	rig_stop(rig);
	assert_true(rig_start(rig, 1));
	device = vbd_fabric_device(rig->fabric, "fake0");
	assert_int_equal(vbd_manual_choose(device, &how, &local, &err), VBD_E_NOT_SUPPORTED);
	assert_non_null(strstr(err.text, "fake0"));
	assert_non_null(strstr(err.text, "manual_bringup"));
}

RIG_TEST(test_conn_manual__packets_that_did_not_come_are_told_by_their_numbers)
{
	struct vbd_conn_params params = rig_params();
	struct vbd_manual_remote remote = roce_peer();
	struct vbd_counter *came;
	struct rig_conn *rc;
	struct vbd_conn *conn;

	params.qp.transport = VBD_TRANSPORT_UC;
	remote.psn = 3;
	rc = rig_manual(rig, &params, NULL);
	bring(rc, &remote, VBD_QP_TO_RTS);
	conn = rc->conn;
	came = &conn->qp.channel->packets;
	assert_int_equal(vbd_counter_get(&conn->qp.channel->mtu_bytes), 1024);
	assert_int_equal(conn->last_psn, 3);
	vbd_conn_refresh_qp(conn);
	assert_int_equal(conn->lost_packets, 0);
	/* The device expects 3 next, and numbers have 24 bits: four have been sent. */
	conn->last_psn = 0xffffff;
	vbd_conn_refresh_qp(conn);
	assert_int_equal(conn->last_psn, 3);
	assert_int_equal(conn->lost_packets, 4);
	vbd_counter_set(came, 3);
	vbd_conn_refresh_qp(conn);
	assert_int_equal(conn->lost_packets, 1);
	vbd_counter_set(came, 4);
	vbd_conn_refresh_qp(conn);
	assert_int_equal(conn->lost_packets, 0);
	vbd_counter_set(came, 5);
	vbd_conn_refresh_qp(conn);
	assert_int_equal(conn->lost_packets, 0);
	conn->last_psn = 1;
	vbd_conn_refresh_qp(conn);
	assert_int_equal(conn->packets_sent, 6);
	assert_int_equal(conn->lost_packets, 1);
}

static const struct vbd_manual_local ethernet = {.gid = {[10] = 0xff, 0xff, 10, 0, 0, 1},
	.gid_known = true,
	.gid_type = "roce_v2",
	.gid_index = 3,
	.port_mtu_bytes = 1024,
	.port_num = 1};
static const struct vbd_manual_local infiniband = {
	.infiniband = true, .gid_type = "ib", .port_mtu_bytes = 1024, .port_num = 1};

static void assert_judged(const struct vbd_manual_local *local,
	const struct vbd_manual_remote *remote, const char *param, const char *text)
{
	struct vbd_error err = {0};

	assert_int_equal(vbd_manual_check_remote(local, VBD_TRANSPORT_RC, remote, &err),
		param ? VBD_E_BAD_VALUE : VBD_OK);
	assert_string_equal(err.text, text);
	if (param)
		assert_string_equal(err.param, param);
}

TEST(test_conn_manual__a_path_that_can_not_be_says_why)
{
	struct vbd_manual_remote remote = roce_peer();

	assert_judged(&ethernet, &remote, NULL, "");
	remote.gid[0] = 0xff;
	assert_judged(&ethernet, &remote, "gid", "the GID is that of a multicast group");
	remote.gid[0] = 0xfd;
	assert_judged(&ethernet, &remote, "gid",
		"both GIDs of a RoCE path must be of one family, and the local GID at index 3 is "
		"of "
		"an IPv4 address");
	memset(remote.gid, 0, sizeof(remote.gid));
	assert_judged(&ethernet, &remote, "gid", "on RoCE the peer's GID is needed");
	assert_judged(&infiniband, &remote, "lid",
		"on InfiniBand the peer's LID is a number from 1 to 49151");
	remote.lid = 1;
	assert_judged(&infiniband, &remote, NULL, "");
	remote.lid = 49151;
	assert_judged(&infiniband, &remote, NULL, "");
	remote.gid[0] = 0xfe;
	assert_judged(&infiniband, &remote, "gid",
		"the local port has no GID to which the peer could answer");
	remote.lid = 49152;
	assert_judged(&infiniband, &remote, "lid",
		"on InfiniBand the peer's LID is a number from 1 to 49151");
	remote = roce_peer();
	remote.path_mtu_bytes = 1024;
	assert_judged(&ethernet, &remote, NULL, "");
	remote.path_mtu_bytes = 2048;
	assert_judged(&ethernet, &remote, "path_mtu_bytes",
		"the peer's queue pair sends packets of 2048 bytes already, and this one takes "
		"1024 "
		"at most: bring both up with the same path MTU");
}

TEST(test_conn_manual__each_move_sets_its_attributes_and_no_others)
{
	static const struct {
		enum vbd_qp_transport transport;
		int from;
		enum ibv_qp_state to;
		int mask;
	} rows[] = {
		{VBD_TRANSPORT_RC, IBV_QPS_RESET, IBV_QPS_INIT,
			IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
		{VBD_TRANSPORT_RC, IBV_QPS_INIT, IBV_QPS_RTR,
			IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER},
		{VBD_TRANSPORT_UC, IBV_QPS_INIT, IBV_QPS_RTR,
			IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				IBV_QP_RQ_PSN},
		{VBD_TRANSPORT_RC, IBV_QPS_RTR, IBV_QPS_RTS,
			IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC},
		{VBD_TRANSPORT_UC, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_SQ_PSN},
		{VBD_TRANSPORT_RC, IBV_QPS_SQD, IBV_QPS_RTS, IBV_QP_STATE},
		{VBD_TRANSPORT_RC, IBV_QPS_RTS, IBV_QPS_SQD,
			IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY},
		{VBD_TRANSPORT_RC, IBV_QPS_RTS, IBV_QPS_ERR, IBV_QP_STATE},
		{VBD_TRANSPORT_RC, IBV_QPS_ERR, IBV_QPS_RESET, IBV_QP_STATE},
	};
	const struct vbd_conn_manual manual = {.local = ethernet, .remote = roce_peer()};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct ibv_qp_attr attr = {.qp_state = rows[i].to};
		int mask = 0;

		vbd_manual_attributes(&manual, rows[i].transport, rows[i].from, &attr, &mask);
		assert_int_equal(mask, rows[i].mask);
		assert_int_equal(attr.en_sqd_async_notify, rows[i].to == IBV_QPS_SQD);
	}
}

/* Steps. */

RIG_TEST(test_conn_manual__an_impossible_step_names_those_that_are_possible)
{
	static const struct {
		enum ibv_qp_state from;
		const char *possible;
	} rows[] = {
		{IBV_QPS_RESET, "INIT"},
		{IBV_QPS_INIT, "RESET, RTR, ERR"},
		{IBV_QPS_RTR, "RESET, RTS, ERR"},
		{IBV_QPS_RTS, "RESET, SQD, ERR"},
		{IBV_QPS_SQD, "RESET, RTS, ERR"},
		{IBV_QPS_ERR, "RESET"},
	};
	static const char *const names[VBD_QP_STEP_COUNT] = {
		"RESET", "INIT", "RTR", "RTS", "SQD", "ERR"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct rig_conn *rc = in_state(rig, rows[i].from);

		for (unsigned int to = 0; to < VBD_QP_STEP_COUNT; to++) {
			struct vbd_error err = {0};
			char end[60];

			if (strstr(rows[i].possible, names[to]))
				continue;
			assert_int_equal(
				vbd_conn_set_qp_state(rc->conn, (enum vbd_qp_step)to, &err),
				VBD_E_WRONG_STATE);
			(void)snprintf(end, sizeof(end), "possible: %s", rows[i].possible);
			if (!strstr(err.text, end))
				fail_msg("\"%s\" does not say \"%s\"", err.text, end);
			assert_int_equal(rc->conn->qp.ibv_qp->state, rows[i].from);
		}
	}
}

RIG_TEST(test_conn_manual__without_sqd_the_other_steps_are_possible)
{
	struct vbd_error err = {0};
	struct rig_conn *rc;

	vbd_fabric_device(rig->fabric, "fake0")->caps &= ~(UINT64_C(1) << VBD_CAP_SQD);
	rc = in_state(rig, IBV_QPS_RTS);
	assert_int_equal(vbd_conn_set_qp_state(rc->conn, VBD_QP_TO_SQD, &err), VBD_E_NOT_SUPPORTED);
	assert_is(rc, VBD_CONN_ESTABLISHED, IBV_QPS_RTS);
	step(rc, VBD_QP_TO_ERR);
	step(rc, VBD_QP_TO_RESET);
	step(rc, VBD_QP_TO_INIT);
	assert_int_equal(rc->conn->qp.ibv_qp->state, IBV_QPS_INIT);
}

RIG_TEST(test_conn_manual__rtr_takes_the_peers_attributes)
{
	struct rig_conn *rc = rig_manual(rig, NULL, NULL);
	const struct vbd_manual_remote remote = roce_peer();
	struct vbd_error err = {0};

	assert_int_equal(vbd_conn_set_qp_state(rc->conn, VBD_QP_TO_RTR, &err), VBD_E_WRONG_STATE);
	assert_non_null(strstr(err.text, "/remote"));
	bring(rc, &remote, VBD_QP_TO_RTR);
	step(rc, VBD_QP_TO_RESET);
	step(rc, VBD_QP_TO_INIT);
	/* INIT kept the parameters. */
	step(rc, VBD_QP_TO_RTR);
	assert_int_equal(attr_of(rc).dest_qp_num, PEER_QPN);
}

RIG_TEST(test_conn_manual__attributes_are_taken_in_init_only)
{
	const struct vbd_manual_remote remote = roce_peer();

	for (size_t i = 0; i < VBD_ARRAY_LEN(qp_states); i++) {
		struct rig_conn *rc = in_state(rig, qp_states[i]);

		assert_int_equal(vbd_conn_remote(rc->conn, &remote, VBD_QP_TO_RTS, NULL),
			qp_states[i] == IBV_QPS_INIT ? VBD_OK : VBD_E_WRONG_STATE);
	}
}

RIG_TEST(test_conn_manual__a_qp_of_the_cm_is_not_moved_by_hand)
{
	const struct vbd_manual_remote remote = roce_peer();
	struct rig_conn *rc = rig_conn_connect(rig, NULL);
	struct vbd_error err = {0};

	assert_int_equal(
		vbd_conn_remote(rc->conn, &remote, VBD_QP_TO_RTS, &err), VBD_E_WRONG_STATE);
	assert_non_null(strstr(err.text, "manual"));
	assert_int_equal(vbd_conn_set_qp_state(rc->conn, VBD_QP_TO_ERR, NULL), VBD_E_WRONG_STATE);
	assert_int_equal(rc->conn->state, VBD_CONN_ESTABLISHED);
}

RIG_TEST(test_conn_manual__an_ended_connection_is_not_moved)
{
	struct rig_conn *rc = in_state(rig, IBV_QPS_INIT);
	const struct vbd_manual_remote remote = roce_peer();

	rig_close(rc);
	assert_int_equal(
		vbd_conn_remote(rc->conn, &remote, VBD_QP_TO_RTS, NULL), VBD_E_WRONG_STATE);
	assert_int_equal(vbd_conn_set_qp_state(rc->conn, VBD_QP_TO_ERR, NULL), VBD_E_WRONG_STATE);
}

RIG_TEST(test_conn_manual__a_refused_step_leaves_the_qp_where_it_was)
{
	struct rig_conn *rc = rig_manual(rig, NULL, NULL);
	const struct vbd_manual_remote remote = roce_peer();
	struct vbd_error err = {0};

	fake_fail_next("ibv_modify_qp", EINVAL);
	assert_int_equal(vbd_conn_remote(rc->conn, &remote, VBD_QP_TO_RTS, &err), VBD_OK);
	rig_settle(rig);
	assert_int_equal(rc->conn->manual->failure.status, VBD_E_VERBS_ERROR);
	assert_string_equal(rc->conn->manual->failure.call, "ibv_modify_qp");
	assert_is(rc, VBD_CONN_AWAITING_REMOTE, IBV_QPS_INIT);
	bring(rc, &remote, VBD_QP_TO_RTR);
	for (enum vbd_qp_step to = VBD_QP_TO_RTS; to < VBD_QP_STEP_COUNT; to++) {
		enum ibv_qp_state was = rc->conn->qp.ibv_qp->state;

		fake_fail_next("ibv_modify_qp", EINVAL);
		assert_int_equal(vbd_conn_set_qp_state(rc->conn, to, NULL), VBD_E_VERBS_ERROR);
		assert_int_equal(rc->conn->qp.ibv_qp->state, was);
		assert_false(vbd_conn_stepping(rc->conn));
		step(rc, to);
	}
	fake_fail_next("ibv_modify_qp", EINVAL);
	assert_int_equal(vbd_conn_set_qp_state(rc->conn, VBD_QP_TO_RESET, NULL), VBD_E_VERBS_ERROR);
	assert_is(rc, VBD_CONN_AWAITING_REMOTE, IBV_QPS_ERR);
	assert_int_equal(rc->conn->qp.reason, VBD_REASON_NONE);
}

RIG_TEST(test_conn_manual__a_receive_that_can_not_be_posted_is_a_refused_init)
{
	struct rig_conn *rc = in_state(rig, IBV_QPS_RESET);

	fake_fail_next("ibv_post_recv", ENOMEM);
	assert_int_equal(vbd_conn_set_qp_state(rc->conn, VBD_QP_TO_INIT, NULL), VBD_E_VERBS_ERROR);
	assert_is(rc, VBD_CONN_AWAITING_REMOTE, IBV_QPS_RESET);
	step(rc, VBD_QP_TO_INIT);
	assert_int_equal(fake_recvs(rc->conn->qp.ibv_qp), 4);
}

/* The data path. */

RIG_TEST(test_conn_manual__in_rtr_it_receives_and_sends_nothing)
{
	struct pair pair = joined(rig, VBD_TRANSPORT_RC, VBD_SERVICE_ECHO);
	const struct vbd_mem *mem = rig_mem(rig, 64, 0);

	(void)send_five(pair.a, mem);
	assert_int_equal(fake_sends(pair.b->conn->qp.ibv_qp), 0);
	assert_int_equal(pair.a->message_count, 0);
	step(pair.b, VBD_QP_TO_RTS);
	assert_int_equal(pair.a->message_count, 1);
	assert_is(pair.b, VBD_CONN_ESTABLISHED, IBV_QPS_RTS);
}

RIG_TEST(test_conn_manual__in_sqd_sends_wait)
{
	struct pair pair = joined(rig, VBD_TRANSPORT_RC, VBD_SERVICE_INBOX);
	const struct vbd_mem *mem = rig_mem(rig, 64, 0);
	struct rig_transfer *rt;
	struct vbd_error err = {0};

	step(pair.a, VBD_QP_TO_SQD);
	assert_is(pair.a, VBD_CONN_ESTABLISHED, IBV_QPS_SQD);
	rt = send_five(pair.a, mem);
	assert_int_equal(rt->ended, 0);
	assert_int_equal(fake_sends(pair.a->conn->qp.ibv_qp), 0);
	fake_qp_draining(pair.a->conn->qp.ibv_qp, true);
	assert_int_equal(
		vbd_conn_set_qp_state(pair.a->conn, VBD_QP_TO_RTS, &err), VBD_E_WRONG_STATE);
	assert_non_null(strstr(err.text, "draining"));
	fake_qp_draining(pair.a->conn->qp.ibv_qp, false);
	fake_qp_async(pair.a->conn->qp.ibv_qp, IBV_EVENT_SQ_DRAINED);
	rig_settle(rig);
	assert_true(rig_has_entry(pair.a, VBD_TIMELINE_ASYNC_EVENT, "sq_drained"));
	step(pair.a, VBD_QP_TO_RTS);
	assert_int_equal(rt->ended, 1);
	assert_int_equal(rt->ended_as, VBD_TRANSFER_DONE);
	assert_int_equal(pair.b->message_count, 1);
	/* Each time that it may send again what waited goes out. */
	for (unsigned int i = 2; i <= 4; i++) {
		step(pair.a, VBD_QP_TO_SQD);
		rt = send_five(pair.a, mem);
		assert_int_equal(rt->ended, 0);
		step(pair.a, VBD_QP_TO_RTS);
		assert_int_equal(rt->ended_as, VBD_TRANSFER_DONE);
		assert_int_equal(pair.b->messages_ever, i);
	}
}

RIG_TEST(test_conn_manual__err_breaks_off_and_parks)
{
	struct pair pair = joined(rig, VBD_TRANSPORT_RC, VBD_SERVICE_INBOX);
	const struct vbd_mem *mem = rig_mem(rig, 64, 0);
	unsigned int stepped = pair.a->stepped;
	struct rig_transfer *rt;

	step(pair.b, VBD_QP_TO_ERR);
	/* The peer does not answer any more, so these sends stay outstanding. */
	rt = send_five(pair.a, mem);
	assert_int_equal(rt->ended, 0);
	step(pair.a, VBD_QP_TO_ERR);
	assert_int_equal(rt->ended, 1);
	assert_int_equal(rt->ended_as, VBD_TRANSFER_FAILED);
	assert_is(pair.a, VBD_CONN_AWAITING_REMOTE, IBV_QPS_ERR);
	assert_int_equal(pair.a->stepped, stepped + 1);
	assert_int_equal(pair.a->conn->qp.first_error.at_ns, 0);
	assert_int_equal(pair.a->conn->qp.reason, VBD_REASON_NONE);
	assert_false(pair.a->memory_went);
}

RIG_TEST(test_conn_manual__after_reset_it_can_be_brought_up_again)
{
	struct pair pair = joined(rig, VBD_TRANSPORT_RC, VBD_SERVICE_INBOX);
	const struct vbd_mem *mem = rig_mem(rig, 64, 0);
	struct rig_conn *both[] = {pair.a, pair.b};
	uint64_t established_ns = pair.a->conn->established_ns;

	step(pair.b, VBD_QP_TO_RTS);
	(void)send_five(pair.a, mem);
	assert_int_equal(pair.b->message_count, 1);
	for (size_t i = 0; i < 2; i++) {
		step(both[i], VBD_QP_TO_RESET);
		assert_is(both[i], VBD_CONN_AWAITING_REMOTE, IBV_QPS_RESET);
		assert_true(rig_has_entry(both[i], VBD_TIMELINE_QP, "RTS -> ERR"));
		assert_true(rig_has_entry(both[i], VBD_TIMELINE_QP, "ERR -> RESET"));
		step(both[i], VBD_QP_TO_INIT);
	}
	/* A message still occupies one of the receives. */
	assert_int_equal(fake_recvs(pair.a->conn->qp.ibv_qp), 4);
	assert_int_equal(fake_recvs(pair.b->conn->qp.ibv_qp), 3);
	for (enum vbd_qp_step to = VBD_QP_TO_RTR; to <= VBD_QP_TO_RTS; to++) {
		step(pair.a, to);
		step(pair.b, to);
	}
	assert_is(pair.a, VBD_CONN_ESTABLISHED, IBV_QPS_RTS);
	assert_int_equal(pair.a->conn->established_ns, established_ns);
	assert_int_equal(send_five(pair.a, mem)->ended_as, VBD_TRANSFER_DONE);
	assert_int_equal(pair.b->message_count, 2);
	rig_release(pair.b);
	rig_release(pair.b);
	rig_settle(rig);
	assert_int_equal(fake_recvs(pair.b->conn->qp.ibv_qp), 4);
}

RIG_TEST(test_conn_manual__a_message_released_while_parked_is_posted_with_init)
{
	struct pair pair = joined(rig, VBD_TRANSPORT_RC, VBD_SERVICE_INBOX);
	const struct vbd_mem *mem = rig_mem(rig, 64, 0);

	(void)send_five(pair.a, mem);
	step(pair.b, VBD_QP_TO_ERR);
	assert_int_equal(pair.b->message_count, 1);
	assert_string_equal((const char *)vbd_channel_recv_data(pair.b->messages[0]), "");
	rig_release(pair.b);
	step(pair.b, VBD_QP_TO_RESET);
	step(pair.b, VBD_QP_TO_INIT);
	assert_int_equal(fake_recvs(pair.b->conn->qp.ibv_qp), 4);
}

RIG_TEST(test_conn_manual__flushes_behind_a_deliberate_err_are_no_error)
{
	struct rig_conn *rc = in_state(rig, IBV_QPS_RTS);

	/* The worker sees the flushes before it takes the command to drain. */
	fake_flushes_withheld(true);
	assert_int_equal(vbd_conn_set_qp_state(rc->conn, VBD_QP_TO_ERR, NULL), VBD_OK);
	assert_true(vbd_conn_stepping(rc->conn));
	vbd_channel_break(rc->conn->qp.channel,
		&(const struct vbd_error){.status = VBD_E_QP_FATAL, .source = VBD_SOURCE_WC},
		VBD_OP_RECV, 0);
	fake_flushes_withheld(false);
	fake_flush(rc->conn->qp.ibv_qp);
	rig_settle(rig);
	assert_is(rc, VBD_CONN_AWAITING_REMOTE, IBV_QPS_ERR);
	assert_int_equal(rc->conn->qp.reason, VBD_REASON_NONE);
	step(rc, VBD_QP_TO_RESET);
	step(rc, VBD_QP_TO_INIT);
}

RIG_TEST(test_conn_manual__a_qp_that_errs_by_itself_fails)
{
	struct rig_conn *rc = in_state(rig, IBV_QPS_RTS);

	fake_qp_to_err(rc->conn->qp.ibv_qp);
	assert_ended(rc, VBD_CONN_FAILED, VBD_REASON_QP_FATAL);
}

/* Endings. */

RIG_TEST(test_conn_manual__it_ends_cleanly_from_each_state)
{
	for (size_t i = 0; i < VBD_ARRAY_LEN(qp_states); i++) {
		struct rig_conn *rc = in_state(rig, qp_states[i]);

		rig_close(rc);
		assert_ended(rc, VBD_CONN_CLOSED, VBD_REASON_LOCAL_CLOSE);
	}
}

RIG_TEST(test_conn_manual__its_device_may_go_in_each_state)
{
	struct rig_conn *rcs[VBD_ARRAY_LEN(qp_states)];

	for (size_t i = 0; i < VBD_ARRAY_LEN(qp_states); i++)
		rcs[i] = in_state(rig, qp_states[i]);
	for (size_t i = 0; i < VBD_ARRAY_LEN(qp_states); i++)
		vbd_conn_device_removed(rcs[i]->conn);
	rig_settle(rig);
	for (size_t i = 0; i < VBD_ARRAY_LEN(qp_states); i++)
		assert_ended(rcs[i], VBD_CONN_FAILED, VBD_REASON_DEVICE_REMOVED);
}

RIG_TEST(test_conn_manual__it_may_be_closed_while_it_parks)
{
	struct rig_conn *rc = in_state(rig, IBV_QPS_RTS);

	assert_int_equal(vbd_conn_set_qp_state(rc->conn, VBD_QP_TO_RESET, NULL), VBD_OK);
	assert_true(vbd_conn_stepping(rc->conn));
	assert_int_equal(
		vbd_conn_set_qp_state(rc->conn, VBD_QP_TO_INIT, &rig->err), VBD_E_WRONG_STATE);
	assert_non_null(strstr(rig->err.text, "not complete yet"));
	rig_close(rc);
	assert_ended(rc, VBD_CONN_CLOSED, VBD_REASON_LOCAL_CLOSE);
}

RIG_TEST(test_conn_manual__a_qp_that_does_not_flush_ends_by_force)
{
	struct rig_conn *rc = in_state(rig, IBV_QPS_RTS);

	fake_flushes_withheld(true);
	assert_int_equal(vbd_conn_set_qp_state(rc->conn, VBD_QP_TO_ERR, NULL), VBD_OK);
	rig_settle(rig);
	assert_true(vbd_conn_stepping(rc->conn));
	assert_int_not_equal(rc->deadline_ms, 0);
	rig_deadline(rc);
	assert_int_equal(rc->conn->state, VBD_CONN_DRAINING);
	rig_deadline(rc);
	fake_flushes_withheld(false);
	assert_ended(rc, VBD_CONN_FAILED, VBD_REASON_TIMED_OUT);
}

RIG_TEST(test_conn_manual__each_stay_without_a_peer_has_its_deadline)
{
	struct rig_conn *rc = rig_manual(rig, NULL, NULL);
	const struct vbd_manual_remote remote = roce_peer();

	rc->conn->timeout_ms = 700;
	step(rc, VBD_QP_TO_RESET);
	assert_int_equal(rc->deadline_ms, 700);
	step(rc, VBD_QP_TO_INIT);
	bring(rc, &remote, VBD_QP_TO_RTS);
	assert_int_equal(rc->deadline_ms, 0);
	step(rc, VBD_QP_TO_ERR);
	assert_int_equal(rc->deadline_ms, 700);
	rig_deadline(rc);
	assert_ended(rc, VBD_CONN_FAILED, VBD_REASON_TIMED_OUT);
	assert_non_null(strstr(rc->conn->qp.first_error.error.text, "700 ms"));
}

RIG_TEST(test_conn_manual__what_can_not_be_made_fails_it)
{
	struct rig_conn *rc;

	fake_fail_next("ibv_create_qp", ENOMEM);
	rc = rig_manual(rig, NULL, NULL);
	assert_int_equal(rc->conn->state, VBD_CONN_FAILED);
	assert_int_equal(rc->conn->qp.reason, VBD_REASON_RESOURCE_ERROR);
	rig_assert_idle(rig);
	fake_fail_next("ibv_post_recv", ENOMEM);
	rc = rig_manual(rig, NULL, NULL);
	assert_ended(rc, VBD_CONN_FAILED, VBD_REASON_RESOURCE_ERROR);
}

/* A move that may block. */

static void end_move(struct rig_conn *rc)
{
	fake_unblock();
	rig_settle(rc->rig);
}

RIG_TEST(test_conn_manual__a_slow_move_is_waited_for)
{
	struct rig_conn *rc = rig_manual(rig, NULL, NULL);
	const struct vbd_manual_remote remote = roce_peer();

	fake_block("ibv_modify_qp");
	assert_int_equal(vbd_conn_remote(rc->conn, &remote, VBD_QP_TO_RTS, NULL), VBD_OK);
	assert_true(vbd_conn_stepping(rc->conn));
	assert_int_equal(
		vbd_conn_remote(rc->conn, &remote, VBD_QP_TO_RTS, NULL), VBD_E_WRONG_STATE);
	assert_int_equal(vbd_conn_set_qp_state(rc->conn, VBD_QP_TO_ERR, NULL), VBD_E_WRONG_STATE);
	end_move(rc);
	assert_int_equal(rc->stepped, 1);
	assert_is(rc, VBD_CONN_ESTABLISHED, IBV_QPS_RTS);
	assert_int_equal(rc->conn->manual->failure.status, VBD_OK);
}

RIG_TEST(test_conn_manual__a_slow_move_that_fails_says_why)
{
	struct rig_conn *rc = rig_manual(rig, NULL, NULL);
	const struct vbd_manual_remote remote = roce_peer();

	fake_block("ibv_modify_qp");
	assert_int_equal(vbd_conn_remote(rc->conn, &remote, VBD_QP_TO_RTS, NULL), VBD_OK);
	fake_fail_next("ibv_modify_qp", ETIMEDOUT);
	end_move(rc);
	assert_int_equal(rc->stepped, 1);
	assert_is(rc, VBD_CONN_AWAITING_REMOTE, IBV_QPS_INIT);
	assert_int_equal(rc->conn->manual->failure.status, VBD_E_ADDR_ERROR);
	assert_true(rig_has_entry(rc, VBD_TIMELINE_COMMAND, "move failed"));
	assert_int_equal(rc->conn->manual->failure.raw, ETIMEDOUT);
	assert_int_equal(vbd_conn_set_qp_state(rc->conn, VBD_QP_TO_RTR, NULL), VBD_OK);
	assert_int_equal(rc->conn->manual->failure.status, VBD_OK);
	end_move(rc);
	assert_is(rc, VBD_CONN_AWAITING_REMOTE, IBV_QPS_RTR);
}

RIG_TEST(test_conn_manual__its_end_waits_for_a_slow_move)
{
	const struct vbd_manual_remote remote = roce_peer();

	for (int fails = 0; fails < 2; fails++) {
		struct rig_conn *rc = rig_manual(rig, NULL, NULL);

		fake_block("ibv_modify_qp");
		assert_int_equal(vbd_conn_remote(rc->conn, &remote, VBD_QP_TO_RTS, NULL), VBD_OK);
		rig_settle(rig);
		rig_close(rc);
		assert_int_equal(rc->conn->state, VBD_CONN_DRAINING);
		assert_int_equal(rc->conn->qp.ibv_qp->state, IBV_QPS_INIT);
		if (fails)
			fake_fail_next("ibv_modify_qp", EINVAL);
		end_move(rc);
		assert_int_equal(rc->stepped, 0);
		assert_ended(rc, VBD_CONN_CLOSED, VBD_REASON_LOCAL_CLOSE);
	}
}

/* Each call fails in turn: a command is refused or the connection fails, and no object is left. */

static void live_through(struct rig *rig, unsigned int nth)
{
	static const enum vbd_qp_step walk[] = {VBD_QP_TO_SQD, VBD_QP_TO_RTS, VBD_QP_TO_ERR,
		VBD_QP_TO_RESET, VBD_QP_TO_INIT, VBD_QP_TO_RTR, VBD_QP_TO_RTS};
	const struct vbd_manual_remote remote = roce_peer();
	struct rig_conn *rc;

	fake_fail_nth(nth, EIO);
	rc = rig_manual(rig, NULL, NULL);
	if (!rc)
		return;
	rig_settle(rig);
	for (size_t i = 0; i <= VBD_ARRAY_LEN(walk); i++) {
		if (vbd_conn_state_terminal(rc->conn->state))
			break;
		if (i == 0)
			(void)!vbd_conn_remote(rc->conn, &remote, VBD_QP_TO_RTS, NULL);
		else
			(void)!vbd_conn_set_qp_state(rc->conn, walk[i - 1], NULL);
		rig_settle(rig);
	}
	rig_close(rc);
	for (int i = 0; i < 3 && rc->deadline_ms; i++)
		rig_deadline(rc);
	rig_settle(rig);
	assert_true(vbd_conn_state_terminal(rc->conn->state));
	assert_null(rc->conn->qp.ibv_qp);
	rig_assert_idle(rig);
}

RIG_TEST(test_conn_manual__each_call_may_fail)
{
	unsigned int nth = 1;

	do {
		live_through(rig, nth++);
		assert_in_range(nth, 1, RIG_CONNS - 1);
	} while (fake_failed_call());
	fake_fail_nth(0, 0);
	assert_in_range(nth, 20, RIG_CONNS - 1);
}
