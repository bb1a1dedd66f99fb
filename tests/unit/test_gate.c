/* SPDX-License-Identifier: Apache-2.0 */
/* The gate of a listener lets connect requests in by networks, rate, and numbers of connections. */
#include "daemon/connections/gate.h"

#include "base/clock.h"
#include "tests/unit/unit.h"

#include <arpa/inet.h>

static struct sockaddr_storage at(const char *text)
{
	struct sockaddr_storage storage = {0};
	struct sockaddr_in *v4 = (struct sockaddr_in *)&storage;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&storage;

	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1)
		storage.ss_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1)
		storage.ss_family = AF_INET6;
	else
		fail_msg("%s is no address", text);
	return storage;
}

static enum vbd_connect_refusal ask(struct vbd_gate *gate, const char *peer, uint64_t now_ns)
{
	struct sockaddr_storage addr = at(peer);

	return vbd_gate_check(gate, (const struct sockaddr *)&addr, NULL, now_ns);
}

static void enter(struct vbd_gate *gate, const char *peer)
{
	struct sockaddr_storage addr = at(peer);

	assert_true(vbd_gate_enter(gate, (const struct sockaddr *)&addr));
}

static void leave(struct vbd_gate *gate, const char *peer)
{
	struct sockaddr_storage addr = at(peer);

	vbd_gate_leave(gate, (const struct sockaddr *)&addr);
}

static void allow(struct vbd_gate *gate, const char *net)
{
	assert_true(vbd_gate_net_parse(net, &gate->rules.allow[gate->rules.allow_count++]));
}

TEST(test_gate__texts_of_networks)
{
	static const char *const good[] = {"0.0.0.0/0", "10.0.0.0/8", "192.0.2.128/25", "192.0.2.1",
		"::/0", "fd00::/8", "fe80::5054:ff:fe12:3456", "2001:db8::/33", "8000::/1"};
	static const char *const bad[] = {"", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1",
		"10.0.0.0/ 8", "10.0.0.0/8x", "10.0.0.1/8", "10.0.0/8", "fd00::/129", "fd00::1/8",
		"host", "10.0.1", "010.0.0.0/8", "0.0.0.0", "224.0.0.1/32", "255.255.255.255",
		"ff02::1", "fe80::1%eth0", "10.0.0.0/18446744073709551624",
		"0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000"};
	char text[VBD_GATE_NET_TEXT_BYTES];
	struct vbd_gate_net net;

	for (size_t i = 0; i < VBD_ARRAY_LEN(good); i++) {
		assert_true(vbd_gate_net_parse(good[i], &net));
		assert_string_equal(vbd_gate_net_format(&net, text), good[i]);
	}
	for (size_t i = 0; i < VBD_ARRAY_LEN(bad); i++) {
		if (vbd_gate_net_parse(bad[i], &net))
			fail_msg("'%s' is taken for a network", bad[i]);
	}
}

TEST(test_gate__without_rules_everybody_comes_in)
{
	struct vbd_gate gate = {0};

	for (int i = 0; i < 1000; i++)
		assert_int_equal(ask(&gate, "192.0.2.1", 1), VBD_CONNECT_REFUSAL_NONE);
	assert_int_equal(ask(&gate, "fd00::1", 1), VBD_CONNECT_REFUSAL_NONE);
}

TEST(test_gate__only_networks_of_allow_come_in)
{
	struct vbd_gate gate = {0};

	allow(&gate, "10.1.0.0/16");
	allow(&gate, "192.0.2.128/25");
	allow(&gate, "fd00:1::/33");
	assert_int_equal(ask(&gate, "10.1.255.1", 1), VBD_CONNECT_REFUSAL_NONE);
	assert_int_equal(ask(&gate, "10.2.0.1", 1), VBD_CONNECT_REFUSAL_NOT_ALLOWED);
	assert_int_equal(ask(&gate, "192.0.2.128", 1), VBD_CONNECT_REFUSAL_NONE);
	assert_int_equal(ask(&gate, "192.0.2.127", 1), VBD_CONNECT_REFUSAL_NOT_ALLOWED);
	assert_int_equal(ask(&gate, "fd00:1:7fff::1", 1), VBD_CONNECT_REFUSAL_NONE);
	assert_int_equal(ask(&gate, "fd00:1:8000::1", 1), VBD_CONNECT_REFUSAL_NOT_ALLOWED);
	/* A listener on :: sees an IPv4 peer as a mapped address. */
	assert_int_equal(ask(&gate, "::ffff:10.1.0.1", 1), VBD_CONNECT_REFUSAL_NONE);
	assert_int_equal(ask(&gate, "::ffff:10.2.0.1", 1), VBD_CONNECT_REFUSAL_NOT_ALLOWED);
}

