/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that the kernel holds beyond verbsd's own count, and times of operations. */
#include "daemon/observe/kernel.h"
#include "daemon/observe/stats.h"

#include "base/clock.h"
#include "daemon/memory/windows.h"
#include "rdma/device/cq.h"
#include "rdma/device/pd.h"
#include "rdma/fabric/report.h"
#include "tests/unit/scratch.h"
#include "tests/unit/svc.h"

#include <sys/stat.h>
#include <unistd.h>

static void let_pass(uint64_t duration_ns)
{
	uint64_t end_ns = vbd_clock_mono_ns() + duration_ns;

	while (vbd_clock_mono_ns() < end_ns)
		(void)usleep(1000);
}

/* A new one, not the one that was taken just now. */
static void take_snapshot(struct svc *svc)
{
	uint64_t number;

	let_pass(VBD_KERNEL_FRESH_NS);
	number = vbd_kernel_snapshot_begin(svc->daemon, true);
	SVC_UNTIL(svc, vbd_kernel_snapshots_taken(svc->daemon) >= number);
}

/* Snapshots until the objects were counted from now on. */
static const struct vbd_object_counts *count_objects(struct svc *svc)
{
	const struct vbd_object_counts *counts = vbd_kernel_object_counts(svc->daemon);
	uint64_t begun_ns = vbd_clock_mono_ns();

	UNIT_UNTIL (counts->counted_ns >= begun_ns)
		take_snapshot(svc);
	return counts;
}

SVC_TEST(test_services_kernel__all_that_it_holds_is_known)
{
	const struct vbd_object_counts *counts = count_objects(svc);
	struct svc_pair pair;

	assert_true(counts->known);
	assert_int_equal(counts->leaked, 0);
	pair = svc_pair(svc, svc_listen(svc, NULL));
	(void)svc_buffer(svc, "held", 8192, 0);
	(void)count_objects(svc);
	assert_int_equal(counts->leaked, 0);
	for (size_t i = 0; i < VBD_PV_OBJECT_COUNT; i++)
		assert_int_equal(counts->held[i], counts->kernel[i]);
	assert_int_equal(counts->held[VBD_PV_QP], 2);
	/* The fourth is the report port. */
	assert_int_equal(counts->held[VBD_PV_CM_ID], 4);
	/* One slab has the receives of both connections. */
	assert_int_equal(counts->held[VBD_PV_MR], 2);
	svc_close(svc, pair.active);
	/* Call threads destroy what the ended connections leave. */
	SVC_UNTIL(svc, pair.passive->object.ended && svc->daemon->fabric->calls->under_way == 0);
	(void)count_objects(svc);
	assert_int_equal(counts->leaked, 0);
	assert_int_equal(counts->held[VBD_PV_QP], 0);
}

/* Soft-RoCE binds to the beginning of an MR only, so this window has an MR of its own. */
SVC_TEST(test_services_kernel__a_window_with_its_own_mr_is_known)
{
	struct vbd_window_spec spec = {
		.range = {.type = 1,
			.offset = 4096,
			.length_bytes = 100,
			.access = VBD_ACCESS_REMOTE_WRITE},
		.timeout_ms = 5000,
	};
	struct vbd_window_record *record = NULL;

	svc->device->attr.vendor_id = VBD_VENDOR_RXE;
	svc_restart(svc);
	spec.connection = svc_pair(svc, svc_listen(svc, NULL)).passive;
	spec.buffer = svc_buffer(svc, "", 8192, VBD_ACCESS_MW_BIND);
	assert_int_equal(vbd_window_create(svc->daemon, &spec, &record, &svc->err), VBD_OK);
	SVC_UNTIL(svc, record->window.state == VBD_WINDOW_READY);
	assert_true(record->window.own_mr);
	assert_int_equal(count_objects(svc)->leaked, 0);
}

SVC_TEST(test_services_kernel__what_nobody_knows_of_is_leaked)
{
	fake_leak_mrs(3);
	assert_int_equal(count_objects(svc)->leaked, 3);
	assert_int_equal(fake_count("rdma netlink"), 2);
	fake_leak_mrs(0);
	assert_int_equal(count_objects(svc)->leaked, 0);
}

/* A planted leak: the buffer's record ends without its MR. */
SVC_TEST(test_services_kernel__what_its_owner_left_behind_is_leaked)
{
	struct vbd_buffer *buffer = svc_buffer(svc, "", 8192, 0);
	struct ibv_mr *mr = buffer->mem.mr;

	buffer->mem.mr = NULL;
	assert_int_equal(count_objects(svc)->leaked, 0);
	assert_int_equal(vbd_buffer_delete(buffer, &svc->err), VBD_OK);
	/* The pool unmaps the bytes before the buffer's account is closed. */
	SVC_UNTIL(svc, svc->daemon->fabric->calls->under_way + svc->daemon->pool_jobs == 0);
	assert_int_equal(count_objects(svc)->leaked, 1);
	assert_int_equal(
		count_objects(svc)->held[VBD_PV_MR], count_objects(svc)->kernel[VBD_PV_MR] - 1);
	vbd_account_made(NULL, VBD_PV_MR);
	vbd_pv_dereg_mr(NULL, mr);
	assert_int_equal(count_objects(svc)->leaked, 0);
}

