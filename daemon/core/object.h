/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of an object that clients see under an id: the object is created into the registry of
 * its kind, ends, stays in the history of its kind while there is room, and is freed at the end of
 * a turn, when nothing uses it. A service embeds struct vbd_object as the first member of its own
 * struct and describes the rest of the object's life by a struct vbd_kind.
 *
 * Control thread; never blocks.
 */
#ifndef VBD_DAEMON_CORE_OBJECT_H
#define VBD_DAEMON_CORE_OBJECT_H

#include "daemon/core/context.h"
#include "daemon/core/watch.h"

struct vbd_record;

/* A kind of object. A function that objects of the kind do not need is NULL. */
struct vbd_kind {
	size_t size_bytes;  /* of the service's struct */
	bool keeps_history; /* ended objects stay until a newer object needs their place */
	/* Offset of the id of the connection over which the object works; 0: it has none. */
	size_t connection_at;
	void (*on_deadline)(void *object); /* the object has a timer that calls this function */
	/* Begin to end the object, unless it is ending. vbd_object_end() follows. */
	void (*cancel)(struct vbd_object *object);
	/* Does something use the ended object? After the use vbd_object_settle() is called. */
	bool (*is_used)(const struct vbd_object *object);
	/* Name of the object's state, for clients. NULL: objects of the kind have no states. */
	const char *(*state)(const struct vbd_object *object);
	/* Offset of the struct vbd_error of a failed object; not used if @problem is set. */
	size_t error_at;
	/* Set @ret_err to the reason for which the object failed. */
	void (*problem)(const struct vbd_object *object, struct vbd_error *ret_err);
	/* The object's device, whose name hotplug changes with the device's. */
	struct vbd_device_id *(*device)(struct vbd_object *object);
	/* Free what the object owns, but not the object's own memory. */
	void (*free)(struct vbd_object *object);
};

/* Defines `state` of a kind: the struct TYPE of its service has the state at PATH, and NAME_OF() is
 * the name of that. */
#define VBD_OBJECT_STATE(function, type, path, name_of)                     \
	static const char *function(const struct vbd_object *object)        \
	{                                                                   \
		return name_of(((const type *)(const void *)object)->path); \
	}

/* Defines `device` of a kind, which is at PATH in the struct TYPE. */
#define VBD_OBJECT_DEVICE(function, type, path)                          \
	static struct vbd_device_id *function(struct vbd_object *object) \
	{                                                                \
		return &((type *)(void *)object)->path;                  \
	}

/* Defines the function that returns the struct TYPE whose member `object` is at @object. */
#define VBD_OBJECT_RECORD(function, type)                      \
	static type *function(struct vbd_object *object)       \
	{                                                      \
		return VBD_CONTAINER_OF(object, type, object); \
	}

/* Each struct is in the file of its service. */
#define VBD_KIND_EXTERN(sym, singular, plural, open, kept) \
	extern const struct vbd_kind vbd_##singular##_kind;
VBD_KIND_MAP(VBD_KIND_EXTERN)
#undef VBD_KIND_EXTERN

/**
 * vbd_object_create - allocate an object, all zero but its base, and put it into its registry
 * @origin: the object takes references
 * @name:   "" for none
 *
 * An ended object of the same name is found by its id only then, and the oldest ended object is
 * freed if the registry is full. The object is one of its owner's quota until it ends. Errors as of
 * vbd_registry_add(), and VBD_E_QUOTA_EXCEEDED.
 */
