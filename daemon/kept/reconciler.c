/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/kept/reconciler.h"

#include "base/clock.h"
#include "daemon/kept/kept_made.h"
#include "daemon/store/keeper.h"

/* Objects that are tried in a turn; the next ones are tried after PACE_MS: 200 a second. */
#define TRIES_PER_TURN 4
#define PACE_MS	       20

/* Rows that are put in a step. */
#define ROWS_PER_STEP 64

/* An object up for so long is stable: two sides that end each other's connections do so sooner. */
#define STEADY_MS 1000

static struct vbd_reconciler *reconciler_of(const struct vbd_kept *kept)
{
	return kept->object.registry->daemon->reconciler;
}

static const char *kind_name(const struct vbd_kept *kept)
{
	return kept->object.registry->daemon->registries[kept->of].singular;
}

/* --- turns ----------------------------------------------------------------------------------- */

bool vbd_reconciler_will_make(const struct vbd_kept *kept)
{
	return vbd_reconciler_tries(kept->object.registry->daemon->reconciler) &&
	       (kept->state == VBD_KEPT_WAITING || kept->state == VBD_KEPT_TRYING ||
		       kept->state == VBD_KEPT_REPLACING);
}

bool vbd_reconciler_tries(const struct vbd_reconciler *reconciler)
{
	const struct vbd_daemon *daemon = reconciler->daemon;

	return reconciler->ops && !daemon->stopping && daemon->drain.state == VBD_DRAIN_SERVING;
}

static void set_pace_timer(struct vbd_reconciler *reconciler, uint64_t after_ms)
{
	if (reconciler->paced || !vbd_reconciler_tries(reconciler) ||
		vbd_list_empty(&reconciler->due))
		return;
	reconciler->paced = true;
	vbd_timer_set(reconciler->pace, after_ms);
}

static void queue_due(struct vbd_kept *kept)
{
	vbd_timer_clear(kept->object.deadline);
	vbd_list_remove(&kept->due_link);
	vbd_list_append(&reconciler_of(kept)->due, &kept->due_link);
	set_pace_timer(reconciler_of(kept), 0);
}

static void on_pace_timer(void *arg)
{
	struct vbd_reconciler *reconciler = arg;

	reconciler->paced = false;
	if (!vbd_reconciler_tries(reconciler))
		return;
	for (int i = 0; i < TRIES_PER_TURN && !vbd_list_empty(&reconciler->due); i++) {
		struct vbd_link *link = reconciler->due.next;

		vbd_list_remove(link);
		vbd_reconciler_step(
			VBD_CONTAINER_OF(link, struct vbd_kept, due_link), VBD_KEPT_EV_DUE);
	}
	set_pace_timer(reconciler, PACE_MS);
}

void vbd_reconciler_soon(struct vbd_kept *kept)
{
	kept->next_try_ns = vbd_clock_mono_ns();
	queue_due(kept);
}

uint64_t vbd_reconciler_pause_ms(
	const struct vbd_kept_policy *policy, uint32_t failures, uint64_t random)
{
	uint64_t pause_ms = policy->min_ms;

	for (uint32_t i = 1; i < failures && pause_ms < policy->max_ms; i++)
		pause_ms *= 2;
	if (pause_ms > policy->max_ms)
		pause_ms = policy->max_ms;
	return pause_ms - random % (pause_ms / 2 + 1);
}

/* A linear congruential generator (Knuth, MMIX): the pauses need to differ, no more. */
static uint64_t next_random(struct vbd_reconciler *reconciler)
{
	reconciler->random =
		reconciler->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return reconciler->random >> 33;
}

void vbd_reconciler_resume(struct vbd_reconciler *reconciler)
{
	set_pace_timer(reconciler, next_random(reconciler) % VBD_RESUME_MS);
}

/* --- actions --------------------------------------------------------------------------------- */

static void unwatch_object(struct vbd_kept *kept)
{
	vbd_watch_remove(&kept->watch);
}

/* A failure after the object was up for a while is a first one again. */
static void count_failure(struct vbd_kept *kept, uint64_t now_ns)
{
	uint64_t steady_ms = kept->policy.max_ms < STEADY_MS ? kept->policy.max_ms : STEADY_MS;

	if (kept->up_ns && now_ns - kept->up_ns >= steady_ms * VBD_NS_PER_MS)
		kept->failures = 0;
	kept->up_ns = 0;
	kept->failures++;
	reconciler_of(kept)->failures++;
}

