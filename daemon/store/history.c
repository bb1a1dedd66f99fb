/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/keeper_parts.h"

#include "base/clock.h"
#include "base/text.h"
#include "daemon/core/object.h"

/* Most transfers end within this time, so that they are written once. */
#define DELAY_MS 5

/* The pause before the next try, while the store has no room. */
#define RETRY_MS 100

/* A step may take so long: an object takes about 4 us, one that is explained 100 us. */
#define STEP_NS 200000

/* --- of earlier runs ------------------------------------------------------------------------- */

/* The table `records` has a row for each object of a kind with a history, from its beginning until
 * newer ended objects take its place. A row without an end is of an object that is open, or was
 * when its run was killed. */

/* Appends the newest records of each kind, by kind, the oldest of a kind first. */
static enum vbd_status load_records(struct vbd_database *database,
	const uint64_t max[VBD_KIND_COUNT], struct vbd_link *rows, struct vbd_error *err)
{
	/* Bad rows of every kind are counted, since the damage may be in the kind. */
	enum vbd_status status = vbd_database_read(database,
		"SELECT id, 0 FROM records NOT INDEXED WHERE sum IS NOT " VBD_RECORD_SUM, NULL,
		rows, err);

	for (unsigned int i = VBD_KIND_DEVICE + 1; i < VBD_KIND_COUNT && status == VBD_OK; i++) {
		if (max[i] == VBD_KEPT_WITHIN)
			continue;
		status = vbd_database_read(database,
			"SELECT *, 1 FROM (SELECT kind, id, " VBD_RUN_OF_ROW ", name, labels,"
			" owner, state, end_code, created_ns, ended_ns, body"
			" FROM records NOT INDEXED WHERE kind = ?1 AND sum IS " VBD_RECORD_SUM
			" ORDER BY id DESC LIMIT ?2) ORDER BY id",
			VBD_VALUES(vbd_value_text(vbd_object_kind_name((enum vbd_object_kind)i)),
				vbd_value_number(max[i])),
			rows, err);
	}
	return status;
}

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
	enum vbd_status status = vbd_run_table_load(database, past->died, err);

	if (status == VBD_OK)
		status = vbd_id_table_load(database, past->ids, err);
	if (status == VBD_OK)
		status = vbd_event_table_load(database, trim->events_max, &past->events, err);
	if (status == VBD_OK)
		status = load_records(database, trim->records_max, &past->records, err);
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

	if (vbd_event_of_row(row, &past->words, &daemon->callers, &event))
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

static struct vbd_record *create_record(struct vbd_row *row, struct vbd_daemon *daemon)
{
	/* Columns are numbered as in the query of load_records(). */
	const char *owner = vbd_row_text(row, 5);
	enum vbd_object_kind kind = VBD_KIND_NONE;
	struct vbd_record *record = NULL;

	vbd_list_remove(&row->link);
	if (vbd_object_kind_parse(vbd_row_text(row, 0), &kind))
		record = vbd_record_create(&daemon->registries[kind]);
	if (!record) {
		free(row);
		return NULL;
	}
	record->row = row;
	record->object.id = vbd_row_number(row, 1);
	record->server_id = vbd_row_text(row, 2);
	(void)vbd_text_copy(record->object.name, sizeof(record->object.name), vbd_row_text(row, 3));
	record->object.labels = vbd_pairs_to_labels(vbd_row_text(row, 4));
	record->object.owner = owner[0] ? vbd_callers_get(&daemon->callers, owner) : NULL;
	record->state = vbd_row_text(row, 6);
	record->end_code = vbd_row_text(row, 7);
	record->created_wall_ns = vbd_row_number(row, 8);
	record->ended_wall_ns = vbd_row_number(row, 9);
	record->body = vbd_row_text(row, 10);
	/* Without its owner it would be shown to callers who may not see it. */
	if ((record->object.owner || !owner[0]) && vbd_record_add(record))
		return record;
	vbd_record_free(record);
	return NULL;
}

#define DIED_STATE "failed"

#define DEAD_SUM VBD_RECORD_SUM_OF("id", "?1", "?2", "max(created_ns, ?3)", "body")

