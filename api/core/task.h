/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers that are the same for objects of several kinds; a struct vbd_task_kind has the
 * differences. Objects are found, shown and listed. A task, whose POST begins work that ends by
 * itself (a transfer, the join of a group), is awaited and deleted too.
 *
 * Control thread; nothing here blocks.
 */
#ifndef VBD_API_CORE_TASK_H
#define VBD_API_CORE_TASK_H

#include "api/http/page.h"
#include "daemon/core/object.h"

struct vbd_json_ref;
struct vbd_kept;

/* A set of states, by their values. */
#define VBD_STATES(state_) (UINT64_C(1) << (state_))

/* The objects are those of daemon/; their structs begin with struct vbd_object, but with `find`. */
struct vbd_task_kind {
	enum vbd_object_kind kind;
	/* NULL: the object is in the registry of its kind. */
	void *(*find)(struct vbd_daemon *daemon, const char *ref, struct vbd_error *err);
	void (*refresh)(void *task); /* read the device before a GET of the object; NULL: nothing */
	/* With `find`: a number that differs after each change of state. */
	uint64_t (*version)(const void *task);
	/* Put the members of the row in state_dir only, as the role "read" sees them; NULL: none.
	 */
	void (*encode_past)(struct vbd_encoder *out, const void *task);
	/* Make what the body describes; NULL with an error. Needed by vbd_task_create() only. */
	void *(*create)(struct vbd_request *req, struct vbd_error *err);
	/* Answer the POST that has made the object; NULL: vbd_task_answer() for a task, else at
	 * once. */
	void (*answer)(struct vbd_request *req, struct vbd_object *object);
	/* The states in which a task has done its work; 0: the objects are no tasks. A task has
	 * failed in the states of `failed`; 0: in all that are ended, and not in `done`. */
	uint64_t done, failed;
	/* For `until=idle`: nothing uses the object; NULL: the kind has no such state. */
	bool (*is_idle)(const void *task);
	/* Delete the object at once, or say why not; NULL: vbd_object_delete(). */
	enum vbd_status (*remove)(struct vbd_object *object, struct vbd_error *err);
	/* Find the users of an object that `remove` did not delete; NULL: it can have none. */
	void (*users)(const struct vbd_object *object, const struct vbd_caller *caller,
		struct vbd_users *ret_users);
	/* Answer when the object is gone; NULL: 204 at once. */
	void (*answer_gone)(struct vbd_request *req);
	struct vbd_page_source page; /* states, columns and encoder of the objects */
};

/* Each is in the file of the handlers of its kind. */
#define VBD_TASK_EXTERN(sym, singular, plural, open, kept) \
	extern const struct vbd_task_kind vbd_##singular##_task;
VBD_KIND_MAP(VBD_TASK_EXTERN)
#undef VBD_TASK_EXTERN
extern const struct vbd_task_kind vbd_device_task;

/* The members of the objects of each kind, which the build takes from openapi.yaml. */
#define VBD_MEMBERS_EXTERN(sym, singular, plural, open, kept) \
	extern const struct vbd_member vbd_##singular##_members[];
VBD_KIND_MAP(VBD_MEMBERS_EXTERN)
#undef VBD_MEMBERS_EXTERN
extern const struct vbd_member vbd_device_members[];

/** vbd_task_find - the object of the path, borrowed; NULL with `err` of the request if there is
 * none, or if a request that changes the object has an If-Match for an earlier state of it */
void *vbd_task_find(struct vbd_request *req, const struct vbd_task_kind *kind);

/** vbd_member_find - the object that the member at @pointer of a body of @caller names, for use,
 * borrowed; NULL if the body has no such member, or with an error of vbd_registry_find_for() at
 * @pointer */
void *vbd_member_find(const struct vbd_registry *registry, const struct vbd_caller *caller,
	const struct vbd_json_ref *ref, const char *pointer, struct vbd_error *err);

/**
 * vbd_members_find - find the objects and the device that the members of a decoded body name
 * @daemon:  NULL: look for nothing
 * @pointer: of the value @json in the body, see vbd_decode_all()
 * @target:  its fields of the types FOUND and DEVICE are set; those of absent members stay
 *
 * Returns the error of vbd_member_find() or vbd_member_device().
 */
