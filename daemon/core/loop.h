/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control loop: file descriptors, timers, signals, blocking work, and deferred callbacks. A
 * thin layer over libuv, so that no other file includes libuv.
 *
 * All functions run on the control thread, which calls vbd_loop_run(). Only the `work` callback of
 * vbd_loop_work() runs elsewhere (libuv's thread pool). No function blocks but vbd_loop_run(),
 * vbd_loop_turn() and vbd_loop_destroy().
 *
 * Watchers, timers and resolutions are handles: `stop`, `destroy` and `cancel` take NULL, may be
 * called from inside the handle's own callback, and guarantee that the callback does not run again.
 */
#ifndef VBD_DAEMON_CORE_LOOP_H
#define VBD_DAEMON_CORE_LOOP_H

#include "base/addr.h"
#include "base/attr.h"
#include "base/error.h"
#include "base/list.h"

struct vbd_loop;
struct vbd_fd_watch;
struct vbd_timer;
struct vbd_resolution;

/** vbd_loop_create - create a loop, not running; the caller owns it */
enum vbd_status vbd_loop_create(struct vbd_loop **ret_loop, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_loop_destroy - close all handles and free the loop; not from inside a callback; NULL is fine
 *
 * Waits for running work, calls its `done`, and runs the deferred callbacks. No other callback
 * runs.
 */
void vbd_loop_destroy(struct vbd_loop *loop);

/** vbd_loop_has_work - whether the thread pool has not finished work or a resolution */
bool vbd_loop_has_work(const struct vbd_loop *loop);

/** vbd_loop_run - run turns until vbd_loop_stop() */
void vbd_loop_run(struct vbd_loop *loop);

/** vbd_loop_stop - make vbd_loop_run() return after this turn */
void vbd_loop_stop(struct vbd_loop *loop);

/** vbd_loop_turn - run one turn, for tests; wait for an event if @wait, else poll */
void vbd_loop_turn(struct vbd_loop *loop, bool wait);

/** vbd_loop_now_ns - the monotonic time of this turn */
uint64_t vbd_loop_now_ns(const struct vbd_loop *loop);

/** vbd_loop_awake_ns - ns that this turn has taken so far, since its first callback */
uint64_t vbd_loop_awake_ns(const struct vbd_loop *loop);

/** vbd_loop_lag - ns from each wake-up to the next poll: the longest time that an event waited */
struct vbd_histogram;
const struct vbd_histogram *vbd_loop_lag(const struct vbd_loop *loop);

enum vbd_fd_events {
	VBD_FD_READ = 1,
	VBD_FD_WRITE = 2,
	VBD_FD_HANGUP = 4, /* the peer closed its end (EPOLLRDHUP) */
	VBD_FD_GONE = 8,   /* both ends are closed (EPOLLHUP), or the peer has sent urgent data */
};

typedef void (*vbd_fd_cb)(unsigned int events, void *arg);

/**
 * vbd_fd_watch_start - call back while the descriptor is ready
 * @fd:     stays the caller's, becomes non-blocking; one watch per descriptor, stopped before the
 *          descriptor is closed
 * @events: vbd_fd_events to watch for; the callback gets the ready ones. Level-triggered. With an
 *          error pending on the descriptor the callback gets all of @events, and the next read or
 *          write returns the error.
 */
enum vbd_status vbd_fd_watch_start(struct vbd_loop *loop, int fd, unsigned int events, vbd_fd_cb cb,
	void *arg, struct vbd_fd_watch **ret_watch, struct vbd_error *err) VBD_MUST_CHECK;
void vbd_fd_watch_stop(struct vbd_fd_watch *watch);

typedef void (*vbd_timer_cb)(void *arg);

/** vbd_timer_create - create a timer, not set; the caller owns it */
enum vbd_status vbd_timer_create(struct vbd_loop *loop, vbd_timer_cb cb, void *arg,
	struct vbd_timer **ret_timer, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_timer_set - call back once, @timeout_ms from now (0: at the next turn), instead of at the
 * time set before */
void vbd_timer_set(struct vbd_timer *timer, uint64_t timeout_ms);

/** vbd_timer_clear - cancel the callback */
void vbd_timer_clear(struct vbd_timer *timer);
void vbd_timer_destroy(struct vbd_timer *timer);

/*
 * A callback for the end of this turn. Objects are freed there, never inside a callback that may
 * still use them. The struct is embedded in the object. Deferring it twice has no further effect.
 */
struct vbd_deferred {
	struct vbd_link link;
	void (*cb)(struct vbd_deferred *self);
};

static inline void vbd_deferred_init(
	struct vbd_deferred *deferred, void (*cb)(struct vbd_deferred *self))
{
	vbd_list_init(&deferred->link);
	deferred->cb = cb;
}

void vbd_loop_defer(struct vbd_loop *loop, struct vbd_deferred *deferred);

/*
 * The kinds of blocking work. Each kind has threads of its own, so that no kind waits for another
 * one; and one owner gets only a part of them, so that no caller waits for the work of another one
 * alone.
 *
 * Work that runs can't be stopped: if nobody awaits it any more, other work gets its place. Jobs of
 * such a kind have threads of their own, and one owner half of the threads more at most.
 *
 * X(SYMBOL, threads, threads for one owner at most, threads more for work that nobody awaits)
 */
#define VBD_WORK_MAP(X)                                                                        \
	/* reading: checksums of buffers, slice by slice, and the data of pages of messages */ \
	X(VBD_WORK_BYTES, 4, 2, 0)                                                             \
	/* registering, deregistering and unmapping: large memory takes long */                \
	X(VBD_WORK_MEMORY, 4, 2, 0)                                                            \
	/* looking up host names: a silent name server may take a minute */                    \
	X(VBD_WORK_NAMES, 8, 4, 128)                                                           \
	/* asking the kernel and the hosts of silent peers */                                  \
	X(VBD_WORK_OBSERVE, 4, 2, 0)                                                           \
	/* reading and writing the files of copies, and listing exports */                     \
	X(VBD_WORK_FILES, 8, 4, 0)                                                             \
	/* the daemon's own: reloading the configuration, checking the pool */                 \
	X(VBD_WORK_CONTROL, 2, 2, 0)

enum vbd_work {
#define VBD_WORK_ENUM(sym, threads, of_owner, unwanted) sym,
	VBD_WORK_MAP(VBD_WORK_ENUM)
#undef VBD_WORK_ENUM
		VBD_WORK_COUNT
};

/**
 * vbd_loop_work - run a blocking function on the thread pool
 * @owner: the struct vbd_caller for whom the work is, never accessed; NULL: the daemon itself
 * @work:  runs on a pool thread; accesses nothing but @arg. Work whose time a client decides runs
 *         in slices of some ms: `done` starts the next slice, and ends the work when the client is
 *         gone.
 * @done:  runs on the control thread afterwards, exactly once, unless this function returns an
 *         error
 *
 * Owners whose work waits take turns. Returns VBD_E_NO_MEMORY without memory.
 */
enum vbd_status vbd_loop_work(struct vbd_loop *loop, enum vbd_work kind, const void *owner,
	void (*work)(void *arg), void (*done)(void *arg), void *arg,
	struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_resolved_cb - the result of a vbd_resolve()
 * @addrs: with the port set, in the order in which they are to be tried; NULL when the resolution
 *         failed
 * @err:   the reason if @addrs is NULL: VBD_E_NAME_NOT_RESOLVED, or VBD_E_FD_LIMIT
 */
typedef void (*vbd_resolved_cb)(
	const struct vbd_addrs *addrs, const struct vbd_error *err, void *arg);

/**
 * vbd_resolve - resolve a host name or numeric address (vbd_addr_look_up() on the thread pool)
 * @owner: as of vbd_loop_work()
 * @host: name or address, copied
 * @port: 1 to 65535, host order
 * @family: of all addresses; AF_UNSPEC for any
 */
enum vbd_status vbd_resolve(struct vbd_loop *loop, const void *owner, const char *host,
	uint16_t port, int family, vbd_resolved_cb cb, void *arg,
	struct vbd_resolution **ret_resolution, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_resolve_cancel - suppress the callback; only before it has run. A look-up that has begun
 * goes on, but leaves its place to others (VBD_WORK_MAP). */
void vbd_resolve_cancel(struct vbd_resolution *resolution);

#endif
