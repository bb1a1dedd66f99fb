/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/diagnose/judge.h"

#include "rdma/device/op.h"

static enum vbd_outcome outcome_of_receive(const struct vbd_error *error)
{
	/* A receive does not reach for the peer's memory: the device here refused the peer. */
	return error->kind == IBV_WC_REM_ACCESS_ERR || error->kind == IBV_WC_LOC_ACCESS_ERR
		       ? VBD_OUTCOME_REFUSED
		       : VBD_OUTCOME_RECEIVE_FAILED;
}

/* The outcome of a failed request; the other statuses are VBD_OUTCOME_REQUEST_FAILED. */
static const enum vbd_outcome wc_outcomes[] = {
	[IBV_WC_REM_ACCESS_ERR] = VBD_OUTCOME_ACCESS,
	[IBV_WC_REM_OP_ERR] = VBD_OUTCOME_OPERATION,
	[IBV_WC_REM_ABORT_ERR] = VBD_OUTCOME_OPERATION,
	[IBV_WC_REM_INV_REQ_ERR] = VBD_OUTCOME_INVALID,
	[IBV_WC_RETRY_EXC_ERR] = VBD_OUTCOME_UNACKED,
	[IBV_WC_RESP_TIMEOUT_ERR] = VBD_OUTCOME_UNACKED,
	[IBV_WC_RNR_RETRY_EXC_ERR] = VBD_OUTCOME_RNR,
};

static enum vbd_outcome outcome_of_completion(const struct vbd_outcome_end *end)
{
	const struct vbd_first_error *first = end->first;

	if (first->error.kind == IBV_WC_WR_FLUSH_ERR)
		return end->refusal ? VBD_OUTCOME_REFUSED : VBD_OUTCOME_QP_FAILED;
	if (first->op == VBD_OP_RECV)
		return outcome_of_receive(&first->error);
	if (first->op == VBD_OP_BIND_WINDOW)
		return VBD_OUTCOME_BIND;
	return (size_t)first->error.kind < VBD_ARRAY_LEN(wc_outcomes) &&
			       wc_outcomes[first->error.kind] != VBD_OUTCOME_WELL
		       ? wc_outcomes[first->error.kind]
		       : VBD_OUTCOME_REQUEST_FAILED;
}