/* Planted leaks: each owner has made an object that it never destroys. The fixture finds that
 * nothing is in an account any more. */
SVC_TEST(test_services_kernel__an_account_ends_with_its_owner)
{
	struct vbd_listener *listener = svc_listen(svc, NULL);
	struct svc_pair pair = svc_pair(svc, listener);
	struct vbd_device *device = vbd_fabric_device(svc->daemon->fabric, "fake0");
	struct vbd_window_spec spec = {
		.range = {.type = 1, .length_bytes = 100, .access = VBD_ACCESS_REMOTE_WRITE},
		.connection = pair.passive,
		.buffer = svc_buffer(svc, "", 8192, VBD_ACCESS_MW_BIND),
		.timeout_ms = 5000,
	};
	struct vbd_window_record *record = NULL;

	assert_int_equal(vbd_window_create(svc->daemon, &spec, &record, &svc->err), VBD_OK);
	SVC_UNTIL(svc, record->window.state == VBD_WINDOW_READY);
	struct vbd_account *const accounts[] = {
		&pair.active->conn->account,
		&pair.passive->conn->account,
		&listener->cm.account,
		&device->account,
		&device->pd->account,
		&pair.active->conn->qp.channel->cq->account,
		&spec.buffer->mem.account,
		&record->window.account,
		&VBD_LIST_FIRST(&svc->daemon->fabric->report_ports, struct vbd_report_port, link)
			 ->account,
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(accounts); i++)
		vbd_account_made(accounts[i], VBD_PV_CONTEXT);
	svc_close(svc, pair.active);
	SVC_UNTIL(svc, pair.passive->object.ended);
	/* The remains of the queue pair have taken the account over. */
	vbd_account_made(&pair.passive->conn->account, VBD_PV_CONTEXT);
	svc_restart(svc);
	assert_int_equal(count_objects(svc)->held[VBD_PV_CONTEXT], 1);
}

SVC_TEST(test_services_kernel__one_that_does_not_tell_is_no_leak)
{
	fake_leak_mrs(3);
	fake_fail_next("rdma netlink", EPROTONOSUPPORT);
	assert_false(count_objects(svc)->known);
	assert_int_equal(vbd_kernel_object_counts(svc->daemon)->leaked, 0);
}

SVC_TEST(test_services_kernel__who_asks_meanwhile_joins_the_look)
{
	uint64_t first = vbd_kernel_snapshot_begin(svc->daemon, true);

	assert_int_equal(vbd_kernel_snapshot_begin(svc->daemon, true), first);
	SVC_UNTIL(svc, vbd_kernel_snapshots_taken(svc->daemon) >= first);
	assert_int_equal(fake_count("rdma netlink"), 1);
	let_pass(VBD_KERNEL_FRESH_NS);
	assert_int_equal(vbd_kernel_snapshot_begin(svc->daemon, true), first + 1);
	SVC_UNTIL(svc, vbd_kernel_snapshots_taken(svc->daemon) > first);
}

/* The rest after a count that nobody asked for would make the next answer older than its request.
 */
SVC_TEST(test_services_kernel__counters_alone_count_no_objects)
{
	uint64_t counters = vbd_kernel_snapshot_begin(svc->daemon, false);

	SVC_UNTIL(svc, vbd_kernel_snapshots_taken(svc->daemon) >= counters);
	assert_int_equal(fake_count("rdma netlink"), 0);
	let_pass(VBD_KERNEL_FRESH_NS);
	counters = vbd_kernel_snapshot_begin(svc->daemon, false);
	assert_int_equal(vbd_kernel_snapshot_begin(svc->daemon, true), counters);
	SVC_UNTIL(svc, vbd_kernel_snapshots_taken(svc->daemon) >= counters);
	assert_int_equal(fake_count("rdma netlink"), 1);
}

/* A count takes longer the more objects there are, and requests come as often as they like. */
SVC_TEST(test_services_kernel__a_slow_count_is_rare_and_not_waited_for)
{
	const struct vbd_object_counts *counts = vbd_kernel_object_counts(svc->daemon);
	uint64_t number = vbd_kernel_snapshot_begin(svc->daemon, true), counted_ns;

	fake_block("rdma netlink");
	UNIT_UNTIL (fake_blocked()) {
		/* The first count was faster than fake_block(): have another one. */
		svc_turn(svc);
		number = vbd_kernel_snapshot_begin(svc->daemon, true);
	}
	let_pass(60 * VBD_NS_PER_MS);
	fake_unblock();
	SVC_UNTIL(svc, vbd_kernel_snapshots_taken(svc->daemon) >= number);
	/* The snapshot may be taken before: it does not wait for a count after a slow one. */
	SVC_UNTIL(svc, counts->took_ns >= 60 * VBD_NS_PER_MS);
	counted_ns = counts->counted_ns;
	take_snapshot(svc);
	assert_int_equal(counts->counted_ns, counted_ns);
	fake_block("rdma netlink");
	let_pass(10 * counts->took_ns);
	take_snapshot(svc);
	UNIT_UNTIL (fake_blocked())
		;
	assert_int_equal(counts->counted_ns, counted_ns);
	fake_unblock();
	SVC_UNTIL(svc, counts->counted_ns != counted_ns);
}

