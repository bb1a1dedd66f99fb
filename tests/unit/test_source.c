/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/device/source.h"

#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netpacket/packet.h>

#define LOOPBACK_INDEX 1 /* index of "lo", in every network namespace */

static struct sockaddr_storage addr_of(const char *text, uint32_t scope_id)
{
	struct sockaddr_storage addr = {.ss_family = strchr(text, ':') ? AF_INET6 : AF_INET};
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&addr;
	struct sockaddr_in *four = (struct sockaddr_in *)&addr;

	if (addr.ss_family == AF_INET6) {
		assert_int_equal(inet_pton(AF_INET6, text, &six->sin6_addr), 1);
		six->sin6_scope_id = scope_id;
	} else {
		assert_int_equal(inet_pton(AF_INET, text, &four->sin_addr), 1);
	}
	return addr;
}

static struct vbd_gid gid_of(const char *text, const char *type)
{
	struct vbd_gid gid = {.type = type, .netdev = "lo", .vlan_id = -1};

	assert_int_equal(inet_pton(AF_INET6, text, gid.raw), 1);
	return gid;
}

static const char *picked(const struct vbd_gid *gids, size_t count,
	const struct ifaddrs *interfaces, const char *towards, uint32_t scope_id)
{
	static char text[INET6_ADDRSTRLEN + 12];
	struct sockaddr_storage to = addr_of(towards, scope_id);
	char bare[INET6_ADDRSTRLEN];
	struct sockaddr_storage addr;

	if (!vbd_source_pick(gids, count, interfaces, (const struct sockaddr *)&to, &addr))
		return "none";
	if (addr.ss_family == AF_INET)
		return inet_ntop(
			AF_INET, &((struct sockaddr_in *)&addr)->sin_addr, text, sizeof(text));
	(void)inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&addr)->sin6_addr, bare, sizeof(bare));
	(void)snprintf(
		text, sizeof(text), "%s%%%u", bare, ((struct sockaddr_in6 *)&addr)->sin6_scope_id);
	return text;
}

TEST(test_source__a_gid_of_roce_is_an_address)
{
	const struct vbd_gid gids[] = {
		gid_of("fe80::5054:ff:fe4c:101", "roce_v2"),
		gid_of("::ffff:10.76.0.1", "roce_v2"),
		gid_of("fd00:76::1", "roce_v1"),
	};

	assert_string_equal(picked(gids, 3, NULL, "10.76.0.9", 0), "10.76.0.1");
	assert_string_equal(picked(gids, 3, NULL, "0.0.0.0", 0), "10.76.0.1");
	assert_string_equal(picked(gids, 3, NULL, "fd00:76::9", 0), "fd00:76::1%0");
	assert_string_equal(picked(gids, 3, NULL, "::", 0), "fd00:76::1%0");
	assert_string_equal(picked(gids, 1, NULL, "10.76.0.9", 0), "none");
	assert_string_equal(picked(gids, 0, NULL, "10.76.0.9", 0), "none");
}

TEST(test_source__a_link_local_peer_wants_its_own_interface)
{
	const struct vbd_gid gid = gid_of("fe80::1", "roce_v2");

	assert_string_equal(picked(&gid, 1, NULL, "fe80::2", LOOPBACK_INDEX), "fe80::1%1");
	assert_string_equal(picked(&gid, 1, NULL, "fe80::2", 0), "fe80::1%1");
	assert_string_equal(picked(&gid, 1, NULL, "fe80::2", LOOPBACK_INDEX + 1), "none");
	assert_string_equal(picked(&gid, 1, NULL, "fd00::2", 0), "none");
}

