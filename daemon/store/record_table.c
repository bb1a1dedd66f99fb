/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/tables.h"

#include "base/clock.h"
#include "base/text.h"
#include "daemon/core/object.h"
#include "daemon/core/record.h"
#include "daemon/store/database.h"
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
	record->state = DIED_STATE;
	record->end_code = died_code();
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

struct vbd_record *vbd_record_restore(struct vbd_row *row, struct vbd_daemon *daemon)
{
	/* Columns are numbered as in the query of vbd_record_table_load(). */
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
	/* Without its owner it would show to whom it is not for. */
	if ((record->object.owner || !owner[0]) && vbd_record_add(record))
		return record;
	vbd_record_free(record);
	return NULL;
}

/* Rows of every kind are looked at, since the damage may be in the kind. */
static bool count_damaged(struct vbd_query *query, void *arg)
{
	(void)arg;
	(void)vbd_query_is_bad(query, true);
	return true;
}

enum vbd_status vbd_record_table_load(struct vbd_database *database,
	const uint64_t max[VBD_KIND_COUNT], struct vbd_link *rows, struct vbd_error *err)
{
	enum vbd_status status = vbd_database_read(database,
		"SELECT id FROM records NOT INDEXED WHERE sum IS NOT " VBD_RECORD_SUM, NULL,
		count_damaged, NULL, err);

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
			vbd_query_keep, rows, err);
	}
	return status;
}
