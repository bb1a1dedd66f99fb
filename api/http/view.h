/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of an object that a client asks for: the parameter `fields`.
 *
 * Control thread.
 */
#ifndef VBD_API_HTTP_VIEW_H
#define VBD_API_HTTP_VIEW_H

#include "api/json/writer.h"
#include "daemon/config/callers.h"

struct vbd_object;
struct vbd_request;

/* A member of an object, as the contract names it. */
struct vbd_member {
	const char *path; /* nested with dots, "*" for any name: "qp.sq_depth"; NULL ends a table */
	bool is_short;	  /* the short form, of lists, has the member */
	/* The least role that sees it. A path below one that is hidden is hidden as well. */
	enum vbd_role role;
};

struct vbd_view {
	bool full;
	/* Unless `full`: the members that stay, each with all that it contains; static. */
	const char *names[VBD_SIEVE_NAMES_MAX];
	size_t n_names;
};

/**
 * vbd_view_parse - read the parameter `fields`; "*" is the whole object
 * @members: of the object; the member `id` always stays
 * @is_list: without `fields`, the short form is meant; false: the whole object
 *
 * Returns VBD_E_BAD_VALUE for a member that the contract does not have, VBD_E_TOO_LONG for too many
 * members.
 */
enum vbd_status vbd_view_parse(const struct vbd_request *req, const struct vbd_member *members,
	bool is_list, struct vbd_view *ret_view, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_view_role - the role as which the caller sees an object: "read" if it may not use the
 * object */
enum vbd_role vbd_view_role(const struct vbd_request *req, const struct vbd_object *object);

/**
 * vbd_view_sieve - make the sieve that holds back what the client did not ask for, and what its
 * role must not see
 * @role:    of vbd_view_role(); of the request for a thing without an owner
 * @members: of the object
 * @view:    NULL: the client asks for the whole object
 * @room:    filled, unless everything may pass
 *
 * Every object that is in an answer is written through this, and nothing else hides members.
 * Returns @room, or NULL if everything may pass.
 */
struct vbd_sieve *vbd_view_sieve(enum vbd_role role, const struct vbd_member *members,
	const struct vbd_view *view, struct vbd_sieve *room);

/** vbd_view_public_sieve - make the sieve that holds back what the role "read" must not see; NULL
 * if the objects have no such member */
struct vbd_sieve *vbd_view_public_sieve(const struct vbd_member *members, struct vbd_sieve *room);

#endif
