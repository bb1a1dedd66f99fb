/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/observe/explain.h"

#include "base/clock.h"
#include "daemon/connections/listeners.h"
#include "daemon/connections/peer_reports.h"
#include "daemon/core/devices.h"
#include "rdma/data/srq.h"
#include "rdma/data/worker.h"
#include "rdma/device/port_counters.h"
#include "rdma/fabric/fabric.h"
#include "rdma/names/rejection.h"

/* --- facts ----------------------------------------------------------------------------------- */

/* A device that was removed may have returned as a new one; the connection was on the old one. */
static bool device_was_removed(const struct vbd_conn *conn, const struct vbd_device *device)
{
	return !device || device->state != VBD_DEVICE_PRESENT ||
	       (conn->qp.device && conn->qp.device != device) ||
	       (conn->qp.info.lqpn && device->added_ns > conn->created_ns);
}

static void gather_port_fall(
	const struct vbd_conn *conn, const struct vbd_device *device, struct vbd_facts *facts)
{
	uint64_t until_ns = conn->qp.first_error.at_ns ? conn->qp.first_error.at_ns
			    : conn->ended_ns	       ? conn->ended_ns
						       : vbd_clock_mono_ns();

	if (device->port_err_ns <= conn->created_ns || device->port_err_ns > until_ns)
		return;
	facts->port_fell = true;
	facts->port_fell_before_ms = (until_ns - device->port_err_ns) / VBD_NS_PER_MS;
}

static void gather_device(
	const struct vbd_conn *conn, struct vbd_device *device, struct vbd_facts *facts)
{
	if (!*conn->device.name)
		return;
	facts->device_id = conn->device.id;
	(void)snprintf(facts->device, sizeof(facts->device), "%s", conn->device.name);
	facts->device_removed = device_was_removed(conn, device);
	if (!device)
		return;
	facts->iwarp = vbd_device_is_iwarp(device);
	facts->cm_silent = !conn->established_ns && !conn->manual && vbd_cm_is_silent(device);
	if (conn->qp.info.lqpn && !facts->device_removed)
		gather_port_fall(conn, device, facts);
	if (!facts->device_removed && conn->port_num)
		facts->port_known =
			vbd_device_port(device, conn->port_num, &facts->port, NULL) == VBD_OK;
}

static void gather_qp(
	const struct vbd_conn *conn, struct vbd_device *device, struct vbd_facts *facts)
{
	const struct vbd_qp_info *info = &conn->qp.info;
	struct vbd_gid now;

	if (!info->iwarp)
		facts->qp = *info;
	if (!info->path_known)
		facts->qp.path_mtu_bytes = 0;
	facts->reliable = conn->params.qp.transport == VBD_TRANSPORT_RC;
	facts->iwarp = facts->iwarp || info->iwarp;
	facts->mtu_asked = conn->params.path_mtu_bytes != 0;
	facts->cm_mtu_bytes = conn->cm_mtu_bytes;
	/* In a reply from here, the peer lowers its own numbers. */
	if (!conn->passive && !conn->manual && conn->peer_responder_resources != VBD_DEPTH_UNKNOWN)
		facts->peer_reads = conn->peer_responder_resources;
	if (facts->open && facts->qp.sgid_known && !facts->device_removed && device)
		facts->sgid_gone = vbd_device_recent_gid(device, info->sgid.port_num,
					   info->sgid.gid_index, &now) != VBD_OK ||
				   memcmp(now.raw, info->sgid.raw, sizeof(now.raw)) != 0;
}

static void gather_worker(const struct vbd_qp *qp, struct vbd_facts *facts)
{
	facts->busy_on_worker = vbd_counter_get(&qp->channel->worker->busy_channels);
	facts->spun_ms = vbd_counter_get(&qp->channel->worker->spun_ns) / VBD_NS_PER_MS;
}

static void gather_queues(const struct vbd_connection *connection, struct vbd_facts *facts)
{
	const struct vbd_conn *conn = connection->conn;
	const struct vbd_conn_params *params = &conn->params;

	if (params->qp.service == VBD_SERVICE_INBOX && !params->qp.srq_id) {
		facts->inbox_messages = connection->inbox.count;
		facts->inbox_capacity = params->qp.rq_depth;
	}
	if (conn->qp.srq) {
		facts->srq_id = params->qp.srq_id;
		facts->srq_posted = vbd_counter_get(&conn->qp.srq->posted);
	}
	if (conn->qp.channel && params->qp.poll == VBD_POLL_BUSY)
		gather_worker(&conn->qp, facts);
}

