/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schema of the database: docs/state.md describes its tables. Each version is a step that is
 * applied once; PRAGMA user_version is the number of steps that a file has.
 *
 * The store's thread only; each function may block on the disk.
 */
#ifndef VBD_DAEMON_STORE_SCHEMA_H
#define VBD_DAEMON_STORE_SCHEMA_H

#include "base/attr.h"
#include "base/error.h"

struct vbd_database;

/** vbd_schema_newest - the version that this program writes */
unsigned int vbd_schema_newest(void);

/** vbd_schema_prepare - begin to use a database: apply the steps that it lacks, in one transaction;
 * a file of a newer version, and a database of another program, are refused and not written to */
enum vbd_status vbd_schema_prepare(
	struct vbd_database *database, struct vbd_error *err) VBD_MUST_CHECK;

#endif
