/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/trim.h"

#include "daemon/store/answer_table.h"
#include "daemon/store/audit_table.h"
#include "daemon/store/database.h"
#include "daemon/store/event_table.h"
#include "daemon/store/run_table.h"

/* Rows of a table that may stand above its limit, so that not every batch looks for the oldest. */
#define EVENTS_SLACK  256
#define ANSWERS_SLACK 64
#define AUDIT_SLACK   256

/* Written rows of records after which newer ones may stand above the limit; the daemon deletes the
 * older ones by itself, unless the queue was full. */
#define RECORDS_SLACK 1024

static enum vbd_status trim_answers(
	struct vbd_trim *trim, struct vbd_database *database, struct vbd_error *err)
{
	uint64_t last = 0;
	enum vbd_status status =
		vbd_database_number(database, "SELECT max(id) FROM answers", &last, err);

	if (status != VBD_OK || last < trim->trimmed_answer + ANSWERS_SLACK)
		return status;
	trim->trimmed_answer = last;
	return vbd_answer_table_trim(database, trim->answers_max, VBD_ANSWERS_BYTES_MAX, err);
}

static enum vbd_status trim_events(
	struct vbd_trim *trim, struct vbd_database *database, struct vbd_error *err)
{
	uint64_t last = 0;
	enum vbd_status status =
		vbd_database_number(database, "SELECT max(seq) FROM events", &last, err);

	if (status != VBD_OK || last < trim->trimmed_seq + EVENTS_SLACK)
		return status;
	trim->trimmed_seq = last;
	status = vbd_event_table_trim(database, trim->events_max, err);
	return status == VBD_OK ? vbd_run_table_trim(database, err) : status;
}

static enum vbd_status trim_audit(
	struct vbd_trim *trim, struct vbd_database *database, struct vbd_error *err)
{
	uint64_t last = 0;
	enum vbd_status status =
		vbd_database_number(database, "SELECT max(id) FROM audit", &last, err);

	if (status != VBD_OK || last < trim->trimmed_audit + AUDIT_SLACK)
		return status;
	trim->trimmed_audit = last;
	return vbd_audit_table_trim(database, trim->audit_max, err);
}

static enum vbd_status trim_records(
	struct vbd_trim *trim, struct vbd_database *database, struct vbd_error *err)
{
	uint64_t last = 0;
	enum vbd_status status =
		vbd_database_number(database, "SELECT max(rowid) FROM records", &last, err);

	if (status != VBD_OK || last < trim->trimmed_record + RECORDS_SLACK)
		return status;
	trim->trimmed_record = last;
	return vbd_record_table_trim(database, &trim->records, err);
}

enum vbd_status vbd_trim_run(
	struct vbd_trim *trim, struct vbd_database *database, struct vbd_error *err)
{
	enum vbd_status status = trim_events(trim, database, err);

	if (status == VBD_OK)
		status = trim_answers(trim, database, err);
	if (status == VBD_OK)
		status = trim_audit(trim, database, err);
	return status == VBD_OK ? trim_records(trim, database, err) : status;
}
