/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon as a whole: starting, devices coming and going, stopping. */
#include "daemon/daemon.h"

#include "daemon/core/devices.h"
#include "daemon/memory/shared.h"
#include "daemon/observe/kernel.h"
#include "daemon/observe/stats.h"
#include "rdma/device/cq.h"
#include "tests/unit/svc.h"

static void begin_stop_cb(void *arg)
{
	((struct svc *)arg)->stopped = true;
}

static void begin_stop(struct svc *svc)
{
	vbd_daemon_stop(svc->daemon, begin_stop_cb, svc);
}

/* Starting. */

SVC_TEST(test_services_daemon__without_a_device_it_starts_and_waits)
{
	char detail[100];

	svc_stop(svc);
	fake_device_unplug(svc->device);
	assert_true(svc_start(svc));
	assert_false(vbd_ready_device(svc->daemon, detail, sizeof(detail)));
	assert_string_equal(detail, "no RDMA device");
	assert_false(vbd_ready_port(svc->daemon, detail, sizeof(detail)));
	assert_string_equal(detail, "no port is active");
	assert_true(vbd_ready_cm(svc->daemon, detail, sizeof(detail)));
	svc->device = fake_device_add("fake0");
	unit_rescan(svc->daemon->fabric);
	assert_true(vbd_ready_device(svc->daemon, detail, sizeof(detail)));
	assert_string_equal(detail, "fake0");
	assert_true(vbd_ready_port(svc->daemon, detail, sizeof(detail)));
	assert_string_equal(detail, "fake0 has an active port");
	svc->device->port.state = IBV_PORT_DOWN;
	svc_ask_ports(svc);
	assert_false(vbd_ready_port(svc->daemon, detail, sizeof(detail)));
	(void)svc_pair(svc, svc_listen(svc, NULL));
}

SVC_TEST(test_services_daemon__a_cm_that_comes_late_is_watched)
{
	char detail[300];

	svc_stop(svc);
	fake_device_unplug(svc->device);
	/* The kernel has no rdma_cm at the start and at the first scan. */
	fake_fail_next("rdma_create_event_channel", ENOENT);
	assert_true(svc_start(svc));
	svc->device = fake_device_add("fake0");
	unit_rescan(svc->daemon->fabric);
	assert_true(vbd_ready_cm(svc->daemon, detail, sizeof(detail)));
	(void)svc_pair(svc, svc_listen(svc, NULL));
}

/* Calls that may fail without the daemon failing: they are optional or repeated. Those for an id
 * are of a report port. */
static bool may_fail(const char *call)
{
	return strcmp(call, "rdma_create_event_channel") == 0 ||
	       strcmp(call, "ibv_get_device_list") == 0 || strcmp(call, "ibv_open_device") == 0 ||
	       strncmp(call, "ibv_query", 9) == 0 || strcmp(call, "ibv_alloc_pd") == 0 ||
	       strcmp(call, "rdma_create_id") == 0 || strcmp(call, "rdma_bind_addr") == 0 ||
	       strcmp(call, "rdma_listen") == 0;
}

SVC_TEST(test_services_daemon__each_call_failing_at_the_start)
{
	unsigned int nth = 0;
	const char *call;

	do {
		svc_stop(svc);
		fake_fail_nth(++nth, EIO);
		(void)svc_start(svc);
		call = fake_failed_call();
		fake_fail_nth(0, 0);
		assert_non_null(svc->daemon);
		if (call)
			assert_true(may_fail(call));
	} while (call);
	assert_in_range(nth, 6, 50);
}

SVC_TEST(test_services_daemon__each_allocation_failing_at_the_start)
{
	unsigned int nth = 0, refused = 0;
	bool failed;

	do {
		svc_stop(svc);
		assert_int_equal(fake_live_total(), 0);
		fake_memory_fail_nth(++nth);
		if (!svc_start(svc)) {
			refused++;
			assert_int_equal(svc->err.status, VBD_E_NO_MEMORY);
			assert_int_equal(fake_live_total(), 0);
		}
		failed = fake_memory_failed();
		fake_memory_fail_nth(0);
		if (!svc->daemon)
			continue;
		/* The next look at the devices opens what the start could not. */
		unit_rescan(svc->daemon->fabric);
		(void)svc_pair(svc, svc_listen(svc, NULL));
	} while (failed);
	assert_in_range(refused, 5, nth);
}

/* Devices. */

