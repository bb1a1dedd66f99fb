/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explanations as JSON: the schemas ConnectionExplanation and Reachability of
 * openapi.yaml.
 */
#include "api/connections/connections.h"
#include "api/core/common_json.h"
#include "api/http/archive.h"
#include "daemon/observe/explain.h"
#include "rdma/diagnose/why.h"

#include <ctype.h>

/* --- facts ----------------------------------------------------------------------------------- */

/* CM messages do not contain the type of the peer's GID. RoCE v1 and v2 can't communicate, so an
 * established connection has the same type at both ends. */
static void put_dgid(
	struct vbd_encoder *out, const char *name, const struct vbd_facts *facts, bool came_up)
{
	char text[VBD_GID_TEXT_BYTES];

	if (!vbd_begin_object_if(out, name, facts->qp.gid_known))
		return;
	vbd_put_text(out, "gid", vbd_gid_text(facts->qp.dgid, text));
	vbd_put_text(out, "type", came_up && facts->qp.sgid_known ? facts->qp.sgid.type : NULL);
	vbd_put_text(out, "scope", vbd_gid_scope(facts->qp.dgid));
	vbd_end(out);
}

static void put_device(struct vbd_encoder *out, const struct vbd_facts *facts)
{
	const struct vbd_port *port = facts->port_known ? &facts->port : NULL;

	vbd_put_reference(out, "device", facts->device_id, facts->device);
	vbd_put_text(out, "device_state",
		!*facts->device		? NULL
		: facts->device_removed ? "removed"
					: "present");
	vbd_put_u64_or_null(out, "port_num", port, port ? port->port_num : 0);
	vbd_put_text(out, "port_state", port ? vbd_port_state_name(port->state) : NULL);
	vbd_put_text(out, "link_layer", port ? port->link_layer : NULL);
	vbd_put_u64_or_null(out, "port_mtu_bytes", port, port ? port->active_mtu_bytes : 0);
}

static void put_timers(struct vbd_encoder *out, const struct vbd_facts *facts)
{
	const bool known = facts->qp.sends_known && facts->reliable;
	uint64_t ms = 0;
	bool ends = vbd_facts_dead_peer_detect_ms(facts, &ms);

	vbd_put_u64_or_null(out, "ack_timeout_ns", known && facts->qp.ack_timeout,
		vbd_ack_timeout_ns(facts->qp.ack_timeout));
	vbd_put_u64_or_null(out, "retry_count", known, facts->qp.retry_count);
	vbd_put_u64_or_null(out, "dead_peer_detect_ms", ends, ms);
	vbd_put_u64_or_null(
		out, "min_rnr_timer_ns", known, vbd_min_rnr_timer_ns(facts->qp.min_rnr_timer));
	vbd_put_u64_or_null(out, "rnr_retry", known, facts->qp.rnr_retry);
}

static void put_backlog(struct vbd_encoder *out, const char *name, const struct vbd_facts *facts)
{
	if (!vbd_begin_object_if(out, name, facts->backlog))
		return;
	vbd_put_u64(out, "backlog", facts->backlog);
	vbd_put_u64(out, "waiting", facts->waiting);
	vbd_end(out);
}

static void put_memlock(struct vbd_encoder *out, const char *name, const struct vbd_facts *facts)
{
	vbd_begin_object(out, name);
	vbd_put_u64(out, "locked_bytes", facts->locked_bytes);
	vbd_put_u64_or_null(
		out, "limit_bytes", facts->lock_limit_bytes != UINT64_MAX, facts->lock_limit_bytes);
	vbd_end(out);
}

static void put_route(struct vbd_encoder *out, const char *name, bool routed,
	const struct vbd_pv_netroute *netroute)
{
	if (!vbd_begin_object_if(out, name, routed))
		return;
	vbd_put_text_or_null(out, "netdev", netroute->netdev);
	vbd_put_bool(out, "local", netroute->local);
	vbd_put_address(out, "src", &netroute->src);
	vbd_put_bool(out, "gateway", netroute->gateway);
	vbd_put_address(out, "next_hop", &netroute->next);
	vbd_put_u64_or_null(out, "mtu_bytes", netroute->mtu_bytes != 0, netroute->mtu_bytes);
	vbd_end(out);
}

