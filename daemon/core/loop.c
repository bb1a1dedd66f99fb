/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/loop_parts.h"

#include "base/clock.h"

#include <assert.h>

/* libuv frees nothing. Each handle below starts with its uv handle and is freed by the callback of
 * uv_close(). */
struct vbd_fd_watch {
	uv_poll_t uv;
	unsigned int events;
	vbd_fd_cb cb;
	void *arg;
};

/* A timer is so late only after a stop of the whole process: SIGSTOP, a pause of the virtual
 * machine. */
#define STOOD_STILL_MS 1000

/* Longer than any host runs. */
#define VBD_TIMER_MS_MAX (UINT64_MAX / 4)

struct vbd_timer {
	uv_timer_t uv;
	uint64_t due_ms; /* by uv_now(); UINT64_MAX: it is called whatever the time */
	struct vbd_deferred at_next_turn;
	vbd_timer_cb cb;
	void *arg;
};

static_assert(offsetof(struct vbd_fd_watch, uv) == 0, "freed as a uv handle");
static_assert(offsetof(struct vbd_timer, uv) == 0, "freed as a uv handle");
static_assert((int)VBD_FD_READ == (int)UV_READABLE && (int)VBD_FD_WRITE == (int)UV_WRITABLE &&
		      (int)VBD_FD_HANGUP == (int)UV_DISCONNECT &&
		      (int)VBD_FD_GONE == (int)UV_PRIORITIZED,
	"events are handed through as they are");

uint64_t vbd_loop_now_ns(const struct vbd_loop *loop)
{
	return loop->now_ns ? loop->now_ns : vbd_clock_mono_ns();
}

static void end_awake_time(struct vbd_loop *loop)
{
	if (loop->woken_ns)
		vbd_histogram_add(&loop->awake, vbd_clock_mono_ns() - loop->woken_ns);
	loop->woken_ns = 0;
	loop->now_ns = 0;
}

static void on_before_sleep(uv_prepare_t *handle)
{
	end_awake_time(VBD_CONTAINER_OF(handle, struct vbd_loop, before_sleep));
}

uint64_t vbd_loop_awake_ns(const struct vbd_loop *loop)
{
	return loop->woken_ns ? vbd_clock_mono_ns() - loop->woken_ns : 0;
}

const struct vbd_histogram *vbd_loop_lag(const struct vbd_loop *loop)
{
	return &loop->awake;
}

static void on_no_sleep(uv_idle_t *handle)
{
	(void)handle; /* libuv polls instead of sleeping as long as an idle handle is active */
}

/* Run the callbacks that are deferred now. Callbacks that they defer run in the next turn, so that
 * every turn ends. */
static void run_deferred(struct vbd_loop *loop)
{
	struct vbd_link batch;

	vbd_list_take_all(&batch, &loop->deferred);
	while (!vbd_list_empty(&batch)) {
		struct vbd_deferred *deferred =
			VBD_CONTAINER_OF(batch.next, struct vbd_deferred, link);

		vbd_list_remove(&deferred->link);
		deferred->cb(deferred);
	}
	if (vbd_list_empty(&loop->deferred))
		(void)uv_idle_stop(&loop->no_sleep);
}

static void on_end_of_turn(uv_check_t *handle)
{
	struct vbd_loop *loop = vbd_loop_wake(handle->loop);

	run_deferred(loop);
	loop->now_ns = 0;
}

void vbd_loop_defer(struct vbd_loop *loop, struct vbd_deferred *deferred)
{
	if (!vbd_list_empty(&deferred->link))
		return;
	vbd_list_append(&loop->deferred, &deferred->link);
	(void)uv_idle_start(&loop->no_sleep, on_no_sleep);
}

/* libuv returns negative errnos. An error other than a lack of memory or descriptors is a bug of
 * the daemon. */
static enum vbd_status uv_error(struct vbd_error *err, const char *call, int rc, const char *what)
{
	bool lack = rc == UV_ENOMEM || rc == UV_EMFILE || rc == UV_ENFILE;

	return vbd_error_errno(err, lack ? VBD_OK : VBD_E_INTERNAL, call, -rc, "%s", what);
}

/* Give libuv's pool as many threads as all lanes use together, so that no lane waits for another.
 * libuv reads the number once, when the first job of the process starts. */
