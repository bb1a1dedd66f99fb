/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/qp/qp_params.h"

#include "rdma/data/channel.h"
#include "rdma/device/caps.h"

struct vbd_conn_params vbd_conn_params_default(void)
{
	return (struct vbd_conn_params){
		.qp = {.transport = VBD_TRANSPORT_RC, .service = VBD_SERVICE_INBOX},
#define DEFAULT(kind, name, member, min, max, initial) .member = (initial),
		VBD_QP_PARAM_MAP(DEFAULT, DEFAULT)
#undef DEFAULT
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
