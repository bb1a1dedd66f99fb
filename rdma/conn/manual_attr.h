/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The attributes of a QP in a manual bring-up, in place of the CM's.
 *
 * Pure; any thread.
 */
#ifndef VBD_RDMA_CONN_MANUAL_ATTR_H
#define VBD_RDMA_CONN_MANUAL_ATTR_H

#include "rdma/conn/conn_manual.h"
#include "rdma/device/op.h"

#include <infiniband/verbs.h>

/**
 * vbd_manual_attributes - the attributes of the move from @old_state to @attr->qp_state: IBTA
 * tables 91 to 95, without the timers and retries, which are connection parameters
 * @ret_mask: of ibv_modify_qp(3)
 */
void vbd_manual_attributes(const struct vbd_conn_manual *manual, enum vbd_qp_transport transport,
	int old_state, struct ibv_qp_attr *attr, int *ret_mask);

#endif
