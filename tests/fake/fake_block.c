/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that may block: they must not be on the control thread, and block when a test says so. */
#include "base/enum.h"
#include "rdma/device/slab.h"
#include "rdma/provider/ask.h"
#include "tests/fake/fake.h"

#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The most that the control thread may register at a time: a slab of slots for messages. */
#define CONTROL_BYTES VBD_MESSAGE_SLAB_BYTES

/* Tests run what the control thread does on their first thread. */
static pthread_t g_control;

/* Under the lock of the fake. */
static const char *g_call;		     /* NULL: none */
static unsigned int g_block_most = UINT_MAX; /* calls that block at a time */
static unsigned int g_blocked;
static unsigned int g_ignored; /* interrupts */
static int g_gate;	       /* a read takes one of the releases, or sleeps */

__attribute__((constructor)) static void remember_control(void)
{
	g_control = pthread_self();
	g_gate = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
}

/* A call that was interrupted as it was released has left its release. */
static void forget_releases(void)
{
	struct pollfd gate = {.fd = g_gate, .events = POLLIN};
	uint64_t one;

	while (g_blocked == 0 && poll(&gate, 1, 0) == 1 &&
		read(g_gate, &one, sizeof(one)) == sizeof(one))
		;
}

static bool ignore_interrupt(void)
{
	bool ignored;

	fake_lock();
	ignored = g_ignored > 0;
	g_ignored -= ignored;
	fake_unlock();
	return ignored;
}

/* The kernel wakes only rdma_connect for a signal. */
static int sleep_in(const char *call)
{
	bool may_wake = strcmp(call, "rdma_connect") == 0;
	bool woken;
	uint64_t one;
	int errnum;

	do {
		errnum = read(g_gate, &one, sizeof(one)) < 0 ? errno : 0;
		woken = errnum == EINTR && may_wake && !ignore_interrupt();
	} while (errnum == EINTR && !woken);
	fake_lock();
	/* fake_unblock() has counted those that it let go. */
	if (errnum && g_blocked > 0)
		g_blocked--;
	fake_unlock();
	return errnum;
}

static int begin(const char *call)
{
	bool blocks;

	fake_lock();
	blocks = g_call && strcmp(g_call, call) == 0 && g_blocked < g_block_most;
	g_blocked += blocks;
	fake_unlock();
	if (blocks && g_block_most == 1)
		(void)fprintf(stderr, "fake provider: %s waits\n", call);
	return blocks ? sleep_in(call) : 0;
}

static VBD_ENUM_NAMES(wait_name, enum fake_wait, VBD_WAIT_MAP)

	/* For a daemon over the fake. */
	void fake_block_one(const char *call)
{
	fake_block(call);
	g_block_most = 1;
}

int fake_must_leave_control(enum fake_wait wait)
{
	fake_lock();
	if (!g_fake.one_thread && pthread_equal(pthread_self(), g_control))
		fake_broken("%s may block, and was called on the control thread", wait_name(wait));
	fake_unlock();
	return 0;
}

int fake_may_block(enum fake_wait wait)
{
	if (!pthread_equal(pthread_self(), g_control))
		return begin(wait_name(wait));
	return fake_must_leave_control(wait);
}

static bool is_neighbour(const union ibv_gid *gid)
{
	bool known = false;

	fake_lock();
	for (unsigned int i = 0; i < g_fake.neighbour_count; i++)
		known |= memcmp(&g_fake.neighbours[i], gid, sizeof(*gid)) == 0;
	fake_unlock();
	return known;
}

int fake_resolve_neighbour(enum fake_wait wait, const union ibv_gid *gid)
{
	if (pthread_equal(pthread_self(), g_control) && is_neighbour(gid))
		return 0;
	return fake_may_block(wait);
}

void fake_neighbour_resolved(const union ibv_gid *gid)
{
	for (unsigned int i = 0; i < g_fake.neighbour_count; i++) {
		if (memcmp(&g_fake.neighbours[i], gid, sizeof(*gid)) == 0)
			return;
	}
	if (g_fake.neighbour_count < sizeof(g_fake.neighbours) / sizeof(g_fake.neighbours[0]))
		g_fake.neighbours[g_fake.neighbour_count++] = *gid;
}

int vbd_pv_neighbours_watch(void)
{
	return fake_eventfd(0);
}

bool vbd_pv_neighbours_lost(int watch)
{
	bool lost;

	(void)watch;
	fake_lock();
	lost = g_fake.neighbours_lost;
	g_fake.neighbours_lost = false;
	fake_unlock();
	return lost;
}

void fake_lose_neighbours(void)
{
	fake_lock();
	g_fake.neighbour_count = 0;
	g_fake.neighbours_lost = true;
	fake_unlock();
}

void fake_off_control(enum fake_wait wait)
{
	if (!pthread_equal(pthread_self(), g_control))
		(void)begin(wait_name(wait));
}

int fake_takes_long(enum fake_wait wait, size_t size_bytes)
{
	const char *call = wait_name(wait);

	if (!pthread_equal(pthread_self(), g_control))
		return begin(call);
	fake_lock();
	g_fake.on_control++;
	if (size_bytes > CONTROL_BYTES && !g_fake.one_thread)
		fake_broken("%s of %zu bytes was called on the control thread", call, size_bytes);
	fake_unlock();
	return 0;
}

unsigned int fake_on_control(void)
{
	unsigned int count;

	fake_lock();
	count = g_fake.on_control;
	fake_unlock();
	return count;
}

void fake_one_thread(void)
{
	fake_lock();
	g_fake.one_thread = true;
	fake_unlock();
}

void fake_block(const char *call)
{
	fake_lock();
	forget_releases();
	g_call = call;
	fake_unlock();
}

void fake_ignore_interrupts(unsigned int count)
{
	fake_lock();
	g_ignored = count;
	fake_unlock();
}

unsigned int fake_ignores_interrupts(void)
{
	unsigned int ignored;

	fake_lock();
	ignored = g_ignored;
	fake_unlock();
	return ignored;
}

void fake_unblock(void)
{
	uint64_t blocked;

	fake_lock();
	blocked = g_blocked;
	g_blocked = 0;
	g_call = NULL;
	fake_unlock();
	if (blocked && write(g_gate, &blocked, sizeof(blocked)) < 0)
		fake_abort("eventfd");
}

unsigned int fake_blocked(void)
{
	unsigned int blocked;

	fake_lock();
	blocked = g_blocked;
	fake_unlock();
	return blocked;
}
