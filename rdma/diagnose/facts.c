/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/diagnose/facts.h"

#include "base/clock.h"
#include "rdma/diagnose/clue_rows.h"
#include "rdma/diagnose/words.h"

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
