/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of a copy: walking a tree, reading and writing pieces of files, and putting received files
 * in place. Every path is opened beneath the directory of an export by openat2(2) with
 * RESOLVE_BENEATH and RESOLVE_NO_MAGICLINKS and RESOLVE_NO_SYMLINKS: no path, link or rename by
 * another process leads out of it. A symlink is neither followed nor replaced: it is NOT_REGULAR,
 * as are devices, FIFOs and sockets, which are never read (O_NONBLOCK, then fstat(2)). Names are
 * bytes, of any encoding.
 *
 * The source is a directory, whose first entry is itself, with an empty path, and whose other
 * entries are beneath it; or one file, whose entry has the name of the file as its path. The
 * receiver puts a directory's entries beneath its own path, and one file where cp(1) does: see
 * vbd_copy_aim(). It makes the directories above that are missing.
 *
 * All functions block on the file system and run on a pool thread (VBD_WORK_FILES); they access
 * nothing but their arguments. A function for a list does every item: a failure of one is that
 * item's fault, and the others go on.
 */
#ifndef VBD_DAEMON_COPIES_COPY_FILES_H
#define VBD_DAEMON_COPIES_COPY_FILES_H

#include "daemon/copies/copy_path.h"

/* The place of a copy in an export, for all functions below. */
struct vbd_copy_root {
	int dir_fd;	  /* the export's directory, O_PATH | O_DIRECTORY; stays the caller's */
	const char *path; /* of HELLO: beneath the directory; a file or a directory */
	uint32_t options; /* of HELLO */
	enum vbd_copy_overwrite overwrite;
	uint64_t max_bytes; /* of one file; UINT64_MAX: no limit */
	uint64_t max_files; /* files and directories of one copy, for a walk; 0: no limit */
	mode_t umask;	    /* is taken from the mode of new files and directories */
	/* `path` is the file itself, the only one, and the path of its entry is only its name: set
	 * by vbd_copy_walk_begin() and vbd_copy_aim(), else false */
	bool itself;
	/* of the names of files that are not complete: of vbd_copy_part_suffix(); for a receiver */
	char part_suffix[VBD_COPY_PART_BYTES];
};

/* An entry of the manifest, as either end keeps it. */
struct vbd_copy_item {
	struct vbd_copy_entry entry; /* path: allocated, the item's own, with a NUL behind it */
	enum vbd_copy_fault fault;   /* OK so far, or the reason why it is not copied */
	uint64_t offset_bytes;	     /* the sender begins there */
	bool placed;		     /* receiver: in place, synced */
	/* For the owner; the functions below do not use these. */
	uint64_t moved_bytes; /* receiver: written so far */
	bool begun;	      /* receiver: there may be an incomplete file */
	bool complete;	      /* receiver: written, and to be put in its place */
	bool over;	      /* done, skipped or failed */
};

/** vbd_copy_items_fini - free the paths of @count items */
void vbd_copy_items_fini(struct vbd_copy_item *items, uint32_t count);

struct vbd_copy_walk;

/**
 * vbd_copy_walk_begin - sender: begin to walk, and set `itself`
 * @root: outlives the walk
 *
 * @ret_walk is NULL if the fault is not OK: IS_DIRECTORY for a directory without RECURSIVE.
 */
enum vbd_copy_fault vbd_copy_walk_begin(
	struct vbd_copy_root *root, struct vbd_copy_walk **ret_walk);

/**
 * vbd_copy_walk_next - the next entries, each directory before its content, in an order that does
 * not depend on the file system: sorted by the bytes of their names
 * @items: @max zeroed items; filled in
 *
 * Returns their number; 0 at the end. Something that is neither file nor directory, is too large,
 * or can't be looked at, is an item with a fault, of the type FILE; one whose path is too long has
 * the path of its directory. No memory, or more than `max_files`: the last item has the fault
 * NO_RESOURCES or TOO_MANY, and the walk is over. Incomplete files of other copies are left out. No
 * descriptor stays open.
 */
