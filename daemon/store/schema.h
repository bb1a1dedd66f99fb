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
struct vbd_store_mark;

/* SQL: the sum of a row, by its columns. */
#define VBD_ANSWER_SUM	VBD_SUM("key, digest, begun_ns, status, code, content_type, headers, body")
#define VBD_DESIRED_SUM VBD_SUM("kind, name, owner, body")
#define VBD_RUN_OF_ROW	"(SELECT server_id FROM runs WHERE runs.id = run)"
#define VBD_EVENT_SUM                                                                            \
	VBD_SUM("seq, " VBD_RUN_OF_ROW ", at_ns, type, severity, kind, object_id, name, labels," \
		" owner, data, port_num, detail")
#define VBD_RECORD_SUM VBD_RECORD_SUM_OF("id", "state", "end_code", "ended_ns", "body")
#define VBD_RECORD_SUM_OF(id, state, end_code, ended_ns, body)                                     \
	VBD_SUM("kind, " id ", " VBD_RUN_OF_ROW ", name, labels, owner, " state ", " end_code ", " \
		"created_ns, " ended_ns ", " body)

/* SQL: the sum of all ids, and of the numbers of rows of promises: it tells rows that are gone, and
 * pages of different times. */
#define VBD_IDS_SUM                                                                 \
	VBD_SUM("(SELECT group_concat(kind || last) FROM ids WHERE kind <> 'sum')," \
		" (SELECT count(*) FROM desired), (SELECT count(*) FROM answers)")

/** vbd_schema_newest - the version that this program writes */
unsigned int vbd_schema_newest(void);

/** vbd_schema_prepare - begin to use a database: apply the steps that it lacks, in one transaction;
 * a file of a newer version, and a database of another program, are refused and not written to */
enum vbd_status vbd_schema_prepare(
	struct vbd_database *database, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_schema_read_numbers - the numbers that the mark has too: the highest id is that of any
 * kind, and a number that is missing is 0 */
enum vbd_status vbd_schema_read_numbers(struct vbd_database *database,
	struct vbd_store_mark *ret_numbers, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_schema_write_numbers - write transactions and stamp of @numbers, and then the sum of all
 * ids */
enum vbd_status vbd_schema_write_numbers(struct vbd_database *database,
	const struct vbd_store_mark *numbers, struct vbd_error *err) VBD_MUST_CHECK;

#endif
