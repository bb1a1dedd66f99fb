/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/router.h"

#include <stdio.h>
#include <string.h>

static const char *const method_names[] = {
	[VBD_METHOD_GET] = "GET",
	[VBD_METHOD_POST] = "POST",
	[VBD_METHOD_PUT] = "PUT",
	[VBD_METHOD_PATCH] = "PATCH",
	[VBD_METHOD_DELETE] = "DELETE",
	[VBD_METHOD_OTHER] = "OTHER",
};

enum vbd_method vbd_method_parse(const char *name)
{
	if (strcmp(name, "HEAD") == 0)
		return VBD_METHOD_GET;
	for (unsigned int i = 0; i < VBD_METHOD_OTHER; i++) {
		if (strcmp(name, method_names[i]) == 0)
			return (enum vbd_method)i;
	}
	return VBD_METHOD_OTHER;
}

const char *vbd_method_name(enum vbd_method method)
{
	return method_names[method];
}

/* True if the path matches; "{ref}" in a pattern matches any segment that is not empty. */
static bool match(const char *pattern, const struct vbd_uri *uri, const char **ret_ref)
{
	const char *ref = NULL;
	size_t i;

	if (uri->n_segments > VBD_URI_SEGMENTS_MAX)
		return false;
	for (i = 0; *pattern == '/'; i++) {
		size_t len = strcspn(++pattern, "/");

		if (i == uri->n_segments)
			return false;
		if (len == 5 && memcmp(pattern, "{ref}", 5) == 0) {
			if (!*uri->segments[i])
				return false;
			ref = uri->segments[i];
		} else if (strncmp(pattern, uri->segments[i], len) != 0 ||
			   uri->segments[i][len] != '\0') {
			return false;
		}
		pattern += len;
	}
	if (i != uri->n_segments)
		return false;
	*ret_ref = ref;
	return true;
}

const struct vbd_route *vbd_router_find(const struct vbd_router *router, enum vbd_method method,
	const struct vbd_uri *uri, const char **ret_ref, unsigned int *ret_allow)
{
	const struct vbd_route *found = NULL;

	*ret_allow = 0;
	for (size_t i = 0; i < router->n_routes; i++) {
		const struct vbd_route *route = &router->routes[i];
		const char *ref;

		if (!match(route->pattern, uri, &ref))
			continue;
		*ret_allow |= 1u << route->method;
		/* The first row goes before those that match as well: "-" before {ref}. */
		if (found || route->method != method)
			continue;
		found = route;
		*ret_ref = ref;
	}
	return found;
}

static bool has_param(const struct vbd_route *route, const char *name)
{
	for (size_t i = 0; i < VBD_ROUTE_QUERY_MAX && route->query[i]; i++) {
		if (strcmp(route->query[i], name) == 0)
			return true;
	}
	return false;
}

bool vbd_route_waits(const struct vbd_route *route)
{
	return route->prefer || has_param(route, "wait_ms");
}

enum vbd_status vbd_route_check_query(
	const struct vbd_route *route, const struct vbd_uri *uri, struct vbd_error *err)
{
	for (size_t i = 0; i < uri->n_params; i++) {
		const char *name = uri->params[i].name;
		char known[256] = "none";
		size_t used = 0;

		if (has_param(route, name) || (route->prefer && strcmp(name, "wait_ms") == 0))
			continue;
		for (size_t k = 0; k < VBD_ROUTE_QUERY_MAX && route->query[k]; k++)
			used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s",
				k ? ", " : "", route->query[k]);
		return vbd_error_input(err, VBD_E_UNKNOWN_FIELD, name,
			"this path has no parameter '%.32s'; its parameters are: %s", name, known);
	}
	return VBD_OK;
}
