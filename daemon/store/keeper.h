/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper: hands what is to outlive this run to the store, and takes over what earlier runs have
 * left. Without state_dir, and with one that can't be used, the daemon serves all the same, and
 * everything stays in memory.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_STORE_KEEPER_H
#define VBD_DAEMON_STORE_KEEPER_H

#include "daemon/core/context.h"
#include "daemon/store/store.h"
#include "daemon/store/tables.h"

/* Returns the JSON of an object as a client with the role "read" sees it, from malloc; or NULL. */
typedef char *(*vbd_record_encode_fn)(const struct vbd_object *object);

enum vbd_keeping {
	VBD_KEEPING_NOTHING, /* there is no state_dir */
	VBD_KEEPING_OK,
	VBD_KEEPING_LESS, /* something that was kept is lost */
	VBD_KEEPING_FAILING,
};

/**
 * vbd_keeper_create - open the store of state_dir, and load what earlier runs have left
 *
 * Sets the daemon's `keeper`; NULL without state_dir. Blocks for VBD_STORE_OPEN_MS at most, before
 * anything is served. A store that can't be used is no error.
 */
enum vbd_status vbd_keeper_create(struct vbd_daemon *daemon, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_keeper_begin - take over events and ids of earlier runs, and keep those of this run; once,
 * when the event log is there and still empty, and before any object is */
enum vbd_status vbd_keeper_begin(struct vbd_daemon *daemon, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_keeper_take_answers - call @cb for each answer of an earlier run that repeats may still get,
 * the oldest first, with texts that are valid in the call only; once */
void vbd_keeper_take_answers(struct vbd_keeper *keeper,
	void (*cb)(const struct vbd_answer *answer, void *arg), void *arg);

/** vbd_keeper_put_answer - write an answer for repeats, without secrets; it is copied. Status 0:
 * the key has no answer any more. Returns a ticket for vbd_keeper_has() */
uint64_t vbd_keeper_put_answer(struct vbd_keeper *keeper, const struct vbd_answer *answer);

/** vbd_keeper_take_desired - call @cb for each object that earlier runs were asked to keep, the
 * oldest first, with texts that are valid in the call only; once */
void vbd_keeper_take_desired(
	struct vbd_keeper *keeper, void (*cb)(const struct vbd_desired *row, void *arg), void *arg);

/** vbd_keeper_put_desired - let the next run keep an object; the row is copied; returns a ticket
 * for vbd_keeper_has() */
uint64_t vbd_keeper_put_desired(struct vbd_keeper *keeper, const struct vbd_desired *row);

/** vbd_keeper_drop_desired - the next run does not keep the object of this name; returns a ticket
 * for vbd_keeper_has() */
uint64_t vbd_keeper_drop_desired(struct vbd_keeper *keeper, const char *name);

/** vbd_keeper_report_row - log that no object could be made of a row of an earlier run. The row
 * stays in the database until another object of its name is kept */
void vbd_keeper_report_row(
	struct vbd_daemon *daemon, const struct vbd_desired *row, const char *reason);

/** vbd_keeper_newest_ticket - the last one that was given; VBD_TICKET_NONE: there was none */
uint64_t vbd_keeper_newest_ticket(const struct vbd_daemon *daemon);

/** vbd_keeper_has - whether that for which @ticket was given is written in state_dir; @keeper may
 * be NULL */
bool vbd_keeper_has(const struct vbd_keeper *keeper, uint64_t ticket);

/** vbd_keeper_will_have - whether that for which @ticket was given is still to be written, and
 * nothing is known to prevent it; @keeper may be NULL */
bool vbd_keeper_will_have(const struct vbd_keeper *keeper, uint64_t ticket);

/** vbd_keeper_has_room - whether rows can be put without the danger that some are dropped */
bool vbd_keeper_has_room(const struct vbd_daemon *daemon);

/** vbd_keeper_watches - a list that is notified when something is written for which there is a
 * ticket, when the store has begun or ceased to fail, and when it has begun a new database in place
 * of a damaged one */
struct vbd_link *vbd_keeper_watches(struct vbd_keeper *keeper);

/** vbd_keeper_died - the server_id of the run before, if it was killed; else NULL
 * @ret_deaths: the number of objects that it had left open */
const char *vbd_keeper_died(const struct vbd_daemon *daemon, size_t *ret_deaths);

/** vbd_keeper_encode_with - keep objects of kinds with a history by their JSON, from now on; NULL:
 * keep what has changed so far, and nothing any more */
void vbd_keeper_encode_with(struct vbd_daemon *daemon, vbd_record_encode_fn encode);

/** vbd_keeper_check - whether state is kept; @detail gets a line */
enum vbd_keeping vbd_keeper_check(
	const struct vbd_daemon *daemon, char *detail, size_t detail_bytes);

/** vbd_keeper_state - counts of the store; zeros without one. `waiting` is 0 only if all that has
 * changed is written. */
struct vbd_store_state vbd_keeper_state(const struct vbd_daemon *daemon);

/** vbd_keeper_settle - block until what waits is written, or the store fails, for @timeout_ms at
 * most; only for a daemon that stops, before it gives its last answers */
void vbd_keeper_settle(const struct vbd_daemon *daemon, unsigned int timeout_ms);

/** vbd_keeper_destroy - record that this run was not killed, write what waits, within
 * VBD_KEEPER_GRACE_MS, and free the keeper; call it before the loop is destroyed */
void vbd_keeper_destroy(struct vbd_daemon *daemon);
#define VBD_KEEPER_GRACE_MS 3000

#endif
