/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/diagnose/facts.h"

#include "base/clock.h"
#include "rdma/device/op.h"
#include "rdma/diagnose/clue_rows.h"
#include "rdma/diagnose/words.h"
#include "rdma/names/names.h"
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

static bool is_text(const char *text, const char *other)
{
	return text && strcmp(text, other) == 0;
}

static const struct vbd_op_traits *traits_of(int op)
{
	static const struct vbd_op_traits none;

	return op >= 0 ? &vbd_ops[op] : &none;
}

static bool is_slower_than_timers(const struct vbd_facts *facts)
{
	uint64_t patience_ms;

	return facts->answered && vbd_facts_dead_peer_detect_ms(facts, &patience_ms) &&
	       facts->rtt_ns > patience_ms * VBD_NS_PER_MS;
}

/* rxe says LOC_QP_OP_ERR of a wrong local key, and of a message longer than the receive. */
static bool is_receive_too_short(const struct vbd_facts *facts)
{
	const struct vbd_error *error = &facts->incident.error;

	return error->source == VBD_SOURCE_WC && facts->incident.op == VBD_OP_RECV &&
	       (error->kind == IBV_WC_LOC_LEN_ERR ||
		       (facts->soft_roce && error->kind == IBV_WC_LOC_QP_OP_ERR));
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
	struct vbd_rejection rejection;
	vbd_clue_set clues = 0;

#define NOTE(sym, condition, text) clues |= (condition) ? VBD_CLUE_BIT(VBD_CLUE_##sym) : 0;
	VBD_CLUE_MAP(NOTE)
#undef NOTE
	return clues;
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

#define SLOW_MS	    10000
#define RNR_LONG_NS (100 * VBD_NS_PER_MS)

VBD_ENUM_NAMES(vbd_finding_severity_name, enum vbd_finding_severity, VBD_FINDING_SEVERITY_MAP)

const struct vbd_finding_row vbd_finding_rows[VBD_FINDING_COUNT] = {
#define ROW(sym, code, severity, condition, detail, when, hint) \
	[VBD_FINDING_##sym] = {code, VBD_FINDING_IS_##severity, when, hint},
	VBD_FINDING_MAP(ROW)
#undef ROW
};

static void found(const struct vbd_facts *facts, enum vbd_finding_code code, const char *detail,
	struct vbd_findings *findings)
{
	struct vbd_finding *finding = &findings->items[findings->count++];

	finding->code = code;
	(void)vbd_words_fill(detail, facts, finding->detail, sizeof(finding->detail));
}

static bool is_link_local(const uint8_t raw[16])
{
	return strcmp(vbd_gid_scope(raw), "link_local") == 0;
}

static bool is_neighbour(const struct vbd_facts *facts, const char *state)
{
	const struct vbd_pv_netroute *netroute = &facts->netroute;

	return facts->netroute_known && !netroute->route_errnum && !netroute->local &&
	       netroute->neighbour && strcmp(netroute->neighbour, state) == 0;
}

/* Divide first: the limit may be close to UINT64_MAX. */
static bool is_memlock_near(const struct vbd_facts *facts)
{
	return facts->memlock_known && facts->lock_limit_bytes != UINT64_MAX &&
	       facts->locked_bytes >= facts->lock_limit_bytes - facts->lock_limit_bytes / 10;
}

/* NOLINTNEXTLINE(readability-function-size): a branch for each row */
void vbd_facts_judge(const struct vbd_facts *facts, struct vbd_findings *ret_findings)
{
	const struct vbd_incident *incident = &facts->incident;
	const vbd_clue_set clues = vbd_clues_find(facts);
	/* A connection that has ended is not told what it could have had better. */
	bool over = !facts->open && incident->outcome != VBD_OUTCOME_WELL;
	bool roce = facts->sgid_known && strncmp(facts->sgid.type, "roce", 4) == 0;
	bool roce_v1 = roce && strcmp(facts->sgid.type, "roce_v1") == 0;
	bool local = is_link_local(facts->sgid.raw);
	bool peer_local = is_link_local(facts->dgid);
	bool port_mtus = facts->port_known && !facts->iwarp;
	uint32_t port_mtu = port_mtus ? facts->port.active_mtu_bytes : 0;
	bool timed = facts->open && facts->reliable && !facts->iwarp && facts->timers_known;
	uint64_t rnr_ns = vbd_min_rnr_timer_ns(facts->min_rnr_timer);
	uint64_t patience_ms = 0;
	bool ends = vbd_facts_dead_peer_detect_ms(facts, &patience_ms);

	ret_findings->count = 0;
#define SEEN(clue) (clues & VBD_CLUE_BIT(VBD_CLUE_##clue))
#define JUDGE(sym, code, severity, condition, detail, when, hint) \
	if (condition)                                            \
		found(facts, VBD_FINDING_##sym, detail, ret_findings);
	VBD_FINDING_MAP(JUDGE)
#undef JUDGE
#undef SEEN
}
