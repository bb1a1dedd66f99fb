/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn_params.h"

#include "rdma/caps.h"

struct vbd_conn_params vbd_conn_params_default(void)
{
	return (struct vbd_conn_params){
		.qp = vbd_qp_params_default(),
		.retry_count = 4, /* 7 never ends on rxe (rxe_comp.c, 6.1) */
		.rnr_retry = 7, /* a slow reader holds its sender back; transfers have deadlines */
		.ack_timeout =
			14, /* 67 ms: a dead peer is noticed in 0.4 s instead of 8 (rdma_cm's 19) */
		.min_rnr_timer = 12, /* 0.64 ms; the 0 that rdma_cm leaves there is 655 ms */
		.responder_resources = 16,
		.initiator_depth = 16,
	};
}

enum vbd_status vbd_conn_params_check(const struct vbd_conn_params *params,
	const struct vbd_device *device, struct vbd_error *err)
{
	if (params->path_mtu_bytes)
		return vbd_device_require(device, VBD_CAP_PATH_MTU, err);
	return VBD_OK;
}

uint8_t vbd_conn_lowered(uint8_t wanted, uint32_t limit, uint8_t peer)
{
	if (wanted > limit)
		wanted = (uint8_t)limit;
	return wanted < peer ? wanted : peer;
}
