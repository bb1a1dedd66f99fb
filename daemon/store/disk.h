/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The database in state_dir as the store's thread uses it: opened, and opened again when its files
 * have gone and come back; written in transactions, each of which is counted in the database and
 * outside, in the mark. So the loss of any part of a file is noticed.
 *
 * The store's thread only; each function may block on the disk.
 */
#ifndef VBD_DAEMON_STORE_DISK_H
#define VBD_DAEMON_STORE_DISK_H

#include "base/attr.h"
#include "base/error.h"
#include "base/list.h"
#include "daemon/store/store.h"

#include <sys/types.h>

/* --- the files in state_dir, which is locked: the database, its mark, and a damaged database that
 * was set aside --------------------------------------------------------------------------------
 */

#define VBD_STORE_PATH_BYTES 1088 /* of a file in state_dir */

#define VBD_STORE_FILE	       "state.db"
#define VBD_STORE_FILE_DAMAGED "state.db.damaged"
#define VBD_STORE_FILE_NEW     "state.db.new"
#define VBD_STORE_FILE_MARK    "mark"

struct vbd_store_files {
	char database[VBD_STORE_PATH_BYTES];
	char new_database[VBD_STORE_PATH_BYTES];
	int lock_fd;	     /* the directory, locked; -1 without the lock */
	int mark_fd;	     /* -1 while the files are closed */
	dev_t directory_dev; /* of the directory in which a database was opened */
	bool known;	     /* @directory_dev is set */
	/* The database when vbd_store_files_note() was called; the size is the largest one seen. */
	dev_t dev;
	ino_t ino;
	off_t size_bytes;
};

/* Numbers that are kept beside the database, in a file of one line. */
struct vbd_store_mark {
	uint64_t transactions; /* that the database has */
	uint64_t highest;      /* the highest id of any kind, and number of an event, in reserve */
	/* Random numbers. Each opening writes a new one into the mark, and then into the database;
	 * a database without either of the two is not the one that the mark was written for. */
	uint64_t stamp, stamp_before;
};

/** vbd_store_files_init - closed files */
void vbd_store_files_init(struct vbd_store_files *files);

/**
 * vbd_store_files_open - make the directory (mode 0700) and an empty file of the database (0600),
 * unless they are there, and lock the directory
 *
 * Refuses (1) what is no directory or regular file, or belongs to another user than root and our
 * own; (2) a directory that others can write to, or can replace, since they may write to a folder
 * above; (3) a directory that another daemon uses. After a database was opened once, makes no
 * directory, and no database on another file system: the right one may come back. The lock ends
 * with the process.
 */
enum vbd_status vbd_store_files_open(
	struct vbd_store_files *files, const char *state_dir, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_store_files_make_new - make an empty file @new_database, in place of one that is there */
enum vbd_status vbd_store_files_make_new(
	const struct vbd_store_files *files, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_store_files_set_aside - give the closed database another name, and @new_database its place
 *
 * The first one that was set aside stays, and the newest one. After a kill in between,
 * vbd_store_files_open() puts @new_database in its place. */
enum vbd_status vbd_store_files_set_aside(
	const struct vbd_store_files *files, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_store_files_note - remember which file the open database is */
enum vbd_status vbd_store_files_note(
	struct vbd_store_files *files, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_store_files_check - VBD_E_NOT_FOUND unless the path of the database leads to the file that
 * was noted, and the file has not become shorter */
enum vbd_status vbd_store_files_check(
	struct vbd_store_files *files, struct vbd_error *err) VBD_MUST_CHECK;

/* No verbsd gives an id above: a JSON number is exact up to here. */
#define VBD_STORE_ID_MAX ((UINT64_C(1) << 53) - 1)

/** vbd_store_files_read_mark - VBD_E_NOT_FOUND if there is none, VBD_E_BAD_VALUE if it can't be
 * read, or has a number that no verbsd writes */
enum vbd_status vbd_store_files_read_mark(
	const struct vbd_store_files *files, struct vbd_store_mark *ret_mark) VBD_MUST_CHECK;

/** vbd_store_files_write_mark - replace the mark
 * @sync: wait until the disk has it; else a host that loses power may lose it */
enum vbd_status vbd_store_files_write_mark(const struct vbd_store_files *files,
	const struct vbd_store_mark *mark, bool sync, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_store_files_close - return the lock */
void vbd_store_files_close(struct vbd_store_files *files);

/* --- the database and its mark --------------------------------------------------------------- */

/* Ids that the control thread is going to use, see vbd_store_reserve(). */
struct vbd_reserve {
	uint64_t number;  /* of the reserve; 0 before the first */
	uint64_t highest; /* id of any kind in it */
};

/* The findings of an attempt to read the files, which the next attempt may correct. */
struct vbd_disk_findings {
	uint64_t transactions; /* of all runs, as far as they are known */
	uint64_t stamp_before; /* as in the mark */
	uint64_t losses;       /* see struct vbd_store_state */
	char loss[240];	       /* likewise */
};

struct vbd_disk {
	char state_dir[1024];
	struct vbd_store_ops ops;
	void *arg;
	struct vbd_store_files files;
	struct vbd_database *database; /* NULL: closed */
	bool tried;		       /* to open it */
	bool loaded;		       /* `load` has succeeded */
	bool begun;		       /* the database has the row of this run */
	bool replaced; /* a damaged database was set aside, and the loss is reported */
	struct vbd_disk_findings found;
	uint64_t stamp;	  /* as in the mark; 0 before the first opening */
	uint64_t floor;	  /* see struct vbd_store_state; above all others until the
			   * state was read */
	uint64_t highest; /* the highest id that is known to be in the database or the mark */
	uint64_t reserve_written; /* number of the newest reserve that the database has */
	uint64_t reserved;	  /* the newest reserve that the database or the mark has */
	uint64_t renewals;	  /* see struct vbd_store_state */
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
 * @promise: the strongest one of the items, which then holds for all of them
 * @reserve: of ids; while the database can't be written, its mark gets them
 *
 * With a promise among the items the function returns VBD_OK only when that is kept. For
 * VBD_PROMISE_KEPT the files are those of state_dir then.
 */
enum vbd_status vbd_disk_write(struct vbd_disk *disk, const struct vbd_link *items,
	enum vbd_promise promise, const struct vbd_reserve *reserve,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_disk_unknown_floor - an id above those of all runs, for a run that can't read the database,
 * or write it; see vbd_store_state; any thread */
uint64_t vbd_disk_unknown_floor(void);

/** vbd_disk_close - close the database, and return the lock */
void vbd_disk_close(struct vbd_disk *disk);

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
