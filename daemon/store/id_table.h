/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table `ids`: for each kind of object the highest id that a run may have given, and for events
 * the highest number, so that the next run goes on behind them. A run that was killed had some
 * in reserve, which are left out.
 */
#ifndef VBD_DAEMON_STORE_ID_TABLE_H
#define VBD_DAEMON_STORE_ID_TABLE_H

#include "base/attr.h"
#include "base/error.h"
#include "daemon/core/kinds.h"
#include "daemon/store/store.h"

#include <stdbool.h>
#include <stdint.h>

struct vbd_database;

/* A run notes ids so far ahead of their use. The queue of the store is full before the half of them
 * is used, so that no id beyond the noted ones is given before the store has failed, which is told.
 */
#define VBD_IDS_AHEAD ((uint64_t)2 * VBD_STORE_ITEMS_MAX)

/** vbd_id_table_load - the ids by kind; VBD_KIND_NONE: the number of events; 0 for none yet; the
 * store's thread */
enum vbd_status vbd_id_table_load(struct vbd_database *database, uint64_t ret_ids[VBD_KIND_COUNT],
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_id_table_raise - note an id, unless a higher one is noted; the store's thread */
enum vbd_status vbd_id_table_raise(struct vbd_database *database, enum vbd_object_kind kind,
	uint64_t last, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_id_put - note an id; the control thread. Returns false if the store did not take the note.
 */
bool vbd_id_put(struct vbd_store *store, enum vbd_object_kind kind, uint64_t last);

#endif
