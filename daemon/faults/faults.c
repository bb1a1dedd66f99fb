/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/faults/faults.h"

#include "base/clock.h"
#include "daemon/connections/connections.h"
#include "rdma/fabric/fabric.h"

/* One event reports all hits of a fault within this many ms. */
#define TELL_MS 1000

/* Connections that one step of a QP_ERROR fault looks at. */
#define SWEEP_STEP 64

static struct vbd_fault_record *record_of(struct vbd_object *object)
{
	return VBD_CONTAINER_OF(object, struct vbd_fault_record, object);
}

/* Any thread: id, name and labels of an object do not change while something can happen to it. */
static bool target_matches(const void *arg, const void *subject)
{
	const struct vbd_fault_target *target = arg;
	const struct vbd_object *object = subject;

	if (target->id && target->id != object->id)
		return false;
	if (target->name[0] && strcmp(target->name, object->name) != 0)
		return false;
	return vbd_labels_match(object->labels, &target->selector);
}

/* Any thread. A listener (REFUSE_ACCEPTS) has no `faults_hit`, so nothing is marked there. */
static void mark_connection_hit(const void *subject, enum vbd_fault_effect effect)
{
	struct vbd_connection *connection =
		VBD_CONTAINER_OF(subject, struct vbd_connection, object);

	if (effect != VBD_FAULT_REFUSE_ACCEPTS)
		(void)atomic_fetch_or_explicit(
			&connection->faults_hit, 1U << effect, memory_order_relaxed);
}

static bool target_is_any(const struct vbd_fault_target *target)
{
	return !target->id && !target->name[0] && !target->selector.count;
}

/* --- what makes sense ------------------------------------------------------------------------ */

static enum vbd_status check_member(enum vbd_fault_effect effect, const char *pointer, bool seen,
	enum vbd_fault_effect needed_by, struct vbd_error *err)
{
	if (seen && effect != needed_by)
		return vbd_error_input(err, VBD_E_BAD_VALUE, pointer,
			"%s has a meaning with %s only", pointer, vbd_fault_effect_name(needed_by));
	return VBD_OK;
}

static enum vbd_status check_needed(const struct vbd_fault_spec *spec, struct vbd_error *err)
{
	if (spec->effect == VBD_FAULT_FAIL_CALL && !spec->call_seen)
		return vbd_error_input(
			err, VBD_E_MISSING_FIELD, "/call", "fail_call needs the call that fails");
	if (spec->effect == VBD_FAULT_DELAY_COMPLETIONS && !spec->delay_seen)
		return vbd_error_input(err, VBD_E_MISSING_FIELD, "/delay_ms",
			"delay_completions needs the time by which they are delayed");
	if (spec->effect == VBD_FAULT_FAIL_CALL && !target_is_any(&spec->target))
		return vbd_error_input(err, VBD_E_BAD_VALUE,
			spec->target.selector.count ? "/selector" : "/target",
			"a call belongs to no object: fail_call has no target and no selector");
	return VBD_OK;
}

static enum vbd_status check_spec(
	const struct vbd_daemon *daemon, const struct vbd_fault_spec *spec, struct vbd_error *err)
{
	enum vbd_status status = VBD_OK;

	if (!daemon->config->fault_injection)
		return vbd_error_set(err, VBD_E_FAULT_INJECTION_OFF,
			"fault_injection is not set in the configuration of this verbsd");
	status = check_member(spec->effect, "/call", spec->call_seen, VBD_FAULT_FAIL_CALL, err);
	if (!status)
		status = check_member(
			spec->effect, "/errno", spec->errnum_seen, VBD_FAULT_FAIL_CALL, err);
	if (!status)
		status = check_member(spec->effect, "/delay_ms", spec->delay_seen,
			VBD_FAULT_DELAY_COMPLETIONS, err);
	return status ? status : check_needed(spec, err);
}

/* --- QP_ERROR -------------------------------------------------------------------------------- */

static void inject_qp_error(struct vbd_fault_record *record, struct vbd_object *object)
{
	struct vbd_conn *conn = VBD_CONTAINER_OF(object, struct vbd_connection, object)->conn;

	if (conn->state == VBD_CONN_ESTABLISHED && vbd_fault_hit(&record->fault, object))
		vbd_conn_inject_error(conn);
}

