/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/keeper_parts.h"

#include "base/clock.h"
#include "daemon/store/tables.h"
#include "daemon/store/store.h"

/* Most transfers end within this time, so that they are written once. */
#define DELAY_MS 5

/* While the store is behind. */
#define RETRY_MS 100

/* A step takes so long: an object is written in about 4 us, one that is explained in 100 us. */
#define STEP_NS 200000

struct vbd_recorder {
	struct vbd_daemon *daemon;
	struct vbd_store *store;
	struct vbd_timer *timer;
	struct vbd_steps steps;
	bool pending; /* the timer is set, or the steps wait for their turn */
	vbd_record_encode_fn encode;
};

static struct vbd_object *first_changed(const struct vbd_recorder *recorder)
{
	const struct vbd_link *changed = &recorder->daemon->unrecorded;

	return vbd_list_empty(changed)
		       ? NULL
		       : VBD_CONTAINER_OF(changed->next, struct vbd_object, record_link);
}

/* Without memory the row stays as it was; a later change writes it. */
static void record(const struct vbd_recorder *recorder, struct vbd_object *object)
{
	char *body = recorder->encode(object);

	vbd_list_remove(&object->record_link);
	if (body && vbd_record_put(recorder->store, object, body))
		object->recorded = true;
	free(body);
}

/* Half of the queue is left to what can't wait. */
static bool is_behind(const struct vbd_recorder *recorder)
{
	return !vbd_store_has_room(recorder->store);
}

static bool take_step(struct vbd_steps *steps)
{
	struct vbd_recorder *recorder = VBD_CONTAINER_OF(steps, struct vbd_recorder, steps);
	uint64_t begun_ns = vbd_clock_mono_ns();
	struct vbd_object *object;

	do {
		object = first_changed(recorder);
		if (!object) {
			recorder->pending = false;
			return true;
		}
		if (is_behind(recorder)) {
			vbd_timer_set(recorder->timer, RETRY_MS);
			return true;
		}
		record(recorder, object);
	} while (vbd_clock_mono_ns() - begun_ns < STEP_NS);
	return false;
}

static void begin_steps(void *arg)
{
	struct vbd_recorder *recorder = arg;

	vbd_turns_add(&recorder->daemon->turns, &recorder->steps);
}

static void on_wanted(struct vbd_daemon *daemon)
{
	struct vbd_recorder *recorder = daemon->recorder;

	if (recorder->pending)
		return;
	recorder->pending = true;
	vbd_timer_set(recorder->timer, DELAY_MS);
}

static void on_dropped(struct vbd_daemon *daemon, enum vbd_object_kind kind, uint64_t id)
{
	vbd_record_put_gone(daemon->recorder->store, kind, id);
}

static void on_replaced(
	struct vbd_daemon *daemon, enum vbd_object_kind kind, uint64_t id, uint64_t new_id)
{
	vbd_record_put_moved(daemon->recorder->store, kind, id, new_id);
}

static void flush(struct vbd_recorder *recorder)
{
	struct vbd_object *object;

	while (recorder->encode && (object = first_changed(recorder)))
		record(recorder, object);
}

static const struct vbd_record_ops ops = {
	.wanted = on_wanted, .dropped = on_dropped, .replaced = on_replaced};

void vbd_recorder_encode_with(struct vbd_recorder *recorder, vbd_record_encode_fn encode)
{
	if (!encode)
		flush(recorder);
	recorder->encode = encode;
	recorder->daemon->record_ops = encode ? &ops : NULL;
}

enum vbd_status vbd_recorder_create(struct vbd_daemon *daemon, struct vbd_store *store,
	struct vbd_recorder **ret_recorder, struct vbd_error *err)
{
	struct vbd_recorder *recorder = calloc(1, sizeof(*recorder));
	enum vbd_status status;

	if (!recorder)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory to keep records");
	recorder->daemon = daemon;
	recorder->store = store;
	vbd_list_init(&recorder->steps.link);
	recorder->steps.step = take_step;
	status = vbd_timer_create(daemon->loop, begin_steps, recorder, &recorder->timer, err);
	if (status != VBD_OK) {
		free(recorder);
		return status;
	}
	*ret_recorder = recorder;
	return VBD_OK;
}

void vbd_recorder_destroy(struct vbd_recorder *recorder)
{
	if (!recorder)
		return;
	vbd_recorder_encode_with(recorder, NULL);
	vbd_turns_drop(&recorder->steps);
	vbd_timer_destroy(recorder->timer);
	free(recorder);
}
