/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/memory/windows.h"

#include "base/clock.h"
#include "rdma/device/pd.h"

/* Time from the cancel of a work request until its connection is ended. */
#define CANCEL_GRACE_MS 1000

VBD_OBJECT_RECORD(record_of, struct vbd_window_record)

static bool has_ended(const struct vbd_window_record *record)
{
	return vbd_window_state_ended(record->window.state);
}

/* Bind and end. */

static bool is_established(const struct vbd_connection *connection)
{
	return connection->conn->state == VBD_CONN_ESTABLISHED;
}

/* A bind of type 1 can be posted on any connection of the memory's protection domain. */
static struct vbd_qp *find_any_qp(const struct vbd_daemon *daemon, const struct vbd_mem *mem)
{
	vbd_registry_for_each_of (struct vbd_connection, connection, daemon->connections) {
		if (is_established(connection) && connection->conn->qp.pd == mem->pd)
			return &connection->conn->qp;
	}
	return NULL;
}

/* The connection of the request binds and revokes; for type 1 any other of the PD can do it. */
static struct vbd_channel *choose_channel(struct vbd_window *window, void *arg)
{
	struct vbd_window_record *record = arg;

	record->qp = NULL;
	if (record->connection && is_established(record->connection))
		record->qp = &record->connection->conn->qp;
	if (!record->qp && window->range.type == 1)
		record->qp = find_any_qp(record->object.registry->daemon, window->mem);
	if (!record->qp)
		return NULL;
	vbd_timer_set(record->object.deadline, record->timeout_ms);
	record->late = false;
	return record->qp->channel;
}

static void log_window(struct vbd_window_record *record, enum vbd_event_type type,
	enum vbd_severity severity, const char *why)
{
	const struct vbd_window_range *range = &record->window.range;

	vbd_object_log(&record->object, type, severity, record->error.status,
		"type %u, %llu bytes at offset %llu of buffer %llu%s%s", range->type,
		(unsigned long long)range->length_bytes, (unsigned long long)range->offset,
		(unsigned long long)record->buffer_id, *why ? ": " : "", why);
}

static void set_bound(struct vbd_window_record *record)
{
	vbd_timer_clear(record->object.deadline);
	record->error = (struct vbd_error){0}; /* the bind completed before the cancel */
	record->ready_ns = vbd_clock_mono_ns();
	log_window(record, VBD_EVENT_WINDOW_BOUND, VBD_SEVERITY_INFO, "");
}

static void set_owner_error(struct vbd_window_record *record, const struct vbd_qp *qp)
{
	char owner[VBD_QP_OWNER_BYTES];

	if (record->error.status == VBD_OK && qp->reason != VBD_REASON_NONE)
		(void)vbd_error_set(&record->error, vbd_reason_status(qp->reason), "%s ended: %s",
			vbd_qp_owner_text(qp, owner), vbd_reason_text(qp->reason));
}

/* A flushed work request has failed because its QP's owner ended: report that end. */
static void explain_failure(struct vbd_window_record *record)
{
	if (record->window.error.status == VBD_E_QP_FATAL)
		set_owner_error(record, record->qp);
	if (record->error.status == VBD_OK)
		record->error = record->window.error;
}

/* Pool thread. */
static void deregister_range(void *arg)
{
	vbd_window_deregister(&((struct vbd_window_record *)arg)->window);
}

/* The window has no MR any more: release its buffer. Only the record is left. */
static void on_deregistered(void *arg)
{
	struct vbd_window_record *record = arg;
	struct vbd_daemon *daemon = record->object.registry->daemon;

	vbd_buffer_unref_user(record->buffer);
	record->buffer = NULL;
	(void)vbd_object_settle(&record->object);
	vbd_memory_work_done(daemon);
}

static void end_record(struct vbd_window_record *record)
{
	struct vbd_daemon *daemon = record->object.registry->daemon;
	bool failed = record->window.state == VBD_WINDOW_FAILED;

	vbd_timer_clear(record->object.deadline);
	record->ended_ns = vbd_clock_mono_ns();
	if (failed)
		explain_failure(record);
	vbd_list_remove(&record->link);
	record->connection = NULL;
	vbd_object_end(&record->object);
	daemon->windows_revoked += !failed;
	daemon->windows_failed += failed;
	if (failed)
		log_window(
			record, VBD_EVENT_WINDOW_FAILED, VBD_SEVERITY_WARNING, record->error.text);
	else
		log_window(record, VBD_EVENT_WINDOW_REVOKED, VBD_SEVERITY_INFO, record->error.text);
	/* An own MR of the window may take long to deregister: it may have gigabytes. */
	vbd_memory_work(&record->object, record->window.own_mr, deregister_range, on_deregistered);
}

