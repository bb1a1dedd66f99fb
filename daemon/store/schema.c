/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/tables.h"

#include "base/attr.h"
#include "daemon/store/database.h"
#include "daemon/store/files.h"

/* "vbsd" in ASCII: file(1) shows it, and it tells our files from those of other programs. */
#define APPLICATION_ID 0x76627364

/* A step that was released never changes; a change of the schema is another step. */
static const char *const steps[] = {
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
	" detail TEXT NOT NULL);",
	"CREATE TABLE answers ("
	" id INTEGER PRIMARY KEY,"
	" key TEXT NOT NULL UNIQUE,"
	" digest BLOB NOT NULL,"
	" begun_ns INTEGER NOT NULL,"
	" status INTEGER NOT NULL,"
	" code TEXT NOT NULL,"
	" content_type TEXT NOT NULL,"
	" headers TEXT NOT NULL,"
	" body BLOB);",
	"CREATE TABLE desired ("
	" name TEXT PRIMARY KEY,"
	" kind TEXT NOT NULL,"
	" owner TEXT NOT NULL,"
	" body TEXT NOT NULL);",
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
	" PRIMARY KEY (kind, id));"
	"CREATE INDEX records_by_run ON records (run);",
	"CREATE TABLE audit ("
	" id INTEGER PRIMARY KEY,"
	" at_ns INTEGER NOT NULL,"
	" line TEXT NOT NULL);",
	"ALTER TABLE answers ADD COLUMN sum INTEGER; ALTER TABLE desired ADD COLUMN sum INTEGER;",
	"ALTER TABLE events ADD COLUMN sum INTEGER; UPDATE events SET sum = " VBD_EVENT_SUM ";"
	"ALTER TABLE records ADD COLUMN sum INTEGER;"
	"UPDATE records SET sum = " VBD_RECORD_SUM ";"
	"UPDATE answers SET sum = " VBD_ANSWER_SUM ";"
	"UPDATE desired SET sum = " VBD_DESIRED_SUM ";"
	"INSERT INTO ids SELECT 'sum', " VBD_IDS_SUM " WHERE EXISTS (SELECT * FROM ids);",
	"DROP TABLE audit;",
};

unsigned int vbd_schema_newest(void)
{
	return VBD_ARRAY_LEN(steps);
}

static enum vbd_status read_version(
	struct vbd_database *database, uint64_t *ret_version, struct vbd_error *err)
{
	return vbd_database_number(database, "PRAGMA user_version", ret_version, err);
}

static enum vbd_status check(struct vbd_database *database, struct vbd_error *err)
{
	uint64_t version = 0, application = 0, tables = 0;
	enum vbd_status status = read_version(database, &version, err);

	if (status == VBD_OK)
		status = vbd_database_number(database, "PRAGMA application_id", &application, err);
	if (status == VBD_OK)
		status = vbd_database_number(
			database, "SELECT count(*) FROM sqlite_schema", &tables, err);
	if (status != VBD_OK)
		return status;
	if (tables && application != APPLICATION_ID)
		return vbd_error_set(
			err, VBD_E_BAD_VALUE, "the database belongs to another program");
	if (version > vbd_schema_newest())
		return vbd_error_set(err, VBD_E_BAD_VALUE,
			"a newer verbsd wrote the file (schema %" PRIu64 "; this one knows %u)",
			version, vbd_schema_newest());
	return VBD_OK;
}

/* A PRAGMA takes no parameters. */
static enum vbd_status write_version(struct vbd_database *database, struct vbd_error *err)
{
	char sql[96];

	(void)snprintf(sql, sizeof(sql), "PRAGMA application_id = %d; PRAGMA user_version = %u",
		APPLICATION_ID, vbd_schema_newest());
	return vbd_database_run(database, sql, err);
}

static enum vbd_status migrate(struct vbd_database *database, struct vbd_error *err)
{
	uint64_t version = 0;
	enum vbd_status status = read_version(database, &version, err);

	if (status != VBD_OK || version == vbd_schema_newest())
		return status;
	status = vbd_database_begin(database, true, err);
	for (; status == VBD_OK && version < vbd_schema_newest(); version++)
		status = vbd_database_run(database, steps[version], err);
	if (status == VBD_OK)
		status = write_version(database, err);
	if (status == VBD_OK)
		return vbd_database_commit(database, err);
	vbd_database_rollback(database);
	return status;
}

enum vbd_status vbd_schema_prepare(struct vbd_database *database, struct vbd_error *err)
{
	enum vbd_status status = check(database, err);

	if (status == VBD_OK)
		status = vbd_database_begin_use(database, err);
	return status == VBD_OK ? migrate(database, err) : status;
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