static void put_neighbour(struct vbd_encoder *out, const char *name, bool routed,
	const struct vbd_pv_netroute *netroute)
{
	char text[sizeof(netroute->hwaddr) * 3 + 1] = "";

	if (!vbd_begin_object_if(out, name, routed && netroute->neighbour))
		return;
	for (size_t i = 0; i < netroute->hwaddr_bytes; i++)
		(void)snprintf(text + i * 3, 4, i + 1 < netroute->hwaddr_bytes ? "%02x:" : "%02x",
			netroute->hwaddr[i]);
	vbd_put_address(out, "addr", &netroute->next);
	vbd_put_text(out, "state", netroute->neighbour);
	vbd_put_text_or_null(out, "lladdr", text);
	vbd_end(out);
}

static void put_facts(
	struct vbd_encoder *out, const char *name, const struct vbd_facts *facts, bool came_up)
{
	bool routed = facts->netroute_known && !facts->netroute.route_errnum;

	vbd_begin_object(out, name);
	put_device(out, facts);
	if (facts->qp.sgid_known)
		vbd_put_gid(out, "sgid", &facts->qp.sgid);
	else
		vbd_put_null(out, "sgid");
	put_dgid(out, "dgid", facts, came_up);
	vbd_put_u64_or_null(
		out, "path_mtu_bytes", facts->qp.path_mtu_bytes != 0, facts->qp.path_mtu_bytes);
	put_timers(out, facts);
	put_backlog(out, "listener", facts);
	put_memlock(out, "memlock", facts);
	put_route(out, "route", routed, &facts->netroute);
	put_neighbour(out, "neighbour", routed, &facts->netroute);
	vbd_end(out);
}

/* --- findings and hints ---------------------------------------------------------------------- */

static void put_findings(
	struct vbd_encoder *out, const char *name, const struct vbd_verdicts *verdicts)
{
	vbd_begin_array(out, name);
	for (size_t i = 0; i < verdicts->finding_count; i++) {
		const struct vbd_verdict_row *row = verdicts->findings[i].row;

		vbd_begin_object(out, NULL);
		vbd_put_text(out, "code", row->name);
		vbd_put_text(out, "severity", vbd_finding_severity_name(row->severity));
		vbd_put_text(out, "detail", verdicts->findings[i].text);
		vbd_put_text(out, "hint", row->advice);
		vbd_end(out);
	}
	vbd_end(out);
}

/* The cause that is closest to the first error comes first. */
static void put_causes(struct vbd_encoder *out, const char *name, const struct vbd_conn *conn)
{
	const struct vbd_first_error *first = &conn->qp.first_error;
	const int status = (int)vbd_reason_status(conn->qp.reason);
	struct vbd_why why;

	vbd_begin_array(out, name);
	if (first->at_ns && vbd_why_find_error(&first->error, &why))
		vbd_put_glossary_why(out, NULL, &why);
	if (vbd_why_find(VBD_WHY_PROBLEM, status, &why))
		vbd_put_glossary_why(out, NULL, &why);
	vbd_end(out);
}

static void put_evidence(struct vbd_encoder *out, const char *name,
	const struct vbd_verdict *diagnosis, const struct vbd_facts *facts)
{
	char text[sizeof(diagnosis->text)];

	vbd_begin_array(out, name);
	for (unsigned int i = 0; diagnosis && i < VBD_CLUE_COUNT; i++) {
		const char *clue = vbd_clue_text((enum vbd_clue)i);

		if (diagnosis->evidence & VBD_CLUE_BIT(i) && *clue)
			vbd_put_sentence(
				out, NULL, vbd_words_fill(clue, facts, text, sizeof(text)));
	}
	vbd_end(out);
}

