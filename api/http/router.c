/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/router.h"

VBD_ENUM_NAMES(vbd_method_name, enum vbd_method, VBD_METHOD_MAP)

enum vbd_method vbd_method_parse(const char *name)
{
	if (strcmp(name, "HEAD") == 0)
		return VBD_METHOD_GET;
	for (unsigned int i = 0; i < VBD_METHOD_OTHER; i++) {
		if (strcmp(name, vbd_method_name((enum vbd_method)i)) == 0)
			return (enum vbd_method)i;
	}
	return VBD_METHOD_OTHER;
}

size_t vbd_allow_names(unsigned int allow, const char *names[VBD_ALLOW_MAX])
{
	size_t n_names = 0;

	for (unsigned int i = 0; i < VBD_METHOD_OTHER; i++) {
		if (!(allow & 1u << i))
			continue;
		names[n_names++] = vbd_method_name((enum vbd_method)i);
		if (i == VBD_METHOD_GET)
			names[n_names++] = "HEAD";
	}
	return n_names;
}

/* The rest of @pattern behind a segment; NULL if that differs from @segment. "{ref}" is any segment
 * that is not empty. */
static const char *behind_segment(const char *pattern, const char *segment)
{
	static const char ref[] = "{ref}";

	if (*pattern == *ref)
		return *segment ? pattern + strlen(ref) : NULL;
	while (*segment && *pattern == *segment) {
		pattern++;
		segment++;
	}
	return !*segment && (*pattern == '/' || !*pattern) ? pattern : NULL;
}

/* True if the path is below /v1, and the first letter behind that tells that the pattern differs.
 * Every request looks at every pattern, and nearly all of them differ so. */
static bool differs_early(const char *pattern, const struct vbd_uri *uri)
{
	if (uri->n_segments < 2 || pattern[1] != 'v' || pattern[2] != '1' || pattern[3] != '/')
		return false;
	return pattern[4] != *uri->segments[1] && pattern[4] != '{';
}

/* True if the path matches. */
static bool match_pattern(const char *pattern, const struct vbd_uri *uri, const char **ret_ref)
{
	const char *ref = NULL;
	size_t i;

	if (uri->n_segments > VBD_URI_SEGMENTS_MAX || differs_early(pattern, uri))
		return false;
	for (i = 0; *pattern == '/' && i < uri->n_segments; i++) {
		if (*++pattern == '{')
			ref = uri->segments[i];
		pattern = behind_segment(pattern, uri->segments[i]);
		if (!pattern)
			return false;
	}
	if (*pattern || i != uri->n_segments)
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

		if (!match_pattern(route->pattern, uri, &ref))
			continue;
		*ret_allow |= 1u << route->method | 1u << VBD_METHOD_OPTIONS;
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
