/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/keeper_parts.h"

#include "base/clock.h"
#include "base/counter.h"
#include "base/log.h"
#include "daemon/core/watch.h"
#include "daemon/store/disk.h"
#include "rdma/fabric/fabric.h"

/* Interval between looks at the store. */
#define LOOK_MS 1000

struct vbd_keeper {
	struct vbd_daemon *daemon;
	struct vbd_store *store;
	struct vbd_fd_watch *news;
	struct vbd_timer *look;
	struct vbd_watch events;
	struct vbd_link watches;
	uint64_t newest_ticket;
	uint64_t kept_seq; /* events up to this one were handed to the store */
	bool was_failing;
	uint64_t told_losses;
	unsigned int bad_rows; /* rows of `desired` that led to no object */
	bool restored;	       /* `past` is the control thread's */
	bool begun;	       /* vbd_keeper_begin() was called */
	bool missed_past;      /* `past` was read when this run had begun */
	size_t deaths;	       /* objects that the run before had left open */
	struct {
		uint64_t number; /* of the newest one; see vbd_store_reserve() */
		uint64_t safe;	 /* no other run gives ids up to this one */
	} reserve[VBD_KIND_COUNT];
	/* The store's thread uses these, and may outlive the daemon: */
	struct vbd_counter ids_noted[VBD_KIND_COUNT]; /* by kind; VBD_KIND_NONE: events */
	char server_id[17];
	uint64_t started_wall_ns;
	struct vbd_trim trim;
	struct vbd_past past; /* of the control thread, once the store has loaded */
};

/* --- the store's thread ---------------------------------------------------------------------- */

static enum vbd_status load_past(struct vbd_database *database, void *arg, struct vbd_error *err)
{
	struct vbd_keeper *keeper = arg;

	vbd_past_fini(&keeper->past);
	return vbd_past_load(database, &keeper->trim, keeper->started_wall_ns, &keeper->past, err);
}

/* The ids in reserve are on the disk before the first of them is given. A database that replaces a
 * damaged one gets them with its first rows. */
static enum vbd_status begin_run(
	struct vbd_database *database, uint64_t floor, void *arg, struct vbd_error *err)
{
	const struct vbd_keeper *keeper = arg;
	enum vbd_status status =
		vbd_run_table_begin(database, keeper->server_id, keeper->started_wall_ns, err);

	for (unsigned int i = 0; i < VBD_KIND_COUNT && status == VBD_OK; i++) {
		uint64_t noted = vbd_counter_get(&keeper->ids_noted[i]);
		uint64_t past = keeper->past.ids[i] > floor ? keeper->past.ids[i] : floor;

		status = vbd_id_table_raise(database, (enum vbd_object_kind)i,
			noted ? noted : past + VBD_IDS_AHEAD, err);
	}
	return status;
}

static enum vbd_status trim(struct vbd_database *database, void *arg, struct vbd_error *err)
{
	return vbd_trim_run(&((struct vbd_keeper *)arg)->trim, database, err);
}

static const struct vbd_store_ops store_ops = {.load = load_past, .begin = begin_run, .trim = trim};

/* --- the reserve of ids ----------------------------------------------------------------------- */

static void reserve_ids(struct vbd_keeper *keeper, enum vbd_object_kind kind, uint64_t id)
{
	vbd_counter_set(&keeper->ids_noted[kind], id + VBD_IDS_AHEAD);
	keeper->reserve[kind].number = vbd_store_reserve(keeper->store, id + VBD_IDS_AHEAD);
}

/* Go on with ids above those of all other runs: the reserved ids are used up, since nothing was
 * written for so long, or other runs have used the database meanwhile. */
static void skip_to_unused_ids(struct vbd_keeper *keeper)
{
	struct vbd_fabric *fabric = keeper->daemon->fabric;
	uint64_t ids[VBD_KIND_COUNT];

	vbd_past_restore(keeper->restored ? &keeper->past : NULL, keeper->daemon,
		vbd_disk_unknown_floor(), ids);
	/* The clock may have been set back since the last time. */
	if (fabric && ids[VBD_KIND_DEVICE] > fabric->last_device_id)
		fabric->last_device_id = fabric->last_cq_id = fabric->last_pd_id =
			fabric->last_srq_id = ids[VBD_KIND_DEVICE];
	for (unsigned int i = 0; i < VBD_KIND_COUNT; i++) {
		keeper->reserve[i].safe = UINT64_MAX;
		reserve_ids(keeper, (enum vbd_object_kind)i, ids[i]);
	}
}

