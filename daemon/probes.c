/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/probes.h"

#include "base/clock.h"
#include "rdma/rping.h"

#include <stdlib.h>

/* How long a ping that is under way may take after a stop before the connection is closed: the peer
 * would take the next probe's first word for an answer to it. */
#define STOP_GRACE_MS 1000

const char *vbd_probe_state_name(enum vbd_probe_state state)
{
	static const char *const names[VBD_PROBE_STATE_COUNT] = {
#define VBD_PROBE_STATE_NAME(sym, json) [VBD_PROBE_##sym] = json,
		VBD_PROBE_STATE_MAP(VBD_PROBE_STATE_NAME)
#undef VBD_PROBE_STATE_NAME
	};

	return names[state];
}

static struct vbd_probe_record *record_of(struct vbd_object *object)
{
	return VBD_CONTAINER_OF(object, struct vbd_probe_record, object);
}

static void leave_history(struct vbd_probe_record *record)
{
	if (vbd_list_empty(&record->ended_link))
		return;
	vbd_list_remove(&record->ended_link);
	record->daemon->ended_probes_count--;
}

static void free_record(struct vbd_probe_record *record)
{
	vbd_list_remove(&record->reap.link);
	leave_history(record);
	vbd_registry_remove(record->daemon->probes, &record->object);
	vbd_watch_notify(&record->watches, true);
	vbd_timer_destroy(record->deadline);
	free(record);
}

static void reap(struct vbd_deferred *deferred)
{
	free_record(VBD_CONTAINER_OF(deferred, struct vbd_probe_record, reap));
}

static void bound_history(struct vbd_daemon *daemon)
{
	struct vbd_probe_record *oldest;

	if (daemon->ended_probes_count <= daemon->config->probes_kept)
		return;
	oldest = VBD_LIST_FIRST(&daemon->ended_probes, struct vbd_probe_record, ended_link);
	leave_history(oldest);
	vbd_probe_forget(oldest);
}

/* The worker tells what it saw; who stopped it, and what ended its connection, is known here. */
static void judge(struct vbd_probe_record *record)
{
	const struct vbd_conn *conn = record->connection->conn;
	const struct vbd_error *error = &record->probe.error;
	uint64_t completed = vbd_counter_get(&record->probe.completed);
	uint64_t mismatched = vbd_counter_get(&record->probe.mismatched);

	if (error->status == VBD_OK && !mismatched) {
		record->state = VBD_PROBE_DONE;
		return;
	}
	record->state = VBD_PROBE_FAILED;
	if (error->status == VBD_OK)
		(void)vbd_error_set(&record->error, VBD_E_REMOTE_OPERATION,
			"other bytes came back with %llu of %llu pings",
			(unsigned long long)mismatched, (unsigned long long)completed);
	else if (record->stopping)
		(void)vbd_error_set(&record->error, record->late ? VBD_E_DEADLINE : VBD_E_CANCELLED,
			"probe %llu %s after %llu of %u pings",
			(unsigned long long)record->object.id,
			record->late ? "reached its deadline" : "was cancelled",
			(unsigned long long)completed, record->probe.count);
	else if (conn->reason != VBD_REASON_NONE)
		(void)vbd_error_set(&record->error, vbd_reason_status(conn->reason),
			"connection %llu ended after %llu of %u pings: %s",
			(unsigned long long)record->connection_id, (unsigned long long)completed,
			record->probe.count, vbd_reason_text(conn->reason));
	else
		record->error = *error;
}

static void on_ended(struct vbd_probe *probe, void *arg)
{
	struct vbd_probe_record *record = arg;
	struct vbd_daemon *daemon = record->daemon;
	bool done;

	judge(record);
	done = record->state == VBD_PROBE_DONE;
	vbd_timer_clear(record->deadline);
	record->connection->probe = NULL;
	record->connection = NULL;
	daemon->probes_open--;
	if (done)
		daemon->probes_done++;
	else
		daemon->probes_failed++;
	vbd_list_append(&daemon->ended_probes, &record->ended_link);
	daemon->ended_probes_count++;
	(void)vbd_eventlog_append(daemon->eventlog, VBD_EVENT_PROBE_ENDED,
		done ? VBD_SEVERITY_INFO : VBD_SEVERITY_WARNING, VBD_KIND_PROBE, record->object.id,
		VBD_REASON_NONE, "%s, %llu of %u pings over connection %llu%s%s",
		vbd_probe_state_name(record->state),
		(unsigned long long)vbd_counter_get(&probe->completed), probe->count,
		(unsigned long long)record->connection_id, done ? "" : ": ", record->error.text);
	vbd_watch_notify(&record->watches, false);
	bound_history(daemon);
	vbd_daemon_check_stop(daemon);
}

/* The peer does not answer the ping under way. */
static void give_up(struct vbd_probe_record *record)
{
	struct vbd_error error = {.source = VBD_SOURCE_DEADLINE, .raw = record->timeout_ms};

	if (!record->late) {
		vbd_connection_close(record->connection);
		return;
	}
	(void)vbd_error_set(&error, VBD_E_DEADLINE,
		"probe %llu did not complete in %u ms, and the peer does not answer its ping",
		(unsigned long long)record->object.id, record->timeout_ms);
	vbd_conn_fail(record->connection->conn, &error, 0);
}

