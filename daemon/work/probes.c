/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/work/probes.h"

#include "base/clock.h"
#include "base/enum.h"
#include "rdma/data/rping.h"
#include "rdma/data/worker.h"
#include "rdma/device/caps.h"
#include "rdma/fabric/fabric.h"

/* Time from the stop of a probe until the connection is closed. A next probe can't use it: the peer
 * would take the probe's first message for the answer to the ping under way. */
#define STOP_GRACE_MS 1000

VBD_ENUM_NAMES(vbd_probe_state_name, enum vbd_probe_state, VBD_PROBE_STATE_MAP)

VBD_OBJECT_RECORD(record_of, struct vbd_probe_record)

#define PROGRESS_BYTES 48

/* "3 of 10 pings"; "3 pings" of a probe without a count. */
static const char *format_progress(const struct vbd_probe *probe, char text[PROGRESS_BYTES])
{
	unsigned long long completed = vbd_counter_get(&probe->counters.completed);

	if (probe->count)
		(void)snprintf(text, PROGRESS_BYTES, "%llu of %u pings", completed, probe->count);
	else
		(void)snprintf(text, PROGRESS_BYTES, "%llu pings", completed);
	return text;
}

/* Set the error. A stop, or the connection's end, of which the worker does not know, replaces its
 * error. */
static void explain_failure(struct vbd_probe_record *record)
{
	enum vbd_reason reason = record->connection->conn->qp.reason;
	const struct vbd_error *error = &record->probe.error;
	uint64_t mismatched = vbd_counter_get(&record->probe.mismatched);
	char text[PROGRESS_BYTES];

	(void)format_progress(&record->probe, text);
	if (error->status == VBD_OK)
		(void)vbd_error_set(&record->error, VBD_E_REMOTE_OPERATION,
			"%llu of %llu pings returned with other bytes",
			(unsigned long long)mismatched,
			(unsigned long long)vbd_counter_get(&record->probe.counters.completed));
	else if (record->stopping)
		(void)vbd_error_set(&record->error,
			record->late ? VBD_E_TIMED_OUT : VBD_E_CANCELLED, "probe %llu %s after %s",
			(unsigned long long)record->object.id,
			record->late ? "reached its deadline" : "was cancelled", text);
	else if (reason != VBD_REASON_NONE)
		(void)vbd_error_set(&record->error, vbd_reason_status(reason),
			"connection %llu ended after %s: %s",
			(unsigned long long)record->connection_id, text, vbd_reason_text(reason));
	else
		record->error = *error;
}

/* A probe without a count ends well only by a client's request or with its connection. */
static bool ended_well(const struct vbd_probe_record *record)
{
	const struct vbd_probe *probe = &record->probe;
	enum vbd_reason reason = record->connection->conn->qp.reason;

	if (vbd_counter_get(&probe->mismatched))
		return false;
	if (probe->error.status == VBD_OK)
		return true;
	if (probe->count || record->late)
		return false;
	return reason == VBD_REASON_NONE ? record->stopping : vbd_reason_clean(reason);
}

static void set_result(struct vbd_probe_record *record)
{
	record->state = VBD_PROBE_DONE;
	if (ended_well(record))
		return;
	explain_failure(record);
	record->state =
		record->error.status == VBD_E_CANCELLED ? VBD_PROBE_CANCELLED : VBD_PROBE_FAILED;
}

static void on_ended(struct vbd_probe *probe, void *arg)
{
	struct vbd_probe_record *record = arg;
	struct vbd_daemon *daemon = record->object.registry->daemon;
	char text[PROGRESS_BYTES];
	bool done;

	set_result(record);
	done = record->state == VBD_PROBE_DONE;
	vbd_timer_clear(record->object.deadline);
	record->connection->probe = NULL;
	record->connection = NULL;
	if (done)
		daemon->probes_done++;
	else if (record->state == VBD_PROBE_CANCELLED)
		daemon->probes_cancelled++;
	else
		daemon->probes_failed++;
	vbd_object_end(&record->object);
	vbd_object_log(&record->object, VBD_EVENT_PROBE_ENDED,
		done ? VBD_SEVERITY_INFO : VBD_SEVERITY_WARNING,
		done ? VBD_OK : record->error.status, "%s, %s over connection %llu%s%s",
		vbd_probe_state_name(record->state), format_progress(probe, text),
		(unsigned long long)record->connection_id, done ? "" : ": ", record->error.text);
	vbd_object_changed(&record->object);
}

/* End the connection, since the peer does not answer the ping under way. */
static void end_connection(struct vbd_probe_record *record)
{
	struct vbd_error error = {.source = VBD_SOURCE_DEADLINE, .raw = record->timeout_ms};

	/* Only RPING waits for the peer; the worker of another kind is just slow. */
	if (record->probe.kind != VBD_PROBE_RPING)
		return;
	if (!record->late) {
		vbd_connection_close(record->connection);
		return;
	}
	(void)vbd_error_set(&error, VBD_E_TIMED_OUT,
		"probe %llu did not complete in %u ms: the peer does not answer the ping",
		(unsigned long long)record->object.id, record->timeout_ms);
	record->connection->conn->qp.ops->end(&record->connection->conn->qp, &error, 0);
}

