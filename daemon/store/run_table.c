/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/run_table.h"

#include "base/clock.h"
#include "daemon/store/database.h"
#include "daemon/store/store.h"

#include <stdio.h>
#include <stdlib.h>

enum vbd_status vbd_run_table_load(struct vbd_database *database, struct vbd_run_row **ret_rows,
	size_t *ret_count, struct vbd_error *err)
{
	struct vbd_run_row *rows = NULL;
	struct vbd_query query;
	size_t count = 0;
	uint64_t room = 0;
	enum vbd_status status =
		vbd_database_number(database, "SELECT count(*) FROM runs", &room, err);

	if (status != VBD_OK)
		return status;
	rows = calloc(room + 1, sizeof(*rows));
	if (!rows)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the earlier runs");
	vbd_query_begin(&query, database,
		"SELECT id, server_id, stopped_ns IS NOT NULL FROM runs ORDER BY id");
	while (count < room && vbd_query_row(&query)) {
		struct vbd_run_row *row = &rows[count++];

		row->id = vbd_query_get_u64(&query, 0);
		(void)snprintf(row->server_id, sizeof(row->server_id), "%s",
			vbd_query_get_text(&query, 1));
		row->stopped = vbd_query_get_u64(&query, 2);
		count -= vbd_query_is_bad(&query, false);
	}
	status = vbd_query_end(&query, err);
	if (status != VBD_OK) {
		free(rows);
		return status;
	}
	*ret_rows = rows;
	*ret_count = count;
	return VBD_OK;
}

enum vbd_status vbd_run_table_begin(struct vbd_database *database, const char *server_id,
	uint64_t started_wall_ns, struct vbd_error *err)
{
	struct vbd_query query;

	vbd_query_begin(&query, database,
		"INSERT OR IGNORE INTO runs (server_id, version, started_ns)"
		" VALUES (?1, ?2, ?3)");
	vbd_query_put_text(&query, server_id);
	vbd_query_put_text(&query, VBD_VERSION);
	vbd_query_put_u64(&query, started_wall_ns);
	return vbd_query_run(&query, err);
}

enum vbd_status vbd_run_table_trim(struct vbd_database *database, struct vbd_error *err)
{
	struct vbd_query query;

	vbd_query_begin(&query, database,
		"DELETE FROM runs WHERE id < (SELECT min(run) FROM events)"
		" AND id < coalesce((SELECT min(run) FROM records), id + 1)"
		" AND id < (SELECT max(id) FROM runs)");
	return vbd_query_run(&query, err);
}

struct stop_item {
	struct vbd_store_item item; /* first */
	uint64_t wall_ns;
};

static enum vbd_status write_stop(
	const struct vbd_store_item *item, struct vbd_database *database, struct vbd_error *err)
{
	struct vbd_query query;

	vbd_query_begin(&query, database,
		"UPDATE runs SET stopped_ns = ?1 WHERE id = (SELECT max(id) FROM runs)");
	vbd_query_put_u64(&query, ((const struct stop_item *)item)->wall_ns);
	return vbd_query_run(&query, err);
}

void vbd_run_put_stop(struct vbd_store *store)
{
	struct stop_item *stop = calloc(1, sizeof(*stop));

	if (!stop)
		return;
	stop->item.bytes = sizeof(*stop);
	stop->item.write = write_stop;
	stop->wall_ns = vbd_clock_wall_of_ns(vbd_clock_mono_ns());
	vbd_store_put(store, &stop->item);
}
