/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection as JSON: the schema Connection of openapi.yaml.
 */
#include "api/connections/connections.h"
#include "api/core/common_json.h"
#include "api/core/keep.h"
#include "api/core/qp_params.h"
#include "daemon/core/devices.h"
#include "daemon/memory/buffers.h"
#include "daemon/work/probes.h"
#include "rdma/data/heartbeat.h"

static void put_socket_address(
	struct vbd_encoder *out, const char *name, const struct sockaddr_storage *address)
{
	vbd_begin_object(out, name);
	vbd_put_address(out, "addr", address);
	vbd_put_u64(out, "port", vbd_addr_port(address));
	vbd_end(out);
}

/* --- the QP ---------------------------------------------------------------------------------- */

static void put_dead_peer_detect_ms(struct vbd_encoder *out, const struct vbd_qp_info *info)
{
	uint64_t ms = 0;
	bool known = info->sends_known &&
		     vbd_dead_peer_ms(info->ack_timeout, info->retry_count, info->soft_roce, &ms);

	vbd_put_u64_or_null(out, "dead_peer_detect_ms", known, ms);
}

static void put_grh(struct vbd_encoder *out, const struct vbd_qp_info *info)
{
	const struct vbd_gid *sgid = info->sgid_known ? &info->sgid : NULL;
	char text[VBD_GID_TEXT_BYTES];

	vbd_put_u64_or_null(out, "gid_index", info->gid_known, info->gid_index);
	vbd_put_text(out, "dgid", info->gid_known ? vbd_gid_text(info->dgid, text) : NULL);
	vbd_put_text(out, "sgid", sgid ? vbd_gid_text(sgid->raw, text) : NULL);
	vbd_put_text(out, "gid_type", sgid ? sgid->type : NULL);
	vbd_put_text_or_null(out, "netdev", sgid ? sgid->netdev : "");
	vbd_put_u64_or_null(
		out, "vlan_id", sgid && sgid->vlan_id >= 0, sgid ? (uint64_t)sgid->vlan_id : 0);
	vbd_put_u64_or_null(out, "traffic_class", info->gid_known, info->traffic_class);
	vbd_put_u64_or_null(out, "hop_limit", info->gid_known, info->hop_limit);
}

static void put_qp_attr(struct vbd_encoder *out, const char *name, const struct vbd_conn *conn)
{
	const struct vbd_qp_info *info = &conn->qp.info;
	const bool known = info->path_known && !info->iwarp;
	const bool sends = info->sends_known && !info->iwarp;
	/* Retries need acknowledgements, which UC does not have. */
	const bool acks = conn->params.qp.transport == VBD_TRANSPORT_RC;

	if (!vbd_begin_object_if(out, name, conn->qp.info.lqpn))
		return;
	vbd_put_u64(out, "lqpn", info->lqpn);
	vbd_put_u64_or_null(out, "rqpn", info->rqpn != 0, info->rqpn);
	vbd_put_text(out, "state", vbd_qp_state_name(info->state));
	vbd_put_u64_or_null(out, "sq_psn", sends, info->sq_psn);
	vbd_put_u64_or_null(out, "rq_psn", known, info->rq_psn);
	vbd_put_u64_or_null(out, "path_mtu_bytes", known, info->path_mtu_bytes);
	vbd_put_u64_or_null(out, "ack_timeout", sends && acks, info->ack_timeout);
	vbd_put_u64_or_null(out, "ack_timeout_ns", sends && acks && info->ack_timeout,
		vbd_ack_timeout_ns(info->ack_timeout));
	vbd_put_u64_or_null(out, "retry_count", sends && acks, info->retry_count);
	vbd_put_u64_or_null(out, "rnr_retry", sends && acks, info->rnr_retry);
	vbd_put_u64_or_null(out, "min_rnr_timer", known && acks, info->min_rnr_timer);
	vbd_put_u64_or_null(
		out, "min_rnr_timer_ns", known && acks, vbd_min_rnr_timer_ns(info->min_rnr_timer));
	vbd_put_u64_or_null(
		out, "responder_resources", info->path_known && acks, info->responder_resources);
	vbd_put_u64_or_null(
		out, "initiator_depth", info->sends_known && acks, info->initiator_depth);
	put_grh(out, info);
	put_dead_peer_detect_ms(out, info);
	vbd_end(out);
}

/* --- bring-up by hand ------------------------------------------------------------------------- */

const char *const vbd_bringup_names[VBD_BRINGUP_COUNT] = {
	[VBD_BRINGUP_CM] = "cm",
	[VBD_BRINGUP_MANUAL] = "manual",
};