TEST(test_gate__a_gid_of_allow_comes_in)
{
	static const uint8_t gid[16] = {
		0xfe, 0x80, [8] = 0x50, 0x54, 0, 0xff, 0xfe, 0x12, 0x34, 0x56};
	const struct sockaddr_storage peer = at("192.0.2.1");
	const struct sockaddr *addr = (const struct sockaddr *)&peer;
	struct vbd_gate gate = {0};

	allow(&gate, "fe80::5054:ff:fe12:3456");
	assert_int_equal(vbd_gate_check(&gate, addr, gid, 1), VBD_CONNECT_REFUSAL_NONE);
	assert_int_equal(vbd_gate_check(&gate, addr, NULL, 1), VBD_CONNECT_REFUSAL_NOT_ALLOWED);
	gate.rules.allow_count = 0;
	allow(&gate, "fe80::5054:ff:fe12:3457");
	assert_int_equal(vbd_gate_check(&gate, addr, gid, 1), VBD_CONNECT_REFUSAL_NOT_ALLOWED);
}

TEST(test_gate__connections_are_counted_by_peer_and_in_all)
{
	struct vbd_gate gate = {.rules = {.max_connections = 3, .max_per_peer = 2}};

	enter(&gate, "192.0.2.1");
	assert_int_equal(ask(&gate, "192.0.2.1", 1), VBD_CONNECT_REFUSAL_NONE);
	enter(&gate, "192.0.2.1");
	assert_int_equal(ask(&gate, "192.0.2.1", 1), VBD_CONNECT_REFUSAL_PER_PEER);
	assert_int_equal(ask(&gate, "::ffff:192.0.2.1", 1), VBD_CONNECT_REFUSAL_PER_PEER);
	assert_int_equal(ask(&gate, "192.0.2.2", 1), VBD_CONNECT_REFUSAL_NONE);
	enter(&gate, "192.0.2.2");
	assert_int_equal(ask(&gate, "192.0.2.3", 1), VBD_CONNECT_REFUSAL_CONNECTIONS);
	leave(&gate, "192.0.2.1");
	assert_int_equal(ask(&gate, "192.0.2.1", 1), VBD_CONNECT_REFUSAL_NONE);
	leave(&gate, "192.0.2.1");
	leave(&gate, "192.0.2.2");
	assert_int_equal(gate.connections, 0);
	assert_null(gate.peers);
	enter(&gate, "fd00::1");
	enter(&gate, "fd00::2");
	vbd_gate_fini(&gate);
	assert_null(gate.peers);
}

TEST(test_gate__a_burst_comes_in_and_then_the_rate)
{
	struct vbd_gate gate = {.rules = {.connects_per_s = 10, .connects_burst = 3}};
	const uint64_t each_ns = VBD_NS_PER_S / 10;
	uint64_t now_ns = 5 * VBD_NS_PER_S;

	for (int i = 0; i < 3; i++)
		assert_int_equal(ask(&gate, "192.0.2.1", now_ns), VBD_CONNECT_REFUSAL_NONE);
	assert_int_equal(ask(&gate, "192.0.2.1", now_ns), VBD_CONNECT_REFUSAL_RATE);
	assert_int_equal(ask(&gate, "192.0.2.1", now_ns + each_ns - 1), VBD_CONNECT_REFUSAL_RATE);
	assert_int_equal(ask(&gate, "192.0.2.1", now_ns + each_ns), VBD_CONNECT_REFUSAL_NONE);
	assert_int_equal(ask(&gate, "192.0.2.1", now_ns + each_ns), VBD_CONNECT_REFUSAL_RATE);
	/* Refused requests use nothing up, and a long rest is one burst. */
	now_ns += 100 * VBD_NS_PER_S;
	for (int i = 0; i < 3; i++)
		assert_int_equal(ask(&gate, "192.0.2.1", now_ns), VBD_CONNECT_REFUSAL_NONE);
	assert_int_equal(ask(&gate, "192.0.2.1", now_ns), VBD_CONNECT_REFUSAL_RATE);
}

TEST(test_gate__strangers_do_not_use_the_rate_up)
{
	struct vbd_gate gate = {.rules = {.connects_per_s = 1}};

	allow(&gate, "10.0.0.0/8");
	for (int i = 0; i < 10; i++)
		assert_int_equal(ask(&gate, "192.0.2.1", 1), VBD_CONNECT_REFUSAL_NOT_ALLOWED);
	assert_int_equal(ask(&gate, "10.0.0.1", 1), VBD_CONNECT_REFUSAL_NONE);
	assert_int_equal(ask(&gate, "10.0.0.1", 1), VBD_CONNECT_REFUSAL_RATE);
}