/* Unplugs the device, and plugs in another one of the same name. */
static void exchange_device(struct svc *svc)
{
	struct vbd_device *old = vbd_device_find_ref(svc->daemon, "fake0", NULL), *fresh;

	fake_device_unplug(svc->device);
	svc->device = fake_device_add("fake0");
	unit_rescan(svc->daemon->fabric);
	SVC_UNTIL(svc, (fresh = vbd_device_find_ref(svc->daemon, "fake0", NULL)) != old &&
			       fresh->state == VBD_DEVICE_PRESENT &&
			       old->state == VBD_DEVICE_REMOVED);
}

SVC_TEST(test_services_daemon__devices_are_found_by_name_and_id)
{
	struct vbd_device *old, *fresh;
	struct vbd_error err = {0};

	old = vbd_device_find_ref(svc->daemon, "fake0", &svc->err);
	assert_non_null(old);
	assert_ptr_equal(vbd_device_find_ref(svc->daemon, "1", &svc->err), old);
	assert_null(vbd_device_find_ref(svc->daemon, "2", &err));
	assert_int_equal(err.status, VBD_E_NOT_FOUND);
	exchange_device(svc);
	/* The name finds the newest device, the id finds the removed one too. */
	fresh = vbd_device_find_ref(svc->daemon, "fake0", &svc->err);
	assert_ptr_not_equal(fresh, old);
	assert_ptr_equal(vbd_device_find_ref(svc->daemon, "1", &svc->err), old);
	assert_int_equal(old->state, VBD_DEVICE_REMOVED);
	assert_null(vbd_device_find_ref(svc->daemon, "18446744073709551616", NULL));
}

SVC_TEST(test_services_daemon__cqs_are_found_by_id)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct vbd_cq *cq = svc_find_shared(svc->daemon->cqs, "1", &svc->err);

	assert_non_null(cq);
	assert_int_equal(pair.active->conn->qp.cq_id, 1);
	assert_int_equal(cq->connections, 2);
	assert_null(svc_find_shared(svc->daemon->cqs, "2", NULL));
	assert_null(svc_find_shared(svc->daemon->cqs, "first", &svc->err));
}

SVC_TEST(test_services_daemon__a_device_whose_context_is_not_closed_holds_up_no_other)
{
	struct vbd_device *going = vbd_device_find_ref(svc->daemon, "fake0", &svc->err);
	struct vbd_device *other;

	fake_block("ibv_close_device");
	fake_device_unplug(svc->device);
	svc->device = fake_device_add("fake1");
	unit_rescan(svc->daemon->fabric);
	svc_turn(svc);
	other = vbd_device_find_ref(svc->daemon, "fake1", &svc->err);
	assert_int_equal(other->state, VBD_DEVICE_PRESENT);
	(void)svc_pair(svc, svc_listen(svc, NULL));
	assert_int_equal(going->state, VBD_DEVICE_REMOVING);
	fake_unblock();
	SVC_UNTIL(svc, going->state == VBD_DEVICE_REMOVED);
}

SVC_TEST(test_services_daemon__removed_devices_do_not_pile_up)
{
	unsigned int records = 0;

	for (int i = 0; i < 30; i++)
		exchange_device(svc);
	vbd_list_for_each (link, &svc->daemon->fabric->devices)
		records++;
	assert_int_equal(records, 17);
	assert_int_equal(fake_live().contexts, 1);
	assert_int_equal(svc_count_events(svc, VBD_EVENT_DEVICE_REMOVED), 30);
}

SVC_TEST(test_services_daemon__a_device_that_comes_back_too_early_is_taken_up)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct fake_device *old = svc->device;
	struct vbd_device *device;

	/* Connections still use the old device when the new one appears. */
	fake_device_unplug(old);
	svc->device = fake_device_add("fake0");
	unit_rescan(svc->daemon->fabric);
	SVC_UNTIL(svc, pair.active->object.ended && pair.passive->object.ended);
	SVC_UNTIL(svc, fake_device_let_go(old));
	SVC_UNTIL(svc, (device = vbd_fabric_device(svc->daemon->fabric, "fake0")) &&
			       device->state == VBD_DEVICE_PRESENT);
	(void)svc_pair(svc, svc_listen(svc, NULL));
}

