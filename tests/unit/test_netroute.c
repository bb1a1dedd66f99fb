/* SPDX-License-Identifier: Apache-2.0 */
/* Against the real kernel: the loopback interface is always there. */
#include "rdma/provider/ask.h"

#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>

static struct sockaddr_storage four(const char *text)
{
	struct sockaddr_storage addr = {.ss_family = AF_INET};

	assert_int_equal(inet_pton(AF_INET, text, &((struct sockaddr_in *)&addr)->sin_addr), 1);
	return addr;
}

static struct sockaddr_storage six(const char *text)
{
	struct sockaddr_storage addr = {.ss_family = AF_INET6};

	assert_int_equal(inet_pton(AF_INET6, text, &((struct sockaddr_in6 *)&addr)->sin6_addr), 1);
	return addr;
}

static struct vbd_pv_netroute netroute_to(
	const struct sockaddr_storage *dst, const struct sockaddr_storage *src)
{
	struct vbd_pv_netroute netroute;
	struct vbd_error err = {0};

	if (vbd_pv_find_netroute((const struct sockaddr *)dst, (const struct sockaddr *)src,
		    &netroute, &err) != VBD_OK)
		fail_msg("%s", err.text);
	return netroute;
}

TEST(test_netroute__loopback_is_this_host)
{
	const struct sockaddr_storage dst = four("127.0.0.1");
	const struct vbd_pv_netroute netroute = netroute_to(&dst, NULL);

	assert_int_equal(netroute.route_errnum, 0);
	assert_true(netroute.local);
	assert_false(netroute.gateway);
	assert_string_equal(netroute.netdev, "lo");
	assert_true(netroute.mtu_bytes > 0);
	assert_memory_equal(&netroute.src, &dst, sizeof(struct sockaddr_in));
	assert_memory_equal(&netroute.next, &dst, sizeof(struct sockaddr_in));
	assert_null(netroute.neighbour);
	assert_int_equal(netroute.hwaddr_bytes, 0);
}

TEST(test_netroute__without_a_descriptor_it_says_so)
{
	const struct sockaddr_storage dst = four("127.0.0.1");
	struct vbd_pv_netroute netroute;
	struct vbd_error err = {0};
	struct rlimit before, none;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){0, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(vbd_pv_find_netroute((const struct sockaddr *)&dst, NULL, &netroute, &err),
		VBD_E_FD_LIMIT);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(err.raw, EMFILE);
}

/* A kernel without IPv6 finds no route, and reports nothing else. */
TEST(test_netroute__the_ipv6_loopback_is_too)
{
	const struct sockaddr_storage dst = six("::1");
	const struct vbd_pv_netroute netroute = netroute_to(&dst, NULL);

	if (netroute.route_errnum) {
		assert_string_equal(netroute.netdev, "");
		return;
	}
	assert_true(netroute.local);
	assert_string_equal(netroute.netdev, "lo");
	assert_memory_equal(&netroute.src, &dst, sizeof(struct sockaddr_in6));
}

TEST(test_netroute__a_source_that_is_not_ours_has_no_route)
{
	const struct sockaddr_storage dst = four("127.0.0.1");
	const struct sockaddr_storage src = four("192.0.2.1"); /* for documentation only */
	const struct vbd_pv_netroute netroute = netroute_to(&dst, &src);

	assert_int_not_equal(netroute.route_errnum, 0);
	assert_false(netroute.local);
	assert_string_equal(netroute.netdev, "");
}

TEST(test_netroute__a_source_of_any_is_none)
{
	const struct sockaddr_storage dst = four("127.0.0.1");
	const struct sockaddr_storage any = {0};
	const struct vbd_pv_netroute netroute = netroute_to(&dst, &any);

	assert_int_equal(netroute.route_errnum, 0);
	assert_true(netroute.local);
}
