/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/past.h"

#include "base/clock.h"
#include "daemon/store/database.h"
#include "daemon/store/tables.h"
#include "daemon/store/record_table.h"

void vbd_past_init(struct vbd_past *past)
{
	*past = (struct vbd_past){0};
	vbd_list_init(&past->answers);
	vbd_list_init(&past->desired);
}

enum vbd_status vbd_past_load(struct vbd_database *database, uint64_t events_max,
	const struct vbd_record_limits *limits, uint64_t now_wall_ns, struct vbd_past *past,
	struct vbd_error *err)
{
	enum vbd_status status;

	past->words = vbd_words_create();
	if (!past->words)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for earlier runs");
	status = vbd_run_table_load(database, past->died, err);
	if (status == VBD_OK)
		status = vbd_id_table_load(database, past->ids, err);
	if (status == VBD_OK)
		status = vbd_event_table_load(
			database, events_max, past->words, &past->events, &past->event_count, err);
	if (status == VBD_OK)
		status = vbd_record_table_load(
			database, limits, past->words, &past->records, &past->record_count, err);
	if (status == VBD_OK)
		status = vbd_answer_table_load(
			database, now_wall_ns - VBD_ANSWER_AGE_MAX_NS, &past->answers, err);
	if (status == VBD_OK)
		status = vbd_desired_table_load(database, &past->desired, err);
	if (status != VBD_OK) {
		vbd_past_fini(past);
		return status;
	}
	if (past->event_count)
		past->last_wall_ns = past->events[past->event_count - 1].at_wall_ns;
	return VBD_OK;
}

/* --- taking over ----------------------------------------------------------------------------- */

static void restore_event(
	struct vbd_daemon *daemon, struct vbd_event_run *run, struct vbd_event_row *row)
{
	struct vbd_event *event = &row->event;

	event->at_ns = vbd_clock_mono_of_wall_ns(row->at_wall_ns);
	event->labels = vbd_pairs_to_labels(row->labels);
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
	const char *server_id = "";

	for (size_t i = 0; i < past->event_count; i++) {
		struct vbd_event_row *row = &past->events[i];

		/* The pool has each text once. */
		if (!run || row->server_id != server_id)
			run = row->server_id[0]
				      ? vbd_eventlog_add_run(daemon->eventlog, row->server_id)
				      : NULL;
		server_id = row->server_id;
		if (run)
			restore_event(daemon, run, row);
	}
	free(past->events);
	past->events = NULL;
	past->event_count = 0;
}

void vbd_past_restore(struct vbd_past *past, struct vbd_daemon *daemon, uint64_t floor,
	uint64_t ret_ids[VBD_KIND_COUNT])
{
	if (past && !vbd_eventlog_last(daemon->eventlog))
		restore_events(past, daemon);
	for (unsigned int i = 0; i < VBD_KIND_COUNT; i++) {
		ret_ids[i] = past && past->ids[i] > floor ? past->ids[i] : floor;
		if (daemon->registries[i].kind && ret_ids[i] > daemon->registries[i].last_id)
			daemon->registries[i].last_id = ret_ids[i];
	}
	vbd_eventlog_skip(daemon->eventlog, ret_ids[VBD_KIND_NONE]);
	if (ret_ids[VBD_KIND_DEVICE] > daemon->last_device_id)
		daemon->last_device_id = ret_ids[VBD_KIND_DEVICE];
}

/* --- records --------------------------------------------------------------------------------- */

static const enum vbd_event_type ended_types[VBD_KIND_COUNT] = {
	[VBD_KIND_TRANSFER_BATCH] = VBD_EVENT_TRANSFER_BATCH_ENDED,
	[VBD_KIND_TRANSFER] = VBD_EVENT_TRANSFER_ENDED,
	[VBD_KIND_BENCHMARK] = VBD_EVENT_BENCHMARK_ENDED,
	[VBD_KIND_PROBE] = VBD_EVENT_PROBE_ENDED,
	[VBD_KIND_CONNECTION_BATCH] = VBD_EVENT_CONNECTION_BATCH_ENDED,
	[VBD_KIND_CONNECTION] = VBD_EVENT_CONNECTION_ENDED,
};

/* False if nobody may see the record: there is no memory for its owner. */
static bool complete(struct vbd_daemon *daemon, const struct vbd_record_row *row)
{
	struct vbd_record *record = row->record;

	record->labels = vbd_pairs_to_labels(row->labels);
	record->owner = row->owner[0] ? vbd_callers_get(&daemon->callers, row->owner) : NULL;
	return record->owner || !row->owner[0];
}

static void tell_death(
	struct vbd_daemon *daemon, enum vbd_object_kind kind, const struct vbd_record *record)
{
	struct vbd_event event = {.type = ended_types[kind],
		.severity = VBD_SEVERITY_WARNING,
		.kind = kind,
		.object_id = record->id,
		.labels = record->labels,
		.owner = record->owner,
		.words[VBD_EVENT_STATE] = "failed",
		.words[VBD_EVENT_CODE] = vbd_status_code(VBD_E_DAEMON_DIED)};

	memcpy(event.name, record->name, sizeof(event.name));
	(void)vbd_eventlog_append(daemon->eventlog, &event, "failed: %s: the run %s was killed",
		vbd_status_code(VBD_E_DAEMON_DIED), record->server_id);
}

/* Returns whether the object had no end. */
static bool restore_record(
	struct vbd_past *past, struct vbd_daemon *daemon, struct vbd_record_row *row)
{
	struct vbd_record *record = row->record;
	bool was_open = !record->ended_wall_ns;

	if (!complete(daemon, row))
		return false;
	if (was_open) {
		vbd_record_die(record, past->last_wall_ns);
		if (row->kind == VBD_KIND_CONNECTION)
			daemon->connections_ended[VBD_REASON_DAEMON_DIED]++;
		tell_death(daemon, row->kind, record);
	}
	vbd_records_append(&daemon->registries[row->kind].past, record);
	row->record = NULL;
	return was_open;
}

/* The rows of a kind follow each other. */
static size_t count_kind(const struct vbd_past *past, size_t from)
{
	size_t i = from;

	while (i < past->record_count && past->records[i].kind == past->records[from].kind)
		i++;
	return i - from;
}

size_t vbd_past_restore_records(
	struct vbd_past *past, struct vbd_daemon *daemon, uint64_t *ret_died_wall_ns)
{
	size_t deaths = 0;

	for (size_t i = 0; i < past->record_count;) {
		struct vbd_registry *registry = &daemon->registries[past->records[i].kind];
		size_t end = i + count_kind(past, i);

		if (!vbd_records_reserve(&registry->past, end - i)) {
			i = end;
			continue;
		}
		for (; i < end; i++)
			deaths += restore_record(past, daemon, &past->records[i]);
	}
	vbd_record_rows_free(past->records, past->record_count);
	past->records = NULL;
	past->record_count = 0;
	*ret_died_wall_ns = past->last_wall_ns;
	return deaths;
}

void vbd_past_fini(struct vbd_past *past)
{
	free(past->events);
	vbd_record_rows_free(past->records, past->record_count);
	vbd_rows_free(&past->answers);
	vbd_rows_free(&past->desired);
	vbd_words_free(past->words);
	vbd_past_init(past);
}