static void stop_probe(struct vbd_probe_record *record, bool late)
{
	if (!record->connection || record->stopping)
		return;
	record->stopping = true;
	record->late = late;
	vbd_timer_set(record->object.deadline, STOP_GRACE_MS);
	vbd_probe_stop(&record->probe);
}

static void on_deadline(void *arg)
{
	struct vbd_probe_record *record = arg;

	if (!record->connection)
		return;
	if (record->stopping)
		end_connection(record);
	else
		stop_probe(record, true);
}

static enum vbd_status check_rping(const struct vbd_probe_spec *spec, struct vbd_error *err)
{
	enum vbd_service service = spec->connection->conn->params.qp.service;

	if (service != VBD_SERVICE_RPING_CLIENT)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/connection",
			"connection %llu has the service %s; a probe of kind rping needs "
			"rping_client",
			(unsigned long long)spec->connection->object.id, vbd_service_name(service));
	if (spec->size_bytes < VBD_RPING_BYTES_MIN || spec->size_bytes > VBD_RPING_BYTES_MAX)
		return vbd_error_input(err, VBD_E_OUT_OF_RANGE, "/size_bytes",
			"/size_bytes must be from %d to %d, not %u", VBD_RPING_BYTES_MIN,
			VBD_RPING_BYTES_MAX, spec->size_bytes);
	return VBD_OK;
}

static enum vbd_status check_ack(const struct vbd_probe_spec *spec, struct vbd_error *err)
{
	const struct vbd_conn *conn = spec->connection->conn;

	if (spec->size_bytes)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/size_bytes",
			"a ping of kind ack carries no bytes, so /size_bytes is not allowed");
	if (conn->params.qp.transport != VBD_TRANSPORT_RC)
		return vbd_error_input(err, VBD_E_NOT_SUPPORTED, "/connection",
			"connection %llu is %s and has no acknowledgements; a probe of kind ack "
			"needs rc",
			(unsigned long long)spec->connection->object.id,
			vbd_transport_name(conn->params.qp.transport));
	return VBD_OK;
}

static enum vbd_status check_echo(const struct vbd_probe_spec *spec, struct vbd_error *err)
{
	const struct vbd_conn_params *params = &spec->connection->conn->params;

	if (params->qp.service != VBD_SERVICE_SINK)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/connection",
			"connection %llu has the service %s; a probe of kind echo needs sink here, "
			"and echo at the peer",
			(unsigned long long)spec->connection->object.id,
			vbd_service_name(params->qp.service));
	if (params->qp.transport != VBD_TRANSPORT_RC && !spec->interval_ms)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/interval_ms",
			"over %s a ping may be lost, so the probe needs an interval",
			vbd_transport_name(params->qp.transport));
	return VBD_OK;
}

/* A ping must fit the inline data, and its echo a receive. */
static enum vbd_status check_echo_size(const struct vbd_probe_spec *spec, struct vbd_error *err)
{
	const struct vbd_channel_limits *limits = &spec->connection->conn->qp.channel->limits;
	uint32_t most = VBD_ECHO_BYTES_MAX;

	if (most > limits->inline_bytes)
		most = limits->inline_bytes;
	if (most > limits->recv_size_bytes)
		most = limits->recv_size_bytes;
	if (spec->size_bytes >= VBD_ECHO_BYTES_MIN && spec->size_bytes <= most)
		return VBD_OK;
	return vbd_error_input(err, VBD_E_OUT_OF_RANGE, "/size_bytes",
		"/size_bytes must be from %d to %u here (inline_bytes %u, receives of %u), not %u",
		VBD_ECHO_BYTES_MIN, most, limits->inline_bytes, limits->recv_size_bytes,
		spec->size_bytes);
}

static enum vbd_status check_kind(const struct vbd_probe_spec *spec, struct vbd_error *err)
{
	if (!spec->count && !spec->interval_ms)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/interval_ms",
			"a probe without a count needs an interval");
	switch (spec->kind) {
	case VBD_PROBE_RPING:
		return check_rping(spec, err);
	case VBD_PROBE_ACK:
		return check_ack(spec, err);
	case VBD_PROBE_ECHO:
		return check_echo(spec, err);
	case VBD_PROBE_KIND_COUNT:
		break;
	}
	return VBD_OK;
}

/* The error names the running probe only to a caller that may see it. */
static enum vbd_status refuse_second_probe(const struct vbd_probe_spec *spec, struct vbd_error *err)
{
	const struct vbd_connection *connection = spec->connection;
	const struct vbd_object *probe = &connection->probe->object;
	bool seen = vbd_caller_sees(spec->origin.caller, probe->owner);
	char name[32] = "a probe of another caller";

