/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/observe/explain.h"

#include "base/addr.h"
#include "base/attr.h"
#include "base/clock.h"
#include "daemon/memory/buffers.h"
#include "daemon/work/transfers.h"
#include "rdma/data/heartbeat.h"
#include "rdma/device/source.h"
#include "rdma/diagnose/judge.h"
#include "rdma/provider/faults.h"

/* A shorter wait is no incident. */
#define LONG_MS 1000

/* At most so many buffers are looked at in one turn of the control thread. */
#define BUFFERS_LOOKED_AT 256

bool vbd_explain_ends(const struct vbd_connection *connection, struct sockaddr_storage *ret_local,
	struct sockaddr_storage *ret_peer)
{
	const struct vbd_conn *conn = connection->conn;
	const struct vbd_qp_info *info = &conn->qp.info;
	struct vbd_gid peer = info->sgid;

	*ret_local = conn->local;
	*ret_peer = conn->peer;
	if (conn->peer.ss_family)
		return true;
	if (!info->sgid_known || !info->gid_known || !vbd_source_of_gid(&info->sgid, ret_local))
		return false;
	memcpy(peer.raw, info->dgid, sizeof(peer.raw));
	return vbd_source_of_gid(&peer, ret_peer);
}

/* --- the request ----------------------------------------------------------------------------- */

static const struct vbd_transfer_record *find_transfer(
	const struct vbd_connection *connection, uint64_t id)
{
	struct vbd_object *object =
		vbd_registry_find_id(connection->object.registry->daemon->transfers, id);

	return object ? VBD_CONTAINER_OF(object, struct vbd_transfer_record, object) : NULL;
}

/* The transfer that has waited longest for the peer; NULL: none. A receive only if there is no
 * other. */
static const struct vbd_transfer_record *oldest_transfer(const struct vbd_conn *conn)
{
	const struct vbd_transfer_record *receive = NULL;

	vbd_list_for_each (link, &conn->qp.transfers) {
		const struct vbd_transfer_record *record =
			VBD_CONTAINER_OF(link, struct vbd_transfer_record, link);

		if (record->transfer.op != VBD_OP_RECV)
			return record;
		receive = receive ? receive : record;
	}
	return receive;
}

static void gather_transfer(
	const struct vbd_transfer_record *record, uint32_t sq_depth, struct vbd_incident *incident)
{
	const struct vbd_transfer *transfer = &record->transfer;
	uint64_t until_ns = vbd_counter_get(&transfer->ended_ns);

	incident->since_ns = transfer->created_ns;
	incident->transfer = transfer->id;
	incident->whose = vbd_whose(&record->object);
	incident->op = (int)transfer->op;
	incident->remote_addr = transfer->wr.remote_addr;
	incident->rkey = transfer->wr.rkey;
	incident->length_bytes = transfer->repeats ? transfer->chunk_bytes : transfer->length_bytes;
	incident->done_bytes = vbd_counter_get(&transfer->bytes_done);
	incident->window = incident->requests_left = 0;
	if (!transfer->repeats && transfer->chunk_bytes) {
		incident->window = transfer->tx_depth ? transfer->tx_depth : sq_depth;
		incident->requests_left = (incident->length_bytes - incident->done_bytes +
						  transfer->chunk_bytes - 1) /
					  transfer->chunk_bytes;
	}
	/* One receive of the peer takes one message of the transfer. */
	if (vbd_ops[transfer->op].sends && transfer->chunk_bytes &&
		transfer->chunk_bytes < incident->length_bytes)
		incident->length_bytes = transfer->chunk_bytes;
	if (!until_ns)
		until_ns = vbd_clock_mono_ns();
	incident->waited_ms = (until_ns - transfer->created_ns) / VBD_NS_PER_MS;
}

void vbd_explain_request(const struct vbd_connection *connection, struct vbd_incident *incident)
{
	const struct vbd_conn *conn = connection->conn;
	const struct vbd_first_error *first = &conn->qp.first_error;
	const struct vbd_transfer_record *record = NULL;

	if (conn->qp.reason == VBD_REASON_NONE)
		record = conn->state == VBD_CONN_ESTABLISHED ? oldest_transfer(conn) : NULL;
	else if (first->at_ns)
		record = first->transfer ? find_transfer(connection, first->transfer) : NULL;
	if (record)
		gather_transfer(record, conn->params.qp.sq_depth, incident);
	if (first->at_ns && first->op >= 0)
		incident->op = first->op;
}

/* Is any memory of the owner open to peers? Not set if there are more than BUFFERS_LOOKED_AT
 * buffers. */
