/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/transfer_check.h"

#include "rdma/caps.h"
#include "rdma/device.h"
#include "rdma/pd.h"

#include <stdio.h>

static enum vbd_status check_connection(
	const struct vbd_connection *connection, struct vbd_error *err)
{
	const struct vbd_conn *conn = connection->conn;

	if (conn->state == VBD_CONN_ESTABLISHED)
		return VBD_OK;
	return vbd_error_input(err, VBD_E_WRONG_STATE, "/connection",
		"connection %llu is %s; data moves only while it is established",
		(unsigned long long)connection->object.id, vbd_conn_state_name(conn->state));
}

static bool sends(enum vbd_op op)
{
	return op == VBD_OP_SEND || op == VBD_OP_SEND_IMM;
}

static enum vbd_status check_device(
	const struct vbd_device *device, enum vbd_op op, struct vbd_error *err)
{
	enum vbd_status status = VBD_OK;

	if (vbd_op_is_atomic(op))
		status = vbd_device_require(device, VBD_CAP_ATOMICS, err);
	else if (op == VBD_OP_SEND_IMM)
		status = vbd_device_require(device, VBD_CAP_SEND_IMM, err);
	else if (op == VBD_OP_WRITE_IMM)
		status = vbd_device_require(device, VBD_CAP_WRITE_IMM, err);
	if (status && err)
		(void)snprintf(err->pointer, sizeof(err->pointer), "/op");
	return status;
}

static enum vbd_status check_op(const struct vbd_transfer_spec *spec, struct vbd_error *err)
{
	const struct vbd_conn *conn = spec->connection->conn;
	enum vbd_qp_transport transport = conn->params.transport;

	if (!vbd_op_allowed(spec->op, transport))
		return vbd_error_input(err, VBD_E_NOT_SUPPORTED, "/op",
			"connection %llu is %s, which knows no %s",
			(unsigned long long)spec->connection->object.id,
			vbd_transport_name(transport), vbd_op_name(spec->op));
	if (spec->op == VBD_OP_RECV && conn->params.service != VBD_SERVICE_NONE)
		return vbd_error_input(err, VBD_E_WRONG_STATE, "/connection",
			"connection %llu has the service %s, which takes the messages; recv needs "
			"the service none",
			(unsigned long long)spec->connection->object.id,
			vbd_service_name(conn->params.service));
	return check_device(conn->device, spec->op, err);
}

static enum vbd_status check_pd(const struct vbd_buffer *buffer,
	const struct vbd_connection *connection, struct vbd_error *err)
{
	char one[40], other[40];

	(void)snprintf(one, sizeof(one), "buffer %llu", (unsigned long long)buffer->object.id);
	(void)snprintf(
		other, sizeof(other), "connection %llu", (unsigned long long)connection->object.id);
	return vbd_pd_require_same(buffer->mem.pd, one, connection->conn->pd, other, err);
}

static enum vbd_status check_buffer(const struct vbd_connection *connection,
	const struct vbd_buffer *buffer, const char *pointer, struct vbd_error *err)
{
	const struct vbd_device *device = connection->conn->device;

	if (buffer->state != VBD_BUFFER_READY)
		return vbd_error_input(err, VBD_E_WRONG_STATE, pointer,
			"buffer %llu is %s; only a ready one can be used",
			(unsigned long long)buffer->object.id,
			vbd_buffer_state_name(buffer->state));
	if (buffer->mem.pd->device != device)
		return vbd_error_input(err, VBD_E_BAD_VALUE, pointer,
			"buffer %llu is registered with %s, connection %llu runs on %s",
			(unsigned long long)buffer->object.id, buffer->device_name,
			(unsigned long long)connection->object.id, device->name);
	return check_pd(buffer, connection, err);
}

/* How many ranges a work request may be of. */
static uint32_t ranges_max(const struct vbd_conn *conn, enum vbd_op op)
{
	const struct vbd_channel_limits *limits = &conn->channel->limits;
	uint32_t of_reads = conn->device->attr.max_sge_rd;

	if (op == VBD_OP_RECV)
		return limits->max_recv_sge;
	if (op == VBD_OP_READ && of_reads && of_reads < limits->max_send_sge)
		return of_reads;
	return limits->max_send_sge;
}

static enum vbd_status check_ranges(const struct vbd_transfer_spec *spec, struct vbd_error *err)
{
	uint32_t max = ranges_max(spec->connection->conn, spec->op);
	enum vbd_status status = VBD_OK;

