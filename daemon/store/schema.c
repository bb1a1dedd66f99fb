/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/tables.h"

#include "daemon/store/disk.h"

/* "vbsd" in ASCII: file(1) shows it, and other programs' databases do not have it. */
#define APPLICATION_ID 1986163556

#define TEXT_OF(number) #number
/* A PRAGMA takes no parameters. */
#define PRAGMA(name, number) "PRAGMA " name " = " TEXT_OF(number) ";"

static const char tables[] =
	"CREATE TABLE runs ("
	" id INTEGER PRIMARY KEY,"
	" server_id TEXT NOT NULL UNIQUE,"
	" version TEXT NOT NULL,"
	" started_ns INTEGER NOT NULL,"
	" stopped_ns INTEGER);"
	"CREATE TABLE ids ("
	" kind TEXT PRIMARY KEY,"
	" last INTEGER NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE events ("
	" seq INTEGER PRIMARY KEY,"
	" run INTEGER NOT NULL,"
	" at_ns INTEGER NOT NULL,"
	" type TEXT NOT NULL,"
	" severity TEXT NOT NULL,"
	" kind TEXT,"
	" object_id INTEGER,"
	" name TEXT,"
	" labels TEXT,"
	" owner TEXT,"
	" data TEXT,"
	" port_num INTEGER,"
	" detail TEXT NOT NULL,"
	" sum INTEGER);"
	"CREATE TABLE answers ("
	" id INTEGER PRIMARY KEY,"
	" key TEXT NOT NULL UNIQUE,"
	" digest BLOB NOT NULL,"
	" begun_ns INTEGER NOT NULL,"
	" status INTEGER NOT NULL,"
	" code TEXT NOT NULL,"
	" content_type TEXT NOT NULL,"
	" headers TEXT NOT NULL,"
	" body BLOB,"
	" sum INTEGER);"
	"CREATE TABLE desired ("
	" name TEXT PRIMARY KEY,"
	" kind TEXT NOT NULL,"
	" owner TEXT NOT NULL,"
	" body TEXT NOT NULL,"
	" sum INTEGER);"
	"CREATE TABLE records ("
	" kind TEXT NOT NULL,"
	" id INTEGER NOT NULL,"
	" run INTEGER NOT NULL,"
	" name TEXT,"
	" labels TEXT,"
	" owner TEXT,"
	" state TEXT NOT NULL,"
	" end_code TEXT,"
	" created_ns INTEGER NOT NULL,"
	" ended_ns INTEGER,"
	" body TEXT NOT NULL,"
	" sum INTEGER,"
	" PRIMARY KEY (kind, id));"
	"CREATE INDEX records_by_run ON records (run);" PRAGMA("application_id", APPLICATION_ID)
		PRAGMA("user_version", VBD_SCHEMA_VERSION);

/* @ret_is_new: the file has no tables yet */
static enum vbd_status check_version(
	struct vbd_database *database, bool *ret_is_new, struct vbd_error *err)
{
	uint64_t version = 0, application = 0, count = 0;
	enum vbd_status status =
		vbd_database_number(database, "PRAGMA user_version", &version, err);

	if (status == VBD_OK)
		status = vbd_database_number(database, "PRAGMA application_id", &application, err);
	if (status == VBD_OK)
		status = vbd_database_number(
			database, "SELECT count(*) FROM sqlite_schema", &count, err);
	*ret_is_new = !version;
	if (status != VBD_OK)
		return status;
	if (count && application != APPLICATION_ID)
		return vbd_error_set(
			err, VBD_E_BAD_VALUE, "the database belongs to another program");
	if (version && version != VBD_SCHEMA_VERSION)
		return vbd_error_set(err, VBD_E_BAD_VALUE,
			"%s verbsd wrote the file (schema %" PRIu64 "; this one knows %d)",
			version > VBD_SCHEMA_VERSION ? "a newer" : "an unreleased", version,
			VBD_SCHEMA_VERSION);
	return VBD_OK;
}

static enum vbd_status create_tables(struct vbd_database *database, struct vbd_error *err)
{
	enum vbd_status status = vbd_database_begin(database, true, err);

	if (status == VBD_OK)
		status = vbd_database_run(database, tables, err);
	if (status == VBD_OK)
		return vbd_database_commit(database, err);
	vbd_database_rollback(database);
	return status;
}

enum vbd_status vbd_schema_prepare(struct vbd_database *database, struct vbd_error *err)
{
	bool is_new;
	enum vbd_status status = check_version(database, &is_new, err);

	if (status == VBD_OK)
		status = vbd_database_begin_use(database, err);
	return status == VBD_OK && is_new ? create_tables(database, err) : status;
}

enum vbd_status vbd_schema_read_numbers(
	struct vbd_database *database, struct vbd_store_mark *ret_numbers, struct vbd_error *err)
{
	enum vbd_status status = vbd_database_number(database,
		"SELECT last FROM ids WHERE kind = 'transaction'", &ret_numbers->transactions, err);

	if (status == VBD_OK)
		status = vbd_database_number(database, "SELECT last FROM ids WHERE kind = 'stamp'",
			&ret_numbers->stamp, err);
	if (status == VBD_OK)
		status = vbd_database_number(database,
			"SELECT max(last) FROM ids WHERE kind NOT IN ('transaction', 'stamp',"
			" 'sum') AND last BETWEEN 0 AND 9007199254740991",
			&ret_numbers->highest, err);
	return status;
}

