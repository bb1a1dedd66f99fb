/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/sdnotify.h"

#include "daemon/kept/held.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Plays systemd's socket: an abstract socket of this process. */
static int listen_as_systemd(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	char name[64];
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int len = snprintf(name, sizeof(name), "@test_sdnotify_%d", getpid());

	assert_true(fd >= 0 && len > 0);
	memcpy(addr.sun_path, name, (size_t)len);
	addr.sun_path[0] = '\0';
	assert_int_equal(bind(fd, (const struct sockaddr *)&addr,
				 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)len)),
		0);
	assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
	return fd;
}

static void assert_heard(int fd, const char *text)
{
	char heard[256] = "";

	assert_true(recv(fd, heard, sizeof(heard) - 1, 0) > 0);
	assert_string_equal(heard, text);
}

TEST(test_sdnotify__systemd_gets_each_notification)
{
	int fd = listen_as_systemd();

	vbd_sdnotify_ready("no devices");
	assert_heard(fd, "READY=1\nSTATUS=no devices");
	vbd_sdnotify_alive();
	assert_heard(fd, "WATCHDOG=1");
	vbd_sdnotify_stopping(28000);
	assert_heard(fd, "STOPPING=1\nSTATUS=stopping\nEXTEND_TIMEOUT_USEC=28000000");
	(void)unsetenv("NOTIFY_SOCKET");
	(void)close(fd);
}

/* The kernel lets ten messages wait (net.unix.max_dgram_qlen). */
TEST(test_sdnotify__nothing_waits_for_a_systemd_that_does_not_read)
{
	int fd = listen_as_systemd();

	for (int i = 0; i < 2000; i++)
		vbd_sdnotify_alive();
	vbd_sdnotify_stopping(28000);
	(void)unsetenv("NOTIFY_SOCKET");
	(void)close(fd);
}

TEST(test_sdnotify__without_systemd_nothing_happens)
{
	struct vbd_sdnotify_sockets sockets = {.tcp_count = 1};
	struct vbd_error err = {0};

	vbd_sdnotify_ready("x");
	vbd_sdnotify_stopping(28000);
	vbd_sdnotify_alive();
	assert_int_equal(vbd_sdnotify_watchdog_ms(), 0);
	assert_int_equal(vbd_sdnotify_sockets(&sockets, &err), VBD_OK);
	assert_int_equal(sockets.tcp_count, 0);
	assert_int_equal(sockets.unix_fd, -1);
}

TEST(test_sdnotify__the_watchdog_is_fed_twice_as_often_as_it_bites)
{
	(void)setenv("WATCHDOG_USEC", "30000000", 1);
	assert_int_equal(vbd_sdnotify_watchdog_ms(), 15000);
	(void)setenv("WATCHDOG_USEC", "1", 1);
	assert_int_equal(vbd_sdnotify_watchdog_ms(), 1);
	(void)unsetenv("WATCHDOG_USEC");
}

/* Puts @fd at the number of systemd's n-th socket. */
static void hand_over(int fd, int n)
{
	char pid[16];
	char count[16];

	assert_int_equal(dup2(fd, 3 + n), 3 + n);
	(void)snprintf(pid, sizeof(pid), "%d", getpid());
	(void)snprintf(count, sizeof(count), "%d", n + 1);
	(void)setenv("LISTEN_PID", pid, 1);
	(void)setenv("LISTEN_FDS", count, 1);
}

static int listening_socket(int family)
{
	int fd = socket(family, SOCK_STREAM, 0);
	int high;

	assert_int_equal(listen(fd, 1), 0);
	high = fcntl(fd, F_DUPFD, 20); /* above the numbers of systemd's sockets */
	(void)close(fd);
	return high;
}

static void must_not_come(const char *name, int fd, void *arg)
{
	(void)arg;
	fail_msg("%s: %d", name, fd);
}

static void take_stored(const char *name, int fd, void *arg)
{
	assert_string_equal(name, "buffer/alice/pool");
	*(int *)arg = fd;
}

