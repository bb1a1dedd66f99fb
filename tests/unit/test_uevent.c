/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/uevent.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

static void must_not_be_called(const char *action, const char *sysname, void *arg)
{
	(void)arg;
	fail_msg("a uevent nobody caused: %s %s", action, sysname);
}

/* Reception of uevents is tested in the guest, where devices can be made. */
TEST(test_uevent__draining_nothing_returns_at_once_or_creation_says_why_not)
{
	struct vbd_error err = {0};
	int fd = -1;

	if (vbd_uevent_open(&fd, &err) != VBD_OK) {
		assert_int_equal(fd, -1);
		assert_non_null(err.call);
		print_message("no uevents here: %s\n", err.text);
		return;
	}
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(vbd_uevent_drain(fd, must_not_be_called, NULL));
	assert_int_equal(close(fd), 0);
}

static void note(const char *action, const char *sysname, void *arg)
{
	(void)snprintf(arg, 64, "%s %s", action, sysname);
}

TEST(test_uevent__only_rdma_devices_count)
{
	static const char net[] = "add@/devices/virtual/net/eth1\0ACTION=add\0"
				  "DEVPATH=/devices/virtual/net/eth1\0SUBSYSTEM=net";
	static const char verbs[] =
		"remove@/devices/virtual/infiniband_verbs/uverbs3\0ACTION=remove\0"
		"DEVPATH=/devices/virtual/infiniband_verbs/uverbs3\0"
		"SUBSYSTEM=infiniband_verbs";
	char heard[64] = "";
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
	assert_int_equal(write(ends[1], net, sizeof(net)), sizeof(net));
	assert_true(vbd_uevent_drain(ends[0], must_not_be_called, NULL));
	assert_int_equal(write(ends[1], verbs, sizeof(verbs)), sizeof(verbs));
	assert_true(vbd_uevent_drain(ends[0], note, heard));
	assert_string_equal(heard, "remove uverbs3");
	assert_int_equal(close(ends[0]), 0);
	assert_int_equal(close(ends[1]), 0);
}
