/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses at which a listener is reached, with interfaces of this test: the linker puts
 * __wrap_getifaddrs() in place of the function of libc. */
#include "daemon/connections/listeners.h"

#include "base/clock.h"
#include "tests/unit/svc.h"

#include <fcntl.h>
#include <ifaddrs.h>
#include <unistd.h>

#define HOSTS_MAX 80

int __wrap_getifaddrs(struct ifaddrs **ret_interfaces);
void __wrap_freeifaddrs(struct ifaddrs *interfaces);

static struct {
	struct ifaddrs interfaces[HOSTS_MAX];
	struct sockaddr_storage addrs[HOSTS_MAX];
	size_t count;
	int lent;
	unsigned int read;
	bool failing, started;
	pthread_t control;
} host;
/* Held while somebody changes network interfaces. */
static pthread_mutex_t rtnl = PTHREAD_MUTEX_INITIALIZER;

int __wrap_getifaddrs(struct ifaddrs **ret_interfaces)
{
	if (host.started)
		assert_false(pthread_equal(pthread_self(), host.control));
	(void)pthread_mutex_lock(&rtnl);
	host.read++;
	(void)pthread_mutex_unlock(&rtnl);
	if (host.failing) {
		errno = ENOMEM;
		return -1;
	}
	host.lent++;
	*ret_interfaces = host.count ? host.interfaces : NULL;
	return 0;
}

void __wrap_freeifaddrs(struct ifaddrs *interfaces)
{
	host.lent -= interfaces != NULL;
}

/* An interface with the address @text; "" for one without. */
static void add_interface(const char *text)
{
	struct ifaddrs *each = &host.interfaces[host.count];

	*each = (struct ifaddrs){.ifa_name = (char *)(uintptr_t) "eth0"};
	if (*text) {
		assert_true(vbd_addr_parse(text, 0, &host.addrs[host.count]));
		each->ifa_addr = (struct sockaddr *)&host.addrs[host.count];
	}
	if (host.count)
		host.interfaces[host.count - 1].ifa_next = each;
	host.count++;
}

/* An entry of the device's table of GIDs; an IPv4 address is mapped. */
static void add_gid(struct fake_device *device, const char *text)
{
	struct ibv_gid_entry *entry = &device->gids[device->gid_count];
	struct sockaddr_storage addr;

	assert_true(device->gid_count < VBD_ARRAY_LEN(device->gids));
	assert_true(vbd_addr_parse(text, 0, &addr));
	*entry = (struct ibv_gid_entry){.gid_index = (uint32_t)device->gid_count,
		.port_num = 1,
		.gid_type = IBV_GID_TYPE_ROCE_V2};
	if (addr.ss_family == AF_INET6) {
		memcpy(entry->gid.raw, &((struct sockaddr_in6 *)&addr)->sin6_addr, 16);
	} else {
		entry->gid.raw[10] = entry->gid.raw[11] = 0xff;
		memcpy(entry->gid.raw + 12, &((struct sockaddr_in *)&addr)->sin_addr, 4);
	}
	device->gid_count++;
}

/* A listener that listens on @addr, as far as its record says. */
static struct vbd_listener *listen_on(struct svc *svc, const char *addr, enum vbd_choice v6_only)
{
	struct vbd_listener *listener = svc_listen(svc, NULL);

	assert_true(vbd_addr_parse(addr, 7471, &listener->addr));
	listener->cm_params.v6_only = v6_only;
	return listener;
}

/* @addrs: one behind the other, each with a blank */
static void expect(const struct vbd_listener *listener, const char *addrs)
{
	char found[16 * VBD_ADDR_TEXT_BYTES] = "";
	char text[VBD_ADDR_TEXT_BYTES];
	struct vbd_reach *reach;
	size_t count = vbd_listener_reach(listener, &reach), used = 0;

	for (size_t i = 0; i < count; i++) {
		assert_string_equal(reach[i].device->name, "fake0");
		used += (size_t)snprintf(found + used, sizeof(found) - used, "%s ",
			vbd_addr_format(&reach[i].addr, text));
	}
	free(reach);
	assert_string_equal(found, addrs);
	assert_int_equal(host.lent, 1);
}

static int setup(void **state)
{
	struct svc *svc;

	memset(&host, 0, sizeof(host));
	add_interface("");
	add_interface("10.0.0.1");
	add_interface("192.0.2.1");
	add_interface("fd00::1");
	add_interface("fe80::1");
	if (svc_setup(state) != 0)
		return -1;
	host.control = pthread_self();
	host.started = true;
	svc = *state;
	svc->device->gid_count = 0;
	add_gid(svc->device, "fe80::1");
	add_gid(svc->device, "10.0.0.1");
	add_gid(svc->device, "fd00::1");
	return 0;
}

#define REACH_TEST(name) TEST_WITH(name, struct svc *svc, setup, svc_teardown)

REACH_TEST(test_services_reach__an_address_is_one_of_a_device)
{
	static const struct {
		const char *addr, *reach;
	} rows[] = {
		{"10.0.0.1", "10.0.0.1 "},
		{"192.0.2.1", ""},
		{"10.0.0.2", ""},
		{"0.0.0.0", "10.0.0.1 "},
		{"fd00::1", "fd00::1 "},
		{"fd00::2", ""},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++)
		expect(listen_on(svc, rows[i].addr, VBD_CHOICE_NONE), rows[i].reach);
}

REACH_TEST(test_services_reach__a_link_local_address_has_to_be_asked_for)
{
	expect(listen_on(svc, "::", VBD_CHOICE_YES), "fd00::1 ");
	expect(listen_on(svc, "fe80::1", VBD_CHOICE_YES), "fe80::1 ");
}