static const struct {
	enum vbd_outcome late, waits;
} state_outcomes[VBD_CONN_STATE_COUNT] = {
#define ROW(sym, name, terminal, awaited, late, waits) \
	[sym] = {VBD_OUTCOME_##late, VBD_OUTCOME_##waits},
	VBD_CONN_STATE_MAP(ROW)
#undef ROW
};

/* The outcome of a reason that is no deadline and no failed completion. */
static const enum vbd_outcome outcomes[VBD_REASON_COUNT] = {
#define ROW(sym, clean, outcome) [VBD_REASON_##sym] = VBD_OUTCOME_##outcome,
	VBD_REASON_MAP(ROW)
#undef ROW
};

enum vbd_outcome vbd_outcome_of_end(const struct vbd_outcome_end *end)
{
	const struct vbd_error *error = &end->first->error;
	enum vbd_outcome outcome = outcomes[end->reason];

	if (error->source == VBD_SOURCE_DEADLINE)
		return state_outcomes[end->state].late;
	if (outcome == VBD_OUTCOME_SILENT)
		return outcome;
	/* The reason is not the peer's disconnect where a failed completion led to that. */
	if (error->source == VBD_SOURCE_WC && !vbd_reason_clean(end->reason))
		return outcome_of_completion(end);
	if (outcome == VBD_OUTCOME_QP_FAILED && end->refusal)
		return VBD_OUTCOME_REFUSED;
	if (error->source != VBD_SOURCE_CM_EVENT)
		return outcome;
	switch (vbd_cm_meaning(
		error->kind, error->raw, end->state == VBD_CONN_ESTABLISHED, end->passive)) {
	case VBD_CM_ADDRESS_TAKEN:
		return VBD_OUTCOME_MOVED;
	case VBD_CM_NOT_CONFIRMED:
		return VBD_OUTCOME_UNCONFIRMED;
	case VBD_CM_MEANING_COUNT:
	case VBD_CM_AS_IT_SAYS:
		break;
	}
	return outcome;
}

enum vbd_outcome vbd_outcome_of_wait(enum vbd_conn_state state)
{
	return state_outcomes[state].waits;
}

#define OUT(sym)  (UINT64_C(1) << VBD_OUTCOME_##sym)
#define CLUE(sym) VBD_CLUE_BIT(VBD_CLUE_##sym)
#define GUEST	  "`rdma.explain`"
#define GUESTS	  "`rdma.explain_two`"
#define UNIT(why) "`unit.test_cause`: " why

_Static_assert(VBD_OUTCOME_COUNT <= 64, "outcomes are the bits of a uint64_t");

VBD_ENUM_NAMES(vbd_finding_severity_name, enum vbd_finding_severity, VBD_FINDING_SEVERITY_MAP)

/* The worst finding weighs most. */
const struct vbd_verdict_row vbd_finding_rows[VBD_FINDING_COUNT] = {
#define ROW(sym, code, finding, needed, excluding, detail, condition, hint) \
	[VBD_FINDING_##sym] = {.name = code,                                \
		.outcomes = UINT64_MAX,                                     \
		.needs = needed,                                            \
		.against = excluding,                                       \
		.weight = 100 - VBD_FINDING_IS_##finding,                   \
		.severity = VBD_FINDING_IS_##finding,                       \
		.text = detail,                                             \
		.advice = hint,                                             \
		.when = condition},
	VBD_FINDING_MAP(ROW)
#undef ROW
};

const struct vbd_verdict_row vbd_cause_rows[VBD_CAUSE_COUNT] = {
#define ROW(sym, ...) [VBD_CAUSE_##sym] = {__VA_ARGS__, NULL, VBD_FINDING_SEVERITY_COUNT},
	VBD_CAUSE_MAP(ROW)
#undef ROW
};

/* Each clue that supports a row adds so much to its weight. */
#define SUPPORT 10

/* A row that weighs less by itself is told only if there is no other. */
#define LAST_RESORT 30

static unsigned int weigh_row(const struct vbd_verdict_row *row, vbd_clue_set clues)
{
	unsigned int weight = row->weight;

	for (vbd_clue_set left = row->supports & clues; left; left &= left - 1)
		weight += SUPPORT;
	return weight;
}

static bool row_follows(const struct vbd_verdict_row *row, unsigned int outcome, vbd_clue_set clues)
{
	return (row->outcomes & UINT64_C(1) << outcome) && (clues & row->needs) == row->needs &&
	       !(clues & row->against);
}

/* The rows that follow, the heaviest first. Returns their number. */
static size_t find_rows(const struct vbd_verdict_row *rows, size_t count, unsigned int outcome,
	vbd_clue_set clues, const struct vbd_verdict_row **found)
{
	size_t found_count = 0;

	for (size_t i = 0; i < count; i++) {
		unsigned int weight = weigh_row(&rows[i], clues);
		size_t at = found_count;

		if (!row_follows(&rows[i], outcome, clues))
			continue;
		for (; at > 0 && weigh_row(found[at - 1], clues) < weight; at--)
			found[at] = found[at - 1];
		found[at] = &rows[i];
		found_count++;
	}
	return found_count;
}

/* Returns the number of verdicts, at most @max. */
static size_t judge_rows(const struct vbd_verdict_row *rows, size_t count, size_t max,
	const struct vbd_facts *facts, vbd_clue_set clues, struct vbd_verdict *ret_verdicts)
{
	const struct vbd_verdict_row *found[VBD_CAUSE_COUNT + VBD_FINDING_COUNT];
	size_t found_count = find_rows(rows, count, facts->incident.outcome, clues, found);
	size_t told = 0;

	for (; told < found_count && told < max; told++) {
		const struct vbd_verdict_row *row = found[told];
		struct vbd_verdict *verdict = &ret_verdicts[told];

		if (told && row->weight < LAST_RESORT)
			break;
		verdict->row = row;
		verdict->evidence = clues & (row->needs | row->supports);
		(void)vbd_words_fill(row->text, facts, verdict->text, sizeof(verdict->text));
		(void)vbd_words_fill(row->advice, facts, verdict->advice, sizeof(verdict->advice));
	}
	return told;
}

void vbd_judge(const struct vbd_facts *facts, struct vbd_verdicts *ret_verdicts)
{
	vbd_clue_set clues = vbd_clues_find(facts);

	ret_verdicts->cause_count = judge_rows(vbd_cause_rows, VBD_CAUSE_COUNT, VBD_CAUSES_MAX,
		facts, clues, ret_verdicts->causes);
	ret_verdicts->finding_count = judge_rows(vbd_finding_rows, VBD_FINDING_COUNT,
		VBD_FINDING_COUNT, facts, clues, ret_verdicts->findings);
}
