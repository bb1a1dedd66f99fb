/* SPDX-License-Identifier: Apache-2.0 */
#include "base/addr.h"

#include "tests/unit/unit.h"

#include <netdb.h>
#include <netinet/in.h>

TEST(test_addr__a_numeric_address_is_read_and_written)
{
	static const char *const texts[] = {"192.0.2.1", "2001:db8::1", "::", "fe80::1%lo"};
	struct sockaddr_storage addr;
	char text[VBD_ADDR_TEXT_BYTES];

	for (size_t i = 0; i < VBD_ARRAY_LEN(texts); i++) {
		assert_true(vbd_addr_parse(texts[i], 7471, &addr));
		assert_int_equal(addr.ss_family, i == 0 ? AF_INET : AF_INET6);
		assert_string_equal(vbd_addr_format(&addr, text), texts[i]);
		assert_int_equal(vbd_addr_port(&addr), 7471);
		vbd_addr_set_port(&addr, 258);
		assert_int_equal(vbd_addr_port(&addr), 258);
	}
	assert_false(vbd_addr_parse("host.example", 1, &addr));
	assert_false(vbd_addr_parse("192.0.2.256", 1, &addr));
}

TEST(test_addr__no_address_has_no_text_and_no_port)
{
	struct sockaddr_storage none = {0};
	char text[VBD_ADDR_TEXT_BYTES] = "x";

	assert_string_equal(vbd_addr_format(&none, text), "");
	assert_int_equal(vbd_addr_port(&none), 0);
	vbd_addr_set_port(&none, 7);
	assert_int_equal(vbd_addr_port(&none), 0);
}

TEST(test_addr__an_own_address_is_numeric_and_names_its_interface)
{
	struct sockaddr_storage addr = {0};
	struct vbd_error err = {0};

	assert_int_equal(vbd_addr_parse_own("192.0.2.1", 0, "/addr", &addr, &err), VBD_OK);
	assert_int_equal(addr.ss_family, AF_INET);
	addr.ss_family = 0;
	assert_int_equal(vbd_addr_parse_own("here", 0, "/addr", &addr, &err), VBD_E_BAD_VALUE);
	assert_string_equal(err.pointer, "/addr");
	assert_string_equal(err.text,
		"'here' is not a numeric IPv4 or IPv6 address of a host, as inet_pton(3) takes it");
	err = (struct vbd_error){0};
	assert_int_equal(vbd_addr_parse_own("fe80::1", 0, "/a", &addr, &err), VBD_E_BAD_VALUE);
	assert_string_equal(err.text,
		"'fe80::1' is link-local: name the interface as well, as in fe80::1%eth0");
	assert_int_equal(addr.ss_family, 0);
}

TEST(test_addr__a_gid_is_written_as_an_ipv6_address)
{
	static const uint8_t gid[16] = {0xfe, 0x80, [15] = 9};
	uint8_t group[16];
	char text[VBD_ADDR_TEXT_BYTES] = "x";

	assert_string_equal(vbd_addr_format_gid(gid, text), "fe80::9");
	assert_false(vbd_addr_gid_is_group(gid));
	assert_true(vbd_addr_parse_gid("::ffff:224.0.0.1", group));
	assert_true(vbd_addr_gid_is_group(group));
	assert_true(vbd_addr_parse_gid("ff0e::1", group));
	assert_true(vbd_addr_gid_is_group(group));
}

/* getaddrinfo(3) takes those of the first line as inet_aton(3) does. */
static const char *const no_addresses[] = {"10.76.1", "010.76.0.2", "1", "0x0a.1.1.1", "0xa", "0x",
	"10.76.0.1.", "010.0.0.1.", "1.2.3.4.5", "192.0.2.256", "host.1", "host.0xff", "",
	" 192.0.2.1", "192.0.2.1 ", "192.0.2.1/24", "192.0.2.1:7", "192.0.2.1%lo", "[::1]",
	"::1::", "fd00::1%lo", "fe80::1%", ":", ".", "..", "a..", "::ffff:10.76.1", "user@host",
	"fe80::1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb"};

TEST(test_addr__what_inet_pton_refuses_is_neither_an_address_nor_a_name)
{
	struct sockaddr_storage addr;
	struct vbd_addrs addrs;
	uint8_t bytes[16];
	int errnum;

	for (size_t i = 0; i < VBD_ARRAY_LEN(no_addresses); i++) {
		const char *text = no_addresses[i];
		struct vbd_error err = {0};

		if (vbd_addr_parse(text, 1, &addr) || vbd_addr_parse_bytes(text, bytes) ||
			vbd_addr_is_own(text))
			fail_msg("'%s' is taken for an address", text);
		if (vbd_addr_is_host(text))
			fail_msg("'%s' is taken for a host", text);
		assert_int_equal(vbd_addr_read_host(text, 1, "/a", &addr, &err), VBD_E_BAD_VALUE);
		assert_string_equal(err.pointer, "/a");
		assert_int_equal(vbd_addr_look_up(text, 1, AF_UNSPEC, &addrs, &errnum), EAI_NONAME);
		assert_int_equal(addrs.count, 0);
	}
}

