/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a POST begins and what then goes on by itself until it is done or failed: a transfer, a
 * probe, a benchmark, the binding of a window, the join of a group, the resolution of a peer.
 * Their handlers find, show, await and delete them in the same way; a row says how they differ.
 *
 * Control thread; nothing here blocks.
 */
#ifndef VBD_API_RESOURCES_TASK_H
#define VBD_API_RESOURCES_TASK_H

#include "api/http/request.h"
#include "daemon/core/kinds.h"
#include "daemon/core/registry.h"

#include <jansson.h>

struct vbd_json_ref;
struct vbd_page_source;

enum vbd_task_state {
	VBD_TASK_RUNNING, /* also what is on its way out and was never done */
	VBD_TASK_DONE,
	VBD_TASK_FAILED,
};

/* A task is an object of daemon/: its struct begins with struct vbd_object. */
struct vbd_task_kind {
	enum vbd_object_kind kind;
	const char *gone; /* what is said to who waited: "the transfer was deleted meanwhile" */
	/* A new reference; NULL without memory. */
	json_t *(*encode)(const void *task, struct vbd_request *req);
	/* For vbd_task_answer() and vbd_task_delete(). */
	enum vbd_task_state (*state)(const void *task);
	const struct vbd_page_source *page;
};

/* Each with the handlers of its kind; not every kind has one. */
#define VBD_TASK_EXTERN(sym, singular, plural, open, kept) \
	extern const struct vbd_task_kind vbd_##singular##_task;
VBD_KIND_MAP(VBD_TASK_EXTERN)
#undef VBD_TASK_EXTERN

/** vbd_task_find - the object that the path names, borrowed; if there is none, answer and return
 * NULL */
void *vbd_task_find(struct vbd_request *req, const struct vbd_task_kind *kind);

/** vbd_member_find - the object that the member at @pointer of a request names, borrowed; NULL, and
 * not_found at @pointer, if there is none */
void *vbd_member_find(const struct vbd_registry *registry, const struct vbd_json_ref *ref,
	const char *pointer, struct vbd_error *err);

/* Handlers for the routes with a `task`. */

/** vbd_task_list - answer with a page of the objects of the kind */
void vbd_task_list(struct vbd_request *req);

/** vbd_task_get - answer with the object that the path names */
void vbd_task_get(struct vbd_request *req);

/** vbd_task_delete - delete the object that the path names if it has ended, 204; else begin to
 * cancel it, 202 */
void vbd_task_delete(struct vbd_request *req);

/** vbd_delete_shared - delete the PD, CQ or SRQ that the path names, 204; an error lists its users
 */
void vbd_delete_shared(struct vbd_request *req);

/**
 * vbd_task_answer - answer a POST that made @task: 201 when it is done, 202 when the wait is over
 *
 * Who asked to wait is told why it failed, instead; who did not is told its state as it is.
 */
void vbd_task_answer(struct vbd_request *req, const struct vbd_task_kind *kind, void *task);

/** vbd_task_answer_gone - answer a DELETE: 204 when the record is gone, 202 when the wait is over
 */
void vbd_task_answer_gone(struct vbd_request *req, const struct vbd_task_kind *kind, void *task);

/** vbd_reply_in_use - answer with an error that lists users of an object
 * @paths: "/v1/transfers/9", @n_paths of them, at most VBD_USERS_SHOWN_MAX */
void vbd_reply_in_use(struct vbd_request *req, const struct vbd_error *err,
	char (*paths)[VBD_PATH_BYTES], size_t n_paths);

#endif