SVC_TEST(test_services_daemon__async_events_are_logged_and_counted)
{
	const struct vbd_device *device = vbd_fabric_device(svc->daemon->fabric, "fake0");

	fake_device_async(svc->device, IBV_EVENT_PORT_ERR, 1);
	fake_device_async(svc->device, IBV_EVENT_PORT_ACTIVE, 1);
	SVC_UNTIL(svc, svc_count_events(svc, VBD_EVENT_DEVICE_ASYNC_EVENT) == 2);
	assert_int_equal(vbd_counter_get(&device->async_events[IBV_EVENT_PORT_ERR]), 1);
	fake_device_async(svc->device, IBV_EVENT_DEVICE_FATAL, 0);
	SVC_UNTIL(svc, svc_count_events(svc, VBD_EVENT_DEVICE_REMOVED) == 1);
	SVC_UNTIL(svc, svc->daemon->fabric->calls->under_way == 0);
	assert_true(fake_device_let_go(svc->device));
}

/* Numbers. */

struct numbers {
	unsigned int count;
	uint64_t established, open, limit;
};

static void on_value(const char *name, uint64_t value, void *arg)
{
	struct numbers *numbers = arg;

	numbers->count++;
	if (strcmp(name, "connections_established") == 0)
		numbers->established = value;
	if (strcmp(name, "connections") == 0)
		numbers->open = value;
	if (strcmp(name, "connections_limit") == 0)
		numbers->limit = value;
}

static void on_number(const struct vbd_stat *stat, void *numbers)
{
	vbd_stat_flatten(stat, on_value, numbers);
}

SVC_TEST(test_services_daemon__locked_memory_has_a_limit_or_none)
{
	uint64_t locked_bytes = UINT64_MAX, limit_bytes = 0;

	vbd_memlock(&locked_bytes, &limit_bytes);
	assert_true(locked_bytes < UINT64_MAX);
	assert_true(limit_bytes > 0);
}

SVC_TEST(test_services_daemon__stats_count_what_there_is)
{
	struct vbd_listener_spec spec = svc_listener_spec();
	struct numbers numbers = {0};
	struct vbd_listener *listener;
	struct vbd_connection_spec to;

	(void)svc_pair(svc, svc_listen(svc, NULL));
	spec.accept = VBD_ACCEPT_MANUAL;
	listener = svc_listen(svc, &spec);
	to = svc_spec_to(listener);
	(void)svc_connect(svc, &to);
	SVC_UNTIL(svc, listener->waiting == 1);
	vbd_stats_walk(svc->daemon, on_number, &numbers);
	assert_true(numbers.count > 20);
	assert_int_equal(numbers.established, 2);
	assert_int_equal(numbers.open, 4);
	assert_int_equal(numbers.limit, svc->daemon->config->limits.connections);
}

struct names {
	char *names[1024];
	size_t count;
};

static void on_flat_name(const char *name, uint64_t value, void *arg)
{
	struct names *names = arg;

	(void)value;
	assert_true(names->count < VBD_ARRAY_LEN(names->names));
	for (size_t i = 0; i < names->count; i++)
		assert_string_not_equal(names->names[i], name);
	names->names[names->count++] = strdup(name);
}

static void on_name(const struct vbd_stat *stat, void *names)
{
	vbd_stat_flatten(stat, on_flat_name, names);
}

SVC_TEST(test_services_daemon__stats_say_each_name_once)
{
	struct names names = {0};

	vbd_stats_walk(svc->daemon, on_name, &names);
	vbd_stats_walk_kernel(vbd_kernel_view(svc->daemon), vbd_kernel_object_counts(svc->daemon),
		on_name, &names);
	UNIT_UNTIL (!names.count)
		free(names.names[--names.count]);
}

/* Stopping. */

SVC_TEST(test_services_daemon__an_idle_one_stops_at_once)
{
	begin_stop(svc);
	assert_false(svc->stopped);
	SVC_UNTIL(svc, svc->stopped);
	assert_true(vbd_daemon_is_drained(svc->daemon));
	assert_int_equal(svc_count_events(svc, VBD_EVENT_DAEMON_STOPPING), 1);
}

SVC_TEST(test_services_daemon__a_stop_closes_everything_first)
{
	struct vbd_listener_spec spec = svc_listener_spec();
	struct vbd_listener *manual;
	struct vbd_connection *waits;
	struct vbd_connection_spec to;
	struct svc_pair pair;

	/* A report is answered by a reject. */
	svc->config.peer_reports = false;
	svc_restart(svc);
	pair = svc_pair(svc, svc_listen(svc, NULL));
	spec.accept = VBD_ACCEPT_MANUAL;
	manual = svc_listen(svc, &spec);
	to = svc_spec_to(manual);
	(void)svc_connect(svc, &to);
	SVC_UNTIL(svc, manual->waiting == 1);
	waits = svc_newest_of(svc, manual);
	begin_stop(svc);
	begin_stop(svc);
	SVC_UNTIL(svc, svc->stopped);
	assert_true(vbd_daemon_is_drained(svc->daemon));
	assert_int_equal(svc->daemon->connections->open, 0);
	assert_true(pair.active->object.ended && pair.passive->object.ended && waits->object.ended);
	assert_int_equal(pair.active->conn->qp.reason, VBD_REASON_STOPPING);
	assert_int_equal(vbd_registry_count(svc->daemon->listeners), 0);
	assert_int_equal(fake_live().ids, 0);
	assert_int_equal(fake_live().qps, 0);
	assert_true(fake_count("rdma_disconnect") >= 1);
	assert_int_equal(fake_count("rdma_reject"), 1);
}

