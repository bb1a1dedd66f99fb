/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/view.h"

#include "api/http/request.h"
#include "daemon/core/caller.h"

#include <string.h>

#define FIELDS_CHARS_MAX 1024

static struct vbd_sieve_path first_part(struct vbd_sieve_path path)
{
	const char *dot = memchr(path.text, '.', path.len);

	return (struct vbd_sieve_path){path.text, dot ? (size_t)(dot - path.text) : path.len};
}

/* The path behind the first part and its dot; empty for a path of one part. */
static struct vbd_sieve_path rest_of(struct vbd_sieve_path path)
{
	size_t used = first_part(path).len;

	used += used < path.len;
	return (struct vbd_sieve_path){path.text + used, path.len - used};
}

/* --- parameters ------------------------------------------------------------------------------ */

/* Compare a path with a member of the contract, in which "*" is any name. */
static bool is_member(struct vbd_sieve_path path, const char *member)
{
	struct vbd_sieve_path known = {member, strlen(member)};

	while (path.len && known.len) {
		struct vbd_sieve_path a = first_part(path);
		struct vbd_sieve_path b = first_part(known);
		bool any = b.len == 1 && *b.text == '*' && a.len;

		if (!any && (a.len != b.len || memcmp(a.text, b.text, a.len) != 0))
			return false;
		path = rest_of(path);
		known = rest_of(known);
	}
	return !path.len && !known.len;
}

static enum vbd_status add_field(struct vbd_view *view, const struct vbd_member *members,
	struct vbd_sieve_path path, struct vbd_error *err)
{
	while (members->path && !is_member(path, members->path))
		members++;
	if (!members->path || !path.len || path.text[path.len - 1] == '.')
		return vbd_error_input(err, VBD_E_BAD_VALUE, "fields",
			"'%.*s' is not a member of the object", path.len < 40 ? (int)path.len : 40,
			path.text);
	if (view->n_paths == VBD_SIEVE_PATHS_MAX)
		return vbd_error_input(err, VBD_E_TOO_LONG, "fields",
			"fields has more than %d members", VBD_SIEVE_PATHS_MAX - 1);
	view->paths[view->n_paths++] = path;
	return VBD_OK;
}

static enum vbd_status add_fields(struct vbd_view *view, const struct vbd_member *members,
	const char *fields, struct vbd_error *err)
{
	enum vbd_status status = add_field(view, members, (struct vbd_sieve_path){"id", 2}, err);

	while (status == VBD_OK && *fields) {
		size_t len = strcspn(fields, ",");

		status = add_field(view, members, (struct vbd_sieve_path){fields, len}, err);
		fields += len + (fields[len] == ',');
	}
	return status;
}

static void add_summary(struct vbd_view *view, const struct vbd_member *members)
{
	for (; members->path && view->n_paths < VBD_SIEVE_PATHS_MAX; members++) {
		if (members->summary)
			view->paths[view->n_paths++] =
				(struct vbd_sieve_path){members->path, strlen(members->path)};
	}
}

enum vbd_status vbd_view_parse(const struct vbd_request *req, const struct vbd_member *members,
	bool summary, struct vbd_view *ret_view, struct vbd_error *err)
{
	static const char *const names[] = {"full", "summary"};
	size_t chosen = summary;
	const char *fields = NULL;
	enum vbd_status status = vbd_query_text(req, "fields", FIELDS_CHARS_MAX, &fields, err);

	ret_view->n_paths = 0;
	if (status == VBD_OK)
		status = vbd_query_enum(req, "view", names, VBD_ARRAY_LEN(names), &chosen, err);
	if (status != VBD_OK)
		return status;
	ret_view->full = !chosen && !(fields && *fields);
	if (fields && *fields && vbd_uri_param(&req->uri, "view"))
		return vbd_error_input(
			err, VBD_E_BAD_VALUE, "view", "view and fields can't be combined");
	if (fields && *fields)
		return add_fields(ret_view, members, fields, err);
	if (chosen)
		add_summary(ret_view, members);
	return VBD_OK;
}

/* --- objects --------------------------------------------------------------------------------- */

static void hide_from(struct vbd_sieve *room, const struct vbd_member *members, enum vbd_role role)
{
	for (; members->path; members++) {
		if (role < members->role)
			vbd_sieve_hide(room, members->path, strlen(members->path));
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
	for (size_t i = 0; !whole && i < view->n_paths; i++)
		vbd_sieve_keep(room, view->paths[i].text, view->paths[i].len);
	hide_from(room, members, role);
	return whole && !room->n_hide ? NULL : room;
}

struct vbd_sieve *vbd_view_public_sieve(const struct vbd_member *members, struct vbd_sieve *room)
{
	vbd_sieve_begin(room);
	hide_from(room, members, VBD_ROLE_READ);
	return room->n_hide ? room : NULL;
}
