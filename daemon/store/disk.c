/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/disk.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "daemon/store/tables.h"

#include <sys/random.h>

/* The files are looked at so often before a failure, or a loss, counts. */
#define LOOKS_MAX 3

/* The floor of ids for a run that can't read the database: one for each 512 ns of the wall clock.
 * Ids of earlier runs are below the floor, unless a run gave 1.9 million a second all the time, or
 * the clock was set back; two runs with the same time are told apart by a random part of 67 ms. The
 * floor stays below 2^53, up to which a JSON number is exact, until 2116. */
uint64_t vbd_disk_unknown_floor(void)
{
	uint64_t random = 0;

	(void)!getrandom(&random, sizeof(random), 0);
	return (vbd_clock_wall_of_ns(vbd_clock_mono_ns()) >> 9) + (random >> 47);
}

void vbd_disk_init(
	struct vbd_disk *disk, const char *state_dir, const struct vbd_store_ops *ops, void *arg)
{
	*disk = (struct vbd_disk){.ops = *ops, .arg = arg, .floor = vbd_disk_unknown_floor()};
	(void)snprintf(disk->state_dir, sizeof(disk->state_dir), "%s", state_dir);
	vbd_store_files_init(&disk->files);
}

VBD_PRINTF(2, 3) static void add_loss(struct vbd_disk *disk, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(disk->found.loss, sizeof(disk->found.loss), fmt, ap);
	va_end(ap);
	disk->found.losses++;
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

/* Leave the log (WAL) as it is: it may be another database's by now, or a read of it has failed. */
static void close_but_keep_log(struct vbd_disk *disk)
{
	vbd_database_leave_log(disk->database, true);
	close_database(disk);
}

static void close_database_and_files(struct vbd_disk *disk)
{
	close_but_keep_log(disk);
	vbd_store_files_close(&disk->files);
}

/* --- the mark -------------------------------------------------------------------------------- */

/* The mark that the next transaction will write; commit_transaction() sets its `highest`. */
static struct vbd_store_mark next_mark(const struct vbd_disk *disk)
{
	return (struct vbd_store_mark){.transactions = disk->found.transactions + 1,
		.stamp = disk->stamp,
		.stamp_before = disk->found.stamp_before};
}

/* --- writing --------------------------------------------------------------------------------- */

static enum vbd_status commit_transaction(
	struct vbd_disk *disk, struct vbd_store_mark *mark, struct vbd_error *err)
{
	struct vbd_store_mark numbers = {0};
	enum vbd_status status = disk->ops.trim(disk->database, disk->arg, err);

	if (status == VBD_OK)
		status = vbd_schema_write_numbers(disk->database, mark, err);
	if (status == VBD_OK)
		status = vbd_schema_read_numbers(disk->database, &numbers, err);
	mark->highest = numbers.highest;
	return status == VBD_OK ? vbd_database_commit(disk->database, err) : status;
}

/* An event's INSERT changes no row if an event of another run has its number. */
static bool is_event_statement(const struct vbd_row *row)
{
	static const char statement[] = "INSERT INTO events ";

	return strncmp(row->sql, statement, strlen(statement)) == 0;
}

static bool has_reserve(const struct vbd_disk *disk, const struct vbd_reserve *reserve)
{
	return disk->begun && disk->reserve_written >= reserve->number;
}

static enum vbd_status write_items(struct vbd_disk *disk, const struct vbd_link *items,
	const struct vbd_reserve *reserve, enum vbd_promise promise, struct vbd_store_mark *mark,
	struct vbd_error *err)
{
	enum vbd_status status =
		vbd_database_begin(disk->database, promise >= VBD_PROMISE_FLUSHED, err);
	uint64_t refused = 0;

	/* A flipped bit in an index hides a row from DELETE and REPLACE. */
	if (status == VBD_OK && !disk->begun)
		status = vbd_database_run(disk->database, "REINDEX", err);
	if (status == VBD_OK && !has_reserve(disk, reserve))
		status = disk->ops.begin(disk->database, disk->floor, disk->arg, err);
	vbd_list_for_each (link, items) {
		const struct vbd_row *row = VBD_CONTAINER_OF(link, const struct vbd_row, link);

		if (status == VBD_OK)
			status = vbd_database_execute(disk->database, row->sql, row->values, err);
		if (status == VBD_OK && is_event_statement(row))
			refused += !vbd_database_changed(disk->database);
	}
	if (status == VBD_OK)
		status = commit_transaction(disk, mark, err);
	if (status != VBD_OK) {
		vbd_database_rollback(disk->database);
		return status;
	}
	if (refused)
		add_loss(disk, "%" PRIu64 " events have numbers of another run, and are not kept",
			refused);
	disk->begun = true;
	disk->found.transactions = mark->transactions;
	disk->highest = mark->highest;
	disk->reserve_written = reserve->number;
	return VBD_OK;
}

/* A failed checkpoint breaks no promise: the mark shows if the log is lost before the next one. */
static enum vbd_status checkpoint_log(struct vbd_disk *disk, struct vbd_error *err)
{
	struct vbd_error failure = {0};

	if (vbd_database_run(disk->database, "PRAGMA wal_checkpoint(PASSIVE)", &failure) != VBD_OK)
		vbd_log(VBD_LOG_WARNING, NULL, "state_dir: the log stays long: %s", failure.text);
	return vbd_store_files_check(&disk->files, err);
}

static enum vbd_status write_open(struct vbd_disk *disk, const struct vbd_link *items,
	enum vbd_promise promise, const struct vbd_reserve *reserve, struct vbd_error *err)
{
	struct vbd_store_mark mark = next_mark(disk);
	enum vbd_status status;

	if (!has_reserve(disk, reserve))
		promise = VBD_PROMISE_KEPT;
	status = write_items(disk, items, reserve, promise, &mark, err);
	if (status == VBD_OK && promise == VBD_PROMISE_KEPT)
		status = checkpoint_log(disk, err);
	if (status == VBD_OK)
		status = vbd_store_files_write_mark(
			&disk->files, &mark, promise == VBD_PROMISE_KEPT, err);
	if (status == VBD_OK)
		disk->reserved = reserve->number;
	return status;
}

/* --- the mark without the database ------------------------------------------------------------ */

/* The next run goes on above the mark if that is above the ids of the database. Only the mark that
 * this run has written is changed. */
static void raise_mark_for_reserve(struct vbd_disk *disk, const struct vbd_reserve *reserve)
{
	struct vbd_store_mark mark = {0};

	if (reserve->number <= disk->reserved || disk->files.mark_fd < 0 ||
		vbd_store_files_read_mark(&disk->files, &mark) != VBD_OK ||
		mark.stamp != disk->stamp)
		return;
	if (mark.highest < disk->highest)
		mark.highest = disk->highest;
	if (mark.highest < reserve->highest)
		mark.highest = reserve->highest;
	mark.highest++;
	if (vbd_store_files_write_mark(&disk->files, &mark, true, NULL) != VBD_OK)
		return;
	disk->highest = mark.highest;
	disk->reserved = reserve->number;
}

/* A run that has not read the database gives ids above the mark, and above the clock. */
static void begin_without_database(struct vbd_disk *disk)
{
	struct vbd_store_mark mark = {0};

	disk->floor = vbd_disk_unknown_floor();
	if (disk->files.mark_fd < 0 || vbd_store_files_read_mark(&disk->files, &mark) != VBD_OK)
		return;
	if (mark.highest > disk->floor)
		disk->floor = mark.highest;
	mark.highest = disk->floor + VBD_IDS_AHEAD;
	(void)!vbd_store_files_write_mark(&disk->files, &mark, true, NULL);
}

/* --- opening --------------------------------------------------------------------------------- */

static enum vbd_status open_and_prepare(struct vbd_disk *disk, struct vbd_error *err)
{
	enum vbd_status status = vbd_database_open(disk->files.database, &disk->database, err);

	return status == VBD_OK ? vbd_schema_prepare(disk->database, err) : status;
}

static const char *mark_state(enum vbd_status found)
{
	if (found == VBD_OK)
		return "of another database, or of an earlier state";
	return found == VBD_E_NOT_FOUND ? "missing" : "damaged";
}

static bool has_stamp(uint64_t stamp, uint64_t newest, uint64_t before)
{
	return stamp == newest || stamp == before;
}

/* Compare the database with the mark and with what this run has written. The mark may be a
 * transaction behind: it is written after the commit. */
static enum vbd_status check_mark(struct vbd_disk *disk, uint64_t *ret_floor, struct vbd_error *err)
{
	struct vbd_store_mark mark = {0}, have = {0};
	uint64_t known = disk->found.transactions;
	enum vbd_status found = vbd_store_files_read_mark(&disk->files, &mark);
	enum vbd_status status = vbd_schema_read_numbers(disk->database, &have, err);
	uint64_t torn = 0;
	bool is_new = !have.transactions && !known && !disk->replaced && found == VBD_E_NOT_FOUND;
	bool certain = is_new ||
		       (found == VBD_OK && (!have.transactions || has_stamp(have.stamp, mark.stamp,
									  mark.stamp_before)));

	if (status == VBD_OK)
		status = vbd_database_number(disk->database,
			"SELECT 1 WHERE EXISTS (SELECT * FROM ids) AND " VBD_IDS_SUM
			" IS NOT (SELECT last FROM ids WHERE kind = 'sum')",
			&torn, err);
	if (status != VBD_OK)
		return status;
	if (disk->stamp && have.stamp &&
		!has_stamp(have.stamp, disk->stamp, disk->found.stamp_before))
		return vbd_error_set(err, VBD_E_NOT_FOUND,
			"%s has another state than this run wrote: restart verbsd to use it",
			vbd_text_path(disk->state_dir).text);
	if (mark.transactions > known)
		known = mark.transactions;
	if (have.transactions < known && !disk->replaced)
		add_loss(disk, "the last %" PRIu64 " of %" PRIu64 " transactions are missing",
			known - have.transactions, known);
	else if (!certain && !disk->replaced)
		add_loss(disk, "the file %s is %s: transactions may be missing",
			VBD_STORE_FILE_MARK, mark_state(found));
	else if (torn && !disk->replaced)
		add_loss(disk, "ids are damaged, or rows are missing");
	*ret_floor = mark.highest > have.highest ? mark.highest : 0;
	if (!certain || torn)
		*ret_floor = vbd_disk_unknown_floor();
	disk->found.transactions = have.transactions > known ? have.transactions : known;
	disk->found.stamp_before = have.stamp;
	return VBD_OK;
}

/* The check of the structure does not see all damage: unreadable rows are damage too. */
static enum vbd_status load_rows(struct vbd_disk *disk, uint64_t *floor, struct vbd_error *err)
{
	enum vbd_status status = disk->ops.load(disk->database, disk->arg, err);
	unsigned int bad = status == VBD_OK ? vbd_database_bad_rows(disk->database) : 0;

	if (bad)
		add_loss(disk, "%u rows have values that no verbsd writes, and are left out", bad);
	if (bad && !*floor)
		*floor = vbd_disk_unknown_floor();
	return status;
}

static enum vbd_status read_files(struct vbd_disk *disk, uint64_t *ret_floor, struct vbd_error *err)
{
	enum vbd_status status = open_and_prepare(disk, err);

	if (status == VBD_OK)
		status = check_mark(disk, ret_floor, err);
	if (status == VBD_OK && !disk->loaded)
		status = load_rows(disk, ret_floor, err);
	return status == VBD_OK ? vbd_store_files_note(&disk->files, err) : status;
}

/* The new database is complete before it takes the place of the damaged one. */
static enum vbd_status replace_damaged(
	struct vbd_disk *disk, const struct vbd_error *damage, struct vbd_error *err)
{
	uint64_t kept = 0;
	enum vbd_status status = vbd_store_files_make_new(&disk->files, err);

	if (status == VBD_OK)
		status = vbd_salvage(disk->files.database, disk->files.new_database, &kept, err);
	if (status == VBD_OK)
		status = vbd_store_files_set_aside(&disk->files, err);
	if (status != VBD_OK)
		return status;
	add_loss(disk, "%.140s; it was set aside, and %" PRIu64 " kept objects were read of it",
		damage->text, kept);
	disk->renewals++;
	disk->replaced = true;
	return VBD_OK;
}

/* Looks at the files again after a failure, or a loss: a read may have failed, or come short. A
 * file is set aside only if two connections have seen its damage. */
static enum vbd_status look_at_files(
	struct vbd_disk *disk, uint64_t *ret_floor, struct vbd_error *err)
{
	struct vbd_disk_findings before = disk->found;
	bool seen_loss = false;

	for (unsigned int left = LOOKS_MAX - 1;; left--) {
		struct vbd_error failure = {0};
		enum vbd_status status = read_files(disk, ret_floor, &failure);
		bool lossless = disk->found.losses == before.losses, damaged;

		if (status == VBD_OK && (lossless || seen_loss || !left))
			return VBD_OK;
		damaged = status != VBD_OK && left && vbd_database_is_damaged(disk->database) &&
			  vbd_database_confirm_damage(disk->files.database);
		close_but_keep_log(disk);
		disk->found = before;
		if (!left) {
			*err = failure;
			return status;
		}
		seen_loss = status == VBD_OK;
		if (!damaged)
			continue;
		status = replace_damaged(disk, &failure, err);
		if (status != VBD_OK)
			return status;
		before = disk->found;
	}
}

/* Reserved ids go into the mark before the database, which another program may hold locked. */
static enum vbd_status write_new_mark(struct vbd_disk *disk, uint64_t floor, struct vbd_error *err)
{
	struct vbd_store_mark mark = {0};
	uint64_t random;
	enum vbd_status status = vbd_schema_read_numbers(disk->database, &mark, err);

	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return vbd_error_errno(err, VBD_E_INTERNAL, "getrandom", errno, "a stamp");
	disk->stamp = mark.stamp = (random >> 2) | 1;
	mark.stamp_before = disk->found.stamp_before;
	mark.transactions = disk->found.transactions;
	if (floor > mark.highest)
		mark.highest = floor;
	mark.highest += VBD_IDS_AHEAD;
	disk->highest = mark.highest;
	return status == VBD_OK ? vbd_store_files_write_mark(&disk->files, &mark, true, err)
				: status;
}

enum vbd_status vbd_disk_open(
	struct vbd_disk *disk, const struct vbd_reserve *reserve, struct vbd_error *err)
{
	bool first = !disk->tried;
	uint64_t floor = 0;
	struct vbd_link none;
	enum vbd_status status = vbd_store_files_open(&disk->files, disk->state_dir, err);

	disk->tried = true;
	if (status == VBD_OK)
		status = look_at_files(disk, &floor, err);
	disk->replaced = false;
	if (status == VBD_OK)
		status = write_new_mark(disk, floor, err);
	if (status != VBD_OK) {
		if (first)
			begin_without_database(disk);
		else
			raise_mark_for_reserve(disk, reserve);
		close_database_and_files(disk);
		return status;
	}
	if (first || floor > disk->floor)
		disk->floor = floor;
	disk->loaded = true;
	disk->renewals += !first;
	vbd_list_init(&none);
	return write_open(disk, &none, VBD_PROMISE_NOTHING, reserve, err);
}

/* --- both ------------------------------------------------------------------------------------ */

enum vbd_status vbd_disk_write(struct vbd_disk *disk, const struct vbd_link *items,
	enum vbd_promise promise, const struct vbd_reserve *reserve, struct vbd_error *err)
{
	struct vbd_error failure = {0};
	enum vbd_status status = disk->database ? vbd_store_files_check(&disk->files, &failure)
						: vbd_disk_open(disk, reserve, &failure);

	if (status == VBD_OK)
		status = vbd_database_check_header(disk->database, &failure);
	if (status == VBD_OK)
		status = write_open(disk, items, promise, reserve, &failure);
	if (status == VBD_E_NOT_FOUND) {
		close_database_and_files(disk);
	} else if (status != VBD_OK && vbd_database_is_damaged(disk->database)) {
		close_database_and_files(disk);
		status = vbd_disk_open(disk, reserve, err);
		return status == VBD_OK ? write_open(disk, items, promise, reserve, err) : status;
	} else if (status != VBD_OK) {
		raise_mark_for_reserve(disk, reserve);
		if (vbd_database_is_broken(disk->database))
			close_database_and_files(disk);
	}
	*err = failure;
	return status;
}
