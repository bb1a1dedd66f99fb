/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/fabric/report.h"

#include "base/log.h"
#include "rdma/device/op.h"
#include "rdma/device/source.h"
#include "rdma/fabric/fabric.h"
#include "rdma/provider/ask.h"

#include <endian.h>
#include <netinet/in.h>

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
		is_open(fabric, local))
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
		fabric->ops->report(vbd_pv_id_peer(request->id),
			vbd_device_of_id(&fabric->devices, request->id), &theirs, &ours,
			fabric->ops_arg);

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
		const char *name = vbd_device_of_id(&fabric->devices, port_of(link)->cm_id);

		if (name && strcmp(name, device->name) == 0)
			close_port(port_of(link));
	}
}

void vbd_report_ports_close(struct vbd_fabric *fabric)
{
	vbd_list_for_each (link, &fabric->report_ports)
		close_port(port_of(link));
}

#define MAGIC	"VBSD"
#define VERSION 1

enum { KNOWN = 1, ENDED = 2, FAILED = 4, INBOX_FULL = 16, REFUSED = 32 };

enum {
	AT_VERSION = 4,
	AT_BITS = 5,
	AT_PATH_MTU = 6,
	AT_LQPN = 8,
	AT_RQPN = 12,
	AT_LENGTH = 16,
	AT_REMOTE_ADDR = 24,
	AT_RKEY = 32,
	AT_RECV_SIZE = 36,
	AT_OP = 48,
	AT_OP_END = 80,
	AT_REASON = 96,
	AT_UPTIME = 128,
};

VBD_ENUM_NAMES(vbd_report_memory_name, enum vbd_report_memory, VBD_REPORT_MEMORY_MAP)

static void put_u16(uint8_t *bytes, uint16_t number)
{
	number = htobe16(number);
	memcpy(bytes, &number, sizeof(number));
}

static void put_u32(uint8_t *bytes, uint32_t number)
{
	number = htobe32(number);
	memcpy(bytes, &number, sizeof(number));
}

static void put_u64(uint8_t *bytes, uint64_t number)
{
	number = htobe64(number);
	memcpy(bytes, &number, sizeof(number));
}

static uint16_t get_u16(const uint8_t *bytes)
{
	uint16_t number;

	memcpy(&number, bytes, sizeof(number));
	return be16toh(number);
}

static uint32_t get_u32(const uint8_t *bytes)
{
	uint32_t number;

	memcpy(&number, bytes, sizeof(number));
	return be32toh(number);
}

static uint64_t get_u64(const uint8_t *bytes)
{
	uint64_t number;

	memcpy(&number, bytes, sizeof(number));
	return be64toh(number);
}

static void put_name(uint8_t *bytes, size_t room, const char *name)
{
	memcpy(bytes, name, strnlen(name, room));
}

/* A name fills its room up with zeros. */
static bool is_name(const uint8_t *bytes, size_t room, const char *name)
{
	size_t len = strlen(name);

	return len <= room && memcmp(bytes, name, len) == 0 && (len == room || !bytes[len]);
}

void vbd_report_write(const struct vbd_report *report, uint8_t bytes[VBD_REPORT_BYTES])
{
	memset(bytes, 0, VBD_REPORT_BYTES);
	memcpy(bytes, MAGIC, strlen(MAGIC));
	bytes[AT_VERSION] = VERSION;
	bytes[AT_BITS] =
		(uint8_t)((report->known ? KNOWN : 0) | (report->ended ? ENDED : 0) |
			  (report->failed ? FAILED : 0) | (report->inbox_full ? INBOX_FULL : 0) |
			  (report->refused ? REFUSED : 0));
	put_u16(bytes + AT_PATH_MTU, (uint16_t)report->path_mtu_bytes);
	put_u32(bytes + AT_LQPN, report->lqpn);
	put_u32(bytes + AT_RQPN, report->rqpn);
	put_u64(bytes + AT_LENGTH, report->length_bytes);
	put_u64(bytes + AT_REMOTE_ADDR, report->remote_addr);
	put_u32(bytes + AT_RKEY, report->rkey);
	put_u32(bytes + AT_RECV_SIZE, report->recv_size_bytes);
	put_u64(bytes + AT_UPTIME, report->uptime_ms);
	if (report->op >= 0)
		put_name(bytes + AT_OP, AT_OP_END - AT_OP, vbd_op_name((enum vbd_op)report->op));
	if (report->reason != VBD_REASON_NONE)
		put_name(bytes + AT_REASON, AT_UPTIME - AT_REASON, vbd_reason_name(report->reason));
}

static int read_op(const uint8_t *bytes)
{
	for (int op = 0; op < VBD_OP_COUNT; op++) {
		if (is_name(bytes, AT_OP_END - AT_OP, vbd_op_name((enum vbd_op)op)))
			return op;
	}
	return -1;
}

static enum vbd_reason read_reason(const uint8_t *bytes)
{
	for (enum vbd_reason i = VBD_REASON_NONE + 1; i < VBD_REASON_COUNT; i++) {
		if (is_name(bytes, AT_UPTIME - AT_REASON, vbd_reason_name(i)))
			return i;
	}
	return VBD_REASON_NONE;
}

bool vbd_report_read(const uint8_t *bytes, size_t count, struct vbd_report *ret_report)
{
	if (count < VBD_REPORT_BYTES || memcmp(bytes, MAGIC, strlen(MAGIC)) != 0 ||
		bytes[AT_VERSION] != VERSION)
		return false;
	*ret_report = (struct vbd_report){
		.known = bytes[AT_BITS] & KNOWN,
		.ended = bytes[AT_BITS] & ENDED,
		.failed = bytes[AT_BITS] & FAILED,
		.inbox_full = bytes[AT_BITS] & INBOX_FULL,
		.refused = bytes[AT_BITS] & REFUSED,
		.path_mtu_bytes = get_u16(bytes + AT_PATH_MTU),
		.lqpn = get_u32(bytes + AT_LQPN),
		.rqpn = get_u32(bytes + AT_RQPN),
		.reason = read_reason(bytes + AT_REASON),
		.op = read_op(bytes + AT_OP),
		.length_bytes = get_u64(bytes + AT_LENGTH),
		.remote_addr = get_u64(bytes + AT_REMOTE_ADDR),
		.rkey = get_u32(bytes + AT_RKEY),
		.recv_size_bytes = get_u32(bytes + AT_RECV_SIZE),
		.uptime_ms = get_u64(bytes + AT_UPTIME),
	};
	return true;
}
