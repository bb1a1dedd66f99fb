/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table `events`: the newest events, those of earlier runs among them.
 */
#ifndef VBD_DAEMON_STORE_EVENT_TABLE_H
#define VBD_DAEMON_STORE_EVENT_TABLE_H

#include "base/attr.h"
#include "base/error.h"
#include "daemon/core/eventlog.h"

struct vbd_database;
struct vbd_store;
struct vbd_words;

/* An event of an earlier run; the texts are of the pool. */
struct vbd_event_row {
	struct vbd_event event; /* without its run, labels, owner and at_ns */
	const char *server_id;	/* of its run */
	uint64_t at_wall_ns;
	const char *labels; /* "job=x,team=y"; "" for none */
	const char *owner;  /* "" for the daemon */
};

/**
 * vbd_event_table_load - the newest events, the oldest of them first
 * @max:          of rows; the caller frees them, on failure too
 * @rows, @count: NULL and 0 at first
 *
 * An event of a type that this version does not know is left out. The store's thread.
 */
enum vbd_status vbd_event_table_load(struct vbd_database *database, uint64_t max,
	struct vbd_words *words, struct vbd_event_row **rows, size_t *count,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_event_put - keep an event of this run; the control thread */
void vbd_event_put(struct vbd_store *store, const struct vbd_event *event);

#endif
