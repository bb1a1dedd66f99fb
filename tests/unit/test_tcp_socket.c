/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's table of TCP sockets: lines of Linux 6.1, and sockets of this process. */
#include "daemon/observe/look.h"

#include "base/attr.h"
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct sockaddr_storage end_of(const char *text, uint16_t port)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_storage addr = {0};

	if (inet_pton(AF_INET, text, &four.sin_addr) == 1)
		memcpy(&addr, &four, sizeof(four));
	else if (inet_pton(AF_INET6, text, &six.sin6_addr) == 1)
		memcpy(&addr, &six, sizeof(six));
	else
		fail_msg("%s is no address", text);
	return addr;
}

/* A line for the connection from port 33000 to 8080 of the same address, as the kernel of this host
 * would write it. */
static bool read_line(const char *ends, const char *state_and_queues, struct vbd_tcp_socket *socket)
{
	const struct sockaddr_storage local = end_of("10.77.0.1", 33000);
	const struct sockaddr_storage peer = end_of("10.77.0.1", 8080);
	char address[9], line[200];

	(void)snprintf(address, sizeof(address), "%08X",
		((const struct sockaddr_in *)&peer)->sin_addr.s_addr);
	(void)snprintf(line, sizeof(line),
		"   3: %s:%.4s %s:%.4s %s 00:00000000 00000000     0        0 0 1 0 20 4 0 10 -1",
		address, ends, address, ends + 5, state_and_queues);
	return vbd_tcp_socket_read(
		line, (const struct sockaddr *)&local, (const struct sockaddr *)&peer, socket);
}

static void test_tcp_socket__a_line_tells_what_nobody_has_read_and_who_hung_up(void **state)
{
	const struct {
		const char *ends, *rest;
		bool found, hung_up;
		uint64_t unread_bytes;
	} rows[] = {
		{"80E8 1F90", "01 00000000:00000000", true, false, 0},
		{"80E8 1F90", "01 00000007:0000001B", true, false, 27},
		/* the end of the stream counts as a byte */
		{"80E8 1F90", "08 00000000:0000001C", true, true, 27},
		{"80E8 1F90", "08 00000000:00000001", true, true, 0},
		{"80E8 1F90", "08 00000000:00000000", true, true, 0},
		/* connecting, and closed from here */
		{"80E8 1F90", "02 00000000:00000000", false, false, 0},
		{"80E8 1F90", "09 00000000:0000001C", false, false, 0},
		/* the socket of the peer on this host, and another connection */
		{"1F90 80E8", "01 00000000:0000001B", false, false, 0},
		{"80E9 1F90", "01 00000000:0000001B", false, false, 0},
		{"80E8 1F91", "01 00000000:0000001B", false, false, 0},
		{"80E8 1F90", "?", false, false, 0},
	};

	(void)state;
	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		struct vbd_tcp_socket socket = {0};

		assert_int_equal(read_line(rows[i].ends, rows[i].rest, &socket), rows[i].found);
		assert_int_equal(socket.hung_up, rows[i].hung_up);
		assert_int_equal(socket.unread_bytes, rows[i].unread_bytes);
	}
}

static void test_tcp_socket__what_is_no_line_is_no_socket(void **state)
{
	static const char *const lines[] = {
		"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt", "",
		"\n", "3:", "   3: : : 01 00000000:00000001",
		"   3: 00000000000000000000000000000000000000000000000000000000:1F90 0:1 01 0:1"};
	const struct sockaddr_storage end = end_of("10.77.0.1", 8080);
	const struct sockaddr_storage portless = end_of("10.77.0.1", 0);
	const struct sockaddr_storage none = {0};
	struct vbd_tcp_socket socket;

	(void)state;
	for (size_t i = 0; i < VBD_ARRAY_LEN(lines); i++)
		assert_false(vbd_tcp_socket_read(lines[i], (const struct sockaddr *)&end,
			(const struct sockaddr *)&end, &socket));
	assert_false(vbd_tcp_socket_find(
		(const struct sockaddr *)&portless, (const struct sockaddr *)&end, &socket));
	assert_false(vbd_tcp_socket_find(
		(const struct sockaddr *)&end, (const struct sockaddr *)&none, &socket));
}

struct ends {
	int here, there;
	struct sockaddr_storage local, peer;
};

/* Skips the test where the host has no such address. */
static struct ends connect_on(const char *address)
{
	struct ends ends = {.peer = end_of(address, 0)};
	socklen_t len = sizeof(ends.peer);
	int listener = socket(ends.peer.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (listener < 0 || bind(listener, (struct sockaddr *)&ends.peer, len) != 0)
		skip();
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&ends.peer, &len), 0);
	ends.here = socket(ends.peer.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(ends.here, (struct sockaddr *)&ends.peer, len), 0);
	len = sizeof(ends.local);
	assert_int_equal(getsockname(ends.here, (struct sockaddr *)&ends.local, &len), 0);
	ends.there = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(ends.there >= 0);
	assert_int_equal(close(listener), 0);
	return ends;
}

static bool find(const struct ends *ends, struct vbd_tcp_socket *ret_socket)
{
	return vbd_tcp_socket_find((const struct sockaddr *)&ends->local,
		(const struct sockaddr *)&ends->peer, ret_socket);
}

static void hears_and_is_left(const char *address)
{
	struct ends ends = connect_on(address);
	struct vbd_tcp_socket socket;

	assert_true(find(&ends, &socket));
	assert_int_equal(socket.unread_bytes, 0);
	assert_false(socket.hung_up);
	assert_int_equal(write(ends.there, "HTTP/1.1 400", 12), 12);
	assert_true(find(&ends, &socket));
	assert_int_equal(socket.unread_bytes, 12);
	assert_false(socket.hung_up);
	assert_int_equal(close(ends.there), 0);
	assert_true(find(&ends, &socket));
	assert_int_equal(socket.unread_bytes, 12);
	assert_true(socket.hung_up);
	assert_int_equal(close(ends.here), 0);
	assert_false(find(&ends, &socket));
}

static void test_tcp_socket__the_kernel_knows_sockets_of_ipv4(void **state)
{
	(void)state;
	hears_and_is_left("127.0.0.1");
}

static void test_tcp_socket__the_kernel_knows_sockets_of_ipv6(void **state)
{
	(void)state;
	hears_and_is_left("::1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_tcp_socket__a_line_tells_what_nobody_has_read_and_who_hung_up),
		cmocka_unit_test(test_tcp_socket__what_is_no_line_is_no_socket),
		cmocka_unit_test(test_tcp_socket__the_kernel_knows_sockets_of_ipv4),
		cmocka_unit_test(test_tcp_socket__the_kernel_knows_sockets_of_ipv6),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
