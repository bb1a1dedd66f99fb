/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of kept objects in state_dir, by which the next run knows of them. A damaged database
 * takes them along when it is set aside: those of all kept objects are put into the new one.
 *
 * Control thread; never blocks.
 */
#ifndef VBD_DAEMON_KEPT_KEPT_ROWS_H
#define VBD_DAEMON_KEPT_KEPT_ROWS_H

#include "daemon/core/turns.h"
#include "daemon/core/watch.h"

struct vbd_daemon;
struct vbd_kept;

struct vbd_kept_rows {
	struct vbd_daemon *daemon;
	struct vbd_watch watch; /* of the keeper */
	struct vbd_steps steps; /* on a list while rows are put */
	uint64_t renewals;	/* databases whose rows were, or are being, put again */
	uint64_t at_id;		/* the rows of kept objects up to this one were */
	bool unfinished;
};

/** vbd_kept_put_row - let the next run keep the object, if a request asked for it, and there is a
 * state_dir */
void vbd_kept_put_row(struct vbd_kept *kept);

/** vbd_kept_rows_begin - follow what becomes of the database; @rows: zeroed */
void vbd_kept_rows_begin(struct vbd_kept_rows *rows, struct vbd_daemon *daemon);

/** vbd_kept_rows_end - follow it no longer; harmless if that was not begun */
void vbd_kept_rows_end(struct vbd_kept_rows *rows);

#endif
