/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of this host that no device serves, and errors of the CM that say so. */
#include "rdma/fabric/fabric.h"

#include "rdma/conn/conn_parts.h"
#include "tests/unit/rig.h"

#include <arpa/inet.h>

static struct sockaddr_storage addr_of(const char *text)
{
	struct sockaddr_storage addr = {.ss_family = strchr(text, ':') ? AF_INET6 : AF_INET};

	assert_int_equal(inet_pton(addr.ss_family, text,
				 addr.ss_family == AF_INET6
					 ? (void *)&((struct sockaddr_in6 *)&addr)->sin6_addr
					 : (void *)&((struct sockaddr_in *)&addr)->sin_addr),
		1);
	return addr;
}

static void assert_served(const struct rig *rig, const char *text)
{
	const struct sockaddr_storage addr = addr_of(text);
	struct vbd_error err = {0};

	assert_int_equal(
		vbd_reach_check_own(rig->fabric, (const struct sockaddr *)&addr, "addr", &err),
		VBD_OK);
	assert_string_equal(err.text, "");
}

static void assert_not_served(const struct rig *rig, const char *text, const char *why)
{
	const struct sockaddr_storage addr = addr_of(text);
	struct vbd_error err = {0};

	assert_int_equal(
		vbd_reach_check_own(rig->fabric, (const struct sockaddr *)&addr, "addr", &err),
		VBD_E_ADDRESS_NOT_AVAILABLE);
	assert_string_equal(err.param, "addr");
	assert_string_equal(err.text, why);
}

RIG_TEST(test_reach__an_address_that_no_device_serves_is_refused_with_those_that_are)
{
	assert_served(rig, "0.0.0.0");
	assert_served(rig, "::");
	assert_served(rig, "10.0.0.1");
	assert_not_served(rig, "127.0.0.1",
		"no RDMA device serves 127.0.0.1, the loopback; addresses of this host with RDMA: "
		"10.0.0.1 (fake0)");
	/* The loopback interface has all of 127.0.0.0/8, and nothing beside it. */
	assert_not_served(rig, "127.9.9.9",
		"no RDMA device serves 127.9.9.9, the loopback; addresses of this host with RDMA: "
		"10.0.0.1 (fake0)");
	assert_not_served(rig, "192.0.2.1",
		"no interface of this host has 192.0.2.1; addresses of this host with RDMA: "
		"10.0.0.1 (fake0)");
	assert_not_served(rig, "2001:db8::1",
		"no interface of this host has 2001:db8::1; addresses of this host with RDMA: none "
		"of this family");
	(void)fake_device_add("fake1");
	unit_rescan(rig->fabric);
	assert_not_served(rig, "192.0.2.1",
		"no interface of this host has 192.0.2.1; addresses of this host with RDMA: "
		"10.0.0.1 (fake0), 10.0.0.2 (fake1)");
}

RIG_TEST(test_reach__only_a_loopback_destination_is_this_host)
{
	static const struct {
		const char *addr;
		enum vbd_status status;
	} rows[] = {
		{"127.0.0.1", VBD_E_ADDRESS_NOT_AVAILABLE},
		{"127.255.0.1", VBD_E_ADDRESS_NOT_AVAILABLE},
		{"126.255.255.255", VBD_OK},
		{"128.0.0.1", VBD_OK},
		{"192.0.2.1", VBD_OK},
		{"::1", VBD_E_ADDRESS_NOT_AVAILABLE},
		{"::2", VBD_OK},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		const struct sockaddr_storage addr = addr_of(rows[i].addr);

		assert_int_equal(vbd_reach_check_dst(rig->fabric, (const struct sockaddr *)&addr,
					 "dst_addr", NULL),
			rows[i].status);
	}
}

RIG_TEST(test_reach__a_device_serves_all_addresses_of_its_interface)
{
	rig->device->gids[0].ndev_ifindex = 1; /* "lo", in every network namespace */
	assert_served(rig, "127.0.0.1");
}

