/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/diagnose/clue_rows.h"

#include "base/clock.h"
#include "rdma/device/op.h"
#include "rdma/diagnose/facts.h"
#include "rdma/names/rejection.h"

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <netdb.h>

/* Most bytes of headers before the data in a RoCE v2 packet (iboe_get_mtu(), kernel 6.1). */
#define HEADER_BYTES 58

/* The path MTU where the interfaces have 1500, as they have if nobody changes them. */
#define USUAL_MTU_BYTES 1024

/* The CM repeats a connect request after about 6 s (cm_send_req(), kernel 6.1). It counts that only
 * when the request is over. */
#define REPEATED_MS 10000

/* With less than one gap in so many packets a path is good enough. */
#define MANY 200

/* A peer gives up a connection so long after its packets got lost, at most. */
#define LATELY_MS 300000

/* Reject reasons of the kernel's rdma/ib_cm.h. */
enum {
	REJ_INVALID_SERVICE_ID = 8,
	REJ_CONSUMER_DEFINED = 28,
};

struct clues {
	vbd_clue_set bits;
};

static void note(struct clues *clues, enum vbd_clue clue, bool seen)
{
	if (seen)
		clues->bits |= VBD_CLUE_BIT(clue);
}

static void look_at_device(const struct vbd_facts *facts, struct clues *clues)
{
	note(clues, VBD_CLUE_FAULT, facts->incident.fault != NULL);
	note(clues, VBD_CLUE_DEVICE_GONE,
		facts->device_removed || facts->incident.outcome == VBD_OUTCOME_DEVICE_LOST);
	note(clues, VBD_CLUE_PORT_DOWN, facts->port_known && facts->port.state != IBV_PORT_ACTIVE);
	note(clues, VBD_CLUE_PORT_FELL,
		facts->port_fell && (facts->incident.outcome != VBD_OUTCOME_PEER_LEFT ||
					    facts->port_fell_before_ms < LATELY_MS));
	note(clues, VBD_CLUE_ADDRESS_GONE, facts->sgid_known && facts->sgid_gone);
	note(clues, VBD_CLUE_IWARP, facts->iwarp);
	note(clues, VBD_CLUE_CM_SILENT, facts->cm_silent);
	note(clues, VBD_CLUE_SRQ_EMPTY, facts->srq_id && !facts->srq_posted);
	note(clues, VBD_CLUE_INBOX_FULL,
		facts->inbox_capacity && facts->inbox_messages >= facts->inbox_capacity);
}

static void look_at_route(const struct vbd_facts *facts, struct clues *clues)
{
	const struct vbd_pv_netroute *netroute = &facts->netroute;
	bool routed = facts->netroute_known && !netroute->route_errnum && !netroute->local;
	const char *neighbour = routed ? netroute->neighbour : NULL;

	note(clues, VBD_CLUE_NO_ROUTE, facts->netroute_known && netroute->route_errnum);
	note(clues, VBD_CLUE_LOCAL,
		facts->netroute_known && !netroute->route_errnum && netroute->local);
	note(clues, VBD_CLUE_ROUTE_WITHOUT_RDMA, routed && !facts->netroute_has_rdma);
	note(clues, VBD_CLUE_ROUTE_MOVED,
		routed && facts->netroute_has_rdma && facts->sgid_known && *facts->sgid.netdev &&
			strcmp(facts->sgid.netdev, netroute->netdev) != 0);
	note(clues, VBD_CLUE_GATEWAY, routed && netroute->gateway);
	note(clues, VBD_CLUE_NEIGHBOUR_SILENT,
		neighbour &&
			(strcmp(neighbour, "failed") == 0 || strcmp(neighbour, "incomplete") == 0));
	note(clues, VBD_CLUE_NEIGHBOUR_KNOWN, neighbour && netroute->hwaddr_bytes);
	note(clues, VBD_CLUE_NEIGHBOUR_BY_HAND,
		neighbour && netroute->hwaddr_bytes && strcmp(neighbour, "permanent") == 0);
	note(clues, VBD_CLUE_OTHER_DEVICE,
		routed && facts->netroute_has_rdma && *facts->device && !facts->device_removed &&
			!facts->netroute_by_device);
	note(clues, VBD_CLUE_MTU_TOO_LARGE,
		routed && !facts->iwarp && netroute->mtu_bytes &&
			facts->path_mtu_bytes + HEADER_BYTES > netroute->mtu_bytes);
}