static void on_window_changed(struct vbd_window *window, void *arg)
{
	struct vbd_window_record *record = arg;

	if (window->state == VBD_WINDOW_READY)
		set_bound(record);
	else if (has_ended(record))
		end_record(record);
	vbd_object_changed(&record->object);
}

/* Cancel the work request first; end its connection if the cancel is late too. */
static void on_deadline(void *arg)
{
	struct vbd_window_record *record = arg;
	struct vbd_error error = {.source = VBD_SOURCE_DEADLINE, .raw = record->timeout_ms};

	if (!record->window.busy)
		return;
	(void)vbd_error_set(&error, VBD_E_TIMED_OUT,
		"the work request of window %llu did not complete in %u ms",
		(unsigned long long)record->object.id, record->timeout_ms);
	if (record->late) {
		record->qp->ops->end(record->qp, &error, 0);
		return;
	}
	record->late = true;
	if (record->window.state == VBD_WINDOW_BINDING)
		record->error = error;
	vbd_timer_set(record->object.deadline, CANCEL_GRACE_MS);
	vbd_window_cancel(&record->window);
}

/* Creation. */

static enum vbd_status check_device(const struct vbd_window_spec *spec, struct vbd_error *err)
{
	const struct vbd_device *device = spec->buffer->mem.pd->device;
	enum vbd_status status;

	status = vbd_device_require(
		device, spec->range.type == 1 ? VBD_CAP_MW_TYPE_1 : VBD_CAP_MW_TYPE_2, err);
	if (!status && (spec->range.access & VBD_ACCESS_REMOTE_ATOMIC))
		status = vbd_device_require(device, VBD_CAP_ATOMICS, err);
	return status;
}

static enum vbd_status check_buffer(const struct vbd_window_spec *spec, struct vbd_error *err)
{
	const struct vbd_buffer *buffer = spec->buffer;

	if (buffer->state != VBD_BUFFER_READY)
		return vbd_error_input(err, VBD_E_WRONG_STATE, "/buffer",
			"buffer %llu is %s; only a ready buffer can have windows",
			(unsigned long long)buffer->object.id,
			vbd_buffer_state_name(buffer->state));
	if (check_device(spec, err) != VBD_OK)
		return VBD_E_NOT_SUPPORTED;
	if (!(buffer->mem.access & VBD_ACCESS_MW_BIND))
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/buffer",
			"buffer %llu has no access mw_bind: no window can be bound to it",
			(unsigned long long)buffer->object.id);
	return vbd_buffer_check_range(
		buffer, spec->range.offset, spec->range.length_bytes, "/size_bytes", err);
}

static enum vbd_status check_connection(const struct vbd_window_spec *spec, struct vbd_error *err)
{
	const struct vbd_connection *connection = spec->connection;

	if (!connection && spec->range.type == 2)
		return vbd_error_input(err, VBD_E_MISSING_FIELD, "/connection",
			"/connection is missing: a window of type 2 belongs to a connection");
	if (!connection)
		return VBD_OK;
	if (!is_established(connection))
		return vbd_error_input(err, VBD_E_WRONG_STATE, "/connection",
			"connection %llu is %s; a window is bound on an established one",
			(unsigned long long)connection->object.id,
			vbd_conn_state_name(connection->conn->state));
	return vbd_buffer_check_qp(spec->buffer, &connection->conn->qp, "/buffer", err);
}

static enum vbd_status check_qp(
	const struct vbd_daemon *daemon, const struct vbd_window_spec *spec, struct vbd_error *err)
{
	if (spec->connection || find_any_qp(daemon, &spec->buffer->mem))
		return VBD_OK;
	return vbd_error_set(err, VBD_E_WRONG_STATE,
		"no connection on %s in the buffer's protection domain is established: a bind is a "
		"work request, and must be posted on such a connection",
		spec->buffer->device.name);
}

static enum vbd_status make_record(struct vbd_daemon *daemon, const struct vbd_window_spec *spec,
	struct vbd_window_record **ret_record, struct vbd_error *err)
{
	struct vbd_window_record *record;
	struct vbd_object *object;
	enum vbd_status status =
		vbd_object_create(daemon->windows, &spec->origin, spec->name, &object, err);

	if (status)
		return status;
	record = record_of(object);
	record->timeout_ms = spec->timeout_ms;
	vbd_list_init(&record->link);
	record->window.range = spec->range;
	record->window.mem = &spec->buffer->mem;
	record->window.changed = on_window_changed;
	record->window.choose_channel = choose_channel;
	record->window.arg = record;
	record->addr = spec->buffer->mem.addr + spec->range.offset;
	record->device = spec->buffer->device;
	*ret_record = record;
	return VBD_OK;
}

