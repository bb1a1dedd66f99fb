/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ETag of an object: its identity and the number of changes of its state and parameters; and
 * answers with an object.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_TAG_H
#define VBD_API_RESOURCES_TAG_H

#include "api/http/request.h"
#include "api/resources/task.h"

#define VBD_TAG_BYTES 96

/** vbd_task_version - the number of changes of an object's state and parameters */
uint64_t vbd_task_version(const struct vbd_task_kind *kind, const void *task);

/** vbd_task_tag - write the quoted ETag of an object; returns @tag */
char *vbd_task_tag(const struct vbd_request *req, const struct vbd_task_kind *kind,
	const void *task, char tag[VBD_TAG_BYTES]);

/** vbd_task_unchanged - vbd_condition_check() with the object's ETag */
enum vbd_status vbd_task_unchanged(struct vbd_request *req, const struct vbd_task_kind *kind,
	const void *task, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_tag_unchanged - as vbd_task_unchanged(), for what is no object of this run; @singular: its
 * kind; @tag: its ETag, NULL if there is nothing now that has one */
enum vbd_status vbd_tag_unchanged(struct vbd_request *req, const char *singular, const char *tag,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_task_reply - answer with an object and its ETag */
void vbd_task_reply(struct vbd_request *req, unsigned int status, const struct vbd_task_kind *kind,
	const void *task);

/** vbd_task_created - answer 201 with an object of a registry, its ETag and its Location */
void vbd_task_created(
	struct vbd_request *req, const struct vbd_task_kind *kind, const struct vbd_object *task);

#endif
