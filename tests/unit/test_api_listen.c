/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/listen.h"

#include "tests/unit/unit.h"

#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int setup(void **state)
{
	*state = (void *)(uintptr_t)unit_descriptors();
	return 0;
}

static int teardown(void **state)
{
	return unit_descriptors() == (uintptr_t)*state ? 0 : -1;
}

#define LISTEN_TEST(name) TEST_WITH(name, void *no_fixture, setup, teardown)

LISTEN_TEST(test_listen__an_address_that_no_interface_has_yet_is_bound)
{
	static const char *const absent[] = {"192.0.2.7", "2001:db8::7"}; /* RFC 5737, RFC 3849 */
	struct vbd_error err = {0};

	for (size_t i = 0; i < VBD_ARRAY_LEN(absent); i++) {
		int fd = -1;

		assert_false(vbd_listen_is_own(absent[i]));
		if (vbd_listen_tcp(absent[i], 0, &fd, &err) != VBD_OK)
			fail_msg("%s", err.text);
		assert_int_not_equal(vbd_listen_port(fd), 0);
		(void)close(fd);
	}
}

LISTEN_TEST(test_listen__own_addresses_and_wildcards_are_there)
{
	assert_true(vbd_listen_is_own("127.0.0.1"));
	assert_true(vbd_listen_is_own("0.0.0.0"));
	assert_true(vbd_listen_is_own("::"));
}

LISTEN_TEST(test_listen__a_port_in_use_is_refused)
{
	struct vbd_error err = {0};
	int first = -1;
	int second = -1;

	assert_int_equal(vbd_listen_tcp("127.0.0.1", 0, &first, &err), VBD_OK);
	assert_int_equal(vbd_listen_tcp("127.0.0.1", vbd_listen_port(first), &second, &err),
		VBD_E_ADDRESS_IN_USE);
	(void)close(first);
}

/* A path that is not there yet. */
static char *socket_path(char path[200])
{
	(void)snprintf(path, 200, "%s/listen-%d", unit_tmpdir(), (int)getpid());
	(void)unlink(path);
	return path;
}

LISTEN_TEST(test_listen__a_unix_socket_has_the_mode_that_was_asked_for)
{
	static const mode_t modes[] = {0600, 0660, 0666};
	struct vbd_error err = {0};
	struct stat st;
	char path[200];

	for (size_t i = 0; i < VBD_ARRAY_LEN(modes); i++) {
		int fd = -1;

		if (vbd_listen_unix(socket_path(path), VBD_LISTEN_OWN_GROUP, modes[i], &fd, &err) !=
			VBD_OK)
			fail_msg("%s", err.text);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 07777, modes[i]);
		(void)close(fd);
	}
	(void)unlink(path);
}

LISTEN_TEST(test_listen__a_unix_socket_has_the_group_that_was_asked_for)
{
	struct vbd_error err = {0};
	gid_t groups[64];
	struct stat st;
	char path[200];
	int fd = -1;
	int count = getgroups((int)VBD_ARRAY_LEN(groups), groups);
	/* Root may take any group, others one of theirs. */
	gid_t wanted = geteuid() == 0 ? 4242 : count > 0 ? groups[count - 1] : getegid();

	if (vbd_listen_unix(socket_path(path), wanted, 0660, &fd, &err) != VBD_OK)
		fail_msg("%s", err.text);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_gid, wanted);
	assert_int_equal(st.st_mode & 07777, 0660);
	(void)close(fd);
	(void)unlink(path);
}

/* In a process without privileges, if this one has them. Returns 0 if that is refused; 4 if that is
 * refused, and there is a file at the path. */
static int listen_for_root(const char *path)
{
	struct vbd_error err = {0};
	int fd = -1;

	if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setgid(4242) != 0 || setuid(4242) != 0))
		return 2;
	if (vbd_listen_unix(path, 0, 0660, &fd, &err) != VBD_E_PERMISSION_DENIED)
		return 3;
	return access(path, F_OK) == 0 ? 4 : 0;
}

static void assert_child_says(int wanted, bool leave_socket)
{
	char folder[] = "/tmp/verbsd-listen-XXXXXX";
	struct vbd_error err = {0};
	char path[100];
	int status, fd = -1;
	pid_t child;

	assert_non_null(mkdtemp(folder));
	assert_int_equal(chmod(folder, 0777), 0);
	(void)snprintf(path, sizeof(path), "%s/socket", folder);
	if (leave_socket)
		assert_int_equal(vbd_listen_unix(path, VBD_LISTEN_OWN_GROUP, 0, &fd, &err), VBD_OK);
	if (leave_socket)
		(void)close(fd);
	child = fork();
	if (child == 0)
		_exit(listen_for_root(path));
	assert_true(child > 0);
	assert_true(waitpid(child, &status, 0) == child);
	(void)unlink(path);
	(void)rmdir(folder);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), wanted);
}

LISTEN_TEST(test_listen__a_group_that_the_user_is_not_in_is_refused)
{
	assert_child_says(0, false);
}

LISTEN_TEST(test_listen__a_socket_that_the_user_may_not_connect_to_stays)
{
	assert_child_says(4, true);
}
