/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/fabric/report_port.h"

#include "base/attr.h"
#include "base/log.h"
#include "rdma/data/calls.h"
#include "rdma/device/device.h"
#include "rdma/device/source.h"
#include "rdma/fabric/report.h"
#include "rdma/fabric/fabric.h"
#include "rdma/provider/ask.h"
#include "rdma/provider/provider.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

/* Requests that may wait in the kernel, which drops further ones silently. */
#define BACKLOG 64

static struct vbd_report_port *port_of(struct vbd_link *link)
{
	return VBD_CONTAINER_OF(link, struct vbd_report_port, link);
}

static void close_port(struct vbd_report_port *port)
{
	vbd_calls_end_id(port->fabric->calls, &port->account, port->cm_id);
	vbd_account_close(&port->account);
	vbd_list_remove(&port->link);
	port->fabric->report_port_count--;
	free(port);
}

static bool is_open(const struct vbd_fabric *fabric, const struct sockaddr_storage *local)
{
	vbd_list_for_each (link, &fabric->report_ports) {
		if (vbd_sockaddr_is_same((const struct sockaddr *)&port_of(link)->addr,
			    (const struct sockaddr *)local))
			return true;
	}
	return false;
}

/* The id is closed by the caller if this fails. */
static enum vbd_status listen_on(
	struct vbd_report_port *port, const struct sockaddr *addr, struct vbd_error *err)
{
	enum vbd_status status = vbd_pv_create_udp_id(
		&port->account, port->fabric->cm_channel, &port->tag, &port->cm_id, err);

	if (!status)
		status = vbd_pv_bind_addr(port->cm_id, addr, err);
	return status ? status : vbd_pv_listen(port->cm_id, BACKLOG, err);
}

static enum vbd_status open_at(
	struct vbd_report_port *port, uint16_t port_num, struct vbd_error *err)
{
	struct sockaddr_storage addr = port->addr;
	enum vbd_status status;

	/* The port is at the same place in sockaddr_in and sockaddr_in6. */
	((struct sockaddr_in *)&addr)->sin_port = htons(port_num);
	status = listen_on(port, (const struct sockaddr *)&addr, err);
	if (!status)
		return VBD_OK;
	vbd_log(VBD_LOG_DEBUG, "report", "port %u: %s", port_num, err->text);
	vbd_calls_end_id(port->fabric->calls, &port->account, port->cm_id);
	port->cm_id = NULL;
	return status;
}

/* Without a device no port is free, and the first one would be when that has come. */
static bool open_any(struct vbd_report_port *port)
{
	for (unsigned int i = 0; i < VBD_PV_REPORT_PORTS; i++) {
		struct vbd_error error = {0};

		if (open_at(port, (uint16_t)(VBD_PV_REPORT_PORT + i), &error) == VBD_OK)
			return true;
		if (error.raw == ENODEV)
			return false;
	}
	return false;
}

bool vbd_report_port_open(struct vbd_fabric *fabric, const struct vbd_device *device,
	const struct sockaddr_storage *local)
{
	struct vbd_report_port *port;

	if (!fabric->cm_channel || vbd_device_is_iwarp(device) || !local->ss_family ||
		is_open(fabric, local) || fabric->report_port_count >= VBD_REPORT_PORTS_MAX)
		return true;
	port = calloc(1, sizeof(*port));
	if (!port)
		return false;
	port->tag.kind = VBD_CM_REPORT_PORT;
	port->fabric = fabric;
	port->addr = *local;
	if (!open_any(port)) {
		vbd_account_close(&port->account);
		free(port);
		return false;
	}
	vbd_list_append(&fabric->report_ports, &port->link);
	fabric->report_port_count++;
	return true;
}

static void answer(const struct vbd_fabric *fabric, const struct vbd_pv_cm_event *request)
{
	uint8_t bytes[VBD_REPORT_BYTES];
	struct vbd_report theirs, ours = {.op = -1};
	struct vbd_error error = {0};
	bool answers =
		fabric->ops->report &&
		vbd_report_read(request->private_data, request->private_data_bytes, &theirs) &&
		fabric->ops->report(vbd_pv_id_peer(request->id), vbd_pv_id_device(request->id),
			&theirs, &ours, fabric->ops_arg);

	if (answers)
		vbd_report_write(&ours, bytes);
	if (vbd_pv_reject(request->id, false, answers ? bytes : NULL, answers ? sizeof(bytes) : 0,
		    &error) != VBD_OK)
		vbd_log(VBD_LOG_DEBUG, "report", "%s", error.text);
}

void vbd_report_port_on_cm_event(struct vbd_report_port *port, const struct vbd_pv_cm_event *event)
{
	if (event->type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		answer(port->fabric, event);
		vbd_calls_end_id(port->fabric->calls, NULL, event->id);
	} else if (event->type == RDMA_CM_EVENT_DEVICE_REMOVAL) {
		/* The kernel waits until the id is destroyed. */
		close_port(port);
	}
}

void vbd_report_ports_device_removing(struct vbd_fabric *fabric, const struct vbd_device *device)
{
	vbd_list_for_each (link, &fabric->report_ports) {
		const char *name = vbd_pv_id_device(port_of(link)->cm_id);

		if (name && strcmp(name, device->name) == 0)
			close_port(port_of(link));
	}
}

void vbd_report_ports_close(struct vbd_fabric *fabric)
{
	vbd_list_for_each (link, &fabric->report_ports)
		close_port(port_of(link));
}
