/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects of one kind, by id and by name. Ids start at 1 and ascend. None is given twice, but
 * two objects may exchange theirs: see vbd_registry_exchange().
 *
 * Control thread only; never blocks. The caller that adds an object owns the object.
 */
#ifndef VBD_DAEMON_CORE_REGISTRY_H
#define VBD_DAEMON_CORE_REGISTRY_H

#include "base/attr.h"
#include "base/error.h"
#include "base/list.h"
#include "daemon/core/kinds.h"
#include "daemon/core/loop.h"

struct vbd_caller;
struct vbd_daemon;
struct vbd_kind;
struct vbd_labels;
struct vbd_object;
struct vbd_registry;

/* All zero without objects. */
struct vbd_places {
	struct vbd_place {
		uint64_t id;
		struct vbd_object *object; /* NULL: it was removed */
	} * places;
	size_t count, room;
	size_t gaps; /* places without an object */
};

/** vbd_places_fini - forget all objects */
void vbd_places_fini(struct vbd_places *places);

/** vbd_places_add - add an object behind all others; false without memory. @id: above those of all
 * objects so far */
bool vbd_places_add(
	struct vbd_places *places, uint64_t id, struct vbd_object *object) VBD_MUST_CHECK;

/** vbd_places_remove - remove an object that was added; on average this moves one other. The last
 * one leaves nothing behind: its id may be added again. */
void vbd_places_remove(struct vbd_places *places, uint64_t id);

/** vbd_places_exchange - the objects that were added with @id and @other_id change places */
void vbd_places_exchange(struct vbd_places *places, uint64_t id, uint64_t other_id);

/** vbd_places_find - the object with @id; NULL if there is none */
struct vbd_object *vbd_places_find(const struct vbd_places *places, uint64_t id);

/** vbd_places_after - the object with the lowest id above @id; NULL if there is none */
struct vbd_object *vbd_places_after(const struct vbd_places *places, uint64_t id);

/** vbd_places_before - the object with the highest id below @id; NULL if there is none */
struct vbd_object *vbd_places_before(const struct vbd_places *places, uint64_t id);

/* The ended objects of a registry, the oldest first. */
struct vbd_history {
	struct vbd_link ended; /* links of the objects, which their services own */
	uint32_t count;
};

void vbd_history_init(struct vbd_history *history);

/**
 * vbd_history_add - add an object that has just ended
 * @link: the object's link; on no list
 */
void vbd_history_add(struct vbd_history *history, struct vbd_link *link);

/**
 * vbd_history_leave - remove an object
 * @link: on this list, or on none (before the object's end), then nothing happens
 */
void vbd_history_leave(struct vbd_history *history, struct vbd_link *link);

/** vbd_history_take_oldest - remove the oldest object if there are more than @kept; returns its
 * link, now on no list, or NULL */
struct vbd_link *vbd_history_take_oldest(struct vbd_history *history, uint64_t kept);

/* The numbers of objects that a caller may know of. */
struct vbd_tally {
	uint64_t objects; /* in a registry */
	uint64_t open;	  /* objects that have not ended */
};

/** vbd_tally_of - the numbers of an owner's objects in @registry, which object.c alone changes;
 * @owner: NULL: the daemon itself */
struct vbd_tally *vbd_tally_of(struct vbd_registry *registry, struct vbd_caller *owner);

/** vbd_tally_seen - the numbers of the objects in @registry that callers of @scope may know of; see
 * vbd_caller_scope() */
struct vbd_tally vbd_tally_seen(
	const struct vbd_registry *registry, const struct vbd_caller *scope);

/* Without this macro uthash calls exit() when memory is short. */
#define HASH_NONFATAL_OOM 1
/* uthash's default, Jenkins, warns of fall-throughs under clang. */
#define HASH_FUNCTION(keyptr, keylen, hashv) HASH_FNV(keyptr, keylen, hashv)
#include <uthash.h>

/* Longest name and its NUL. */
#define VBD_NAME_BYTES 64

/* "/v1/connections/18446744073709551615" and its NUL, with room for longer kinds. */
#define VBD_PATH_BYTES 48