/* Read the queue of the connection's listener, if that still exists. */
static void gather_listener(const struct vbd_connection *connection, struct vbd_facts *facts)
{
	const struct vbd_object *object =
		connection->listener_id
			? vbd_registry_find_id(connection->object.registry->daemon->listeners,
				  connection->listener_id)
			: NULL;

	if (!object)
		return;
	facts->backlog = ((const struct vbd_listener *)(const void *)object)->backlog;
	facts->waiting = ((const struct vbd_listener *)(const void *)object)->waiting;
}

/* Gather facts that change soon: later the interface may be up again, and the inbox gone. */
static void gather_transient_facts(const struct vbd_connection *connection, struct vbd_facts *facts)
{
	const struct vbd_daemon *daemon = connection->object.registry->daemon;
	const struct vbd_conn *conn = connection->conn;
	struct vbd_device *device = vbd_fabric_device(daemon->fabric, conn->device.name);

	facts->hung_up = conn->qp.reason == VBD_REASON_PEER_DISCONNECT;
	facts->watched = connection->probe || vbd_qp_heartbeat(&conn->qp);
	if (facts->open && !facts->established && conn->deadline_ms) {
		facts->deadline_ms = conn->deadline_ms;
		facts->waited_ms = (vbd_clock_mono_ns() - conn->deadline_since_ns) / VBD_NS_PER_MS;
	}
	gather_device(conn, device, facts);
	gather_qp(conn, device, facts);
	gather_queues(connection, facts);
	gather_listener(connection, facts);
}

static void gather_counts(const struct vbd_conn *conn, struct vbd_facts *facts)
{
	facts->flushed_sends = facts->flushed_receives = 0;
	for (enum vbd_op op = 0; op < VBD_OP_COUNT; op++) {
		const struct vbd_op_counters *counters = vbd_qp_op_counters(&conn->qp, op);
		uint64_t flushed = vbd_counter_get(&counters->flushed);

		if (op == VBD_OP_RECV) {
			facts->flushed_receives += flushed;
			continue;
		}
		facts->flushed_sends += flushed;
		if (vbd_counter_get(&counters->completed))
			facts->incident.acked = true;
	}
	facts->lost_packets = conn->lost_packets;
}

static void gather_report(const struct vbd_connection *connection, struct vbd_facts *facts)
{
	const struct vbd_peer_report *report = connection->peer_report;

	if (!report)
		return;
	facts->peer_report = report->theirs;
	facts->peer_replied = true;
	facts->judged = report->memory;
	facts->judged_over_bytes = report->over_bytes;
}

/* The answers that no other connection can have had: the device's counters count those of all, so
 * each other connection that is connecting may have got one. */
static uint64_t answers_not_of_others(const struct vbd_connection *connection, uint64_t answers)
{
	const struct vbd_daemon *daemon = connection->object.registry->daemon;
	uint64_t others = daemon->connections_in_state[VBD_CONN_CONNECTING];

	if (connection->in_state && connection->counted_state == VBD_CONN_CONNECTING)
		others--;
	return answers > others ? answers : 0;
}

static void set_counter_rises(const struct vbd_trace_sample *now,
	const struct vbd_trace_sample *before, struct vbd_incident *incident)
{
	incident->traces_known = true;
	for (size_t i = 0; i < VBD_TRACE_COUNT; i++)
		incident->traces[i] = now->counters[i] > before->counters[i]
					      ? now->counters[i] - before->counters[i]
					      : 0;
}

static void set_peer_reply(const struct vbd_connection *connection, const struct vbd_look *look,
	struct vbd_facts *facts)
{
	uint64_t since_ns = connection->conn->established_ns;

	if (!look->replied)
		return;
	facts->peer_replied = true;
	facts->peer_anew = since_ns && look->report.uptime_ms <
					       (vbd_clock_mono_ns() - since_ns) / VBD_NS_PER_MS;
	if (look->report.known)
		facts->peer_report = look->report;
}

void vbd_explain_take(const struct vbd_connection *connection, const struct vbd_look *look,
	struct vbd_facts *facts)
{
	const struct vbd_daemon *daemon = connection->object.registry->daemon;
	const struct vbd_conn *conn = connection->conn;
	const struct vbd_trace_sample *before = NULL;
	struct sockaddr_storage local, peer;
	bool known;
	uint64_t since_ns = facts->incident.since_ns ? facts->incident.since_ns : conn->created_ns;

	set_peer_reply(connection, look, facts);
	/* Keep the facts of the first look: until a second one the counters have risen further. */
	if (connection->kept && facts->netroute_known)
		return;
	facts->asked = look->asked;
	facts->answered = look->answered;
	facts->rtt_ns = look->rtt_ns;
	known = vbd_explain_ends(connection, &local, &peer);
	if (look->netroute_known)
		vbd_explain_netroute(conn->fabric, &look->netroute,
			known ? (const struct sockaddr *)&peer : NULL, facts);
	if (look->sample.at_ns)
		before = vbd_traces_before(daemon, conn->device.name, since_ns);
	if (before && before->at_ns < look->sample.at_ns)
		set_counter_rises(&look->sample, before, &facts->incident);
	facts->incident.traces[VBD_TRACE_MRA_CAME] =
		answers_not_of_others(connection, facts->incident.traces[VBD_TRACE_MRA_CAME]);
}