SVC_TEST(test_services_daemon__nothing_new_begins_while_it_stops)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct vbd_listener_spec listener_spec = svc_listener_spec();
	struct vbd_connection_spec spec = svc_spec_to(NULL);
	const struct vbd_buffer_spec buffer_spec = {.size_bytes = 100};
	struct vbd_transfer_record *record = NULL;
	struct vbd_connection *connection = NULL;
	struct vbd_listener *listener = NULL;

	fake_flushes_withheld(true);
	begin_stop(svc);
	assert_int_equal(
		vbd_connection_create(svc->daemon, &spec, &connection, NULL), VBD_E_STOPPING);
	assert_int_equal(
		vbd_listener_create(svc->daemon, &listener_spec, &listener, NULL), VBD_E_STOPPING);
	assert_int_equal(vbd_buffer_create(svc->daemon, &buffer_spec, NULL, NULL), VBD_E_STOPPING);
	assert_int_equal(
		svc_send_message(pair.active, (const uint8_t *)"x", 1, NULL, 100, &record, NULL),
		VBD_E_STOPPING);
	assert_false(vbd_daemon_is_drained(svc->daemon));
	vbd_timer_set(pair.active->object.deadline, 0);
	vbd_timer_set(pair.passive->object.deadline, 0);
	SVC_UNTIL(svc, svc->stopped);
	assert_true(vbd_daemon_is_drained(svc->daemon));
}

SVC_TEST(test_services_daemon__a_stop_waits_for_drains_and_for_the_pool)
{
	struct svc_pair pair = svc_pair(svc, svc_listen(svc, NULL));
	struct vbd_buffer *buffer = svc_buffer(svc, "mine", 1 << 20, 0);

	fake_flushes_withheld(true);
	assert_int_equal(vbd_buffer_delete(buffer, &svc->err), VBD_OK);
	begin_stop(svc);
	svc_turn(svc);
	assert_false(svc->stopped);
	assert_int_equal(pair.active->conn->state, VBD_CONN_DRAINING);
	fake_flush(pair.active->conn->qp.ibv_qp);
	fake_flush(pair.passive->conn->qp.ibv_qp);
	SVC_UNTIL(svc, svc->stopped);
	assert_int_equal(svc->daemon->pool_jobs, 0);
	assert_int_equal(svc->daemon->connections_closed, 2);
}

SVC_TEST(test_services_daemon__a_stop_that_takes_too_long_is_told)
{
	struct svc_pair pair;

	vbd_log_setup(VBD_LOG_ERROR, VBD_LOG_TEXT);
	svc->config.shutdown_timeout_ms = 5;
	svc_restart(svc);
	pair = svc_pair(svc, svc_listen(svc, NULL));
	fake_flushes_withheld(true);
	begin_stop(svc);
	SVC_UNTIL(svc, svc->stopped);
	assert_false(vbd_daemon_is_drained(svc->daemon));
	/* The daemon may not be destroyed yet, but it still drains. */
	fake_flush(pair.active->conn->qp.ibv_qp);
	fake_flush(pair.passive->conn->qp.ibv_qp);
	SVC_UNTIL(svc, vbd_daemon_is_drained(svc->daemon));
}

SVC_TEST(test_services_daemon__the_end_of_many_connections_leaves_the_kernel_a_part)
{
	struct vbd_listener *listener = svc_listen(svc, NULL);

	svc->config.shutdown_timeout_ms = 8000;
	(void)svc_pair(svc, listener);
	vbd_daemon_exits(svc->daemon);
	assert_int_equal(vbd_daemon_stop_time_ms(svc->daemon), 8000);
	UNIT_UNTIL (svc->daemon->connections->open > 64)
		(void)svc_pair(svc, listener);
	vbd_daemon_exits(svc->daemon);
	assert_int_equal(vbd_daemon_stop_time_ms(svc->daemon), 6000);
	svc->daemon->fabric->exits = false; /* this process goes on */
}
