/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/uevent.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

TEST(test_linkwatch__it_never_blocks_or_says_why_there_is_none)
{
	struct vbd_error err = {0};
	int fd;

	if (vbd_linkwatch_open(&fd, &err) != VBD_OK) {
		assert_non_null(err.call);
		print_message("no news of interfaces here: %s\n", err.text);
		return;
	}
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	(void)vbd_linkwatch_drain(fd);
	assert_int_equal(close(fd), 0);
}

TEST(test_linkwatch__a_flood_of_news_is_taken_a_part_at_a_time)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
	assert_false(vbd_linkwatch_drain(ends[0]));
	for (int i = 0; i < 100; i++)
		assert_int_equal(write(ends[1], "a message", 9), 9);
	assert_true(vbd_linkwatch_drain(ends[0]));
	assert_true(vbd_linkwatch_drain(ends[0]));
	assert_false(vbd_linkwatch_drain(ends[0]));
	assert_int_equal(close(ends[0]) + close(ends[1]), 0);
}

static void bring_up(const char *netdev)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = {.ifr_flags = IFF_UP};

	(void)snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", netdev);
	assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &request), 0);
	assert_int_equal(close(fd), 0);
}

/* The test has a network namespace of its own, so that the interface is nobody else's. */
TEST(test_linkwatch__an_interface_that_comes_up_is_news)
{
	struct pollfd news = {.events = POLLIN};
	struct vbd_error err = {0};

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
		print_message("no network namespace here: %s\n", strerror(errno));
		skip();
	}
	assert_int_equal(vbd_linkwatch_open(&news.fd, &err), VBD_OK);
	assert_false(vbd_linkwatch_drain(news.fd));
	bring_up("lo");
	assert_int_equal(poll(&news, 1, -1), 1);
	assert_true(vbd_linkwatch_drain(news.fd));
	assert_int_equal(close(news.fd), 0);
}