/* A firewall may drop the question or the answer: no answer proves nothing. */
static void look_at_answer(const struct vbd_facts *facts, struct clues *clues)
{
	uint64_t patience_ms;

	note(clues, VBD_CLUE_CM_ANSWERED, facts->answered);
	note(clues, VBD_CLUE_CM_UNHEARD, facts->asked && !facts->answered);
	note(clues, VBD_CLUE_SLOW_WAY,
		facts->answered && vbd_facts_dead_peer_detect_ms(facts, &patience_ms) &&
			facts->rtt_ns > patience_ms * VBD_NS_PER_MS);
}

static void look_at_traces(const struct vbd_facts *facts, struct clues *clues)
{
	const struct vbd_incident *incident = &facts->incident;
	const uint64_t *traces = incident->traces;

	note(clues, VBD_CLUE_RNR_CAME,
		traces[VBD_TRACE_RNR_CAME] || incident->outcome == VBD_OUTCOME_RNR);
	note(clues, VBD_CLUE_RNR_TOLD, traces[VBD_TRACE_RNR_TOLD]);
	note(clues, VBD_CLUE_GAPS, traces[VBD_TRACE_GAPS_SEEN] || traces[VBD_TRACE_GAPS_TOLD]);
	/* The counters are those of all connections: they say something of one that awaits a
	 * message. */
	note(clues, VBD_CLUE_OUT_OF_STEP,
		(facts->inbox_capacity || incident->outcome == VBD_OUTCOME_UNSENT) &&
			(traces[VBD_TRACE_GAPS_SEEN] || traces[VBD_TRACE_REPEATS_SEEN]));
	note(clues, VBD_CLUE_MANY_GAPS,
		traces[VBD_TRACE_PACKETS_SENT] &&
			(traces[VBD_TRACE_GAPS_SEEN] + traces[VBD_TRACE_GAPS_TOLD]) * MANY >=
				traces[VBD_TRACE_PACKETS_SENT]);
	note(clues, VBD_CLUE_SILENT,
		incident->traces_known && traces[VBD_TRACE_PACKETS_SENT] &&
			!traces[VBD_TRACE_PACKETS_CAME]);
	note(clues, VBD_CLUE_REQ_REPEATED,
		incident->traces_known && incident->waited_ms >= REPEATED_MS);
	note(clues, VBD_CLUE_MRA_CAME, traces[VBD_TRACE_MRA_CAME]);
}

