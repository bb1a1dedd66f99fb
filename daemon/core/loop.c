/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/loop.h"

#include "base/clock.h"
#include "base/histogram.h"
#include "base/thread.h"

#include <uv.h>

#include <assert.h>
#include <netdb.h>

/* The work of one owner in a lane. */
struct share {
	struct vbd_link link;
	const void *owner;
	struct vbd_link waiting; /* struct job, the first is the next */
	unsigned int running;
	unsigned int unwanted; /* running jobs that nobody awaits */
};

struct lane {
	struct vbd_link shares; /* the first had its turn longest ago */
	unsigned int running;
	unsigned int unwanted;
};

struct vbd_loop {
	uv_loop_t uv;
	uv_prepare_t before_sleep;
	uv_check_t end_of_turn;
	uv_idle_t no_sleep; /* active while callbacks are deferred */
	struct vbd_link deferred;
	struct vbd_link resolutions;
	struct lane lanes[VBD_WORK_COUNT];
	struct vbd_deferred refill; /* starts jobs when others were abandoned in this turn */
	unsigned int pool_jobs;	    /* work and resolutions that the thread pool has not finished */
	uint64_t now_ns;	    /* 0: not read yet in this half of the turn */
	uint64_t woken_ns;	    /* first callback since the last sleep; 0: none yet */
	struct vbd_histogram awake;
	bool ending;
};

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

struct job {
	uv_async_t ended; /* of a thread of its own */
	uv_work_t uv;
	pthread_t thread;
	struct vbd_link link; /* until the job runs */
	struct vbd_loop *loop;
	struct lane *lane;
	struct share *share; /* NULL when the job is done */
	bool has_handle;     /* `ended` has to be closed */
	bool unwanted;
	void (*work)(void *arg);
	void (*done)(void *arg);
	void *arg;
};

struct vbd_resolution {
	struct vbd_loop *loop;
	struct vbd_link link;
	struct job *job; /* NULL when the loop has ended it */
	bool cancelled;
	struct vbd_addrs found;
	int code;   /* of getaddrinfo(3) */
	int errnum; /* with EAI_SYSTEM */
	vbd_resolved_cb cb;
	void *arg;
	char host[256];
	uint16_t port;
	int family;
};

static const struct {
	unsigned int threads, of_owner, unwanted;
} lanes[VBD_WORK_COUNT] = {
#define LANE_ROW(sym, threads, of_owner, unwanted) [sym] = {threads, of_owner, unwanted},
	VBD_WORK_MAP(LANE_ROW)
#undef LANE_ROW
};

static_assert(offsetof(struct vbd_fd_watch, uv) == 0, "freed as a uv handle");
static_assert(offsetof(struct job, ended) == 0, "freed as a uv handle");
static_assert(offsetof(struct vbd_timer, uv) == 0, "freed as a uv handle");
static_assert((int)VBD_FD_READ == (int)UV_READABLE && (int)VBD_FD_WRITE == (int)UV_WRITABLE &&
		      (int)VBD_FD_HANGUP == (int)UV_DISCONNECT &&
		      (int)VBD_FD_GONE == (int)UV_PRIORITIZED,
	"events are handed through as they are");

/* The time of a turn is read when its first callback runs, since libuv has no hook between sleep
 * and callbacks. */
static struct vbd_loop *wake(uv_loop_t *uv)
{
	struct vbd_loop *loop = VBD_CONTAINER_OF(uv, struct vbd_loop, uv);

	if (!loop->now_ns)
		loop->now_ns = vbd_clock_mono_ns();
	if (!loop->woken_ns)
		loop->woken_ns = loop->now_ns;
	return loop;
}

uint64_t vbd_loop_now_ns(const struct vbd_loop *loop)
{
	return loop->now_ns ? loop->now_ns : vbd_clock_mono_ns();
}

static void end_awake(struct vbd_loop *loop)
{
	if (loop->woken_ns)
		vbd_histogram_add(&loop->awake, vbd_clock_mono_ns() - loop->woken_ns);
	loop->woken_ns = 0;
	loop->now_ns = 0;
}

