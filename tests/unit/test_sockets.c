/* SPDX-License-Identifier: Apache-2.0 */
/* The tests hold which sockets verbsd serves, of systemd and its own, and what it says of them. */
#include "tests/unit/unit.h"

#include "api/http/listen.h"
#include "base/log.h"
#include "cmd/verbsd.h"
#include "daemon/sdnotify.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static struct {
	struct vbd_config config;
	struct vbd_sdnotify_sockets inherited;
	enum vbd_status status; /* of the call that inherits */
	struct vbd_sockets sockets;
	struct vbd_error err;
	char log[4096];
	char path[100];
} test;

enum vbd_status __wrap_vbd_sdnotify_sockets(
	struct vbd_sdnotify_sockets *ret_sockets, struct vbd_error *err);

enum vbd_status __wrap_vbd_sdnotify_sockets(
	struct vbd_sdnotify_sockets *ret_sockets, struct vbd_error *err)
{
	if (test.status != VBD_OK)
		return vbd_error_set(err, test.status, "no");
	*ret_sockets = test.inherited;
	return VBD_OK;
}

static void on_line(enum vbd_log_level level, const char *object, const char *text, void *arg)
{
	size_t used = strlen(test.log);

	(void)arg;
	assert_null(object);
	(void)snprintf(test.log + used, sizeof(test.log) - used, "%s%s\n",
		level == VBD_LOG_WARNING ? "warning: " : "", text);
}

static int set_up(void **state)
{
	(void)state;
	memset(&test, 0, sizeof(test));
	vbd_config_init(&test.config);
	test.config.listen_count = 0;
	test.inherited.unix_fd = -1;
	(void)snprintf(test.path, sizeof(test.path), "%s/sockets-%d", unit_tmpdir(), (int)getpid());
	vbd_log_set_observer(on_line, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	vbd_log_set_observer(NULL, NULL);
	vbd_sockets_close(&test.sockets);
	return access(test.path, F_OK) < 0 ? 0 : -1;
}

#define SOCKETS_TEST(name) TEST_WITH(name, void *no_fixture, set_up, tear_down)

static void listen_on(const char *addresses)
{
	assert_int_equal(vbd_config_set(&test.config, "listen", addresses, &test.err), VBD_OK);
}

static enum vbd_status open_all(void)
{
	memset(&test.err, 0, sizeof(test.err));
	test.log[0] = '\0';
	return vbd_sockets_open(&test.config, &test.sockets, &test.err);
}

static void serves(const char *log)
{
	assert_int_equal(open_all(), VBD_OK);
	assert_string_equal(test.log, log);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void is(size_t at, bool is_unix, bool tls)
{
	assert_true(at < test.sockets.count);
	assert_true(is_open(test.sockets.items[at].fd));
	assert_int_equal(test.sockets.items[at].is_unix, is_unix);
	assert_int_equal(test.sockets.items[at].tls, tls);
}

/* A free port of the loopback, which is not taken yet. */
static uint16_t free_port(void)
{
	uint16_t port;
	int fd;

	assert_int_equal(vbd_listen_tcp("127.0.0.1", 0, &fd, &test.err), VBD_OK);
	port = vbd_listen_port(fd);
	(void)close(fd);
	return port;
}

SOCKETS_TEST(test_sockets__own_ones_are_opened_and_told_in_order)
{
	char text[128], log[400];
	uint16_t port = free_port();
	int fd;

	(void)snprintf(text, sizeof(text), "127.0.0.1:%u", port);
	listen_on(text);
	(void)snprintf(test.config.unix_socket, sizeof(test.config.unix_socket), "%s", test.path);
	(void)snprintf(log, sizeof(log), "serves HTTP on 127.0.0.1, port %u\nserves HTTP on %s\n",
		port, test.path);
	serves(log);
	assert_int_equal(test.sockets.count, 2);
	is(0, false, false);
	is(1, true, false);
	assert_int_equal(vbd_listen_port(test.sockets.items[0].fd), port);
	assert_string_equal(test.sockets.own_path, test.path);
	fd = test.sockets.items[0].fd;
	vbd_sockets_close(&test.sockets);
	assert_false(is_open(fd));
	assert_int_equal(test.sockets.count, 0);
	assert_int_equal(access(test.path, F_OK), -1);
	assert_string_equal(test.sockets.own_path, "");
}

SOCKETS_TEST(test_sockets__none_are_served_if_none_are_configured)
{
	serves("");
	assert_int_equal(test.sockets.count, 0);
	assert_string_equal(test.sockets.own_path, "");
}

static int bound(const char *name, size_t name_bytes)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	memcpy(addr.sun_path, name, name_bytes);
	assert_int_equal(bind(fd, (const struct sockaddr *)&addr,
				 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + name_bytes)),
		0);
	return fd;
}

