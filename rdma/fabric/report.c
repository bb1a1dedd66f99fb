/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/fabric/report.h"

#include "rdma/device/op.h"

#include <endian.h>
#include <string.h>

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
