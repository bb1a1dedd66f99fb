/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/fabric/report.h"

#include "base/log.h"
#include "rdma/device/op.h"
#include "rdma/device/source.h"
#include "rdma/fabric/fabric.h"
#include "rdma/provider/ask.h"

#include <assert.h>
#include <endian.h>
#include <netinet/in.h>

/* Requests that may wait in the kernel, which drops further ones silently. */
#define BACKLOG 64

static void close_report_port(struct vbd_report_port *port)
{
	vbd_calls_end_id(port->fabric->calls, &port->account, port->cm_id);
	vbd_account_close(&port->account);
	vbd_list_remove(&port->link);
	port->fabric->report_port_count--;
	free(port);
}

static bool has_open_port(const struct vbd_fabric *fabric, const struct sockaddr_storage *local)
{
	vbd_list_for_each_of (struct vbd_report_port, port, link, &fabric->report_ports) {
		if (vbd_sockaddr_is_same(
			    (const struct sockaddr *)&port->addr, (const struct sockaddr *)local))
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

static enum vbd_status open_port_at(
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

/* ENODEV: no port is free without a device; the first one may be when a device has come. */
static bool open_any_port(struct vbd_report_port *port)
{
	for (unsigned int i = 0; i < VBD_PV_REPORT_PORTS; i++) {
		struct vbd_error error = {0};

		if (open_port_at(port, (uint16_t)(VBD_PV_REPORT_PORT + i), &error) == VBD_OK)
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
		has_open_port(fabric, local))
		return true;
	port = calloc(1, sizeof(*port));
	if (!port)
		return false;
	port->tag.kind = VBD_CM_REPORT_PORT;
	port->fabric = fabric;
	port->addr = *local;
	if (!open_any_port(port)) {
		vbd_account_close(&port->account);
		free(port);
		return false;
	}
	vbd_list_append(&fabric->report_ports, &port->link);
	fabric->report_port_count++;
	return true;
}

static void answer_request(const struct vbd_fabric *fabric, const struct vbd_pv_cm_event *request)
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
		answer_request(port->fabric, event);
		vbd_calls_end_id(port->fabric->calls, NULL, event->id);
	} else if (event->type == RDMA_CM_EVENT_DEVICE_REMOVAL) {
		/* The kernel waits until the id is destroyed. */
		close_report_port(port);
	}
}

void vbd_report_ports_device_removing(struct vbd_fabric *fabric, const struct vbd_device *device)
{
	vbd_list_for_each_of (struct vbd_report_port, port, link, &fabric->report_ports) {
		const char *name = vbd_device_of_id(&fabric->devices, port->cm_id);

		if (name && strcmp(name, device->name) == 0)
			close_report_port(port);
	}
}

void vbd_report_ports_close(struct vbd_fabric *fabric)
{
	vbd_list_for_each_of (struct vbd_report_port, port, link, &fabric->report_ports)
		close_report_port(port);
}

#define MAGIC	"VBSD"
#define VERSION 1

enum { KNOWN = 1, ENDED = 2, FAILED = 4, INBOX_FULL = 16, REFUSED = 32 };

/* The bytes of a report: numbers in network byte order, names filled up with zeros. */
struct wire {
	char magic[4];
	uint8_t version, bits;
	uint16_t path_mtu_bytes;
	uint32_t lqpn, rqpn;
	uint64_t length_bytes, remote_addr;
	uint32_t rkey, recv_size_bytes;
	/* Earlier versions wrote into the zeros what was wrong with the memory that the other side
	 * had asked for: nobody reads that, since a peer could try keys by asking. */
	uint8_t zeros[8];
	char op[32]; /* "": none, or one that this version does not know */
	uint8_t more_zeros[16];
	char reason[32]; /* as `op` */
	uint64_t uptime_ms;
};

static_assert(sizeof(struct wire) == VBD_REPORT_BYTES, "there is no padding");

VBD_ENUM_NAMES(vbd_report_memory_name, enum vbd_report_memory, VBD_REPORT_MEMORY_MAP)

static void copy_name(char name[32], const char *text)
{
	memcpy(name, text, strnlen(text, 32));
}

void vbd_report_write(const struct vbd_report *report, uint8_t bytes[VBD_REPORT_BYTES])
{
	struct wire wire = {
		.magic = MAGIC,
		.version = VERSION,
		.bits = (uint8_t)((report->known ? KNOWN : 0) | (report->ended ? ENDED : 0) |
				  (report->failed ? FAILED : 0) |
				  (report->inbox_full ? INBOX_FULL : 0) |
				  (report->refused ? REFUSED : 0)),
		.path_mtu_bytes = htobe16((uint16_t)report->path_mtu_bytes),
		.lqpn = htobe32(report->lqpn),
		.rqpn = htobe32(report->rqpn),
		.length_bytes = htobe64(report->length_bytes),
		.remote_addr = htobe64(report->remote_addr),
		.rkey = htobe32(report->rkey),
		.recv_size_bytes = htobe32(report->recv_size_bytes),
		.uptime_ms = htobe64(report->uptime_ms),
	};

	if (report->op >= 0)
		copy_name(wire.op, vbd_op_name((enum vbd_op)report->op));
	if (report->reason != VBD_REASON_NONE)
		copy_name(wire.reason, vbd_reason_name(report->reason));
	memcpy(bytes, &wire, sizeof(wire));
}

static int op_by_name(const char name[32])
{
	for (int op = 0; op < VBD_OP_COUNT; op++) {
		if (strncmp(name, vbd_op_name((enum vbd_op)op), 32) == 0)
			return op;
	}
	return -1;
}

static enum vbd_reason reason_by_name(const char name[32])
{
	for (enum vbd_reason i = VBD_REASON_NONE + 1; i < VBD_REASON_COUNT; i++) {
		if (strncmp(name, vbd_reason_name(i), 32) == 0)
			return i;
	}
	return VBD_REASON_NONE;
}

bool vbd_report_read(const uint8_t *bytes, size_t count, struct vbd_report *ret_report)
{
	struct wire wire;

	if (count < sizeof(wire))
		return false;
	memcpy(&wire, bytes, sizeof(wire));
	if (memcmp(wire.magic, MAGIC, sizeof(wire.magic)) != 0 || wire.version != VERSION)
		return false;
	*ret_report = (struct vbd_report){
		.known = wire.bits & KNOWN,
		.ended = wire.bits & ENDED,
		.failed = wire.bits & FAILED,
		.inbox_full = wire.bits & INBOX_FULL,
		.refused = wire.bits & REFUSED,
		.path_mtu_bytes = be16toh(wire.path_mtu_bytes),
		.lqpn = be32toh(wire.lqpn),
		.rqpn = be32toh(wire.rqpn),
		.reason = reason_by_name(wire.reason),
		.op = op_by_name(wire.op),
		.length_bytes = be64toh(wire.length_bytes),
		.remote_addr = be64toh(wire.remote_addr),
		.rkey = be32toh(wire.rkey),
		.recv_size_bytes = be32toh(wire.recv_size_bytes),
		.uptime_ms = be64toh(wire.uptime_ms),
	};
	return true;
}
