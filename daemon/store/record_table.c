/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/record_table.h"

#include "base/clock.h"
#include "daemon/core/eventlog.h"
#include "daemon/store/database.h"
#include "daemon/store/pairs.h"
#include "daemon/store/store.h"
#include "daemon/store/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

struct record_item {
	struct vbd_store_item item; /* first */
	const char *kind;	    /* static strings */
	const char *state, *end_code;
	uint64_t id, created_wall_ns, ended_wall_ns;
	char name[VBD_NAME_BYTES], owner[VBD_NAME_BYTES];
	char *labels; /* in `texts` */
	char *body;   /* in `texts` */
	char texts[];
};

static const char *or_null(const char *text)
{
	return text && text[0] ? text : NULL;
}

static enum vbd_status write_record(
	const struct vbd_store_item *item, struct vbd_database *database, struct vbd_error *err)
{
	const struct record_item *record = (const struct record_item *)item;
	struct vbd_query query;

	vbd_query_begin(&query, database,
		"INSERT OR REPLACE INTO records (kind, id, run, name, labels, owner, state,"
		" end_code, created_ns, ended_ns, body)"
		" VALUES (?1, ?2, (SELECT max(id) FROM runs), ?3, ?4, ?5, ?6, ?7, ?8,"
		" nullif(?9, 0), ?10)");
	vbd_query_put_text(&query, record->kind);
	vbd_query_put_u64(&query, record->id);
	vbd_query_put_text(&query, or_null(record->name));
	vbd_query_put_text(&query, or_null(record->labels));
	vbd_query_put_text(&query, or_null(record->owner));
	vbd_query_put_text(&query, record->state);
	vbd_query_put_text(&query, record->end_code);
	vbd_query_put_u64(&query, record->created_wall_ns);
	vbd_query_put_u64(&query, record->ended_wall_ns);
	vbd_query_put_text(&query, record->body);
	return vbd_query_run(&query, err);
}

static void fill_item(struct record_item *item, const struct vbd_object *object)
{
	const struct vbd_registry *registry = object->registry;

	item->item.write = write_record;
	item->kind = registry->singular;
	item->state = registry->kind->state(object);
	item->end_code = object->end_code;
	item->id = object->id;
	item->created_wall_ns = vbd_clock_wall_of_ns(object->created_ns);
	if (object->ended)
		item->ended_wall_ns = vbd_clock_wall_of_ns(object->ended_ns);
	memcpy(item->name, object->name, sizeof(item->name));
	if (object->owner)
		memcpy(item->owner, object->owner->name, sizeof(item->owner));
}

bool vbd_record_put(struct vbd_store *store, const struct vbd_object *object, const char *body,
	size_t body_bytes)
{
	char labels[VBD_PAIRS_BYTES];
	struct record_item *item;
	size_t labels_bytes;

	vbd_pairs_of_labels(object->labels, labels);
	labels_bytes = strlen(labels) + 1;
	item = calloc(1, sizeof(*item) + labels_bytes + body_bytes + 1);
	if (!item)
		return false;
	item->item.bytes = sizeof(*item) + labels_bytes + body_bytes + 1;
	item->labels = item->texts;
	item->body = item->texts + labels_bytes;
	memcpy(item->labels, labels, labels_bytes);
	memcpy(item->body, body, body_bytes);
	fill_item(item, object);
	vbd_store_put(store, &item->item);
	return true;
}

struct gone_item {
	struct vbd_store_item item; /* first */
	const char *kind;
	uint64_t id;
};

static enum vbd_status write_gone(
	const struct vbd_store_item *item, struct vbd_database *database, struct vbd_error *err)
{
	const struct gone_item *gone = (const struct gone_item *)item;
	struct vbd_query query;

	vbd_query_begin(&query, database, "DELETE FROM records WHERE kind = ?1 AND id = ?2");
	vbd_query_put_text(&query, gone->kind);
	vbd_query_put_u64(&query, gone->id);
	return vbd_query_run(&query, err);
}

void vbd_record_put_gone(struct vbd_store *store, enum vbd_object_kind kind, uint64_t id)
{
	struct gone_item *item = calloc(1, sizeof(*item));

	if (!item)
		return;
	item->item.bytes = sizeof(*item);
	item->item.write = write_gone;
	item->kind = vbd_object_kind_name(kind);
	item->id = id;
	vbd_store_put(store, &item->item);
}

struct moved_item {
	struct vbd_store_item item; /* first */
	const char *kind;
	uint64_t id, new_id;
};

/* In one statement, so that a daemon which is killed leaves the row under one of its ids. */
static enum vbd_status write_moved(
	const struct vbd_store_item *item, struct vbd_database *database, struct vbd_error *err)
{
	const struct moved_item *moved = (const struct moved_item *)item;
	struct vbd_query query;

	vbd_query_begin(&query, database,
		"UPDATE OR REPLACE records SET id = ?3,"
		" body = iif(json_valid(body), json_set(body, '$.id', ?3), body)"
		" WHERE kind = ?1 AND id = ?2");
	vbd_query_put_text(&query, moved->kind);
	vbd_query_put_u64(&query, moved->id);
	vbd_query_put_u64(&query, moved->new_id);
	return vbd_query_run(&query, err);
}

void vbd_record_put_moved(
	struct vbd_store *store, enum vbd_object_kind kind, uint64_t id, uint64_t new_id)
{
	struct moved_item *item = calloc(1, sizeof(*item));

	if (!item)
		return;
	item->item.bytes = sizeof(*item);
	item->item.write = write_moved;
	item->kind = vbd_object_kind_name(kind);
	item->id = id;
	item->new_id = new_id;
	vbd_store_put(store, &item->item);
}

