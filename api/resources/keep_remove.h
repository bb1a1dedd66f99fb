/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A DELETE of an object that is kept ends the keeping, also while there is no such object in this
 * run: after a restart, and while a device is away.
 *
 * Control thread; nothing here blocks.
 */
#ifndef VBD_API_RESOURCES_KEEP_REMOVE_H
#define VBD_API_RESOURCES_KEEP_REMOVE_H

#include "api/http/request.h"
#include "daemon/core/kinds.h"

struct vbd_record;
struct vbd_registry;

/** vbd_keep_drop_record - the caller of @req deletes @record: if it is the newest object under a
 * kept name, keep that no longer; returns the ticket of the deletion in state_dir */
uint64_t vbd_keep_drop_record(const struct vbd_request *req, const struct vbd_registry *registry,
	const struct vbd_record *record);

/** vbd_keep_remove - if the path has the name of a kept object of this kind, and no object has the
 * name, keep it no longer and answer; else return false */
bool vbd_keep_remove(struct vbd_request *req, enum vbd_object_kind of);

#endif