static void write_deaths(struct vbd_store *store, uint64_t died_wall_ns)
{
	(void)vbd_store_put(store, VBD_PROMISE_NOTHING,
		"UPDATE records SET state = ?1, end_code = ?2, ended_ns = max(created_ns, ?3),"
		" sum = " DEAD_SUM " WHERE ended_ns IS NULL"
		" AND run < (SELECT max(id) FROM runs) AND sum = " VBD_RECORD_SUM,
		VBD_VALUES(vbd_value_text(DIED_STATE),
			vbd_value_text(vbd_status_code(VBD_E_DAEMON_DIED)),
			vbd_value_number(died_wall_ns)));
}

static const enum vbd_event_type ended_types[VBD_KIND_COUNT] = {
	[VBD_KIND_TRANSFER_BATCH] = VBD_EVENT_TRANSFER_BATCH_ENDED,
	[VBD_KIND_TRANSFER] = VBD_EVENT_TRANSFER_ENDED,
	[VBD_KIND_BENCHMARK] = VBD_EVENT_BENCHMARK_ENDED,
	[VBD_KIND_PROBE] = VBD_EVENT_PROBE_ENDED,
	[VBD_KIND_COPY] = VBD_EVENT_COPY_ENDED,
	[VBD_KIND_CONNECTION_BATCH] = VBD_EVENT_CONNECTION_BATCH_ENDED,
	[VBD_KIND_CONNECTION] = VBD_EVENT_CONNECTION_ENDED,
};

static void log_death(struct vbd_record *record)
{
	struct vbd_event event = {.type = ended_types[vbd_registry_kind(record->object.registry)],
		.severity = VBD_SEVERITY_WARNING,
		.words[VBD_EVENT_STATE] = DIED_STATE,
		.words[VBD_EVENT_CODE] = record->end_code};

	(void)snprintf(event.detail, sizeof(event.detail), DIED_STATE ": %s: the run %s was killed",
		record->end_code, record->server_id);
	vbd_object_log_event(&record->object, &event);
}

/* Returns whether the object had not ended when its run was killed. */
static bool restore_record(struct vbd_past *past, struct vbd_daemon *daemon, struct vbd_link *link)
{
	struct vbd_record *record =
		create_record(VBD_CONTAINER_OF(link, struct vbd_row, link), daemon);

	if (!record || record->ended_wall_ns)
		return false;
	record->ended_wall_ns = past->last_wall_ns > record->created_wall_ns
					? past->last_wall_ns
					: record->created_wall_ns;
	record->state = DIED_STATE;
	record->end_code = vbd_status_code(VBD_E_DAEMON_DIED);
	if (record->object.registry == &daemon->registries[VBD_KIND_CONNECTION])
		daemon->connections_ended[VBD_REASON_DAEMON_DIED]++;
	log_death(record);
	return true;
}

size_t vbd_past_restore_records(
	struct vbd_past *past, struct vbd_daemon *daemon, struct vbd_store *store)
{
	size_t deaths = 0;

	while (!vbd_list_empty(&past->records))
		deaths += restore_record(past, daemon, past->records.next);
	if (deaths)
		write_deaths(store, past->last_wall_ns);
	return deaths;
}

void vbd_past_fini(struct vbd_past *past)
{
	vbd_rows_free(&past->events);
	vbd_rows_free(&past->records);
	vbd_rows_free(&past->answers);
	vbd_rows_free(&past->desired);
	vbd_words_free(&past->words);
	vbd_past_init(past);
}

/* --- of this run ----------------------------------------------------------------------------- */

#define NEW_SUM                                                                              \
	VBD_SUM("?1, ?2, (SELECT server_id FROM runs ORDER BY id DESC LIMIT 1), ?3, ?4, ?5," \
		" ?6, ?7, ?8, nullif(?9, 0), ?10")

static bool put_record(struct vbd_store *store, const struct vbd_object *object, const char *body)
{
	const struct vbd_registry *registry = object->registry;
	char labels[VBD_PAIRS_BYTES];

	vbd_pairs_of_labels(object->labels, labels);
	return vbd_store_put(store, VBD_PROMISE_NOTHING,
		       "INSERT OR REPLACE INTO records (kind, id, run, name, labels, owner, state,"
		       " end_code, created_ns, ended_ns, body, sum)"
		       " VALUES (?1, ?2, (SELECT max(id) FROM runs), ?3, ?4, ?5, ?6, ?7, ?8,"
		       " nullif(?9, 0), ?10, " NEW_SUM ")",
		       VBD_VALUES(vbd_value_text(registry->singular), vbd_value_number(object->id),
			       vbd_value_text_or_null(object->name), vbd_value_text_or_null(labels),
			       vbd_value_text_or_null(object->owner ? object->owner->name : NULL),
			       vbd_value_text(registry->kind->state(object)),
			       vbd_value_text(object->end_code),
			       vbd_value_number(vbd_clock_wall_of_ns(object->created_ns)),
			       vbd_value_number(
				       object->ended ? vbd_clock_wall_of_ns(object->ended_ns) : 0),
			       vbd_value_text(body))) != VBD_TICKET_NONE;
}

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
static void write_record(const struct vbd_recorder *recorder, struct vbd_object *object)
{
	char *body = recorder->encode(object);

	vbd_list_remove(&object->record_link);
	if (body && put_record(recorder->store, object, body))
		object->recorded = true;
	free(body);
}

