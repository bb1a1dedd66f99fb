/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/record_table.h"

#include "base/clock.h"
#include "daemon/core/eventlog.h"
#include "daemon/store/database.h"
#include "daemon/store/tables.h"
#include "daemon/store/store.h"

#define DIED_STATE "failed"

static const char *died_code(void)
{
	return vbd_status_code(VBD_E_DAEMON_DIED);
}

void vbd_record_die(struct vbd_record *record, uint64_t died_wall_ns)
{
	record->ended_wall_ns =
		died_wall_ns > record->created_wall_ns ? died_wall_ns : record->created_wall_ns;
	(void)snprintf(record->state, sizeof(record->state), "%s", DIED_STATE);
	(void)snprintf(record->end_code, sizeof(record->end_code), "%s", died_code());
}

/* --- writing --------------------------------------------------------------------------------- */

#define NEW_SUM                                                                              \
	VBD_SUM("?1, ?2, (SELECT server_id FROM runs ORDER BY id DESC LIMIT 1), ?3, ?4, ?5," \
		" ?6, ?7, ?8, nullif(?9, 0), ?10")

bool vbd_record_put(struct vbd_store *store, const struct vbd_object *object, const char *body)
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
			       vbd_value_word(object->name), vbd_value_word(labels),
			       vbd_value_word(object->owner ? object->owner->name : NULL),
			       vbd_value_text(registry->kind->state(object)),
			       vbd_value_text(object->end_code),
			       vbd_value_number(vbd_clock_wall_of_ns(object->created_ns)),
			       vbd_value_number(
				       object->ended ? vbd_clock_wall_of_ns(object->ended_ns) : 0),
			       vbd_value_text(body))) != VBD_TICKET_NONE;
}

void vbd_record_put_gone(struct vbd_store *store, enum vbd_object_kind kind, uint64_t id)
{
	(void)vbd_store_put(store, VBD_PROMISE_NOTHING,
		"DELETE FROM records WHERE kind = ?1 AND id = ?2",
		VBD_VALUES(vbd_value_text(vbd_object_kind_name(kind)), vbd_value_number(id)));
}

#define MOVED_BODY "iif(json_valid(body), json_set(body, '$.id', ?3), body)"
#define MOVED_SUM  VBD_RECORD_SUM_OF("?3", "state", "end_code", "ended_ns", MOVED_BODY)

/* In one statement, so that a daemon which is killed leaves the row under one of its ids. */
void vbd_record_put_moved(
	struct vbd_store *store, enum vbd_object_kind kind, uint64_t id, uint64_t new_id)
{
	(void)vbd_store_put(store, VBD_PROMISE_NOTHING,
		"UPDATE OR REPLACE records SET id = ?3, body = " MOVED_BODY ", sum = " MOVED_SUM
		" WHERE kind = ?1 AND id = ?2",
		VBD_VALUES(vbd_value_text(vbd_object_kind_name(kind)), vbd_value_number(id),
			vbd_value_number(new_id)));
}

#define DEAD_SUM VBD_RECORD_SUM_OF("id", "?1", "?2", "max(created_ns, ?3)", "body")

void vbd_record_put_deaths(struct vbd_store *store, uint64_t died_wall_ns)
{
	(void)vbd_store_put(store, VBD_PROMISE_NOTHING,
		"UPDATE records SET state = ?1, end_code = ?2, ended_ns = max(created_ns, ?3),"
		" sum = " DEAD_SUM " WHERE ended_ns IS NULL"
		" AND run < (SELECT max(id) FROM runs) AND sum = " VBD_RECORD_SUM,
		VBD_VALUES(vbd_value_text(DIED_STATE), vbd_value_text(died_code()),
			vbd_value_number(died_wall_ns)));
}

/* --- reading --------------------------------------------------------------------------------- */

static void copy_text(char *ret_text, size_t room, const struct vbd_query *query, int column)
{
	(void)snprintf(ret_text, room, "%s", vbd_query_get_text(query, column));
}

/* False without memory. */
static bool read_row(struct vbd_query *query, struct vbd_record_row *row, struct vbd_words *words)
{
	size_t body_bytes;
	const void *body = vbd_query_get_bytes(query, 8, &body_bytes);
	struct vbd_record *record = calloc(1, sizeof(*record) + body_bytes + 1);

	if (!record)
		return false;
	row->record = record;
	if (body_bytes)
		memcpy(record->body, body, body_bytes);
	record->body_bytes = body_bytes;
	record->id = vbd_query_get_u64(query, 0);
	copy_text(record->server_id, sizeof(record->server_id), query, 1);
	copy_text(record->name, sizeof(record->name), query, 2);
	row->labels = vbd_words_get(words, vbd_query_get_text(query, 3));
	row->owner = vbd_words_get(words, vbd_query_get_text(query, 4));
	copy_text(record->state, sizeof(record->state), query, 5);
	copy_text(record->end_code, sizeof(record->end_code), query, 6);
	record->created_wall_ns = vbd_query_get_u64(query, 7);
	record->ended_wall_ns = vbd_query_get_u64(query, 9);
	return row->labels && row->owner;
}

struct records {
	struct vbd_words *words;
	enum vbd_object_kind kind;
	struct vbd_record_row **rows;
	size_t *count;
};

static bool take_record(struct vbd_query *query, void *arg)
{
	const struct records *records = arg;
	struct vbd_record_row *rows =
		vbd_query_grow(*records->rows, *records->count, sizeof(*rows));

	if (!rows)
		return false;
	*records->rows = rows;
	rows += (*records->count)++;
	rows->kind = records->kind;
	if (!read_row(query, rows, records->words))
		return false;
	if (vbd_query_is_bad(query, false)) {
		vbd_record_free(rows->record);
		(*records->count)--;
	}
	return true;
}

/* Rows of every kind are looked at, since the damage may be in the kind. */
static bool count_damaged(struct vbd_query *query, void *arg)
{
	(void)arg;
	(void)vbd_query_is_bad(query, true);
	return true;
}

enum vbd_status vbd_record_table_load(struct vbd_database *database,
	const struct vbd_record_limits *limits, struct vbd_words *words,
	struct vbd_record_row **rows, size_t *count, struct vbd_error *err)
{
	struct records records = {words, VBD_KIND_DEVICE + 1, rows, count};
	enum vbd_status status = vbd_database_read(database,
		"SELECT id FROM records NOT INDEXED WHERE sum IS NOT " VBD_RECORD_SUM, NULL,
		count_damaged, NULL, err);

	for (; records.kind < VBD_KIND_COUNT && status == VBD_OK; records.kind++) {
		if (limits->max[records.kind] == VBD_KEPT_WITHIN)
			continue;
		status = vbd_database_read(database,
			"SELECT * FROM (SELECT id,"
			" " VBD_RUN_OF_ROW ", name, labels, owner, state, end_code, created_ns,"
			" body, ended_ns FROM records NOT INDEXED WHERE kind = ?1"
			" AND sum IS " VBD_RECORD_SUM " ORDER BY id DESC LIMIT ?2) ORDER BY id",
			VBD_VALUES(vbd_value_text(vbd_object_kind_name(records.kind)),
				vbd_value_number(limits->max[records.kind])),
			take_record, &records, err);
	}
	return status;
}

void vbd_record_rows_free(struct vbd_record_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		vbd_record_free(rows[i].record);
	free(rows);
}
