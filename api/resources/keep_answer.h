/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An answer that says that an object is kept, or kept no longer, waits until that is written in
 * state_dir.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_KEEP_ANSWER_H
#define VBD_API_RESOURCES_KEEP_ANSWER_H

#include "api/http/request.h"
#include "daemon/core/kinds.h"

struct vbd_object;
struct vbd_record;
struct vbd_registry;

/* Answer, or wait for something else. @object: NULL if none was given, or if it has gone */
typedef void (*vbd_keep_answer_fn)(struct vbd_request *req, struct vbd_object *object, void *arg);

/**
 * vbd_keep_answer - call @answer when that for which @ticket was given is written
 * @ticket: see vbd_keeper_has(); VBD_TICKET_NONE: nothing is
 * @object: to which the answer is; NULL: none
 * @arg:    for @answer, which is called exactly once
 *
 * That is now if nothing waits to be written, or if the store fails: the daemon serves on without
 * it, and `outlives_restart` tells. Else it is within VBD_WRITTEN_MS.
 */
void vbd_keep_answer(struct vbd_request *req, uint64_t ticket, struct vbd_object *object,
	vbd_keep_answer_fn answer, void *arg);

/** vbd_keep_answer_deleted - for vbd_keep_answer(): answer 204; @arg: NULL */
void vbd_keep_answer_deleted(struct vbd_request *req, struct vbd_object *object, void *arg);

/** vbd_keep_drop_record - the caller of @req deletes @record: if it is the newest object under a
 * kept name, keep that no longer; returns the ticket of the deletion in state_dir */
uint64_t vbd_keep_drop_record(const struct vbd_request *req, const struct vbd_registry *registry,
	const struct vbd_record *record);

/** vbd_keep_remove - if the path has the name of a kept object of this kind, and no object has the
 * name, keep it no longer and answer; else return false */
bool vbd_keep_remove(struct vbd_request *req, enum vbd_object_kind of);

#endif
