/* SPDX-License-Identifier: Apache-2.0 */
/* Are the threads beside the control thread seen to run, and to be stuck? */
#include "daemon/observe/health.h"

#include "daemon/observe/stats.h"
#include "rdma/data/worker.h"
#include "tests/unit/svc.h"

#include <semaphore.h>
#include <unistd.h>

/* More beats than it takes to call a thread stuck. */
#define MANY_BEATS 10

/* Jobs that are more than the threads of the pool. */
#define MANY_JOBS 200

/* Waits until the worker has made a turn since @turns. */
static void await_turn(const struct vbd_worker *worker, uint64_t turns)
{
	UNIT_UNTIL (vbd_counter_get(&worker->turns) != turns)
		(void)usleep(1000);
}

SVC_TEST(test_health__idle_workers_run)
{
	struct vbd_worker *worker = svc->daemon->fabric->workers[0];
	char detail[80];

	for (unsigned int i = 0; i < MANY_BEATS; i++) {
		uint64_t turns = vbd_counter_get(&worker->turns);

		vbd_health_beat(svc->daemon);
		await_turn(worker, turns);
		assert_true(vbd_health_workers(svc->daemon, detail, sizeof(detail)));
	}
	assert_string_equal(detail, "1 data workers");
	assert_int_equal(svc_count_events(svc, VBD_EVENT_WORKER_STUCK), 0);
}

SVC_TEST(test_health__a_worker_that_does_not_come_back_is_told_once)
{
	struct vbd_worker *worker = svc->daemon->fabric->workers[0];
	struct vbd_connection_spec spec = svc_spec_to(svc_listen(svc, NULL));
	struct vbd_connection *connection;
	uint64_t turns;
	char detail[80];

	fake_polls_stalled(true);
	connection = svc_connect(svc, &spec);
	SVC_UNTIL(svc, fake_poll_is_stalled());
	assert_true(vbd_health_workers(svc->daemon, detail, sizeof(detail)));
	for (unsigned int i = 0; i < MANY_BEATS; i++)
		vbd_health_beat(svc->daemon);
	assert_false(vbd_health_workers(svc->daemon, detail, sizeof(detail)));
	assert_string_equal(detail, "data worker 0 has made no turn for 10000 ms");
	assert_int_equal(svc_count_events(svc, VBD_EVENT_WORKER_STUCK), 1);

	turns = vbd_counter_get(&worker->turns);
	fake_polls_stalled(false);
	await_turn(worker, turns);
	vbd_health_beat(svc->daemon);
	assert_true(vbd_health_workers(svc->daemon, detail, sizeof(detail)));
	assert_int_equal(svc_count_events(svc, VBD_EVENT_WORKER_RECOVERED), 1);
	svc_close(svc, connection);
}

struct jobs {
	sem_t release;
	unsigned int done;
};

static void wait_for_release(void *arg)
{
	struct jobs *jobs = arg;

	while (sem_wait(&jobs->release) != 0)
		;
}

static void on_done(void *arg)
{
	((struct jobs *)arg)->done++;
}

SVC_TEST(test_health__a_pool_without_a_free_thread_is_told)
{
	struct jobs jobs = {0};
	char detail[80];

	assert_int_equal(sem_init(&jobs.release, 0, 0), 0);
	for (unsigned int i = 0; i < MANY_JOBS; i++)
		assert_int_equal(vbd_loop_work(svc->daemon->loop, VBD_WORK_CONTROL, NULL,
					 wait_for_release, on_done, &jobs, NULL),
			VBD_OK);
	assert_true(vbd_health_pool(svc->daemon, detail, sizeof(detail)));
	for (unsigned int i = 0; i < MANY_BEATS; i++)
		vbd_health_beat(svc->daemon);
	assert_false(vbd_health_pool(svc->daemon, detail, sizeof(detail)));
	for (unsigned int i = 0; i < MANY_JOBS; i++)
		(void)sem_post(&jobs.release);
	SVC_UNTIL(svc, vbd_health_pool(svc->daemon, detail, sizeof(detail)));
	SVC_UNTIL(svc, jobs.done == MANY_JOBS);
	assert_int_equal(sem_destroy(&jobs.release), 0);
}

static const struct vbd_traffic_sample *next_sample(struct svc *svc)
{
	const struct vbd_traffic *traffic = vbd_health_traffic(svc->daemon);
	uint64_t taken = traffic->taken;

	while (traffic->taken == taken)
		vbd_health_beat(svc->daemon);
	return &traffic->samples[taken % VBD_TRAFFIC_SAMPLES];
}

SVC_TEST(test_health__traffic_is_sampled)
{
	struct vbd_op_counters *totals = svc->daemon->fabric->workers[0]->op_totals;
	const struct vbd_traffic *traffic = vbd_health_traffic(svc->daemon);
	const struct vbd_traffic_sample *before = &traffic->samples[0], *sample;

	assert_int_equal(traffic->taken, 1);
	assert_int_equal(before->out_bytes_per_s, 0);
	vbd_counter_add(&totals[VBD_OP_WRITE].bytes, 1 << 20);
	vbd_counter_add(&totals[VBD_OP_SEND].bytes, 1 << 20);
	vbd_counter_add(&totals[VBD_OP_READ].bytes, 1 << 20);
	sample = next_sample(svc);
	assert_true(sample->at_ns > before->at_ns);
	assert_true(sample->in_bytes_per_s > 0);
	assert_true(sample->out_bytes_per_s / 2 - sample->in_bytes_per_s <= 1);
	sample = next_sample(svc);
	assert_int_equal(sample->out_bytes_per_s, 0);
	assert_int_equal(sample->in_bytes_per_s, 0);

	/* The oldest one makes room. */
	while (traffic->taken <= VBD_TRAFFIC_SAMPLES)
		sample = next_sample(svc);
	assert_ptr_equal(sample, &traffic->samples[0]);
	vbd_counter_add(&totals[VBD_OP_RECV].bytes, 1 << 20);
	assert_true(next_sample(svc)->in_bytes_per_s > 0);
}
