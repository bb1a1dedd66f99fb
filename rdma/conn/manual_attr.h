/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The attributes of a QP in a manual bring-up, in place of the CM's.
 *
 * Pure; any thread.
 */
#ifndef VBD_RDMA_CONN_MANUAL_ATTR_H
#define VBD_RDMA_CONN_MANUAL_ATTR_H

#include "base/attr.h"
#include "rdma/conn/conn_manual.h"
#include "rdma/device/op.h"
#include "rdma/qp/qp_params.h"

#include <infiniband/verbs.h>

/**
 * vbd_manual_check_remote - can a queue pair with @local talk to a peer with @remote?
 * @transport: of the local queue pair
 *
 * Returns bad_value with the parameter that is useless here or contradicts.
 */
enum vbd_status vbd_manual_check_remote(const struct vbd_manual_local *local,
	enum vbd_qp_transport transport, const struct vbd_manual_remote *remote,
	struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_manual_attributes - the attributes of the move from @old_state to @attr->qp_state: IBTA
 * tables 91 to 95, without the timers and retries, which are connection parameters
 * @ret_mask: of ibv_modify_qp(3)
 */
void vbd_manual_attributes(const struct vbd_conn_manual *manual, enum vbd_qp_transport transport,
	int old_state, struct ibv_qp_attr *attr, int *ret_mask);

#endif
