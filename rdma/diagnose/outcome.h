/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outcome of a connection: the way in which it ended or waits, before its cause is looked for.
 *
 * Any thread; pure.
 */
#ifndef VBD_RDMA_DIAGNOSE_OUTCOME_H
#define VBD_RDMA_DIAGNOSE_OUTCOME_H

#include "rdma/conn/conn_fsm.h"
#include "rdma/diagnose/incident.h"
#include "rdma/names/reason.h"

#include <stdbool.h>

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

#endif