enum vbd_status vbd_schema_write_numbers(
	struct vbd_database *database, const struct vbd_store_mark *numbers, struct vbd_error *err)
{
	enum vbd_status status = vbd_database_execute(database,
		"INSERT OR REPLACE INTO ids (kind, last)"
		" VALUES ('transaction', ?1), ('stamp', ?2)",
		VBD_VALUES(
			vbd_value_number(numbers->transactions), vbd_value_number(numbers->stamp)),
		err);

	if (status == VBD_OK)
		status = vbd_database_execute(database,
			"INSERT OR REPLACE INTO ids SELECT 'sum', " VBD_IDS_SUM, NULL, err);
	return status;
}

/* --- rows of a damaged database -------------------------------------------------------------- */

/* After so many failed ranges a table is given up, so that many damaged pages cost seconds only. */
#define FAILURES_MAX 4000

/* Kept objects come first. Sums of events and records have the runs in them, which come before. The
 * statements read the tables and not their indexes: ?1 to ?2 are rows by their numbers. */
#define RANGE "rowid BETWEEN ?1 AND ?2"
#define COPY_OF(table, sum)                                                         \
	"INSERT OR REPLACE INTO main." table " SELECT * FROM damaged." table " NOT" \
	" INDEXED WHERE " RANGE " AND sum IS " sum

static const char *const copies[] = {
	COPY_OF("desired", VBD_DESIRED_SUM),
	COPY_OF("answers", VBD_ANSWER_SUM),
	"INSERT OR REPLACE INTO main.runs SELECT * FROM damaged.runs NOT INDEXED WHERE " RANGE,
	COPY_OF("events", VBD_EVENT_SUM),
	COPY_OF("records", VBD_RECORD_SUM),
};

struct copying {
	struct vbd_database *database;
	const char *sql;
	bool descending;
	unsigned int failures;
};

/* Returns VBD_OK and sets @ret_read to false if the damaged database can't be read. */
static enum vbd_status copy_rows(struct vbd_database *database, const char *sql,
	const struct vbd_value *values, bool *ret_read, struct vbd_error *err)
{
	struct vbd_error failure = {0};
	enum vbd_status status = vbd_database_execute(database, sql, values, &failure);

	*ret_read = status == VBD_OK;
	if (status == VBD_OK || vbd_database_is_unreadable(database))
		return VBD_OK;
	*err = failure;
	return status;
}

/* Copies a range of rows. One that can't be read is halved, until the rows that can be read are
 * copied. Each statement is a transaction of its own, which a failed read ends. */
static enum vbd_status copy_range(
	struct copying *copying, uint64_t first, uint64_t last, struct vbd_error *err)
{
	const struct vbd_value range[] = {
		vbd_value_number(first), vbd_value_number(last), {.type = VBD_VALUE_END}};
	uint64_t middle = first + (last - first) / 2;
	enum vbd_status status;
	bool read;

	if (copying->failures >= FAILURES_MAX)
		return VBD_OK;
	status = copy_rows(copying->database, copying->sql, range, &read, err);
	if (status != VBD_OK || read)
		return status;
	copying->failures++;
	if (first == last)
		return VBD_OK;
	status = copying->descending ? copy_range(copying, middle + 1, last, err)
				     : copy_range(copying, first, middle, err);
	if (status != VBD_OK)
		return status;
	return copying->descending ? copy_range(copying, first, middle, err)
				   : copy_range(copying, middle + 1, last, err);
}

/* Copy from both ends: unused row numbers beside a damaged page use up the attempts from one end,
 * and the rows behind the page are then read from the other end. */
static enum vbd_status copy_table(
	struct vbd_database *database, const char *sql, struct vbd_error *err)
{
	struct copying copying = {.database = database, .sql = sql};
	enum vbd_status status = copy_range(&copying, 1, VBD_DATABASE_NUMBER_MAX, err);

	if (status != VBD_OK || copying.failures < FAILURES_MAX)
		return status;
	copying.failures = 0;
	copying.descending = true;
	return copy_range(&copying, 1, VBD_DATABASE_NUMBER_MAX, err);
}

static enum vbd_status copy_all(
	struct vbd_database *database, const char *from, struct vbd_error *err)
{
	bool read;
	enum vbd_status status = copy_rows(
		database, "ATTACH ?1 AS damaged", VBD_VALUES(vbd_value_text(from)), &read, err);

	if (status != VBD_OK || !read)
		return status;
	vbd_database_leave_log(database, true);
	for (size_t i = 0; i < VBD_ARRAY_LEN(copies) && status == VBD_OK; i++)
		status = copy_table(database, copies[i], err);
	return status == VBD_OK ? copy_rows(database,
					  "INSERT OR REPLACE INTO main.ids"
					  " SELECT * FROM damaged.ids",
					  NULL, &read, err)
				: status;
}

/* Count the kept objects, and leave the WAL mode: a database in one file can be renamed. */
static enum vbd_status finish_salvage(
	struct vbd_database *database, uint64_t *ret_kept, struct vbd_error *err)
{
	enum vbd_status status =
		vbd_database_number(database, "SELECT count(*) FROM main.desired", ret_kept, err);

	return status == VBD_OK
		       ? vbd_database_run(database, "PRAGMA main.journal_mode = DELETE", err)
		       : status;
}

enum vbd_status vbd_salvage(
	const char *from, const char *to, uint64_t *ret_kept, struct vbd_error *err)
{
	struct vbd_database *database;
	enum vbd_status status = vbd_database_open(to, &database, err);

	if (status == VBD_OK)
		status = vbd_schema_prepare(database, err);
	if (status == VBD_OK)
		status = copy_all(database, from, err);
	if (status == VBD_OK)
		status = finish_salvage(database, ret_kept, err);
	vbd_database_close(database);
	return status;
}
