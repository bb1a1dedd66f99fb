/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of a request between the wire and its handler: target, host, origin, route, role,
 * parameters, media type, size, body, idempotency. Knows no HTTP library, so that tests and fuzzers
 * drive it directly.
 *
 * Control thread; nothing here blocks.
 */
#ifndef VBD_API_HTTP_DISPATCH_H
#define VBD_API_HTTP_DISPATCH_H

#include "api/http/auth.h"
#include "api/http/request.h"
#include "api/http/router.h"

#include <stddef.h>

struct vbd_dispatch;

struct vbd_dispatch_config {
	struct vbd_router router;
	struct vbd_auth_rules auth;
	size_t json_max_bytes; /* of a JSON body */
	size_t idem_max;       /* Idempotency-Keys remembered */
	void *context;	       /* for the handlers, as req->context */
	/* A client was turned away for who or where it is. May be NULL. */
	void (*on_refused)(void *context, const char *client, const struct vbd_error *err);
};

/** vbd_dispatch_create - @config is copied, what it points to is not; NULL without memory */
struct vbd_dispatch *vbd_dispatch_create(const struct vbd_dispatch_config *config);

/** vbd_dispatch_destroy - NULL is fine; no request may be under way */
void vbd_dispatch_destroy(struct vbd_dispatch *dispatch);

/**
 * vbd_dispatch_head - the headers are there
 * @req:    zeroed but for transport, client, path and content_bytes
 * @method: as sent
 * @target: raw request target; overwritten, and must live as long as the request
 * @peer:   where it came from
 *
 * Afterwards the request may have its answer already (req->reply.status); then its body, if any, is
 * of no interest.
 */
void vbd_dispatch_head(struct vbd_dispatch *dispatch, struct vbd_request *req, const char *method,
	char *target, const struct vbd_auth_peer *peer);

/** vbd_dispatch_body - some of the body; not to be called once there is an answer */
void vbd_dispatch_body(struct vbd_dispatch *dispatch, struct vbd_request *req, const void *bytes,
	size_t len_bytes);

/**
 * vbd_dispatch_run - the body is complete: call the handler, unless there is an answer
 *
 * Afterwards the request has its answer or is parked.
 */
void vbd_dispatch_run(struct vbd_dispatch *dispatch, struct vbd_request *req);

#endif