static void set_thread_pool_size(void)
{
#define ADD_THREADS(sym, threads, of_owner, unwanted) +(threads)
	const unsigned int threads = 0 VBD_WORK_MAP(ADD_THREADS);
#undef ADD_THREADS
	char text[16];

	(void)snprintf(text, sizeof(text), "%u", threads);
	(void)setenv("UV_THREADPOOL_SIZE", text, 1);
}

enum vbd_status vbd_loop_create(struct vbd_loop **ret_loop, struct vbd_error *err)
{
	struct vbd_loop *loop = calloc(1, sizeof(*loop));
	int rc;

	if (!loop)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the loop");
	set_thread_pool_size();
	rc = uv_loop_init(&loop->uv);
	if (rc < 0) {
		free(loop);
		return uv_error(err, "uv_loop_init", rc, "no loop");
	}
	vbd_list_init(&loop->deferred);
	vbd_list_init(&loop->resolutions);
	for (size_t i = 0; i < VBD_WORK_COUNT; i++)
		vbd_list_init(&loop->lanes[i].shares);
	/* These calls can't fail. The check handle is always active, so the loop keeps running when
	 * it watches nothing else. */
	(void)uv_prepare_init(&loop->uv, &loop->before_sleep);
	(void)uv_prepare_start(&loop->before_sleep, on_before_sleep);
	(void)uv_check_init(&loop->uv, &loop->end_of_turn);
	(void)uv_check_start(&loop->end_of_turn, on_end_of_turn);
	(void)uv_idle_init(&loop->uv, &loop->no_sleep);
	*ret_loop = loop;
	return VBD_OK;
}

void vbd_loop_free_handle(uv_handle_t *handle)
{
	free(handle);
}

static void stop_handle(uv_handle_t *handle, void *arg)
{
	(void)arg;
	if (uv_is_closing(handle))
		return;
	if (handle->type == UV_POLL)
		(void)uv_poll_stop((uv_poll_t *)handle);
	else if (handle->type == UV_TIMER)
		(void)uv_timer_stop((uv_timer_t *)handle);
}

static void close_left_over(uv_handle_t *handle, void *arg)
{
	bool ours = handle->type == UV_POLL || handle->type == UV_TIMER;

	(void)arg;
	if (!uv_is_closing(handle))
		uv_close(handle, ours ? vbd_loop_free_handle : NULL);
}

/* Let running work finish before anything is freed. Its `done` may still stop watchers and timers,
 * so these are silenced first and closed last. */
void vbd_loop_destroy(struct vbd_loop *loop)
{
	if (!loop)
		return;
	loop->ending = true;
	do {
		uv_walk(&loop->uv, stop_handle, NULL);
		(void)uv_run(&loop->uv, loop->pool_jobs ? UV_RUN_ONCE : UV_RUN_NOWAIT);
	} while (loop->pool_jobs || !vbd_list_empty(&loop->deferred));
	vbd_list_for_each (link, &loop->resolutions)
		free(link); /* with which a resolution begins */
	uv_walk(&loop->uv, close_left_over, NULL);
	while (uv_loop_close(&loop->uv) == UV_EBUSY)
		(void)uv_run(&loop->uv, UV_RUN_DEFAULT);
	free(loop);
}

bool vbd_loop_has_work(const struct vbd_loop *loop)
{
	return loop->pool_jobs > 0;
}

void vbd_loop_run(struct vbd_loop *loop)
{
	(void)uv_run(&loop->uv, UV_RUN_DEFAULT);
}

void vbd_loop_stop(struct vbd_loop *loop)
{
	uv_stop(&loop->uv);
}

void vbd_loop_turn(struct vbd_loop *loop, bool wait)
{
	(void)uv_run(&loop->uv, wait ? UV_RUN_ONCE : UV_RUN_NOWAIT);
	/* UV_RUN_ONCE runs timers once more after the end of the turn. */
	run_deferred(loop);
	end_awake_time(loop);
}

static void on_fd_ready(uv_poll_t *handle, int status, int events)
{
	struct vbd_fd_watch *watch = VBD_CONTAINER_OF(handle, struct vbd_fd_watch, uv);
	unsigned int ready = (unsigned int)events;

	if (vbd_loop_wake(handle->loop)->ending)
		return;
	if (status < 0) {
		/*
		 * libuv turns EPOLLERR into UV_EBADF and stops the handle (uv__poll_io in its
		 * src/unix/poll.c). The reader or writer fetches the error, which clears it (for
		 * example the overflow of a netlink socket), so report "ready" and keep watching.
		 */
		ready = watch->events;
		(void)uv_poll_start(handle, (int)watch->events, on_fd_ready);
	}
	watch->cb(ready, watch->arg);
}

