/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callers: those who send requests, by name. An object belongs to the caller that made it. A caller
 * lives as long as something refers to it: the configuration, a request, an object. So a name that
 * leaves the configuration and comes back has its objects again.
 *
 * Control thread; never blocks.
 */
#ifndef VBD_DAEMON_CORE_CALLER_H
#define VBD_DAEMON_CORE_CALLER_H

#include "base/attr.h"
#include "base/error.h"
#include "daemon/config/callers.h"
#include "daemon/core/kinds.h"
#include "daemon/core/registry.h"

struct vbd_callers;
struct vbd_labels;

enum vbd_quota {
#define VBD_QUOTA_ENUM(name, max) VBD_QUOTA_##name,
	VBD_QUOTA_MAP(VBD_QUOTA_ENUM)
#undef VBD_QUOTA_ENUM
		VBD_QUOTA_COUNT
};

/* The difference that a new list of callers makes to one of them. */
enum vbd_caller_change {
	VBD_CALLER_UNCHANGED,
	VBD_CALLER_ADDED,
	VBD_CALLER_CHANGED, /* role, quotas or credentials */
	VBD_CALLER_REMOVED,
};

/* The owner of a thing, told also when it is gone: the number of a caller, or one of these. */
enum { VBD_OF_VERBSD, VBD_OF_ALL /* shared */, VBD_OF_CALLERS };

struct vbd_caller {
	char name[VBD_NAME_BYTES];
	uint64_t number;    /* from VBD_OF_CALLERS on, never given again */
	enum vbd_role role; /* VBD_ROLE_NONE: not in the configuration any more */
	struct vbd_quotas quotas;
	uint64_t sum;			/* of its entry in the configuration; 0: it has none */
	enum vbd_caller_change change;	/* made by the newest list of callers */
	uint64_t used[VBD_QUOTA_COUNT]; /* of each quota but requests_per_s, also without one */
	struct vbd_tally tallies[VBD_KIND_COUNT]; /* of the caller's objects */
	/* Requests that wait and streams, those with the role "control" not included. Only
	 * api/http/server_park.c counts them. */
	uint32_t waiting, following;
	uint64_t requests_full_ns; /* when the bucket of requests_per_s is full again */
	uint32_t refs;
	struct vbd_callers *callers;
	UT_hash_handle by_name;
};

/* All callers that something refers to. */
struct vbd_callers {
	struct vbd_caller *by_name;
	uint64_t numbers; /* that were given */
};

/* The caller that an object is made for, and the object's labels. An origin has no references of
 * its own. Zeros: the daemon makes the object by itself. */
struct vbd_origin {
	struct vbd_caller *caller; /* finds what the object refers to, and owns the object */
	struct vbd_labels *labels; /* NULL: none */
	bool shared;		   /* every operator may use the object, which has no owner */
};

/** vbd_callers_init - no callers */
void vbd_callers_init(struct vbd_callers *callers);

/**
 * vbd_callers_get - the caller of a name, made with VBD_ROLE_NONE if there is none yet
 *
 * Returns a reference; NULL without memory, and for a name of VBD_NAME_BYTES or more.
 */
struct vbd_caller *vbd_callers_get(struct vbd_callers *callers, const char *name);

/** vbd_caller_ref - take a reference; @caller may be NULL. Returns @caller. */
struct vbd_caller *vbd_caller_ref(struct vbd_caller *caller);

/** vbd_caller_unref - return a reference; the last one frees the caller; @caller may be NULL */
void vbd_caller_unref(struct vbd_caller *caller);

/**
 * vbd_caller_scope - the caller, if it may know of its own things only, and of the daemon's; NULL
 * if it may know of everything
 *
 * Callers of one scope see the same. @caller: NULL for the daemon itself
 */
struct vbd_caller *vbd_caller_scope(struct vbd_caller *caller);

/**
 * vbd_caller_sees - whether a caller may know of what belongs to another one
 * @caller: NULL for the daemon itself, which sees everything
 * @owner:  NULL for what the daemon has made, which everybody sees
 *
 * This and vbd_caller_scope() are the only place that decides it: a caller of the role "operate"
 * sees what is its own.
 */
bool vbd_caller_sees(const struct vbd_caller *caller, const struct vbd_caller *owner);

/** vbd_whose - the owner of an object: the number of a caller, VBD_OF_VERBSD or VBD_OF_ALL */
uint64_t vbd_whose(const struct vbd_object *object);

/** vbd_owner_informs - whether @owner may know the keys of what is @whose (vbd_whose()): only then
 * an explanation for @owner, or of a thing of @owner, may tell of it. NULL, the daemon, may know
 * those of its own things; vbd_explain_connection() keeps those from operators. */
bool vbd_owner_informs(const struct vbd_caller *owner, uint64_t whose);

/** vbd_caller_may_change - whether a caller that sees a thing may change and delete it: an operator
 * may not, if it is the daemon's. Arguments as of vbd_caller_sees(). */
bool vbd_caller_may_change(const struct vbd_caller *caller, const struct vbd_caller *owner);

/**
 * vbd_caller_may - whether a caller may do something with an object
 * @caller: NULL for the daemon itself, which may do everything
 *
 * The only place that decides it; vbd_registry_find_for() asks for each reference of a request.
 */
bool vbd_caller_may(
	const struct vbd_caller *caller, const struct vbd_object *object, enum vbd_purpose purpose);

#endif
