/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small tables, and the bounds of all. Functions with a database are the store's thread's, and
 * may block on the disk; the others are the control thread's.
 */
#ifndef VBD_DAEMON_STORE_TABLES_H
#define VBD_DAEMON_STORE_TABLES_H

#include "base/attr.h"
#include "base/error.h"
#include "daemon/core/kinds.h"
#include "daemon/store/record_table.h"
#include "daemon/store/store.h"

struct vbd_database;
struct vbd_link;
struct vbd_store;

/* --- `runs`: each run of the daemon; one without an end is the present one, or was killed ----- */

#define VBD_SERVER_ID_BYTES 17

/** vbd_run_table_load - the server_id of the newest run if it was killed; else "" */
enum vbd_status vbd_run_table_load(struct vbd_database *database,
	char ret_killed[VBD_SERVER_ID_BYTES], struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_run_table_begin - add the row of this run, unless it is there */
enum vbd_status vbd_run_table_begin(struct vbd_database *database, const char *server_id,
	uint64_t started_wall_ns, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_run_put_stop - this run ends on its own accord */
void vbd_run_put_stop(struct vbd_store *store);

/* --- `ids`: for each kind of object the highest id that a run may have given, and for events the
 * highest number, so that the next run goes on behind them. A run that was killed had some in
 * reserve, which are left out. ----------------------------------------------------------------- */

/* A run notes ids so far ahead of their use. */
#define VBD_IDS_AHEAD ((uint64_t)2 * VBD_STORE_ITEMS_MAX)

/** vbd_id_table_load - the ids by kind; VBD_KIND_NONE: the number of events; 0 for none yet */
enum vbd_status vbd_id_table_load(struct vbd_database *database, uint64_t ret_ids[VBD_KIND_COUNT],
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_id_table_raise - note an id, unless a higher one is noted */
enum vbd_status vbd_id_table_raise(struct vbd_database *database, enum vbd_object_kind kind,
	uint64_t last, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_id_put - note an id, also in place of a higher one */
void vbd_id_put(struct vbd_store *store, enum vbd_object_kind kind, uint64_t last);

/* --- `answers`: Idempotency-Keys and the answers of their requests, without secrets ----------- */

#define VBD_ANSWER_PRINT_BYTES 32

/* An answer is given to repeats for so long, and bodies have at most so many bytes together. */
#define VBD_ANSWER_AGE_MAX_NS (600 * UINT64_C(1000000000))
#define VBD_ANSWERS_BYTES_MAX ((size_t)16777216)

/* An answer that a repeat of its request gets. The texts are the caller's. */
struct vbd_answer {
	const char *key; /* "CALLER KEY" */
	uint8_t print[VBD_ANSWER_PRINT_BYTES];
	uint64_t begun_wall_ns;
	unsigned int status;
	const char *code;	  /* of a problem; "" for none */
	const char *content_type; /* "" without a body */
	const char *headers;	  /* "Location: /v1/buffers/7\n", a line each */
	const void *body;
	size_t body_bytes;
};

/** vbd_answer_table_load - append the answers of requests since @since_wall_ns, the
 * oldest first; on failure @rows is empty */
enum vbd_status vbd_answer_table_load(struct vbd_database *database, uint64_t since_wall_ns,
	struct vbd_link *rows, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_answers_take - call @cb for each, with texts that are valid in the call only, and free the
 * rows */
void vbd_answers_take(
	struct vbd_link *rows, void (*cb)(const struct vbd_answer *answer, void *arg), void *arg);

/** vbd_answer_put - keep an answer, which is copied, in place of the one of its key, or with the
 * status 0 delete that one; returns the ticket of vbd_store_put() */
uint64_t vbd_answer_put(struct vbd_store *store, const struct vbd_answer *answer);

/* --- `desired`: the objects that requests asked to keep, so that the next run makes them ------ */

/* The texts are the caller's. */
struct vbd_desired {
	const char *kind;  /* "listener" */
	const char *name;  /* there is one row of a name */
	const char *owner; /* name of the caller; "" for the daemon */
	const char *body;  /* JSON of the request */
};

/** vbd_desired_table_load - append all rows, the oldest first; on failure @rows is empty */
enum vbd_status vbd_desired_table_load(
	struct vbd_database *database, struct vbd_link *rows, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_desired_take - call @cb for each, with texts that are valid in the call only, and free the
 * rows */
void vbd_desired_take(
	struct vbd_link *rows, void (*cb)(const struct vbd_desired *row, void *arg), void *arg);

/** vbd_desired_put - add a row, which is copied, or replace that of its name; returns the ticket of
 * vbd_store_put() */
uint64_t vbd_desired_put(struct vbd_store *store, const struct vbd_desired *row);

/** vbd_desired_drop - delete the row of @name; returns the ticket */
uint64_t vbd_desired_drop(struct vbd_store *store, const char *name);

/* --- the bounds: the oldest rows of the tables that the configuration bounds are deleted ------ */

#define VBD_TRIM_TABLES 3

struct vbd_trim {
	uint64_t events_max; /* rows */
	struct vbd_record_limits records;
	uint64_t trimmed[VBD_TRIM_TABLES]; /* the newest row of each when it was trimmed last */
};

/** vbd_trim_run - trim the tables that have grown enough since; in a transaction */
enum vbd_status vbd_trim_run(
	struct vbd_trim *trim, struct vbd_database *database, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_trim_events - delete all but the newest @max events, and the runs that no row is of */
enum vbd_status vbd_trim_events(
	struct vbd_database *database, uint64_t max, struct vbd_error *err) VBD_MUST_CHECK;

#endif
