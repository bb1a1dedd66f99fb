/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The peer's attributes of a bring-up by hand, held against the local ones: two queue pairs that
 * contradict each other lose each other's packets without a word.
 *
 * Any thread. Pure.
 */
#ifndef VBD_RDMA_CONN_MANUAL_REMOTE_H
#define VBD_RDMA_CONN_MANUAL_REMOTE_H

#include "base/attr.h"
#include "rdma/conn/conn_manual.h"
#include "rdma/qp/qp_params.h"

/**
 * vbd_manual_check_remote - can a queue pair with @local talk to a peer with @remote?
 * @transport: of the local queue pair
 *
 * Returns bad_value with the parameter that is useless here or contradicts.
 */
enum vbd_status vbd_manual_check_remote(const struct vbd_manual_local *local,
	enum vbd_qp_transport transport, const struct vbd_manual_remote *remote,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_manual_path_mtu_bytes - the path MTU that both sides take */
uint32_t vbd_manual_path_mtu_bytes(
	const struct vbd_manual_local *local, const struct vbd_manual_remote *remote);

#endif
