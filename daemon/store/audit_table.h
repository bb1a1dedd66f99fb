/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table `audit`: who did what to which object, as audit_file has it, without what moves data.
 */
#ifndef VBD_DAEMON_STORE_AUDIT_TABLE_H
#define VBD_DAEMON_STORE_AUDIT_TABLE_H

#include "base/attr.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct vbd_database;
struct vbd_store;

/** vbd_audit_row_put - keep a line of JSON, which is copied; a newline at its end is left out; the
 * control thread */
void vbd_audit_row_put(struct vbd_store *store, const char *line, size_t len_bytes);

/** vbd_audit_table_trim - delete all but the newest @max lines; the store's thread */
enum vbd_status vbd_audit_table_trim(
	struct vbd_database *database, uint64_t max, struct vbd_error *err) VBD_MUST_CHECK;

#endif
