/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets whose peers may still read an answer are closed after the peers, a limited number of
 * them. */
#include "api/http/server_parts.h"

#include "tests/unit/unit.h"

#include <sys/socket.h>
#include <unistd.h>

/* As in server_refuse.c. */
#define LINGER_MAX 32

struct fixture {
	struct vbd_loop *loop;
	struct vbd_linger linger;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	assert_int_equal(vbd_loop_create(&f->loop, NULL), VBD_OK);
	vbd_linger_init(&f->linger, f->loop);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	vbd_linger_end(&f->linger);
	vbd_loop_destroy(f->loop);
	free(f);
	return 0;
}

#define LINGER_TEST(name) TEST_WITH(name, struct fixture *f, setup, teardown)

/* Lets a socket linger. Returns its peer, which the caller closes. */
static int take(struct fixture *f)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	vbd_linger_take(&f->linger, ends[0]);
	return ends[1];
}

/* Whether the other end is closed. */
static bool is_closed(int peer)
{
	char byte;

	return recv(peer, &byte, 1, MSG_DONTWAIT) == 0;
}

static void await_close(const struct fixture *f, int peer)
{
	UNIT_UNTIL (is_closed(peer))
		vbd_loop_turn(f->loop, true);
}

LINGER_TEST(test_linger__a_socket_is_closed_after_its_peer)
{
	int peer = take(f);

	assert_false(is_closed(peer));
	assert_int_equal(send(peer, "late", 4, MSG_NOSIGNAL), 4);
	assert_int_equal(shutdown(peer, SHUT_WR), 0);
	await_close(f, peer);
	(void)close(peer);
}

LINGER_TEST(test_linger__a_peer_that_stays_is_left_in_the_end)
{
	int peer = take(f);

	await_close(f, peer);
	(void)close(peer);
}

LINGER_TEST(test_linger__the_copy_of_a_socket_lingers)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	vbd_linger_add(&f->linger, ends[0]);
	(void)close(ends[0]);
	assert_false(is_closed(ends[1]));
	assert_int_equal(shutdown(ends[1], SHUT_WR), 0);
	await_close(f, ends[1]);
	(void)close(ends[1]);
}

LINGER_TEST(test_linger__more_than_the_limit_are_closed_at_once)
{
	int peers[LINGER_MAX], more;

	for (int i = 0; i < LINGER_MAX; i++) {
		peers[i] = take(f);
		assert_false(is_closed(peers[i]));
	}
	more = take(f);
	assert_true(is_closed(more));
	(void)close(more);
	for (int i = 0; i < LINGER_MAX; i++)
		(void)close(peers[i]);
}

LINGER_TEST(test_linger__those_that_are_gone_do_not_count)
{
	int peer;

	for (int i = 0; i < 2 * LINGER_MAX; i++) {
		peer = take(f);
		assert_false(is_closed(peer));
		assert_int_equal(shutdown(peer, SHUT_WR), 0);
		await_close(f, peer);
		(void)close(peer);
	}
}
