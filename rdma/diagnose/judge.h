/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge: from the facts of a connection to the causes of its incident, the best supported
 * first, and to the findings, the worst first. A row of rdma/diagnose/verdict_rows.h names the
 * clues that it needs, that exclude it and that speak for it.
 *
 * Any thread; pure.
 */
#ifndef VBD_RDMA_DIAGNOSE_JUDGE_H
#define VBD_RDMA_DIAGNOSE_JUDGE_H

#include "rdma/conn/conn_fsm.h"
#include "rdma/diagnose/clue_rows.h"
#include "rdma/diagnose/facts.h"
#include "rdma/diagnose/verdict_rows.h"
#include "rdma/diagnose/words.h"

/* The record of an end. */
struct vbd_outcome_end {
	enum vbd_conn_state state; /* in which it began */
	enum vbd_reason reason;	   /* not NONE */
	const struct vbd_first_error *first;
	enum vbd_refusal refusal;
	bool passive;
};

/** vbd_outcome_of_end - the outcome of a connection that has ended or is ending */
enum vbd_outcome vbd_outcome_of_end(const struct vbd_outcome_end *end);

/** vbd_outcome_of_wait - the outcome of an open connection that stays in @state for long; an
 * established one has a transfer that makes no progress */
enum vbd_outcome vbd_outcome_of_wait(enum vbd_conn_state state);

enum vbd_cause_code {
#define VBD_CAUSE_ENUM(sym, ...) VBD_CAUSE_##sym,
	VBD_CAUSE_MAP(VBD_CAUSE_ENUM)
#undef VBD_CAUSE_ENUM
		VBD_CAUSE_COUNT
};

/* Rows and findings are in the order of severity. */
enum vbd_finding_code {
#define VBD_FINDING_ENUM(sym, ...) VBD_FINDING_##sym,
	VBD_FINDING_MAP(VBD_FINDING_ENUM)
#undef VBD_FINDING_ENUM
		VBD_FINDING_COUNT
};

/* X(SYMBOL, json name): the worst first */
#define VBD_FINDING_SEVERITY_MAP(X)          \
	X(VBD_FINDING_IS_ERROR, "error")     \
	X(VBD_FINDING_IS_WARNING, "warning") \
	X(VBD_FINDING_IS_INFO, "info")

enum vbd_finding_severity { VBD_FINDING_SEVERITY_MAP(VBD_ENUM_ROW) VBD_FINDING_SEVERITY_COUNT };

/** vbd_finding_severity_name - "warning" */
const char *vbd_finding_severity_name(enum vbd_finding_severity severity);

/* A row of rdma/diagnose/verdict_rows.h, which says what the members are. */
struct vbd_verdict_row {
	const char *name; /* "nobody_listens" */
	uint64_t outcomes;
	vbd_clue_set needs, against, supports;
	unsigned int weight;
	const char *staged; /* Markdown; NULL for a finding */
	const char *text, *advice;
	const char *when; /* of a finding */
	enum vbd_finding_severity severity;
};

extern const struct vbd_verdict_row vbd_cause_rows[VBD_CAUSE_COUNT];
extern const struct vbd_verdict_row vbd_finding_rows[VBD_FINDING_COUNT];

#define VBD_VERDICT_BYTES 320

/* A cause that the facts allow, or a finding. */
struct vbd_verdict {
	const struct vbd_verdict_row *row;
	vbd_clue_set evidence;		/* the clues that speak for it */
	char text[VBD_VERDICT_BYTES];	/* of the row, with this connection's numbers */
	char advice[VBD_VERDICT_BYTES]; /* a sentence */
};

/* The first cause, and as many that are possible besides. */
#define VBD_CAUSES_MAX 4

struct vbd_verdicts {
	struct vbd_verdict causes[VBD_CAUSES_MAX]; /* the best supported first */
	size_t cause_count; /* 0: nothing is wrong that a cause is known for */
	struct vbd_verdict findings[VBD_FINDING_COUNT]; /* the worst first */
	size_t finding_count;
};

/** vbd_judge - the causes that @facts allow, and the findings that follow from them */
void vbd_judge(const struct vbd_facts *facts, struct vbd_verdicts *ret_verdicts);

/** vbd_verdicts_bad - is the worst finding an error? */
static inline bool vbd_verdicts_bad(const struct vbd_verdicts *verdicts)
{
	return verdicts->finding_count &&
	       verdicts->findings[0].row->severity == VBD_FINDING_IS_ERROR;
}

#endif
