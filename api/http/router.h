/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which handler answers what. The table of all routes is static; tests hold it against
 * openapi.yaml, both ways.
 *
 * Any thread.
 */
#ifndef VBD_API_HTTP_ROUTER_H
#define VBD_API_HTTP_ROUTER_H

#include "api/http/role.h"
#include "api/http/uri.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct vbd_request;
struct vbd_task_kind;

enum vbd_method {
	VBD_METHOD_GET,
	VBD_METHOD_POST,
	VBD_METHOD_PUT,
	VBD_METHOD_PATCH,
	VBD_METHOD_DELETE,
	VBD_METHOD_OTHER, /* one that no path knows */
};

enum vbd_body {
	VBD_BODY_NONE,	   /* an empty one, or {} */
	VBD_BODY_OPTIONAL, /* JSON if there is one */
	VBD_BODY_JSON,
	VBD_BODY_STREAM, /* bytes of any kind, into the sink that `open` sets */
};

#define VBD_ROUTE_QUERY_MAX 8

struct vbd_route {
	const char *pattern;   /* "/v1/connections/{ref}/accept" */
	const char *operation; /* operationId in openapi.yaml */
	enum vbd_method method;
	enum vbd_role role; /* needed at least */
	enum vbd_body body;
	bool prefer;				/* honours Prefer: wait=N */
	const char *query[VBD_ROUTE_QUERY_MAX]; /* parameters it takes; the rest is refused */
	/* Called with the whole request; replies, or parks it. */
	void (*handler)(struct vbd_request *req);
	const struct vbd_task_kind *task; /* for the handlers of api/resources/task.h */
	/* VBD_BODY_STREAM only: called before the body; sets a sink, or replies. */
	void (*open)(struct vbd_request *req);
};

struct vbd_router {
	const struct vbd_route *routes;
	size_t n_routes;
};

/** vbd_method_parse - VBD_METHOD_OTHER for an unknown one; HEAD counts as GET */
enum vbd_method vbd_method_parse(const char *name);

/** vbd_method_name - "GET" */
const char *vbd_method_name(enum vbd_method method);

/**
 * vbd_router_find - the route of a request
 * @ret_ref:   the decoded {ref} segment, pointing into @uri; NULL if the pattern has none
 * @ret_allow: bit mask (1 << enum vbd_method) of the methods that the path knows; set in any case
 *
 * Returns NULL when the path is unknown (@ret_allow is 0) or does not know the method.
 */
const struct vbd_route *vbd_router_find(const struct vbd_router *router, enum vbd_method method,
	const struct vbd_uri *uri, const char **ret_ref, unsigned int *ret_allow);

/** vbd_route_check_query - VBD_E_UNKNOWN_FIELD for a parameter that the route does not take */
enum vbd_status vbd_route_check_query(const struct vbd_route *route, const struct vbd_uri *uri,
	struct vbd_error *err) VBD_MUST_CHECK;

#endif
