/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store: a thread that writes what the control thread hands to it into the database in
 * state_dir, in batches of one transaction. The control thread never waits for it: the queue is
 * bounded, and what finds it full is dropped and counted.
 *
 * A batch that fails (no room on the disk) waits and is tried again, together with what comes
 * meanwhile. A database that is found damaged is set aside, and another one begun with what can be
 * read of it. One that can't be opened, or has gone, is looked for again with each attempt.
 */
#ifndef VBD_DAEMON_STORE_STORE_H
#define VBD_DAEMON_STORE_STORE_H

#include "base/attr.h"
#include "base/error.h"
#include "daemon/store/database.h"

struct vbd_store;

/* Limits on the queue: items, and their bytes. */
#define VBD_STORE_ITEMS_MAX 65536
#define VBD_STORE_BYTES_MAX ((size_t)16777216)

/* Functions of the store's thread; each may block on the disk. */
struct vbd_store_ops {
	/* Read what earlier runs have left; once, if possible before vbd_store_create() returns. */
	enum vbd_status (*load)(struct vbd_database *database, void *arg, struct vbd_error *err);
	/* In a transaction, in each database before anything else is written, and for each reserve
	 * of ids.
	 * @floor: of ids; see struct vbd_store_state */
	enum vbd_status (*begin)(
		struct vbd_database *database, uint64_t floor, void *arg, struct vbd_error *err);
	/* At the end of each transaction that writes items. */
	enum vbd_status (*trim)(struct vbd_database *database, void *arg, struct vbd_error *err);
};

struct vbd_store_state {
	bool failing;	   /* nothing can be written now, or at all */
	bool loaded;	   /* `load` has succeeded */
	bool is_open;	   /* the database is open */
	uint64_t floor;	   /* earlier runs may have given ids up to this one */
	uint64_t losses;   /* counts the times that written rows were lost */
	uint64_t renewals; /* counts openings of a database that may lack rows of this run */
	char text[240];	   /* why it fails; "" otherwise */
	char loss[240];	   /* the newest loss; "" before the first */
	uint64_t written, dropped, failures; /* items, items, attempts */
	uint64_t last_ticket;		     /* items with tickets up to this one are written */
	uint64_t reserved; /* reserves of vbd_store_reserve() up to this number are written */
	uint64_t waiting;  /* items */
};

/**
 * vbd_store_create - start the thread, and wait until it has loaded or can't open the database
 * @state_dir:  made if it is not there
 * @ops, @arg:  used until vbd_store_destroy() returns true
 *
 * Control thread; blocks as long as the thread gets on, and for VBD_STORE_OPEN_MS without progress.
 * A database that can't be opened is no error of this function: see vbd_store_state(). Returns
 * VBD_E_NO_MEMORY, or the status of a failed pthread_create(3).
 */
enum vbd_status vbd_store_create(const char *state_dir, const struct vbd_store_ops *ops, void *arg,
	struct vbd_store **ret_store, struct vbd_error *err) VBD_MUST_CHECK;
#define VBD_STORE_OPEN_MS 20000

/**
 * vbd_store_put - have a statement executed in a transaction; does not block
 * @promise: what must hold before the ticket counts as written; items that wait together share one
 *           flush
 * @sql:     a static string; executed again if the transaction fails
 * @values:  its parameters, which are copied
 *
 * Returns the statement's ticket, greater than all earlier ones. VBD_TICKET_NONE if the statement
 * was dropped: the queue is full, which is a failure of the store; the store is closed; or there is
 * no memory.
 */
uint64_t vbd_store_put(struct vbd_store *store, enum vbd_promise promise, const char *sql,
	const struct vbd_value *values);
#define VBD_TICKET_NONE	 UINT64_C(0)
#define VBD_TICKET_KNOWN UINT64_C(1) /* of what earlier runs have written */

/** vbd_store_reserve - have `begin` write ids that are going to be used, up to @highest; while the
 * database can't be written, the file beside it says so; returns a number for `reserved` of the
 * state */
uint64_t vbd_store_reserve(struct vbd_store *store, uint64_t highest);

/** vbd_store_has_room - whether the queue takes more without delay: it is less than half full; true
 * for a store that takes nothing at all; any thread */
bool vbd_store_has_room(struct vbd_store *store);

/** vbd_store_state - a copy; a batch that takes longer than VBD_STORE_HANG_MS is a failure until it
 * ends; any thread; does not block */
struct vbd_store_state vbd_store_state(struct vbd_store *store);
#define VBD_STORE_HANG_MS 3000

/** vbd_store_fd - readable after `failing` has changed, and when items with another promise than
 * VBD_PROMISE_NOTHING are written, until vbd_store_rearm() */
int vbd_store_fd(const struct vbd_store *store);
void vbd_store_rearm(struct vbd_store *store);

/** vbd_store_settle - block until all items so far are written, or the next attempt to do so has
 * failed, for @timeout_ms at most */
void vbd_store_settle(struct vbd_store *store, unsigned int timeout_ms);

/**
 * vbd_store_destroy - write what waits, close the database and end the thread
 *
 * Blocks for @timeout_ms at most; false if the thread hangs in a call by then: it keeps its memory,
 * @ops and @arg, until the end of the process. NULL is fine.
 */
bool vbd_store_destroy(struct vbd_store *store, unsigned int timeout_ms);

#endif
