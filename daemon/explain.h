/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explanations: the facts of a connection, gathered from wherever they are; what follows from them;
 * and what the table of rdma/why.h says of how it ended.
 *
 * Control thread. Asks the kernel for the port and the GID table: microseconds.
 */
#ifndef VBD_DAEMON_EXPLAIN_H
#define VBD_DAEMON_EXPLAIN_H

#include "daemon/connections.h"
#include "rdma/facts.h"
#include "rdma/why.h"

#define VBD_CAUSES_MAX 3

struct vbd_explanation {
	char summary[480]; /* one sentence with its stop */
	struct vbd_facts facts;
	struct vbd_findings findings;
	struct vbd_why causes[VBD_CAUSES_MAX]; /* the closest to what was seen first */
	size_t cause_count;		       /* 0: nothing went wrong */
};

/**
 * vbd_explain_connection - of a connection in any state, also of the history
 * @way: to its peer, as it is now; NULL if the kernel was not asked
 */
void vbd_explain_connection(const struct vbd_connection *connection, const struct vbd_pv_way *way,
	struct vbd_explanation *ret_explanation);

#endif