TEST(test_sdnotify__what_an_earlier_run_has_left_is_no_socket)
{
	struct vbd_sdnotify_sockets sockets = {0};
	struct vbd_error err = {0};
	int tcp = listening_socket(AF_INET);
	int memory = memfd_create("left", 0);
	int stored = -1;

	hand_over(memory, 0);
	hand_over(tcp, 1);
	(void)setenv("LISTEN_FDNAMES", "buffer/alice/pool:verbsd.socket", 1);
	assert_int_equal(vbd_sdnotify_sockets(&sockets, &err), VBD_OK);
	assert_int_equal(sockets.tcp_count, 1);
	assert_int_equal(sockets.tcp_fds[0], 4);
	vbd_sdnotify_stored(take_stored, &stored);
	assert_int_equal(stored, 3);
	assert_null(getenv("LISTEN_FDNAMES"));
	for (int fd = 3; fd < 5; fd++)
		(void)close(fd);
	(void)close(memory);
	(void)close(tcp);
}

TEST(test_sdnotify__the_store_is_known_by_a_variable)
{
	(void)setenv("FDSTORE", "16", 1);
	assert_int_equal(vbd_sdnotify_store_max(), 0);
	(void)setenv("NOTIFY_SOCKET", "/nowhere", 1);
	assert_int_equal(vbd_sdnotify_store_max(), 16);
	(void)setenv("FDSTORE", "100000", 1);
	assert_int_equal(vbd_sdnotify_store_max(), VBD_HELD_MAX);
	(void)unsetenv("FDSTORE");
	assert_int_equal(vbd_sdnotify_store_max(), 0);
	(void)unsetenv("NOTIFY_SOCKET");
}

TEST(test_sdnotify__sockets_are_told_apart_and_made_non_blocking)
{
	struct vbd_sdnotify_sockets sockets = {0};
	struct vbd_error err = {0};
	const struct sockaddr_un autobind = {.sun_family = AF_UNIX};
	int local = socket(AF_UNIX, SOCK_STREAM, 0);
	int tcp = listening_socket(AF_INET);

	assert_int_equal(bind(local, (const struct sockaddr *)&autobind, sizeof(sa_family_t)), 0);
	assert_int_equal(listen(local, 1), 0);
	hand_over(local, 0);
	hand_over(tcp, 1);
	hand_over(tcp, 2);
	assert_int_equal(vbd_sdnotify_sockets(&sockets, &err), VBD_OK);
	assert_int_equal(sockets.unix_fd, 3);
	assert_int_equal(sockets.tcp_count, 2);
	assert_int_equal(sockets.tcp_fds[0], 4);
	assert_int_equal(sockets.tcp_fds[1], 5);
	for (int fd = 3; fd < 6; fd++)
		assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	vbd_sdnotify_stored(must_not_come, NULL);
	assert_null(getenv("LISTEN_FDS"));
	for (int fd = 3; fd < 6; fd++)
		(void)close(fd);
	(void)close(local);
	(void)close(tcp);
}

TEST(test_sdnotify__a_socket_nobody_can_use_is_refused)
{
	struct vbd_sdnotify_sockets sockets = {0};
	struct vbd_error err = {0};
	int tcp = listening_socket(AF_INET);
	int silent = fcntl(tcp, F_DUPFD, 20);

	for (int i = 0; i <= VBD_LISTEN_MAX; i++)
		hand_over(tcp, i);
	assert_int_equal(vbd_sdnotify_sockets(&sockets, &err), VBD_E_BAD_VALUE);
	assert_non_null(strstr(err.text, "one too many"));
	for (int i = 1; i <= VBD_LISTEN_MAX; i++)
		(void)close(3 + i);
	(void)close(silent);
	silent = socket(AF_INET, SOCK_DGRAM, 0);
	hand_over(silent, 0);
	memset(&err, 0, sizeof(err));
	assert_int_equal(vbd_sdnotify_sockets(&sockets, &err), VBD_E_BAD_VALUE);
	assert_int_equal(sockets.tcp_count, 0);
	(void)close(silent);
	(void)close(tcp);
	(void)close(3);
}
