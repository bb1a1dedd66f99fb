/* SPDX-License-Identifier: Apache-2.0 */
/* Blocking work: jobs of owners, which take turns on the threads of their lane. */
#include "daemon/core/loop_parts.h"

#include "base/thread.h"

#include <assert.h>
#include <netdb.h>

/* The jobs of one owner in a lane. */
struct share {
	struct vbd_link link;
	const void *owner;
	struct vbd_link waiting; /* struct job, the first is the next */
	unsigned int running;
	unsigned int unwanted; /* running jobs that nobody awaits */
};

struct job {
	uv_async_t ended; /* of a thread of its own */
	uv_work_t uv;
	pthread_t thread;
	struct vbd_link link; /* in `waiting` of its share until the job runs */
	struct vbd_loop *loop;
	struct vbd_work_lane *lane;
	struct share *share; /* NULL when the job is done */
	bool has_handle;     /* `ended` has to be closed */
	bool unwanted;
	void (*work)(void *arg);
	void (*done)(void *arg);
	void *arg;
};

struct vbd_resolution {
	struct vbd_link link;
	struct vbd_loop *loop;
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

static_assert(offsetof(struct job, ended) == 0, "freed as a uv handle");
static_assert(offsetof(struct vbd_resolution, link) == 0, "freed as a link by the loop");

static void run_job(uv_work_t *uv)
{
	struct job *job = VBD_CONTAINER_OF(uv, struct job, uv);

	job->work(job->arg);
}

/* The threads that count as used: up to @most jobs that nobody awaits do not count. */
static unsigned int used_places(unsigned int running, unsigned int unwanted, unsigned int most)
{
	return running - (unwanted < most ? unwanted : most);
}

/* The owner's share whose turn it is; NULL if no share has a waiting job and may use another
 * thread. Of the threads for work that nobody awaits, one owner gets half. */
static struct share *next_ready_share(const struct vbd_work_lane *lane, size_t row)
{
	vbd_list_for_each_of (struct share, share, link, &lane->shares) {
		if (used_places(share->running, share->unwanted, lanes[row].unwanted / 2) <
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

/* Returns false without memory or threads. */
static bool run_in_thread(struct job *job)
{
	job->has_handle = uv_async_init(&job->loop->uv, &job->ended, on_thread_ended) == 0;
	return job->has_handle &&
	       vbd_thread_start(job_main, job, "no thread", &job->thread, NULL) == VBD_OK;
}

static void start_jobs(struct vbd_loop *loop, struct vbd_work_lane *lane)
{
	const size_t row = (size_t)(lane - loop->lanes);

	while (used_places(lane->running, lane->unwanted, lanes[row].unwanted) <
		lanes[row].threads) {
		struct share *share = next_ready_share(lane, row);
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
			(void)uv_queue_work(&loop->uv, &job->uv, run_job, on_job_done);
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
	struct vbd_loop *loop = vbd_loop_wake(&job->loop->uv);
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
		uv_close((uv_handle_t *)&job->ended, vbd_loop_free_handle);
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

static struct share *find_share(struct vbd_work_lane *lane, const void *owner)
{
	struct share *share;

	vbd_list_for_each_of (struct share, each, link, &lane->shares) {
		if (each->owner == owner)
			return each;
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
	struct vbd_work_lane *lane = &loop->lanes[kind];
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

/* Nobody awaits the job any more. A waiting job ends at once, without its work. A running job can't
 * be stopped: another job gets its place at the end of the turn, when all that are abandoned in
 * this turn have left the queue. */
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
	if (!loop->refill.cb)
		vbd_deferred_init(&loop->refill, refill_lanes);
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

/* Runs in a thread of its own. */
static void look_up_address(void *arg)
{
	struct vbd_resolution *resolution = arg;

	resolution->code = vbd_addr_look_up(resolution->host, resolution->port, resolution->family,
		&resolution->found, &resolution->errnum);
}

static void report_resolution(const struct vbd_resolution *resolution)
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
		report_resolution(resolution);
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
	resolution->job =
		queue_job(loop, VBD_WORK_NAMES, owner, look_up_address, on_resolved, resolution);
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
