/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/disk.h"

#include "base/clock.h"
#include "base/log.h"
#include "daemon/store/database.h"
#include "daemon/store/schema.h"
#include "daemon/store/tables.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* The floor of ids for a run that can't read the database: 2^20 for each second of the wall clock.
 * Ids of earlier runs are below the floor, unless a run gave more than 2^20 a second, or the clock
 * was set back. The floor stays below 2^53, up to which a JSON number is exact, until 2242. */
static uint64_t unknown_floor(void)
{
	return vbd_clock_wall_of_ns(vbd_clock_mono_ns()) / VBD_NS_PER_S << 20;
}

void vbd_disk_init(
	struct vbd_disk *disk, const char *state_dir, const struct vbd_store_ops *ops, void *arg)
{
	*disk = (struct vbd_disk){.ops = *ops, .arg = arg, .floor = unknown_floor()};
	(void)snprintf(disk->state_dir, sizeof(disk->state_dir), "%s", state_dir);
	vbd_store_files_init(&disk->files);
}

VBD_PRINTF(2, 3) static void lost(struct vbd_disk *disk, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(disk->loss, sizeof(disk->loss), fmt, ap);
	va_end(ap);
	disk->losses++;
}

/* --- closing --------------------------------------------------------------------------------- */

static void close_database(struct vbd_disk *disk)
{
	vbd_database_close(disk->database);
	disk->database = NULL;
	disk->begun = false;
}

void vbd_disk_close(struct vbd_disk *disk)
{
	close_database(disk);
	vbd_store_files_close(&disk->files);
}

/* The files may have moved: a log at the same path may belong to another database. */
static void abandon(struct vbd_disk *disk)
{
	if (disk->database)
		vbd_database_leave_log(disk->database);
	vbd_disk_close(disk);
}

/* --- the count of transactions ---------------------------------------------------------------- */

/* Other values are none that this program writes; see VBD_DATABASE_NUMBER_MAX. */
#define IN_RANGE " AND last BETWEEN 0 AND 4611686018427387904"

/* @ret_highest: the highest id of any kind that is noted */
static enum vbd_status read_numbers(struct vbd_database *database, uint64_t *ret_transactions,
	uint64_t *ret_highest, struct vbd_error *err)
{
	enum vbd_status status = vbd_database_number(database,
		"SELECT last FROM ids WHERE kind = 'transaction'" IN_RANGE, ret_transactions, err);

	return status == VBD_OK
		       ? vbd_database_number(database,
				 "SELECT max(last) FROM ids WHERE kind <> 'transaction'" IN_RANGE,
				 ret_highest, err)
		       : status;
}

static enum vbd_status count_transactions(
	struct vbd_database *database, uint64_t transactions, struct vbd_error *err)
{
	return vbd_database_execute(database,
		"INSERT OR REPLACE INTO ids (kind, last) VALUES ('transaction', ?1)",
		VBD_VALUES(vbd_value_number(transactions)), err);
}

/* --- writing --------------------------------------------------------------------------------- */

static enum vbd_status commit(
	struct vbd_disk *disk, struct vbd_store_mark *mark, struct vbd_error *err)
{
	uint64_t unused;
	enum vbd_status status = disk->ops.trim(disk->database, disk->arg, err);

	if (status == VBD_OK)
		status = count_transactions(disk->database, mark->transactions, err);
	if (status == VBD_OK)
		status = read_numbers(disk->database, &unused, &mark->highest, err);
	return status == VBD_OK ? vbd_database_commit(disk->database, err) : status;
}

static enum vbd_status write_items(struct vbd_disk *disk, const struct vbd_link *items,
	struct vbd_store_mark *mark, struct vbd_error *err)
{
	enum vbd_status status = vbd_database_begin(disk->database, err);

	if (status == VBD_OK && !disk->begun)
		status = disk->ops.begin(disk->database, disk->floor, disk->arg, err);
	vbd_list_for_each (link, items) {
		const struct vbd_row *row = VBD_CONTAINER_OF(link, const struct vbd_row, link);

		if (status == VBD_OK)
			status = vbd_database_execute(disk->database, row->sql, row->values, err);
	}
	mark->transactions = disk->transactions + 1;
	if (status == VBD_OK)
		status = commit(disk, mark, err);
	if (status != VBD_OK) {
		vbd_database_rollback(disk->database);
		return status;
	}
	disk->begun = true;
	disk->transactions = mark->transactions;
	return VBD_OK;
}

/* A checkpoint that fails breaks no promise: the mark tells if the log is lost before the next one.
 */
static enum vbd_status keep_promise(struct vbd_disk *disk, struct vbd_error *err)
{
	struct vbd_error failure = {0};

	if (vbd_database_run(disk->database, "PRAGMA wal_checkpoint(PASSIVE)", &failure) != VBD_OK)
		vbd_log(VBD_LOG_WARNING, NULL, "state_dir: the log stays long: %s", failure.text);
	return vbd_store_files_check(&disk->files, err);
}

static bool has_promise(const struct vbd_disk *disk, const struct vbd_link *items)
{
	vbd_list_for_each (link, items) {
		if (VBD_CONTAINER_OF(link, const struct vbd_row, link)->promise)
			return true;
	}
	return !disk->begun;
}

static enum vbd_status write_open(
	struct vbd_disk *disk, const struct vbd_link *items, struct vbd_error *err)
{
	bool promise = has_promise(disk, items);
	struct vbd_store_mark mark = {0};
	enum vbd_status status = write_items(disk, items, &mark, err);

	if (status == VBD_OK && promise)
		status = keep_promise(disk, err);
	return status == VBD_OK ? vbd_store_files_write_mark(&disk->files, &mark, promise, err)
				: status;
}

/* --- opening --------------------------------------------------------------------------------- */