/* The best supported cause with its evidence, then those that are possible besides. */
static void put_diagnoses(struct vbd_encoder *out, const struct vbd_explanation *explanation)
{
	const struct vbd_verdicts *verdicts = &explanation->verdicts;
	const struct vbd_verdict *first = verdicts->cause_count ? verdicts->causes : NULL;

	if (vbd_begin_object_if(out, "cause", first)) {
		vbd_put_cause(out, first);
		vbd_end(out);
	}
	put_evidence(out, "evidence", first, &explanation->facts);
	vbd_begin_array(out, "possible_causes");
	for (size_t i = 1; i < verdicts->cause_count; i++) {
		vbd_begin_object(out, NULL);
		vbd_put_cause(out, &verdicts->causes[i]);
		put_evidence(out, "evidence", &verdicts->causes[i], &explanation->facts);
		vbd_end(out);
	}
	vbd_end(out);
}

/* Address and key are for callers who may see those of buffers. */
static void put_request(struct vbd_encoder *out, const char *name,
	const struct vbd_incident *incident, enum vbd_role role)
{
	bool seen = role >= VBD_ROLE_OPERATE && incident->remote_addr;

	if (!vbd_begin_object_if(out, name,
		    incident->outcome != VBD_OUTCOME_WELL && incident->transfer &&
			    incident->op >= 0))
		return;
	vbd_put_text(out, "op", vbd_op_name((enum vbd_op)incident->op));
	vbd_put_u64(out, "transfer", incident->transfer);
	vbd_put_u64(out, "length_bytes", incident->length_bytes);
	vbd_put_u64(out, "bytes_done", incident->done_bytes);
	vbd_put_hex_or_null(out, "remote_addr", seen, incident->remote_addr, 1);
	vbd_put_hex_or_null(out, "rkey", seen, incident->rkey, 8);
	vbd_end(out);
}

static void put_peer_report(struct vbd_encoder *out, const char *name,
	const struct vbd_facts *facts, enum vbd_role role)
{
	const struct vbd_report *report = &facts->peer_report;
	bool seen = role >= VBD_ROLE_OPERATE && report->remote_addr;

	if (!vbd_begin_object_if(out, name, report->known))
		return;
	vbd_put_text(out, "state", !report->ended ? "open" : report->failed ? "failed" : "closed");
	vbd_put_text(out, "end_code",
		report->reason == VBD_REASON_NONE ? NULL : vbd_reason_name(report->reason));
	vbd_put_bool(out, "inbox_full", report->inbox_full);
	vbd_put_text(out, "op", report->op < 0 ? NULL : vbd_op_name((enum vbd_op)report->op));
	vbd_put_u64(out, "length_bytes", report->length_bytes);
	vbd_put_hex_or_null(out, "remote_addr", seen, report->remote_addr, 1);
	vbd_put_hex_or_null(out, "rkey", seen, report->rkey, 8);
	vbd_put_u64(out, "recv_size_bytes", report->recv_size_bytes);
	vbd_put_u64_or_null(
		out, "path_mtu_bytes", report->path_mtu_bytes != 0, report->path_mtu_bytes);
	vbd_put_bool(out, "refused", report->refused);
	vbd_put_text(out, "memory_here", vbd_report_memory_name(facts->judged));
	vbd_end(out);
}

/* Is the hint another one than those before it, and more than "Nothing to do"? */
static bool is_new_hint(const char *const *hints, size_t i)
{
	for (size_t k = 0; k < i; k++) {
		if (strcmp(hints[k], hints[i]) == 0)
			return false;
	}
	return strncmp(hints[i], "Nothing", 7) != 0;
}

/* Put the advice of the causes, the best supported first. Without a cause put that of the findings,
 * which are else only the evidence of the causes. */
static void put_hints(
	struct vbd_encoder *out, const char *name, const struct vbd_explanation *explanation)
{
	const struct vbd_verdicts *verdicts = &explanation->verdicts;
	const char *hints[VBD_CAUSES_MAX + VBD_FINDING_COUNT];
	size_t count = 0;