static void set_owners(struct vbd_window_record *record, const struct vbd_window_spec *spec)
{
	record->buffer = spec->buffer;
	record->buffer_id = spec->buffer->object.id;
	spec->buffer->users++;
	vbd_buffer_ref(spec->buffer);
	record->connection = spec->connection;
	if (!spec->connection)
		return;
	record->connection_id = spec->connection->object.id;
	vbd_list_append(&spec->connection->windows, &record->link);
}

/* Pool thread. */
static void register_range(void *arg)
{
	vbd_window_register(&((struct vbd_window_record *)arg)->window);
}

static void on_registered(void *arg)
{
	struct vbd_window_record *record = arg;
	struct vbd_daemon *daemon = record->object.registry->daemon;

	vbd_window_registered(&record->window);
	vbd_memory_work_done(daemon);
}

enum vbd_status vbd_window_create(struct vbd_daemon *daemon, const struct vbd_window_spec *spec,
	struct vbd_window_record **ret_record, struct vbd_error *err)
{
	struct vbd_window_record *record;
	enum vbd_status status;

	status = vbd_daemon_accepts_work(daemon, err);
	if (!status)
		status = check_buffer(spec, err);
	if (!status)
		status = check_connection(spec, err);
	if (!status)
		status = check_qp(daemon, spec, err);
	if (!status)
		status = make_record(daemon, spec, &record, err);
	if (status)
		return status;
	status = vbd_window_allocate(&record->window, err);
	if (status) {
		vbd_object_free(&record->object);
		return status;
	}
	set_owners(record, spec);
	log_window(record, VBD_EVENT_WINDOW_CREATED, VBD_SEVERITY_DEBUG, "");
	vbd_memory_work(&record->object, record->window.own_mr, register_range, on_registered);
	*ret_record = record;
	return VBD_OK;
}

/* Ends that no client has requested. */

void vbd_windows_connection_left(struct vbd_connection *connection)
{
	vbd_list_for_each_of (struct vbd_window_record, record, link, &connection->windows) {
		/* A window of type 1 stays: another connection can post its revocation. */
		vbd_list_remove(&record->link);
		record->connection = NULL;
		if (record->window.range.type != 2)
			continue;
		set_owner_error(record, &connection->conn->qp);
		vbd_window_revoke_at_once(&record->window);
	}
}

void vbd_windows_device_removing(struct vbd_daemon *daemon, const struct vbd_device *device)
{
	vbd_registry_for_each_of (struct vbd_window_record, record, daemon->windows) {
		if (has_ended(record) || record->buffer->mem.pd->device != device)
			continue;
		if (vbd_device_usable(device, &record->error) != VBD_OK)
			vbd_window_revoke_at_once(&record->window);
	}
}

void vbd_windows_close_all(struct vbd_daemon *daemon)
{
	vbd_registry_for_each_of (struct vbd_window_record, record, daemon->windows) {
		if (!has_ended(record) && vbd_daemon_accepts_work(daemon, &record->error) != VBD_OK)
			vbd_window_revoke_at_once(&record->window);
	}
}

static void revoke_window(struct vbd_object *object)
{
	vbd_window_revoke(&record_of(object)->window);
}

static bool is_used(const struct vbd_object *object)
{
	return ((const struct vbd_window_record *)object)->buffer;
}

static void get_problem(const struct vbd_object *object, struct vbd_error *ret_err)
{
	*ret_err = ((const struct vbd_window_record *)object)->error;
	if (ret_err->status == VBD_OK)
		(void)vbd_error_set(
			ret_err, VBD_E_CANCELLED, "the window was revoked in the meantime");
}

static void free_record(struct vbd_object *object)
{
	struct vbd_window_record *record = record_of(object);

	vbd_list_remove(&record->link);
	vbd_account_close(&record->window.account);
}

VBD_OBJECT_STATE(get_state_name, struct vbd_window_record, window.state, vbd_window_state_name)
VBD_OBJECT_DEVICE(get_device_id, struct vbd_window_record, device)

/* Deleting a window revokes it. */
const struct vbd_kind vbd_window_kind = {
	.size_bytes = sizeof(struct vbd_window_record),
	.keeps_history = true,
	.connection_at = offsetof(struct vbd_window_record, connection_id),
	.on_deadline = on_deadline,
	.cancel = revoke_window,
	.is_used = is_used,
	.state = get_state_name,
	.device = get_device_id,
	.problem = get_problem,
	.free = free_record,
};