static enum vbd_status try_database(struct vbd_disk *disk, struct vbd_error *err)
{
	enum vbd_status status = vbd_database_open(disk->files.database, &disk->database, err);

	return status == VBD_OK ? vbd_schema_prepare(disk->database, err) : status;
}

static bool is_damaged(const struct vbd_disk *disk)
{
	return disk->database && vbd_database_is_damaged(disk->database);
}

static enum vbd_status replace_damaged(
	struct vbd_disk *disk, const struct vbd_error *damage, struct vbd_error *err)
{
	enum vbd_status status;

	close_database(disk);
	status = vbd_store_files_set_aside(&disk->files, err);
	if (status != VBD_OK)
		return status;
	lost(disk, "%s", damage->text);
	disk->renewals++;
	disk->replaced = true;
	status = try_database(disk, err);
	if (status == VBD_OK)
		status = vbd_store_files_note(&disk->files, err);
	if (status != VBD_OK)
		abandon(disk);
	return status;
}

static enum vbd_status open_database(struct vbd_disk *disk, struct vbd_error *err)
{
	struct vbd_error damage = {0};
	enum vbd_status status = try_database(disk, &damage);

	if (status != VBD_OK && is_damaged(disk))
		return replace_damaged(disk, &damage, err);
	*err = damage;
	return status;
}

/* Compare the transactions that the database has with those of the mark. The mark may be a
 * transaction behind: it is written after the commit. */
static enum vbd_status compare(struct vbd_disk *disk, struct vbd_error *err)
{
	struct vbd_store_mark mark = {0};
	uint64_t have = 0, last = 0, known = disk->transactions;
	bool certain;
	enum vbd_status found = vbd_store_files_read_mark(&disk->files, &mark);
	enum vbd_status status = read_numbers(disk->database, &have, &last, err);

	if (status != VBD_OK)
		return status;
	certain = found == VBD_OK || (found == VBD_E_NOT_FOUND && !have && !known);
	if (mark.transactions > known)
		known = mark.transactions;
	if (disk->replaced)
		certain = false;
	else if (have < known)
		lost(disk, "the last %" PRIu64 " of %" PRIu64 " transactions are missing",
			known - have, known);
	else if (found != VBD_OK && !certain)
		lost(disk, "the file %s is %s: transactions may be missing", VBD_STORE_FILE_MARK,
			found == VBD_E_NOT_FOUND ? "missing" : "damaged");
	disk->floor = mark.highest > last ? mark.highest : 0;
	if (found != VBD_OK && !certain)
		disk->floor = unknown_floor();
	disk->replaced = false;
	disk->transactions = have > known ? have : known;
	return VBD_OK;
}

/* The check of the structure does not see all damage: rows that can't be read are some too. */
static enum vbd_status load(struct vbd_disk *disk, struct vbd_error *err)
{
	struct vbd_error damage = {0};
	enum vbd_status status = disk->ops.load(disk->database, disk->arg, &damage);
	unsigned int bad;

	if (status != VBD_OK && is_damaged(disk)) {
		status = replace_damaged(disk, &damage, err);
		return status == VBD_OK ? compare(disk, err) : status;
	}
	*err = damage;
	bad = status == VBD_OK ? vbd_database_bad_rows(disk->database) : 0;
	if (bad)
		lost(disk, "%u rows have values that no verbsd writes, and are left out", bad);
	if (bad && !disk->floor)
		disk->floor = unknown_floor();
	return status;
}

/* The mark has the reserve of ids before the database has, which somebody may hold locked. */
static enum vbd_status reserve(struct vbd_disk *disk, struct vbd_error *err)
{
	struct vbd_store_mark mark = {.transactions = disk->transactions};
	struct vbd_link none;
	uint64_t have;
	enum vbd_status status = read_numbers(disk->database, &have, &mark.highest, err);

	if (disk->floor > mark.highest)
		mark.highest = disk->floor;
	mark.highest += VBD_IDS_AHEAD;
	if (status == VBD_OK)
		status = vbd_store_files_write_mark(&disk->files, &mark, true, err);
	vbd_list_init(&none);
	return status == VBD_OK ? write_open(disk, &none, err) : status;
}

enum vbd_status vbd_disk_open(struct vbd_disk *disk, struct vbd_error *err)
{
	bool first = !disk->tried;
	enum vbd_status status = vbd_store_files_open(&disk->files, disk->state_dir, err);

	disk->tried = true;
	if (status == VBD_OK)
		status = open_database(disk, err);
	if (status == VBD_OK)
		status = compare(disk, err);
	if (status == VBD_OK && first)
		status = load(disk, err);
	if (status == VBD_OK)
		status = vbd_store_files_note(&disk->files, err);
	disk->replaced = false;
	if (status != VBD_OK) {
		abandon(disk);
		return status;
	}
	disk->loaded |= first;
	disk->renewals += !first;
	return reserve(disk, err);
}

/* --- both ------------------------------------------------------------------------------------ */

enum vbd_status vbd_disk_write(
	struct vbd_disk *disk, const struct vbd_link *items, struct vbd_error *err)
{
	struct vbd_error failure = {0};
	enum vbd_status status = disk->database ? vbd_store_files_check(&disk->files, &failure)
						: vbd_disk_open(disk, &failure);

	if (status == VBD_OK)
		status = write_open(disk, items, &failure);
	if (status == VBD_E_NOT_FOUND) {
		abandon(disk);
	} else if (status != VBD_OK && is_damaged(disk)) {
		status = replace_damaged(disk, &failure, err);
		return status == VBD_OK ? write_open(disk, items, err) : status;
	} else if (status != VBD_OK && disk->database && vbd_database_is_broken(disk->database)) {
		abandon(disk);
	}
	*err = failure;
	return status;
}
