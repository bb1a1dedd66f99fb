/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explanations as JSON: the schemas ConnectionExplanation and Reachability of
 * openapi.yaml.
 */
#include "api/json/encode.h"
#include "api/resources/common_json.h"
#include "api/resources/connections.h"
#include "api/resources/devices.h"
#include "api/resources/explain.h"
#include "api/resources/glossary.h"
#include "daemon/observe/explain.h"
#include "rdma/names/names.h"

#include <stdio.h>
#include <string.h>

/* --- facts ----------------------------------------------------------------------------------- */

/* CM messages do not contain the type of the peer's GID. RoCE v1 and v2 can't communicate, so an
 * established connection has the same type at both ends. */
static json_t *encode_dgid(const struct vbd_facts *facts, bool came_up)
{
	struct vbd_encoder out = vbd_encode_begin();
	char text[VBD_GID_TEXT_BYTES];

	vbd_put_text(&out, "gid", vbd_gid_text(facts->dgid, text));
	vbd_put_text(&out, "type", came_up && facts->sgid_known ? facts->sgid.type : NULL);
	vbd_put_text(&out, "scope", vbd_gid_scope(facts->dgid));
	return vbd_encode_end(&out);
}

static void put_device(struct vbd_encoder *out, const struct vbd_facts *facts)
{
	const struct vbd_port *port = facts->port_known ? &facts->port : NULL;

	vbd_put_text_or_null(out, "device", facts->device);
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
	const bool known = facts->timers_known && facts->reliable;
	uint64_t ms = 0;
	bool ends = vbd_facts_dead_peer_detect_ms(facts, &ms);

	vbd_put_u64_or_null(out, "ack_timeout_ns", known && facts->ack_timeout,
		vbd_ack_timeout_ns(facts->ack_timeout));
	vbd_put_u64_or_null(out, "retry_count", known, facts->retry_count);
	vbd_put_u64_or_null(out, "dead_peer_detect_ms", ends, ms);
	vbd_put_u64_or_null(
		out, "min_rnr_timer_ns", known, vbd_min_rnr_timer_ns(facts->min_rnr_timer));
	vbd_put_u64_or_null(out, "rnr_retry", known, facts->rnr_retry);
}

static json_t *encode_backlog(const struct vbd_facts *facts)
{
	struct vbd_encoder out;

	if (!facts->backlog)
		return json_null();
	out = vbd_encode_begin();
	vbd_put_u64(&out, "backlog", facts->backlog);
	vbd_put_u64(&out, "waiting", facts->waiting);
	return vbd_encode_end(&out);
}

static json_t *encode_memlock(const struct vbd_facts *facts)
{
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_u64(&out, "locked_bytes", facts->locked_bytes);
	vbd_put_u64_or_null(&out, "limit_bytes", facts->lock_limit_bytes != UINT64_MAX,
		facts->lock_limit_bytes);
	return vbd_encode_end(&out);
}

static json_t *encode_route(const struct vbd_pv_netroute *netroute)
{
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_text_or_null(&out, "netdev", netroute->netdev);
	vbd_put(&out, "local", json_boolean(netroute->local));
	vbd_put_address(&out, "src", &netroute->src);
	vbd_put(&out, "gateway", json_boolean(netroute->gateway));
	vbd_put_address(&out, "next_hop", &netroute->next);
	vbd_put_u64_or_null(&out, "mtu_bytes", netroute->mtu_bytes != 0, netroute->mtu_bytes);
	return vbd_encode_end(&out);
}

static json_t *encode_neighbour(const struct vbd_pv_netroute *netroute)
{
	struct vbd_encoder out = vbd_encode_begin();
	char text[sizeof(netroute->hwaddr) * 3 + 1] = "";

	for (size_t i = 0; i < netroute->hwaddr_bytes; i++)
		(void)snprintf(text + i * 3, 4, i + 1 < netroute->hwaddr_bytes ? "%02x:" : "%02x",
			netroute->hwaddr[i]);
	vbd_put_address(&out, "addr", &netroute->next);
	vbd_put_text(&out, "state", netroute->neighbour);
	vbd_put_text_or_null(&out, "lladdr", text);
	return vbd_encode_end(&out);
}

static void put_netroute(struct vbd_encoder *out, const struct vbd_facts *facts)
{
	const struct vbd_pv_netroute *netroute = &facts->netroute;
	bool routed = facts->netroute_known && !netroute->route_errnum;

	vbd_put(out, "route", routed ? encode_route(netroute) : json_null());
	vbd_put(out, "neighbour",
		routed && netroute->neighbour ? encode_neighbour(netroute) : json_null());
}

static json_t *encode_facts(const struct vbd_facts *facts, bool came_up)
{
	struct vbd_encoder out = vbd_encode_begin();

	put_device(&out, facts);
	vbd_put(&out, "sgid", facts->sgid_known ? vbd_encode_gid(&facts->sgid) : json_null());
	vbd_put(&out, "dgid", facts->dgid_known ? encode_dgid(facts, came_up) : json_null());
	vbd_put_u64_or_null(
		&out, "path_mtu_bytes", facts->path_mtu_bytes != 0, facts->path_mtu_bytes);
	put_timers(&out, facts);
	vbd_put(&out, "listener", encode_backlog(facts));
	vbd_put(&out, "memlock", encode_memlock(facts));
	put_netroute(&out, facts);
	return vbd_encode_end(&out);
}