/* 10.76.0.1/24, 10.76.7.1/24 and fd00:76::1/64, fd00:76:7::1/64, of an interface and its VLAN. */
TEST(test_source__an_address_of_the_same_network_is_preferred)
{
	static const char *const addrs[] = {"10.76.0.1", "10.76.7.1", "fd00:76::1", "fd00:76:7::1"};
	struct vbd_gid gids[] = {
		gid_of("::ffff:10.76.0.1", "roce_v2"),
		gid_of("fd00:76::1", "roce_v2"),
		gid_of("::ffff:10.76.7.1", "roce_v2"),
		gid_of("fd00:76:7::1", "roce_v2"),
	};
	struct sockaddr_storage four = addr_of("255.255.255.0", 0);
	struct sockaddr_storage six = addr_of("ffff:ffff:ffff:ffff::", 0);
	struct sockaddr_storage own[VBD_ARRAY_LEN(addrs)];
	struct ifaddrs list[VBD_ARRAY_LEN(addrs)] = {0};
	static char name[] = "eth7";

	for (size_t i = 0; i < VBD_ARRAY_LEN(addrs); i++) {
		own[i] = addr_of(addrs[i], 0);
		list[i].ifa_name = name;
		list[i].ifa_addr = (struct sockaddr *)&own[i];
		list[i].ifa_netmask = (struct sockaddr *)(i < 2 ? &four : &six);
		list[i].ifa_next = i + 1 < VBD_ARRAY_LEN(addrs) ? &list[i + 1] : NULL;
	}
	assert_string_equal(picked(gids, 4, list, "10.76.7.9", 0), "10.76.7.1");
	assert_string_equal(picked(gids, 4, list, "10.76.0.9", 0), "10.76.0.1");
	assert_string_equal(picked(gids, 4, list, "192.0.2.1", 0), "10.76.0.1");
	assert_string_equal(picked(gids, 4, list, "fd00:76:7::9", 0), "fd00:76:7::1%0");
	assert_string_equal(picked(gids, 4, list, "fd00:99::9", 0), "fd00:76::1%0");
}

/* RFC 3927 2.6: hosts beyond the link know nothing of 169.254.0.0/16. */
TEST(test_source__an_ipv4_link_local_address_is_for_peers_on_the_link)
{
	const struct vbd_gid gids[] = {
		gid_of("::ffff:169.254.7.1", "roce_v2"),
		gid_of("::ffff:10.76.0.1", "roce_v2"),
	};

	assert_string_equal(picked(gids, 2, NULL, "10.76.0.9", 0), "10.76.0.1");
	assert_string_equal(picked(gids, 2, NULL, "0.0.0.0", 0), "10.76.0.1");
	assert_string_equal(picked(gids, 2, NULL, "169.254.9.9", 0), "169.254.7.1");
	/* Without another address that one is better than none. */
	assert_string_equal(picked(gids, 1, NULL, "10.76.0.9", 0), "169.254.7.1");
	assert_string_equal(picked(&gids[1], 1, NULL, "169.254.9.9", 0), "10.76.0.1");
}

static const char *is_down(const struct ifaddrs *interfaces, const char *towards)
{
	static char text[INET_ADDRSTRLEN];
	struct sockaddr_storage to = addr_of(towards, 0);
	const struct sockaddr *own =
		vbd_source_that_is_down(interfaces, (const struct sockaddr *)&to);

	return own ? inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)own)->sin_addr,
			     text, sizeof(text))
		   : "none";
}

TEST(test_source__an_interface_that_is_down_is_found_by_its_network)
{
	struct sockaddr_storage mask = addr_of("255.255.255.0", 0);
	struct sockaddr_storage own[] = {addr_of("10.76.0.1", 0), addr_of("10.76.7.1", 0)};
	struct ifaddrs list[3] = {{.ifa_next = &list[1]}, {.ifa_next = &list[2]}};

	for (size_t i = 0; i < 2; i++) {
		list[i + 1].ifa_addr = (struct sockaddr *)&own[i];
		list[i + 1].ifa_netmask = (struct sockaddr *)&mask;
	}
	list[1].ifa_flags = IFF_UP;
	assert_string_equal(is_down(list, "10.76.7.9"), "10.76.7.1");
	assert_string_equal(is_down(list, "10.76.0.9"), "none");
	assert_string_equal(is_down(list, "10.76.1.9"), "none");
	assert_string_equal(is_down(list, "fd00:76::9"), "none");
}

/* An interface with a hardware address and IP addresses, as getifaddrs(3) lists them. */
struct interface {
	union {
		struct sockaddr_ll ll;
		uint8_t bytes[offsetof(struct sockaddr_ll, sll_addr) + 20];
	} hardware;
	struct sockaddr_storage four, six;
	struct ifaddrs list[4];
};