static void look_at_request(const struct vbd_facts *facts, struct clues *clues)
{
	const struct vbd_incident *incident = &facts->incident;
	const struct vbd_op_traits *op = incident->op >= 0 ? &vbd_ops[incident->op] : NULL;
	struct vbd_rejection rejection;

	note(clues, VBD_CLUE_OP_SENDS,
		(op && (op->sends || incident->op == VBD_OP_WRITE_IMM)) ||
			incident->outcome == VBD_OUTCOME_RNR);
	note(clues, VBD_CLUE_OP_REMOTE, op && op->needs_remote);
	note(clues, VBD_CLUE_LONGER_THAN_HERE,
		op && op->sends && incident->recv_size_bytes &&
			incident->length_bytes > incident->recv_size_bytes);
	note(clues, VBD_CLUE_OVER_ONE_PACKET,
		facts->path_mtu_bytes && incident->length_bytes > facts->path_mtu_bytes);
	note(clues, VBD_CLUE_LONG_DATA,
		op && facts->path_mtu_bytes > USUAL_MTU_BYTES &&
			incident->length_bytes > USUAL_MTU_BYTES);
	note(clues, VBD_CLUE_NEVER_ACKED, !incident->acked);
	note(clues, VBD_CLUE_NEVER_HEARD, !incident->heard);
	note(clues, VBD_CLUE_OP_RECEIVES,
		incident->op == VBD_OP_RECV || incident->outcome == VBD_OUTCOME_UNSENT);
	note(clues, VBD_CLUE_BY_HAND, incident->by_hand);
	note(clues, VBD_CLUE_HELD_BACK, incident->held_back);
	note(clues, VBD_CLUE_NO_RECEIVE_LEFT, incident->no_receive_left);
	note(clues, VBD_CLUE_OUTSTANDING, incident->outstanding);
	note(clues, VBD_CLUE_NOTHING_OPEN, incident->nothing_open);
	note(clues, VBD_CLUE_OTHER_DEVICE_OPEN, *incident->open_device);
	note(clues, VBD_CLUE_OTHER_PD_OPEN, incident->other_pd_open);
	note(clues, VBD_CLUE_MOVED_ON,
		incident->outcome == VBD_OUTCOME_LATE && incident->done_bytes &&
			incident->done_bytes < incident->length_bytes);
	note(clues, VBD_CLUE_RUNS_ON,
		incident->outcome == VBD_OUTCOME_WELL && incident->transfer &&
			incident->op != VBD_OP_RECV && incident->waited_ms);
	note(clues, VBD_CLUE_TCP_OPEN, incident->tcp_open);
	note(clues, VBD_CLUE_LISTENER_DELETED, incident->listener_deleted);
	note(clues, VBD_CLUE_WORDS, *incident->words);
	note(clues, VBD_CLUE_VERBSD_SAID, vbd_rejection_read(incident->words, &rejection));
}

/* A side that waits in vain for the other one does not say why that is silent. */
static bool tells_cause(const struct vbd_facts *facts)
{
	enum vbd_reason reason = facts->peer_report.reason;
	bool waited = reason == VBD_REASON_RETRY_EXCEEDED || reason == VBD_REASON_PEER_SILENT ||
		      reason == VBD_REASON_TIMED_OUT || reason == VBD_REASON_UNREACHABLE;

	return facts->peer_report.failed &&
	       (!waited || facts->incident.outcome == VBD_OUTCOME_PEER_LEFT);
}

/* A packet of a longer message has the length of its sender's path MTU, and the device that gets it
 * expects its own (IBTA, 9.7.4.1.6). */
static bool is_mtu_other(const struct vbd_facts *facts)
{
	const struct vbd_report *report = &facts->peer_report;
	uint64_t least_bytes = report->path_mtu_bytes < facts->path_mtu_bytes
				       ? report->path_mtu_bytes
				       : facts->path_mtu_bytes;

	return report->known && least_bytes && report->path_mtu_bytes != facts->path_mtu_bytes &&
	       (facts->incident.length_bytes > least_bytes || report->length_bytes > least_bytes);
}

static void look_at_report(const struct vbd_facts *facts, struct clues *clues)
{
	const struct vbd_report *report = &facts->peer_report;
	const struct vbd_incident *incident = &facts->incident;
	bool sends = incident->op >= 0 && vbd_ops[incident->op].sends;
	bool peer_sends = report->known && report->op >= 0 && vbd_ops[report->op].sends;

	note(clues, VBD_CLUE_PEER_CLOSED,
		report->known && report->reason == VBD_REASON_LOCAL_CLOSE);
	note(clues, VBD_CLUE_PEER_STOPPED, report->known && report->reason == VBD_REASON_STOPPING);
	note(clues, VBD_CLUE_PEER_FAILED, report->known && tells_cause(facts));
	note(clues, VBD_CLUE_PEER_MTU_OTHER, is_mtu_other(facts));
	note(clues, VBD_CLUE_PEER_INBOX_FULL, report->known && report->inbox_full);
	note(clues, VBD_CLUE_PEER_FORGOT, facts->peer_replied && !report->known);
	note(clues, VBD_CLUE_PEER_ANEW, facts->peer_replied && facts->peer_anew);
	note(clues, VBD_CLUE_PEER_RECEIVE_SHORTER,
		sends && report->known && report->recv_size_bytes &&
			incident->length_bytes > report->recv_size_bytes);
	note(clues, VBD_CLUE_PEER_LENGTH_TOLD,
		peer_sends && report->length_bytes > incident->recv_size_bytes);
	note(clues, VBD_CLUE_NO_SUCH_KEY_HERE, facts->judged == VBD_REPORT_MEMORY_NO_SUCH_KEY);
	note(clues, VBD_CLUE_PAST_END_HERE, facts->judged == VBD_REPORT_MEMORY_PAST_END);
	note(clues, VBD_CLUE_NO_ACCESS_HERE, facts->judged == VBD_REPORT_MEMORY_NO_ACCESS);
}

