/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/database.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* How long a person who writes with sqlite3(1) may hold up a batch. */
#define BUSY_MS 1000

#define STATEMENTS_MAX 48

struct vbd_database {
	sqlite3 *handle;
	int rc; /* of the last failure */
	unsigned int bad_rows;
	bool in_transaction;
	struct {
		const char *sql;
		sqlite3_stmt *stmt;
	} statements[STATEMENTS_MAX];
	size_t statement_count;
};

static bool is_damage(int rc)
{
	return (rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB;
}

/* The text of the handle says more than that of the number, if it is about the same error. */
static enum vbd_status failed(
	struct vbd_database *database, int rc, const char *what, struct vbd_error *err)
{
	const char *text = sqlite3_errstr(rc);

	if (database->handle && sqlite3_extended_errcode(database->handle) == rc)
		text = sqlite3_errmsg(database->handle);
	database->rc = rc;
	return vbd_error_set(err, VBD_E_INTERNAL, "%s: %.120s", what, text);
}

bool vbd_database_is_damaged(const struct vbd_database *database)
{
	return is_damage(database->rc);
}

bool vbd_database_is_broken(const struct vbd_database *database)
{
	int rc = database->rc & 0xff;

	return rc == SQLITE_IOERR || rc == SQLITE_CANTOPEN || rc == SQLITE_READONLY;
}

void vbd_database_leave_log(struct vbd_database *database)
{
	if (database->handle)
		(void)sqlite3_db_config(
			database->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)NULL);
}

unsigned int vbd_database_bad_rows(const struct vbd_database *database)
{
	return database->bad_rows;
}

/* --- queries --------------------------------------------------------------------------------- */

static sqlite3_stmt *find_statement(const struct vbd_database *database, const char *sql)
{
	for (size_t i = 0; i < database->statement_count; i++) {
		if (database->statements[i].sql == sql)
			return database->statements[i].stmt;
	}
	return NULL;
}

void vbd_query_begin(struct vbd_query *query, struct vbd_database *database, const char *sql)
{
	*query = (struct vbd_query){.database = database};
	query->stmt = find_statement(database, sql);
	if (query->stmt)
		return;
	if (database->statement_count == STATEMENTS_MAX) {
		query->rc = SQLITE_NOMEM;
		return;
	}
	query->rc = sqlite3_prepare_v3(
		database->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &query->stmt, NULL);
	if (query->rc != SQLITE_OK)
		return;
	database->statements[database->statement_count].sql = sql;
	database->statements[database->statement_count++].stmt = query->stmt;
}

void vbd_query_put_u64(struct vbd_query *query, uint64_t value)
{
	query->params++;
	if (query->rc == SQLITE_OK)
		query->rc = sqlite3_bind_int64(query->stmt, query->params, (sqlite3_int64)value);
}

void vbd_query_put_text(struct vbd_query *query, const char *text)
{
	query->params++;
	if (query->rc == SQLITE_OK)
		query->rc = sqlite3_bind_text(query->stmt, query->params, text, -1, SQLITE_STATIC);
}

void vbd_query_put_bytes(struct vbd_query *query, const void *bytes, size_t len_bytes)
{
	query->params++;
	if (query->rc == SQLITE_OK)
		query->rc = sqlite3_bind_blob64(
			query->stmt, query->params, bytes, len_bytes, SQLITE_STATIC);
}

bool vbd_query_row(struct vbd_query *query)
{
	query->bad = false;
	if (query->rc == SQLITE_OK || query->rc == SQLITE_ROW)
		query->rc = sqlite3_step(query->stmt);
	return query->rc == SQLITE_ROW;
}

uint64_t vbd_query_get_u64(struct vbd_query *query, int column)
{
	sqlite3_int64 value = sqlite3_column_int64(query->stmt, column);
	int type = sqlite3_column_type(query->stmt, column);

	if ((type == SQLITE_INTEGER || type == SQLITE_NULL) && value >= 0 &&
		(uint64_t)value <= VBD_DATABASE_NUMBER_MAX)
		return (uint64_t)value;
	query->bad = true;
	return 0;
}

bool vbd_query_is_bad(struct vbd_query *query, bool bad)
{
	query->bad |= bad;
	query->database->bad_rows += query->bad;
	return query->bad;
}

const char *vbd_query_get_text(const struct vbd_query *query, int column)
{
	const void *text = sqlite3_column_text(query->stmt, column);

	return text ? text : "";
}