static void stop(struct vbd_probe_record *record, bool late)
{
	if (!record->connection || record->stopping)
		return;
	record->stopping = true;
	record->late = late;
	vbd_timer_set(record->deadline, STOP_GRACE_MS);
	vbd_probe_stop(&record->probe);
}

static void on_deadline(void *arg)
{
	struct vbd_probe_record *record = arg;

	if (!record->connection)
		return;
	if (record->stopping)
		give_up(record);
	else
		stop(record, true);
}

static enum vbd_status check_spec(
	const struct vbd_daemon *daemon, const struct vbd_probe_spec *spec, struct vbd_error *err)
{
	const struct vbd_connection *connection = spec->connection;
	const struct vbd_conn *conn = connection->conn;
	enum vbd_status status = vbd_daemon_accepts_work(daemon, err);

	if (status)
		return status;
	if (conn->params.service != VBD_SERVICE_RPING_CLIENT)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/connection",
			"connection %llu has the service %s; a probe needs rping_client",
			(unsigned long long)connection->object.id,
			vbd_service_name(conn->params.service));
	if (conn->state != VBD_CONN_ESTABLISHED)
		return vbd_error_input(err, VBD_E_WRONG_STATE, "/connection",
			"connection %llu is %s; it can be probed only while it is established",
			(unsigned long long)connection->object.id,
			vbd_conn_state_name(conn->state));
	if (connection->probe)
		return vbd_error_input(err, VBD_E_IN_USE, "/connection",
			"probe %llu runs over connection %llu; there is one at a time",
			(unsigned long long)connection->probe->object.id,
			(unsigned long long)connection->object.id);
	return VBD_OK;
}

static enum vbd_status make_record(struct vbd_daemon *daemon, const struct vbd_probe_spec *spec,
	struct vbd_probe_record **ret_record, struct vbd_error *err)
{
	struct vbd_probe_record *record = calloc(1, sizeof(*record));
	enum vbd_status status;

	if (!record)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a probe");
	record->daemon = daemon;
	record->connection = spec->connection;
	record->connection_id = spec->connection->object.id;
	record->timeout_ms = spec->timeout_ms;
	record->created_ns = vbd_clock_mono_ns();
	vbd_list_init(&record->watches);
	vbd_list_init(&record->ended_link);
	vbd_deferred_init(&record->reap, reap);
	status = vbd_timer_create(daemon->loop, on_deadline, record, &record->deadline, err);
	if (status)
		goto free_record;
	status = vbd_registry_add(daemon->probes, &record->object, "", err);
	if (status)
		goto destroy_timer;
	record->probe.id = record->object.id;
	record->probe.channel = spec->connection->conn->channel;
	record->probe.count = spec->count;
	record->probe.size_bytes = spec->size_bytes;
	record->probe.ended = on_ended;
	record->probe.arg = record;
	*ret_record = record;
	return VBD_OK;

destroy_timer:
	vbd_timer_destroy(record->deadline);
free_record:
	free(record);
	return status;
}

enum vbd_status vbd_probe_create(struct vbd_daemon *daemon, const struct vbd_probe_spec *spec,
	struct vbd_probe_record **ret_record, struct vbd_error *err)
{
	struct vbd_probe_record *record;
	enum vbd_status status = check_spec(daemon, spec, err);

	if (!status)
		status = make_record(daemon, spec, &record, err);
	if (status)
		return status;
	daemon->probes_open++;
	spec->connection->probe = record;
	vbd_timer_set(record->deadline, record->timeout_ms);
	(void)vbd_eventlog_append(daemon->eventlog, VBD_EVENT_PROBE_CREATED, VBD_SEVERITY_INFO,
		VBD_KIND_PROBE, record->object.id, VBD_REASON_NONE,
		"%u pings of %u bytes over connection %llu", spec->count, spec->size_bytes,
		(unsigned long long)record->connection_id);
	vbd_probe_start(&record->probe);
	*ret_record = record;
	return VBD_OK;
}

struct vbd_probe_record *vbd_probe_find(
	struct vbd_daemon *daemon, const char *ref, struct vbd_error *err)
{
	struct vbd_object *object = vbd_registry_find_ref(daemon->probes, ref, err);

	return object ? record_of(object) : NULL;
}

void vbd_probe_cancel(struct vbd_probe_record *record)
{
	stop(record, false);
}

void vbd_probe_forget(struct vbd_probe_record *record)
{
	vbd_loop_defer(record->daemon->loop, &record->reap);
}

void vbd_probe_problem(const struct vbd_probe_record *record, struct vbd_error *ret_err)
{
	*ret_err = record->error;
	(void)vbd_registry_path(record->daemon->probes, record->object.id, ret_err->object);
}

static void free_object(struct vbd_object *object)
{
	free_record(record_of(object));
}

void vbd_probes_destroy_all(struct vbd_daemon *daemon)
{
	vbd_registry_drain(daemon->probes, free_object);
}
