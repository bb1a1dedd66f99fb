/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/trim.h"

#include "base/clock.h"
#include "daemon/store/database.h"
#include "daemon/store/tables.h"

/* Rows of a table that may stand above its limit, so that not every batch looks for the oldest. */
#define EVENTS_SLACK  256
#define ANSWERS_SLACK 64
#define AUDIT_SLACK   256

/* Written rows of records after which newer ones may stand above the limit; the daemon deletes the
 * older ones by itself, unless the queue was full. */
#define RECORDS_SLACK 1024

/* A bounded table: how its newest row is found, and what deletes its oldest ones. */
struct table {
	const char *newest; /* SQL for the number of the newest row; numbers ascend */
	uint64_t slack;
	enum vbd_status (*trim)(
		const struct vbd_trim *trim, struct vbd_database *database, struct vbd_error *err);
};

enum vbd_status vbd_trim_events(struct vbd_database *database, uint64_t max, struct vbd_error *err)
{
	enum vbd_status status = vbd_database_execute(database,
		"DELETE FROM events WHERE seq <="
		" (SELECT seq FROM events ORDER BY seq DESC LIMIT 1 OFFSET ?1)",
		VBD_VALUES(vbd_value_number(max)), err);

	if (status != VBD_OK)
		return status;
	return vbd_database_execute(database,
		"DELETE FROM runs WHERE id < (SELECT min(run) FROM events)"
		" AND id < coalesce((SELECT min(run) FROM records), id + 1)"
		" AND id < (SELECT max(id) FROM runs)",
		NULL, err);
}

static enum vbd_status trim_events(
	const struct vbd_trim *trim, struct vbd_database *database, struct vbd_error *err)
{
	return vbd_trim_events(database, trim->events_max, err);
}

static enum vbd_status trim_answers(
	const struct vbd_trim *trim, struct vbd_database *database, struct vbd_error *err)
{
	uint64_t now_wall_ns = vbd_clock_wall_of_ns(vbd_clock_mono_ns());

	(void)trim;
	return vbd_database_execute(database, "DELETE FROM answers WHERE begun_ns < ?1",
		VBD_VALUES(vbd_value_number(now_wall_ns - VBD_ANSWER_AGE_MAX_NS)), err);
}

static enum vbd_status trim_audit(
	const struct vbd_trim *trim, struct vbd_database *database, struct vbd_error *err)
{
	return vbd_database_execute(database,
		"DELETE FROM audit WHERE id <="
		" (SELECT id FROM audit ORDER BY id DESC LIMIT 1 OFFSET ?1)",
		VBD_VALUES(vbd_value_number(trim->audit_max)), err);
}

static enum vbd_status trim_records(
	const struct vbd_trim *trim, struct vbd_database *database, struct vbd_error *err)
{
	enum vbd_status status = VBD_OK;

	for (unsigned int i = VBD_KIND_DEVICE + 1; i < VBD_KIND_COUNT && status == VBD_OK; i++) {
		if (trim->records.max[i] == VBD_KEPT_WITHIN)
			continue;
		status = vbd_database_execute(database,
			"DELETE FROM records WHERE kind = ?1 AND ended_ns IS NOT NULL AND id <="
			" (SELECT id FROM records WHERE kind = ?1 AND ended_ns IS NOT NULL"
			" ORDER BY id DESC LIMIT 1 OFFSET ?2)",
			VBD_VALUES(vbd_value_text(vbd_object_kind_name((enum vbd_object_kind)i)),
				vbd_value_number(trim->records.max[i])),
			err);
	}
	return status;
}

static const struct table tables[VBD_TRIM_TABLES] = {
	{"SELECT max(seq) FROM events", EVENTS_SLACK, trim_events},
	{"SELECT max(id) FROM answers", ANSWERS_SLACK, trim_answers},
	{"SELECT max(id) FROM audit", AUDIT_SLACK, trim_audit},
	{"SELECT max(rowid) FROM records", RECORDS_SLACK, trim_records},
};

enum vbd_status vbd_trim_run(
	struct vbd_trim *trim, struct vbd_database *database, struct vbd_error *err)
{
	enum vbd_status status = VBD_OK;

	for (size_t i = 0; i < VBD_TRIM_TABLES && status == VBD_OK; i++) {
		uint64_t newest = 0;

		status = vbd_database_number(database, tables[i].newest, &newest, err);
		if (status != VBD_OK || newest < trim->trimmed[i] + tables[i].slack)
			continue;
		trim->trimmed[i] = newest;
		status = tables[i].trim(trim, database, err);
	}
	return status;
}