static void on_before_sleep(uv_prepare_t *handle)
{
	end_awake(VBD_CONTAINER_OF(handle, struct vbd_loop, before_sleep));
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

	vbd_list_init(&batch);
	while (!vbd_list_empty(&loop->deferred)) {
		struct vbd_link *link = loop->deferred.next;

		vbd_list_remove(link);
		vbd_list_append(&batch, link);
	}
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
	struct vbd_loop *loop = wake(handle->loop);

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

/* A job that its lane lets start finds a thread of libuv's pool free, whatever the other lanes do.
 * libuv reads the number once, when the first job of the process starts. */
static void reserve_threads(void)
{
	unsigned int threads = 0;
	char text[16];

	for (size_t i = 0; i < VBD_WORK_COUNT; i++)
		threads += lanes[i].threads;
	(void)snprintf(text, sizeof(text), "%u", threads);
	(void)setenv("UV_THREADPOOL_SIZE", text, 1);
}

static void refill_lanes(struct vbd_deferred *self);

enum vbd_status vbd_loop_create(struct vbd_loop **ret_loop, struct vbd_error *err)
{
	struct vbd_loop *loop = calloc(1, sizeof(*loop));
	int rc;

	if (!loop)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the loop");
	reserve_threads();
	rc = uv_loop_init(&loop->uv);
	if (rc < 0) {
		free(loop);
		return uv_error(err, "uv_loop_init", rc, "no loop");
	}
	vbd_list_init(&loop->deferred);
	vbd_list_init(&loop->resolutions);
	vbd_deferred_init(&loop->refill, refill_lanes);
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

static void free_handle(uv_handle_t *handle)
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
		uv_close(handle, ours ? free_handle : NULL);
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
		free(VBD_CONTAINER_OF(link, struct vbd_resolution, link));
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
	end_awake(loop);
}

static void on_poll(uv_poll_t *handle, int status, int events)
{
	struct vbd_fd_watch *watch = VBD_CONTAINER_OF(handle, struct vbd_fd_watch, uv);
	unsigned int ready = (unsigned int)events;

	if (wake(handle->loop)->ending)
		return;
	if (status < 0) {
		/*
		 * libuv turns EPOLLERR into UV_EBADF and stops the handle (uv__poll_io in its
		 * src/unix/poll.c). The reader or writer fetches the error, which clears it (for
		 * example the overflow of a netlink socket), so report "ready" and keep watching.
		 */
		ready = watch->events;
		(void)uv_poll_start(handle, (int)watch->events, on_poll);
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
	rc = uv_poll_start(&watch->uv, (int)events, on_poll);
	if (rc < 0) {
		uv_close((uv_handle_t *)&watch->uv, free_handle);
		return uv_error(err, "uv_poll_start", rc, "can\'t watch a descriptor");
	}
	*ret_watch = watch;
	return VBD_OK;
}

void vbd_fd_watch_stop(struct vbd_fd_watch *watch)
{
	if (watch)
		uv_close((uv_handle_t *)&watch->uv, free_handle);
}

static void on_timer(uv_timer_t *handle)
{
	struct vbd_timer *timer = VBD_CONTAINER_OF(handle, struct vbd_timer, uv);

	if (wake(handle->loop)->ending)
		return;
	/* Libuv calls timers before it looks at descriptors. While this process stood still,
	 * something may have come there that makes the deadline void, so descriptors go first. */
	if (timer->due_ms != UINT64_MAX && uv_now(handle->loop) > timer->due_ms + STOOD_STILL_MS)
		vbd_timer_set(timer, 0);
	else
		timer->cb(timer->arg);
}

static void due_at_next_turn(struct vbd_deferred *self)
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
	vbd_deferred_init(&timer->at_next_turn, due_at_next_turn);
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
	uv_close((uv_handle_t *)&timer->uv, free_handle);
}

static void on_job(uv_work_t *uv)
{
	struct job *job = VBD_CONTAINER_OF(uv, struct job, uv);

	job->work(job->arg);
}

/* Work that nobody awaits leaves its place to other work, while there are threads for that. */
static unsigned int places(unsigned int running, unsigned int unwanted, unsigned int most)
{
	return running - (unwanted < most ? unwanted : most);
}

/* The share whose turn it is; NULL if each has nothing that waits, or as many threads as it gets.
 * Of the threads for work that nobody awaits, an owner gets a half. */
static struct share *next_share(const struct lane *lane, size_t row)
{
	vbd_list_for_each (link, &lane->shares) {
		struct share *share = VBD_CONTAINER_OF(link, struct share, link);

		if (places(share->running, share->unwanted, lanes[row].unwanted / 2) <
				lanes[row].of_owner &&
			!vbd_list_empty(&share->waiting))
			return share;
	}
	return NULL;
}

static void on_job_done(uv_work_t *uv, int status);
static void on_thread_ended(uv_async_t *uv);

static void *job_main(void *arg)
{
	struct job *job = arg;

	job->work(job->arg);
	(void)uv_async_send(&job->ended);
	return NULL;
}

/* False without memory or threads. */
static bool run_in_thread(struct job *job)
{
	job->has_handle = uv_async_init(&job->loop->uv, &job->ended, on_thread_ended) == 0;
	return job->has_handle &&
	       vbd_thread_start(job_main, job, "no thread", &job->thread, NULL) == VBD_OK;
}

static void start_jobs(struct vbd_loop *loop, struct lane *lane)
{
	const size_t row = (size_t)(lane - loop->lanes);

	while (places(lane->running, lane->unwanted, lanes[row].unwanted) < lanes[row].threads) {
		struct share *share = next_share(lane, row);
		struct job *job;

		if (!share)
			return;
		job = VBD_LIST_FIRST(&share->waiting, struct job, link);
		vbd_list_remove(&job->link);
		vbd_list_remove(&share->link);
		vbd_list_append(&lane->shares, &share->link);
		share->running++;
		lane->running++;
		/* uv_queue_work() fails without a function only. */
		if (!lanes[row].unwanted || !run_in_thread(job))
			(void)uv_queue_work(&loop->uv, &job->uv, on_job, on_job_done);
	}
}

static void free_if_idle(struct share *share)
{
	if (share->running || !vbd_list_empty(&share->waiting))
		return;
	vbd_list_remove(&share->link);
	free(share);
}

static void end_job(struct job *job)
{
	struct vbd_loop *loop = wake(&job->loop->uv);
	struct share *share = job->share;

	loop->pool_jobs--;
	job->lane->running--;
	job->lane->unwanted -= job->unwanted;
	job->share = NULL;
	/* `done` may add the next slice of its work, whose turn comes after those that wait, or
	 * abandon all that waits: the share stays until then. */
	job->done(job->arg);
	share->running--;
	share->unwanted -= job->unwanted;
	free_if_idle(share);
	start_jobs(loop, job->lane);
	if (job->has_handle)
		uv_close((uv_handle_t *)&job->ended, free_handle);
	else
		free(job);
}

static void on_job_done(uv_work_t *uv, int status)
{
	(void)status; /* UV_ECANCELED only, and work is never cancelled */
	end_job(VBD_CONTAINER_OF(uv, struct job, uv));
}

static void on_thread_ended(uv_async_t *uv)
{
	struct job *job = VBD_CONTAINER_OF(uv, struct job, ended);

	(void)pthread_join(job->thread, NULL);
	end_job(job);
}

static struct share *find_share(struct lane *lane, const void *owner)
{
	struct share *share;

	vbd_list_for_each (link, &lane->shares) {
		share = VBD_CONTAINER_OF(link, struct share, link);
		if (share->owner == owner)
			return share;
	}
	share = calloc(1, sizeof(*share));
	if (!share)
		return NULL;
	share->owner = owner;
	vbd_list_init(&share->waiting);
	vbd_list_append(&lane->shares, &share->link);
	return share;
}

/* Returns NULL without memory. */
static struct job *queue_job(struct vbd_loop *loop, enum vbd_work kind, const void *owner,
	void (*work)(void *arg), void (*done)(void *arg), void *arg)
{
	struct lane *lane = &loop->lanes[kind];
	struct job *job = calloc(1, sizeof(*job));
	struct share *share = job ? find_share(lane, owner) : NULL;

	if (!share) {
		free(job);
		return NULL;
	}
	job->loop = loop;
	job->lane = lane;
	job->share = share;
	job->work = work;
	job->done = done;
	job->arg = arg;
	vbd_list_init(&job->link);
	vbd_list_append(&share->waiting, &job->link);
	loop->pool_jobs++;
	start_jobs(loop, lane);
	return job;
}

enum vbd_status vbd_loop_work(struct vbd_loop *loop, enum vbd_work kind, const void *owner,
	void (*work)(void *arg), void (*done)(void *arg), void *arg, struct vbd_error *err)
{
	return queue_job(loop, kind, owner, work, done, arg)
		       ? VBD_OK
		       : vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for work");
}

static void refill_lanes(struct vbd_deferred *self)
{
	struct vbd_loop *loop = VBD_CONTAINER_OF(self, struct vbd_loop, refill);

	for (size_t i = 0; i < VBD_WORK_COUNT; i++)
		start_jobs(loop, &loop->lanes[i]);
}

/* Nobody awaits the job. One that waits is done at once, without its work; one that runs can't be
 * stopped. Its place is taken at the end of the turn, when those that are abandoned with it wait no
 * more. */
static void abandon_job(struct job *job)
{
	struct vbd_loop *loop = job->loop;

	if (!job->share)
		return;
	if (!vbd_list_empty(&job->link)) {
		vbd_list_remove(&job->link);
		free_if_idle(job->share);
		loop->pool_jobs--;
		job->done(job->arg);
		free(job);
		return;
	}
	job->unwanted = true;
	job->lane->unwanted++;
	job->share->unwanted++;
	vbd_loop_defer(loop, &loop->refill);
}

static void resolve_error(const struct vbd_resolution *resolution, struct vbd_error *err)
{
	if (resolution->code == EAI_SYSTEM) {
		(void)vbd_error_errno(err, VBD_E_NAME_NOT_RESOLVED, "getaddrinfo",
			resolution->errnum, "%.128s", resolution->host);
		return;
	}
	err->source = VBD_SOURCE_GAI;
	err->raw = resolution->code;
	err->call = "getaddrinfo";
	(void)vbd_error_set(err, VBD_E_NAME_NOT_RESOLVED, "%.128s: getaddrinfo: %s",
		resolution->host, gai_strerror(resolution->code));
}

/* A thread of its own. */
static void look_up(void *arg)
{
	struct vbd_resolution *resolution = arg;

	resolution->code = vbd_addr_look_up(resolution->host, resolution->port, resolution->family,
		&resolution->found, &resolution->errnum);
}

static void report(const struct vbd_resolution *resolution)
{
	struct vbd_error err = {0};

	if (resolution->code) {
		resolve_error(resolution, &err);
		resolution->cb(NULL, &err, resolution->arg);
	} else {
		resolution->cb(&resolution->found, NULL, resolution->arg);
	}
}

static void on_resolved(void *arg)
{
	struct vbd_resolution *resolution = arg;

	if (resolution->cancelled) {
		free(resolution);
	} else if (resolution->loop->ending) {
		resolution->job = NULL; /* the owner may still cancel it */
	} else {
		vbd_list_remove(&resolution->link);
		report(resolution);
		free(resolution);
	}
}

enum vbd_status vbd_resolve(struct vbd_loop *loop, const void *owner, const char *host,
	uint16_t port, int family, vbd_resolved_cb cb, void *arg,
	struct vbd_resolution **ret_resolution, struct vbd_error *err)
{
	struct vbd_resolution *resolution;

	if (strlen(host) >= sizeof(resolution->host))
		return vbd_error_errno(
			err, VBD_E_NAME_NOT_RESOLVED, "getaddrinfo", ENAMETOOLONG, "%.128s", host);
	resolution = calloc(1, sizeof(*resolution));
	if (!resolution)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory to resolve a name");
	resolution->loop = loop;
	resolution->cb = cb;
	resolution->arg = arg;
	(void)snprintf(resolution->host, sizeof(resolution->host), "%s", host);
	resolution->port = port;
	resolution->family = family;
	resolution->job = queue_job(loop, VBD_WORK_NAMES, owner, look_up, on_resolved, resolution);
	if (!resolution->job) {
		free(resolution);
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory to resolve a name");
	}
	vbd_list_append(&loop->resolutions, &resolution->link);
	*ret_resolution = resolution;
	return VBD_OK;
}

void vbd_resolve_cancel(struct vbd_resolution *resolution)
{
	if (!resolution)
		return;
	vbd_list_remove(&resolution->link);
	if (!resolution->job) {
		free(resolution);
		return;
	}
	/* A thread may be inside getaddrinfo(3). on_resolved() runs in any case and frees. */
	resolution->cancelled = true;
	abandon_job(resolution->job);
}