/* Record how the newest try has failed. Returns whether the try before it failed alike. */
static bool has_failed_alike(struct vbd_kept *kept)
{
	const struct vbd_error *error = &kept->last_error;

	if (kept->same_since && error->status == kept->same_status && error->raw == kept->same_raw)
		return true;
	kept->same_since = kept->tries;
	kept->same_status = error->status;
	kept->same_raw = error->raw;
	return false;
}

/* A peer can be away for days: a failure that is the same as the one before is logged as debug. */
static void log_failure(struct vbd_kept *kept, uint64_t pause_ms)
{
	enum vbd_severity severity =
		has_failed_alike(kept) ? VBD_SEVERITY_DEBUG : VBD_SEVERITY_WARNING;
	char next[48] = "when the drain is cancelled";

	if (vbd_reconciler_tries(reconciler_of(kept)))
		(void)snprintf(next, sizeof(next), "in %" PRIu64 " ms", pause_ms);
	vbd_object_log(&kept->object, VBD_EVENT_KEPT_OBJECT_FAILED, severity,
		kept->last_error.status, "%s %s, try %" PRIu64 ": %.120s; the next %s",
		kind_name(kept), kept->object.name, kept->tries,
		kept->last_error.status ? kept->last_error.text : "it is gone", next);
	vbd_kept_note_wait(kept, next);
}

static void schedule_try(struct vbd_kept *kept)
{
	struct vbd_reconciler *reconciler = reconciler_of(kept);
	uint64_t now_ns = vbd_clock_mono_ns();
	uint64_t pause_ms;

	count_failure(kept, now_ns);
	pause_ms = vbd_reconciler_pause_ms(&kept->policy, kept->failures, next_random(reconciler));
	kept->next_try_ns = now_ns + pause_ms * VBD_NS_PER_MS;
	vbd_timer_set(kept->object.deadline, pause_ms);
	log_failure(kept, pause_ms);
}

void vbd_reconciler_watch(struct vbd_kept *kept, struct vbd_object *object)
{
	if (kept->made_id && kept->made_id != object->id)
		kept->previous_id = kept->made_id;
	kept->made_id = object->id;
	if (vbd_kept_before(kept))
		kept->previous_id = vbd_kept_before(kept);
	vbd_object_hold(object, true);
	vbd_watch_remove(&kept->watch);
	vbd_watch_add(&object->watches, &kept->watch);
}

static enum vbd_kept_event try_to_make(struct vbd_kept *kept)
{
	struct vbd_object *object = NULL;
	struct vbd_error err = {0};

	kept->tries++;
	reconciler_of(kept)->tries++;
	kept->last_try_ns = vbd_clock_mono_ns();
	kept->next_try_ns = 0;
	if (reconciler_of(kept)->ops->make(kept, vbd_kept_made(kept), &object, &err) != VBD_OK) {
		kept->last_error = err;
		return VBD_KEPT_EV_REFUSED;
	}
	vbd_reconciler_watch(kept, object);
	vbd_kept_note_try(kept);
	return vbd_kept_see(kept, &kept->last_error);
}

static enum vbd_kept_event close_object(struct vbd_kept *kept)
{
	enum vbd_kept_event event;
	struct vbd_error err = {0};

	vbd_list_remove(&kept->due_link);
	vbd_timer_clear(kept->object.deadline);
	/* No watch for an end within this call; it is set again below if the end comes later. */
	unwatch_object(kept);
	event = vbd_kept_close(kept, &err);
	if (event == VBD_KEPT_EV_MADE)
		vbd_watch_add(&vbd_kept_made(kept)->watches, &kept->watch);
	if (event == VBD_KEPT_EV_BUSY)
		kept->last_error = err;
	return event;
}

static void unregister_kept(struct vbd_kept *kept)
{
	unwatch_object(kept);
	vbd_list_remove(&kept->due_link);
	vbd_timer_clear(kept->object.deadline);
	vbd_held_drop(kept);
	reconciler_of(kept)->in_state[kept->state]--;
	vbd_object_unregister(&kept->object);
}

