/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/addr.h"

#include "tests/unit/unit.h"

#include <string.h>

static void test_addr__a_numeric_address_is_read_and_written(void **state)
{
	static const char *const texts[] = {"192.0.2.1", "2001:db8::1", "::", "fe80::1%lo"};
	struct sockaddr_storage addr;
	char text[VBD_ADDR_TEXT_BYTES];

	(void)state;
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

static void test_addr__no_address_has_no_text_and_no_port(void **state)
{
	struct sockaddr_storage none = {0};
	char text[VBD_ADDR_TEXT_BYTES] = "x";

	(void)state;
	assert_string_equal(vbd_addr_format(&none, text), "");
	assert_int_equal(vbd_addr_port(&none), 0);
	vbd_addr_set_port(&none, 7);
	assert_int_equal(vbd_addr_port(&none), 0);
}

static void test_addr__an_own_address_is_numeric_and_names_its_interface(void **state)
{
	struct sockaddr_storage addr = {0};
	struct vbd_error err = {0};

	(void)state;
	assert_int_equal(vbd_addr_parse_own("192.0.2.1", "/addr", &addr, &err), VBD_OK);
	assert_int_equal(addr.ss_family, AF_INET);
	addr.ss_family = 0;
	assert_int_equal(vbd_addr_parse_own("here", "/addr", &addr, &err), VBD_E_BAD_VALUE);
	assert_string_equal(err.pointer, "/addr");
	assert_string_equal(err.text, "'here' is not a numeric IPv4 or IPv6 address of this host");
	err = (struct vbd_error){0};
	assert_int_equal(vbd_addr_parse_own("fe80::1", "/a", &addr, &err), VBD_E_BAD_VALUE);
	assert_string_equal(err.text,
		"'fe80::1' is link-local: name the interface as well, as in fe80::1%eth0");
	assert_int_equal(addr.ss_family, 0);
}

static void test_addr__a_gid_is_written_as_an_ipv6_address(void **state)
{
	static const uint8_t gid[16] = {0xfe, 0x80, [15] = 9};
	char text[VBD_ADDR_TEXT_BYTES] = "x";

	(void)state;
	assert_string_equal(vbd_addr_format_gid(gid, text), "fe80::9");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addr__a_numeric_address_is_read_and_written),
		cmocka_unit_test(test_addr__no_address_has_no_text_and_no_port),
		cmocka_unit_test(test_addr__an_own_address_is_numeric_and_names_its_interface),
		cmocka_unit_test(test_addr__a_gid_is_written_as_an_ipv6_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