/* Index: enum vbd_qp_transport. UD is left out: only endpoints use it. */
const char *const vbd_qp_type_names[VBD_QP_TYPE_COUNT] = {
	[VBD_TRANSPORT_RC] = "rc",
	[VBD_TRANSPORT_UC] = "uc",
};

/* The members that the client posts to the peer's `remote`; null until the QP exists. */
static void put_local(struct vbd_encoder *out, const char *name, const struct vbd_conn *conn)
{
	const struct vbd_manual_local *local = &conn->manual->local;
	char gid[VBD_GID_TEXT_BYTES];

	if (!vbd_begin_object_if(out, name, conn->qp.info.lqpn))
		return;
	vbd_put_u64(out, "lid", local->lid);
	vbd_put_text(out, "gid", vbd_gid_text(local->gid, gid));
	vbd_put_u64(out, "gid_index", local->gid_index);
	vbd_put_u64(out, "qpn", conn->qp.info.lqpn);
	vbd_put_u64(out, "psn", local->psn);
	vbd_put_u64(out, "port_mtu_bytes", local->port_mtu_bytes);
	vbd_put_u64_or_null(
		out, "path_mtu_bytes", conn->qp.info.path_known, conn->qp.info.path_mtu_bytes);
	vbd_put_text(out, "qp_type", vbd_transport_name(conn->params.qp.transport));
	vbd_put_text(out, "gid_type", local->gid_type);
	vbd_put_u64(out, "responder_resources", local->responder_resources);
	vbd_put_u64(out, "initiator_depth", local->initiator_depth);
	/* Without a service each receive is posted by a client, with a length of its own. */
	vbd_put_u64_or_null(out, "recv_size_bytes", conn->params.qp.service != VBD_SERVICE_NONE,
		conn->params.qp.recv_size_bytes);
	vbd_end(out);
}

static void put_depth(struct vbd_encoder *out, const char *name, uint8_t depth)
{
	vbd_put_u64_or_null(out, name, depth != VBD_DEPTH_UNKNOWN, depth);
}

static void put_remote(struct vbd_encoder *out, const char *name, const struct vbd_conn *conn)
{
	const struct vbd_manual_remote *remote = &conn->manual->remote;
	char gid[VBD_GID_TEXT_BYTES];

	if (!vbd_begin_object_if(out, name, conn->manual->has_remote))
		return;
	vbd_put_u64(out, "lid", remote->lid);
	vbd_put_text(out, "gid", vbd_gid_text(remote->gid, gid));
	vbd_put_u64(out, "qpn", remote->qpn);
	vbd_put_u64(out, "psn", remote->psn);
	vbd_put_u64_or_null(
		out, "port_mtu_bytes", remote->port_mtu_bytes != 0, remote->port_mtu_bytes);
	vbd_put_u64_or_null(
		out, "path_mtu_bytes", remote->path_mtu_bytes != 0, remote->path_mtu_bytes);
	vbd_put_text(out, "qp_type", remote->qp_type);
	vbd_put_text(out, "gid_type", *remote->gid_type ? remote->gid_type : NULL);
	put_depth(out, "responder_resources", remote->responder_resources);
	put_depth(out, "initiator_depth", remote->initiator_depth);
	vbd_put_u64_or_null(
		out, "recv_size_bytes", remote->recv_size_bytes != 0, remote->recv_size_bytes);
	vbd_put_u64(out, "sl", remote->sl);
	vbd_put_u64(out, "hop_limit", remote->hop_limit);
	vbd_put_u64(out, "traffic_class", remote->traffic_class);
	vbd_put_u64(out, "flow_label", remote->flow_label);
	vbd_end(out);
}

static void put_manual(struct vbd_encoder *out, const char *name, const struct vbd_conn *conn)
{
	if (!vbd_begin_object_if(out, name, conn->manual))
		return;
	put_local(out, "local", conn);
	put_remote(out, "remote", conn);
	vbd_end(out);
}

static void put_bringup(struct vbd_encoder *out, const struct vbd_conn *conn)
{
	vbd_put_text(out, "bringup",
		vbd_bringup_names[conn->manual ? VBD_BRINGUP_MANUAL : VBD_BRINGUP_CM]);
	put_manual(out, "manual", conn);
}

/* --- counters and inbox ---------------------------------------------------------------------- */

