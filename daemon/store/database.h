/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A database of SQLite: opened with its schema, written in transactions, read by queries.
 *
 * The store's thread only; each function may block on the disk.
 */
#ifndef VBD_DAEMON_STORE_DATABASE_H
#define VBD_DAEMON_STORE_DATABASE_H

#include "base/attr.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sqlite3_stmt;
struct vbd_database;

/**
 * vbd_database_open - open a file, which is there, and check its structure; nothing is written
 * @path:         a regular file; an empty one is an empty database
 * @ret_database: set in any case, for vbd_database_is_damaged() and vbd_database_close(); NULL
 *                without memory
 */
enum vbd_status vbd_database_open(
	const char *path, struct vbd_database **ret_database, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_database_begin_use - choose how the file is written from now on: with a log (WAL), so that
 * others read it meanwhile. A killed daemon loses nothing that is committed, a host without power
 * the last seconds, and neither damages the file. */
enum vbd_status vbd_database_begin_use(
	struct vbd_database *database, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_database_close - close it; what was not committed is lost; NULL is fine */
void vbd_database_close(struct vbd_database *database);

/** vbd_database_begin - begin a transaction */
enum vbd_status vbd_database_begin(
	struct vbd_database *database, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_database_commit - end the transaction; on failure it was rolled back */
enum vbd_status vbd_database_commit(
	struct vbd_database *database, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_database_rollback - undo the transaction, if there is one */
void vbd_database_rollback(struct vbd_database *database);

/** vbd_database_is_damaged - whether the last error said that the file is damaged */
bool vbd_database_is_damaged(const struct vbd_database *database);

/** vbd_database_is_broken - whether after the last error the file must be opened again: it can't be
 * read or written */
bool vbd_database_is_broken(const struct vbd_database *database);

/** vbd_database_leave_log - let vbd_database_close() leave the files beside the database as they
 * are: after a move they may belong to another one */
void vbd_database_leave_log(struct vbd_database *database);

/** vbd_database_bad_rows - the number of rows with a value that this program does not write */
unsigned int vbd_database_bad_rows(const struct vbd_database *database);

/*
 * One execution of a statement:
 *
 *	vbd_query_begin(&query, database, "SELECT name FROM t WHERE id = ?1");
 *	vbd_query_put_u64(&query, 7);
 *	while (vbd_query_row(&query))
 *		use(vbd_query_get_text(&query, 0));
 *	status = vbd_query_end(&query, err);
 *
 * After a failure every function does nothing, and vbd_query_end() tells of the failure.
 */
struct vbd_query {
	struct vbd_database *database;
	struct sqlite3_stmt *stmt;
	int rc;
	int params;
	bool bad; /* a value of the row is none that this program writes */
};

/** vbd_query_begin - prepare it, or take the prepared one of the same text
 * @sql: a static string */
void vbd_query_begin(struct vbd_query *query, struct vbd_database *database, const char *sql);

/* Set the next parameter. A text or bytes must stay until vbd_query_end(); NULL is NULL. */
void vbd_query_put_u64(struct vbd_query *query, uint64_t value);
void vbd_query_put_text(struct vbd_query *query, const char *text);
void vbd_query_put_bytes(struct vbd_query *query, const void *bytes, size_t len_bytes);

/** vbd_query_row - go to the next row; false if there is none */
bool vbd_query_row(struct vbd_query *query);

/* The value of a column of the row, from 0: valid until the next call; NULL and "" of a text that
 * is not there are "". A number that is negative, above VBD_DATABASE_NUMBER_MAX or no integer is 0,
 * and makes the row a bad one. */
uint64_t vbd_query_get_u64(struct vbd_query *query, int column);
#define VBD_DATABASE_NUMBER_MAX (UINT64_C(1) << 62)
const char *vbd_query_get_text(const struct vbd_query *query, int column);
const void *vbd_query_get_bytes(const struct vbd_query *query, int column, size_t *ret_len_bytes);

/** vbd_query_is_bad - whether the row is a bad one, which the caller leaves out: it stays in the
 * file, and is counted
 * @bad: the caller found another value that this program does not write */
bool vbd_query_is_bad(struct vbd_query *query, bool bad);

/** vbd_query_end - end the execution */
enum vbd_status vbd_query_end(struct vbd_query *query, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_query_run - execute the rest, without a result, and end it */
enum vbd_status vbd_query_run(struct vbd_query *query, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_database_run - execute statements without parameters */
enum vbd_status vbd_database_run(
	struct vbd_database *database, const char *sql, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_database_number - the number that a statement without parameters gives; 0 for none */
enum vbd_status vbd_database_number(struct vbd_database *database, const char *sql,
	uint64_t *ret_number, struct vbd_error *err) VBD_MUST_CHECK;

#endif
