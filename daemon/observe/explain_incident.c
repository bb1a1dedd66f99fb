/* SPDX-License-Identifier: Apache-2.0 */
/* The incident of a connection: how it ended, or what it waits for. */
#include "daemon/observe/explain.h"

#include "base/addr.h"
#include "base/clock.h"
#include "base/text.h"
#include "daemon/memory/buffers.h"
#include "daemon/work/transfers.h"
#include "rdma/data/heartbeat.h"
#include "rdma/device/source.h"
#include "rdma/provider/faults.h"

/* A shorter wait is no incident. */
#define LONG_MS 1000

/* At most so many buffers are looked at in one turn of the control thread. */
#define BUFFERS_LOOKED_AT 256

/* --- the peer -------------------------------------------------------------------------------- */

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

static void name_peer(const struct vbd_connection *connection, struct vbd_incident *incident)
{
	struct sockaddr_storage local, peer;
	char text[VBD_ADDR_TEXT_BYTES];

	(void)snprintf(incident->asked, sizeof(incident->asked), "%.63s",
		connection->dst_addr ? connection->dst_addr : "");
	incident->port = connection->dst_port;
	if (!vbd_explain_ends(connection, &local, &peer))
		return;
	(void)snprintf(
		incident->peer, sizeof(incident->peer), "%.47s", vbd_addr_format(&peer, text));
	incident->port = vbd_addr_port(&peer);
}

/* Quote the private data of the peer's rejection if that is text, behind which the CM appends
 * zeros. */
static void quote_rejection(const struct vbd_conn *conn, struct vbd_incident *incident)
{
	const struct vbd_private_data *data = &conn->peer_private_data;
	const char *text = (const char *)data->bytes;
	size_t len = data->length_bytes;

	while (len && !text[len - 1])
		len--;
	if (conn->qp.reason == VBD_REASON_REJECTED && data->message == VBD_CM_MESSAGE_REJECT &&
		vbd_text_has_only(text, len, " !#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"))
		(void)snprintf(incident->words, sizeof(incident->words), "%.*s", (int)len, text);
}

/* --- the request ----------------------------------------------------------------------------- */

/* Find the transfer that has waited longest for the peer. A receive counts only if there is no
 * other: the peer need not send. */
static const struct vbd_transfer_record *find_oldest_transfer(const struct vbd_qp *qp)
{
	const struct vbd_transfer_record *receive = NULL;

	vbd_list_for_each (link, &qp->transfers) {
		const struct vbd_transfer_record *record =
			VBD_CONTAINER_OF(link, struct vbd_transfer_record, link);

		if (record->transfer.op != VBD_OP_RECV)
			return record;
		receive = receive ? receive : record;
	}
	return receive;
}

/* Find the transfer that failed first or else waits longest; NULL: none, or it was deleted. */
static const struct vbd_transfer_record *find_transfer(const struct vbd_connection *connection)
{
	const struct vbd_conn *conn = connection->conn;
	const struct vbd_object *object;

	if (conn->qp.reason == VBD_REASON_NONE)
		return conn->state == VBD_CONN_ESTABLISHED ? find_oldest_transfer(&conn->qp) : NULL;
	object = vbd_registry_find_id(
		connection->object.registry->daemon->transfers, conn->qp.first_error.transfer);
	return object ? VBD_CONTAINER_OF(object, const struct vbd_transfer_record, object) : NULL;
}

static void describe_transfer(
	const struct vbd_transfer_record *record, uint32_t sq_depth, struct vbd_incident *incident)
{
	const struct vbd_transfer *transfer = &record->transfer;
	uint64_t chunk_bytes = transfer->chunk_bytes, done_bytes;
	uint64_t until_ns = vbd_counter_get(&transfer->ended_ns);

	done_bytes = vbd_counter_get(&transfer->bytes_done);
	incident->since_ns = transfer->created_ns;
	incident->transfer = transfer->id;
	incident->whose = vbd_whose(&record->object);
	incident->op = (int)transfer->op;
	incident->remote_addr = transfer->wr.remote_addr;
	incident->rkey = transfer->wr.rkey;
	incident->length_bytes = transfer->length_bytes;
	incident->done_bytes = done_bytes;
	incident->window = incident->requests_left = 0;
	if (chunk_bytes && !transfer->repeats) {
		incident->window = transfer->tx_depth ? transfer->tx_depth : sq_depth;
		incident->requests_left =
			(transfer->length_bytes - done_bytes + chunk_bytes - 1) / chunk_bytes;
	}
	/* One receive of the peer takes one message of the transfer. */
	if (transfer->repeats || (vbd_ops[transfer->op].sends && chunk_bytes &&
					 chunk_bytes < transfer->length_bytes))
		incident->length_bytes = chunk_bytes;
	until_ns = until_ns ? until_ns : vbd_clock_mono_ns();
	incident->waited_ms = (until_ns - transfer->created_ns) / VBD_NS_PER_MS;
}