void vbd_explain_gather(const struct vbd_connection *connection, const struct vbd_look *look,
	struct vbd_facts *ret_facts)
{
	const struct vbd_conn *conn = connection->conn;

	*ret_facts = connection->kept ? *connection->kept : (struct vbd_facts){.incident.op = -1};
	ret_facts->open = !vbd_conn_state_terminal(conn->state);
	ret_facts->established = conn->state == VBD_CONN_ESTABLISHED;
	if (!connection->kept)
		gather_transient_facts(connection, ret_facts);
	gather_counts(conn, ret_facts);
	vbd_explain_incident(connection, look, &ret_facts->incident);
	gather_report(connection, ret_facts);
	ret_facts->memlock_known = true;
	vbd_memlock(&ret_facts->locked_bytes, &ret_facts->lock_limit_bytes);
	if (look)
		vbd_explain_take(connection, look, ret_facts);
}

/* --- what came before ------------------------------------------------------------------------- */

/* Is the entry a state to which the error itself led? */
static bool is_consequence(const struct vbd_timeline_entry *entry)
{
	return entry->kind == VBD_TIMELINE_STATE && entry->to &&
	       (strcmp(entry->to, vbd_conn_state_name(VBD_CONN_DRAINING)) == 0 ||
		       strcmp(entry->to, vbd_conn_state_name(VBD_CONN_FAILED)) == 0);
}

/* Skip the error's own timeline entry, which is the last one if an event reported the error. */
static const struct vbd_timeline_entry *find_preceding(const struct vbd_conn *conn)
{
	const struct vbd_first_error *first = &conn->qp.first_error;
	const enum vbd_error_source source = first->error.source;
	const enum vbd_timeline_kind own = source == VBD_SOURCE_WC	   ? VBD_TIMELINE_WC
					   : source == VBD_SOURCE_CM_EVENT ? VBD_TIMELINE_CM_EVENT
					   : source == VBD_SOURCE_ASYNC ? VBD_TIMELINE_ASYNC_EVENT
									: VBD_TIMELINE_KIND_COUNT;
	const struct vbd_timeline *timeline = &conn->timeline;
	uint32_t count = 0;

	if (!first->at_ns)
		return NULL;
	/* A failed completion that replaces the peer's disconnect comes after the drain has begun,
	 * and may be noted after the end. */
	while (count < timeline->count && timeline->entries[count]->at_ns <= first->at_ns &&
		!is_consequence(timeline->entries[count]))
		count++;
	if (count && timeline->entries[count - 1]->kind == own)
		count--;
	return count ? timeline->entries[count - 1] : NULL;
}

/* --- the first line --------------------------------------------------------------------------- */

/* " with 192.0.2.2 port 7471 on rxe0" */
static void write_peer(const struct vbd_connection *connection, char *text, size_t room)
{
	const struct vbd_conn *conn = connection->conn;
	const bool known = conn->peer.ss_family != 0;
	char addr[VBD_ADDR_TEXT_BYTES];
	const char *host = known ? vbd_addr_format(&conn->peer, addr) : connection->dst_addr;
	char port[16] = "";

	if (host)
		(void)snprintf(port, sizeof(port), " port %u",
			known ? vbd_addr_port(&conn->peer) : connection->dst_port);
	(void)snprintf(text, room, "%s%s%s%s%s", host ? " with " : "", host ? host : "", port,
		*conn->device.name ? " on " : "", conn->device.name);
}

/* Write when the last message came: the only sign that the peer's program runs. */
static void write_health(const struct vbd_connection *connection, char *text, size_t room)
{
	const struct vbd_inbox *inbox = &connection->inbox;
	char time[VBD_SPAN_TEXT_BYTES];

	if (connection->conn->params.qp.service != VBD_SERVICE_INBOX)
		(void)snprintf(text, room, ", and nothing has failed");
	else if (!inbox->last_seq)
		(void)snprintf(
			text, room, ", and nothing has failed; the peer has sent no message yet");
	else
		(void)snprintf(text, room,
			", and nothing has failed; the last message of the peer came %s ago",
			vbd_span_text(vbd_clock_mono_ns() - inbox->last_received_ns, time));
}

#define STATE_WORDS_BYTES 32

/* "awaiting remote" */
static const char *state_text(enum vbd_conn_state state, char words[STATE_WORDS_BYTES])
{
	(void)snprintf(words, STATE_WORDS_BYTES, "%s", vbd_conn_state_name(state));
	for (char *at = words; (at = strchr(at, '_'));)
		*at = ' ';
	return words;
}

