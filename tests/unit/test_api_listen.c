/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/listen.h"

#include "tests/unit/unit.h"

#include <unistd.h>

static void test_listen__an_address_that_no_interface_has_yet_is_bound(void **state)
{
	static const char *const absent[] = {"192.0.2.7", "2001:db8::7"}; /* RFC 5737, RFC 3849 */
	struct vbd_error err = {0};

	(void)state;
	for (size_t i = 0; i < VBD_ARRAY_LEN(absent); i++) {
		int fd = -1;

		assert_false(vbd_listen_is_own(absent[i]));
		if (vbd_listen_tcp(absent[i], 0, &fd, &err) != VBD_OK)
			fail_msg("%s", err.text);
		assert_int_not_equal(vbd_listen_port(fd), 0);
		(void)close(fd);
	}
}

static void test_listen__own_addresses_and_wildcards_are_there(void **state)
{
	(void)state;
	assert_true(vbd_listen_is_own("127.0.0.1"));
	assert_true(vbd_listen_is_own("0.0.0.0"));
	assert_true(vbd_listen_is_own("::"));
}

static void test_listen__a_port_in_use_is_refused(void **state)
{
	struct vbd_error err = {0};
	int first = -1;
	int second = -1;

	(void)state;
	assert_int_equal(vbd_listen_tcp("127.0.0.1", 0, &first, &err), VBD_OK);
	assert_int_equal(vbd_listen_tcp("127.0.0.1", vbd_listen_port(first), &second, &err),
		VBD_E_ADDRESS_IN_USE);
	(void)close(first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_listen__an_address_that_no_interface_has_yet_is_bound),
		cmocka_unit_test(test_listen__own_addresses_and_wildcards_are_there),
		cmocka_unit_test(test_listen__a_port_in_use_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