void vbd_explain_request(const struct vbd_connection *connection, struct vbd_incident *incident)
{
	const struct vbd_conn *conn = connection->conn;
	const struct vbd_first_error *first = &conn->qp.first_error;
	const struct vbd_transfer_record *record = find_transfer(connection);

	if (record)
		describe_transfer(record, conn->params.qp.sq_depth, incident);
	if (first->at_ns && first->op >= 0)
		incident->op = first->op;
}

bool vbd_explain_running(
	const struct vbd_connection *connection, uint64_t *ret_transfer, uint64_t *ret_done_bytes)
{
	struct vbd_incident incident = {.op = -1};

	if (connection->conn->qp.reason == VBD_REASON_NONE)
		vbd_explain_request(connection, &incident);
	*ret_transfer = incident.transfer;
	*ret_done_bytes = incident.done_bytes;
	return incident.transfer && incident.waited_ms >= LONG_MS;
}

/* --- the outcome ----------------------------------------------------------------------------- */

static void judge_end(const struct vbd_conn *conn, struct vbd_incident *incident)
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

/* Has the transfer done no bytes since the look, or at all if that did not watch it? Without a look
 * it may have made progress or not. */
static bool may_stand_still(const struct vbd_incident *incident, const struct vbd_look *look)
{
	bool watched = look && look->transfer == incident->transfer;

	return !look || incident->done_bytes == (watched ? look->transfer_done : 0);
}

static void judge_wait(
	const struct vbd_conn *conn, const struct vbd_look *look, struct vbd_incident *incident)
{
	if (conn->state != VBD_CONN_ESTABLISHED)
		incident->waited_ms =
			(vbd_clock_mono_ns() - conn->deadline_since_ns) / VBD_NS_PER_MS;
	incident->outcome = VBD_OUTCOME_WELL;
	if (incident->waited_ms >= LONG_MS && may_stand_still(incident, look))
		incident->outcome = incident->op == VBD_OP_RECV ? VBD_OUTCOME_UNSENT
								: vbd_outcome_of_wait(conn->state);
}

static void judge_connection(const struct vbd_connection *connection, const struct vbd_look *look,
	struct vbd_incident *incident)
{
	vbd_explain_request(connection, incident);
	if (connection->conn->qp.reason != VBD_REASON_NONE)
		judge_end(connection->conn, incident);
	else
		judge_wait(connection->conn, look, incident);
}

#define OUTCOME(sym) (UINT64_C(1) << VBD_OUTCOME_##sym)

bool vbd_explain_unheard(const struct vbd_connection *connection)
{
	static const uint64_t unheard = OUTCOME(CONNECTING) | OUTCOME(STUCK) | OUTCOME(UNSENT) |
					OUTCOME(UNANSWERED) | OUTCOME(UNCONFIRMED) |
					OUTCOME(UNACKED) | OUTCOME(SILENT) | OUTCOME(LATE) |
					OUTCOME(PEER_LEFT);
	struct vbd_incident incident = {.op = -1};

	judge_connection(connection, NULL, &incident);
	return unheard & UINT64_C(1) << incident.outcome;
}

