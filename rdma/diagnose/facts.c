/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/diagnose/facts.h"

#include "base/clock.h"
#include "rdma/diagnose/words.h"

#include <infiniband/verbs.h>

#include <stdarg.h>

#define SLOW_MS	    10000
#define RNR_LONG_NS (100 * VBD_NS_PER_MS)

static void VBD_PRINTF(3, 4)
	found(struct vbd_findings *findings, enum vbd_finding_code code, const char *fmt, ...)
{
	struct vbd_finding *finding = &findings->items[findings->count++];
	va_list ap;

	finding->code = code;
	va_start(ap, fmt);
	(void)vsnprintf(finding->detail, sizeof(finding->detail), fmt, ap);
	va_end(ap);
}

static bool is_link_local(const uint8_t raw[16])
{
	return strcmp(vbd_gid_scope(raw), "link_local") == 0;
}

static bool is_roce(const struct vbd_facts *facts)
{
	return facts->sgid_known && strncmp(facts->sgid.type, "roce", 4) == 0;
}

/* --- device and port ------------------------------------------------------------------------- */

static void judge_device(const struct vbd_facts *facts, struct vbd_findings *findings)
{
	const struct vbd_port *port = &facts->port;
	char text[VBD_SPAN_TEXT_BYTES];

	if (facts->device_removed)
		found(findings, VBD_FINDING_DEVICE_REMOVED, "Device %s was removed.",
			facts->device);
	if (facts->port_known && port->state != IBV_PORT_ACTIVE)
		found(findings, VBD_FINDING_PORT_NOT_ACTIVE, "Port %u of %s is %s (%s).",
			port->port_num, facts->device, vbd_port_state_name(port->state),
			vbd_phys_state_name(port->phys_state));
	if (facts->port_fell)
		found(findings, VBD_FINDING_PORT_WENT_DOWN, "A port of %s went down %s %s.",
			facts->device,
			vbd_span_text(facts->port_fell_before_ms * VBD_NS_PER_MS, text),
			facts->open ? "ago" : "before the end");
}

/* --- addresses ------------------------------------------------------------------------------- */

static void judge_gid(const struct vbd_facts *facts, struct vbd_findings *findings)
{
	const struct vbd_gid *gid = &facts->sgid;
	bool local = facts->sgid_known && is_link_local(gid->raw);

	if (facts->sgid_known && facts->sgid_gone)
		found(findings, VBD_FINDING_GID_GONE,
			"GID index %u of %s no longer holds the connection's address.",
			gid->gid_index, facts->device);
	if (facts->failed_device)
		found(findings, VBD_FINDING_NO_GID, "Of the devices one can't be used: %s.",
			facts->failed_device->error.text);
	else if (facts->sgid_none)
		found(findings, VBD_FINDING_NO_GID,
			"No RDMA device has a GID for the source address of the packets.");
	if (!is_roce(facts))
		return;
	if (facts->dgid_known && local != is_link_local(facts->dgid))
		found(findings, VBD_FINDING_GID_SCOPES_DIFFER,
			"The GID here is %s, the peer's is %s.", gid->scope,
			vbd_gid_scope(facts->dgid));
	else if (local)
		found(findings, VBD_FINDING_GID_LINK_LOCAL,
			"The GID (index %u on %s) is link-local, so it works on this link only.",
			gid->gid_index, *gid->netdev ? gid->netdev : facts->device);
	if (strcmp(gid->type, "roce_v1") == 0)
		found(findings, VBD_FINDING_GID_ROCE_V1,
			"GID index %u is of type RoCE v1, which routers do not forward.",
			gid->gid_index);
}

/* A connection that has ended is not told what it could have had better. */
static bool is_over(const struct vbd_facts *facts)
{
	return !facts->open && facts->incident.outcome != VBD_OUTCOME_WELL;
}

