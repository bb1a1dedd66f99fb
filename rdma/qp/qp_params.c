/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/qp/qp_params.h"

#include "rdma/data/channel.h"
#include "rdma/device/device.h"

struct vbd_conn_params vbd_conn_params_default(void)
{
	return (struct vbd_conn_params){
		.qp = {.transport = VBD_TRANSPORT_RC, .service = VBD_SERVICE_INBOX},
#define DEFAULT(kind, name, member, min, max, initial) .member = (initial),
		VBD_QP_PARAM_MAP(DEFAULT, DEFAULT)
#undef DEFAULT
	};
}

/* Over UC nothing acknowledges a write, and over iWARP only TCP does: an echo would need the peer's
 * program. */
static bool may_have_heartbeat(
	const struct vbd_conn_params *params, const struct vbd_device *device)
{
	return params->qp.transport == VBD_TRANSPORT_RC && !vbd_device_is_iwarp(device);
}

static enum vbd_status check_heartbeat(const struct vbd_conn_params *params,
	const struct vbd_device *device, struct vbd_error *err)
{
	if (!params->qp.heartbeat_ms || params->qp.heartbeat_if_able ||
		may_have_heartbeat(params, device))
		return VBD_OK;
	return vbd_error_param(err, VBD_E_NOT_SUPPORTED, "heartbeat_ms",
		"over %s the peer's device acknowledges no write, so heartbeats are not possible; "
		"use "
		"a probe of kind echo or rping",
		vbd_device_is_iwarp(device) ? "iWARP" : "uc");
}

void vbd_conn_params_fit(struct vbd_conn_params *params, const struct vbd_device *device)
{
	if (params->qp.heartbeat_if_able && !may_have_heartbeat(params, device))
		params->qp.heartbeat_ms = 0;
}

enum vbd_status vbd_conn_params_check(const struct vbd_conn_params *params,
	const struct vbd_device *device, struct vbd_error *err)
{
	if (params->path_mtu_bytes && vbd_device_require(device, VBD_CAP_PATH_MTU, err) != VBD_OK)
		return VBD_E_NOT_SUPPORTED;
	return check_heartbeat(params, device, err);
}

uint8_t vbd_conn_lowered(uint8_t wanted, uint32_t limit, uint8_t peer)
{
	if (wanted > limit)
		wanted = (uint8_t)limit;
	return wanted < peer ? wanted : peer;
}