/* Receives that verbsd itself posts, for a service, count only once one of them has ended. */
static bool op_was_posted(const struct vbd_conn *conn, enum vbd_op op)
{
	const struct vbd_op_counters *counters = vbd_qp_op_counters(&conn->qp, op);

	if (op != VBD_OP_RECV || conn->params.qp.service == VBD_SERVICE_NONE)
		return vbd_counter_get(&counters->posted);
	return vbd_counter_get(&counters->completed) || vbd_counter_get(&counters->errors) ||
	       vbd_counter_get(&counters->flushed);
}

static void put_counters(struct vbd_encoder *out, const char *name, const struct vbd_conn *conn)
{
	vbd_begin_object(out, name);
	for (unsigned int i = 0; i < VBD_OP_COUNT; i++) {
		enum vbd_op op = (enum vbd_op)i;

		if (op_was_posted(conn, op))
			vbd_put_op_counters(
				out, vbd_op_name(op), vbd_qp_op_counters(&conn->qp, op));
	}
	vbd_end(out);
}

static void put_inbox(
	struct vbd_encoder *out, const char *name, const struct vbd_connection *connection)
{
	const struct vbd_conn_params *params = &connection->conn->params;

	vbd_begin_object(out, name);
	vbd_put_u64(out, "messages", connection->inbox.count);
	vbd_put_u64(
		out, "capacity", params->qp.service == VBD_SERVICE_INBOX ? params->qp.rq_depth : 0);
	if (connection->inbox.dropped)
		vbd_put_u64(out, "dropped", connection->inbox.dropped);
	vbd_end(out);
}

/* --- the whole ------------------------------------------------------------------------------- */

static void put_state(struct vbd_encoder *out, const struct vbd_conn *conn)
{
	bool over = vbd_conn_state_terminal(conn->state);

	vbd_put_text(out, "state", vbd_conn_state_name(conn->state));
	vbd_put_text(out, "waits_for",
		over || conn->state == VBD_CONN_ESTABLISHED
			? NULL
			: vbd_conn_state_waits_for(conn->state));
}

static void put_times(struct vbd_encoder *out, const struct vbd_conn *conn)
{
	vbd_put_time(out, "created_at", conn->created_ns);
	vbd_put_time(out, "established_at", conn->established_ns);
	vbd_put_time(out, "ended_at", conn->ended_ns);
}

/* Left out if there is none, as for most connections, to keep answers small. */
static void put_private_data(struct vbd_encoder *out, const struct vbd_conn *conn)
{
	const struct vbd_private_data *local = &conn->cm.private_data;
	const struct vbd_private_data *peer = &conn->peer_private_data;
	uint8_t peer_bytes = vbd_private_data_shown_bytes(peer);

	if (!local->length_bytes && !peer_bytes)
		return;
	vbd_begin_object(out, "private_data");
	vbd_put_private_data(out, "local", local, local->length_bytes);
	vbd_put_private_data(out, "peer", peer, peer_bytes);
	vbd_end(out);
}

/* "active": this side sent the request to the CM; NULL for bring-up by hand. */
static const char *cm_side(const struct vbd_conn *conn)
{
	if (conn->manual)
		return NULL;
	return conn->passive ? "passive" : "active";
}

/* The members as the client requested them. */
static void put_requested(struct vbd_encoder *out, const struct vbd_connection *connection)
{
	const struct vbd_conn *conn = connection->conn;
	const struct vbd_cm_params *cm = &conn->cm;

	vbd_put_text(out, "dst_addr", connection->dst_addr);
	vbd_put_u64_or_null(out, "dst_port", connection->dst_port != 0, connection->dst_port);
	vbd_put_address(out, "src_addr", &cm->src);
	vbd_put_u64_or_null(out, "src_port", cm->src_port != 0, cm->src_port);
	vbd_put_u64_or_null(out, "tos", cm->tos >= 0, (uint64_t)cm->tos);
	vbd_put_bool(out, "reuse_addr", cm->reuse_addr);
	vbd_put_u64_or_null(out, "timeout_ms", conn->timeout_ms != 0, conn->timeout_ms);
	vbd_put_text(out, "service", vbd_service_name(conn->params.qp.service));
	vbd_put_params(out, "qp", connection->object.registry->daemon, &conn->params);
}

/* A connection gets the device that the request names, or fails. */
static void put_device(
	struct vbd_encoder *out, const struct vbd_daemon *daemon, const struct vbd_conn *conn)
{
	const struct vbd_device *asked = vbd_device_find_ref(daemon, conn->cm.device, NULL);

