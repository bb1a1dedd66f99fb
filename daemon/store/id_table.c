/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/id_table.h"

#include "daemon/core/eventlog.h"
#include "daemon/store/database.h"
#include "daemon/store/store.h"

#include <stdlib.h>
#include <string.h>

static const char event_kind[] = "event";

static const char *name_of(enum vbd_object_kind kind)
{
	return kind == VBD_KIND_NONE ? event_kind : vbd_object_kind_name(kind);
}

/* A kind of a later version has no place, and its row stays as it is. */
enum vbd_status vbd_id_table_load(
	struct vbd_database *database, uint64_t ret_ids[VBD_KIND_COUNT], struct vbd_error *err)
{
	struct vbd_query query;

	memset(ret_ids, 0, VBD_KIND_COUNT * sizeof(*ret_ids));
	vbd_query_begin(&query, database, "SELECT kind, last FROM ids");
	while (vbd_query_row(&query)) {
		enum vbd_object_kind kind = VBD_KIND_NONE;
		const char *name = vbd_query_get_text(&query, 0);
		uint64_t last = vbd_query_get_u64(&query, 1);

		if (!vbd_query_is_bad(&query, false) &&
			(strcmp(name, event_kind) == 0 || vbd_object_kind_parse(name, &kind)))
			ret_ids[kind] = last;
	}
	return vbd_query_end(&query, err);
}

struct id_item {
	struct vbd_store_item item; /* first */
	enum vbd_object_kind kind;
	uint64_t last;
};

static enum vbd_status insert(struct vbd_database *database, const char *sql,
	enum vbd_object_kind kind, uint64_t last, struct vbd_error *err)
{
	struct vbd_query query;

	vbd_query_begin(&query, database, sql);
	vbd_query_put_text(&query, name_of(kind));
	vbd_query_put_u64(&query, last);
	return vbd_query_run(&query, err);
}

static enum vbd_status write_id(
	const struct vbd_store_item *item, struct vbd_database *database, struct vbd_error *err)
{
	const struct id_item *id = (const struct id_item *)item;

	return insert(database,
		"INSERT INTO ids (kind, last) VALUES (?1, ?2)"
		" ON CONFLICT (kind) DO UPDATE SET last = excluded.last",
		id->kind, id->last, err);
}

enum vbd_status vbd_id_table_raise(struct vbd_database *database, enum vbd_object_kind kind,
	uint64_t last, struct vbd_error *err)
{
	return insert(database,
		"INSERT INTO ids (kind, last) VALUES (?1, ?2)"
		" ON CONFLICT (kind) DO UPDATE SET last = max(excluded.last,"
		" iif(last BETWEEN 0 AND 4611686018427387904, last, 0))",
		kind, last, err);
}

bool vbd_id_put(struct vbd_store *store, enum vbd_object_kind kind, uint64_t last)
{
	struct id_item *id = calloc(1, sizeof(*id));

	if (!id)
		return false;
	id->item.bytes = sizeof(*id);
	id->item.write = write_id;
	id->item.promise = true;
	id->kind = kind;
	id->last = last;
	return vbd_store_put(store, &id->item) != VBD_TICKET_NONE;
}
