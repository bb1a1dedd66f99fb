/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request, as a handler sees it. A handler replies, once, before it returns; or it parks the
 * request and somebody replies later, from any callback of the control thread.
 *
 * Control thread; nothing here blocks.
 */
#ifndef VBD_API_HTTP_REQUEST_H
#define VBD_API_HTTP_REQUEST_H

#include "api/http/reply.h"
#include "api/http/role.h"
#include "api/http/router.h"
#include "api/http/uri.h"
#include "base/attr.h"
#include "base/error.h"

#include <jansson.h>

#include <stdbool.h>
#include <stdint.h>

struct vbd_idem_entry;
struct vbd_problem_extra;

/* Where a stream's bytes go. */
struct vbd_sink {
	/* @bytes in the order sent; an error ends the writing and is what the client gets. */
	enum vbd_status (*write)(
		void *arg, const void *bytes, size_t len_bytes, struct vbd_error *err);
	void (*close)(void *arg); /* always called, once, when the request ends, however it does */
	void *arg;
};

/* Called when nobody waits for the answer any more: see vbd_request_park(). */
typedef void (*vbd_request_cb)(struct vbd_request *req, void *arg);

/* What a request needs of whoever carries it: the HTTP server, or a test. */
struct vbd_transport {
	/** header - value of a header that may stand once only; NULL if it is not there */
	const char *(*header)(struct vbd_request *req, const char *name);
	/** park - as vbd_request_park() */
	enum vbd_status (*park)(struct vbd_request *req, uint64_t timeout_ms,
		vbd_request_cb on_timeout, vbd_request_cb on_gone, void *arg,
		struct vbd_error *err);
	/** answered - the reply of a parked request is there */
	void (*answered)(struct vbd_request *req);
	/** may_feed - as vbd_reply_feed() */
	enum vbd_status (*may_feed)(struct vbd_request *req, struct vbd_error *err);
	/** wake - as vbd_request_wake() */
	void (*wake)(struct vbd_request *req);
};

struct vbd_request {
	/* For handlers, read only. */
	enum vbd_method method;
	bool head;	  /* GET without the body */
	const char *path; /* raw, without the query */
	const char *ref;  /* the {ref} of the path, decoded; NULL if the pattern has none */
	struct vbd_uri uri;
	const struct vbd_route *route;
	enum vbd_role role;
	char client[72];	/* "127.0.0.1:40312", "unix uid 1000" */
	uint64_t content_bytes; /* announced body; UINT64_MAX when it comes in chunks */
	json_t *json;		/* parsed body; NULL if there is none */
	unsigned int wait_s;	/* of Prefer: wait=N; 0 if there is none */
	bool wait_asked;	/* Prefer: wait was there */
	bool respond_async;	/* Prefer: respond-async was there */
	void *context;		/* the services: what the server was created with */

	/* For the transport and dispatch. */
	const struct vbd_transport *transport;
	struct vbd_reply reply;
	struct vbd_sink sink;
	struct vbd_idem_entry *idem;
	char *body;
	size_t body_bytes;
	size_t body_room_bytes;
	bool parked;
	bool abandoned; /* nobody waits any more; a reply only goes to the idempotency store */
};

/* --- parameters and headers ------------------------------------------------------------------ */

/** vbd_request_header - value of a header; NULL if it is not there. Lives as long as the request.
 */
const char *vbd_request_header(struct vbd_request *req, const char *name);

/** vbd_request_knows_tag - true if @etag (quoted, weak or not) is among If-None-Match */
bool vbd_request_knows_tag(struct vbd_request *req, const char *etag);

