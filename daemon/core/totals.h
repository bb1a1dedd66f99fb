/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The traffic of all connections and endpoints since the start.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_CORE_TOTALS_H
#define VBD_DAEMON_CORE_TOTALS_H

#include "rdma/device/op.h"

#include <stdint.h>

struct vbd_fabric;

struct vbd_totals {
	struct vbd_op_totals {
		uint64_t posted, completed, errors, flushed, bytes;
	} ops[VBD_OP_COUNT];
};

/** vbd_totals_of - the traffic of all connections and endpoints, open and ended. The workers keep
 * it, so this takes the same time however many there are. */
void vbd_totals_of(const struct vbd_fabric *fabric, struct vbd_totals *ret_totals);

#endif
