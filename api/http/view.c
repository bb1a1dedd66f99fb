/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/view.h"

#include "api/http/request.h"

#define FIELDS_CHARS_MAX 1024

static enum vbd_status add_field(struct vbd_view *view, const struct vbd_member *members,
	const char *name, size_t len, struct vbd_error *err)
{
	while (members->path &&
		(strlen(members->path) != len || memcmp(members->path, name, len) != 0))
		members++;
	if (!members->path || memchr(name, '.', len))
		return vbd_error_input(err, VBD_E_BAD_VALUE, "fields",
			"'%.*s' is not a member of the object", len < 40 ? (int)len : 40, name);
	if (view->n_names == VBD_SIEVE_NAMES_MAX)
		return vbd_error_input(err, VBD_E_TOO_LONG, "fields",
			"fields has more than %d members", VBD_SIEVE_NAMES_MAX - 1);
	view->names[view->n_names++] = members->path;
	return VBD_OK;
}

static enum vbd_status add_fields(struct vbd_view *view, const struct vbd_member *members,
	const char *fields, struct vbd_error *err)
{
	enum vbd_status status = add_field(view, members, "id", strlen("id"), err);

	while (status == VBD_OK && *fields) {
		size_t len = strcspn(fields, ",");

		status = add_field(view, members, fields, len, err);
		fields += len + (fields[len] == ',');
	}
	return status;
}

static void add_short_members(struct vbd_view *view, const struct vbd_member *members)
{
	for (; members->path && view->n_names < VBD_SIEVE_NAMES_MAX; members++) {
		if (members->is_short)
			view->names[view->n_names++] = members->path;
	}
}

enum vbd_status vbd_view_parse(const struct vbd_request *req, const struct vbd_member *members,
	bool is_list, struct vbd_view *ret_view, struct vbd_error *err)
{
	const char *fields = NULL;
	enum vbd_status status = vbd_query_text(req, "fields", FIELDS_CHARS_MAX, &fields, err);
	bool some = fields && *fields;

	if (status != VBD_OK)
		return status;
	ret_view->n_names = 0;
	ret_view->full = some ? strcmp(fields, "*") == 0 : !is_list;
	if (ret_view->full)
		return VBD_OK;
	if (some)
		return add_fields(ret_view, members, fields, err);
	add_short_members(ret_view, members);
	return VBD_OK;
}

/* --- objects --------------------------------------------------------------------------------- */

static void hide_from(struct vbd_sieve *room, const struct vbd_member *members, enum vbd_role role)
{
	for (; members->path; members++) {
		if (role < members->role)
			vbd_sieve_hide(room, members->path);
	}
}

enum vbd_role vbd_view_role(const struct vbd_request *req, const struct vbd_object *object)
{
	return vbd_caller_may(req->caller, object, VBD_TO_USE) ? req->role : VBD_ROLE_READ;
}

struct vbd_sieve *vbd_view_sieve(enum vbd_role role, const struct vbd_member *members,
	const struct vbd_view *view, struct vbd_sieve *room)
{
	bool whole = !view || view->full;

	vbd_sieve_begin(room);
	for (size_t i = 0; !whole && i < view->n_names; i++)
		vbd_sieve_keep(room, view->names[i]);
	hide_from(room, members, role);
	return whole && !room->n_hide ? NULL : room;
}

struct vbd_sieve *vbd_view_public_sieve(const struct vbd_member *members, struct vbd_sieve *room)
{
	vbd_sieve_begin(room);
	hide_from(room, members, VBD_ROLE_READ);
	return room->n_hide ? room : NULL;
}
