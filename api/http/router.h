/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the route of a request in the static table of all routes. Tests compare the table with
 * openapi.yaml in both directions.
 *
 * Any thread.
 */
#ifndef VBD_API_HTTP_ROUTER_H
#define VBD_API_HTTP_ROUTER_H

#include "api/http/uri.h"
#include "daemon/config/callers.h"

struct vbd_request;
struct vbd_task_kind;

/* X(SYMBOL, name): OPTIONS is of every path, without a route; OTHER is one that no path has */
#define VBD_METHOD_MAP(X)                \
	X(VBD_METHOD_GET, "GET")         \
	X(VBD_METHOD_POST, "POST")       \
	X(VBD_METHOD_PUT, "PUT")         \
	X(VBD_METHOD_PATCH, "PATCH")     \
	X(VBD_METHOD_DELETE, "DELETE")   \
	X(VBD_METHOD_OPTIONS, "OPTIONS") \
	X(VBD_METHOD_OTHER, "OTHER")

enum vbd_method { VBD_METHOD_MAP(VBD_ENUM_ROW) };

enum vbd_body {
	VBD_BODY_NONE,	   /* no body, or {} */
	VBD_BODY_OPTIONAL, /* JSON, or no body */
	VBD_BODY_JSON,
	VBD_BODY_STREAM, /* any bytes, written to the sink that `open` sets */
};

#define VBD_ROUTE_QUERY_MAX 16

struct vbd_route {
	const char *pattern;   /* "/v1/connections/{ref}/accept" */
	const char *operation; /* operationId in openapi.yaml */
	enum vbd_method method;
	enum vbd_role role; /* the lowest role that may call this */
	enum vbd_body body;
	bool audited;				/* though it is a GET */
	bool moves_data;			/* too often for an event of each audit record */
	bool prefer;				/* takes Prefer and wait_ms */
	bool parts;				/* takes Range */
	bool stream;				/* takes Last-Event-ID */
	const char *query[VBD_ROUTE_QUERY_MAX]; /* allowed parameters */
	/* Called when the request is complete; replies or parks the request. */
	void (*handler)(struct vbd_request *req);
	void (*create)(
		struct vbd_request *req); /* for vbd_create_labelled(), which is the handler */
	const struct vbd_task_kind *task; /* for the handlers of api/core/task.h */
	/* VBD_BODY_STREAM only: called before the body; sets the sink or replies. */
	void (*open)(struct vbd_request *req);
};

struct vbd_router {
	const struct vbd_route *routes;
	size_t n_routes;
};

/** vbd_method_parse - find a method; VBD_METHOD_OTHER if unknown; HEAD counts as GET */
enum vbd_method vbd_method_parse(const char *name);

/** vbd_method_is_safe - true if the method changes nothing (RFC 9110, 9.2.1) */
static inline bool vbd_method_is_safe(enum vbd_method method)
{
	return method == VBD_METHOD_GET || method == VBD_METHOD_OPTIONS;
}

/** vbd_method_name - "GET" */
const char *vbd_method_name(enum vbd_method method);

/* Allow names each method, and HEAD. */
#define VBD_ALLOW_MAX (VBD_METHOD_OTHER + 1)

/** vbd_allow_names - the names of the methods in a bit mask, static strings, and HEAD beside GET;
 * returns their number */
size_t vbd_allow_names(unsigned int allow, const char *names[VBD_ALLOW_MAX]);

/* Every method that verbsd has, for the target "*". */
#define VBD_ALLOW_ALL ((1u << VBD_METHOD_OTHER) - 1)

/**
 * vbd_router_find - find the route of a request
 * @ret_ref:   the decoded {ref} segment, pointing into @uri; NULL if the pattern has none
 * @ret_allow: bit mask (1 << enum vbd_method) of the methods of the path; set in any case.
 *             OPTIONS is one of each path
 *
 * Returns NULL if the path is unknown (@ret_allow is 0) or has no route with the method.
 */
const struct vbd_route *vbd_router_find(const struct vbd_router *router, enum vbd_method method,
	const struct vbd_uri *uri, const char **ret_ref, unsigned int *ret_allow);

/** vbd_route_waits - can a client say how long a request of the route may wait? */
bool vbd_route_waits(const struct vbd_route *route);

/** vbd_route_check_query - VBD_E_UNKNOWN_FIELD if a parameter is not one of the route */
enum vbd_status vbd_route_check_query(const struct vbd_route *route, const struct vbd_uri *uri,
	struct vbd_error *err) VBD_MUST_CHECK;

#endif