enum vbd_status vbd_object_create(struct vbd_registry *registry, const struct vbd_origin *origin,
	const char *name, struct vbd_object **ret_object, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_origin_like - the origin of an object that belongs to the same caller as @object, with the
 * same labels; valid as long as @object has them */
struct vbd_origin vbd_origin_like(const struct vbd_object *object);

/** vbd_object_adopt - allocate an object of a kind without history and without a deadline, and put
 * it into its registry as vbd_registry_adopt() does */
enum vbd_status vbd_object_adopt(struct vbd_registry *registry, const struct vbd_origin *origin,
	uint64_t id, const char *name, struct vbd_object **ret_object,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_object_pin - the object has @bytes of pinned memory more, which count for its owner until it
 * is freed, or unpinned; the service has asked vbd_quota_check() before */
void vbd_object_pin(struct vbd_object *object, uint64_t bytes);

/** vbd_object_unpin - the object has no pinned memory any more */
void vbd_object_unpin(struct vbd_object *object);

/** vbd_object_set_name - as vbd_registry_set_name() */
enum vbd_status vbd_object_set_name(struct vbd_object *object, const struct vbd_caller *caller,
	const char *name, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_object_log - append an event about the object, which must be in its registry, to the event
 * log; see vbd_eventlog_append()
 * @code: of the problem that led to the event; VBD_OK if there is none
 */
void vbd_object_log(struct vbd_object *object, enum vbd_event_type type, enum vbd_severity severity,
	enum vbd_status code, const char *fmt, ...) VBD_PRINTF(5, 6);

/** vbd_object_log_event - as vbd_object_log(), with type, severity, detail and further data in
 * @event; the rest of it is overwritten by the object's */
void vbd_object_log_event(struct vbd_object *object, struct vbd_event *event);

/** vbd_object_changed - the state or a parameter of the object may have changed: count the change,
 * append an event about the state unless there was one, and call the watches */
void vbd_object_changed(struct vbd_object *object);

/** vbd_object_relabel - give the object other labels, of which it takes a reference; NULL: none */
void vbd_object_relabel(struct vbd_object *object, struct vbd_labels *labels);

/** vbd_object_counted - a counter of the object has changed, or a message came: call the watches */
void vbd_object_counted(struct vbd_object *object);

/** vbd_object_end - the object has ended: move it to the history of its kind, or free it if a
 * client deleted it */
void vbd_object_end(struct vbd_object *object);

/** vbd_object_cancel - begin to end the object, unless it has ended */
void vbd_object_cancel(struct vbd_object *object);

/** vbd_object_delete - cancel the object if it has not ended; free it when it has ended and nothing
 * uses it, at the end of this turn at the earliest: then this returns true */
bool vbd_object_delete(struct vbd_object *object);

/** vbd_object_leave - take the object out of its registry, so that no client finds it any more; the
 * object lives on. One that is in no registry is ignored. */
void vbd_object_leave(struct vbd_object *object);

/** vbd_object_replaced - let watches, ETags and the store follow vbd_registry_exchange(): @object,
 * which is new, has the id of @before, which has ended
 * @forget: free @before in this turn, without a record and without an event */
void vbd_object_replaced(struct vbd_object *object, struct vbd_object *before, bool forget);

/** vbd_object_hold - when the object has ended it stays in its registry, whatever else ends, until
 * it is held no longer or a client deletes it; then it counts as the one that ended last */
void vbd_object_hold(struct vbd_object *object, bool held);

/** vbd_object_unregister - take the object out of its registry at once, and free it as
 * vbd_object_delete() does. Its watches are called then, unless the caller calls them first. */
void vbd_object_unregister(struct vbd_object *object);

/** vbd_object_settle - a use of the object is over: free the object if it is deleted, has ended and
 * has no other use; returns true then */
bool vbd_object_settle(struct vbd_object *object);

/** vbd_object_free - free the object at once, in any state. Its watches are called. */
void vbd_object_free(struct vbd_object *object);

/** vbd_objects_free - free every object of a registry */
void vbd_objects_free(struct vbd_registry *registry);

/** vbd_record_delete - remove a record of an earlier run, here and in the store, and free it */
void vbd_record_delete(struct vbd_record *record);

/** vbd_object_connection - the id of the connection over which the object works; a connection's own
 * id; 0 if there is none */
uint64_t vbd_object_connection(const struct vbd_object *object);

/** vbd_object_error - the error with which the object failed */
void vbd_object_error(const struct vbd_object *object, struct vbd_error *ret_err);

/** vbd_object_problem - the error with which the object failed; the error names the object */
void vbd_object_problem(const struct vbd_object *object, struct vbd_error *ret_err);

#define VBD_USERS_SHOWN_MAX 16

/* The objects that use another one, as a caller is told of them: those that it sees by their paths,
 * those of other callers by their number. */
struct vbd_users {
	const struct vbd_caller *caller; /* NULL: the daemon itself, which sees all */
	size_t total;
	size_t hidden; /* objects of other callers, included in `total` */
	size_t shown;  /* of `paths`: "/v1/transfers/9" */
	char paths[VBD_USERS_SHOWN_MAX][VBD_PATH_BYTES];
};

/** vbd_users_add - @object is one of them; @users begins as zeros, but for its caller */
void vbd_users_add(struct vbd_users *users, const struct vbd_object *object);

#endif