static void judge_mtu(const struct vbd_facts *facts, struct vbd_findings *findings)
{
	const struct vbd_port *port = &facts->port;

	if (!facts->port_known || facts->iwarp)
		return;
	if (facts->path_mtu_bytes && facts->path_mtu_bytes < port->active_mtu_bytes &&
		!facts->mtu_asked)
		found(findings, VBD_FINDING_MTU_BELOW_PORT,
			"The path MTU is %u bytes; the port here carries %u.",
			facts->path_mtu_bytes, port->active_mtu_bytes);
	if (port->active_mtu_bytes && facts->path_mtu_bytes > port->active_mtu_bytes)
		found(findings, VBD_FINDING_MTU_ABOVE_PORT,
			"The path MTU is %u bytes; the port here carries %u.",
			facts->path_mtu_bytes, port->active_mtu_bytes);
	if (facts->open && facts->path_mtu_bytes && facts->path_mtu_bytes < facts->cm_mtu_bytes)
		found(findings, VBD_FINDING_MTU_LIMITED_HERE,
			"The path MTU is %u bytes here; the CM has told the peer %u.",
			facts->path_mtu_bytes, facts->cm_mtu_bytes);
	if (port->active_mtu_bytes < port->max_mtu_bytes && !is_over(facts))
		found(findings, VBD_FINDING_MTU_OF_PORT,
			"The port's MTU is %u bytes; the device allows up to %u.",
			port->active_mtu_bytes, port->max_mtu_bytes);
}

/* --- timers ---------------------------------------------------------------------------------- */

static void judge_dead_peer(const struct vbd_facts *facts, struct vbd_findings *findings)
{
	char each[VBD_SPAN_TEXT_BYTES];
	char all[VBD_SPAN_TEXT_BYTES];
	uint64_t ms;

	if (!vbd_facts_dead_peer_detect_ms(facts, &ms)) {
		found(findings, VBD_FINDING_DEAD_PEER_FOR_EVER,
			"A dead peer may never be noticed: ack_timeout is %u, retry_count is %u%s.",
			facts->ack_timeout, facts->retry_count,
			facts->ack_timeout ? ", which means for ever on Soft-RoCE" : "");
		return;
	}
	found(findings, ms > SLOW_MS ? VBD_FINDING_DEAD_PEER_SLOW : VBD_FINDING_DEAD_PEER,
		"While data is sent, a dead peer is noticed after %s at the latest: %s "
		"(ack_timeout "
		"%u) x %u tries (retry_count %u).",
		vbd_span_text(ms * VBD_NS_PER_MS, all),
		vbd_span_text(vbd_ack_timeout_ns(facts->ack_timeout), each), facts->ack_timeout,
		facts->retry_count + 1u, facts->retry_count);
}

static void judge_timers(const struct vbd_facts *facts, struct vbd_findings *findings)
{
	uint64_t rnr_ns = vbd_min_rnr_timer_ns(facts->min_rnr_timer);
	char text[VBD_SPAN_TEXT_BYTES];

	if (!facts->open || !facts->reliable)
		return;
	if (facts->iwarp) {
		found(findings, VBD_FINDING_DEAD_PEER_TCP,
			"%s is iWARP: TCP decides when a dead peer is noticed.", facts->device);
		return;
	}
	if (!facts->timers_known)
		return;
	judge_dead_peer(facts, findings);
	found(findings, rnr_ns > RNR_LONG_NS ? VBD_FINDING_RNR_TIMER_LONG : VBD_FINDING_RNR_TIMER,
		"While no receive is posted here, the peer waits %s before each retry "
		"(min_rnr_timer %u).",
		vbd_span_text(rnr_ns, text), facts->min_rnr_timer);
	if (facts->rnr_retry == 7)
		found(findings, VBD_FINDING_RNR_FOR_EVER,
			"A send waits without limit while the peer has no receive posted "
			"(rnr_retry 7).");
	else if (!facts->rnr_retry)
		found(findings, VBD_FINDING_RNR_NONE,
			"A send fails at once while the peer has no receive posted (rnr_retry 0).");
	if (!facts->retry_count)
		found(findings, VBD_FINDING_RETRY_NONE,
			"One lost packet ends the connection (retry_count 0).");
	if (facts->depth_known && facts->peer_reads > facts->responder_resources)
		found(findings, VBD_FINDING_PEER_READS_MORE,
			"The peer may have %u reads and atomics outstanding; this side answers %u.",
			facts->peer_reads, facts->responder_resources);
	if (facts->depth_known && !facts->initiator_depth)
		found(findings, VBD_FINDING_NO_READS,
			"Reads and atomics are not possible: initiator_depth is 0.");
}

