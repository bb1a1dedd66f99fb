/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/observe/health.h"

#include "daemon/observe/stats.h"
#include "rdma/data/worker.h"
#include "rdma/fabric/fabric.h"

/* Half of VBD_TRAFFIC_INTERVAL_MS. */
#define BEAT_MS 2500

/* A thread that has made no turn for so many beats is stuck. */
#define STUCK_BEATS 4

struct pulse {
	uint64_t turns; /* at the last beat */
	unsigned int missed;
};

struct vbd_health {
	struct vbd_daemon *daemon;
	struct vbd_timer *timer;
	bool pool_asked; /* a job of the pool is under way */
	unsigned int pool_missed;
	bool sample_due; /* at the next beat */
	struct vbd_traffic traffic;
	unsigned int worker_count;
	struct pulse workers[];
};

static bool is_stuck(unsigned int missed)
{
	return missed >= STUCK_BEATS;
}

static void log_worker(struct vbd_daemon *daemon, enum vbd_event_type type, unsigned int number)
{
	bool stuck = type == VBD_EVENT_WORKER_STUCK;
	const struct vbd_event event = {
		.type = type, .severity = stuck ? VBD_SEVERITY_ERROR : VBD_SEVERITY_NOTICE};

	(void)vbd_eventlog_append(daemon->eventlog, &event,
		stuck ? "data worker %u has made no turn for %u ms" : "data worker %u runs again",
		number, STUCK_BEATS * BEAT_MS);
}

static void check_worker(struct vbd_daemon *daemon, struct pulse *pulse, struct vbd_worker *worker)
{
	uint64_t turns = vbd_counter_get(&worker->turns);
	bool was_stuck = is_stuck(pulse->missed);

	if (turns == pulse->turns)
		pulse->missed += pulse->missed < STUCK_BEATS;
	else
		pulse->missed = 0;
	pulse->turns = turns;
	if (is_stuck(pulse->missed) != was_stuck)
		log_worker(daemon, was_stuck ? VBD_EVENT_WORKER_RECOVERED : VBD_EVENT_WORKER_STUCK,
			worker->number);
	vbd_mailbox_poke(&worker->inbox);
}

static void do_nothing(void *arg)
{
	(void)arg;
}

static void on_pool_job_done(void *arg)
{
	struct vbd_health *health = arg;

	if (is_stuck(health->pool_missed))
		vbd_log(VBD_LOG_NOTICE, NULL, "the thread pool takes jobs again");
	health->pool_asked = false;
	health->pool_missed = 0;
}

static void check_pool(struct vbd_health *health)
{
	struct vbd_loop *loop = health->daemon->loop;

	if (health->pool_asked) {
		health->pool_missed++;
		if (health->pool_missed == STUCK_BEATS)
			vbd_log(VBD_LOG_WARNING, NULL,
				"the thread pool has taken no job for %u ms: each thread is busy",
				STUCK_BEATS * BEAT_MS);
	} else if (vbd_loop_has_work(loop)) {
		health->pool_asked = vbd_loop_work(loop, VBD_WORK_CONTROL, NULL, do_nothing,
					     on_pool_job_done, health, NULL) == VBD_OK;
	}
}

void vbd_health_beat(struct vbd_daemon *daemon)
{
	struct vbd_health *health = daemon->health;

	for (unsigned int i = 0; i < health->worker_count; i++)
		check_worker(daemon, &health->workers[i], daemon->fabric->workers[i]);
	check_pool(health);
	if (health->sample_due)
		vbd_traffic_take(&health->traffic, daemon->fabric);
	health->sample_due = !health->sample_due;
}

const struct vbd_traffic *vbd_health_traffic(const struct vbd_daemon *daemon)
{
	return &daemon->health->traffic;
}

static void on_beat_timer(void *arg)
{
	struct vbd_health *health = arg;

	vbd_health_beat(health->daemon);
	vbd_timer_set(health->timer, BEAT_MS);
}

bool vbd_health_workers(const struct vbd_daemon *daemon, char *detail, size_t detail_bytes)
{
	const struct vbd_health *health = daemon->health;

	for (unsigned int i = 0; i < health->worker_count; i++) {
		if (!is_stuck(health->workers[i].missed))
			continue;
		(void)snprintf(detail, detail_bytes, "data worker %u has made no turn for %u ms", i,
			STUCK_BEATS * BEAT_MS);
		return false;
	}
	(void)snprintf(detail, detail_bytes, "%u data workers", health->worker_count);
	return health->worker_count != 0;
}

bool vbd_health_pool(const struct vbd_daemon *daemon, char *detail, size_t detail_bytes)
{
	bool stuck = is_stuck(daemon->health->pool_missed);

	(void)snprintf(detail, detail_bytes, "%s",
		stuck ? "the thread pool takes no jobs: each thread is busy"
		      : "the thread pool takes jobs");
	return !stuck;
}

enum vbd_status vbd_health_create(struct vbd_daemon *daemon, struct vbd_error *err)
{
	unsigned int count = daemon->fabric->worker_count;
	struct vbd_health *health = calloc(1, sizeof(*health) + count * sizeof(struct pulse));
	enum vbd_status status;

	if (!health)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory to watch the threads");
	health->daemon = daemon;
	health->worker_count = count;
	status = vbd_timer_create(daemon->loop, on_beat_timer, health, &health->timer, err);
	if (status != VBD_OK) {
		free(health);
		return status;
	}
	vbd_timer_set(health->timer, BEAT_MS);
	vbd_traffic_take(&health->traffic, daemon->fabric);
	daemon->health = health;
	return VBD_OK;
}

void vbd_health_destroy(struct vbd_daemon *daemon)
{
	free(daemon->health); /* the loop has freed the timer */
	daemon->health = NULL;
}