static void describe(struct interface *interface, const void *hardware, uint8_t hardware_bytes)
{
	static char name[] = "eth7";

	memset(interface, 0, sizeof(*interface));
	interface->hardware.ll.sll_family = AF_PACKET;
	interface->hardware.ll.sll_halen = hardware_bytes;
	memcpy(interface->hardware.bytes + offsetof(struct sockaddr_ll, sll_addr), hardware,
		hardware_bytes);
	interface->four = addr_of("10.77.0.1", 0);
	interface->six = addr_of("fd00:77::1", 0);
	interface->list[1].ifa_addr = (struct sockaddr *)&interface->hardware;
	interface->list[2].ifa_addr = (struct sockaddr *)&interface->six;
	interface->list[3].ifa_addr = (struct sockaddr *)&interface->four;
	for (size_t i = 0; i < 4; i++) {
		interface->list[i].ifa_name = name;
		interface->list[i].ifa_next = i < 3 ? &interface->list[i + 1] : NULL;
	}
}

TEST(test_source__an_iwarp_device_is_found_by_its_ethernet_address)
{
	static const uint8_t mac[] = {0x52, 0x54, 0, 0x4c, 2, 1};
	struct vbd_gid gid = {.type = "ib", .vlan_id = -1};
	struct interface interface;

	memcpy(gid.raw, mac, sizeof(mac));
	describe(&interface, mac, sizeof(mac));
	assert_string_equal(picked(&gid, 1, interface.list, "10.77.0.9", 0), "10.77.0.1");
	assert_string_equal(picked(&gid, 1, interface.list, "fd00::9", 0), "fd00:77::1%0");
	assert_string_equal(picked(&gid, 1, interface.list, "fe80::9", 0), "none");
	gid.raw[5]++;
	assert_string_equal(picked(&gid, 1, interface.list, "10.77.0.9", 0), "none");
}

TEST(test_source__an_infiniband_port_is_found_by_the_gid_of_ipoib)
{
	uint8_t hardware[20] = {0x80, 0, 0, 0x48};
	struct vbd_gid gid = gid_of("fe80::2:c903:1:2", "ib");
	struct interface interface;

	memcpy(hardware + 4, gid.raw, sizeof(gid.raw));
	describe(&interface, hardware, sizeof(hardware));
	assert_string_equal(picked(&gid, 1, interface.list, "10.77.0.9", 0), "10.77.0.1");
	gid.raw[15]++;
	assert_string_equal(picked(&gid, 1, interface.list, "10.77.0.9", 0), "none");
}

static const struct vbd_gid *sender(const struct vbd_gid *gids, size_t count,
	const struct ifaddrs *interfaces, const char *from, uint32_t scope_id)
{
	struct sockaddr_storage addr = addr_of(from, scope_id);

	return vbd_source_find(gids, count, interfaces, (const struct sockaddr *)&addr);
}

TEST(test_source__an_address_is_sent_from_with_its_own_gid)
{
	const struct vbd_gid gids[] = {
		gid_of("::ffff:10.76.0.1", "roce_v1"),
		gid_of("::ffff:10.76.0.1", "roce_v2"),
		gid_of("::ffff:10.76.0.2", "roce_v1"),
		gid_of("fe80::1", "roce_v2"),
	};

	assert_ptr_equal(sender(gids, 4, NULL, "10.76.0.1", 0), &gids[1]);
	assert_ptr_equal(sender(gids, 4, NULL, "10.76.0.2", 0), &gids[2]);
	assert_null(sender(gids, 4, NULL, "10.76.0.3", 0));
	assert_null(sender(gids, 4, NULL, "fd00::1", 0));
	assert_ptr_equal(sender(gids, 4, NULL, "fe80::1", LOOPBACK_INDEX), &gids[3]);
	assert_null(sender(gids, 4, NULL, "fe80::1", LOOPBACK_INDEX + 1));
	assert_true(vbd_source_has_interface(gids, 4, NULL, "lo"));
	assert_false(vbd_source_has_interface(gids, 4, NULL, "eth7"));
}

TEST(test_source__an_iwarp_device_sends_from_what_its_interface_has)
{
	static const uint8_t mac[] = {0x52, 0x54, 0, 0x4c, 2, 1};
	struct vbd_gid gid = {.type = "ib", .vlan_id = -1};
	struct interface interface;

	memcpy(gid.raw, mac, sizeof(mac));
	describe(&interface, mac, sizeof(mac));
	assert_ptr_equal(sender(&gid, 1, interface.list, "10.77.0.1", 0), &gid);
	assert_ptr_equal(sender(&gid, 1, interface.list, "fd00:77::1", 0), &gid);
	assert_null(sender(&gid, 1, interface.list, "10.77.0.9", 0));
	assert_true(vbd_source_has_interface(&gid, 1, interface.list, "eth7"));
	assert_false(vbd_source_has_interface(&gid, 1, interface.list, "eth8"));
	gid.raw[5]++;
	assert_null(sender(&gid, 1, interface.list, "10.77.0.1", 0));
	assert_false(vbd_source_has_interface(&gid, 1, interface.list, "eth7"));
}