static void gather_open_memory(
	const struct vbd_connection *connection, struct vbd_incident *incident)
{
	const struct vbd_daemon *daemon = connection->object.registry->daemon;
	const struct vbd_conn *conn = connection->conn;
	const char *elsewhere = NULL;
	unsigned int looked_at = 0;
	bool open = false;

	if (incident->outcome != VBD_OUTCOME_REFUSED || !conn->qp.pd)
		return;
	vbd_registry_for_each (object, daemon->buffers) {
		const struct vbd_buffer *buffer =
			VBD_CONTAINER_OF(object, struct vbd_buffer, object);

		if (++looked_at > BUFFERS_LOOKED_AT) {
			incident->open_buffers = 0;
			return;
		}
		if (buffer->state != VBD_BUFFER_READY || !buffer->mem.access ||
			!vbd_owner_informs(connection->object.owner, vbd_whose(object)))
			continue;
		if (strcmp(buffer->device.name, conn->device.name) != 0) {
			elsewhere = buffer->device.name;
			continue;
		}
		open = true;
		if (buffer->mem.pd != conn->qp.pd)
			continue;
		incident->open_buffers++;
		incident->open_id = object->id;
		incident->open_bytes = buffer->mem.size_bytes;
		incident->open_access = buffer->mem.access;
	}
	incident->nothing_open = !open;
	incident->other_pd_open = open && !incident->open_buffers;
	if (elsewhere)
		(void)snprintf(
			incident->open_device, sizeof(incident->open_device), "%s", elsewhere);
}

static void gather_history(const struct vbd_conn *conn, struct vbd_incident *incident)
{
	const struct vbd_heartbeat_counters *heartbeat = vbd_qp_heartbeat(&conn->qp);
	const struct vbd_op_counters *receives = vbd_qp_op_counters(&conn->qp, VBD_OP_RECV);

	for (enum vbd_op op = 0; op < VBD_OP_COUNT; op++) {
		if (op != VBD_OP_RECV &&
			vbd_counter_get(&vbd_qp_op_counters(&conn->qp, op)->completed))
			incident->acked = true;
	}
	incident->heard = vbd_counter_get(&receives->completed);
	incident->no_receive_left =
		!conn->params.qp.srq_id &&
		vbd_counter_get(&receives->posted) ==
			vbd_counter_get(&receives->completed) + vbd_counter_get(&receives->errors);
	incident->recv_size_bytes = conn->params.qp.recv_size_bytes;
	incident->heartbeats = heartbeat ? vbd_counter_get(&heartbeat->answered) : 0;
	incident->held_back = conn->qp.channel && vbd_counter_get(&conn->qp.channel->paused);
}

/* --- the peer -------------------------------------------------------------------------------- */

static void gather_peer(const struct vbd_connection *connection, struct vbd_incident *incident)
{
	const struct vbd_conn *conn = connection->conn;
	struct sockaddr_storage local, peer;
	char text[VBD_ADDR_TEXT_BYTES];

	incident->by_hand = conn->manual != NULL;
	incident->listener_deleted = conn->listener_deleted;
	(void)snprintf(incident->asked, sizeof(incident->asked), "%.63s",
		connection->dst_addr ? connection->dst_addr : "");
	incident->port = connection->dst_port;
	if (!vbd_explain_ends(connection, &local, &peer))
		return;
	(void)snprintf(
		incident->peer, sizeof(incident->peer), "%.47s", vbd_addr_format(&peer, text));
	incident->port = vbd_addr_port(&peer);
}

/* The peer's private data, if it is text: all of it is printable but the zeros that the CM
 * appends. */
static void gather_peer_text(const struct vbd_conn *conn, struct vbd_incident *incident)
{
	const struct vbd_private_data *data = &conn->peer_private_data;
	size_t len = data->length_bytes;

	if (conn->qp.reason != VBD_REASON_REJECTED || data->message != VBD_CM_MESSAGE_REJECT)
		return;
	while (len && data->bytes[len - 1] == 0)
		len--;
	for (size_t i = 0; i < len; i++) {
		if (data->bytes[i] < 0x20 || data->bytes[i] > 0x7e || data->bytes[i] == '"')
			return;
	}
	(void)snprintf(incident->words, sizeof(incident->words), "%.*s", (int)len,
		(const char *)data->bytes);
}

/* --- all of it ------------------------------------------------------------------------------- */

bool vbd_explain_running(
	const struct vbd_connection *connection, uint64_t *ret_transfer, uint64_t *ret_done_bytes)
{
	struct vbd_incident incident = {.op = -1};

	if (connection->conn->state != VBD_CONN_ESTABLISHED)
		return false;
	vbd_explain_request(connection, &incident);
	*ret_transfer = incident.transfer;
	*ret_done_bytes = incident.done_bytes;
	return incident.transfer && incident.waited_ms >= LONG_MS;
}

/* Has the transfer done no bytes since the look? */
static bool transfer_stands_still(const struct vbd_incident *incident, const struct vbd_look *look)
{
	if (look && look->transfer == incident->transfer)
		return look->transfer_done == incident->done_bytes;
	return !incident->done_bytes;
}