enum vbd_status vbd_members_find(struct vbd_daemon *daemon, const struct vbd_caller *caller,
	const json_t *json, const char *pointer, const struct vbd_field *fields, size_t n_fields,
	void *target, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_request_decode_found - vbd_request_decode(), and vbd_members_find() for the caller */
enum vbd_status vbd_request_decode_found(struct vbd_request *req, const struct vbd_field *fields,
	size_t n_fields, void *target, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_member_device - set @ret_name to the name of the device that the member `device` of a body
 * refers to, "" without one; no_device for an id without a device. @daemon: NULL only checks */
enum vbd_status vbd_member_device(const struct vbd_daemon *daemon, const struct vbd_json_ref *ref,
	char *ret_name, size_t name_bytes, struct vbd_error *err) VBD_MUST_CHECK;

/* Handlers for the routes with a `task`. */

/** vbd_task_list - answer with a page of the kind's objects */
void vbd_task_list(struct vbd_request *req);

/** vbd_task_get - answer with the object of the path, or the part of it that is asked for, now or
 * in the state that `until` names */
void vbd_task_get(struct vbd_request *req);

/** vbd_task_create - make an object of the kind, and answer as vbd_task_answer_post(); for `create`
 * of a route */
void vbd_task_create(struct vbd_request *req);

/** vbd_task_delete - delete the object of the path, and end it before if need be, and keep it no
 * longer: 204 when it is gone, 202 while it goes; for a kind with `remove`, which may refuse, 204
 * or the error, with the users of the object as far as the caller sees them */
void vbd_task_delete(struct vbd_request *req);

/** vbd_task_cancel - end the object of the path, which stays: 200 when it has ended, 202 before; if
 * it is kept, nothing makes it again until the next start */
void vbd_task_cancel(struct vbd_request *req);

/** vbd_remove_shared, vbd_users_of_shared - `remove` and `users` of PDs, CQs and SRQs */
enum vbd_status vbd_remove_shared(struct vbd_object *object, struct vbd_error *err);
void vbd_users_of_shared(const struct vbd_object *object, const struct vbd_caller *caller,
	struct vbd_users *ret_users);

/**
 * vbd_task_answer - answer the POST of @task: 201 when it is done, 202 when the wait is over
 *
 * If @task fails, a request with a wait gets its error, and a request without one its state.
 */
void vbd_task_answer(struct vbd_request *req, const struct vbd_task_kind *kind, void *task);

/** vbd_task_answer_post - answer the POST that has made @object, as its kind has it */
void vbd_task_answer_post(
	struct vbd_request *req, const struct vbd_task_kind *kind, struct vbd_object *object);

/**
 * vbd_task_answer_made - `answer` of a kind: answer the POST of @task: 201 when it is done, however
 * long that takes, or 202 when the wait of Prefer or wait_ms is over
 *
 * If @task fails before, the request gets its error and @task is deleted: no answer has named it.
 */
void vbd_task_answer_made(struct vbd_request *req, struct vbd_object *task);

/** vbd_task_of - how objects of the kind are handled; NULL for VBD_KIND_NONE and devices */
static inline const struct vbd_task_kind *vbd_task_of(enum vbd_object_kind kind)
{
	static const struct vbd_task_kind *const kinds[VBD_KIND_COUNT] = {
#define TASK_KIND(sym, singular, plural, open, kept) [VBD_KIND_##sym] = &vbd_##singular##_task,
		VBD_KIND_MAP(TASK_KIND)
#undef TASK_KIND
	};

	return kinds[kind];
}

/** vbd_task_reply_ended - answer with the error that ended the object, as vbd_reply_outcome() does,
 * and with the cause
 * @object: NULL: it is gone
 * @kept:   it is kept all the same, as the answer says; NULL: it is not
 * @wait:   the facts about the cause may still be gathered: park the request until they are */
void vbd_task_reply_ended(struct vbd_request *req, const struct vbd_object *object,
	struct vbd_error *err, const struct vbd_kept *kept, bool wait);

/** vbd_task_reply_gone - answer that the object ended while the request waited, and whether it is
 * kept all the same, as when verbsd stops */
void vbd_task_reply_gone(struct vbd_request *req, const struct vbd_task_kind *kind);

/* --- records of earlier runs ----------------------------------------------------------------- */

/** vbd_record_encode - the JSON of an object as the role "read" sees it: a vbd_record_encode_fn */
char *vbd_record_encode(const struct vbd_object *object);

/** vbd_record_of_path - the record that the path of the request names, unless an object of this run
 * has the name; NULL if there is none that the caller may know of */
struct vbd_record *vbd_record_of_path(struct vbd_request *req, enum vbd_object_kind kind);

/** vbd_record_unreadable - set `err` of the request: the row of @record in state_dir is no JSON */
void vbd_record_unreadable(struct vbd_request *req, const struct vbd_record *record);

/** vbd_record_get - if the path names a record, answer with it, or the part of it that is asked
 * for; else return false */
bool vbd_record_get(struct vbd_request *req, const struct vbd_task_kind *kind);

/** vbd_record_end - as vbd_record_get(), for a request that ends the object: it has ended */
bool vbd_record_end(struct vbd_request *req, const struct vbd_task_kind *kind);

/** vbd_record_remove - if the path names a record, delete it, keep it no longer and answer; else
 * return false */
bool vbd_record_remove(struct vbd_request *req, const struct vbd_task_kind *kind);

#endif
