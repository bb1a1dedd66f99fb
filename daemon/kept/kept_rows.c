/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/kept/kept_made.h"

#include "daemon/core/registry.h"
#include "daemon/kept/kept.h"
#include "daemon/kept/reconciler.h"
#include "daemon/store/keeper.h"

/* A step puts so many rows. */
#define ROWS_PER_STEP 64

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
static bool put_next(struct vbd_kept_rows *rows)
{
	struct vbd_object *object = vbd_registry_after(rows->daemon->kept_objects, rows->at_id);

	if (!object)
		return false;
	rows->at_id = object->id;
	vbd_kept_put_row(VBD_CONTAINER_OF(object, struct vbd_kept, object));
	return true;
}

/* When the queue of the store is long, the news that a row of this step is written lead to the
 * next step. */
static bool step(struct vbd_steps *self)
{
	struct vbd_kept_rows *rows = VBD_CONTAINER_OF(self, struct vbd_kept_rows, steps);

	if (!rows->daemon->keeper)
		return true;
	for (int i = 0; i < ROWS_PER_STEP && rows->unfinished; i++) {
		rows->unfinished = put_next(rows);
		if (!vbd_keeper_has_room(rows->daemon))
			return true;
	}
	return !rows->unfinished;
}

static void on_news(struct vbd_watch *watch, bool gone)
{
	struct vbd_kept_rows *rows = VBD_CONTAINER_OF(watch, struct vbd_kept_rows, watch);
	uint64_t renewals;

	if (gone)
		return;
	/* The database of a run that began without it is read later. */
	if (rows->daemon->reconciler->ops)
		rows->daemon->reconciler->ops->take_rows(rows->daemon);
	renewals = vbd_keeper_state(rows->daemon).renewals;
	if (renewals != rows->renewals) {
		rows->renewals = renewals;
		rows->at_id = 0;
		rows->unfinished = true;
	}
	if (rows->unfinished && vbd_list_empty(&rows->steps.link))
		vbd_turns_add(&rows->daemon->turns, &rows->steps);
}

void vbd_kept_rows_begin(struct vbd_kept_rows *rows, struct vbd_daemon *daemon)
{
	rows->daemon = daemon;
	rows->watch.cb = on_news;
	rows->steps.step = step;
	vbd_list_init(&rows->watch.link);
	vbd_list_init(&rows->steps.link);
	if (daemon->keeper)
		vbd_watch_add(vbd_keeper_watches(daemon->keeper), &rows->watch);
}

void vbd_kept_rows_end(struct vbd_kept_rows *rows)
{
	if (!rows->daemon)
		return;
	vbd_watch_remove(&rows->watch);
	vbd_turns_drop(&rows->steps);
}