static void gather_wait(
	const struct vbd_conn *conn, const struct vbd_look *look, struct vbd_incident *incident)
{
	if (conn->state != VBD_CONN_ESTABLISHED)
		incident->waited_ms =
			(vbd_clock_mono_ns() - conn->deadline_since_ns) / VBD_NS_PER_MS;
	if (incident->waited_ms < LONG_MS || !transfer_stands_still(incident, look))
		return;
	incident->outcome =
		incident->op == VBD_OP_RECV ? VBD_OUTCOME_UNSENT : vbd_outcome_of_wait(conn->state);
}

static void gather_end(const struct vbd_conn *conn, struct vbd_incident *incident)
{
	const struct vbd_first_error *first = &conn->qp.first_error;
	const struct vbd_outcome_end end = {
		.state = conn->ended_in,
		.reason = conn->qp.reason,
		.first = first,
		.refusal = conn->refusal,
		.passive = conn->passive,
	};

	incident->outcome = vbd_outcome_of_end(&end);
	incident->error = first->error;
	if (first->error.source == VBD_SOURCE_DEADLINE)
		incident->waited_ms = (uint64_t)first->error.raw;
	else if (first->at_ns && !conn->established_ns)
		incident->waited_ms = (first->at_ns - conn->created_ns) / VBD_NS_PER_MS;
}

bool vbd_explain_unheard(const struct vbd_connection *connection)
{
	static const uint64_t unheard =
		UINT64_C(1) << VBD_OUTCOME_CONNECTING | UINT64_C(1) << VBD_OUTCOME_STUCK |
		UINT64_C(1) << VBD_OUTCOME_UNSENT | UINT64_C(1) << VBD_OUTCOME_UNANSWERED |
		UINT64_C(1) << VBD_OUTCOME_UNCONFIRMED | UINT64_C(1) << VBD_OUTCOME_UNACKED |
		UINT64_C(1) << VBD_OUTCOME_SILENT | UINT64_C(1) << VBD_OUTCOME_LATE |
		UINT64_C(1) << VBD_OUTCOME_PEER_LEFT;
	struct vbd_incident incident = {.outcome = VBD_OUTCOME_WELL, .op = -1};

	vbd_explain_request(connection, &incident);
	if (connection->conn->qp.reason != VBD_REASON_NONE)
		gather_end(connection->conn, &incident);
	else
		gather_wait(connection->conn, NULL, &incident);
	/* Whether a transfer that has done some bytes makes progress, only a later look tells. */
	if (incident.transfer && incident.waited_ms >= LONG_MS && incident.op != VBD_OP_RECV &&
		connection->conn->qp.reason == VBD_REASON_NONE)
		return true;
	return unheard & UINT64_C(1) << incident.outcome;
}

/* rdma_connect(3) over Soft-iWARP returns when TCP has connected (siw_connect(), 6.1); that of a
 * card returns at once. */
static void gather_tcp(const struct vbd_conn *conn, struct vbd_incident *incident)
{
	bool connects =
		conn->state == VBD_CONN_CONNECTING ||
		(conn->qp.reason != VBD_REASON_NONE && conn->ended_in == VBD_CONN_CONNECTING);

	if (!connects || !conn->qp.device || !vbd_device_is_soft_iwarp(conn->qp.device))
		return;
	incident->tcp_open = conn->calling == VBD_CONN_CALLS_NOTHING;
}

/* A fault that only delayed the connection is not named if something else ended it. */
static void gather_fault(const struct vbd_connection *connection, struct vbd_incident *incident)
{
	unsigned int hit = atomic_load_explicit(&connection->faults_hit, memory_order_relaxed);
	bool late = incident->outcome == VBD_OUTCOME_LATE || incident->outcome == VBD_OUTCOME_STUCK;

	incident->fault = NULL;
	if (incident->error.on_purpose)
		incident->fault = vbd_fault_effect_name(VBD_FAULT_FAIL_CALL);
	else if (incident->outcome == VBD_OUTCOME_QP_FAILED && hit & 1U << VBD_FAULT_QP_ERROR)
		incident->fault = vbd_fault_effect_name(VBD_FAULT_QP_ERROR);
	else if (late && hit & 1U << VBD_FAULT_DROP_COMPLETIONS)
		incident->fault = vbd_fault_effect_name(VBD_FAULT_DROP_COMPLETIONS);
	else if (late && hit & 1U << VBD_FAULT_DELAY_COMPLETIONS)
		incident->fault = vbd_fault_effect_name(VBD_FAULT_DELAY_COMPLETIONS);
}

void vbd_explain_incident(const struct vbd_connection *connection, const struct vbd_look *look,
	struct vbd_incident *incident)
{
	const struct vbd_conn *conn = connection->conn;

	incident->outcome = VBD_OUTCOME_WELL;
	vbd_explain_request(connection, incident);
	gather_history(conn, incident);
	gather_peer(connection, incident);
	gather_peer_text(conn, incident);
	if (conn->qp.reason != VBD_REASON_NONE)
		gather_end(conn, incident);
	else
		gather_wait(conn, look, incident);
	gather_fault(connection, incident);
	if (connection->kept)
		return;
	gather_open_memory(connection, incident);
	gather_tcp(conn, incident);
}
