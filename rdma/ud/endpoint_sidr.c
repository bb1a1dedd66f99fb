/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/ud/endpoint_sidr.h"

#include "base/log.h"
#include "rdma/device/device.h"
#include "rdma/device/source.h"
#include "rdma/fabric/fabric.h"
#include "rdma/provider/provider.h"

#include <string.h>

/* SIDR requests that may wait in the kernel. */
#define BACKLOG 128

enum vbd_status vbd_endpoint_bind(struct vbd_endpoint *endpoint, const struct sockaddr *addr,
	struct vbd_device **device, struct vbd_error *err)
{
	struct vbd_fabric *fabric = endpoint->fabric;
	struct vbd_device *bound;
	enum vbd_status status = vbd_fabric_check_cm(fabric, err);
	const char *name;

	if (!status)
		status = vbd_pv_create_udp_id(&endpoint->account, fabric->cm_channel,
			&endpoint->tag, &endpoint->listen_id, err);
	if (!status)
		status = vbd_pv_bind_addr(endpoint->listen_id, addr, err);
	if (status)
		return status;
	name = vbd_pv_id_device(endpoint->listen_id);
	bound = name ? vbd_fabric_device(fabric, name) : NULL;
	if (!bound)
		return VBD_OK;
	if (*device && *device != bound)
		return vbd_error_param(err, VBD_E_BAD_VALUE, "device",
			"the address belongs to device %s, not to %s", bound->name,
			(*device)->name);
	*device = bound;
	return VBD_OK;
}

enum vbd_status vbd_endpoint_start_listening(struct vbd_endpoint *endpoint, struct vbd_error *err)
{
	const struct sockaddr *bound;
	enum vbd_status status;

	if (!endpoint->listen_id)
		return VBD_OK;
	status = vbd_pv_listen(endpoint->listen_id, BACKLOG, err);
	if (status)
		return status;
	bound = vbd_pv_id_local(endpoint->listen_id);
	memcpy(&endpoint->addr, bound, vbd_sockaddr_bytes(bound));
	return VBD_OK;
}

void vbd_endpoint_stop_listening(struct vbd_endpoint *endpoint)
{
	vbd_calls_end_id(endpoint->fabric->calls, &endpoint->account, endpoint->listen_id);
	endpoint->listen_id = NULL;
}

static enum vbd_status may_answer(const struct vbd_endpoint *endpoint,
	const struct vbd_pv_cm_event *request, struct vbd_error *err)
{
	const char *name = vbd_pv_id_device(request->id);

	if (!endpoint->qp.ibv_qp)
		return vbd_error_set(err, VBD_E_WRONG_STATE, "the endpoint's QP is not ready yet");
	/* An endpoint that listens on the wildcard address gets requests of every device. */
	if (!name || strcmp(name, endpoint->device_name) != 0)
		return vbd_error_set(err, VBD_E_BAD_VALUE,
			"the request came by device %s, but the QP is on %s", name ? name : "?",
			endpoint->device_name);
	return VBD_OK;
}

static enum vbd_status answer(
	struct vbd_endpoint *endpoint, const struct vbd_pv_cm_event *request, struct vbd_error *err)
{
	const struct vbd_private_data *reply = &endpoint->params.reply;
	struct rdma_conn_param param = {
		.qp_num = endpoint->qp.info.lqpn,
		.private_data = reply->length_bytes ? reply->bytes : NULL,
		.private_data_len = reply->length_bytes,
	};

	return vbd_pv_accept(request->id, &param, err);
}

/* The reply is one datagram: if it is lost the peer repeats the request, which has a new id. */
void vbd_endpoint_on_request(struct vbd_endpoint *endpoint, const struct vbd_pv_cm_event *request)
{
	struct vbd_error refused = {0};
	struct vbd_error error = {0};

	endpoint->sidr_requests++;
	if (may_answer(endpoint, request, &refused) == VBD_OK &&
		answer(endpoint, request, &refused) == VBD_OK) {
		endpoint->sidr_answered++;
	} else {
		endpoint->sidr_refused++;
		if (vbd_pv_reject(request->id, false, NULL, 0, &error) != VBD_OK)
			vbd_log(VBD_LOG_DEBUG, "endpoint", "%s", error.text);
	}
	endpoint->ops->asked(endpoint, vbd_pv_id_peer(request->id),
		refused.status ? &refused : NULL, endpoint->ops_arg);
	vbd_calls_end_id(endpoint->fabric->calls, NULL, request->id);
}