/* --- news of the store ----------------------------------------------------------------------- */

VBD_PRINTF(3, 4)
static void log_store_event(
	const struct vbd_keeper *keeper, enum vbd_event_type type, const char *fmt, ...)
{
	const struct vbd_event event = {.type = type,
		.severity = type == VBD_EVENT_STORE_RECOVERED ? VBD_SEVERITY_NOTICE
							      : VBD_SEVERITY_ERROR};

	va_list ap;

	va_start(ap, fmt);
	(void)vbd_eventlog_vappend(keeper->daemon->eventlog, &event, fmt, ap);
	va_end(ap);
}

static void check_store_state(struct vbd_keeper *keeper)
{
	struct vbd_store_state state = vbd_store_state(keeper->store);

	if (state.loaded && keeper->begun && !keeper->restored) {
		keeper->restored = keeper->missed_past = true;
		skip_to_unused_ids(keeper);
	}
	if (state.losses != keeper->told_losses) {
		keeper->told_losses = state.losses;
		log_store_event(keeper, VBD_EVENT_STORE_DAMAGED, "%s", state.loss);
	}
	if (state.failing == keeper->was_failing)
		return;
	keeper->was_failing = state.failing;
	if (state.failing)
		log_store_event(keeper, VBD_EVENT_STORE_FAILED, "%s", state.text);
	else
		log_store_event(keeper, VBD_EVENT_STORE_RECOVERED, "state is kept again%s",
			keeper->missed_past ? "; events and ended objects of earlier runs are "
					      "listed after the next start"
					    : "");
}

static void on_store_news(unsigned int events, void *arg)
{
	struct vbd_keeper *keeper = arg;

	(void)events;
	vbd_store_rearm(keeper->store);
	check_store_state(keeper);
	vbd_watch_notify(&keeper->watches, false);
}

/* A store that hangs does not signal its descriptor, so ask for its state. */
static void on_look_timer(void *arg)
{
	struct vbd_keeper *keeper = arg;

	(void)vbd_store_state(keeper->store);
	vbd_timer_set(keeper->look, LOOK_MS);
}

/* --- what is kept ---------------------------------------------------------------------------- */

static void note_used_id(struct vbd_keeper *keeper, enum vbd_object_kind kind, uint64_t id)
{
	uint64_t noted = vbd_counter_get(&keeper->ids_noted[kind]);

	if (id + VBD_IDS_AHEAD / 4 * 3 <= noted)
		return;
	if (vbd_store_state(keeper->store).reserved >= keeper->reserve[kind].number) {
		if (noted >= id)
			keeper->reserve[kind].safe = noted;
		reserve_ids(keeper, kind, id);
	}
	if (id + VBD_IDS_AHEAD / 4 > keeper->reserve[kind].safe)
		skip_to_unused_ids(keeper);
}

/* Note the ids of an event before the event is put: the next run must not give them again. */
static void on_new_events(struct vbd_watch *watch, bool gone)
{
	struct vbd_keeper *keeper = VBD_CONTAINER_OF(watch, struct vbd_keeper, events);
	static const struct vbd_event_filter all = {0};
	const struct vbd_event *event;

	if (gone)
		return;
	while ((event = vbd_eventlog_next(keeper->daemon->eventlog, keeper->kept_seq, &all))) {
		note_used_id(keeper, VBD_KIND_NONE, event->seq);
		if (event->kind != VBD_KIND_NONE)
			note_used_id(keeper, event->kind, event->object_id);
		vbd_event_put(keeper->store, event);
		keeper->kept_seq = event->seq;
	}
}

/* No object is made any more, so the next run goes on behind the last ids, without a gap; but not
 * if this run has not read which ids other runs have used. */
