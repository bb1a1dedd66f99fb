/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/diagnose/clue_rows.h"

#include "base/clock.h"
#include "rdma/device/op.h"
#include "rdma/diagnose/facts.h"
#include "rdma/names/rejection.h"

#include <netdb.h>

bool vbd_facts_dead_peer_detect_ms(const struct vbd_facts *facts, uint64_t *ret_ms)
{
	return facts->qp.sends_known && facts->reliable && !facts->iwarp &&
	       vbd_dead_peer_ms(
		       facts->qp.ack_timeout, facts->qp.retry_count, facts->qp.soft_roce, ret_ms);
}

/* Most bytes of headers before the data in a RoCE v2 packet (iboe_get_mtu(), kernel 6.1). */
#define HEADER_BYTES 58

/* The path MTU where the interfaces have 1500, as they have if nobody changes them. */
#define USUAL_MTU_BYTES 1024

/* The CM repeats a connect request after about 6 s (cm_send_req(), kernel 6.1). It counts that only
 * when the request is over. */
#define REPEATED_MS 10000

/* With less than one gap in so many packets a path is good enough. */
#define MANY 200

/* A dead peer that is noticed after more than this is noticed too late. */
#define SLOW_MS 10000

#define RNR_LONG_NS (100 * VBD_NS_PER_MS)

/* A peer gives up a connection so long after its packets got lost, at most. */
#define LATELY_MS 300000

static bool is_text(const char *text, const char *other)
{
	return text && strcmp(text, other) == 0;
}

static const struct vbd_op_traits *traits_of(int op)
{
	static const struct vbd_op_traits none;

	return op >= 0 ? &vbd_ops[op] : &none;
}

static bool takes_receive(const struct vbd_incident *incident)
{
	return traits_of(incident->op)->sends || incident->op == VBD_OP_WRITE_IMM;
}

/* All connections share the counter, so only a request that waits for a receive reads it; a
 * heartbeat takes none. */
static bool is_without_receive(const struct vbd_incident *incident)
{
	bool waits = incident->outcome != VBD_OUTCOME_SILENT &&
		     incident->outcome != VBD_OUTCOME_PEER_LEFT;

	return incident->outcome == VBD_OUTCOME_RNR ||
	       (waits && takes_receive(incident) && incident->traces[VBD_TRACE_RNR_CAME]);
}

/* While a transfer goes on, a few lost packets do no harm. */
static bool runs_on(const struct vbd_incident *incident)
{
	return incident->outcome == VBD_OUTCOME_WELL && incident->transfer &&
	       incident->op != VBD_OP_RECV && incident->waited_ms;
}

static bool loses_packets(const struct vbd_incident *incident)
{
	uint64_t sent = incident->traces[VBD_TRACE_PACKETS_SENT];
	uint64_t gaps =
		incident->traces[VBD_TRACE_GAPS_SEEN] + incident->traces[VBD_TRACE_GAPS_TOLD];

	if (incident->outcome == VBD_OUTCOME_WELL)
		return runs_on(incident) && sent && gaps * MANY >= sent;
	return gaps;
}

static bool is_inbox_full(const struct vbd_facts *facts)
{
	return facts->inbox_capacity && facts->inbox_messages >= facts->inbox_capacity;
}

static bool is_srq_empty(const struct vbd_facts *facts)
{
	return facts->srq_id && !facts->srq_posted;
}

/* The peer left since it was told that no receive is posted here. All connections share the
 * counter; a peer for which requests of this side waited had another reason. */
static bool is_unserved(const struct vbd_facts *facts)
{
	const struct vbd_incident *incident = &facts->incident;

	return incident->outcome == VBD_OUTCOME_PEER_LEFT && incident->no_receive_left &&
	       incident->traces[VBD_TRACE_RNR_TOLD] && !facts->flushed_sends &&
	       !is_inbox_full(facts);
}

/* This side has found what was wrong with the request that the peer reports. */
static bool is_judged(const struct vbd_facts *facts)
{
	return facts->judged == VBD_REPORT_MEMORY_NO_SUCH_KEY ||
	       facts->judged == VBD_REPORT_MEMORY_PAST_END ||
	       facts->judged == VBD_REPORT_MEMORY_NO_ACCESS;
}

static bool is_port_down(const struct vbd_facts *facts)
{
	return facts->port_known && facts->port.state != IBV_PORT_ACTIVE;
}

/* A port that went down long before the peer left is not why the peer left. Without that, what is
 * broken still goes before what was. */
static bool is_port_fallen(const struct vbd_facts *facts)
{
	if (facts->incident.outcome == VBD_OUTCOME_PEER_LEFT)
		return is_port_down(facts) ||
		       (facts->port_fell && facts->port_fell_before_ms < LATELY_MS);
	return facts->port_fell && !is_port_down(facts) && !facts->device_removed &&
	       !(facts->qp.sgid_known && facts->sgid_gone);
}

/* The peer's address is one of this host, where no device has it. */
static bool is_own_address(const struct vbd_facts *facts)
{
	bool resolves = facts->incident.outcome == VBD_OUTCOME_RESOLVING ||
			facts->incident.outcome == VBD_OUTCOME_UNRESOLVED;

	return resolves && facts->netroute_known && !facts->netroute.route_errnum &&
	       facts->netroute.local && !is_port_down(facts);
}

/* The verbsd of the peer was started after the connection, which it does not know. */
static bool is_anew(const struct vbd_facts *facts)
{
	return facts->peer_replied && facts->peer_anew && !facts->peer_report.known;
}