SVC_TEST(test_services_kernel__a_daemon_may_end_in_the_middle_of_a_look)
{
	(void)vbd_kernel_snapshot_begin(svc->daemon, true);
	svc_restart(svc);
	assert_int_equal(count_objects(svc)->leaked, 0);
}

SVC_TEST(test_services_kernel__phases_and_ends_are_counted)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	const struct vbd_daemon *daemon = svc->daemon;

	for (size_t phase = 0; phase < VBD_PHASE_COUNT; phase++) {
		const struct vbd_histogram *times = &daemon->times.phases[phase];

		assert_int_equal(vbd_counter_get(&times->count), 1);
		/* A phase is a part of the daemon's life. */
		assert_in_range(
			vbd_counter_get(&times->sum), 0, vbd_clock_mono_ns() - daemon->started_ns);
	}
	svc_close(svc, pair.active);
	SVC_UNTIL(svc, pair.passive->object.ended);
	assert_int_equal(daemon->connections_ended[VBD_REASON_LOCAL_CLOSE], 1);
	assert_int_equal(daemon->connections_ended[VBD_REASON_PEER_DISCONNECT], 1);
}

SVC_TEST(test_services_kernel__a_failed_connection_has_no_phase)
{
	struct vbd_connection_spec spec = svc_spec_to(NULL);
	struct vbd_connection *connection = svc_connect(svc, &spec);
	const struct vbd_daemon *daemon = svc->daemon;

	SVC_UNTIL(svc, connection->object.ended);
	assert_int_equal(vbd_counter_get(&daemon->times.phases[VBD_PHASE_CONNECT].count), 0);
}

/* One counter in each set of the first port, with the number of the set as its value. */
static void write_counters(const char *folder)
{
	char path[SCRATCH_PATH_BYTES + 64];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/ports", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	(void)snprintf(path, sizeof(path), "%s/ports/1", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	for (enum vbd_counter_set set = 0; set < VBD_COUNTER_SET_COUNT; set++) {
		(void)snprintf(
			path, sizeof(path), "%s/ports/1/%s", folder, vbd_counter_set_name(set));
		assert_int_equal(mkdir(path, 0700), 0);
		(void)snprintf(path, sizeof(path), "%s/ports/1/%s/counted", folder,
			vbd_counter_set_name(set));
		file = fopen(path, "w");
		assert_non_null(file);
		assert_true(fprintf(file, "%u\n", set) > 0);
		assert_int_equal(fclose(file), 0);
	}
}

static void on_cm_messages(const struct vbd_stat *stat, void *arg)
{
	uint64_t *messages = arg;

	if (strncmp(stat->metric, "verbsd_kernel_cm_", 17) == 0)
		*messages += stat->value;
}

SVC_TEST(test_services_kernel__a_snapshot_has_each_set_of_counters)
{
	struct vbd_device *device = vbd_fabric_device(svc->daemon->fabric, "fake0");
	const struct vbd_kernel_view *view = vbd_kernel_view(svc->daemon);
	uint64_t messages = 0;
	static char folder[SCRATCH_PATH_BYTES];

	scratch_make(folder);
	write_counters(folder);
	device->ibdev_path = folder;
	take_snapshot(svc);
	scratch_remove(folder);
	assert_int_equal(view->counter_count, VBD_COUNTER_SET_COUNT);
	vbd_stats_walk_kernel(
		view, vbd_kernel_object_counts(svc->daemon), on_cm_messages, &messages);
	assert_int_equal(messages, VBD_COUNTER_SET_CM_TX_MSGS + VBD_COUNTER_SET_CM_TX_RETRIES +
					   VBD_COUNTER_SET_CM_RX_MSGS +
					   VBD_COUNTER_SET_CM_RX_DUPLICATES);
	for (enum vbd_counter_set set = 0; set < VBD_COUNTER_SET_COUNT; set++) {
		assert_int_equal(view->counters[set].set, set);
		assert_int_equal(view->counters[set].value, set);
		assert_int_equal(view->counters[set].port_num, 1);
		assert_string_equal(view->counters[set].device, "fake0");
		assert_string_equal(view->counters[set].name, "counted");
	}
}

SVC_TEST(test_services_kernel__the_loop_counts_its_turns)
{
	const struct vbd_histogram *lag = vbd_loop_lag(svc->daemon->loop);
	uint64_t before = vbd_counter_get(&lag->count);

	(void)take_snapshot(svc);
	svc_turn(svc);
	assert_true(vbd_counter_get(&lag->count) > before);
}