/* Put something else in the place of the socket's file, as another program may do. */
static void replace_by(int (*make)(const char *path))
{
	assert_int_equal(open_all(), VBD_OK);
	assert_int_equal(unlink(test.path), 0);
	assert_int_equal(make(test.path), 0);
	vbd_sockets_close(&test.sockets);
}

static int make_file(const char *path)
{
	return close(open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
}

static int make_folder(const char *path)
{
	return mkdir(path, 0700);
}

static int make_link(const char *path)
{
	return symlink("/nowhere", path);
}

static int make_socket(const char *path)
{
	return close(bound(path, strlen(path) + 1));
}

SOCKETS_TEST(test_sockets__another_file_at_the_path_stays)
{
	static int (*const make[])(const char *path) = {make_file, make_link, make_socket};

	(void)snprintf(test.config.unix_socket, sizeof(test.config.unix_socket), "%s", test.path);
	for (size_t i = 0; i < VBD_ARRAY_LEN(make); i++) {
		replace_by(make[i]);
		assert_int_equal(unlink(test.path), 0);
	}
	replace_by(make_folder);
	assert_int_equal(rmdir(test.path), 0);
}

SOCKETS_TEST(test_sockets__what_is_in_clear_for_others_is_warned_of)
{
	char log[400], text[64];
	uint16_t port = free_port();

	(void)snprintf(text, sizeof(text), "0.0.0.0:%u", port);
	listen_on(text);
	assert_int_equal(open_all(), VBD_E_PERMISSION_DENIED);
	assert_int_equal(test.sockets.count, 0);
	test.config.insecure = true;
	(void)snprintf(test.config.callers_file, sizeof(test.config.callers_file), "x");
	(void)snprintf(log, sizeof(log),
		"serves HTTP on 0.0.0.0, port %u\nwarning: insecure: whoever sees the network "
		"between here and a client of 0.0.0.0 sees its token, may use it, and sees and "
		"changes all that is sent\n",
		port);
	serves(log);
	is(0, false, false);
	vbd_sockets_close(&test.sockets);
	(void)snprintf(test.config.tls.certificate, sizeof(test.config.tls.certificate), "x");
	(void)snprintf(log, sizeof(log), "serves HTTPS on 0.0.0.0, port %u\n", port);
	serves(log);
	is(0, false, true);
}

SOCKETS_TEST(test_sockets__an_address_that_is_not_here_yet_is_warned_of)
{
	char text[128], log[400];
	uint16_t port = free_port();
	size_t next = 0;

	(void)snprintf(
		text, sizeof(text), "192.0.2.77:%u,127.0.0.1:%u,192.0.2.78:%u", port, port, port);
	listen_on(text);
	test.config.insecure = true;
	(void)snprintf(test.config.callers_file, sizeof(test.config.callers_file), "x");
	(void)snprintf(text, sizeof(text), "192.0.2.77:%u", port);
	assert_string_equal(vbd_sockets_absent(&test.config, &next), text);
	assert_int_equal(next, 1);
	(void)snprintf(text, sizeof(text), "192.0.2.78:%u", port);
	assert_string_equal(vbd_sockets_absent(&test.config, &next), text);
	assert_int_equal(next, 3);
	assert_null(vbd_sockets_absent(&test.config, &next));
	assert_int_equal(open_all(), VBD_OK);
	assert_int_equal(test.sockets.count, 3);
	(void)snprintf(log, sizeof(log),
		"warning: no interface has the address of 192.0.2.77:%u now; it is served as soon "
		"as one has\nwarning: no interface has the address of 192.0.2.78:%u now; it is "
		"served as soon as one has\n",
		port, port);
	assert_true(strlen(test.log) > strlen(log));
	assert_string_equal(test.log + strlen(test.log) - strlen(log), log);
}

SOCKETS_TEST(test_sockets__one_that_can_not_be_opened_closes_the_others)
{
	char text[64];
	int taken, next;

	assert_int_equal(vbd_listen_tcp("127.0.0.1", 0, &taken, &test.err), VBD_OK);
	(void)snprintf(text, sizeof(text), "127.0.0.1:%u,127.0.0.1:%u", free_port(),
		vbd_listen_port(taken));
	listen_on(text);
	next = dup(taken); /* the number of the next descriptor */
	(void)close(next);
	assert_int_not_equal(open_all(), VBD_OK);
	assert_int_equal(test.sockets.count, 0);
	assert_false(is_open(next));
	listen_on("");
	(void)snprintf(test.config.unix_socket, sizeof(test.config.unix_socket), "/nowhere/x");
	assert_int_not_equal(open_all(), VBD_OK);
	test.status = VBD_E_BAD_VALUE;
	assert_int_equal(open_all(), VBD_E_BAD_VALUE);
	(void)close(taken);
}

/* --- of systemd ------------------------------------------------------------------------------ */

static int inherited_tcp(const char *addr)
{
	int fd;

	assert_int_equal(vbd_listen_tcp(addr, 0, &fd, &test.err), VBD_OK);
	test.inherited.tcp_fds[test.inherited.tcp_count++] = fd;
	return fd;
}

SOCKETS_TEST(test_sockets__inherited_tcp_takes_the_place_of_all_own_addresses)
{
	char text[64], log[400];
	int fd = inherited_tcp("127.0.0.1"), second = inherited_tcp("::1");

	(void)snprintf(text, sizeof(text), "192.0.2.77:%u", free_port());
	listen_on(text);
	(void)snprintf(test.config.unix_socket, sizeof(test.config.unix_socket), "%s", test.path);
	(void)snprintf(log, sizeof(log),
		"serves HTTP on 127.0.0.1, port %u\nserves HTTP on ::1, port %u\n"
		"serves HTTP on %s\n",
		vbd_listen_port(fd), vbd_listen_port(second), test.path);
	serves(log);
	assert_int_equal(test.sockets.count, 3);
	assert_int_equal(test.sockets.items[0].fd, fd);
	assert_int_equal(test.sockets.items[1].fd, second);
	is(1, false, false);
	is(2, true, false);
}

SOCKETS_TEST(test_sockets__an_inherited_address_that_is_refused_is_closed)
{
	int first = inherited_tcp("127.0.0.1"), fd = inherited_tcp("0.0.0.0");

	assert_int_equal(open_all(), VBD_E_PERMISSION_DENIED);
	assert_false(is_open(first));
	assert_false(is_open(fd));
	assert_null(strstr(test.log, "0.0.0.0"));
}

SOCKETS_TEST(test_sockets__an_inherited_unix_socket_stays_with_its_file)
{
	char name[128], log[400];

	test.inherited.unix_fd = bound(test.path, strlen(test.path) + 1);
	(void)snprintf(test.config.unix_socket, sizeof(test.config.unix_socket), "/nowhere/x");
	(void)snprintf(log, sizeof(log), "serves HTTP on %s\n", test.path);
	serves(log);
	assert_int_equal(test.sockets.count, 1);
	is(0, true, false);
	assert_string_equal(test.sockets.own_path, "");
	vbd_sockets_close(&test.sockets);
	assert_int_equal(access(test.path, F_OK), 0);
	assert_int_equal(unlink(test.path), 0);
	(void)snprintf(name, sizeof(name), "%cverbsd-test-%d", '\0', (int)getpid());
	test.inherited.unix_fd = bound(name, 1 + strlen(name + 1));
	(void)snprintf(log, sizeof(log), "serves HTTP on @%s\n", name + 1);
	serves(log);
}