enum vbd_status vbd_fd_watch_start(struct vbd_loop *loop, int fd, unsigned int events, vbd_fd_cb cb,
	void *arg, struct vbd_fd_watch **ret_watch, struct vbd_error *err)
{
	struct vbd_fd_watch *watch = calloc(1, sizeof(*watch));
	int rc;

	if (!watch)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory to watch a descriptor");
	watch->events = events;
	watch->cb = cb;
	watch->arg = arg;
	rc = uv_poll_init(&loop->uv, &watch->uv, fd);
	if (rc < 0) {
		free(watch);
		return uv_error(err, "uv_poll_init", rc, "can\'t watch a descriptor");
	}
	rc = uv_poll_start(&watch->uv, (int)events, on_fd_ready);
	if (rc < 0) {
		uv_close((uv_handle_t *)&watch->uv, vbd_loop_free_handle);
		return uv_error(err, "uv_poll_start", rc, "can\'t watch a descriptor");
	}
	*ret_watch = watch;
	return VBD_OK;
}

void vbd_fd_watch_stop(struct vbd_fd_watch *watch)
{
	if (watch)
		uv_close((uv_handle_t *)&watch->uv, vbd_loop_free_handle);
}

static void on_timer(uv_timer_t *handle)
{
	struct vbd_timer *timer = VBD_CONTAINER_OF(handle, struct vbd_timer, uv);

	if (vbd_loop_wake(handle->loop)->ending)
		return;
	/* Libuv calls timers before it looks at descriptors. While this process stood still,
	 * something may have come there that makes the deadline void, so descriptors go first. */
	if (timer->due_ms != UINT64_MAX && uv_now(handle->loop) > timer->due_ms + STOOD_STILL_MS)
		vbd_timer_set(timer, 0);
	else
		timer->cb(timer->arg);
}

static void set_timer_due(struct vbd_deferred *self)
{
	struct vbd_timer *timer = VBD_CONTAINER_OF(self, struct vbd_timer, at_next_turn);

	(void)uv_timer_start(&timer->uv, on_timer, 0, 0);
}

enum vbd_status vbd_timer_create(struct vbd_loop *loop, vbd_timer_cb cb, void *arg,
	struct vbd_timer **ret_timer, struct vbd_error *err)
{
	struct vbd_timer *timer = calloc(1, sizeof(*timer));

	if (!timer)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a timer");
	(void)uv_timer_init(&loop->uv, &timer->uv); /* can't fail */
	vbd_deferred_init(&timer->at_next_turn, set_timer_due);
	timer->cb = cb;
	timer->arg = arg;
	*ret_timer = timer;
	return VBD_OK;
}

void vbd_timer_set(struct vbd_timer *timer, uint64_t timeout_ms)
{
	struct vbd_loop *loop = VBD_CONTAINER_OF(timer->uv.loop, struct vbd_loop, uv);

	vbd_timer_clear(timer);
	if (timeout_ms == 0) {
		/* libuv would call a timer of 0 ms that sets itself again endlessly in one turn. */
		timer->due_ms = UINT64_MAX;
		vbd_loop_defer(loop, &timer->at_next_turn);
		return;
	}
	/* libuv counts from the start of the turn in whole ms, rounded down. Update its time and
	 * add 1 ms, so that no deadline comes early. */
	uv_update_time(&loop->uv);
	timeout_ms = timeout_ms < VBD_TIMER_MS_MAX ? timeout_ms + 1 : VBD_TIMER_MS_MAX;
	timer->due_ms = uv_now(&loop->uv) + timeout_ms;
	(void)uv_timer_start(&timer->uv, on_timer, timeout_ms, 0);
}

void vbd_timer_clear(struct vbd_timer *timer)
{
	if (!timer)
		return;
	vbd_list_remove(&timer->at_next_turn.link);
	(void)uv_timer_stop(&timer->uv);
}

void vbd_timer_destroy(struct vbd_timer *timer)
{
	if (!timer)
		return;
	vbd_timer_clear(timer);
	uv_close((uv_handle_t *)&timer->uv, vbd_loop_free_handle);
}
