/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The diagnosis: from the facts of a connection to the causes of its incident, the best supported
 * first. One table (rdma/diagnose/cause_rows.h) says which clues speak for a cause and against it.
 *
 * Any thread; pure.
 */
#ifndef VBD_RDMA_DIAGNOSE_CAUSE_H
#define VBD_RDMA_DIAGNOSE_CAUSE_H

#include "rdma/conn/conn_fsm.h"
#include "rdma/diagnose/cause_rows.h"
#include "rdma/diagnose/clue_rows.h"
#include "rdma/diagnose/facts.h"

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

/* A row of rdma/diagnose/cause_rows.h, which says what the members are. */
struct vbd_cause_row {
	const char *name; /* "nobody_listens" */
	uint64_t outcomes;
	vbd_clue_set needs, against, supports;
	unsigned int weight;
	const char *staged; /* Markdown */
	const char *text, *advice;
};

extern const struct vbd_cause_row vbd_cause_rows[VBD_CAUSE_COUNT];

/* The first one, and as many that are possible besides. */
#define VBD_DIAGNOSES_MAX 4

#define VBD_DIAGNOSIS_BYTES 320

/* A cause that the facts allow. */
struct vbd_diagnosis {
	enum vbd_cause_code code;
	vbd_clue_set evidence;		  /* the clues that speak for it */
	char text[VBD_DIAGNOSIS_BYTES];	  /* a clause without a full stop, with this connection's
					     numbers */
	char advice[VBD_DIAGNOSIS_BYTES]; /* a sentence */
};

struct vbd_diagnoses {
	struct vbd_diagnosis items[VBD_DIAGNOSES_MAX]; /* the best supported first */
	size_t count; /* 0: nothing is wrong that a cause is known for */
};

/** vbd_causes_judge - the causes that @facts allow */
void vbd_causes_judge(const struct vbd_facts *facts, struct vbd_diagnoses *ret_diagnoses);

#endif