TEST(test_addr__a_name_is_read_as_no_address)
{
	static const char *const names[] = {"host", "host.example", "host.example.", "a.b-c_d.e1",
		"1host", "10.76.0.1.example", "0xfg", "xn--bcher-kva.example", "0-1"};
	struct sockaddr_storage addr;
	struct vbd_error err = {0};

	for (size_t i = 0; i < VBD_ARRAY_LEN(names); i++) {
		assert_true(vbd_addr_is_host(names[i]));
		assert_false(vbd_addr_is_own(names[i]));
		memset(&addr, 0xff, sizeof(addr));
		assert_int_equal(vbd_addr_read_host(names[i], 1, "/dst_addr", &addr, &err), VBD_OK);
		assert_int_equal(addr.ss_family, 0);
	}
}

TEST(test_addr__an_address_of_no_single_host_is_no_peer)
{
	static const struct {
		const char *text;
		bool own;
	} rows[] = {
		{"0.0.0.0", true},
		{"::", true},
		{"::ffff:0.0.0.0", true},
		{"255.255.255.255", false},
		{"224.0.0.1", false},
		{"239.255.255.255", false},
		{"ff02::1", false},
		{"ff02::1%lo", false},
		{"ff0e::1", false},
		{"::ffff:224.0.0.1", false},
		{"::ffff:255.255.255.255", false},
	};
	struct sockaddr_storage addr;
	struct vbd_addrs addrs;
	int errnum;

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		assert_true(vbd_addr_parse(rows[i].text, 1, &addr));
		assert_false(vbd_addr_is_host(rows[i].text));
		assert_int_equal(vbd_addr_is_own(rows[i].text), rows[i].own);
		assert_int_equal(
			vbd_addr_look_up(rows[i].text, 1, AF_UNSPEC, &addrs, &errnum), EAI_NODATA);
	}
}

TEST(test_addr__a_mapped_address_is_the_ipv4_address)
{
	static const char *const texts[] = {
		"::ffff:192.0.2.1", "::FFFF:c000:0201", "0:0:0:0:0:ffff:192.0.2.1"};
	char text[VBD_ADDR_TEXT_BYTES];
	struct sockaddr_storage addr;
	uint8_t bytes[16], gid[16];

	for (size_t i = 0; i < VBD_ARRAY_LEN(texts); i++) {
		assert_true(vbd_addr_parse(texts[i], 7, &addr));
		assert_int_equal(addr.ss_family, AF_INET);
		assert_int_equal(vbd_addr_port(&addr), 7);
		assert_string_equal(vbd_addr_format(&addr, text), "192.0.2.1");
		assert_true(vbd_addr_parse_gid(texts[i], gid));
		assert_true(vbd_addr_parse_bytes("192.0.2.1", bytes));
		assert_memory_equal(gid, bytes, sizeof(gid));
	}
	assert_false(vbd_addr_parse_gid("192.0.2.1", gid));
}

TEST(test_addr__an_interface_is_named_or_numbered)
{
	struct sockaddr_storage addr;
	struct vbd_error err = {0};

	assert_true(vbd_addr_parse("fe80::1%1", 0, &addr));
	assert_int_equal(((struct sockaddr_in6 *)&addr)->sin6_scope_id, 1);
	assert_true(vbd_addr_parse("ff02::1%lo", 0, &addr));
	assert_false(vbd_addr_parse("fe80::1%4294967295", 0, &addr));
	assert_false(vbd_addr_parse("fe80::1%18446744073709551617", 0, &addr));
	assert_false(vbd_addr_parse("fe80::1%no-such-if", 0, &addr));
	assert_true(vbd_addr_is_host("fe80::1%no-such-if"));
	assert_true(vbd_addr_is_own("fe80::1%no-such-if"));
	assert_int_equal(
		vbd_addr_read_host("fe80::1%no-such-if", 0, "/a", &addr, &err), VBD_E_BAD_VALUE);
	assert_string_equal(err.text, "'fe80::1%no-such-if' names no interface of this host");
	err = (struct vbd_error){0};
	assert_int_equal(
		vbd_addr_parse_own("fe80::1%no-such-if", 0, "/a", &addr, &err), VBD_E_BAD_VALUE);
	assert_string_equal(err.pointer, "/a");
}

TEST(test_addr__a_look_up_keeps_to_its_family)
{
	struct vbd_addrs addrs;
	int errnum;

	assert_int_equal(vbd_addr_look_up("127.0.0.1", 9, AF_INET, &addrs, &errnum), 0);
	assert_int_equal(addrs.count, 1);
	assert_int_equal(vbd_addr_port(&addrs.items[0]), 9);
	assert_int_equal(vbd_addr_look_up("127.0.0.1", 9, AF_INET6, &addrs, &errnum), EAI_NODATA);
	assert_int_equal(vbd_addr_look_up("localhost", 9, AF_INET, &addrs, &errnum), 0);
	assert_int_equal(addrs.items[0].ss_family, AF_INET);
}