REACH_TEST(test_services_reach__addresses_of_a_link_come_last)
{
	assert_true(vbd_addr_parse("169.254.7.1", 0, &host.addrs[1]));
	assert_true(vbd_addr_parse("10.0.0.1", 0, &host.addrs[2]));
	add_gid(svc->device, "169.254.7.1");
	expect(listen_on(svc, "0.0.0.0", VBD_CHOICE_NONE), "10.0.0.1 169.254.7.1 ");
}

static bool system_is_v6_only(void)
{
	int fd = open("/proc/sys/net/ipv6/bindv6only", O_RDONLY | O_CLOEXEC);
	char text = '0';

	if (fd >= 0 && read(fd, &text, 1) != 1)
		text = '0';
	if (fd >= 0)
		(void)close(fd);
	return text == '1';
}

REACH_TEST(test_services_reach__an_ipv6_listener_may_take_ipv4_too)
{
	expect(listen_on(svc, "::", VBD_CHOICE_NO), "10.0.0.1 fd00::1 ");
	expect(listen_on(svc, "::", VBD_CHOICE_YES), "fd00::1 ");
	expect(listen_on(svc, "::", VBD_CHOICE_NONE),
		system_is_v6_only() ? "fd00::1 " : "10.0.0.1 fd00::1 ");
	expect(listen_on(svc, "0.0.0.0", VBD_CHOICE_NO), "10.0.0.1 ");
}

REACH_TEST(test_services_reach__only_an_active_device_of_the_listener_counts)
{
	struct vbd_listener *listener = listen_on(svc, "0.0.0.0", VBD_CHOICE_NONE);

	(void)snprintf(listener->cm.device.name, sizeof(listener->cm.device.name), "fake1");
	expect(listener, "");
	(void)snprintf(listener->cm.device.name, sizeof(listener->cm.device.name), "fake0");
	expect(listener, "10.0.0.1 ");
	svc->device->port.state = IBV_PORT_DOWN;
	svc_ask_ports(svc);
	expect(listener, "");
	svc->device->port.state = IBV_PORT_ACTIVE;
	svc_ask_ports(svc);
	listener->state = VBD_LISTENER_LOST;
	expect(listener, "");
	listener->state = VBD_LISTENER_LISTENING;
}

static void news(struct svc *svc)
{
	vbd_fabric_forget_recent(svc->daemon->fabric);
}

REACH_TEST(test_services_reach__interfaces_that_can_not_be_read_are_read_again)
{
	struct vbd_fabric *fabric = svc->daemon->fabric;
	struct vbd_listener *listener = listen_on(svc, "0.0.0.0", VBD_CHOICE_NONE);

	assert_non_null(vbd_interfaces_known(fabric));
	host.failing = true;
	news(svc);
	SVC_UNTIL(svc, !fabric->interfaces_asked);
	assert_null(vbd_interfaces_known(fabric));
	expect(listener, "10.0.0.1 ");
	host.failing = false;
	vbd_fabric_check_network(fabric, fabric->network_at_ns);
	SVC_UNTIL(svc, vbd_interfaces_known(fabric));
	vbd_fabric_check_network(fabric, fabric->network_at_ns + 10 * VBD_NS_PER_S - 1);
	assert_non_null(vbd_interfaces_known(fabric));
	vbd_fabric_check_network(fabric, fabric->network_at_ns + 10 * VBD_NS_PER_S);
	assert_null(vbd_interfaces_known(fabric));
}

static enum vbd_status check(struct svc *svc, const char *addr)
{
	struct sockaddr_storage own;

	assert_true(vbd_addr_parse(addr, 0, &own));
	return vbd_reach_check_own(
		svc->daemon->fabric, (const struct sockaddr *)&own, "src_addr", NULL);
}

REACH_TEST(test_services_reach__while_interfaces_change_nothing_waits_or_is_refused)
{
	struct vbd_fabric *fabric = svc->daemon->fabric;
	struct vbd_listener *listener = listen_on(svc, "0.0.0.0", VBD_CHOICE_NONE);
	unsigned int before = host.read;

	assert_int_equal(check(svc, "198.51.100.1"), VBD_E_ADDRESS_NOT_AVAILABLE);
	(void)pthread_mutex_lock(&rtnl);
	news(svc);
	news(svc);
	/* An address may have come with the change. */
	assert_int_equal(check(svc, "198.51.100.1"), VBD_OK);
	expect(listener, "10.0.0.1 ");
	news(svc);
	(void)pthread_mutex_unlock(&rtnl);
	SVC_UNTIL(svc, vbd_interfaces_known(fabric));
	assert_int_equal(host.read, before + 2);
	assert_int_equal(check(svc, "198.51.100.1"), VBD_E_ADDRESS_NOT_AVAILABLE);
	fake_device_async(svc->device, IBV_EVENT_GID_CHANGE, 1);
	SVC_UNTIL(svc, fabric->interfaces_asked);
	SVC_UNTIL(svc, vbd_interfaces_known(fabric));
	assert_int_equal(host.read, before + 3);
}

REACH_TEST(test_services_reach__all_addresses_are_told_however_many)
{
	const struct vbd_listener *listener = listen_on(svc, "0.0.0.0", VBD_CHOICE_NONE);
	char text[VBD_ADDR_TEXT_BYTES];
	struct vbd_reach *reach;

	/* One address many times: an entry of the device's table is sufficient for all. */
	for (size_t count = 1; count < 70; count++) {
		assert_int_equal(vbd_listener_reach(listener, &reach), count);
		assert_string_equal(vbd_addr_format(&reach[count - 1].addr, text), "10.0.0.1");
		free(reach);
		add_interface("10.0.0.1");
	}
}