/* Embedded in every object that has an id. */
struct vbd_object {
	uint64_t id;		   /* 0 while the object is in no registry */
	char name[VBD_NAME_BYTES]; /* "" without a name */
	UT_hash_handle by_name;	   /* not used while a newer object has the same name */
	/* The objects that had the same name before and after: the newest is in the hash. */
	struct vbd_object *named_before, *named_after;
	/* The members for the object's life; see daemon/core/object.h. */
	struct vbd_registry *registry; /* of the object's kind; stays set when the object leaves */
	struct vbd_labels *labels;     /* referenced; NULL without labels */
	struct vbd_caller *owner;      /* referenced; NULL: the daemon itself */
	uint64_t pinned_bytes;	       /* counted for the owner; see vbd_object_pin() */
	uint64_t created_ns;
	uint64_t ended_ns; /* with @ended */
	uint64_t version;  /* counts changes of state and of parameters */
	bool ended;
	bool deleted;		    /* by a client: the object skips the history */
	bool held;		    /* the object stays when it ends; see vbd_object_hold() */
	bool past;		    /* a record of an earlier run: struct vbd_record */
	bool shared;		    /* every operator may use the object; it has no owner then */
	bool announced;		    /* an event has named the object, and none its deletion */
	const char *logged_state;   /* `data.state` of the last event about the object */
	struct vbd_timer *deadline; /* NULL for a kind without one */
	struct vbd_link watches;    /* of struct vbd_watch */
	struct vbd_link ended_link; /* in the registry's `ended` */
	struct vbd_deferred reap;   /* frees the object */
	/* The store; see daemon/store/keeper_parts.h. */
	bool recorded;		     /* the store has a row of it */
	struct vbd_link record_link; /* in the daemon's `unrecorded` while the row is out of date */
	const char *end_code;	     /* static string; NULL: none, and before the end */
};

/* The use that a request makes of the object that it names. */
enum vbd_purpose {
	VBD_TO_CHANGE, /* end and delete as well */
	VBD_TO_USE,    /* read and write contents, send, see keys; a reference in a body */
	VBD_TO_SEE,
};

struct vbd_registry {
	struct vbd_daemon *daemon;
	const struct vbd_kind *kind;
	const char *singular;	    /* "connection" */
	const char *plural;	    /* "connections", as in paths */
	const char *limit_name;	    /* key of the configuration that @limit comes from */
	uint64_t limit;		    /* objects at most; 0 until it is set */
	uint64_t last_id;	    /* 0 before the first object */
	uint32_t open;		    /* objects that have not ended */
	struct vbd_tally of_daemon; /* objects without an owner */
	struct vbd_history ended;
	uint64_t kept; /* ended objects at most; the oldest is freed for the next */
	struct vbd_object *by_name;
	struct vbd_places places;
	/* Ended objects of earlier runs (struct vbd_record), with ids below all others. */
	struct vbd_places past;
	struct vbd_history past_ended;
};

/** vbd_name_valid - does @name match ^[A-Za-z_][A-Za-z0-9._-]{0,62}$? Such a name is no id. */
bool vbd_name_valid(const char *name);

/** vbd_ref_is_id - is a client's reference an id in decimal? A reference that is not is a name. */
bool vbd_ref_is_id(const char *ref, uint64_t *ret_id);

/**
 * vbd_registry_init - a registry without objects
 * @singular:   static string, for messages
 * @plural:     static string, for paths
 * @limit_name: static string: the key below `limits` that says how many objects there may be
 */
void vbd_registry_init(struct vbd_registry *registry, const char *singular, const char *plural,
	const char *limit_name);

/** vbd_registry_fini - empty the registry; the objects are not freed */
void vbd_registry_fini(struct vbd_registry *registry);

/**
 * vbd_registry_add - add an object with the next id and a name
 * @caller: chose the name; NULL: the daemon itself
 * @object: in no registry
 * @name:   NULL or "" for none
 *
 * A new object may get the name of an ended one in the history, which keeps the name too.
 *
 * Returns VBD_OK; VBD_E_BAD_VALUE for a name that vbd_name_valid() refuses; VBD_E_NAME_TAKEN
 * (err->object is the holder's path, if @caller may know of it); VBD_E_LIMIT_REACHED (err->limit is
 * the limit); VBD_E_NO_MEMORY.
 */