/* "; these findings need attention: gid_link_local, rnr_none" */
static void write_grave_findings(const struct vbd_verdicts *verdicts, char *text, size_t room)
{
	size_t at = 0;

	for (size_t i = 0; i < verdicts->finding_count && at < room; i++) {
		const struct vbd_verdict_row *row = verdicts->findings[i].row;

		if (row->severity == VBD_FINDING_IS_INFO)
			break;
		at += (size_t)snprintf(text + at, room - at, "%s%s",
			i ? ", " : "; these findings need attention: ", row->name);
	}
}

static void summarise_open(const struct vbd_connection *connection, const char *peer,
	struct vbd_explanation *explanation)
{
	const enum vbd_conn_state state = connection->conn->state;
	char how[128], attention[224] = "", words[STATE_WORDS_BYTES];

	if (state == VBD_CONN_ESTABLISHED)
		write_health(connection, how, sizeof(how));
	else
		(void)snprintf(
			how, sizeof(how), " and waits for %s", vbd_conn_state_waits_for(state));
	write_grave_findings(&explanation->verdicts, attention, sizeof(attention));
	(void)snprintf(explanation->summary, sizeof(explanation->summary),
		"The connection is %s%s%s%s.", state_text(state, words), peer, how, attention);
}

static void summarise(const struct vbd_connection *connection, struct vbd_explanation *explanation)
{
	const struct vbd_conn *conn = connection->conn;
	const char *host = explanation->facts.incident.peer;
	const char *cause =
		explanation->verdicts.cause_count ? explanation->verdicts.causes[0].text : NULL;
	/* The cause often names the peer itself. */
	bool named = cause && *host && strstr(cause, host);
	char peer[384] = "", words[STATE_WORDS_BYTES];

	if (!named)
		write_peer(connection, peer, sizeof(peer));
	if (conn->qp.reason != VBD_REASON_NONE)
		(void)snprintf(explanation->summary, sizeof(explanation->summary), "%s%s %s: %s.",
			named ? "It" : "The connection", peer,
			explanation->facts.open		 ? "is ending"
			: conn->state == VBD_CONN_FAILED ? "failed"
							 : "was closed",
			cause ? cause : vbd_reason_text(conn->qp.reason));
	else if (cause)
		(void)snprintf(explanation->summary, sizeof(explanation->summary),
			"The connection is %s%s, but %s.", state_text(conn->state, words), peer,
			cause);
	else
		summarise_open(connection, peer, explanation);
}

/* --- who may see it --------------------------------------------------------------------------- */

/* The role "read" may not see private data; the reason in a verbsd's rejection is none. */
static void hide_peer_text(enum vbd_role role, struct vbd_incident *incident)
{
	struct vbd_rejection rejection;

	if (role < VBD_ROLE_OPERATE && !vbd_rejection_read(incident->words, &rejection))
		incident->words[0] = '\0';
}

/* Hide the request but for its operation, which the connection's error names. */
static void hide_request(const struct vbd_conn *conn, struct vbd_incident *incident)
{
	incident->transfer = incident->remote_addr = incident->rkey = 0;
	incident->length_bytes = incident->done_bytes = 0;
	incident->window = incident->requests_left = 0;
	incident->op = conn->qp.first_error.at_ns ? conn->qp.first_error.op : -1;
}

static void hide_peers_request(struct vbd_facts *facts)
{
	struct vbd_report *report = &facts->peer_report;

	facts->judged = VBD_REPORT_MEMORY_UNJUDGED;
	facts->judged_over_bytes = 0;
	report->remote_addr = report->rkey = 0;
	if (report->op >= 0 && vbd_ops[report->op].needs_remote) {
		report->op = -1;
		report->length_bytes = 0;
	}
}

/* Hide requests of others: on a connection of the daemon itself both sides may have made some. */
static void hide_foreign_requests(
	const struct vbd_connection *connection, struct vbd_caller *reader, struct vbd_facts *facts)
{
	if (!vbd_caller_scope(reader))
		return;
	if (!vbd_owner_informs(reader, facts->incident.whose))
		hide_request(connection->conn, &facts->incident);
	if (!connection->object.owner)
		hide_peers_request(facts);
}

void vbd_explain_connection(const struct vbd_connection *connection, const struct vbd_look *look,
	struct vbd_caller *reader, enum vbd_role role, struct vbd_explanation *ret_explanation)
{
	vbd_explain_gather(connection, look, &ret_explanation->facts);
	hide_peer_text(role, &ret_explanation->facts.incident);
	hide_foreign_requests(connection, reader, &ret_explanation->facts);
	vbd_judge(&ret_explanation->facts, &ret_explanation->verdicts);
	ret_explanation->preceding = find_preceding(connection->conn);
	summarise(connection, ret_explanation);
}
