/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/audit_table.h"

#include "base/clock.h"
#include "daemon/store/database.h"
#include "daemon/store/store.h"

#include <stdlib.h>
#include <string.h>

struct line_item {
	struct vbd_store_item item; /* first */
	uint64_t at_wall_ns;
	char line[];
};

static enum vbd_status write_line(
	const struct vbd_store_item *item, struct vbd_database *database, struct vbd_error *err)
{
	const struct line_item *line = (const struct line_item *)item;
	struct vbd_query query;

	vbd_query_begin(&query, database, "INSERT INTO audit (at_ns, line) VALUES (?1, ?2)");
	vbd_query_put_u64(&query, line->at_wall_ns);
	vbd_query_put_text(&query, line->line);
	return vbd_query_run(&query, err);
}

void vbd_audit_row_put(struct vbd_store *store, const char *line, size_t len_bytes)
{
	struct line_item *item = calloc(1, sizeof(*item) + len_bytes + 1);

	if (!item)
		return;
	item->item.bytes = sizeof(*item) + len_bytes + 1;
	item->item.write = write_line;
	item->at_wall_ns = vbd_clock_wall_of_ns(vbd_clock_mono_ns());
	memcpy(item->line, line, len_bytes);
	if (len_bytes && line[len_bytes - 1] == '\n')
		item->line[len_bytes - 1] = '\0';
	vbd_store_put(store, &item->item);
}

enum vbd_status vbd_audit_table_trim(
	struct vbd_database *database, uint64_t max, struct vbd_error *err)
{
	struct vbd_query query;

	vbd_query_begin(&query, database,
		"DELETE FROM audit WHERE id <="
		" (SELECT id FROM audit ORDER BY id DESC LIMIT 1 OFFSET ?1)");
	vbd_query_put_u64(&query, max);
	return vbd_query_run(&query, err);
}
