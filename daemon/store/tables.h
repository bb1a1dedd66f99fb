/* SPDX-License-Identifier: Apache-2.0 */
/* The tables, and their bounds. Functions that take a database run on the store's thread and may
 * block on the disk; the others run on the control thread. */
#ifndef VBD_DAEMON_STORE_TABLES_H
#define VBD_DAEMON_STORE_TABLES_H

#include "base/attr.h"
#include "base/error.h"
#include "daemon/core/kinds.h"
#include "daemon/store/store.h"
#include "daemon/core/eventlog.h"
#include "daemon/core/labels.h"

struct vbd_callers;
struct vbd_daemon;
struct vbd_database;
struct vbd_link;
struct vbd_store;
struct vbd_store_mark;
struct vbd_words;

/* --- `runs`: each run of the daemon; one without an end is the present one, or was killed ----- */

#define VBD_SERVER_ID_BYTES 17

/** vbd_run_table_load - the server_id of the newest run if it was killed; else "" */
enum vbd_status vbd_run_table_load(struct vbd_database *database,
	char ret_killed[VBD_SERVER_ID_BYTES], struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_run_table_begin - add the row of this run, unless it is there */
enum vbd_status vbd_run_table_begin(struct vbd_database *database, const char *server_id,
	uint64_t started_wall_ns, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_run_put_stop - record that this run ends, and was not killed */
void vbd_run_put_stop(struct vbd_store *store);

/* --- `ids`: for each kind of object the highest id that a run may have given, and for events the
 * highest number, so that the next run goes on behind them. A run that was killed had some in
 * reserve, which are left out. ----------------------------------------------------------------- */

/* A run writes into `ids` numbers so far above those in use. */
#define VBD_IDS_AHEAD ((uint64_t)2 * VBD_STORE_ITEMS_MAX)

/** vbd_id_table_load - the ids by kind; VBD_KIND_NONE: the number of events; 0 for none yet */
enum vbd_status vbd_id_table_load(struct vbd_database *database, uint64_t ret_ids[VBD_KIND_COUNT],
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_id_table_raise - write an id, unless the row has a higher one */
enum vbd_status vbd_id_table_raise(struct vbd_database *database, enum vbd_object_kind kind,
	uint64_t last, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_id_put - write an id, also in place of a higher one */
void vbd_id_put(struct vbd_store *store, enum vbd_object_kind kind, uint64_t last);

/* --- `answers`: Idempotency-Keys and the answers of their requests, without secrets ----------- */

#define VBD_ANSWER_PRINT_BYTES 32

/* Repeats get an answer for so long; all stored bodies have at most so many bytes together. */
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

/** vbd_answer_table_load - append the answers of requests since @since_wall_ns, the oldest first;
 * the columns are as in struct vbd_answer, with the bytes of the body */
enum vbd_status vbd_answer_table_load(struct vbd_database *database, uint64_t since_wall_ns,
	struct vbd_link *rows, struct vbd_error *err) VBD_MUST_CHECK;

/* --- `desired`: the objects that requests asked to keep, so that the next run makes them ------ */

/* The texts are the caller's. */
struct vbd_desired {
	const char *kind;  /* "listener" */
	const char *name;  /* there is one row of a name */
	const char *owner; /* name of the caller; "" for the daemon */
	const char *body;  /* JSON of the request */
};

/** vbd_desired_table_load - append all rows, the oldest first; the columns are as in struct
 * vbd_desired */
enum vbd_status vbd_desired_table_load(
	struct vbd_database *database, struct vbd_link *rows, struct vbd_error *err) VBD_MUST_CHECK;

/* --- the bounds: the oldest rows of the tables that the configuration bounds are deleted ------ */

struct vbd_trim {
	uint64_t events_max;		      /* rows */
	uint64_t records_max[VBD_KIND_COUNT]; /* of each kind; VBD_KEPT_WITHIN: without a history */
	uint64_t trimmed; /* sum of the newest rows' numbers when the tables were trimmed last */
};

/** vbd_trim_run - trim the tables if they have grown by VBD_TRIM_SLACK rows since, so that not
 * every batch looks for the oldest ones; in a transaction */
#define VBD_TRIM_SLACK 256
enum vbd_status vbd_trim_run(
	struct vbd_trim *trim, struct vbd_database *database, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_trim_events - delete all but the newest @max events, and the runs that no row is of */
enum vbd_status vbd_trim_events(
	struct vbd_database *database, uint64_t max, struct vbd_error *err) VBD_MUST_CHECK;

/* --- `events`: the newest events, those of earlier runs among them ---------------------------- */

/** vbd_event_table_load - append the newest @max events, the oldest of them first */
enum vbd_status vbd_event_table_load(struct vbd_database *database, uint64_t max,
	struct vbd_link *rows, struct vbd_error *err) VBD_MUST_CHECK;
/* Columns of these rows: the server_id of the run, and the time. */
#define VBD_EVENT_ROW_RUN   0
#define VBD_EVENT_ROW_AT_NS 1

/**
 * vbd_event_of_row - the event of a row, without its run
 * @words:     get the texts of the event that must stay
 * @ret_event: set in any case; its labels and owner are the caller's references
 *
 * False for an event of a type that this version does not know, and without memory.
 */
bool vbd_event_of_row(const struct vbd_row *row, struct vbd_words *words,
	struct vbd_callers *callers, struct vbd_event *ret_event) VBD_MUST_CHECK;

/** vbd_event_put - keep an event of this run */
void vbd_event_put(struct vbd_store *store, const struct vbd_event *event);

/* --- the schema: docs/state.md describes its tables ---------------------------------------------
 */

/* PRAGMA user_version of the file. No release has written a file of a lower version. */
#define VBD_SCHEMA_VERSION 8

/* SQL: the sum of a row, by its columns. */
#define VBD_ANSWER_SUM	VBD_SUM("key, digest, begun_ns, status, code, content_type, headers, body")
#define VBD_DESIRED_SUM VBD_SUM("kind, name, owner, body")
#define VBD_RUN_OF_ROW	"(SELECT server_id FROM runs WHERE runs.id = run)"
#define VBD_EVENT_SUM                                                                            \
	VBD_SUM("seq, " VBD_RUN_OF_ROW ", at_ns, type, severity, kind, object_id, name, labels," \
		" owner, data, port_num, detail")
#define VBD_RECORD_SUM VBD_RECORD_SUM_OF("id", "state", "end_code", "ended_ns", "body")
#define VBD_RECORD_SUM_OF(id, state, end_code, ended_ns, body)                                     \
	VBD_SUM("kind, " id ", " VBD_RUN_OF_ROW ", name, labels, owner, " state ", " end_code ", " \
		"created_ns, " ended_ns ", " body)

/* SQL: the sum of all ids, and of the numbers of rows of promises: it tells rows that are gone, and
 * pages of different times. */
#define VBD_IDS_SUM                                                                 \
	VBD_SUM("(SELECT group_concat(kind || last) FROM ids WHERE kind <> 'sum')," \
		" (SELECT count(*) FROM desired), (SELECT count(*) FROM answers)")

/** vbd_schema_prepare - begin to use a database: make its tables if there are none; a file of
 * another version, and a database of another program, are refused and not written to */
enum vbd_status vbd_schema_prepare(
	struct vbd_database *database, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_schema_read_numbers - the numbers that the mark has too: the highest id is that of any
 * kind, and a number that is missing is 0 */
enum vbd_status vbd_schema_read_numbers(struct vbd_database *database,
	struct vbd_store_mark *ret_numbers, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_schema_write_numbers - write transactions and stamp of @numbers, and then the sum of all
 * ids */
enum vbd_status vbd_schema_write_numbers(struct vbd_database *database,
	const struct vbd_store_mark *numbers, struct vbd_error *err) VBD_MUST_CHECK;

/* --- texts of columns: a pool keeps one copy of each until it is freed, since events keep pointers
 * to names. One thread at a time. ----------------------------------------------------------------
 */

/* Zeros: an empty pool. */
struct vbd_words {
	void *root; /* of tsearch(3) */
};

/** vbd_words_free - free all texts; the pool is empty then */
void vbd_words_free(struct vbd_words *words);

/** vbd_words_get - the pool's copy of @text; NULL without memory */
const char *vbd_words_get(struct vbd_words *words, const char *text);

/* Pairs of a column, as "state=closed,code=timed_out": no key has '=', and no value ','. There is
 * room for as many as an object may have labels, and a NUL. */
#define VBD_PAIRS_BYTES (VBD_LABELS_MAX * 2 * VBD_LABEL_BYTES)

/** vbd_pairs_of_labels - the pairs of a set of labels; "" for NULL */
void vbd_pairs_of_labels(const struct vbd_labels *labels, char pairs[VBD_PAIRS_BYTES]);

/** vbd_pairs_to_labels - a new set of labels; NULL for none, and without memory */
struct vbd_labels *vbd_pairs_to_labels(const char *pairs);

#endif
