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