/** vbd_query_text - a parameter of at most @max characters; *ret is untouched if it is not there */
enum vbd_status vbd_query_text(const struct vbd_request *req, const char *name, size_t max,
	const char **ret, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_query_u64 - a decimal parameter from @min to @max; *ret is untouched if it is not there */
enum vbd_status vbd_query_u64(const struct vbd_request *req, const char *name, uint64_t min,
	uint64_t max, uint64_t *ret, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_query_enum - one of @names; its index in *ret, which is untouched if it is not there */
enum vbd_status vbd_query_enum(const struct vbd_request *req, const char *name,
	const char *const *names, size_t n_names, size_t *ret,
	struct vbd_error *err) VBD_MUST_CHECK;

/* --- answers --------------------------------------------------------------------------------- */

/**
 * vbd_request_add_header - add a header to the answer to come
 * @name: static string
 */
void vbd_request_add_header(struct vbd_request *req, const char *name, const char *value);

/** vbd_request_add_location - add `Location: /v1/KIND/ID` */
void vbd_request_add_location(struct vbd_request *req, const char *kind, uint64_t id);

/** vbd_reply_json - answer with a document; takes @json over, NULL (no memory) answers 507 */
void vbd_reply_json(struct vbd_request *req, unsigned int status, json_t *json);

/** vbd_reply_empty - answer without a body: 204 */
void vbd_reply_empty(struct vbd_request *req, unsigned int status);

/** vbd_reply_static - answer with bytes that live for ever */
void vbd_reply_static(
	struct vbd_request *req, const char *content_type, const void *bytes, size_t len_bytes);

/** vbd_reply_text - 200 with bytes from malloc, taken over; NULL (no memory) answers 507
 * @content_type: static string */
void vbd_reply_text(
	struct vbd_request *req, const char *content_type, char *bytes, size_t len_bytes);

/** vbd_reply_stream - answer with octets that are made while they are sent: 200 or 206 */
void vbd_reply_stream(
	struct vbd_request *req, unsigned int status, const struct vbd_reader *reader);

/**
 * vbd_reply_feed - answer with what goes on as it comes; not of a parked request
 * @content_type: static string
 * @feed: taken over; its `free` is called in any case
 *
 * The request stays alive until then. Answers limit_reached when too many listen already.
 */
void vbd_reply_feed(struct vbd_request *req, const char *content_type, const struct vbd_feed *feed);

/** vbd_request_wake - there is something to say again; harmless at any time until feed's `free` */
void vbd_request_wake(struct vbd_request *req);

/** vbd_reply_problem - answer with what went wrong */
void vbd_reply_problem(struct vbd_request *req, const struct vbd_error *err);

/** vbd_reply_problem_extra - the same with members that an error does not carry */
void vbd_reply_problem_extra(struct vbd_request *req, const struct vbd_error *err,
	const struct vbd_problem_extra *extra);

/** vbd_reply_created - 201 with a document and its `Location: /v1/KIND/ID` */
void vbd_reply_created(struct vbd_request *req, const char *kind, uint64_t id, json_t *json);

/* --- waiting --------------------------------------------------------------------------------- */

/**
 * vbd_request_park - keep the request beyond the handler
 * @timeout_ms: until @on_timeout is called; 0 for no deadline
 * @on_timeout: the deadline passed: it must reply. May be NULL when @timeout_ms is 0.
 * @on_gone:    the client left, or the server stops. It may reply with how things stand: a repeat
 *              under the same Idempotency-Key then gets that. Otherwise the server answers.
 *
 * Called by the handler, once. Whoever replies later finds the request alive until then. After
 * @on_gone has run, or after a reply, the request must not be touched: both are the end of it.
 *
 * Returns VBD_E_LIMIT_REACHED when too many wait, VBD_E_STOPPING, VBD_E_NO_MEMORY; then nothing is
 * parked, and the handler replies.
 */
enum vbd_status vbd_request_park(struct vbd_request *req, uint64_t timeout_ms,
	vbd_request_cb on_timeout, vbd_request_cb on_gone, void *arg,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_request_set_sink - where the body goes; only from the route's `open` */
void vbd_request_set_sink(struct vbd_request *req, const struct vbd_sink *sink);

/** vbd_request_fini - release what the request holds; its idempotency entry as well */
void vbd_request_fini(struct vbd_request *req);

#endif