RIG_TEST(test_reach__a_device_that_does_not_say_may_serve_it)
{
	fake_fail_next("ibv_query_gid_table", EIO);
	assert_served(rig, "127.0.0.1");
	/* The GID of iWARP over an interface without a hardware address tells nothing. */
	rig_make_iwarp(rig);
	rig->device->gids[0].gid_type = IBV_GID_TYPE_IB;
	rig->device->gids[0].gid.raw[0] = 0x52;
	assert_served(rig, "127.0.0.1");
	assert_not_served(rig, "192.0.2.1",
		"no interface of this host has 192.0.2.1; addresses of this host with RDMA: none "
		"of this family");
}

RIG_TEST(test_reach__without_a_device_there_is_another_problem)
{
	fake_device_unplug(rig->device);
	unit_rescan(rig->fabric);
	rig_settle(rig);
	assert_served(rig, "127.0.0.1");
}

/* Errors of the CM. */

RIG_TEST(test_reach__an_address_error_has_the_reason_of_its_status)
{
	static const struct {
		int raw;
		enum vbd_status status;
		const char *text;
		bool hint;
	} rows[] = {
		{-EMFILE, VBD_E_FD_LIMIT,
			"librdmacm can't open the device of the address: no file descriptor is "
			"left",
			false},
		{-1, VBD_E_ADDR_ERROR, "librdmacm can't open the device of the address", false},
		{-ENODEV, VBD_E_ADDR_ERROR,
			"the interface that leads to the address has no RDMA device (ENODEV)",
			true},
		{-ETIMEDOUT, VBD_E_ADDR_ERROR, NULL, false},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		const struct vbd_pv_cm_event event = {
			.type = RDMA_CM_EVENT_ADDR_ERROR, .status = rows[i].raw};
		struct vbd_error error;

		vbd_cm_error_of_event(rig->fabric, &event, VBD_E_ADDR_ERROR, &error);
		assert_int_equal(error.status, rows[i].status);
		assert_int_equal(error.source, VBD_SOURCE_CM_EVENT);
		assert_int_equal(error.kind, RDMA_CM_EVENT_ADDR_ERROR);
		assert_int_equal(error.raw, rows[i].raw);
		assert_int_equal(error.hint != NULL, rows[i].hint);
		if (rows[i].text)
			assert_string_equal(error.text, rows[i].text);
	}
}

RIG_TEST(test_reach__a_failed_connect_over_iwarp_has_the_reason_of_its_errno)
{
	static const struct {
		int raw;
		enum vbd_status status;
		const char *text;
	} rows[] = {
		{ECONNREFUSED, VBD_E_REJECTED,
			"nobody listens on that port: rdma_connect: Connection refused "
			"(ECONNREFUSED)"},
		{ETIMEDOUT, VBD_E_UNREACHABLE,
			"the peer's host does not answer: rdma_connect: Connection timed out "
			"(ETIMEDOUT)"},
		{EHOSTUNREACH, VBD_E_UNREACHABLE,
			"the peer's host does not answer: rdma_connect: No route to host "
			"(EHOSTUNREACH)"},
		{ENETUNREACH, VBD_E_UNREACHABLE,
			"the peer's host does not answer: rdma_connect: Network is unreachable "
			"(ENETUNREACH)"},
		{EINVAL, VBD_E_INTERNAL, "as it was"},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct vbd_error error = {.source = VBD_SOURCE_ERRNO, .raw = rows[i].raw};
		struct vbd_error other = {.source = VBD_SOURCE_DEADLINE, .raw = rows[i].raw};

		(void)vbd_error_set(&error, VBD_E_INTERNAL, "as it was");
		error.source = VBD_SOURCE_ERRNO;
		vbd_cm_error_of_connect(&error);
		assert_int_equal(error.status, rows[i].status);
		assert_string_equal(error.text, rows[i].text);
		assert_int_equal(error.raw, rows[i].raw);
		vbd_cm_error_of_connect(&other);
		assert_int_equal(other.status, VBD_OK);
	}
}