/* rxe says LOC_QP_OP_ERR of a wrong local key, and of a message longer than the receive. */
static bool is_receive_too_short(const struct vbd_facts *facts)
{
	const struct vbd_error *error = &facts->incident.error;

	return error->source == VBD_SOURCE_WC && facts->incident.op == VBD_OP_RECV &&
	       (error->kind == IBV_WC_LOC_LEN_ERR ||
		       (facts->qp.soft_roce && error->kind == IBV_WC_LOC_QP_OP_ERR));
}

static bool has_waited_for_acks(const struct vbd_report *report)
{
	return report->reason == VBD_REASON_RETRY_EXCEEDED ||
	       report->reason == VBD_REASON_PEER_SILENT;
}

/* A side that waits in vain for the other one does not say why that is silent. */
static bool tells_cause(const struct vbd_facts *facts)
{
	const struct vbd_report *report = &facts->peer_report;
	bool waited =
		report->reason == VBD_REASON_TIMED_OUT || report->reason == VBD_REASON_UNREACHABLE;

	return report->failed && !has_waited_for_acks(report) &&
	       (!waited || facts->incident.outcome == VBD_OUTCOME_PEER_LEFT);
}

/* One side waited in vain for acknowledgements, and nothing had failed on the other. A report is of
 * before if the peer's host does not answer any more. */
static bool are_acks_lost(const struct vbd_facts *facts)
{
	const struct vbd_report *report = &facts->peer_report;

	if (!report->known || (facts->asked && !facts->answered))
		return false;
	if (facts->incident.outcome == VBD_OUTCOME_PEER_LEFT)
		return has_waited_for_acks(report);
	return !report->ended || report->reason == VBD_REASON_PEER_DISCONNECT;
}

/* The handshake of TCP failed if that says so, or if the kernel knows no way to the host. */
static bool is_tcp_open(const struct vbd_incident *incident)
{
	return incident->tcp_open && incident->error.source != VBD_SOURCE_ERRNO &&
	       (incident->error.source != VBD_SOURCE_CM_EVENT || incident->error.raw >= 0);
}

/* A packet of a longer message has the length of its sender's path MTU, and the device that gets it
 * expects its own (IBTA, 9.7.4.1.6). */
static bool is_mtu_other(const struct vbd_facts *facts)
{
	const struct vbd_report *report = &facts->peer_report;
	uint64_t least_bytes = report->path_mtu_bytes < facts->qp.path_mtu_bytes
				       ? report->path_mtu_bytes
				       : facts->qp.path_mtu_bytes;

	return report->known && least_bytes && report->path_mtu_bytes != facts->qp.path_mtu_bytes &&
	       (facts->incident.length_bytes > least_bytes || report->length_bytes > least_bytes);
}

static bool is_link_local(const uint8_t raw[16])
{
	return strcmp(vbd_gid_scope(raw), "link_local") == 0;
}

/* Divide first: the limit may be close to UINT64_MAX. */
static bool is_memlock_near(const struct vbd_facts *facts)
{
	return facts->memlock_known && facts->lock_limit_bytes != UINT64_MAX &&
	       facts->locked_bytes >= facts->lock_limit_bytes - facts->lock_limit_bytes / 10;
}

vbd_clue_set vbd_clues_find(const struct vbd_facts *facts)
{
	const struct vbd_incident *incident = &facts->incident;
	const struct vbd_error *error = &incident->error;
	const struct vbd_report *report = &facts->peer_report;
	const struct vbd_pv_netroute *netroute = &facts->netroute;
	const struct vbd_op_traits *op = traits_of(incident->op);
	const uint64_t *traces = incident->traces;
	bool routed = facts->netroute_known && !netroute->route_errnum && !netroute->local;
	const char *neighbour = routed ? netroute->neighbour : NULL;
	bool rejected =
		error->source == VBD_SOURCE_CM_EVENT && error->kind == RDMA_CM_EVENT_REJECTED;
	const char *type = facts->qp.sgid_known ? facts->qp.sgid.type : NULL;
	bool roce = type && strncmp(type, "roce", 4) == 0;
	bool local = is_link_local(facts->qp.sgid.raw);
	bool port_mtus = facts->port_known && !facts->iwarp;
	uint32_t port_mtu = port_mtus ? facts->port.active_mtu_bytes : 0;
	uint64_t patience_ms = 0;
	bool gives_up = vbd_facts_dead_peer_detect_ms(facts, &patience_ms);
	struct vbd_rejection rejection;

#define BIT(sym, condition, text) ((condition) ? VBD_CLUE_BIT(VBD_CLUE_##sym) : 0) |
	return VBD_CLUE_MAP(BIT) 0;
#undef BIT
}

const char *vbd_clue_text(enum vbd_clue clue)
{
	static const char *const texts[VBD_CLUE_COUNT] = {
#define CLUE_TEXT(sym, condition, text) [VBD_CLUE_##sym] = text,
		VBD_CLUE_MAP(CLUE_TEXT)
#undef CLUE_TEXT
	};

	return texts[clue];
}

static const struct {
	enum vbd_counter_set set;
	const char *name;
	const char *other;
} traces[] = {
#define TRACE(sym, set, name, other) [sym] = {set, name, other},
	VBD_TRACE_MAP(TRACE)
#undef TRACE
};

enum vbd_trace vbd_trace_of(enum vbd_counter_set set, const char *name)
{
	for (unsigned int i = 0; i < VBD_TRACE_COUNT; i++) {
		if (traces[i].set == set &&
			(strcmp(traces[i].name, name) == 0 || strcmp(traces[i].other, name) == 0))
			return (enum vbd_trace)i;
	}
	return VBD_TRACE_COUNT;
}
