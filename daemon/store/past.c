/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/past.h"

#include "base/clock.h"
#include "daemon/store/answer_table.h"
#include "daemon/store/desired_table.h"
#include "daemon/store/event_table.h"
#include "daemon/store/id_table.h"
#include "daemon/store/run_table.h"
#include "daemon/store/words.h"

#include <stdlib.h>
#include <string.h>

enum vbd_status vbd_past_load(struct vbd_database *database, uint64_t events_max,
	uint64_t now_wall_ns, struct vbd_past *past, struct vbd_error *err)
{
	enum vbd_status status;

	*past = (struct vbd_past){.words = vbd_words_create()};
	if (!past->words)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for earlier runs");
	status = vbd_run_table_load(database, &past->runs, &past->run_count, err);
	if (status == VBD_OK)
		status = vbd_id_table_load(database, past->ids, err);
	if (status == VBD_OK)
		status = vbd_event_table_load(
			database, events_max, past->words, &past->events, &past->event_count, err);
	if (status == VBD_OK)
		status = vbd_answer_table_load(
			database, now_wall_ns - VBD_ANSWER_AGE_MAX_NS, &past->answers, err);
	if (status == VBD_OK)
		status = vbd_desired_table_load(database, &past->desired, err);
	if (status != VBD_OK) {
		vbd_past_fini(past);
		return status;
	}
	if (past->run_count && !past->runs[past->run_count - 1].stopped)
		memcpy(past->died, past->runs[past->run_count - 1].server_id, sizeof(past->died));
	return VBD_OK;
}

/* --- taking over ----------------------------------------------------------------------------- */

static struct vbd_event_run *add_run(
	const struct vbd_past *past, struct vbd_eventlog *eventlog, uint64_t id)
{
	for (size_t i = 0; i < past->run_count; i++) {
		if (past->runs[i].id == id)
			return vbd_eventlog_add_run(eventlog, past->runs[i].server_id);
	}
	return NULL;
}

static void restore_event(
	struct vbd_daemon *daemon, struct vbd_event_run *run, struct vbd_event_row *row)
{
	struct vbd_event *event = &row->event;

	event->at_ns = vbd_clock_mono_of_wall_ns(row->at_wall_ns);
	event->labels = vbd_event_row_labels(row);
	event->owner = row->owner[0] ? vbd_callers_get(&daemon->callers, row->owner) : NULL;
	/* Without its owner it would show to whom it is not for. */
	if (event->owner || !row->owner[0])
		vbd_eventlog_restore(daemon->eventlog, run, event);
	vbd_labels_unref(event->labels);
	vbd_caller_unref(event->owner);
}

static void restore_events(struct vbd_past *past, struct vbd_daemon *daemon)
{
	struct vbd_event_run *run = NULL;
	uint64_t run_id = 0;

	for (size_t i = 0; i < past->event_count; i++) {
		struct vbd_event_row *row = &past->events[i];

		if (!run || row->run != run_id)
			run = add_run(past, daemon->eventlog, row->run);
		run_id = row->run;
		if (run)
			restore_event(daemon, run, row);
	}
	free(past->events);
	past->events = NULL;
	past->event_count = 0;
}

void vbd_past_restore(
	struct vbd_past *past, struct vbd_daemon *daemon, uint64_t ret_ids[VBD_KIND_COUNT])
{
	restore_events(past, daemon);
	memcpy(ret_ids, past->ids, sizeof(past->ids));
	vbd_eventlog_skip(daemon->eventlog, past->ids[VBD_KIND_NONE]);
	daemon->last_device_id = past->ids[VBD_KIND_DEVICE];
	for (unsigned int i = 0; i < VBD_KIND_COUNT; i++) {
		if (daemon->registries[i].kind)
			daemon->registries[i].last_id = past->ids[i];
	}
}

void vbd_past_fini(struct vbd_past *past)
{
	free(past->runs);
	free(past->events);
	vbd_answers_free(past->answers);
	vbd_desired_free(past->desired);
	vbd_words_free(past->words);
	*past = (struct vbd_past){0};
}