/* Returns the event to which the action led; VBD_KEPT_EVENT_COUNT: none. */
static enum vbd_kept_event perform_action(struct vbd_kept *kept, enum vbd_kept_action action)
{
	if (kept->state == VBD_KEPT_WAITING || kept->state == VBD_KEPT_STOPPED)
		unwatch_object(kept);
	switch (action) {
	case VBD_KEPT_DO_TRY:
		return try_to_make(kept);
	case VBD_KEPT_DO_CLOSE:
		return close_object(kept);
	case VBD_KEPT_DO_LATER:
		schedule_try(kept);
		break;
	case VBD_KEPT_DO_SOON:
		vbd_reconciler_soon(kept);
		break;
	case VBD_KEPT_DO_FORGET:
		unregister_kept(kept);
		break;
	case VBD_KEPT_DO_NOTHING:
	case VBD_KEPT_ACTION_COUNT:
		break;
	}
	return VBD_KEPT_EVENT_COUNT;
}

/* --- steps ----------------------------------------------------------------------------------- */

/* The made object shows the state too, so it has changed as well. An ended one stays until the next
 * try. */
static void set_state(struct vbd_kept *kept, enum vbd_kept_state state)
{
	struct vbd_object *made = vbd_kept_made(kept);
	bool waited = kept->state == VBD_KEPT_WAITING;

	if (kept->state == state)
		return;
	reconciler_of(kept)->in_state[kept->state]--;
	reconciler_of(kept)->in_state[state]++;
	kept->state = state;
	if (made) {
		made->version++;
		vbd_object_hold(made, state != VBD_KEPT_STOPPED && state != VBD_KEPT_REMOVING);
	}
	if (made && waited && made->ended)
		vbd_watch_notify(&made->watches, false);
	if (state != VBD_KEPT_UP)
		return;
	kept->up_ns = vbd_clock_mono_ns();
	kept->last_error = (struct vbd_error){0};
	kept->same_since = 0;
	vbd_held_up(kept);
}

void vbd_reconciler_step(struct vbd_kept *kept, enum vbd_kept_event event)
{
	enum vbd_kept_state before = kept->state;
	bool forgotten = false;

	while (event != VBD_KEPT_EVENT_COUNT && !forgotten) {
		const struct vbd_rule *rule = vbd_kept_rule(kept->state, event);

		set_state(kept, rule->next);
		event = perform_action(kept, rule->action);
		forgotten = rule->action == VBD_KEPT_DO_FORGET;
	}
	if (!forgotten && kept->state != before)
		vbd_object_changed(&kept->object);
}

void vbd_reconciler_saw(struct vbd_kept *kept)
{
	struct vbd_error err = {0};
	enum vbd_kept_event event;

	vbd_kept_ask(kept);
	event = vbd_kept_see(kept, &err);
	if (err.status)
		kept->last_error = err;
	vbd_reconciler_step(kept, event);
}

/* An object that is gone is in no registry any more. */
static void on_object_changed(struct vbd_watch *watch, bool gone)
{
	struct vbd_kept *kept = VBD_CONTAINER_OF(watch, struct vbd_kept, watch);

	(void)gone;
	if (!kept->object.registry->daemon->stopping)
		vbd_reconciler_saw(kept);
}

void vbd_reconciler_device_added(struct vbd_daemon *daemon)
{
	vbd_registry_for_each (object, daemon->kept_objects)
		vbd_reconciler_step(
			VBD_CONTAINER_OF(object, struct vbd_kept, object), VBD_KEPT_EV_DEVICE);
}

/* --- rows in state_dir ----------------------------------------------------------------------- */

void vbd_kept_put_row(struct vbd_kept *kept)
{
	const struct vbd_daemon *daemon = kept->object.registry->daemon;
	const struct vbd_desired row = {
		.kind = daemon->registries[kept->of].singular,
		.name = kept->object.name,
		.owner = kept->object.owner ? kept->object.owner->name : "",
		.body = kept->body,
	};

	if (daemon->keeper && kept->source == VBD_KEPT_FROM_API)
		kept->ticket = vbd_keeper_put_desired(daemon->keeper, &row);
}

/* Returns false after the last one. */
static bool put_next_row(struct vbd_kept_rows *rows)
{
	struct vbd_object *object = vbd_registry_after(rows->daemon->kept_objects, rows->at_id);

	if (!object)
		return false;
	rows->at_id = object->id;
	vbd_kept_put_row(VBD_CONTAINER_OF(object, struct vbd_kept, object));
	return true;
}

/* While the store has no room, stop: on_keeper_news() goes on when a row of this step is
 * written. */
