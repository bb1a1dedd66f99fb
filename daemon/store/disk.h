/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The database in state_dir as the store's thread uses it: opened, and opened again when its files
 * have gone and come back; written in transactions, each of which is counted in the database and
 * outside, in the mark (daemon/store/files.h). So the loss of any part of a file is noticed.
 *
 * The store's thread only; each function may block on the disk.
 */
#ifndef VBD_DAEMON_STORE_DISK_H
#define VBD_DAEMON_STORE_DISK_H

#include "base/attr.h"
#include "base/error.h"
#include "base/list.h"
#include "daemon/store/files.h"
#include "daemon/store/store.h"

/* Ids that the control thread is going to use, see vbd_store_reserve(). */
struct vbd_reserve {
	uint64_t number;  /* of the reserve; 0 before the first */
	uint64_t highest; /* id of any kind in it */
};

struct vbd_disk {
	char state_dir[1024];
	struct vbd_store_ops ops;
	void *arg;
	struct vbd_store_files files;
	struct vbd_database *database; /* NULL: closed */
	bool tried;		       /* to open it */
	bool loaded;		       /* `load` has succeeded */
	bool begun;		       /* the database knows of this run */
	bool replaced;		       /* a damaged database was set aside, and that was told */
	uint64_t transactions;	       /* of all runs, as far as they are known */
	uint64_t stamp, stamp_before;  /* as in the mark; 0 before the first opening */
	uint64_t floor;		       /* see struct vbd_store_state; above all others until the
					* state was read */
	uint64_t highest;	       /* id that the database or the mark is known to have */
	uint64_t reserve_written;      /* number of the newest reserve that the database has */
	uint64_t reserved;	       /* likewise, that the database or the mark has */
	uint64_t losses, renewals;     /* likewise */
	char loss[240];		       /* likewise */
};

/** vbd_disk_init - a database that is closed; @ops, @arg: used until vbd_disk_close() */
void vbd_disk_init(
	struct vbd_disk *disk, const char *state_dir, const struct vbd_store_ops *ops, void *arg);

/**
 * vbd_disk_open - open the database, compare it with the mark, load it if nothing was loaded so
 * far, and write the ids of this run in reserve
 *
 * A read that fails, and all that looks like a loss, is looked at again by a connection of its own.
 * Without the database the ids of this run begin above those of all others, and the mark has them
 * as far as it can be written.
 *
 * Refuses a database in place of the one that this run has written: its objects and answers are not
 * those of this run.
 *
 * A damaged database is set aside, and another one begun with what can be read of it. On failure
 * the database may be open: it could not be written.
 */
enum vbd_status vbd_disk_open(struct vbd_disk *disk, const struct vbd_reserve *reserve,
	struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_disk_write - write items in a transaction, after an attempt to open a closed database
 * @items:   of struct vbd_row; they stay the caller's
 * @reserve: of ids; while the database can't be written, its mark gets them
 *
 * With a promise among the items the function returns VBD_OK only when that is kept. For
 * VBD_PROMISE_KEPT the files are those of state_dir then.
 */
enum vbd_status vbd_disk_write(struct vbd_disk *disk, const struct vbd_link *items,
	const struct vbd_reserve *reserve, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_disk_unknown_floor - an id above those of all runs, for a run that can't read the database,
 * or write it; see vbd_store_state; any thread */
uint64_t vbd_disk_unknown_floor(void);

/** vbd_disk_close - close the database, and return the lock */
void vbd_disk_close(struct vbd_disk *disk);

/*
 * Takes over what can still be read of a damaged database.
 *
 * The store's thread only; the function may block on the disk.
 */

/**
 * vbd_salvage - write the rows of a damaged database that are whole into a new one
 * @from:     the damaged file, of which nothing is changed
 * @to:       an empty file; a database in one file afterwards
 * @ret_kept: the number of kept objects that @to has
 *
 * A row whose sum does not fit, or of another schema, is left out. Fails only if @to can't be
 * written.
 */
enum vbd_status vbd_salvage(
	const char *from, const char *to, uint64_t *ret_kept, struct vbd_error *err) VBD_MUST_CHECK;

#endif