	if (conn->device.id || !asked)
		vbd_put_reference(out, "device", conn->device.id, conn->device.name);
	else
		vbd_put_reference(out, "device", asked->id, asked->name);
}

static void put_device_and_addrs(struct vbd_encoder *out, const struct vbd_connection *connection)
{
	const struct vbd_daemon *daemon = connection->object.registry->daemon;
	const struct vbd_conn *conn = connection->conn;

	put_device(out, daemon, conn);
	vbd_put_u64_or_null(out, "port_num", conn->port_num != 0, conn->port_num);
	vbd_put_ref(out, "listener", daemon->listeners, connection->listener_id);
	put_socket_address(out, "local", &conn->local);
	put_socket_address(out, "peer", &conn->peer);
	put_qp_attr(out, "qp_attr", conn);
	vbd_put_ref(out, "cq", daemon->cqs, conn->qp.cq_id);
}

/* Null for UC while the peer may write to a buffer of the same PD. */
static void put_heartbeats(struct vbd_encoder *out, const char *name, const struct vbd_conn *conn)
{
	const struct vbd_heartbeat_counters *counters = vbd_qp_heartbeat(&conn->qp);

	if (!vbd_begin_object_if(out, name, counters))
		return;
	vbd_put_u64(out, "sent", vbd_counter_get(&counters->sent));
	vbd_put_u64(out, "answered", vbd_counter_get(&counters->answered));
	vbd_end(out);
}

static void put_lost_packets(struct vbd_encoder *out, const struct vbd_connection *connection)
{
	const struct vbd_conn *conn = connection->conn;
	bool known = conn->params.qp.transport == VBD_TRANSPORT_UC;

	if (known && conn->qp.pd)
		known = !vbd_buffers_writable(connection->object.registry->daemon, conn->qp.pd);
	vbd_put_u64_or_null(out, "lost_packets", known, conn->lost_packets);
}

/* Put schema ConnectionRtt of the connection's running or last probe, or null. */
static void put_rtt(
	struct vbd_encoder *out, const char *name, const struct vbd_connection *connection)
{
	const struct vbd_probe_record *record = vbd_probe_of(connection);
	const struct vbd_probe_counters *counters;
	bool known;

	if (!record) {
		vbd_put_null(out, name);
		return;
	}
	counters = &record->probe.counters;
	known = vbd_counter_get(&counters->rtt_ns.count) != 0;
	vbd_begin_object(out, name);
	vbd_put_ref(out, "probe", record->object.registry, record->object.id);
	vbd_put_u64(out, "sent", vbd_counter_get(&counters->sent));
	vbd_put_u64(out, "completed", vbd_counter_get(&counters->completed));
	vbd_put_u64(out, "lost", vbd_counter_get(&counters->lost));
	vbd_put_u64_or_null(out, "last_ns", known, vbd_counter_get(&record->probe.last_ns));
	vbd_put_u64_or_null(out, "jitter_ns", known, vbd_counter_get(&record->probe.jitter_ns));
	vbd_put_u64_or_null(out, "p50_ns", known, vbd_histogram_permille(&counters->rtt_ns, 500));
	vbd_put_u64_or_null(out, "p90_ns", known, vbd_histogram_permille(&counters->rtt_ns, 900));
	vbd_put_u64_or_null(out, "p99_ns", known, vbd_histogram_permille(&counters->rtt_ns, 990));
	vbd_put_u64_or_null(out, "p999_ns", known, vbd_histogram_permille(&counters->rtt_ns, 999));
	vbd_end(out);
}

void vbd_put_connection(struct vbd_encoder *out, const void *item)
{
	const struct vbd_connection *connection = item;
	const struct vbd_conn *conn = connection->conn;

	vbd_put_object(out, &connection->object);
	put_state(out, conn);
	vbd_put_text(out, "side", cm_side(conn));
	vbd_put_text(out, "qp_type", vbd_transport_name(conn->params.qp.transport));
	put_bringup(out, conn);
	put_device_and_addrs(out, connection);
	put_requested(out, connection);
	put_counters(out, "counters", conn);
	put_heartbeats(out, "heartbeats", conn);
	put_lost_packets(out, connection);
	put_inbox(out, "inbox", connection);
	put_rtt(out, "rtt", connection);
	vbd_put_end(out, &connection->object, &conn->qp);
	vbd_put_desired(out, &connection->object);
	vbd_put_u64_or_null(
		out, "previous_id", connection->previous_id != 0, connection->previous_id);
	put_times(out, conn);
	put_private_data(out, conn);
}
