/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder: hands objects of kinds with a history to the store, soon after they have changed
 * and when they have ended, a few in each turn. While the store is behind, objects wait; one that
 * is deleted meanwhile is not written at all.
 *
 * Control thread; never blocks.
 */
#ifndef VBD_DAEMON_STORE_RECORDER_H
#define VBD_DAEMON_STORE_RECORDER_H

#include "base/attr.h"
#include "daemon/core/context.h"

struct vbd_recorder;
struct vbd_store;

/* Returns the JSON of an object as a reader sees it, from malloc; NULL without memory. */
typedef char *(*vbd_record_encode_fn)(const struct vbd_object *object);

/** vbd_recorder_create - a recorder that waits for vbd_recorder_encode_with()
 * @store: outlives it */
enum vbd_status vbd_recorder_create(struct vbd_daemon *daemon, struct vbd_store *store,
	struct vbd_recorder **ret_recorder, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_recorder_encode_with - record what changes from now on; NULL: record what has changed, as
 * far as the store takes it, and nothing any more */
void vbd_recorder_encode_with(struct vbd_recorder *recorder, vbd_record_encode_fn encode);

/** vbd_recorder_destroy - record what has changed, as far as the store takes it, and free the
 * recorder; NULL is fine */
void vbd_recorder_destroy(struct vbd_recorder *recorder);

#endif