static bool write_changed_objects(struct vbd_steps *steps)
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
		/* Leave half of the store's queue to rows that can't wait. */
		if (!vbd_store_has_room(recorder->store)) {
			vbd_timer_set(recorder->timer, RETRY_MS);
			return true;
		}
		write_record(recorder, object);
	} while (vbd_clock_mono_ns() - begun_ns < STEP_NS);
	return false;
}

static void on_write_timer(void *arg)
{
	struct vbd_recorder *recorder = arg;

	vbd_turns_add(&recorder->daemon->turns, &recorder->steps);
}

static void on_record_wanted(struct vbd_daemon *daemon)
{
	struct vbd_recorder *recorder = daemon->recorder;

	if (recorder->pending)
		return;
	recorder->pending = true;
	vbd_timer_set(recorder->timer, DELAY_MS);
}

static void on_record_dropped(struct vbd_daemon *daemon, enum vbd_object_kind kind, uint64_t id)
{
	(void)vbd_store_put(daemon->recorder->store, VBD_PROMISE_NOTHING,
		"DELETE FROM records WHERE kind = ?1 AND id = ?2",
		VBD_VALUES(vbd_value_text(vbd_object_kind_name(kind)), vbd_value_number(id)));
}

#define MOVED_BODY "iif(json_valid(body), json_set(body, '$.id', ?3), body)"
#define MOVED_SUM  VBD_RECORD_SUM_OF("?3", "state", "end_code", "ended_ns", MOVED_BODY)

/* One statement changes the id, so that a killed daemon leaves the row under one id. */
static void on_id_replaced(
	struct vbd_daemon *daemon, enum vbd_object_kind kind, uint64_t id, uint64_t new_id)
{
	(void)vbd_store_put(daemon->recorder->store, VBD_PROMISE_NOTHING,
		"UPDATE OR REPLACE records SET id = ?3, body = " MOVED_BODY ", sum = " MOVED_SUM
		" WHERE kind = ?1 AND id = ?2",
		VBD_VALUES(vbd_value_text(vbd_object_kind_name(kind)), vbd_value_number(id),
			vbd_value_number(new_id)));
}

static void write_all_changed(struct vbd_recorder *recorder)
{
	struct vbd_object *object;

	while (recorder->encode && (object = first_changed(recorder)))
		write_record(recorder, object);
}

static const struct vbd_record_ops ops = {
	.wanted = on_record_wanted, .dropped = on_record_dropped, .replaced = on_id_replaced};

void vbd_keeper_encode_with(struct vbd_daemon *daemon, vbd_record_encode_fn encode)
{
	struct vbd_recorder *recorder = daemon->recorder;

	if (!recorder)
		return;
	if (!encode)
		write_all_changed(recorder);
	recorder->encode = encode;
	daemon->record_ops = encode ? &ops : NULL;
}

enum vbd_status vbd_recorder_create(
	struct vbd_daemon *daemon, struct vbd_store *store, struct vbd_error *err)
{
	struct vbd_recorder *recorder = calloc(1, sizeof(*recorder));

	if (!recorder)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory to keep records");
	daemon->recorder = recorder;
	recorder->daemon = daemon;
	recorder->store = store;
	vbd_list_init(&recorder->steps.link);
	recorder->steps.step = write_changed_objects;
	return vbd_timer_create(daemon->loop, on_write_timer, recorder, &recorder->timer, err);
}

void vbd_recorder_destroy(struct vbd_daemon *daemon)
{
	struct vbd_recorder *recorder = daemon->recorder;

	if (!recorder)
		return;
	vbd_keeper_encode_with(daemon, NULL);
	vbd_turns_drop(&recorder->steps);
	vbd_timer_destroy(recorder->timer);
	free(recorder);
	daemon->recorder = NULL;
}
