/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checks between the wire and the handler of a request: target, host, origin, route, role,
 * parameters, media type, size, body, idempotency. No HTTP library is used here, so that tests and
 * fuzzers call these functions directly.
 *
 * Control thread; nothing here blocks.
 */
#ifndef VBD_API_HTTP_DISPATCH_H
#define VBD_API_HTTP_DISPATCH_H

#include "api/http/request.h"

struct vbd_dispatch;
struct vbd_keeper;
struct vbd_turns;

struct vbd_dispatch_config {
	struct vbd_router router;
	struct vbd_auth_rules auth;
	/* Largest JSON body, which may change between two requests. */
	const uint64_t *json_max_bytes;
	size_t idem_max;	   /* Idempotency-Keys kept */
	struct vbd_keeper *keeper; /* of their answers over a restart; NULL: nothing keeps them */
	const char *server_id;	   /* of this run of verbsd; NULL: no answer names it */
	struct vbd_turns *turns;   /* large bodies are parsed in; NULL: all at once */
	void *context;		   /* for the handlers, as req->context */
	/* Let the request wait for the object at the path, as the POST that made the object did,
	 * and answer; false if it can't wait. For a repeat whose first answer was 202. May be NULL.
	 */
	bool (*await)(struct vbd_request *req, const char *path);
	/* Called when a client is refused for its role, Host or Origin. @caller is NULL if nobody
	 * knows who it is. May be NULL. */
	void (*on_refused)(void *context, const char *client, const struct vbd_caller *caller,
		const struct vbd_error *err);
	/* Called once for each request that vbd_request_audit() selects, when its answer is
	 * complete, or, without one, when the client has left. May be NULL. */
	vbd_audited_cb on_audited;
};

/** vbd_dispatch_create - @config is copied, but not the strings and routes; NULL without memory */
struct vbd_dispatch *vbd_dispatch_create(const struct vbd_dispatch_config *config);

/** vbd_dispatch_set_credentials - let later requests be those of other callers; @credentials must
 * outlive their use */
void vbd_dispatch_set_credentials(
	struct vbd_dispatch *dispatch, const struct vbd_credentials *credentials);

/** vbd_dispatch_may_stay - whether the sender of an open request would be let in now as before;
 * VBD_E_UNAUTHORIZED if not */
enum vbd_status vbd_dispatch_may_stay(struct vbd_dispatch *dispatch, struct vbd_request *req,
	const struct vbd_auth_peer *peer, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_dispatch_destroy - no request may be open; @dispatch may be NULL */
void vbd_dispatch_destroy(struct vbd_dispatch *dispatch);

/**
 * vbd_dispatch_head - check the head of a request and find its route
 * @req:    zeroed but for transport, headers, client, path and content_bytes
 * @method: as sent
 * @target: raw request target; overwritten, and must live as long as the request
 * @peer:   the client
 *
 * If the request has an answer afterwards (req->reply.status), its body is not needed.
 */
void vbd_dispatch_head(struct vbd_dispatch *dispatch, struct vbd_request *req, const char *method,
	char *target, const struct vbd_auth_peer *peer);

/** vbd_dispatch_body - process a part of the body; not to be called after there is an answer */
void vbd_dispatch_body(struct vbd_dispatch *dispatch, struct vbd_request *req, const void *bytes,
	size_t len_bytes);

/** vbd_dispatch_run - the body is complete: call the handler, unless there is an answer; afterwards
 * the request has an answer or is parked */
void vbd_dispatch_run(struct vbd_dispatch *dispatch, struct vbd_request *req);

/** vbd_dispatch_idempotency_keys - the number of Idempotency-Keys that are remembered */
size_t vbd_dispatch_idempotency_keys(const struct vbd_dispatch *dispatch);

#endif
