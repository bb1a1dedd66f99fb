/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/totals.h"

#include "rdma/data/worker.h"
#include "rdma/fabric/fabric.h"

static void add(struct vbd_op_totals *totals, const struct vbd_op_counters *counters)
{
	totals->posted += vbd_counter_get(&counters->posted);
	totals->completed += vbd_counter_get(&counters->completed);
	totals->errors += vbd_counter_get(&counters->errors);
	totals->flushed += vbd_counter_get(&counters->flushed);
	totals->bytes += vbd_counter_get(&counters->bytes);
}

void vbd_totals_of(const struct vbd_fabric *fabric, struct vbd_totals *ret_totals)
{
	*ret_totals = (struct vbd_totals){0};
	for (unsigned int i = 0; i < fabric->worker_count; i++) {
		for (enum vbd_op op = 0; op < VBD_OP_COUNT; op++)
			add(&ret_totals->ops[op], &fabric->workers[i]->op_totals[op]);
	}
}