struct deaths_item {
	struct vbd_store_item item; /* first */
	uint64_t died_wall_ns;
};

static enum vbd_status write_deaths(
	const struct vbd_store_item *item, struct vbd_database *database, struct vbd_error *err)
{
	struct vbd_query query;

	vbd_query_begin(&query, database,
		"UPDATE records SET state = ?1, end_code = ?2, ended_ns = max(created_ns, ?3)"
		" WHERE ended_ns IS NULL AND run < (SELECT max(id) FROM runs)");
	vbd_query_put_text(&query, DIED_STATE);
	vbd_query_put_text(&query, died_code());
	vbd_query_put_u64(&query, ((const struct deaths_item *)item)->died_wall_ns);
	return vbd_query_run(&query, err);
}

void vbd_record_put_deaths(struct vbd_store *store, uint64_t died_wall_ns)
{
	struct deaths_item *item = calloc(1, sizeof(*item));

	if (!item)
		return;
	item->item.bytes = sizeof(*item);
	item->item.write = write_deaths;
	item->died_wall_ns = died_wall_ns;
	vbd_store_put(store, &item->item);
}

/* --- the bounds ------------------------------------------------------------------------------ */

static enum vbd_status trim_kind(struct vbd_database *database, enum vbd_object_kind kind,
	uint64_t max, struct vbd_error *err)
{
	struct vbd_query query;

	vbd_query_begin(&query, database,
		"DELETE FROM records WHERE kind = ?1 AND ended_ns IS NOT NULL AND id <="
		" (SELECT id FROM records WHERE kind = ?1 AND ended_ns IS NOT NULL"
		" ORDER BY id DESC LIMIT 1 OFFSET ?2)");
	vbd_query_put_text(&query, vbd_object_kind_name(kind));
	vbd_query_put_u64(&query, max);
	return vbd_query_run(&query, err);
}

enum vbd_status vbd_record_table_trim(struct vbd_database *database,
	const struct vbd_record_limits *limits, struct vbd_error *err)
{
	enum vbd_status status = VBD_OK;

	for (unsigned int i = VBD_KIND_DEVICE + 1; i < VBD_KIND_COUNT && status == VBD_OK; i++) {
		if (limits->max[i] != VBD_KEPT_WITHIN)
			status = trim_kind(database, (enum vbd_object_kind)i, limits->max[i], err);
	}
	return status;
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
	row->run = vbd_query_get_u64(query, 1);
	copy_text(record->name, sizeof(record->name), query, 2);
	row->labels = vbd_words_get(words, vbd_query_get_text(query, 3));
	row->owner = vbd_words_get(words, vbd_query_get_text(query, 4));
	copy_text(record->state, sizeof(record->state), query, 5);
	copy_text(record->end_code, sizeof(record->end_code), query, 6);
	record->created_wall_ns = vbd_query_get_u64(query, 7);
	record->ended_wall_ns = vbd_query_get_u64(query, 9);
	return row->labels && row->owner;
}

struct rows {
	struct vbd_record_row *rows;
	size_t count, room;
};

static struct vbd_record_row *add_row(struct rows *rows)
{
	size_t room = rows->room ? 2 * rows->room : 64;
	struct vbd_record_row *grown = rows->rows;

	if (rows->count == rows->room) {
		grown = reallocarray(rows->rows, room, sizeof(*grown));
		if (!grown)
			return NULL;
		rows->rows = grown;
		rows->room = room;
	}
	grown[rows->count] = (struct vbd_record_row){0};
	return &grown[rows->count++];
}

static enum vbd_status load_kind(struct vbd_database *database, enum vbd_object_kind kind,
	uint64_t max, struct vbd_words *words, struct rows *rows, struct vbd_error *err)
{
	struct vbd_query query;
	bool has_memory = true;
	enum vbd_status status;

	vbd_query_begin(&query, database,
		"SELECT * FROM (SELECT id, run, name, labels, owner, state, end_code, created_ns,"
		" body, ended_ns FROM records WHERE kind = ?1 ORDER BY id DESC LIMIT ?2)"
		" ORDER BY id");
	vbd_query_put_text(&query, vbd_object_kind_name(kind));
	vbd_query_put_u64(&query, max);
	while (has_memory && vbd_query_row(&query)) {
		struct vbd_record_row *row = add_row(rows);

		if (row)
			row->kind = kind;
		has_memory = row && read_row(&query, row, words);
		if (has_memory && vbd_query_is_bad(&query, !row->record->id)) {
			vbd_record_free(row->record);
			rows->count--;
		}
	}
	status = vbd_query_end(&query, err);
	if (status == VBD_OK && !has_memory)
		status = vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for earlier records");
	return status;
}

enum vbd_status vbd_record_table_load(struct vbd_database *database,
	const struct vbd_record_limits *limits, struct vbd_words *words,
	struct vbd_record_row **ret_rows, size_t *ret_count, struct vbd_error *err)
{
	struct rows rows = {0};
	enum vbd_status status = VBD_OK;

	for (unsigned int i = VBD_KIND_DEVICE + 1; i < VBD_KIND_COUNT && status == VBD_OK; i++) {
		if (limits->max[i] != VBD_KEPT_WITHIN)
			status = load_kind(database, (enum vbd_object_kind)i, limits->max[i], words,
				&rows, err);
	}
	if (status != VBD_OK) {
		vbd_record_rows_free(rows.rows, rows.count);
		return status;
	}
	*ret_rows = rows.rows;
	*ret_count = rows.count;
	return VBD_OK;
}

void vbd_record_rows_free(struct vbd_record_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		vbd_record_free(rows[i].record);
	free(rows);
}
