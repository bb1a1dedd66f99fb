/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/database.h"

#include <sqlite3.h>

/* How long a batch waits for another program, as sqlite3(1), that has locked the database. */
#define BUSY_MS 1000

#define STATEMENTS_MAX 48
#define COLUMNS_MAX    16

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

/* Only damage makes two rows of one name, or a missing value: those count as damage too. */
static bool is_damage(int rc)
{
	rc &= 0xff;
	return rc == SQLITE_CORRUPT || rc == SQLITE_NOTADB || rc == SQLITE_CONSTRAINT;
}

/* The handle's text of the error says more than that of @rc, if it is about the same error. */
static enum vbd_status set_sqlite_error(
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
	return database && is_damage(database->rc);
}

bool vbd_database_is_broken(const struct vbd_database *database)
{
	int rc = database ? database->rc & 0xff : SQLITE_OK;

	return rc == SQLITE_IOERR || rc == SQLITE_CANTOPEN || rc == SQLITE_READONLY;
}

bool vbd_database_is_unreadable(const struct vbd_database *database)
{
	return is_damage(database->rc) || database->rc == SQLITE_ERROR ||
	       database->rc == SQLITE_IOERR_READ || database->rc == SQLITE_IOERR_SHORT_READ;
}

void vbd_database_leave_log(struct vbd_database *database, bool leave)
{
	if (database && database->handle)
		(void)sqlite3_db_config(
			database->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, leave, (int *)NULL);
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

static int bind_values(sqlite3_stmt *stmt, const struct vbd_value *values)
{
	int rc = SQLITE_OK;

	for (int i = 0; values && values[i].type != VBD_VALUE_END && rc == SQLITE_OK; i++) {
		const struct vbd_value *value = &values[i];

		if (value->type == VBD_VALUE_NUMBER)
			rc = sqlite3_bind_int64(stmt, i + 1, (sqlite3_int64)value->number);
		else if (value->type == VBD_VALUE_TEXT)
			rc = sqlite3_bind_text(stmt, i + 1, value->bytes, -1, SQLITE_STATIC);
		else
			rc = sqlite3_bind_blob64(
				stmt, i + 1, value->bytes, value->number, SQLITE_STATIC);
	}
	return rc;
}

/* One execution of a query, which stands at a row. */
struct query {
	struct vbd_database *database;
	sqlite3_stmt *stmt;
	int rc;
	bool bad; /* the row has a value that this program does not write */
};

/* Prepare the statement, or take the prepared one of the same text. After a failure the other
 * functions do nothing, and end_query() tells of the failure. */
static struct query begin_query(
	struct vbd_database *database, const char *sql, const struct vbd_value *values)
{
	struct query query = {
		.database = database, .stmt = find_statement(database, sql), .rc = SQLITE_OK};

	if (!query.stmt && database->statement_count == STATEMENTS_MAX) {
		query.rc = SQLITE_NOMEM;
	} else if (!query.stmt) {
		query.rc = sqlite3_prepare_v3(
			database->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &query.stmt, NULL);
		if (query.rc != SQLITE_OK)
			return query;
		database->statements[database->statement_count].sql = sql;
		database->statements[database->statement_count++].stmt = query.stmt;
	}
	if (query.rc == SQLITE_OK)
		query.rc = bind_values(query.stmt, values);
	return query;
}

static bool next_row(struct query *query)
{
	query->bad = false;
	if (query->rc == SQLITE_OK || query->rc == SQLITE_ROW)
		query->rc = sqlite3_step(query->stmt);
	return query->rc == SQLITE_ROW;
}

static enum vbd_status end_query(struct query *query, struct vbd_error *err)
{
	enum vbd_status status = VBD_OK;

	if (query->rc != SQLITE_OK && query->rc != SQLITE_ROW && query->rc != SQLITE_DONE)
		status = set_sqlite_error(query->database, query->rc, "SQLite", err);
	if (query->stmt) {
		(void)sqlite3_reset(query->stmt);
		(void)sqlite3_clear_bindings(query->stmt);
	}
	return status;
}

static uint64_t get_u64(struct query *query, int column)
{
	sqlite3_int64 value = sqlite3_column_int64(query->stmt, column);
	int type = sqlite3_column_type(query->stmt, column);

	if ((type == SQLITE_INTEGER || type == SQLITE_NULL) && value >= 0 &&
		(uint64_t)value <= VBD_DATABASE_NUMBER_MAX)
		return (uint64_t)value;
	query->bad = true;
	return 0;
}

static const char *get_text(const struct query *query, int column)
{
	const void *text = sqlite3_column_text(query->stmt, column);

	return text ? text : "";
}

enum vbd_status vbd_database_execute(struct vbd_database *database, const char *sql,
	const struct vbd_value *values, struct vbd_error *err)
{
	struct query query = begin_query(database, sql, values);

	while (next_row(&query))
		;
	return end_query(&query, err);
}

unsigned int vbd_database_changed(const struct vbd_database *database)
{
	return (unsigned int)sqlite3_changes(database->handle);
}

enum vbd_status vbd_database_run(
	struct vbd_database *database, const char *sql, struct vbd_error *err)
{
	int rc = sqlite3_exec(database->handle, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? VBD_OK : set_sqlite_error(database, rc, "SQLite", err);
}

enum vbd_status vbd_database_number(
	struct vbd_database *database, const char *sql, uint64_t *ret_number, struct vbd_error *err)
{
	struct query query = begin_query(database, sql, NULL);
	uint64_t number = 0;
	enum vbd_status status;

	if (next_row(&query))
		number = get_u64(&query, 0);
	status = end_query(&query, err);
	if (status == VBD_OK)
		*ret_number = number;
	return status;
}

/* --- rows ------------------------------------------------------------------------------------ */

struct vbd_row *vbd_row_create(const char *sql, const struct vbd_value *values)
{
	size_t bytes = sizeof(struct vbd_row) + sizeof(*values), count = 0;
	struct vbd_row *row;
	char *at;

	for (; values[count].type != VBD_VALUE_END; count++)
		bytes += sizeof(*values) + (values[count].bytes ? values[count].number + 1 : 0);
	row = calloc(1, bytes);
	if (!row)
		return NULL;
	row->sql = sql;
	row->bytes = bytes;
	at = (char *)&row->values[count + 1];
	for (size_t i = 0; i < count; i++) {
		row->values[i] = values[i];
		if (!values[i].bytes)
			continue;
		row->values[i].bytes = memcpy(at, values[i].bytes, values[i].number);
		at += values[i].number + 1;
	}
	return row;
}

void vbd_rows_free(struct vbd_link *rows)
{
	vbd_list_for_each (link, rows) {
		vbd_list_remove(link);
		free(VBD_CONTAINER_OF(link, struct vbd_row, link));
	}
}

static struct vbd_value column_value(struct query *query, int column)
{
	int type = sqlite3_column_type(query->stmt, column);
	const void *bytes;

	if (type == SQLITE_INTEGER)
		return vbd_value_number(get_u64(query, column));
	if (type == SQLITE_TEXT)
		return vbd_value_text(get_text(query, column));
	query->bad |= type == SQLITE_FLOAT;
	bytes = sqlite3_column_blob(query->stmt, column);
	return vbd_value_bytes(bytes, (size_t)sqlite3_column_bytes(query->stmt, column));
}

/* Returns false without memory. */
static bool copy_row(struct query *query, struct vbd_link *rows)
{
	int count = sqlite3_column_count(query->stmt) - 1;
	struct vbd_value values[COLUMNS_MAX] = {0};
	struct vbd_row *row;

	for (int i = 0; i < count; i++)
		values[i] = column_value(query, i);
	if (!get_u64(query, count) || query->bad) {
		query->database->bad_rows++;
		return true;
	}
	row = vbd_row_create(NULL, values);
	if (row)
		vbd_list_append(rows, &row->link);
	return row;
}

enum vbd_status vbd_database_read(struct vbd_database *database, const char *sql,
	const struct vbd_value *values, struct vbd_link *rows, struct vbd_error *err)
{
	struct query query = begin_query(database, sql, values);
	bool has_memory = true;
	enum vbd_status status;

	while (has_memory && next_row(&query))
		has_memory = copy_row(&query, rows);
	status = end_query(&query, err);
	if (status == VBD_OK && !has_memory)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for rows of earlier runs");
	return status;
}

/* --- sums of rows ---------------------------------------------------------------------------- */

/* FNV-1a of the values, as 62 bits. */
static void compute_row_sum(sqlite3_context *context, int count, sqlite3_value **values)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (int i = 0; i < count; i++) {
		unsigned int type = (unsigned int)sqlite3_value_type(values[i]);
		const unsigned char *bytes = sqlite3_value_blob(values[i]);
		int len = sqlite3_value_bytes(values[i]);

		hash = (hash ^ (type | (unsigned int)len << 3)) * UINT64_C(0x100000001b3);
		for (int at = 0; at < len; at++)
			hash = (hash ^ bytes[at]) * UINT64_C(0x100000001b3);
	}
	sqlite3_result_int64(context, (sqlite3_int64)(hash >> 2));
}

/* --- transactions ---------------------------------------------------------------------------- */

enum vbd_status vbd_database_begin(struct vbd_database *database, bool flush, struct vbd_error *err)
{
	enum vbd_status status;

	database->rc = SQLITE_OK;
	status = vbd_database_run(database,
		flush ? "PRAGMA synchronous = FULL; BEGIN IMMEDIATE"
		      : "PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE",
		err);
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

/* The check reports a page that can't be read like a damaged one, with the number of the error. */
static int parse_check_error(const char *said)
{
	static const char number[] = "error code=";
	const char *at = strstr(said, number);
	int rc = at ? atoi(at + strlen(number)) : SQLITE_CORRUPT;

	return rc ? rc : SQLITE_CORRUPT;
}

static enum vbd_status check_structure(
	struct vbd_database *database, const char *check, struct vbd_error *err)
{
	struct query query = begin_query(database, check, NULL);
	char said[120] = "";

	if (next_row(&query)) {
		const char *text = get_text(&query, 0);

		memcpy(said, text, strnlen(text, sizeof(said) - 1));
	}
	if (end_query(&query, err) != VBD_OK)
		return err ? err->status : VBD_E_INTERNAL;
	if (strcmp(said, "ok") == 0)
		return VBD_OK;
	database->rc = parse_check_error(said);
	return vbd_error_set(err, VBD_E_INTERNAL, "the file %s: %s",
		is_damage(database->rc) ? "is damaged" : "can't be read", said);
}

/* Read by SQLite's own descriptor: closing another descriptor of the file would release the locks
 * of SQLite (fcntl(2)). */
enum vbd_status vbd_database_check_header(struct vbd_database *database, struct vbd_error *err)
{
	static const char header[] = "SQLite format 3";
	char found[sizeof(header)] = "";
	sqlite3_file *file = NULL;
	int rc = sqlite3_file_control(database->handle, "main", SQLITE_FCNTL_FILE_POINTER, &file);

	if (rc == SQLITE_OK && file && file->pMethods)
		rc = file->pMethods->xRead(file, found, sizeof(found), 0);
	if ((rc & 0xff) == SQLITE_IOERR && rc != SQLITE_IOERR_SHORT_READ)
		return set_sqlite_error(database, rc, "the header of the database", err);
	if (rc == SQLITE_OK && memcmp(found, header, sizeof(header)) == 0)
		return VBD_OK;
	return vbd_error_set(
		err, VBD_E_NOT_FOUND, "the database was overwritten by another program");
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

static enum vbd_status open_connection(
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
	if (rc == SQLITE_OK)
		rc = sqlite3_create_function(database->handle, "verbsd_sum", -1,
			SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, compute_row_sum, NULL, NULL);
	if (rc != SQLITE_OK)
		return set_sqlite_error(database, rc, "can't open the database", err);
	return VBD_OK;
}

enum vbd_status vbd_database_open(
	const char *path, struct vbd_database **ret_database, struct vbd_error *err)
{
	enum vbd_status status = open_connection(path, ret_database, err);

	return status == VBD_OK ? check_structure(*ret_database, "PRAGMA quick_check(1)", err)
				: status;
}

bool vbd_database_confirm_damage(const char *path)
{
	struct vbd_database *database;
	enum vbd_status status = open_connection(path, &database, NULL);
	bool damaged;

	if (status == VBD_OK)
		status = check_structure(database, "PRAGMA integrity_check(1)", NULL);
	damaged = status != VBD_OK && vbd_database_is_damaged(database);
	vbd_database_leave_log(database, true);
	vbd_database_close(database);
	return damaged;
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
