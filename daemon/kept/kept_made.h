/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects that were made for kept objects: the events that follow from their states, and their
 * end.
 *
 * Control thread; never blocks.
 */
#ifndef VBD_DAEMON_KEPT_KEPT_MADE_H
#define VBD_DAEMON_KEPT_KEPT_MADE_H

#include "daemon/kept/kept.h"

struct vbd_daemon;
struct vbd_kept;

/** vbd_kept_made - the newest object, if it is still there; else NULL */
struct vbd_object *vbd_kept_made(const struct vbd_kept *kept);

/**
 * vbd_kept_see - look at the newest object as it is now
 * @ret_err: why it ended; untouched otherwise
 */
enum vbd_kept_event vbd_kept_see(const struct vbd_kept *kept, struct vbd_error *ret_err);

/** vbd_kept_close - begin to end the newest object: VBD_KEPT_EV_GONE when that is done,
 * VBD_KEPT_EV_BUSY if it can't be ended now, VBD_KEPT_EV_MADE while it ends
 * @ret_err: why it is busy */
enum vbd_kept_event vbd_kept_close(const struct vbd_kept *kept, struct vbd_error *ret_err);

/** vbd_kept_before - the id that the try before the newest connection has now; 0: there is none, or
 * it is not a connection */
uint64_t vbd_kept_before(const struct vbd_kept *kept);

/** vbd_kept_ask - ask the verbsd of the peer whether a client closed the connection there, if that
 * decides whether another one is made. vbd_kept_see() waits for the answer. */
void vbd_kept_ask(const struct vbd_kept *kept);

/** vbd_kept_note_try - let the timeline of a connection that was made again say so */
void vbd_kept_note_try(const struct vbd_kept *kept);

/** vbd_kept_note_wait - let the timeline of a connection tell why the newest try is over
 * @next: when the next one is: "in 512 ms" */
void vbd_kept_note_wait(const struct vbd_kept *kept, const char *next);

#endif
