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
#include "base/list.h"

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

/** vbd_database_begin - begin a transaction; @flush: its commit waits until the disk has it */
enum vbd_status vbd_database_begin(
	struct vbd_database *database, bool flush, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_database_commit - end the transaction; on failure it was rolled back */
enum vbd_status vbd_database_commit(
	struct vbd_database *database, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_database_rollback - undo the transaction, if there is one */
void vbd_database_rollback(struct vbd_database *database);

/** vbd_database_check_header - VBD_E_NOT_FOUND if the file, which may be in use, no longer begins
 * as a database does: another program has overwritten the file */
enum vbd_status vbd_database_check_header(
	struct vbd_database *database, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_database_is_damaged - whether the last error was a damaged file; false for NULL */
bool vbd_database_is_damaged(const struct vbd_database *database);

/** vbd_database_is_broken - whether after the last error the file must be opened again: it can't be
 * read or written; false for NULL */
bool vbd_database_is_broken(const struct vbd_database *database);

/** vbd_database_is_unreadable - whether the last error was about rows that can't be read, or a
 * table that is not there */
bool vbd_database_is_unreadable(const struct vbd_database *database);

/** vbd_database_leave_log - whether closing and detaching leave the files beside a database as they
 * are: after a move they may belong to another one, and damage must not spread; NULL is fine */
void vbd_database_leave_log(struct vbd_database *database, bool leave);

/** vbd_database_confirm_damage - whether a file is damaged as a connection of its own sees it: all
 * of it is read, and one read that fails or comes short does not count */
bool vbd_database_confirm_damage(const char *path);

/** vbd_database_bad_rows - the number of rows with a value that this program does not write */
unsigned int vbd_database_bad_rows(const struct vbd_database *database);

/* A parameter of a statement. A text or bytes must stay until the statement was executed. */
struct vbd_value {
	enum { VBD_VALUE_END, VBD_VALUE_NUMBER, VBD_VALUE_TEXT, VBD_VALUE_BYTES } type;
	uint64_t number;   /* of a text or bytes: their size, with the NUL of a text */
	const void *bytes; /* NULL is NULL */
};

/* The parameters ?1, ?2, ... in this order. */
#define VBD_VALUES(...) ((const struct vbd_value[]){__VA_ARGS__, {.type = VBD_VALUE_END}})

static inline struct vbd_value vbd_value_number(uint64_t number)
{
	return (struct vbd_value){VBD_VALUE_NUMBER, number, NULL};
}

static inline struct vbd_value vbd_value_bytes(const void *bytes, size_t len_bytes)
{
	return (struct vbd_value){VBD_VALUE_BYTES, len_bytes, bytes};
}

static inline struct vbd_value vbd_value_text(const char *text)
{
	return (struct vbd_value){VBD_VALUE_TEXT, text ? strlen(text) + 1 : 0, text};
}

/* The value of a text; NULL for "" too. */
static inline struct vbd_value vbd_value_text_or_null(const char *text)
{
	return vbd_value_text(text && text[0] ? text : NULL);
}

/* The guarantee that a client has when a statement counts as written. */
enum vbd_promise {
	VBD_PROMISE_NOTHING, /* a host that loses power may lose the last seconds */
	VBD_PROMISE_TOLD,    /* likewise, but vbd_store_fd() signals when it is written */
	VBD_PROMISE_FLUSHED, /* the statement survives a loss of power */
	VBD_PROMISE_KEPT,    /* likewise, and damage to the log (WAL) */
};

/* Values with their texts and bytes in one allocation: of a statement that waits for the disk, or
 * of a row that waits for the control thread. free() it. */
struct vbd_row {
	struct vbd_link link;
	const char *sql; /* NULL for a row that was read */
	enum vbd_promise promise;
	size_t bytes; /* of the allocation */
	struct vbd_value values[];
};

/** vbd_row_create - copy values, with a NUL behind each; @sql is static; NULL without memory */
struct vbd_row *vbd_row_create(const char *sql, const struct vbd_value *values);

/* The value of a column of a row that was read: "" and 0 for NULL. */
static inline const char *vbd_row_text(const struct vbd_row *row, unsigned int column)
{
	return row->values[column].bytes ? row->values[column].bytes : "";
}

static inline uint64_t vbd_row_number(const struct vbd_row *row, unsigned int column)
{
	return row->values[column].type == VBD_VALUE_NUMBER ? row->values[column].number : 0;
}

/** vbd_rows_free - free the rows of a list, which is empty then */
void vbd_rows_free(struct vbd_link *rows);

/** vbd_database_execute - execute a statement without a result
 * @sql: a static string */
enum vbd_status vbd_database_execute(struct vbd_database *database, const char *sql,
	const struct vbd_value *values, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_database_changed - the number of rows that the last INSERT, UPDATE or DELETE changed */
unsigned int vbd_database_changed(const struct vbd_database *database);

/**
 * vbd_database_read - append the rows that a query gives
 * @sql:    a static string; its last column, which is left out, is 0 for a bad row
 * @values: NULL: there are no parameters
 * @rows:   a list; after a failure it may have some of the rows
 *
 * A bad row is left out and counted. So is one with a number that is negative, above
 * VBD_DATABASE_NUMBER_MAX or no integer: no verbsd writes it.
 */
enum vbd_status vbd_database_read(struct vbd_database *database, const char *sql,
	const struct vbd_value *values, struct vbd_link *rows,
	struct vbd_error *err) VBD_MUST_CHECK;
#define VBD_DATABASE_NUMBER_MAX (UINT64_C(1) << 62)

/* SQL: a number for the values of @columns, which a table has for each row of a promise, so that a
 * row whose bytes were damaged is a bad one. */
#define VBD_SUM(columns) "verbsd_sum(" columns ")"

/** vbd_database_run - execute statements without parameters */
enum vbd_status vbd_database_run(
	struct vbd_database *database, const char *sql, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_database_number - the number that a statement without parameters gives; 0 for none */
enum vbd_status vbd_database_number(struct vbd_database *database, const char *sql,
	uint64_t *ret_number, struct vbd_error *err) VBD_MUST_CHECK;

#endif