TEST(test_source__addresses_of_no_family_are_none)
{
	const struct sockaddr none = {.sa_family = AF_UNIX};
	struct sockaddr_storage addr = addr_of("fe80::1", 0);

	assert_int_equal(vbd_sockaddr_bytes(&none), 0);
	assert_false(vbd_sockaddr_needs_scope(&none));
	assert_true(vbd_sockaddr_needs_scope((struct sockaddr *)&addr));
	addr = addr_of("fe80::1", 3);
	assert_false(vbd_sockaddr_needs_scope((struct sockaddr *)&addr));
	assert_false(vbd_sockaddr_is_any((struct sockaddr *)&addr));
	addr = addr_of("::", 0);
	assert_true(vbd_sockaddr_is_any((struct sockaddr *)&addr));
	addr = addr_of("0.0.0.0", 0);
	assert_true(vbd_sockaddr_is_any((struct sockaddr *)&addr));
}

TEST(test_source__prefixes_of_any_length_are_networks)
{
	static const struct {
		const char *mask, *near, *far;
	} rows[] = {
		{"255.255.255.255", "10.76.7.1", "10.76.7.0"},
		{"255.255.255.254", "10.76.7.0", "10.76.7.2"},
		{"255.255.128.0", "10.76.127.255", "10.76.128.1"},
		{"254.0.0.0", "11.1.1.1", "12.76.7.1"},
	};
	const struct vbd_gid gids[] = {
		gid_of("::ffff:10.76.9.9", "roce_v2"),
		gid_of("::ffff:10.76.7.1", "roce_v2"),
	};
	struct sockaddr_storage own = addr_of("10.76.7.1", 0);
	struct ifaddrs interface = {.ifa_addr = (struct sockaddr *)&own};

	/* Without a mask nobody knows what is near. */
	assert_string_equal(picked(gids, 2, &interface, "10.76.7.1", 0), "10.76.9.9");
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct sockaddr_storage mask = addr_of(rows[i].mask, 0);

		interface.ifa_netmask = (struct sockaddr *)&mask;
		assert_string_equal(picked(gids, 2, &interface, rows[i].near, 0), "10.76.7.1");
		assert_string_equal(picked(gids, 2, &interface, rows[i].far, 0), "10.76.9.9");
	}
}

TEST(test_source__what_is_picked_is_an_address_and_nothing_else)
{
	static const uint8_t mac[] = {0x52, 0x54, 0, 0x4c, 2, 1};
	const struct vbd_gid roce[] = {
		gid_of("::ffff:10.76.0.1", "roce_v2"), gid_of("fd00:76::1", "roce_v2")};
	struct vbd_gid iwarp = {.type = "ib", .vlan_id = -1};
	struct sockaddr_storage four = addr_of("10.76.0.1", 0), six = addr_of("fd00:76::1", 0);
	struct interface interface;
	struct sockaddr_storage got;

	memset(&got, 0xff, sizeof(got));
	assert_true(vbd_source_pick(roce, 2, NULL, (struct sockaddr *)&four, &got));
	assert_memory_equal(&got, &four, sizeof(got));
	memset(&got, 0xff, sizeof(got));
	assert_true(vbd_source_pick(roce, 2, NULL, (struct sockaddr *)&six, &got));
	assert_memory_equal(&got, &six, sizeof(got));
	memcpy(iwarp.raw, mac, sizeof(mac));
	describe(&interface, mac, sizeof(mac));
	memset(&got, 0xff, sizeof(got));
	assert_true(vbd_source_pick(&iwarp, 1, interface.list, (struct sockaddr *)&four, &got));
	assert_memory_equal(&got, &interface.four, sizeof(got));
	memset(&got, 0xff, sizeof(got));
	assert_true(vbd_source_of_gid(&roce[0], &got));
	assert_memory_equal(&got, &four, sizeof(got));
	assert_false(vbd_source_of_gid(&iwarp, &got));
}