static void note_last_ids(struct vbd_keeper *keeper)
{
	const struct vbd_daemon *daemon = keeper->daemon;

	if (!keeper->restored)
		return;
	for (unsigned int i = 0; i < VBD_KIND_COUNT; i++) {
		const struct vbd_registry *registry = &daemon->registries[i];

		if (registry->kind)
			vbd_id_put(keeper->store, (enum vbd_object_kind)i, registry->last_id);
	}
	vbd_id_put(keeper->store, VBD_KIND_NONE, vbd_eventlog_last(daemon->eventlog));
	vbd_id_put(keeper->store, VBD_KIND_DEVICE,
		daemon->fabric ? daemon->fabric->last_device_id : daemon->last_device_id);
}

/* --- life ------------------------------------------------------------------------------------ */

enum vbd_status vbd_keeper_create(struct vbd_daemon *daemon, struct vbd_error *err)
{
	const struct vbd_config *config = daemon->config;
	struct vbd_keeper *keeper;
	enum vbd_status status;

	if (!config->state_dir[0]) {
		vbd_log(VBD_LOG_NOTICE, NULL,
			"no state_dir: events and records end with this run of the daemon");
		return VBD_OK;
	}
	keeper = calloc(1, sizeof(*keeper));
	if (!keeper)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory to keep state");
	keeper->daemon = daemon;
	keeper->trim.events_max = config->records.events;
	for (unsigned int i = 0; i < VBD_KIND_COUNT; i++)
		keeper->trim.records_max[i] =
			daemon->registries[i].kind ? daemon->registries[i].kept : VBD_KEPT_WITHIN;
	keeper->started_wall_ns = vbd_clock_wall_of_ns(daemon->started_ns);
	memcpy(keeper->server_id, daemon->server_id, sizeof(keeper->server_id));
	vbd_past_init(&keeper->past);
	vbd_list_init(&keeper->watches);
	vbd_list_init(&keeper->events.link);
	keeper->events.cb = on_new_events;
	status = vbd_store_create(config->state_dir, &store_ops, keeper, &keeper->store, err);
	if (status != VBD_OK) {
		free(keeper);
		return status;
	}
	daemon->keeper = keeper;
	return VBD_OK;
}

/* If the database was not read in time, the reserved ids are written when it has been opened. */
static void restore_ids(struct vbd_keeper *keeper)
{
	struct vbd_store_state state = vbd_store_state(keeper->store);
	uint64_t ids[VBD_KIND_COUNT];

	keeper->restored = state.loaded;
	vbd_past_restore(state.loaded ? &keeper->past : NULL, keeper->daemon, state.floor, ids);
	for (unsigned int i = 0; i < VBD_KIND_COUNT; i++) {
		keeper->reserve[i].safe = state.loaded ? ids[i] + VBD_IDS_AHEAD : UINT64_MAX;
		if (!state.loaded || state.floor)
			reserve_ids(keeper, (enum vbd_object_kind)i, ids[i]);
		else
			vbd_counter_set(&keeper->ids_noted[i], ids[i] + VBD_IDS_AHEAD);
	}
}

enum vbd_status vbd_keeper_begin(struct vbd_daemon *daemon, struct vbd_error *err)
{
	struct vbd_keeper *keeper = daemon->keeper;
	enum vbd_status status;

	if (!keeper)
		return VBD_OK;
	status = vbd_timer_create(daemon->loop, on_look_timer, keeper, &keeper->look, err);
	if (status != VBD_OK)
		return status;
	restore_ids(keeper);
	keeper->begun = true;
	keeper->kept_seq = vbd_eventlog_last(daemon->eventlog);
	vbd_watch_add(vbd_eventlog_watches(daemon->eventlog), &keeper->events);
	if (keeper->restored)
		keeper->deaths = vbd_past_restore_records(&keeper->past, daemon, keeper->store);
	status = vbd_recorder_create(daemon, keeper->store, err);
	if (status != VBD_OK)
		return status;
	status = vbd_fd_watch_start(daemon->loop, vbd_store_fd(keeper->store), VBD_FD_READ,
		on_store_news, keeper, &keeper->news, err);
	if (status != VBD_OK)
		return status;
	check_store_state(keeper);
	on_look_timer(keeper);
	if (!keeper->was_failing)
		vbd_log(VBD_LOG_NOTICE, NULL, "state is kept in %s%s", daemon->config->state_dir,
			keeper->kept_seq ? "" : ", which has nothing of earlier runs");
	return VBD_OK;
}

