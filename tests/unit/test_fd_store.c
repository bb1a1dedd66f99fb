/* SPDX-License-Identifier: Apache-2.0 */
/* The messages to systemd about descriptors that it holds. */
#include "daemon/kept/held.h"

#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

struct systemd {
	char folder[SCRATCH_PATH_BYTES];
	int fd;
};

/* @path: of the socket; with '@' at its start an abstract one */
static void listen_at(struct systemd *systemd, const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	size_t len = strlen(path);

	systemd->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(systemd->fd >= 0);
	memcpy(addr.sun_path, path, len);
	if (path[0] == '@')
		addr.sun_path[0] = '\0';
	assert_int_equal(bind(systemd->fd, (const struct sockaddr *)&addr,
				 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len +
					     (path[0] != '@'))),
		0);
	assert_int_equal(setenv("NOTIFY_SOCKET", path, 1), 0);
}

/* Takes the next message, and the descriptor that comes with it; -1 for none. */
static int take(const struct systemd *systemd, const char *text)
{
	char bytes[256] = "";
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = {.iov_base = bytes, .iov_len = sizeof(bytes) - 1};
	struct msghdr message = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	const struct cmsghdr *header;
	int fd = -1;

	assert_true(recvmsg(systemd->fd, &message, MSG_DONTWAIT) > 0);
	assert_string_equal(bytes, text);
	header = CMSG_FIRSTHDR(&message);
	if (!header)
		return -1;
	assert_int_equal(header->cmsg_level, SOL_SOCKET);
	assert_int_equal(header->cmsg_type, SCM_RIGHTS);
	memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

static int setup(void **state)
{
	struct systemd *systemd = calloc(1, sizeof(*systemd));

	assert_non_null(systemd);
	systemd->fd = -1;
	scratch_make(systemd->folder);
	*state = systemd;
	return 0;
}

static int teardown(void **state)
{
	struct systemd *systemd = *state;

	(void)unsetenv("NOTIFY_SOCKET");
	if (systemd->fd >= 0)
		(void)close(systemd->fd);
	scratch_remove(systemd->folder);
	free(systemd);
	return 0;
}

#define FD_STORE_TEST(name) TEST_WITH(name, struct systemd *systemd, setup, teardown)

static void expect_both(const struct systemd *systemd)
{
	struct vbd_error err = {0};
	struct stat sent, got;
	int fd = open(systemd->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), copy;

	assert_int_equal(vbd_fd_store_add("memory-7", fd, &err), VBD_OK);
	copy = take(systemd, "FDSTORE=1\nFDNAME=memory-7");
	assert_true(copy >= 0);
	assert_int_equal(fstat(fd, &sent), 0);
	assert_int_equal(fstat(copy, &got), 0);
	assert_int_equal(sent.st_ino, got.st_ino);
	assert_int_equal(close(fd), 0);
	assert_int_equal(close(copy), 0);
	assert_int_equal(vbd_fd_store_remove("memory-7", &err), VBD_OK);
	assert_int_equal(take(systemd, "FDSTOREREMOVE=1\nFDNAME=memory-7"), -1);
}

FD_STORE_TEST(test_fd_store__a_descriptor_goes_with_its_name)
{
	char path[SCRATCH_PATH_BYTES + 16];

	(void)snprintf(path, sizeof(path), "%s/notify", systemd->folder);
	listen_at(systemd, path);
	expect_both(systemd);
}

FD_STORE_TEST(test_fd_store__the_socket_may_be_abstract)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "@verbsd-test-%d", (int)getpid());
	listen_at(systemd, path);
	expect_both(systemd);
}

FD_STORE_TEST(test_fd_store__without_a_socket_nothing_is_held)
{
	static const char *const paths[] = {"", "/", "notify", "@"};
	struct vbd_error err = {0};
	char path[200];

	(void)unsetenv("NOTIFY_SOCKET");
	assert_int_equal(vbd_fd_store_add("a", 0, &err), VBD_E_NOT_FOUND);
	for (size_t i = 0; i < VBD_ARRAY_LEN(paths); i++) {
		assert_int_equal(setenv("NOTIFY_SOCKET", paths[i], 1), 0);
		err = (struct vbd_error){0};
		assert_int_equal(vbd_fd_store_remove("a", &err), VBD_E_NOT_FOUND);
	}
	/* The longest path of a socket has 107 bytes. */
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[108] = '\0';
	assert_int_equal(setenv("NOTIFY_SOCKET", path, 1), 0);
	err = (struct vbd_error){0};
	assert_int_equal(vbd_fd_store_remove("a", &err), VBD_E_NOT_FOUND);
	path[107] = '\0';
	assert_int_equal(setenv("NOTIFY_SOCKET", path, 1), 0);
	err = (struct vbd_error){0};
	assert_int_not_equal(vbd_fd_store_remove("a", &err), VBD_OK);
	assert_int_equal(err.source, VBD_SOURCE_ERRNO);
	assert_int_equal(err.raw, ENOENT);
}
