/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/listener.h"

#include "base/log.h"
#include "rdma/fabric.h"
#include "rdma/names.h"
#include "rdma/provider.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

enum vbd_status vbd_cm_listener_open(struct vbd_cm_listener *listener, struct vbd_fabric *fabric,
	const struct sockaddr *addr, int backlog, const struct vbd_cm_listener_ops *ops,
	void *ops_arg, struct vbd_error *err)
{
	const struct sockaddr *bound;
	enum vbd_status status;
	const char *device;

	if (!fabric->channel)
		return vbd_error_set(err, VBD_E_NO_DEVICE, "no RDMA connection manager: %s",
			fabric->channel_error.text);
	memset(listener, 0, sizeof(*listener));
	listener->tag.kind = VBD_CM_LISTENER;
	listener->fabric = fabric;
	listener->ops = ops;
	listener->ops_arg = ops_arg;
	status = vbd_pv_create_id(fabric->channel, &listener->tag, &listener->cm_id, err);
	if (status)
		return status;
	status = vbd_pv_bind_addr(listener->cm_id, addr, err);
	if (!status)
		status = vbd_pv_listen(listener->cm_id, backlog, err);
	if (status) {
		vbd_cm_listener_close(listener);
		return status;
	}
	bound = vbd_pv_id_local(listener->cm_id);
	memcpy(&listener->addr, bound,
		bound->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					     : sizeof(struct sockaddr_in));
	device = vbd_pv_id_device(listener->cm_id);
	(void)snprintf(
		listener->device_name, sizeof(listener->device_name), "%s", device ? device : "");
	return VBD_OK;
}

void vbd_cm_listener_close(struct vbd_cm_listener *listener)
{
	vbd_pv_destroy_id(listener->cm_id);
	listener->cm_id = NULL;
}

static void reject(const struct vbd_pv_cm_event *request)
{
	struct vbd_error error = {0};

	if (vbd_pv_reject(request->id, &error) != VBD_OK)
		vbd_log(VBD_LOG_DEBUG, "listener", "%s", error.text);
	vbd_pv_destroy_id(request->id);
}

void vbd_cm_listener_on_cm_event(
	struct vbd_cm_listener *listener, const struct vbd_pv_cm_event *event)
{
	switch (event->type) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		if (!listener->ops->request(listener, event, listener->ops_arg))
			reject(event);
		return;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		/* The id must go, or the kernel waits for it. */
		vbd_cm_listener_close(listener);
		listener->ops->lost(listener, listener->ops_arg);
		return;
	case RDMA_CM_EVENT_ADDR_CHANGE: /* a hint: rdma_get_cm_event(3) */
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_ESTABLISHED:
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_MULTICAST_JOIN:
	case RDMA_CM_EVENT_MULTICAST_ERROR:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	}
	vbd_log(VBD_LOG_DEBUG, "listener", "ignores %s", vbd_cm_event_name((int)event->type));
}