void vbd_keeper_take_answers(struct vbd_keeper *keeper,
	void (*cb)(const struct vbd_answer *answer, void *arg), void *arg)
{
	struct vbd_link *rows = &keeper->past.answers;

	if (!keeper->restored)
		return;
	vbd_list_for_each (link, rows) {
		const struct vbd_value *values =
			VBD_CONTAINER_OF(link, const struct vbd_row, link)->values;
		struct vbd_answer answer = {.key = values[0].bytes,
			.begun_wall_ns = values[2].number,
			.status = (unsigned int)values[3].number,
			.code = values[4].bytes,
			.content_type = values[5].bytes,
			.headers = values[6].bytes,
			.body = values[7].bytes,
			.body_bytes = values[7].number};

		memcpy(answer.print, values[1].bytes, sizeof(answer.print));
		cb(&answer, arg);
	}
	vbd_rows_free(rows);
}

void vbd_keeper_take_desired(
	struct vbd_keeper *keeper, void (*cb)(const struct vbd_desired *row, void *arg), void *arg)
{
	struct vbd_link *rows = &keeper->past.desired;

	if (!keeper->restored)
		return;
	vbd_list_for_each (link, rows) {
		const struct vbd_row *row = VBD_CONTAINER_OF(link, const struct vbd_row, link);
		const struct vbd_desired desired = {vbd_row_text(row, 0), vbd_row_text(row, 1),
			vbd_row_text(row, 2), vbd_row_text(row, 3)};

		cb(&desired, arg);
	}
	vbd_rows_free(rows);
}

void vbd_keeper_report_row(
	struct vbd_daemon *daemon, const struct vbd_desired *row, const char *reason)
{
	log_store_event(daemon->keeper, VBD_EVENT_STORE_DAMAGED,
		"%.16s %.63s is not kept; the row stays until another one of the name is kept: %s",
		row->kind, row->name, reason);
	daemon->keeper->bad_rows++;
}

/* Put a statement; the keeper's watches are called when it is written. */
static uint64_t put_statement(struct vbd_keeper *keeper, enum vbd_promise promise, const char *sql,
	const struct vbd_value *values)
{
	uint64_t ticket = vbd_store_put(keeper->store, promise, sql, values);

	if (ticket != VBD_TICKET_NONE)
		keeper->newest_ticket = ticket;
	return ticket;
}

uint64_t vbd_keeper_put_answer(struct vbd_keeper *keeper, const struct vbd_answer *answer)
{
	if (!answer->status)
		return put_statement(keeper, VBD_PROMISE_TOLD, "DELETE FROM answers WHERE key = ?1",
			VBD_VALUES(vbd_value_text(answer->key)));
	return put_statement(keeper, VBD_PROMISE_FLUSHED,
		"INSERT OR REPLACE INTO answers"
		" (key, digest, begun_ns, status, code, content_type, headers, body, sum)"
		" VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,"
		" " VBD_SUM("?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8") ")",
		VBD_VALUES(vbd_value_text(answer->key),
			vbd_value_bytes(answer->print, sizeof(answer->print)),
			vbd_value_number(answer->begun_wall_ns), vbd_value_number(answer->status),
			vbd_value_text(answer->code), vbd_value_text(answer->content_type),
			vbd_value_text(answer->headers),
			vbd_value_bytes(answer->body, answer->body_bytes)));
}

uint64_t vbd_keeper_put_desired(struct vbd_keeper *keeper, const struct vbd_desired *row)
{
	return put_statement(keeper, VBD_PROMISE_KEPT,
		"INSERT OR REPLACE INTO desired (kind, name, owner, body, sum)"
		" VALUES (?1, ?2, ?3, ?4, " VBD_SUM("?1, ?2, ?3, ?4") ")",
		VBD_VALUES(vbd_value_text(row->kind), vbd_value_text(row->name),
			vbd_value_text(row->owner), vbd_value_text(row->body)));
}