	for (size_t i = 0; i < verdicts->cause_count; i++)
		hints[count++] = verdicts->causes[i].advice;
	for (size_t i = 0; i < verdicts->finding_count && !verdicts->cause_count; i++) {
		const struct vbd_verdict_row *row = verdicts->findings[i].row;

		if (row->severity != VBD_FINDING_IS_INFO)
			hints[count++] = row->advice;
	}
	vbd_begin_array(out, name);
	for (size_t i = 0; i < count; i++) {
		if (is_new_hint(hints, i))
			vbd_put_text(out, NULL, hints[i]);
	}
	vbd_end(out);
}

static void put_followed_by(
	struct vbd_encoder *out, const char *name, uint64_t errors, const struct vbd_facts *facts)
{
	vbd_begin_object(out, name);
	vbd_put_u64(out, "flushed", facts->flushed_sends + facts->flushed_receives);
	vbd_put_u64(out, "flushed_sends", facts->flushed_sends);
	vbd_put_u64(out, "flushed_receives", facts->flushed_receives);
	vbd_put_u64(out, "errors", errors);
	vbd_end(out);
}

void vbd_put_explanation(struct vbd_encoder *out, const struct vbd_connection *connection,
	const struct vbd_explanation *explanation, enum vbd_role role)
{
	const struct vbd_conn *conn = connection->conn;

	vbd_put_ref(out, "connection", connection->object.registry, connection->object.id);
	vbd_put_text(out, "state", vbd_conn_state_name(conn->state));
	vbd_put_text(out, "summary", explanation->summary);
	put_diagnoses(out, explanation);
	put_request(out, "request", &explanation->facts.incident, role);
	put_peer_report(out, "peer_report", &explanation->facts, role);
	put_causes(out, "causes", conn);
	put_hints(out, "hints", explanation);
	put_findings(out, "findings", &explanation->verdicts);
	put_facts(out, "facts", &explanation->facts, conn->established_ns != 0);
	vbd_put_end(out, &connection->object, &conn->qp);
	if (explanation->preceding)
		vbd_put_timeline_entry(
			out, "preceded_by", explanation->preceding, conn->created_ns);
	else
		vbd_put_null(out, "preceded_by");
	put_followed_by(out, "followed_by", conn->qp.errors_after_first, &explanation->facts);
}

void vbd_put_reachability(struct vbd_encoder *out, const char *dst_addr, uint64_t dst_port,
	const struct vbd_destination *destination, const struct vbd_explanation *explanation)
{
	vbd_put_text(out, "dst_addr", dst_addr);
	vbd_put_u64_or_null(out, "dst_port", dst_port != 0, dst_port);
	vbd_put_address(out, "src_addr", &destination->src);
	vbd_put_reference(out, "device", destination->device_id, destination->device);
	vbd_put_address(out, "addr", &destination->addr);
	vbd_put_bool(out, "ready", !vbd_verdicts_bad(&explanation->verdicts));
	vbd_put_text(out, "summary", explanation->summary);
	put_hints(out, "hints", explanation);
	put_findings(out, "findings", &explanation->verdicts);
	put_facts(out, "facts", &explanation->facts, false);
}

/* --- of an earlier run ----------------------------------------------------------------------- */

void vbd_put_past_explanation(struct vbd_encoder *out, const void *item)
{
	const struct vbd_connection *connection = item;
	struct vbd_caller *owner = connection->object.owner;
	struct vbd_caller anybody = {.role = VBD_ROLE_OPERATE}; /* sees it without an owner */
	struct vbd_explanation explanation;

	if (!connection->object.ended || vbd_reason_clean(connection->conn->qp.reason))
		return;
	vbd_explain_connection(
		connection, NULL, owner ? owner : &anybody, VBD_ROLE_READ, &explanation);
	vbd_begin_object(out, "explanation");
	vbd_put_explanation(out, connection, &explanation, VBD_ROLE_READ);
	vbd_end(out);
}

