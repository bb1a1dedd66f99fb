/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table `records`: a row for each object of a kind with a history, from its beginning until
 * newer ended objects take its place. A row without an end is of an object that is open, or was
 * when its run was killed.
 */
#ifndef VBD_DAEMON_STORE_RECORD_TABLE_H
#define VBD_DAEMON_STORE_RECORD_TABLE_H

#include "base/attr.h"
#include "base/error.h"
#include "daemon/core/kinds.h"
#include "daemon/core/object.h"
#include "daemon/core/record.h"

struct vbd_database;
struct vbd_store;
struct vbd_words;

/* A record of an earlier run, without its labels and owner. */
struct vbd_record_row {
	struct vbd_record *record;
	enum vbd_object_kind kind;
	const char *labels; /* of the pool: "job=x,team=y"; "" for none */
	const char *owner;  /* of the pool; "" for the daemon */
};

/* For each kind the most records. */
struct vbd_record_limits {
	uint64_t max[VBD_KIND_COUNT]; /* VBD_KEPT_WITHIN for a kind without a history */
};

/**
 * vbd_record_table_load - the newest records of each kind, by kind, the oldest of a kind first
 * @rows, @count: NULL and 0 at first; the caller frees the rows with vbd_record_rows_free(), on
 *                failure too
 *
 * A record without an end has `ended_wall_ns` 0. The store's thread.
 */
enum vbd_status vbd_record_table_load(struct vbd_database *database,
	const struct vbd_record_limits *limits, struct vbd_words *words,
	struct vbd_record_row **rows, size_t *count, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_record_rows_free - free rows with the records that are still theirs */
void vbd_record_rows_free(struct vbd_record_row *rows, size_t count);

/** vbd_record_put - keep an object as it is now; @body, its JSON, is copied; the control thread.
 * Returns false if the store did not take the row. */
bool vbd_record_put(struct vbd_store *store, const struct vbd_object *object, const char *body);

/** vbd_record_put_gone - forget an object; the control thread */
void vbd_record_put_gone(struct vbd_store *store, enum vbd_object_kind kind, uint64_t id);

/** vbd_record_put_moved - an object has got another id, and its row with it; the control thread */
void vbd_record_put_moved(
	struct vbd_store *store, enum vbd_object_kind kind, uint64_t id, uint64_t new_id);

/** vbd_record_put_deaths - note that what earlier runs have left open ended with them; the control
 * thread */
void vbd_record_put_deaths(struct vbd_store *store, uint64_t died_wall_ns);

/** vbd_record_die - let an open record end with its run, which was alive at @died_wall_ns */
void vbd_record_die(struct vbd_record *record, uint64_t died_wall_ns);

#endif
