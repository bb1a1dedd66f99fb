/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deletes the oldest rows of the tables that the configuration bounds.
 *
 * The store's thread; may block on the disk.
 */
#ifndef VBD_DAEMON_STORE_TRIM_H
#define VBD_DAEMON_STORE_TRIM_H

#include "base/attr.h"
#include "base/error.h"
#include "daemon/store/record_table.h"

struct vbd_database;

#define VBD_TRIM_TABLES 4

struct vbd_trim {
	uint64_t events_max, audit_max; /* rows */
	struct vbd_record_limits records;
	uint64_t trimmed[VBD_TRIM_TABLES]; /* the newest row of each when it was trimmed last */
};

/** vbd_trim_run - trim the tables that have grown enough since; in a transaction */
enum vbd_status vbd_trim_run(
	struct vbd_trim *trim, struct vbd_database *database, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_trim_events - delete all but the newest @max events, and the runs that no row is of */
enum vbd_status vbd_trim_events(
	struct vbd_database *database, uint64_t max, struct vbd_error *err) VBD_MUST_CHECK;

#endif