static void look_at_completion(const struct vbd_facts *facts, struct clues *clues)
{
	const struct vbd_error *error = &facts->incident.error;
	bool recv = facts->incident.op == VBD_OP_RECV;

	if (error->source != VBD_SOURCE_WC)
		return;
	/* rxe says LOC_QP_OP_ERR of a wrong local key, and of a message longer than the receive. */
	note(clues, VBD_CLUE_RECEIVE_TOO_SHORT,
		recv && (error->kind == IBV_WC_LOC_LEN_ERR ||
				(facts->soft_roce && error->kind == IBV_WC_LOC_QP_OP_ERR)));
}

static void look_at_rejection(const struct vbd_error *error, struct clues *clues)
{
	/* Over iWARP rdma_connect(3) may fail at once. */
	note(clues, VBD_CLUE_REJ_NO_SERVICE,
		error->source == VBD_SOURCE_ERRNO && error->raw == ECONNREFUSED);
	if (error->source != VBD_SOURCE_CM_EVENT)
		return;
	if (error->kind != RDMA_CM_EVENT_REJECTED)
		return;
	note(clues, VBD_CLUE_REJ_NO_SERVICE,
		error->raw == REJ_INVALID_SERVICE_ID || error->raw == -ECONNREFUSED);
	note(clues, VBD_CLUE_REJ_PROGRAM,
		error->raw == REJ_CONSUMER_DEFINED || error->raw == -ECONNRESET);
}

static void look_at_limits(const struct vbd_error *error, struct clues *clues)
{
	note(clues, VBD_CLUE_NOT_SERVED, error->status == VBD_E_ADDRESS_NOT_AVAILABLE);
	note(clues, VBD_CLUE_PORT_TAKEN, error->status == VBD_E_ADDRESS_IN_USE);
	/* librdmacm has an event of its own for that, with status -1 (ucma_init_device()). */
	note(clues, VBD_CLUE_NOT_OPENED,
		error->source == VBD_SOURCE_CM_EVENT && error->kind == RDMA_CM_EVENT_ADDR_ERROR &&
			error->raw == -1);
	note(clues, VBD_CLUE_NO_NAME_SERVER,
		error->source == VBD_SOURCE_GAI && error->raw == EAI_AGAIN);
	note(clues, VBD_CLUE_FULL_MEMLOCK, error->status == VBD_E_MEMLOCK);
	/* rdmacg_try_charge(), kernel 6.1; a device that is full says ENOMEM. */
	note(clues, VBD_CLUE_FULL_CGROUP,
		error->status == VBD_E_DEVICE_LIMIT && error->source == VBD_SOURCE_ERRNO &&
			error->raw == EAGAIN);
}

vbd_clue_set vbd_clues_find(const struct vbd_facts *facts)
{
	struct clues clues = {0};

	look_at_device(facts, &clues);
	look_at_route(facts, &clues);
	look_at_answer(facts, &clues);
	look_at_traces(facts, &clues);
	look_at_request(facts, &clues);
	look_at_report(facts, &clues);
	look_at_completion(facts, &clues);
	look_at_rejection(&facts->incident.error, &clues);
	look_at_limits(&facts->incident.error, &clues);
	return clues.bits;
}

const char *vbd_clue_text(enum vbd_clue clue)
{
	static const char *const texts[VBD_CLUE_COUNT] = {
#define CLUE_TEXT(sym, text) [VBD_CLUE_##sym] = text,
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
