/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/disk.h"

#include "daemon/store/database.h"
#include "daemon/store/tables.h"

/* Ranges of a table that may fail, so that a large table with many damaged pages takes seconds. */
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
static enum vbd_status copy(
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
	status = copying->descending ? copy(copying, middle + 1, last, err)
				     : copy(copying, first, middle, err);
	if (status != VBD_OK)
		return status;
	return copying->descending ? copy(copying, first, middle, err)
				   : copy(copying, middle + 1, last, err);
}

/* A gap of numbers beside a damaged page uses up the failures: the rows behind it are reached from
 * the other end. */
static enum vbd_status copy_table(
	struct vbd_database *database, const char *sql, struct vbd_error *err)
{
	struct copying copying = {.database = database, .sql = sql};
	enum vbd_status status = copy(&copying, 1, VBD_DATABASE_NUMBER_MAX, err);

	if (status != VBD_OK || copying.failures < FAILURES_MAX)
		return status;
	copying.failures = 0;
	copying.descending = true;
	return copy(&copying, 1, VBD_DATABASE_NUMBER_MAX, err);
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

/* A database in one file can be renamed. */
static enum vbd_status finish(
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
		status = finish(database, ret_kept, err);
	vbd_database_close(database);
	return status;
}