/* --- findings and hints ---------------------------------------------------------------------- */

static json_t *encode_finding(const struct vbd_finding *finding)
{
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_text(&out, "code", vbd_finding_name(finding->code));
	vbd_put_text(
		&out, "severity", vbd_finding_severity_name(vbd_finding_severity(finding->code)));
	vbd_put_text(&out, "detail", finding->detail);
	vbd_put_text(&out, "hint", vbd_finding_hint(finding->code));
	return vbd_encode_end(&out);
}

static json_t *encode_findings(const struct vbd_findings *findings)
{
	json_t *list = json_array();

	for (size_t i = 0; i < findings->count; i++) {
		if (json_array_append_new(list, encode_finding(&findings->items[i])) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *encode_causes(const struct vbd_explanation *explanation)
{
	json_t *list = json_array();

	for (size_t i = 0; i < explanation->cause_count; i++) {
		if (json_array_append_new(list, vbd_encode_glossary_why(&explanation->causes[i])) <
			0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

/* Add a hint that is new; skip "Nothing to do". */
static bool add_hint(json_t *list, const char *hint)
{
	const json_t *each;
	size_t i;

	if (strncmp(hint, "Nothing", 7) == 0)
		return true;
	json_array_foreach(list, i, each)
	{
		if (strcmp(json_string_value(each), hint) == 0)
			return true;
	}
	return json_array_append_new(list, json_string(hint)) == 0;
}

/* Hints for the error and its causes, then for findings. @first: may be NULL or have no time. */
static json_t *encode_hints(
	const struct vbd_explanation *explanation, const struct vbd_first_error *first)
{
	const struct vbd_findings *findings = &explanation->findings;
	json_t *list = json_array();
	bool fine = list != NULL;

	if (fine && first && first->at_ns)
		fine = add_hint(list, vbd_why_hint(&first->error));
	for (size_t i = 0; fine && i < explanation->cause_count; i++)
		fine = add_hint(list, explanation->causes[i].hint);
	for (size_t i = 0; fine && i < findings->count; i++) {
		enum vbd_finding_code code = findings->items[i].code;

		if (vbd_finding_severity(code) != VBD_FINDING_IS_INFO)
			fine = add_hint(list, vbd_finding_hint(code));
	}
	if (fine)
		return list;
	json_decref(list);
	return NULL;
}

static json_t *encode_followed_by(const struct vbd_conn *conn, const struct vbd_facts *facts)
{
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_u64(&out, "flushed", facts->flushed_sends + facts->flushed_receives);
	vbd_put_u64(&out, "flushed_sends", facts->flushed_sends);
	vbd_put_u64(&out, "flushed_receives", facts->flushed_receives);
	vbd_put_u64(&out, "errors", conn->qp.errors_after_first);
	return vbd_encode_end(&out);
}

json_t *vbd_encode_explanation(
	const struct vbd_connection *connection, const struct vbd_explanation *explanation)
{
	const struct vbd_conn *conn = connection->conn;
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_ref(&out, "connection", connection->object.registry, connection->object.id);
	vbd_put_text(&out, "state", vbd_conn_state_name(conn->state));
	vbd_put_text(&out, "summary", explanation->summary);
	vbd_put(&out, "causes", encode_causes(explanation));
	vbd_put(&out, "hints", encode_hints(explanation, &conn->qp.first_error));
	vbd_put(&out, "findings", encode_findings(&explanation->findings));
	vbd_put(&out, "facts", encode_facts(&explanation->facts, conn->established_ns != 0));
	vbd_put_end(&out, &conn->qp, connection->object.ended);
	vbd_put(&out, "preceded_by",
		explanation->preceding
			? vbd_encode_timeline_entry(explanation->preceding, conn->created_ns)
			: json_null());
	vbd_put(&out, "followed_by", encode_followed_by(conn, &explanation->facts));
	return vbd_encode_end(&out);
}

json_t *vbd_encode_reachability(const char *dst_addr, uint64_t dst_port,
	const struct vbd_destination *destination, const struct vbd_explanation *explanation)
{
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_text(&out, "dst_addr", dst_addr);
	vbd_put_u64_or_null(&out, "dst_port", dst_port != 0, dst_port);
	vbd_put_address(&out, "src_addr", &destination->src);
	vbd_put_text_or_null(&out, "device", destination->device);
	vbd_put_address(&out, "addr", &destination->addr);
	vbd_put(&out, "ready", json_boolean(!vbd_findings_bad(&explanation->findings)));
	vbd_put_text(&out, "summary", explanation->summary);
	vbd_put(&out, "hints", encode_hints(explanation, NULL));
	vbd_put(&out, "findings", encode_findings(&explanation->findings));
	vbd_put(&out, "facts", encode_facts(&explanation->facts, false));
	return vbd_encode_end(&out);
}
