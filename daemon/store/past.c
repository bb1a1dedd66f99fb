/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/keeper_parts.h"

#include "daemon/core/object.h"
#include "daemon/core/record.h"
#include "daemon/store/database.h"
#include "daemon/store/tables.h"

static struct vbd_row *row_of(struct vbd_link *link)
{
	return VBD_CONTAINER_OF(link, struct vbd_row, link);
}

void vbd_past_init(struct vbd_past *past)
{
	*past = (struct vbd_past){0};
	vbd_list_init(&past->events);
	vbd_list_init(&past->records);
	vbd_list_init(&past->answers);
	vbd_list_init(&past->desired);
}

enum vbd_status vbd_past_load(struct vbd_database *database, const struct vbd_trim *trim,
	uint64_t now_wall_ns, struct vbd_past *past, struct vbd_error *err)
{
	enum vbd_status status;

	past->words = vbd_words_create();
	if (!past->words)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for earlier runs");
	status = vbd_run_table_load(database, past->died, err);
	if (status == VBD_OK)
		status = vbd_id_table_load(database, past->ids, err);
	if (status == VBD_OK)
		status = vbd_event_table_load(database, trim->events_max, &past->events, err);
	if (status == VBD_OK)
		status = vbd_record_table_load(database, trim->records_max, &past->records, err);
	if (status == VBD_OK)
		status = vbd_answer_table_load(
			database, now_wall_ns - VBD_ANSWER_AGE_MAX_NS, &past->answers, err);
	if (status == VBD_OK)
		status = vbd_desired_table_load(database, &past->desired, err);
	if (status != VBD_OK)
		vbd_past_fini(past);
	else if (!vbd_list_empty(&past->events))
		past->last_wall_ns = vbd_row_number(row_of(past->events.prev), VBD_EVENT_ROW_AT_NS);
	return status;
}

/* --- taking over ----------------------------------------------------------------------------- */

static void restore_event(struct vbd_past *past, struct vbd_daemon *daemon,
	struct vbd_event_run *run, const struct vbd_row *row)
{
	struct vbd_event event;

	if (vbd_event_of_row(row, past->words, &daemon->callers, &event))
		vbd_eventlog_restore(daemon->eventlog, run, &event);
	vbd_labels_unref(event.labels);
	vbd_caller_unref(event.owner);
}

static void restore_events(struct vbd_past *past, struct vbd_daemon *daemon)
{
	struct vbd_event_run *run = NULL;

	vbd_list_for_each (link, &past->events) {
		const struct vbd_row *row = row_of(link);
		const char *server_id = vbd_row_text(row, VBD_EVENT_ROW_RUN);

		if (!run || strcmp(run->server_id, server_id) != 0)
			run = server_id[0] ? vbd_eventlog_add_run(daemon->eventlog, server_id)
					   : NULL;
		if (run)
			restore_event(past, daemon, run, row);
	}
	vbd_rows_free(&past->events);
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

static void tell_death(struct vbd_record *record)
{
	struct vbd_event event = {.type = ended_types[vbd_registry_kind(record->object.registry)],
		.severity = VBD_SEVERITY_WARNING,
		.words[VBD_EVENT_STATE] = "failed",
		.words[VBD_EVENT_CODE] = vbd_status_code(VBD_E_DAEMON_DIED)};

	(void)snprintf(event.detail, sizeof(event.detail), "failed: %s: the run %s was killed",
		vbd_status_code(VBD_E_DAEMON_DIED), record->server_id);
	vbd_object_log_event(&record->object, &event);
}

/* Returns whether the object had no end. */
static bool restore_record(struct vbd_past *past, struct vbd_daemon *daemon, struct vbd_row *row)
{
	struct vbd_record *record = vbd_record_restore(row, daemon);

	if (!record || record->ended_wall_ns)
		return false;
	vbd_record_die(record, past->last_wall_ns);
	if (record->object.registry == &daemon->registries[VBD_KIND_CONNECTION])
		daemon->connections_ended[VBD_REASON_DAEMON_DIED]++;
	tell_death(record);
	return true;
}

size_t vbd_past_restore_records(
	struct vbd_past *past, struct vbd_daemon *daemon, uint64_t *ret_died_wall_ns)
{
	size_t deaths = 0;

	while (!vbd_list_empty(&past->records))
		deaths += restore_record(past, daemon, row_of(past->records.next));
	*ret_died_wall_ns = past->last_wall_ns;
	return deaths;
}

void vbd_past_fini(struct vbd_past *past)
{
	vbd_rows_free(&past->events);
	vbd_rows_free(&past->records);
	vbd_rows_free(&past->answers);
	vbd_rows_free(&past->desired);
	vbd_words_free(past->words);
	vbd_past_init(past);
}
