/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The traffic of connections and endpoints, summed.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_CORE_TOTALS_H
#define VBD_DAEMON_CORE_TOTALS_H

#include "rdma/device/op.h"

#include <stdint.h>

struct vbd_op_counters;

struct vbd_totals {
	struct vbd_op_totals {
		uint64_t posted, completed, errors, flushed, bytes;
	} ops[VBD_OP_COUNT];
};

/** vbd_totals_add - add @counters of @op to the totals of that operation */
void vbd_totals_add(
	struct vbd_totals *totals, enum vbd_op op, const struct vbd_op_counters *counters);

#endif
