/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/drain.h"

#include "base/clock.h"
#include "daemon/core/object.h"
#include "daemon/core/watch.h"
#include "daemon/kept/reconciler.h"
#include "daemon/work/transfers.h"

/* Transfers that are looked at in a turn, and cancelled if they have not ended. */
#define VISITS_PER_TURN 1000

static void log_drain_event(const struct vbd_daemon *daemon, enum vbd_event_type type)
{
	(void)vbd_eventlog_append(daemon->eventlog,
		&(const struct vbd_event){.type = type, .severity = VBD_SEVERITY_NOTICE},
		"%u transfers under way, %u connections open", vbd_drain_transfers(daemon),
		daemon->connections->open);
}

static void set_state(struct vbd_daemon *daemon, enum vbd_drain_state state)
{
	struct vbd_drain *drain = &daemon->drain;

	drain->state = state;
	if (state != VBD_DRAIN_DRAINING)
		vbd_timer_clear(drain->timer);
	if (state == VBD_DRAIN_SERVING)
		drain->since_ns = drain->deadline_ns = 0;
	vbd_watch_notify(&drain->watches, false);
}

uint32_t vbd_drain_transfers(const struct vbd_daemon *daemon)
{
	return daemon->transfers->open - daemon->receives_open;
}

void vbd_drain_check(struct vbd_daemon *daemon)
{
	if (daemon->drain.state != VBD_DRAIN_DRAINING || vbd_drain_transfers(daemon) > 0)
		return;
	set_state(daemon, VBD_DRAIN_DRAINED);
	if (!daemon->stopping)
		log_drain_event(daemon, VBD_EVENT_DAEMON_DRAINED);
}

/* Returns false if there is no other transfer. */
static bool cancel_next_transfer(struct vbd_daemon *daemon)
{
	struct vbd_object *object =
		vbd_registry_after(daemon->transfers, daemon->drain.cancelled_id);

	if (!object)
		return false;
	daemon->drain.cancelled_id = object->id;
	if (!object->ended && !vbd_transfer_receives(object))
		vbd_object_cancel(object);
	return true;
}

static void on_drain_timer(void *arg)
{
	struct vbd_daemon *daemon = arg;

	if (daemon->stopping) {
		set_state(daemon, VBD_DRAIN_DRAINED);
		vbd_daemon_check_stop(daemon);
		return;
	}
	for (int i = 0; i < VISITS_PER_TURN; i++) {
		if (!cancel_next_transfer(daemon))
			return;
	}
	vbd_timer_set(daemon->drain.timer, 0);
}

enum vbd_status vbd_drain_create(struct vbd_daemon *daemon, struct vbd_error *err)
{
	vbd_list_init(&daemon->drain.watches);
	return vbd_timer_create(daemon->loop, on_drain_timer, daemon, &daemon->drain.timer, err);
}

void vbd_drain_destroy(struct vbd_daemon *daemon)
{
	vbd_timer_destroy(daemon->drain.timer);
}

void vbd_drain_begin(struct vbd_daemon *daemon, uint64_t deadline_ms)
{
	struct vbd_drain *drain = &daemon->drain;
	uint64_t now_ns = vbd_clock_mono_ns();

	if (drain->state == VBD_DRAIN_DRAINED)
		return;
	drain->deadline_ns = deadline_ms ? now_ns + deadline_ms * VBD_NS_PER_MS : 0;
	drain->cancelled_id = 0;
	if (deadline_ms)
		vbd_timer_set(drain->timer, deadline_ms);
	else
		vbd_timer_clear(drain->timer);
	if (drain->state == VBD_DRAIN_SERVING) {
		drain->since_ns = now_ns;
		if (!daemon->stopping)
			log_drain_event(daemon, VBD_EVENT_DAEMON_DRAINING);
		set_state(daemon, VBD_DRAIN_DRAINING);
	}
	vbd_drain_check(daemon);
}

enum vbd_status vbd_drain_undo(struct vbd_daemon *daemon, struct vbd_error *err)
{
	if (daemon->stopping)
		return vbd_error_set(err, VBD_E_STOPPING, "the daemon is stopping");
	if (daemon->drain.state == VBD_DRAIN_SERVING)
		return VBD_OK;
	set_state(daemon, VBD_DRAIN_SERVING);
	log_drain_event(daemon, VBD_EVENT_DAEMON_UNDRAINED);
	/* Start the queued connections, which waited during the drain. */
	vbd_connection_queue_wake(daemon);
	vbd_reconciler_resume(daemon->reconciler);
	return VBD_OK;
}