enum vbd_status vbd_registry_add(struct vbd_registry *registry, const struct vbd_caller *caller,
	struct vbd_object *object, const char *name, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_registry_check - may an object of this name be added? Errors as of vbd_registry_add(), but
 * for VBD_E_NO_MEMORY. */
enum vbd_status vbd_registry_check(const struct vbd_registry *registry,
	const struct vbd_caller *caller, const char *name, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_registry_adopt - add an object that has its id from the fabric
 * @object: in no registry
 * @id:     above those of all objects of the registry so far
 * @name:   checked by vbd_registry_check(), or ""
 *
 * The limit does not apply. Returns VBD_OK or VBD_E_NO_MEMORY.
 */
enum vbd_status vbd_registry_adopt(struct vbd_registry *registry, struct vbd_object *object,
	uint64_t id, const char *name, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_registry_set_name - rename an object that is in the registry
 * @name: "" for none
 *
 * Returns VBD_OK; VBD_E_BAD_VALUE or VBD_E_NAME_TAKEN (the object keeps its name); VBD_E_NO_MEMORY
 * (the object has no name then).
 */
enum vbd_status vbd_registry_set_name(struct vbd_registry *registry,
	const struct vbd_caller *caller, struct vbd_object *object, const char *name,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_registry_remove - take an object out; its id is never used again. An object in no registry
 * is ignored. */
void vbd_registry_remove(struct vbd_registry *registry, struct vbd_object *object);

/** vbd_registry_find_id - the object, borrowed; NULL if there is none */
struct vbd_object *vbd_registry_find_id(const struct vbd_registry *registry, uint64_t id);

/** vbd_registry_find_name - the object that got the name last, borrowed; NULL if there is none. The
 * others are its `named_before`, and have ended. */
struct vbd_object *vbd_registry_find_name(const struct vbd_registry *registry, const char *name);

/** vbd_registry_similar - the name most like @name among the newest objects that @caller may know
 * of, borrowed; NULL if none is like it */
const char *vbd_registry_similar(
	const struct vbd_registry *registry, const struct vbd_caller *caller, const char *name);

/**
 * vbd_registry_find_for - find an object by a client's reference: an id in decimal, else a name
 *
 * @caller: finds only objects that it may know of (vbd_caller_may()): an object of another caller
 *          is not there. NULL: the daemon itself, which finds all
 *
 * Returns the object, borrowed, or NULL with VBD_E_NOT_FOUND, whose text names the kind, @ref and
 * the name most like it; with VBD_E_FORBIDDEN, if the caller may see the object, but not for this
 * purpose.
 */
void *vbd_registry_find_for(const struct vbd_registry *registry, const struct vbd_caller *caller,
	const char *ref, enum vbd_purpose purpose, struct vbd_error *err);

/** vbd_registry_count - the number of objects now */
uint64_t vbd_registry_count(const struct vbd_registry *registry);

/** vbd_registry_exchange - two objects of one registry get each other's id; their names stay */
void vbd_registry_exchange(struct vbd_object *object, struct vbd_object *other);

/** vbd_registry_after - the object with the lowest id above @id, found without a walk; NULL if
 * there is none */
struct vbd_object *vbd_registry_after(const struct vbd_registry *registry, uint64_t id);

/** vbd_registry_before - the object with the highest id below @id; NULL if there is none */
struct vbd_object *vbd_registry_before(const struct vbd_registry *registry, uint64_t id);

/** vbd_registry_for_each - each object, by id; the body may remove its own object only */
#define vbd_registry_for_each(object_, registry_)                            \
	for (struct vbd_object *object_ = vbd_registry_after(registry_, 0),  \
			       *object_##_next = vbd_registry_next(object_); \
		object_; object_ = object_##_next, object_##_next = vbd_registry_next(object_))

/** vbd_registry_for_each_of - the same for objects of struct TYPE, which begins with its object */
#define vbd_registry_for_each_of(type, item, registry_)                                 \
	for (type *item = (type *)(void *)vbd_registry_after(registry_, 0),             \
		  *item##_next = (type *)(void *)vbd_registry_next((const void *)item); \
		item; item = item##_next,                                               \
		  item##_next = (type *)(void *)vbd_registry_next((const void *)item))

/** vbd_registry_next - the object with the next id; NULL behind the last, and for NULL */
struct vbd_object *vbd_registry_next(const struct vbd_object *object);

/** vbd_registry_kind - the kind of its objects */
enum vbd_object_kind vbd_registry_kind(const struct vbd_registry *registry);

/** vbd_registry_at - the registry of the kind in @path, "/v1/connections/7"; NULL if the path names
 * no kind */
struct vbd_registry *vbd_registry_at(struct vbd_daemon *daemon, const char *path);

/** vbd_registry_path - "/v1/connections/7"; returns @path */
char *vbd_registry_path(
	const struct vbd_registry *registry, uint64_t id, char path[VBD_PATH_BYTES]);

/* --- records: ended objects of earlier runs, from the store. A record has the JSON of the object,
 * as a client with the role "read" saw it. Records are in `past` of their registry, where services
 * do not find them. ------------------------------------------------------------------------ */

struct vbd_record {
	struct vbd_object object; /* without a struct of its service */
	uint64_t created_wall_ns, ended_wall_ns;
	const char *end_code; /* "" for none */
	const char *state;
	const char *server_id; /* of its run */
	const char *body;      /* JSON */
	void *row;	       /* from malloc; has the texts */
};

/** vbd_record_of - the record that an object is; NULL for an object of this run, and for NULL */
struct vbd_record *vbd_record_of(const struct vbd_object *object);

/** vbd_record_create - a record of a kind, all zero but its base; NULL without memory */
struct vbd_record *vbd_record_create(struct vbd_registry *registry);

/** vbd_record_free - free a record that its registry does not have; NULL is fine */
void vbd_record_free(struct vbd_record *record);

/** vbd_record_add - put a record, whose id is above those of all others, into its registry; false
 * without memory */
bool vbd_record_add(struct vbd_record *record) VBD_MUST_CHECK;

/** vbd_record_find - the record with @id; NULL if there is none */
struct vbd_record *vbd_record_find(const struct vbd_registry *registry, uint64_t id);

/** vbd_record_find_name - the newest record of the name that @caller may know of; NULL if there is
 * none */
struct vbd_record *vbd_record_find_name(
	const struct vbd_registry *registry, const char *name, const struct vbd_caller *caller);

/** vbd_records_fini - free all records of a registry */
void vbd_records_fini(struct vbd_registry *registry);

#endif
