/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/desired_table.h"

#include "base/list.h"
#include "daemon/store/database.h"
#include "daemon/store/store.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A row with its texts behind it, in one allocation. */
struct desired_item {
	/* first; the link also leads to the next of struct vbd_desired_rows */
	struct vbd_store_item item;
	struct vbd_desired row;
	char texts[];
};

struct vbd_desired_rows {
	struct vbd_link items;
};

static char *append(char *at, const char *text, const char **ret_copy)
{
	size_t bytes = strlen(text) + 1;

	memcpy(at, text, bytes);
	*ret_copy = at;
	return at + bytes;
}

/* NULL without memory. */
static struct desired_item *copy_row(const struct vbd_desired *row)
{
	size_t bytes = sizeof(struct desired_item) + strlen(row->kind) + strlen(row->name) +
		       strlen(row->owner) + strlen(row->body) + 4;
	struct desired_item *item = calloc(1, bytes);
	char *at;

	if (!item)
		return NULL;
	item->item.bytes = bytes;
	item->item.promise = true;
	at = append(item->texts, row->kind, &item->row.kind);
	at = append(at, row->name, &item->row.name);
	at = append(at, row->owner, &item->row.owner);
	(void)append(at, row->body, &item->row.body);
	return item;
}

/* --- writing --------------------------------------------------------------------------------- */

static enum vbd_status write_row(
	const struct vbd_store_item *item, struct vbd_database *database, struct vbd_error *err)
{
	const struct vbd_desired *row = &((const struct desired_item *)item)->row;
	struct vbd_query query;

	vbd_query_begin(&query, database,
		"INSERT OR REPLACE INTO desired (name, kind, owner, body)"
		" VALUES (?1, ?2, ?3, ?4)");
	vbd_query_put_text(&query, row->name);
	vbd_query_put_text(&query, row->kind);
	vbd_query_put_text(&query, row->owner);
	vbd_query_put_text(&query, row->body);
	return vbd_query_run(&query, err);
}

static enum vbd_status delete_row(
	const struct vbd_store_item *item, struct vbd_database *database, struct vbd_error *err)
{
	struct vbd_query query;

	vbd_query_begin(&query, database, "DELETE FROM desired WHERE name = ?1");
	vbd_query_put_text(&query, ((const struct desired_item *)item)->row.name);
	return vbd_query_run(&query, err);
}

uint64_t vbd_desired_put(struct vbd_store *store, const struct vbd_desired *row)
{
	struct desired_item *item = copy_row(row);

	if (!item)
		return VBD_TICKET_NONE;
	item->item.write = write_row;
	return vbd_store_put(store, &item->item);
}

uint64_t vbd_desired_drop(struct vbd_store *store, const char *name)
{
	struct desired_item *item = copy_row(
		&(const struct vbd_desired){.kind = "", .name = name, .owner = "", .body = ""});

	if (!item)
		return VBD_TICKET_NONE;
	item->item.write = delete_row;
	return vbd_store_put(store, &item->item);
}

/* --- reading --------------------------------------------------------------------------------- */

enum vbd_status vbd_desired_table_load(
	struct vbd_database *database, struct vbd_desired_rows **ret_rows, struct vbd_error *err)
{
	struct vbd_desired_rows *rows = calloc(1, sizeof(*rows));
	bool has_memory = rows != NULL;
	struct vbd_query query;
	enum vbd_status status;

	if (!rows)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for what is kept");
	vbd_list_init(&rows->items);
	vbd_query_begin(
		&query, database, "SELECT kind, name, owner, body FROM desired ORDER BY rowid");
	while (has_memory && vbd_query_row(&query)) {
		const struct vbd_desired row = {.kind = vbd_query_get_text(&query, 0),
			.name = vbd_query_get_text(&query, 1),
			.owner = vbd_query_get_text(&query, 2),
			.body = vbd_query_get_text(&query, 3)};
		bool bad = vbd_query_is_bad(&query, !row.kind[0] || !row.name[0] || !row.body[0]);
		struct desired_item *item = bad ? NULL : copy_row(&row);

		if (bad)
			continue;
		has_memory = item != NULL;
		if (item)
			vbd_list_append(&rows->items, &item->item.link);
	}
	status = vbd_query_end(&query, err);
	if (status == VBD_OK && !has_memory)
		status = vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for what is kept");
	if (status == VBD_OK)
		*ret_rows = rows;
	else
		vbd_desired_free(rows);
	return status;
}

void vbd_desired_walk(const struct vbd_desired_rows *rows,
	void (*cb)(const struct vbd_desired *row, void *arg), void *arg)
{
	if (!rows)
		return;
	vbd_list_for_each (link, &rows->items)
		cb(&VBD_CONTAINER_OF(link, const struct desired_item, item.link)->row, arg);
}

void vbd_desired_free(struct vbd_desired_rows *rows)
{
	if (!rows)
		return;
	vbd_list_for_each (link, &rows->items)
		free(VBD_CONTAINER_OF(link, struct desired_item, item.link));
	free(rows);
}