	if (spec->range_count > max)
		return vbd_error_input(err, VBD_E_OUT_OF_RANGE, "/sges",
			"%u ranges; a %s over connection %llu has %u at most", spec->range_count,
			vbd_op_name(spec->op), (unsigned long long)spec->connection->object.id,
			max);
	for (uint32_t i = 0; i < spec->range_count && !status; i++) {
		const struct vbd_transfer_range *range = &spec->ranges[i];
		char pointer[40];

		(void)snprintf(pointer, sizeof(pointer), "/sges/%u/buffer", i);
		status = check_buffer(spec->connection, range->buffer, pointer, err);
		(void)snprintf(pointer, sizeof(pointer), "/sges/%u/length_bytes", i);
		if (!status)
			status = vbd_buffer_check_range(
				range->buffer, range->offset, range->length_bytes, pointer, err);
	}
	return status;
}

static enum vbd_status check_memory(const struct vbd_transfer_spec *spec, struct vbd_error *err)
{
	enum vbd_status status;

	if (!spec->buffer)
		return check_ranges(spec, err);
	status = check_buffer(spec->connection, spec->buffer, "/buffer", err);
	return status ? status
		      : vbd_buffer_check_range(spec->buffer, spec->offset, spec->length_bytes,
				"/length_bytes", err);
}

uint64_t vbd_transfer_message_bytes(const struct vbd_transfer_spec *spec)
{
	if (spec->message_bytes && spec->message_bytes < spec->length_bytes)
		return spec->message_bytes;
	return spec->length_bytes ? spec->length_bytes : 1;
}

bool vbd_transfer_is_whole(const struct vbd_transfer_spec *spec)
{
	return sends(spec->op) || spec->op == VBD_OP_RECV || vbd_op_is_atomic(spec->op) ||
	       spec->range_count;
}

/* Of the longest work request. */
static uint64_t wr_bytes(const struct vbd_transfer_spec *spec)
{
	uint64_t most = spec->chunk_bytes;

	if (vbd_transfer_is_whole(spec))
		most = vbd_transfer_message_bytes(spec);
	return spec->length_bytes < most ? spec->length_bytes : most;
}

static enum vbd_status check_length(const struct vbd_transfer_spec *spec, struct vbd_error *err)
{
	const struct vbd_conn *conn = spec->connection->conn;
	uint32_t max_msg_bytes = conn->device->attr.max_msg_bytes;

	if (vbd_op_is_atomic(spec->op) && spec->length_bytes != VBD_ATOMIC_BYTES)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/length_bytes",
			"an atomic operation works on %d bytes, not %llu", VBD_ATOMIC_BYTES,
			(unsigned long long)spec->length_bytes);
	if (vbd_op_is_atomic(spec->op) && spec->remote_addr % VBD_ATOMIC_BYTES)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/remote/addr",
			"0x%llx is no multiple of %d, as an atomic operation needs",
			(unsigned long long)spec->remote_addr, VBD_ATOMIC_BYTES);
	if (vbd_transfer_is_whole(spec) && wr_bytes(spec) > max_msg_bytes)
		return vbd_error_input(err, VBD_E_OUT_OF_RANGE,
			spec->message_bytes ? "/message_bytes" : "/length_bytes",
			"a message of device %s has %u bytes at most", conn->device_name,
			max_msg_bytes);
	if (spec->inlined && wr_bytes(spec) > conn->params.inline_bytes)
		return vbd_error_input(err, VBD_E_OUT_OF_RANGE, "/inline",
			"%llu bytes; connection %llu has inline_bytes %u",
			(unsigned long long)wr_bytes(spec),
			(unsigned long long)spec->connection->object.id, conn->params.inline_bytes);
	return VBD_OK;
}

enum vbd_status vbd_transfer_check(const struct vbd_daemon *daemon,
	const struct vbd_transfer_spec *spec, struct vbd_error *err)
{
	uint64_t limit = daemon->config->limits.transfers;
	enum vbd_status status = vbd_daemon_accepts_work(daemon, err);

	if (!status)
		status = check_connection(spec->connection, err);
	if (!status)
		status = check_op(spec, err);
	if (!status)
		status = check_memory(spec, err);
	if (!status)
		status = check_length(spec, err);
	if (status || daemon->transfers_open < limit)
		return status;
	if (err && err->status == VBD_OK)
		err->limit = limit;
	return vbd_error_set(err, VBD_E_LIMIT_REACHED, "%u transfers are under way, the limit",
		daemon->transfers_open);
}