static bool put_some_rows(struct vbd_steps *self)
{
	struct vbd_kept_rows *rows = VBD_CONTAINER_OF(self, struct vbd_kept_rows, steps);

	if (!rows->daemon->keeper)
		return true;
	for (int i = 0; i < ROWS_PER_STEP && rows->unfinished; i++) {
		rows->unfinished = put_next_row(rows);
		if (!vbd_keeper_has_room(rows->daemon))
			return true;
	}
	return !rows->unfinished;
}

static void on_keeper_news(struct vbd_watch *watch, bool gone)
{
	struct vbd_kept_rows *rows = VBD_CONTAINER_OF(watch, struct vbd_kept_rows, watch);
	uint64_t renewals;

	if (gone)
		return;
	/* A run that began without its database reads the rows later. */
	if (rows->daemon->reconciler->ops)
		rows->daemon->reconciler->ops->take_rows(rows->daemon);
	renewals = vbd_keeper_state(rows->daemon).renewals;
	if (renewals != rows->renewals) {
		rows->renewals = renewals;
		rows->at_id = 0;
		rows->unfinished = true;
	}
	if (rows->unfinished)
		vbd_turns_add(&rows->daemon->turns, &rows->steps);
}

static void begin_rows(struct vbd_kept_rows *rows, struct vbd_daemon *daemon)
{
	rows->daemon = daemon;
	rows->watch.cb = on_keeper_news;
	rows->steps.step = put_some_rows;
	vbd_list_init(&rows->watch.link);
	vbd_list_init(&rows->steps.link);
	if (daemon->keeper)
		vbd_watch_add(vbd_keeper_watches(daemon->keeper), &rows->watch);
}

static void end_rows(struct vbd_kept_rows *rows)
{
	vbd_watch_remove(&rows->watch);
	vbd_turns_drop(&rows->steps);
}

/* --- life ------------------------------------------------------------------------------------ */

enum vbd_status vbd_reconciler_create(struct vbd_daemon *daemon, struct vbd_error *err)
{
	struct vbd_reconciler *reconciler = calloc(1, sizeof(*reconciler));
	enum vbd_status status;

	if (!reconciler)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for kept objects");
	reconciler->daemon = daemon;
	reconciler->random = daemon->started_ns;
	vbd_list_init(&reconciler->due);
	status = vbd_timer_create(daemon->loop, on_pace_timer, reconciler, &reconciler->pace, err);
	if (status == VBD_OK)
		status = vbd_holder_begin(&reconciler->holder, daemon, err);
	if (status != VBD_OK) {
		vbd_timer_destroy(reconciler->pace);
		free(reconciler);
		return status;
	}
	begin_rows(&reconciler->rows, daemon);
	daemon->reconciler = reconciler;
	return VBD_OK;
}

void vbd_reconciler_begin(struct vbd_reconciler *reconciler, const struct vbd_kept_ops *ops)
{
	reconciler->ops = ops;
	set_pace_timer(reconciler, 0);
}

void vbd_reconciler_destroy(struct vbd_reconciler *reconciler)
{
	if (!reconciler)
		return;
	end_rows(&reconciler->rows);
	vbd_holder_end(&reconciler->holder);
	vbd_timer_destroy(reconciler->pace);
	free(reconciler);
}

/* --- the kind -------------------------------------------------------------------------------- */

static void on_deadline(void *object)
{
	struct vbd_kept *kept = object;

	if (!kept->object.registry->daemon->stopping)
		queue_due(kept);
}

static const char *get_state_name(const struct vbd_object *object)
{
	return vbd_kept_state_name(((const struct vbd_kept *)object)->state);
}

static void free_kept(struct vbd_object *object)
{
	struct vbd_kept *kept = VBD_CONTAINER_OF(object, struct vbd_kept, object);

	unwatch_object(kept);
	vbd_held_leave(kept);
	vbd_list_remove(&kept->due_link);
	free(kept->body);
}

void vbd_reconciler_enter(struct vbd_kept *kept)
{
	vbd_list_init(&kept->due_link);
	vbd_list_init(&kept->watch.link);
	kept->watch.cb = on_object_changed;
	reconciler_of(kept)->in_state[kept->state]++;
	vbd_held_enter(kept);
}

const struct vbd_kind vbd_kept_object_kind = {
	.size_bytes = sizeof(struct vbd_kept),
	.on_deadline = on_deadline,
	.state = get_state_name,
	.free = free_kept,
};