	if (seen)
		(void)snprintf(name, sizeof(name), "probe %llu", (unsigned long long)probe->id);
	return vbd_error_input(err, VBD_E_IN_USE, "/connection",
		"%s already runs over connection %llu; a connection has one probe at a time", name,
		(unsigned long long)connection->object.id);
}

static enum vbd_status check_spec(
	const struct vbd_daemon *daemon, const struct vbd_probe_spec *spec, struct vbd_error *err)
{
	const struct vbd_connection *connection = spec->connection;
	const struct vbd_conn *conn = connection->conn;
	enum vbd_status status = vbd_daemon_accepts_work(daemon, err);

	if (!status)
		status = check_kind(spec, err);
	if (status)
		return status;
	if (conn->state != VBD_CONN_ESTABLISHED)
		return vbd_error_input(err, VBD_E_WRONG_STATE, "/connection",
			"connection %llu is %s; a connection can be probed only while it is "
			"established",
			(unsigned long long)connection->object.id,
			vbd_conn_state_name(conn->state));
	/* A connection is certain to have a device only while it is established. */
	if (spec->kind == VBD_PROBE_ACK)
		status = vbd_device_require(conn->qp.device, VBD_CAP_WRITE_ACK, err);
	else if (spec->kind == VBD_PROBE_ECHO)
		status = check_echo_size(spec, err);
	if (status)
		return status;
	return connection->probe ? refuse_second_probe(spec, err) : VBD_OK;
}

static enum vbd_status make_record(struct vbd_daemon *daemon, const struct vbd_probe_spec *spec,
	struct vbd_probe_record **ret_record, struct vbd_error *err)
{
	struct vbd_probe_record *record;
	struct vbd_object *object;
	enum vbd_status status = vbd_object_create(daemon->probes, &spec->origin, "", &object, err);

	if (status)
		return status;
	record = record_of(object);
	record->connection = spec->connection;
	record->connection_id = spec->connection->object.id;
	record->timeout_ms = spec->timeout_ms;
	record->probe.id = record->object.id;
	record->probe.channel = spec->connection->conn->qp.channel;
	record->probe.kind = spec->kind;
	record->probe.count = spec->count;
	record->probe.interval_ns = spec->interval_ms * VBD_NS_PER_MS;
	record->probe.size_bytes = spec->size_bytes;
	record->probe.ended = on_ended;
	record->probe.arg = record;
	*ret_record = record;
	return VBD_OK;
}

static void log_started(struct vbd_probe_record *record)
{
	const struct vbd_probe *probe = &record->probe;
	char count[24] = "endless";
	char pace[32] = "without an interval";

	if (probe->count)
		(void)snprintf(count, sizeof(count), "%u", probe->count);
	if (probe->interval_ns)
		(void)snprintf(pace, sizeof(pace), "every %llu ms",
			(unsigned long long)(probe->interval_ns / VBD_NS_PER_MS));
	vbd_object_log(&record->object, VBD_EVENT_PROBE_CREATED, VBD_SEVERITY_INFO, VBD_OK,
		"%s pings (%s), %s, over connection %llu", count, vbd_probe_kind_name(probe->kind),
		pace, (unsigned long long)record->connection_id);
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
	spec->connection->probe = record;
	spec->connection->last_probe_id = record->object.id;
	if (record->timeout_ms)
		vbd_timer_set(record->object.deadline, record->timeout_ms);
	log_started(record);
	vbd_probe_start(&record->probe);
	*ret_record = record;
	return VBD_OK;
}

const struct vbd_probe_record *vbd_probe_of(const struct vbd_connection *connection)
{
	struct vbd_object *object = vbd_registry_find_id(
		connection->object.registry->daemon->probes, connection->last_probe_id);

	return object ? record_of(object) : NULL;
}

void vbd_probes_totals(const struct vbd_daemon *daemon, enum vbd_probe_kind kind,
	struct vbd_probe_counters *ret_totals)
{
	const struct vbd_fabric *fabric = daemon->fabric;

	memset(ret_totals, 0, sizeof(*ret_totals));
	for (unsigned int i = 0; i < fabric->worker_count; i++)
		vbd_probe_counters_add(ret_totals, &fabric->workers[i]->probe_totals[kind]);
}

static void cancel_probe(struct vbd_object *object)
{
	stop_probe(record_of(object), false);
}

VBD_OBJECT_STATE(get_state_name, struct vbd_probe_record, state, vbd_probe_state_name)

/* Cancelling a probe of kind RPING ends it after the ping under way, of another kind at once. A
 * probe without a count is then DONE. */
const struct vbd_kind vbd_probe_kind = {
	.size_bytes = sizeof(struct vbd_probe_record),
	.keeps_history = true,
	.connection_at = offsetof(struct vbd_probe_record, connection_id),
	.on_deadline = on_deadline,
	.cancel = cancel_probe,
	.state = get_state_name,
	.error_at = offsetof(struct vbd_probe_record, error),
};