const void *vbd_query_get_bytes(const struct vbd_query *query, int column, size_t *ret_len_bytes)
{
	const void *bytes = sqlite3_column_blob(query->stmt, column);

	*ret_len_bytes = (size_t)sqlite3_column_bytes(query->stmt, column);
	return bytes;
}

enum vbd_status vbd_query_end(struct vbd_query *query, struct vbd_error *err)
{
	enum vbd_status status = VBD_OK;

	if (query->rc != SQLITE_OK && query->rc != SQLITE_ROW && query->rc != SQLITE_DONE)
		status = failed(query->database, query->rc, "SQLite", err);
	if (query->stmt) {
		(void)sqlite3_reset(query->stmt);
		(void)sqlite3_clear_bindings(query->stmt);
	}
	return status;
}

enum vbd_status vbd_query_run(struct vbd_query *query, struct vbd_error *err)
{
	while (vbd_query_row(query))
		;
	return vbd_query_end(query, err);
}

enum vbd_status vbd_database_run(
	struct vbd_database *database, const char *sql, struct vbd_error *err)
{
	int rc = sqlite3_exec(database->handle, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? VBD_OK : failed(database, rc, "SQLite", err);
}

enum vbd_status vbd_database_number(
	struct vbd_database *database, const char *sql, uint64_t *ret_number, struct vbd_error *err)
{
	struct vbd_query query;
	uint64_t number = 0;
	enum vbd_status status;

	vbd_query_begin(&query, database, sql);
	if (vbd_query_row(&query))
		number = vbd_query_get_u64(&query, 0);
	status = vbd_query_end(&query, err);
	if (status == VBD_OK)
		*ret_number = number;
	return status;
}

/* --- transactions ---------------------------------------------------------------------------- */

enum vbd_status vbd_database_begin(struct vbd_database *database, struct vbd_error *err)
{
	enum vbd_status status;

	database->rc = SQLITE_OK;
	status = vbd_database_run(database, "BEGIN IMMEDIATE", err);
	database->in_transaction = status == VBD_OK;
	return status;
}

void vbd_database_rollback(struct vbd_database *database)
{
	/* An error may have ended the transaction. */
	if (database->in_transaction && !sqlite3_get_autocommit(database->handle))
		(void)sqlite3_exec(database->handle, "ROLLBACK", NULL, NULL, NULL);
	database->in_transaction = false;
}

enum vbd_status vbd_database_commit(struct vbd_database *database, struct vbd_error *err)
{
	enum vbd_status status = vbd_database_run(database, "COMMIT", err);

	if (status != VBD_OK)
		vbd_database_rollback(database);
	database->in_transaction = false;
	return status;
}

/* --- life ------------------------------------------------------------------------------------ */

static enum vbd_status check_structure(struct vbd_database *database, struct vbd_error *err)
{
	struct vbd_query query;
	char said[80] = "";

	vbd_query_begin(&query, database, "PRAGMA quick_check(1)");
	if (vbd_query_row(&query)) {
		const char *text = vbd_query_get_text(&query, 0);

		memcpy(said, text, strnlen(text, sizeof(said) - 1));
	}
	if (vbd_query_end(&query, err) != VBD_OK)
		return err ? err->status : VBD_E_INTERNAL;
	if (strcmp(said, "ok") == 0)
		return VBD_OK;
	database->rc = SQLITE_CORRUPT;
	return vbd_error_set(err, VBD_E_INTERNAL, "the file is damaged: %s", said);
}

enum vbd_status vbd_database_begin_use(struct vbd_database *database, struct vbd_error *err)
{
	return vbd_database_run(database,
		"PRAGMA journal_mode = WAL;"
		"PRAGMA synchronous = NORMAL;"
		"PRAGMA journal_size_limit = 4194304;"
		"PRAGMA trusted_schema = OFF;"
		"PRAGMA cell_size_check = ON;",
		err);
}

enum vbd_status vbd_database_open(
	const char *path, struct vbd_database **ret_database, struct vbd_error *err)
{
	struct vbd_database *database = calloc(1, sizeof(*database));
	int rc;

	*ret_database = database;
	if (!database)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the database");
	rc = sqlite3_open_v2(path, &database->handle,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_busy_timeout(database->handle, BUSY_MS);
	if (rc != SQLITE_OK)
		return failed(database, rc, "can't open the database", err);
	return check_structure(database, err);
}

void vbd_database_close(struct vbd_database *database)
{
	if (!database)
		return;
	vbd_database_rollback(database);
	for (size_t i = 0; i < database->statement_count; i++)
		(void)sqlite3_finalize(database->statements[i].stmt);
	(void)sqlite3_close(database->handle);
	free(database);
}