uint32_t vbd_copy_walk_next(struct vbd_copy_walk *walk, struct vbd_copy_item *items, uint32_t max);

/** vbd_copy_walk_end - close and free; NULL is fine */
void vbd_copy_walk_end(struct vbd_copy_walk *walk);

/**
 * vbd_copy_aim - receiver: choose the place of the copy, and set `itself`; before all others
 * @first: the first entry of the copy
 *
 * If that is a file, then the copy is of one file: to a path that ends in '/' or is a directory, it
 * goes into that directory under the name that it has; else `path` is its place and name.
 */
enum vbd_copy_fault vbd_copy_aim(struct vbd_copy_root *root, const struct vbd_copy_entry *first);

/**
 * vbd_copy_pick_wanted - receiver: which of the sender's entries are wanted, by `overwrite`
 *
 * Makes the directories, also those above, with mode 0777 less the umask. Sets `fault` of those
 * whose fault is OK: OK wanted; SAME (size and mtime are those of the entry, and `overwrite` is
 * if_newer or if_different) and EXISTS not; else it can't be taken.
 */
void vbd_copy_pick_wanted(
	const struct vbd_copy_root *root, struct vbd_copy_item *items, uint32_t count);

/* Pieces of one slot, and the items that they belong to: items[i] for pieces[i]. */
struct vbd_copy_slot_job {
	const struct vbd_copy_root *root;
	struct vbd_copy_piece pieces[VBD_COPY_PIECES_MAX];
	struct vbd_copy_item *items[VBD_COPY_PIECES_MAX];
	enum vbd_copy_fault faults[VBD_COPY_PIECES_MAX]; /* result, for each piece */
	uint32_t count;
	uint8_t *bytes; /* of all pieces, one behind the other */
};

/** vbd_copy_read - sender: read the pieces into `bytes` and set their checksums. CHANGED if size or
 * mtime of the file are not the entry's, before or after it is read. The bytes of a piece with a
 * fault are zeros. */
void vbd_copy_read(struct vbd_copy_slot_job *job);

/** vbd_copy_write - receiver: check the checksums (CORRUPT) and places (PROTOCOL) of the pieces,
 * and write them into the files with `part_suffix`, which are made with mode 0600. Jobs for the
 * same file may run at the same time. */
void vbd_copy_write(struct vbd_copy_slot_job *job);

/**
 * vbd_copy_place - receiver: put complete files in their places
 *
 * Checks the size (PROTOCOL), sets mode and mtime as of `options` (never setuid, setgid and
 * sticky), then fsync(2), rename(2) over what is there (without replacing for `overwrite` never:
 * EXISTS), and fsync of each directory once. Sets `fault` and `placed` of each item whose fault is
 * OK; for a directory there is nothing to do. The incomplete file of one with a fault stays, for
 * vbd_copy_discard(). Some 500 items at most: it compares the directories of all.
 */
void vbd_copy_place(
	const struct vbd_copy_root *root, struct vbd_copy_item *const *items, uint32_t count);

/** vbd_copy_discard - receiver: delete the incomplete files of items; when no job writes them any
 * more */
void vbd_copy_discard(
	const struct vbd_copy_root *root, struct vbd_copy_item *const *items, uint32_t count);

/* A file or directory for a list. */
struct vbd_copy_listed {
	char name[256];
	struct vbd_copy_entry entry; /* path not set */
	bool other;		     /* neither file nor directory */
};

/**
 * vbd_copy_list - the files in a directory of an export, sorted by the bytes of their names,
 * without incomplete files
 * @after: the names behind this one; "" for the first ones
 * @ret_more: there are more
 * Returns their number; with a fault 0.
 */
uint32_t vbd_copy_list(const struct vbd_copy_root *root, const char *after,
	struct vbd_copy_listed *items, uint32_t max, bool *ret_more,
	enum vbd_copy_fault *ret_fault);

#endif
