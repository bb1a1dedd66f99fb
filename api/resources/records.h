/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ended objects of earlier runs: found, shown and deleted like those of this run.
 *
 * Control thread; nothing here blocks.
 */
#ifndef VBD_API_RESOURCES_RECORDS_H
#define VBD_API_RESOURCES_RECORDS_H

#include "api/http/request.h"
#include "api/resources/task.h"

struct vbd_object;
struct vbd_record;

/** vbd_record_encode - the JSON of an object as a reader sees it: a vbd_record_encode_fn */
char *vbd_record_encode(const struct vbd_object *object);

/** vbd_record_of_path - the record that the path of the request names, unless an object of this run
 * has the name; NULL if there is none that the caller may know of */
struct vbd_record *vbd_record_of_path(struct vbd_request *req, enum vbd_object_kind kind);

/** vbd_record_reply_unreadable - answer that the row of @record in state_dir is no JSON */
void vbd_record_reply_unreadable(struct vbd_request *req, const struct vbd_record *record);

/** vbd_record_get - if the path names a record, answer with it, or the part of it that is asked
 * for; else return false */
bool vbd_record_get(struct vbd_request *req, const struct vbd_task_kind *kind);

/** vbd_record_end - as vbd_record_get(), for a request that ends the object: it has ended */
bool vbd_record_end(struct vbd_request *req, const struct vbd_task_kind *kind);

/** vbd_record_remove - if the path names a record, delete it, keep it no longer and answer; else
 * return false */
bool vbd_record_remove(struct vbd_request *req, const struct vbd_task_kind *kind);

#endif