/* --- the route ------------------------------------------------------------------------------- */

static void judge_neighbour(const struct vbd_facts *facts, struct vbd_findings *findings)
{
	const struct vbd_pv_netroute *netroute = &facts->netroute;
	const char *who = netroute->gateway ? "The router to the peer" : "The peer";

	if (!netroute->neighbour || netroute->local)
		return;
	if (strcmp(netroute->neighbour, "failed") == 0)
		found(findings, VBD_FINDING_NEIGHBOUR_FAILED,
			"%s does not answer on %s: the neighbour entry is failed.", who,
			netroute->netdev);
	else if (strcmp(netroute->neighbour, "incomplete") == 0)
		found(findings, VBD_FINDING_NEIGHBOUR_UNKNOWN,
			"%s has not answered on %s yet: the neighbour entry is incomplete.", who,
			netroute->netdev);
}

static void judge_gateway(const struct vbd_facts *facts, struct vbd_findings *findings)
{
	const struct vbd_pv_netroute *netroute = &facts->netroute;

	if (!netroute->gateway)
		return;
	if (is_roce(facts) &&
		(strcmp(facts->sgid.type, "roce_v1") == 0 || is_link_local(facts->sgid.raw)))
		found(findings, VBD_FINDING_GATEWAY_WITHOUT_IP,
			"The peer is behind a router, and routers forward neither RoCE v1 nor "
			"link-local addresses.");
	found(findings, VBD_FINDING_BEHIND_GATEWAY, "The peer is behind a router on %s.",
		netroute->netdev);
}

static void judge_netroute(const struct vbd_facts *facts, struct vbd_findings *findings)
{
	const struct vbd_pv_netroute *netroute = &facts->netroute;

	if (!facts->netroute_known)
		return;
	if (netroute->route_errnum) {
		found(findings, VBD_FINDING_NO_ROUTE, "There is no route to the peer (%s).",
			vbd_errno_name(netroute->route_errnum));
		return;
	}
	if (netroute->local && !is_over(facts))
		found(findings, VBD_FINDING_SAME_HOST, "The peer is on this host.");
	else if (!netroute->local && !facts->netroute_has_rdma)
		found(findings, VBD_FINDING_ROUTE_WITHOUT_RDMA,
			"The route to the peer leaves by %s, which has no RDMA device.",
			netroute->netdev);
	else if (!netroute->local && facts->sgid_known && *facts->sgid.netdev &&
		 strcmp(facts->sgid.netdev, netroute->netdev) != 0)
		found(findings, VBD_FINDING_ROUTE_MOVED,
			"The route to the peer leaves by %s; the GID belongs to %s.",
			netroute->netdev, facts->sgid.netdev);
	judge_neighbour(facts, findings);
	judge_gateway(facts, findings);
}

/* --- resources, and the state of the connection ---------------------------------------------- */

