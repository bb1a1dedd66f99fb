/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/totals.h"

#include "rdma/data/channel.h"

void vbd_totals_add(
	struct vbd_totals *totals, enum vbd_op op, const struct vbd_op_counters *counters)
{
	struct vbd_op_totals *to = &totals->ops[op];

	to->posted += vbd_counter_get(&counters->posted);
	to->completed += vbd_counter_get(&counters->completed);
	to->errors += vbd_counter_get(&counters->errors);
	to->flushed += vbd_counter_get(&counters->flushed);
	to->bytes += vbd_counter_get(&counters->bytes);
}
