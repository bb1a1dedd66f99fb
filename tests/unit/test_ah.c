/* SPDX-License-Identifier: Apache-2.0 */
/* The sender of a datagram, as the GRH before it tells. */
#include "rdma/ud/ah.h"

#include "tests/unit/unit.h"

#include <infiniband/verbs.h>

#include <arpa/inet.h>

static void expect_gid(const struct vbd_ah_source *source, const char *wanted)
{
	char text[INET6_ADDRSTRLEN];
	uint8_t gid[16];

	assert_true(vbd_ah_source_gid(source, gid));
	assert_string_equal(inet_ntop(AF_INET6, gid, text, sizeof(text)), wanted);
}

/* RFC 791; the sum of its 16-bit words is 0xffff with this checksum. */
static const uint8_t ipv4_header[20] = {
	0x45, 0, 0, 0x54, 0, 0, 0x40, 0, 0x40, 0x11, 0xb6, 0x95, 192, 0, 2, 1, 192, 0, 2, 2};

static struct vbd_ah_source from_ipv6(void)
{
	struct vbd_ah_source source = {.wc_flags = IBV_WC_GRH, .grh = {[0] = 0x60}};

	assert_int_equal(inet_pton(AF_INET6, "2001:db8::5", source.grh + 8), 1);
	return source;
}

TEST(test_ah__a_datagram_without_a_grh_tells_no_sender)
{
	struct vbd_ah_source source = from_ipv6();
	uint8_t gid[16];

	source.wc_flags = 0;
	assert_false(vbd_ah_source_gid(&source, gid));
}

TEST(test_ah__the_sender_has_the_gid_of_the_grh)
{
	struct vbd_ah_source source = from_ipv6();

	expect_gid(&source, "2001:db8::5");
}

TEST(test_ah__an_ipv4_header_at_the_end_gives_a_mapped_address)
{
	struct vbd_ah_source source = {.wc_flags = IBV_WC_GRH};

	memcpy(source.grh + 20, ipv4_header, sizeof(ipv4_header));
	expect_gid(&source, "::ffff:192.0.2.1");
}

TEST(test_ah__an_ipv4_header_counts_after_bytes_that_look_like_ipv6)
{
	struct vbd_ah_source source = from_ipv6();

	memcpy(source.grh + 20, ipv4_header, sizeof(ipv4_header));
	expect_gid(&source, "::ffff:192.0.2.1");
	source.grh[20 + 10]++; /* another checksum: it is no header */
	expect_gid(&source, "2001:db8::4500:54");
}

TEST(test_ah__a_path_has_each_part_of_the_attributes)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.grh = {.sgid_index = 2, .hop_limit = 3, .traffic_class = 4, .flow_label = 5},
		.dlid = 6,
		.sl = 7,
		.src_path_bits = 8,
		.static_rate = 9,
		.port_num = 10,
	};
	struct vbd_ah_path path;

	for (uint8_t i = 0; i < 16; i++)
		attr.grh.dgid.raw[i] = (uint8_t)(100 + i);
	path = vbd_ah_path_of(&attr);
	assert_true(path.global);
	assert_int_equal(path.sgid_index, 2);
	assert_int_equal(path.hop_limit, 3);
	assert_int_equal(path.traffic_class, 4);
	assert_int_equal(path.flow_label, 5);
	assert_int_equal(path.dlid, 6);
	assert_int_equal(path.sl, 7);
	assert_int_equal(path.src_path_bits, 8);
	assert_int_equal(path.static_rate, 9);
	assert_int_equal(path.port_num, 10);
	assert_memory_equal(path.dgid, attr.grh.dgid.raw, 16);
}
