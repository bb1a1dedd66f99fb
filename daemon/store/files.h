/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files in state_dir, which is locked: the database, its mark, and a damaged database that was
 * set aside.
 *
 * The store's thread only; each function may block on the disk.
 */
#ifndef VBD_DAEMON_STORE_FILES_H
#define VBD_DAEMON_STORE_FILES_H

#include "base/attr.h"
#include "base/error.h"

#include <sys/types.h>

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
 * Refuses a directory that others can write to, or whose place they can take since they may write
 * to a folder above, what is no directory or regular file, what belongs
 * to another user than root and our own, and a directory that another daemon uses. After a database
 * was opened once, no directory is made, and no database on another file system: the right one may
 * come back. The lock goes with the process.
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

/** vbd_store_files_note - note which file the open database is */
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

#endif