TEST(test_source__addresses_are_the_same_in_all_their_bytes)
{
	static const struct {
		const char *a, *b;
		uint32_t scope_a, scope_b;
		bool same;
	} rows[] = {
		{"10.76.0.1", "10.76.0.1", 0, 0, true},
		{"10.76.0.1", "10.76.0.2", 0, 0, false},
		{"11.76.0.1", "10.76.0.1", 0, 0, false},
		{"fd00::1", "fd00::1", 0, 0, true},
		{"fd00::1", "fd00::1", 1, 2, true},
		{"fd00::1", "fd00::2", 0, 0, false},
		{"fd01::1", "fd00::1", 0, 0, false},
		{"fe80::1", "fe80::1", 2, 2, true},
		{"fe80::1", "fe80::1", 1, 2, false},
		{"::ffff:10.76.0.1", "10.76.0.1", 0, 0, false},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct sockaddr_storage a = addr_of(rows[i].a, rows[i].scope_a);
		struct sockaddr_storage b = addr_of(rows[i].b, rows[i].scope_b);

		assert_int_equal(vbd_sockaddr_is_same((struct sockaddr *)&a, (struct sockaddr *)&b),
			rows[i].same);
		assert_int_equal(vbd_sockaddr_is_same((struct sockaddr *)&b, (struct sockaddr *)&a),
			rows[i].same);
	}
	assert_int_equal(vbd_sockaddr_bytes(&(struct sockaddr){.sa_family = AF_INET}),
		sizeof(struct sockaddr_in));
	assert_int_equal(vbd_sockaddr_bytes(&(struct sockaddr){.sa_family = AF_INET6}),
		sizeof(struct sockaddr_in6));
}

TEST(test_source__a_bind_that_fails_is_judged_by_whose_address_it_is)
{
	static const struct {
		const char *addr;
		uint16_t port;
		int raw;
		enum vbd_status status;
	} rows[] = {
		{"127.0.0.1", 7471, EADDRINUSE, VBD_E_ADDRESS_IN_USE},
		{"192.0.2.1", 7471, EADDRINUSE, VBD_E_ADDRESS_IN_USE},
		{"127.0.0.1", 7471, EADDRNOTAVAIL, VBD_E_ADDRESS_IN_USE},
		{"0.0.0.0", 7471, EADDRNOTAVAIL, VBD_E_ADDRESS_IN_USE},
		{"192.0.2.1", 7471, EADDRNOTAVAIL, VBD_E_ADDRESS_NOT_AVAILABLE},
		{"127.0.0.1", 0, EADDRINUSE, VBD_E_ADDRESS_NOT_AVAILABLE},
		{"127.0.0.1", 7471, EACCES, VBD_E_ADDRESS_NOT_AVAILABLE},
	};

	struct ifaddrs *interfaces;

	assert_int_equal(getifaddrs(&interfaces), 0);
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct sockaddr_storage addr = addr_of(rows[i].addr, 0);
		struct vbd_error why = {.source = VBD_SOURCE_ERRNO, .raw = rows[i].raw}, err = {0};

		((struct sockaddr_in *)&addr)->sin_port = htons(rows[i].port);
		(void)vbd_error_set(&why, VBD_E_ADDRESS_NOT_AVAILABLE, "rdma_bind_addr: refused");
		why.call = "rdma_bind_addr";
		assert_int_equal(vbd_source_judge_bind(
					 interfaces, (struct sockaddr *)&addr, "port", &why, &err),
			rows[i].status);
		assert_int_equal(err.status, rows[i].status);
		assert_string_equal(err.call, "rdma_bind_addr");
		assert_int_equal(err.raw, rows[i].raw);
		assert_int_equal(err.source, VBD_SOURCE_ERRNO);
		if (rows[i].status != VBD_E_ADDRESS_IN_USE)
			continue;
		assert_string_equal(err.param, "port");
		assert_string_equal(err.text, "port 7471 is taken by another program or listener: "
					      "rdma_bind_addr: refused");
		/* The first cause stays, and none need be given. */
		err = (struct vbd_error){0};
		(void)vbd_error_set(&err, VBD_E_INTERNAL, "first");
		(void)!vbd_source_judge_bind(
			interfaces, (struct sockaddr *)&addr, "port", &why, &err);
		assert_string_equal(err.text, "first");
		assert_int_equal(vbd_source_judge_bind(
					 interfaces, (struct sockaddr *)&addr, "port", &why, NULL),
			rows[i].status);
	}
	freeifaddrs(interfaces);
}