/* Find the fault that a client asked for, unless it only delayed what something else ended. */
static const char *find_fault(
	const struct vbd_connection *connection, const struct vbd_incident *incident)
{
	unsigned int hit = atomic_load_explicit(&connection->faults_hit, memory_order_relaxed);
	bool late = incident->outcome == VBD_OUTCOME_LATE || incident->outcome == VBD_OUTCOME_STUCK;

	if (incident->error.on_purpose)
		return vbd_fault_effect_name(VBD_FAULT_FAIL_CALL);
	if (incident->outcome == VBD_OUTCOME_QP_FAILED && hit & 1U << VBD_FAULT_QP_ERROR)
		return vbd_fault_effect_name(VBD_FAULT_QP_ERROR);
	if (late && hit & 1U << VBD_FAULT_DROP_COMPLETIONS)
		return vbd_fault_effect_name(VBD_FAULT_DROP_COMPLETIONS);
	if (late && hit & 1U << VBD_FAULT_DELAY_COMPLETIONS)
		return vbd_fault_effect_name(VBD_FAULT_DELAY_COMPLETIONS);
	return NULL;
}

/* --- this side ------------------------------------------------------------------------------- */

static void count_signs_of_peer(const struct vbd_conn *conn, struct vbd_incident *incident)
{
	const struct vbd_heartbeat_counters *heartbeat = vbd_qp_heartbeat(&conn->qp);
	const struct vbd_op_counters *receives = vbd_qp_op_counters(&conn->qp, VBD_OP_RECV);

	incident->heard = vbd_counter_get(&receives->completed);
	incident->no_receive_left =
		!conn->params.qp.srq_id &&
		vbd_counter_get(&receives->posted) ==
			vbd_counter_get(&receives->completed) + vbd_counter_get(&receives->errors);
	incident->heartbeats = heartbeat ? vbd_counter_get(&heartbeat->answered) : 0;
}

static void add_open_buffer(
	const struct vbd_buffer *buffer, const struct vbd_conn *conn, struct vbd_incident *incident)
{
	if (strcmp(buffer->device.name, conn->device.name) != 0) {
		(void)snprintf(incident->open_device, sizeof(incident->open_device), "%s",
			buffer->device.name);
		return;
	}
	incident->nothing_open = false;
	if (buffer->mem.pd != conn->qp.pd)
		return;
	incident->open_buffers++;
	incident->open_id = buffer->object.id;
	incident->open_bytes = buffer->mem.size_bytes;
	incident->open_access = buffer->mem.access;
}

/* Find what was open to a peer that the device here refused. With too many buffers that stays
 * unknown. */
static void find_open_memory(const struct vbd_connection *connection, struct vbd_incident *incident)
{
	struct vbd_incident found = *incident;
	unsigned int left = BUFFERS_LOOKED_AT;

	if (incident->outcome != VBD_OUTCOME_REFUSED || !connection->conn->qp.pd)
		return;
	found.nothing_open = true;
	vbd_registry_for_each (object, connection->object.registry->daemon->buffers) {
		const struct vbd_buffer *buffer =
			VBD_CONTAINER_OF(object, const struct vbd_buffer, object);

		if (!left--)
			return;
		if (buffer->state == VBD_BUFFER_READY && buffer->mem.access &&
			vbd_owner_informs(connection->object.owner, vbd_whose(object)))
			add_open_buffer(buffer, connection->conn, &found);
	}
	found.other_pd_open = !found.nothing_open && !found.open_buffers;
	*incident = found;
}

/* rdma_connect(3) over Soft-iWARP returns when TCP has connected (siw_connect(), 6.1); that of a
 * card returns at once. */
static bool has_tcp_connected(const struct vbd_conn *conn)
{
	enum vbd_conn_state state =
		conn->qp.reason != VBD_REASON_NONE ? conn->ended_in : conn->state;

	return state == VBD_CONN_CONNECTING && conn->calling == VBD_CONN_CALLS_NOTHING &&
	       conn->qp.device && vbd_device_is_soft_iwarp(conn->qp.device);
}

void vbd_explain_incident(const struct vbd_connection *connection, const struct vbd_look *look,
	struct vbd_incident *incident)
{
	const struct vbd_conn *conn = connection->conn;

	judge_connection(connection, look, incident);
	incident->fault = find_fault(connection, incident);
	name_peer(connection, incident);
	quote_rejection(conn, incident);
	count_signs_of_peer(conn, incident);
	incident->by_hand = conn->manual != NULL;
	incident->listener_deleted = conn->listener_deleted;
	incident->recv_size_bytes = conn->params.qp.recv_size_bytes;
	incident->held_back = conn->qp.channel && vbd_counter_get(&conn->qp.channel->paused);
	if (connection->kept)
		return;
	find_open_memory(connection, incident);
	incident->tcp_open = has_tcp_connected(conn);
}