uint64_t vbd_keeper_drop_desired(struct vbd_keeper *keeper, const char *name)
{
	return put_statement(keeper, VBD_PROMISE_KEPT, "DELETE FROM desired WHERE name = ?1",
		VBD_VALUES(vbd_value_text(name)));
}

uint64_t vbd_keeper_newest_ticket(const struct vbd_daemon *daemon)
{
	return daemon->keeper ? daemon->keeper->newest_ticket : VBD_TICKET_NONE;
}

bool vbd_keeper_has(const struct vbd_keeper *keeper, uint64_t ticket)
{
	return ticket != VBD_TICKET_NONE && keeper &&
	       ticket <= vbd_store_state(keeper->store).last_ticket;
}

bool vbd_keeper_will_have(const struct vbd_keeper *keeper, uint64_t ticket)
{
	struct vbd_store_state state;

	if (ticket == VBD_TICKET_NONE || !keeper)
		return false;
	state = vbd_store_state(keeper->store);
	return ticket > state.last_ticket && !state.failing;
}

bool vbd_keeper_has_room(const struct vbd_daemon *daemon)
{
	return vbd_store_has_room(daemon->keeper->store);
}

struct vbd_link *vbd_keeper_watches(struct vbd_keeper *keeper)
{
	return &keeper->watches;
}

const char *vbd_keeper_died(const struct vbd_daemon *daemon, size_t *ret_deaths)
{
	const struct vbd_keeper *keeper = daemon->keeper;

	*ret_deaths = keeper ? keeper->deaths : 0;
	return keeper && keeper->restored && keeper->past.died[0] ? keeper->past.died : NULL;
}

enum vbd_keeping vbd_keeper_check(
	const struct vbd_daemon *daemon, char *detail, size_t detail_bytes)
{
	struct vbd_store_state state;

	if (!daemon->keeper) {
		(void)snprintf(detail, detail_bytes,
			"there is no state_dir: events and records end with this run");
		return VBD_KEEPING_NOTHING;
	}
	state = vbd_store_state(daemon->keeper->store);
	(void)snprintf(detail, detail_bytes, "%s%s%s",
		state.failing ? state.text : "events and records outlive this run",
		state.losses ? "; something is lost: " : "", state.loss);
	if (daemon->keeper->bad_rows && !state.losses)
		(void)snprintf(detail + strlen(detail), detail_bytes - strlen(detail),
			"; %u kept objects can't be made", daemon->keeper->bad_rows);
	if (state.failing)
		return VBD_KEEPING_FAILING;
	return state.losses || daemon->keeper->bad_rows ? VBD_KEEPING_LESS : VBD_KEEPING_OK;
}

struct vbd_store_state vbd_keeper_state(const struct vbd_daemon *daemon)
{
	struct vbd_store_state state = {0};

	if (!daemon->keeper)
		return state;
	state = vbd_store_state(daemon->keeper->store);
	/* The recorder has not handed these to the store yet. */
	state.waiting += !vbd_list_empty(&daemon->unrecorded);
	return state;
}

void vbd_keeper_settle(const struct vbd_daemon *daemon, unsigned int timeout_ms)
{
	if (daemon->keeper)
		vbd_store_settle(daemon->keeper->store, timeout_ms);
}

void vbd_keeper_destroy(struct vbd_daemon *daemon)
{
	struct vbd_keeper *keeper = daemon->keeper;

	if (!keeper)
		return;
	vbd_recorder_destroy(daemon);
	daemon->keeper = NULL;
	vbd_watch_notify(&keeper->watches, true);
	vbd_watch_remove(&keeper->events);
	vbd_fd_watch_stop(keeper->news);
	vbd_timer_destroy(keeper->look);
	if (daemon->eventlog) {
		note_last_ids(keeper);
		vbd_run_put_stop(keeper->store);
	}
	if (!vbd_store_destroy(keeper->store, VBD_KEEPER_GRACE_MS)) {
		vbd_log(VBD_LOG_ERROR, NULL, "state_dir does not answer: the last state is lost");
		return;
	}
	vbd_past_fini(&keeper->past);
	free(keeper);
}