/* A text of the error with which the connection ended; NULL if that was none. */
static const char *past_error_text(const struct vbd_archived *archived, const char *name)
{
	return json_string_value(json_object_get(json_object_get(archived->body, "error"), name));
}

/* The error of the end, or what its code means; "" if that is the code of a newer verbsd. */
static const char *past_end_text(const struct vbd_archived *archived)
{
	const char *detail = past_error_text(archived, "detail");

	for (int i = VBD_REASON_NONE + 1; i < VBD_REASON_COUNT && !(detail && *detail); i++) {
		if (strcmp(vbd_reason_name((enum vbd_reason)i), archived->record->end_code) == 0)
			detail = vbd_reason_text((enum vbd_reason)i);
	}
	return detail ? detail : "";
}

/* "It failed: the daemon ended before the object did." */
static void put_past_summary(
	struct vbd_encoder *out, const char *name, const struct vbd_archived *archived)
{
	const char *end = past_end_text(archived);
	bool failed = strcmp(archived->record->state, "failed") == 0;
	const char *became = failed ? "It failed" : "It was closed";
	char text[320];

	if (*end)
		(void)snprintf(text, sizeof(text), "%s: %c%.240s.", became,
			tolower((unsigned char)*end), end + 1);
	else
		(void)snprintf(text, sizeof(text), "%s.", became);
	vbd_put_text(out, name, text);
}

/* Put the end of a connection whose row has no explanation: it ended well, or with its run. */
static void put_past_end(struct vbd_encoder *out, const struct vbd_archived *archived)
{
	static const char *const unknown[] = {
		"cause", "request", "peer_report", "facts", "preceded_by"};
	static const char *const none[] = {"evidence", "possible_causes", "causes", "findings"};
	const struct vbd_record *record = archived->record;
	const char *hint = past_error_text(archived, "hint");

	vbd_begin_object(out, "connection");
	vbd_put_u64(out, "id", record->object.id);
	vbd_put_text_or_null(out, "name", record->object.name);
	vbd_end(out);
	vbd_put_json(out, "state", json_object_get(archived->body, "state"));
	put_past_summary(out, "summary", archived);
	for (size_t i = 0; i < VBD_ARRAY_LEN(unknown); i++)
		vbd_put_null(out, unknown[i]);
	for (size_t i = 0; i < VBD_ARRAY_LEN(none); i++) {
		vbd_begin_array(out, none[i]);
		vbd_end(out);
	}
	vbd_begin_array(out, "hints");
	if (hint && *hint)
		vbd_put_text(out, NULL, hint);
	vbd_end(out);
	vbd_put_json(out, "end_code", json_object_get(archived->body, "end_code"));
	vbd_put_json(out, "error", json_object_get(archived->body, "error"));
	put_followed_by(out, "followed_by", 0, &(struct vbd_facts){0});
	vbd_put_text(out, "server_id", record->server_id);
}

void vbd_explain_record(struct vbd_request *req, const struct vbd_record *record)
{
	struct vbd_archived archived;
	struct vbd_encoder out;

	if (!vbd_archived_open(&archived, record)) {
		vbd_record_unreadable(req, record);
		return;
	}
	out = vbd_encode_begin();
	if (archived.explanation)
		vbd_put_json_members(&out, archived.explanation);
	else
		put_past_end(&out, &archived);
	vbd_archived_close(&archived);
	vbd_reply_json(req, 200, &out);
}

void vbd_put_timeline_entry(struct vbd_encoder *out, const char *name,
	const struct vbd_timeline_entry *entry, uint64_t start_ns)
{
	vbd_begin_object(out, name);
	vbd_put_time(out, "at", entry->at_ns);
	vbd_put_i64(out, "since_start_ns", (int64_t)(entry->at_ns - start_ns));
	vbd_put_text(out, "kind", vbd_timeline_kind_name(entry->kind));
	vbd_put_text(out, "what", entry->what);
	vbd_put_text(out, "from", entry->from);
	vbd_put_text(out, "to", entry->to);
	vbd_put_text_or_null(out, "detail", entry->detail);
	vbd_end(out);
}
