/* SPDX-License-Identifier: Apache-2.0 */
/* Against the real kernel, in a network namespace of this process. */
#include "rdma/provider/ask.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

/* The kernel files each entry of a loopback interface under 0.0.0.0. */
#define ADD "ip neigh replace 0.0.0.0 lladdr 02:00:00:00:00:02 nud reachable dev lo"

#define SKIPPED 77

static void run(const char *command)
{
	if (system(command) != 0)
		fail_msg("%s", command);
}

static int watch_table(void **state)
{
	static int watch;

	watch = vbd_pv_neighbours_watch();
	*state = &watch;
	return watch < 0 ? -1 : 0;
}

static int end_watch(void **state)
{
	return close(*(int *)*state);
}

#define NEIGHBOURS_TEST(name) TEST_WITH(name, int *watch, watch_table, end_watch)

NEIGHBOURS_TEST(test_neighbours__without_a_watch_each_may_be_lost)
{
	assert_true(vbd_pv_neighbours_lost(-1));
}

NEIGHBOURS_TEST(test_neighbours__a_new_one_is_no_loss)
{
	assert_false(vbd_pv_neighbours_lost(*watch));
	run(ADD);
	assert_false(vbd_pv_neighbours_lost(*watch));
}

NEIGHBOURS_TEST(test_neighbours__a_flush_is_a_loss_once)
{
	run(ADD);
	run("ip neigh flush dev lo");
	assert_true(vbd_pv_neighbours_lost(*watch));
	assert_false(vbd_pv_neighbours_lost(*watch));
}

NEIGHBOURS_TEST(test_neighbours__one_that_does_not_answer_is_a_loss)
{
	run(ADD);
	run("ip neigh change 0.0.0.0 nud failed dev lo");
	assert_true(vbd_pv_neighbours_lost(*watch));
}

NEIGHBOURS_TEST(test_neighbours__news_that_were_lost_are_a_loss)
{
	run("for i in $(seq 200); do " ADD
	    "; ip neigh replace 0.0.0.0 lladdr 02:00:00:00:00:03 nud "
	    "reachable dev lo; done");
	assert_true(vbd_pv_neighbours_lost(*watch));
	assert_false(vbd_pv_neighbours_lost(*watch));
}

/* A namespace needs root, or a user namespace in which this user is root. */
static bool get_namespace(void)
{
	char map[32];
	int fd, len_bytes = snprintf(map, sizeof(map), "0 %u 1", geteuid());
	bool mapped;

	if (unshare(CLONE_NEWNET) == 0)
		return true;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
		return false;
	fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
	mapped = fd >= 0 && write(fd, map, (size_t)len_bytes) == len_bytes;
	(void)close(fd);
	return mapped;
}

int main(int argc, char **argv)
{
	if (!get_namespace() || system("ip link set lo up") != 0) {
		(void)puts("no network namespace of its own, or no ip(8)");
		return SKIPPED;
	}
	return unit_run(argc, argv, NULL, NULL);
}
