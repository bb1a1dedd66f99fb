/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table `runs`: a row for each run of the daemon. A run without an end is the present one, or
 * was killed.
 */
#ifndef VBD_DAEMON_STORE_RUN_TABLE_H
#define VBD_DAEMON_STORE_RUN_TABLE_H

#include "base/attr.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vbd_database;
struct vbd_store;

struct vbd_run_row {
	uint64_t id;
	char server_id[17];
	bool stopped; /* on its own accord */
};

/** vbd_run_table_load - all rows, the oldest first; the caller frees them; the store's thread */
enum vbd_status vbd_run_table_load(struct vbd_database *database, struct vbd_run_row **ret_rows,
	size_t *ret_count, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_run_table_begin - add the row of this run, unless it is there; the store's thread */
enum vbd_status vbd_run_table_begin(struct vbd_database *database, const char *server_id,
	uint64_t started_wall_ns, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_run_table_trim - delete the runs that no event is of; the store's thread */
enum vbd_status vbd_run_table_trim(
	struct vbd_database *database, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_run_put_stop - this run ends on its own accord; the control thread */
void vbd_run_put_stop(struct vbd_store *store);

#endif