static bool step_sweep(struct vbd_steps *steps)
{
	struct vbd_fault_record *record = VBD_CONTAINER_OF(steps, struct vbd_fault_record, sweep);
	const struct vbd_registry *connections = record->object.registry->daemon->connections;

	for (int i = 0; i < SWEEP_STEP; i++) {
		struct vbd_object *object = vbd_registry_after(connections, record->swept_id);

		if (!object)
			return true;
		record->swept_id = object->id;
		inject_qp_error(record, object);
	}
	return false;
}

static void begin_sweep(struct vbd_fault_record *record)
{
	struct vbd_daemon *daemon = record->object.registry->daemon;

	record->sweep.step = step_sweep;
	vbd_turns_add(&daemon->turns, &record->sweep);
}

/* --- life ------------------------------------------------------------------------------------ */

static void log_new_hits(struct vbd_fault_record *record)
{
	uint64_t fired = vbd_fault_fired(&record->fault);

	if (fired == record->told)
		return;
	vbd_object_log(&record->object, VBD_EVENT_FAULT_FIRED, VBD_SEVERITY_WARNING, VBD_OK,
		"%s: %llu more, %llu in all", vbd_fault_effect_name(record->fault.effect),
		(unsigned long long)(fired - record->told), (unsigned long long)fired);
	record->told = fired;
	vbd_object_counted(&record->object);
}

static void on_hits_timer(void *object)
{
	struct vbd_fault_record *record = object;
	uint64_t now_ns = vbd_clock_mono_ns();
	uint64_t left_ms;

	if (now_ns >= record->expires_ns) {
		vbd_fault_delete(record);
		return;
	}
	log_new_hits(record);
	left_ms = (record->expires_ns - now_ns) / VBD_NS_PER_MS + 1;
	vbd_timer_set(record->object.deadline, left_ms < TELL_MS ? left_ms : TELL_MS);
}

static void arm_fault(struct vbd_fault_record *record, const struct vbd_fault_spec *spec)
{
	record->fault.effect = spec->effect;
	record->fault.rule = spec->rule;
	record->fault.on_hit = mark_connection_hit;
	record->target = spec->target;
	if (!target_is_any(&record->target)) {
		record->fault.matches = target_matches;
		record->fault.arg = &record->target;
	}
	record->expires_ns = record->object.created_ns + spec->expires_ms * VBD_NS_PER_MS;
	vbd_fault_arm(&record->fault);
	if (spec->effect == VBD_FAULT_QP_ERROR)
		begin_sweep(record);
	on_hits_timer(record);
}

enum vbd_status vbd_fault_create(struct vbd_daemon *daemon, const struct vbd_fault_spec *spec,
	struct vbd_fault_record **ret_record, struct vbd_error *err)
{
	enum vbd_status status = check_spec(daemon, spec, err);
	struct vbd_object *object;

	if (!status)
		status = vbd_object_create(daemon->faults, &spec->origin, spec->name, &object, err);
	if (status)
		return status;
	vbd_list_init(&record_of(object)->sweep.link);
	vbd_list_init(&record_of(object)->fault.link);
	vbd_object_log(object, VBD_EVENT_FAULT_CREATED, VBD_SEVERITY_WARNING, VBD_OK,
		"%s, for %llu ms at most", vbd_fault_effect_name(spec->effect),
		(unsigned long long)spec->expires_ms);
	arm_fault(record_of(object), spec);
	*ret_record = record_of(object);
	return VBD_OK;
}

void vbd_fault_delete(struct vbd_fault_record *record)
{
	const struct vbd_daemon *daemon = record->object.registry->daemon;

	vbd_fault_disarm(&record->fault);
	vbd_fabric_faults_ended(daemon->fabric);
	vbd_timer_clear(record->object.deadline);
	log_new_hits(record);
	vbd_object_log(&record->object, VBD_EVENT_FAULT_DELETED, VBD_SEVERITY_NOTICE, VBD_OK,
		"%s, %llu in all", vbd_fault_effect_name(record->fault.effect),
		(unsigned long long)record->told);
	vbd_object_unregister(&record->object);
}

static void free_fault(struct vbd_object *object)
{
	struct vbd_fault_record *record = record_of(object);

	vbd_turns_drop(&record->sweep);
	vbd_fault_disarm(&record->fault);
}

const struct vbd_kind vbd_fault_kind = {
	.size_bytes = sizeof(struct vbd_fault_record),
	.on_deadline = on_hits_timer,
	.free = free_fault,
};