static void judge_limits(const struct vbd_facts *facts, struct vbd_findings *findings)
{
	/* Divide first: the limit may be close to UINT64_MAX. */
	if (facts->memlock_known && facts->lock_limit_bytes != UINT64_MAX &&
		facts->locked_bytes >= facts->lock_limit_bytes - facts->lock_limit_bytes / 10)
		found(findings, VBD_FINDING_MEMLOCK_NEAR,
			"%" PRIu64 " bytes are locked; the limit is %" PRIu64 ".",
			facts->locked_bytes, facts->lock_limit_bytes);
	if (facts->backlog && facts->waiting >= facts->backlog)
		found(findings, VBD_FINDING_BACKLOG_FULL,
			"%" PRIu64
			" requests wait for a decision; the listener's backlog is %" PRIu64 ".",
			facts->waiting, facts->backlog);
	if (facts->open && facts->inbox_capacity && facts->inbox_messages >= facts->inbox_capacity)
		found(findings, VBD_FINDING_INBOX_FULL,
			"All %" PRIu64 " receives hold messages, so the peer has to wait.",
			facts->inbox_capacity);
}

static void judge_progress(const struct vbd_facts *facts, struct vbd_findings *findings)
{
	char waited[VBD_SPAN_TEXT_BYTES];
	char allowed[VBD_SPAN_TEXT_BYTES];
	const struct vbd_incident *incident = &facts->incident;

	if (facts->deadline_ms && facts->waited_ms > facts->deadline_ms / 2)
		found(findings, VBD_FINDING_DEADLINE_NEAR,
			"The connection has waited %s of the %s until its deadline.",
			vbd_span_text(facts->waited_ms * VBD_NS_PER_MS, waited),
			vbd_span_text(facts->deadline_ms * VBD_NS_PER_MS, allowed));
	if (facts->lost_packets)
		found(findings, VBD_FINDING_PACKETS_LOST,
			"%" PRIu64 " packets of the peer were lost.", facts->lost_packets);
	if (facts->established && facts->reliable && !facts->iwarp && !facts->probed)
		found(findings, VBD_FINDING_IDLE_BLIND,
			"While nothing is sent, a dead peer is not noticed.");
	if (incident->outcome == VBD_OUTCOME_STUCK && incident->window &&
		incident->requests_left > incident->window)
		found(findings, VBD_FINDING_WINDOW_FULL,
			"Transfer %" PRIu64 " has %" PRIu64
			" work requests outstanding, as many as it may have, and %" PRIu64
			" more wait for them.",
			incident->transfer, incident->window,
			incident->requests_left - incident->window);
	if (facts->open && facts->polled_busy)
		found(findings, VBD_FINDING_POLLED_BUSY,
			"poll is busy: the worker, which %" PRIu64
			" such queue pairs keep awake, has polled empty queues for %s so far.",
			facts->busy_on_worker,
			vbd_span_text(facts->spun_ms * VBD_NS_PER_MS, waited));
	if (facts->hung_up && facts->flushed_sends)
		found(findings, VBD_FINDING_PEER_BUSY_HANG_UP,
			"The peer disconnected while %" PRIu64 " work requests were outstanding.",
			facts->flushed_sends);
	if (facts->flushed_sends || facts->flushed_receives)
		found(findings, VBD_FINDING_FLUSHED,
			"%" PRIu64 " sends and %" PRIu64
			" receives were flushed, as a consequence of the end.",
			facts->flushed_sends, facts->flushed_receives);
}

/* The rows are in the order of severity. */
static void sort(struct vbd_findings *findings)
{
	for (size_t i = 1; i < findings->count; i++) {
		struct vbd_finding moving = findings->items[i];
		size_t at = i;

		for (; at > 0 && findings->items[at - 1].code > moving.code; at--)
			findings->items[at] = findings->items[at - 1];
		findings->items[at] = moving;
	}
}

void vbd_facts_judge(const struct vbd_facts *facts, struct vbd_findings *ret_findings)
{
	ret_findings->count = 0;
	judge_device(facts, ret_findings);
	judge_gid(facts, ret_findings);
	judge_mtu(facts, ret_findings);
	judge_timers(facts, ret_findings);
	judge_netroute(facts, ret_findings);
	judge_limits(facts, ret_findings);
	judge_progress(facts, ret_findings);
	sort(ret_findings);
}
