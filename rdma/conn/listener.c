/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn/listener.h"

#include "base/log.h"
#include "rdma/conn/conn_parts.h"
#include "rdma/device/source.h"
#include "rdma/provider/provider.h"

#include <netinet/in.h>

/* rdma_cm cannot bind to all addresses of one device: choose one of them. */
static enum vbd_status choose_addr(const struct vbd_fabric *fabric, const struct sockaddr *addr,
	const struct vbd_cm_params *cm, struct sockaddr_storage *ret_addr, struct vbd_error *err)
{
	const struct vbd_device *device;
	enum vbd_status status;

	vbd_addr_copy(ret_addr, addr);
	if (!cm->device[0])
		return VBD_OK;
	device = vbd_fabric_device(fabric, cm->device);
	if (!device)
		return vbd_error_param(
			err, VBD_E_NO_DEVICE, "device", "there is no device '%s'", cm->device);
	if (!vbd_sockaddr_is_any(addr))
		return VBD_OK;
	status = vbd_source_of_device(device, fabric->interfaces, addr, ret_addr, err);
	if (status)
		return status;
	((struct sockaddr_in *)ret_addr)->sin_port =
		((const struct sockaddr_in *)(const void *)addr)->sin_port;
	return VBD_OK;
}

static enum vbd_status check_bound_device(const struct vbd_cm_listener *listener,
	const struct vbd_cm_params *cm, struct vbd_error *err)
{
	const char *device = vbd_device_of_id(&listener->fabric->devices, listener->cm_id);

	if (!cm->device[0] || (device && strcmp(device, cm->device) == 0))
		return VBD_OK;
	return vbd_error_param(err, VBD_E_ADDRESS_NOT_AVAILABLE, "addr",
		"the address belongs to device %s, but device %s was requested",
		device ? device : "none", cm->device);
}

static enum vbd_status listen_at(struct vbd_cm_listener *listener, const struct sockaddr *addr,
	const struct vbd_cm_params *cm, int backlog, struct vbd_error *err)
{
	enum vbd_status status = vbd_cm_set_options(listener->cm_id, cm, err);
	struct vbd_error error = {0};

	if (!status && vbd_pv_bind_addr(listener->cm_id, addr, &error) != VBD_OK)
		status = vbd_source_judge_bind(
			vbd_interfaces_known(listener->fabric), addr, "port", &error, err);
	if (!status)
		status = check_bound_device(listener, cm, err);
	if (!status)
		status = vbd_pv_listen(listener->cm_id, backlog, err);
	return status;
}

/* The address may be that of a device which this process could not open. */
static void append_failed_device(
	const struct vbd_fabric *fabric, enum vbd_status status, struct vbd_error *err)
{
	const struct vbd_device *failed = vbd_fabric_unopened_device(fabric, NULL);
	size_t used = err ? strlen(err->text) : 0;

	if (status != VBD_E_ADDRESS_NOT_AVAILABLE || !failed || !err)
		return;
	err->hint = vbd_status_hint(failed->error.status);
	(void)snprintf(err->text + used, sizeof(err->text) - used, "; %s", failed->error.text);
}

enum vbd_status vbd_cm_listener_open(struct vbd_cm_listener *listener, struct vbd_fabric *fabric,
	const struct sockaddr *addr, const struct vbd_cm_params *cm, int backlog,
	const struct vbd_cm_listener_ops *ops, void *ops_arg, struct vbd_error *err)
{
	struct sockaddr_storage own;
	const struct sockaddr *bound;
	enum vbd_status status = vbd_fabric_check_cm(fabric, err);

	memset(listener, 0, sizeof(*listener));
	listener->tag.kind = VBD_CM_LISTENER;
	listener->fabric = fabric;
	listener->ops = ops;
	listener->ops_arg = ops_arg;
	if (!status)
		status = choose_addr(fabric, addr, cm, &own, err);
	if (!status)
		status = vbd_pv_create_id(&listener->account, fabric->cm_channel, &listener->tag,
			&listener->cm_id, err);
	if (status)
		return status;
	status = listen_at(listener, (const struct sockaddr *)&own, cm, backlog, err);
	if (status) {
		append_failed_device(fabric, status, err);
		vbd_cm_listener_close(listener);
		return status;
	}
	bound = vbd_pv_id_local(listener->cm_id);
	listener->addr = own;
	((struct sockaddr_in *)&listener->addr)->sin_port =
		((const struct sockaddr_in *)(const void *)bound)->sin_port;
	listener->device = vbd_device_id_bound(&fabric->devices, listener->cm_id);
	listener->everywhere = !*listener->device.name;
	fabric->listeners_everywhere += listener->everywhere;
	return VBD_OK;
}

void vbd_cm_listener_close(struct vbd_cm_listener *listener)
{
	vbd_calls_end_id(listener->fabric->calls, &listener->account, listener->cm_id);
	listener->cm_id = NULL;
	if (listener->everywhere)
		listener->fabric->listeners_everywhere--;
	listener->everywhere = false;
	vbd_account_close(&listener->account);
}

enum vbd_status vbd_cm_request_check(const struct vbd_fabric *fabric,
	const struct vbd_pv_cm_event *request, const struct vbd_conn_params *params,
	struct vbd_error *err)
{
	const char *name = vbd_device_of_id(&fabric->devices, request->id);
	const struct vbd_device *device = name ? vbd_fabric_device(fabric, name) : NULL;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR};
	struct vbd_port port;
	uint32_t bytes;
	int mask = 0;

	/* Over iWARP the kernel moves the queue pair. */
	if (!device || vbd_device_port(device, vbd_pv_id_port_num(request->id), &port, NULL) ||
		vbd_pv_init_qp_attr(request->id, &attr, &mask, NULL) || !(mask & IBV_QP_PATH_MTU))
		return VBD_OK;
	bytes = vbd_mtu_bytes((int)attr.path_mtu);
	if (!port.active_mtu_bytes || bytes <= port.active_mtu_bytes ||
		(params->path_mtu_bytes && params->path_mtu_bytes <= port.active_mtu_bytes))
		return VBD_OK;
	return vbd_error_set(err, VBD_E_LIMIT_REACHED,
		"the path MTU of the peer is %u bytes, and port %u of %s carries %u", bytes,
		port.port_num, name, port.active_mtu_bytes);
}

static void reject_request(
	const struct vbd_fabric *fabric, const struct vbd_pv_cm_event *request, const char *reason)
{
	uint8_t len = reason ? (uint8_t)strlen(reason) : 0;
	struct vbd_error error = {0};

	if (vbd_pv_reject(request->id, false, reason, len, &error) != VBD_OK)
		vbd_log(VBD_LOG_DEBUG, "listener", "%s", error.text);
	vbd_calls_end_id(fabric->calls, NULL, request->id);
}

void vbd_cm_listener_on_cm_event(
	struct vbd_cm_listener *listener, const struct vbd_pv_cm_event *event)
{
	const char *reason = NULL;

	/* ADDR_CHANGE is a hint only: rdma_get_cm_event(3). */
	if (event->type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		if (!listener->ops->request(listener, event, listener->ops_arg, &reason))
			reject_request(listener->fabric, event, reason);
	} else if (event->type == RDMA_CM_EVENT_DEVICE_REMOVAL) {
		/* The kernel waits until the id is destroyed. */
		vbd_cm_listener_close(listener);
		listener->ops->lost(listener, listener->ops_arg);
	} else {
		vbd_log(VBD_LOG_DEBUG, "listener", "ignores %s",
			vbd_cm_event_name((int)event->type));
	}
}
