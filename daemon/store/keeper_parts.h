/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the keeper that history.c has: the past, and the recorder.
 *
 * Control thread; never blocks, but for vbd_past_load().
 */
#ifndef VBD_DAEMON_STORE_KEEPER_PARTS_H
#define VBD_DAEMON_STORE_KEEPER_PARTS_H

#include "base/list.h"
#include "daemon/store/keeper.h"

/*
 * The past: what earlier runs of the daemon have left, read by the store's thread, taken over by
 * the control thread.
 */
struct vbd_past {
	struct vbd_link events, records; /* rows of the tables, which become the control thread's */
	struct vbd_link answers, desired; /* likewise */
	uint64_t ids[VBD_KIND_COUNT];
	struct vbd_words words;		/* texts of events, which stay as long as the event log */
	uint64_t last_wall_ns;		/* of the newest event */
	char died[VBD_SERVER_ID_BYTES]; /* server_id of the newest run if it was killed; else "" */
};

/** vbd_past_init - an empty past */
void vbd_past_init(struct vbd_past *past);

/** vbd_past_load - read as many events and records as @trim leaves, and answers that are still
 * given at @now_wall_ns; on failure @past is empty; the store's thread; blocks on the disk */
enum vbd_status vbd_past_load(struct vbd_database *database, const struct vbd_trim *trim,
	uint64_t now_wall_ns, struct vbd_past *past, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_past_restore - add the events to the daemon's log if it is empty, and let all numbers
 * continue behind those of earlier runs; may be called again
 * @past:    NULL: nothing was read
 * @floor:   all numbers go on behind this one at least
 * @ret_ids: of each kind the id behind which this run goes on; VBD_KIND_NONE: of events
 *
 * The control thread.
 */
void vbd_past_restore(struct vbd_past *past, struct vbd_daemon *daemon, uint64_t floor,
	uint64_t ret_ids[VBD_KIND_COUNT]);

/**
 * vbd_past_restore_records - put the records into the registries; what was open when its run ended
 * has ended with it, of which events tell, and the rows in @store
 *
 * Call this after vbd_past_restore(), when new events are kept. Returns the number of objects that
 * had no end. The control thread.
 */
size_t vbd_past_restore_records(
	struct vbd_past *past, struct vbd_daemon *daemon, struct vbd_store *store);

/** vbd_past_fini - free all, when nobody reads the event log any more */
void vbd_past_fini(struct vbd_past *past);

/*
 * The recorder: hands objects of kinds with a history to the store, soon after they have changed
 * and when they have ended, a few in each turn. While the store has no room, objects wait; one that
 * is deleted meanwhile is not written.
 */

/** vbd_recorder_create - set the daemon's recorder, which waits for vbd_keeper_encode_with(); after
 * a failure it may be there
 * @store: outlives it */
enum vbd_status vbd_recorder_create(
	struct vbd_daemon *daemon, struct vbd_store *store, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_recorder_destroy - record what has changed, as far as the store takes it, and free the
 * daemon's recorder; harmless without one */
void vbd_recorder_destroy(struct vbd_daemon *daemon);

#endif
