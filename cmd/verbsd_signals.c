/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsd.h"

#include "base/clock.h"
#include "base/log.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* Time after shutdown_timeout_ms for the control thread to say what did not end. */
#define SAY_MS 500

static struct {
	sigset_t set;	      /* SIGTERM and SIGINT */
	_Atomic int event_fd; /* of the loop; -1 before vbd_signals_watch() */
	_Atomic uint64_t deadline_ms;
	atomic_int first;    /* the first signal that on_wakeup() has not seen */
	atomic_bool hung_up; /* SIGHUP came, and on_wakeup() has not seen it */
	atomic_bool ignored;
	struct vbd_fd_watch *watch;
	void (*on_stop)(int signum, void *arg);
	void (*on_reload)(void *arg);
	void *arg;
} g_signals = {.event_fd = -1};

static _Noreturn void end_by_default(int signum)
{
	vbd_log_stop(VBD_LOG_GRACE_MS);
	(void)signal(signum, SIG_DFL);
	(void)pthread_sigmask(SIG_UNBLOCK, &g_signals.set, NULL);
	(void)raise(signum);
	_exit(EXIT_FAILURE);
}

/* Returns -1 after the time. */
static int await_signal(uint64_t timeout_ms)
{
	uint64_t until_ns = vbd_clock_mono_ns() + timeout_ms * VBD_NS_PER_MS;
	int signum;

	do {
		uint64_t now_ns = vbd_clock_mono_ns();
		uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
		struct timespec left = {.tv_sec = (time_t)(left_ns / VBD_NS_PER_S),
			.tv_nsec = (long)(left_ns % VBD_NS_PER_S)};

		signum = sigtimedwait(&g_signals.set, NULL, &left);
	} while (signum < 0 ? errno == EINTR : atomic_load(&g_signals.ignored));
	return signum;
}

static void signal_event_fd(int fd)
{
	const uint64_t one = 1;

	(void)!write(fd, &one, sizeof(one)); /* fails only at 2^64-1 unread */
}

/* Returns the first signal that stops the daemon. Before vbd_signals_watch() nobody reads
 * event_fd, which is readable from its start. */
static int await_stop(void)
{
	sigset_t set = g_signals.set;
	int signum, fd;

	(void)sigaddset(&set, SIGHUP);
	for (;;) {
		if (sigwait(&set, &signum) != 0)
			continue;
		if (signum != SIGHUP)
			return signum;
		atomic_store(&g_signals.hung_up, true);
		fd = atomic_load(&g_signals.event_fd);
		if (fd >= 0)
			signal_event_fd(fd);
	}
}

static void *thread_main(void *arg)
{
	uint64_t deadline_ms;
	int signum, fd;

	(void)arg;
	(void)pthread_setname_np(pthread_self(), "verbsd-signal");
	signum = await_stop();
	fd = atomic_load(&g_signals.event_fd);
	if (fd < 0)
		end_by_default(signum);
	atomic_store(&g_signals.first, signum);
	signal_event_fd(fd);
	deadline_ms = atomic_load(&g_signals.deadline_ms);
	signum = await_signal(deadline_ms);
	if (signum > 0)
		vbd_log(VBD_LOG_WARNING, NULL, "second signal (%d): stopping at once", signum);
	else
		vbd_log(VBD_LOG_ERROR, NULL,
			"stopping at once: the end took longer than %llu ms; a thread is stuck",
			(unsigned long long)deadline_ms);
	vbd_log_stop(VBD_LOG_GRACE_MS);
	_exit(EXIT_FAILURE); /* the kernel releases the resources of the process */
}

void vbd_signals_hold(void)
{
	sigset_t hangup;

	(void)sigemptyset(&hangup);
	(void)sigaddset(&hangup, SIGHUP);
	(void)pthread_sigmask(SIG_BLOCK, &hangup, NULL);
	/* nohup(1) starts programs with SIGHUP ignored. */
	(void)signal(SIGHUP, SIG_DFL);
}

enum vbd_status vbd_signals_start(struct vbd_error *err)
{
	pthread_t thread;
	int rc;

	(void)sigemptyset(&g_signals.set);
	(void)sigaddset(&g_signals.set, SIGTERM);
	(void)sigaddset(&g_signals.set, SIGINT);
	/* A shell starts background jobs with SIGINT ignored, and the kernel drops what is
	 * ignored. */
	(void)signal(SIGTERM, SIG_DFL);
	(void)signal(SIGINT, SIG_DFL);
	(void)pthread_sigmask(SIG_BLOCK, &g_signals.set, NULL);
	rc = pthread_create(&thread, NULL, thread_main, NULL);
	if (rc)
		return vbd_error_errno(err, VBD_OK, "pthread_create", rc, "no thread for signals");
	(void)pthread_detach(thread);
	return VBD_OK;
}

static void on_wakeup(unsigned int events, void *arg)
{
	uint64_t count;
	bool hung_up;
	int signum;

	(void)events;
	(void)arg;
	(void)!read(atomic_load(&g_signals.event_fd), &count, sizeof(count));
	/* In this order: a hangup comes before the stop, so none is left for later. */
	signum = atomic_exchange(&g_signals.first, 0);
	hung_up = atomic_exchange(&g_signals.hung_up, false);
	if (signum)
		g_signals.on_stop(signum, g_signals.arg);
	else if (hung_up)
		g_signals.on_reload(g_signals.arg);
}

enum vbd_status vbd_signals_watch(struct vbd_loop *loop, void (*on_stop)(int signum, void *arg),
	void (*on_reload)(void *arg), void *arg, struct vbd_error *err)
{
	/* Readable, since a hangup may have come before. */
	int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	enum vbd_status status;

	if (fd < 0)
		return vbd_error_errno(err, VBD_OK, "eventfd", errno, "no signals");
	status = vbd_fd_watch_start(loop, fd, VBD_FD_READ, on_wakeup, NULL, &g_signals.watch, err);
	if (status != VBD_OK) {
		(void)close(fd);
		return status;
	}
	g_signals.on_stop = on_stop;
	g_signals.on_reload = on_reload;
	g_signals.arg = arg;
	atomic_store(&g_signals.event_fd, fd); /* from now on the thread may write */
	return VBD_OK;
}

void vbd_signals_use_timeout(uint64_t shutdown_timeout_ms)
{
	atomic_store(&g_signals.deadline_ms, shutdown_timeout_ms + SAY_MS);
}

void vbd_signals_unwatch(void)
{
	vbd_fd_watch_stop(g_signals.watch);
	g_signals.watch = NULL;
}

void vbd_signals_ignore(void)
{
	atomic_store(&g_signals.ignored, true);
}
