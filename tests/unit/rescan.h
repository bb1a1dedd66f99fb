/* SPDX-License-Identifier: Apache-2.0 */
/* A scan of the devices, as the control thread makes it, and its end. */
#ifndef VBD_TESTS_UNIT_RESCAN_H
#define VBD_TESTS_UNIT_RESCAN_H

#include "rdma/fabric/fabric.h"
#include "tests/unit/unit.h"

/** unit_rescan - vbd_fabric_rescan(); returns when each device is open, or can't be opened */
static inline void unit_rescan(struct vbd_fabric *fabric)
{
	vbd_fabric_rescan(fabric);
	UNIT_UNTIL (!vbd_fabric_is_scanning(fabric))
		vbd_fabric_await_scan(fabric, 1000);
}

#endif
