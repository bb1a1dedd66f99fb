/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/fabric/report.h"

#include "rdma/device/op.h"
#include "tests/unit/unit.h"

static const struct vbd_report full = {
	.known = true,
	.ended = true,
	.failed = true,
	.inbox_full = true,
	.lqpn = 0x12,
	.rqpn = 0xfffffe,
	.reason = VBD_REASON_REMOTE_ACCESS,
	.op = VBD_OP_COMPARE_SWAP,
	.length_bytes = 0x123456789a,
	.remote_addr = 0x7f0c2e400000,
	.rkey = 0x1f2e,
	.recv_size_bytes = 4096,
	.path_mtu_bytes = 1024,
	.refused = true,
	.uptime_ms = 86400000,
};

static void is_same(const struct vbd_report *a, const struct vbd_report *b)
{
	assert_int_equal(a->known, b->known);
	assert_int_equal(a->ended, b->ended);
	assert_int_equal(a->failed, b->failed);
	assert_int_equal(a->inbox_full, b->inbox_full);
	assert_int_equal(a->lqpn, b->lqpn);
	assert_int_equal(a->rqpn, b->rqpn);
	assert_int_equal(a->reason, b->reason);
	assert_int_equal(a->op, b->op);
	assert_int_equal(a->length_bytes, b->length_bytes);
	assert_int_equal(a->remote_addr, b->remote_addr);
	assert_int_equal(a->rkey, b->rkey);
	assert_int_equal(a->recv_size_bytes, b->recv_size_bytes);
	assert_int_equal(a->path_mtu_bytes, b->path_mtu_bytes);
	assert_int_equal(a->refused, b->refused);
	assert_int_equal(a->uptime_ms, b->uptime_ms);
}

static void comes_back(const struct vbd_report *report)
{
	uint8_t bytes[VBD_REPORT_BYTES];
	struct vbd_report read;

	vbd_report_write(report, bytes);
	assert_true(vbd_report_read(bytes, sizeof(bytes), &read));
	is_same(&read, report);
}

TEST(test_report__what_is_written_is_read)
{
	struct vbd_report report = full;

	comes_back(&full);
	comes_back(&(const struct vbd_report){.op = -1});
	for (enum vbd_reason i = VBD_REASON_NONE; i < VBD_REASON_COUNT; i++) {
		report.reason = i;
		comes_back(&report);
	}
	for (int op = -1; op < VBD_OP_COUNT; op++) {
		report.op = op;
		comes_back(&report);
	}
}

/* The bytes are the same on hosts of any byte order, and in every version. */
TEST(test_report__the_bytes_are_those_of_the_contract)
{
	static const uint8_t head[] = {'V', 'B', 'S', 'D', 1, 55, 4, 0, 0, 0, 0, 0x12, 0, 0xff,
		0xff, 0xfe, 0, 0, 0, 0x12, 0x34, 0x56, 0x78, 0x9a, 0, 0, 0x7f, 0x0c, 0x2e, 0x40, 0,
		0, 0, 0, 0x1f, 0x2e, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0};
	uint8_t bytes[VBD_REPORT_BYTES];

	vbd_report_write(&full, bytes);
	assert_memory_equal(bytes, head, sizeof(head));
	assert_string_equal((const char *)bytes + 48, "compare_swap");
	assert_string_equal((const char *)bytes + 96, "remote_access");
}

TEST(test_report__what_the_cm_or_a_later_version_adds_does_no_harm)
{
	uint8_t bytes[180] = {0};
	struct vbd_report read;

	vbd_report_write(&full, bytes);
	assert_true(vbd_report_read(bytes, sizeof(bytes), &read));
	is_same(&read, &full);
	bytes[5] |= 8 | 64 | 128;
	memset(bytes + VBD_REPORT_BYTES, 0xff, sizeof(bytes) - VBD_REPORT_BYTES);
	assert_true(vbd_report_read(bytes, sizeof(bytes), &read));
	is_same(&read, &full);
}

TEST(test_report__other_private_data_is_none)
{
	uint8_t bytes[VBD_REPORT_BYTES];
	struct vbd_report read;

	vbd_report_write(&full, bytes);
	assert_false(vbd_report_read(bytes, sizeof(bytes) - 1, &read));
	assert_false(vbd_report_read(bytes, 0, &read));
	bytes[4] = 2;
	assert_false(vbd_report_read(bytes, sizeof(bytes), &read));
	bytes[4] = 1;
	bytes[3] = 'd';
	assert_false(vbd_report_read(bytes, sizeof(bytes), &read));
}

/* A later version has more of them; a hostile one fills the room up. */
TEST(test_report__unknown_names_count_as_none)
{
	uint8_t bytes[VBD_REPORT_BYTES];
	struct vbd_report read;

	vbd_report_write(&full, bytes);
	memset(bytes + 48, 'x', sizeof(bytes) - 48);
	assert_true(vbd_report_read(bytes, sizeof(bytes), &read));
	assert_int_equal(read.op, -1);
	assert_int_equal(read.reason, VBD_REASON_NONE);
	assert_true(read.failed);
	vbd_report_write(&full, bytes);
	bytes[48 + strlen("compare_swap")] = 's';
	assert_true(vbd_report_read(bytes, sizeof(bytes), &read));
	assert_int_equal(read.op, -1);
}
