/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request, for its handler. A handler replies exactly once: before it returns, or, after it has
 * parked the request, later from any callback of the control thread.
 *
 * Control thread; nothing here blocks.
 */
#ifndef VBD_API_HTTP_REQUEST_H
#define VBD_API_HTTP_REQUEST_H

#include "api/http/auth.h"
#include "api/http/header.h"
#include "api/http/reply.h"
#include "api/http/router.h"
#include "api/json/parse.h"

struct vbd_encoder;
struct vbd_field;
struct vbd_idem_entry;
struct vbd_keeper;
struct vbd_labels;
struct vbd_problem_extra;

/* The destination of the bytes of a streamed body. */
struct vbd_sink {
	/* Write the next bytes of the body. An error is the answer, and ends the writing. */
	enum vbd_status (*write)(
		void *arg, const void *bytes, size_t len_bytes, struct vbd_error *err);
	void (*close)(void *arg); /* called exactly once, when the request ends in any way */
	void *arg;
};

/* Callbacks of a parked request: see vbd_request_park(). */
typedef void (*vbd_request_cb)(struct vbd_request *req, void *arg);

/* See `on_audited` of struct vbd_dispatch_config. */
typedef void (*vbd_audited_cb)(struct vbd_request *req);

/* Functions of the server of a request, which is the HTTP server or a test. */
struct vbd_transport {
	/** park - implements vbd_request_park() */
	enum vbd_status (*park)(struct vbd_request *req, uint64_t timeout_ms,
		vbd_request_cb on_timeout, vbd_request_cb on_gone, void *arg,
		struct vbd_error *err);
	/** answered - called when a parked request has its answer */
	void (*answered)(struct vbd_request *req);
	/** follow - count the request as a feed until it ends; an error if there are too many */
	enum vbd_status (*follow)(struct vbd_request *req, struct vbd_error *err);
	/** wake - a feed has bytes again; allowed at any time until `free` of the feed */
	void (*wake)(struct vbd_request *req);
	/**
	 * pass_fd - give the client a copy of a descriptor, ahead of the answer
	 * @fd: stays the caller's
	 *
	 * For a handler before its reply, not for a parked request. HEAD gets no descriptor.
	 * Returns VBD_E_UNIX_SOCKET_ONLY; VBD_E_TOO_MANY_REQUESTS if the client does not read.
	 */
	enum vbd_status (*pass_fd)(struct vbd_request *req, int fd, struct vbd_error *err);
};

struct vbd_request {
	/* For handlers, read only. */
	enum vbd_method method;
	bool head;	  /* GET without the body */
	const char *path; /* raw, without the query */
	const char *ref;  /* the {ref} of the path, decoded; NULL if the pattern has none */
	struct vbd_uri uri;
	const char *scheme, *authority; /* of a target in absolute form; else NULL */
	const struct vbd_route *route;
	struct vbd_caller *caller;    /* the one of `identity`; NULL without a role */
	struct vbd_identity identity; /* the request has its reference */
	enum vbd_role role;	      /* of the caller */
	const char *client;	      /* "127.0.0.1:40312", "unix uid 1000" */
	uint64_t content_bytes;	      /* Content-Length; UINT64_MAX for a chunked body */
	json_t *json;		      /* parsed body; NULL if there is none */
	struct vbd_labels *labels;    /* of what the request makes, referenced; NULL: none */
	bool shares;		      /* every operator may use what the request makes */
	uint64_t wait_ms;	      /* of wait_ms or Prefer: wait=S, 60 s at most; 0 if absent */
	bool wait_asked;	      /* wait_ms or Prefer: wait is present */
	bool wait_preferred;	      /* Prefer: wait is in force */
	bool respond_async;	      /* Prefer: respond-async is present */
	void *context;		      /* `context` of struct vbd_dispatch_config */

	/* For the transport and dispatch. */
	const struct vbd_transport *transport;
	char *headers[VBD_HEADER_COUNT]; /* of vbd_headers_add(); NULL: absent */
	struct vbd_reply reply;
	struct vbd_sink sink; /* of the body; only the route's `open` sets it */
	struct vbd_idem_entry *idem;
	struct vbd_keeper *keeper; /* of the row of `idem`; NULL: there is none */
	bool keyed;		   /* the answer is, or repeats, that of an Idempotency-Key */
	uint64_t key_ticket;	   /* of its row */
	struct vbd_faults faults;  /* of the body; for the problem that refuses it */
	/* A handler that has an error to tell sets it and leaves: see vbd_request_settle(). */
	struct vbd_error err;
	/* The request has made an object, which is still there, or begun a command: its answer,
	 * whatever the status, is kept for its Idempotency-Key, and that of no other request. A
	 * POST that waits and an answer without an error count as acted. */
	bool acted;
	char *body;
	size_t body_bytes;
	size_t body_room_bytes;
	char *answer_room;	   /* see vbd_request_reserve_answer(); NULL: none, or it is used */
	vbd_audited_cb on_audited; /* NULL: there is none, or it was called */
	bool parked;
	bool brief;	/* the request is being parked for the disk or a turn only */
	bool held;	/* `reply` is complete, and is sent when its row is written */
	bool abandoned; /* the client has left: an answer is stored for its Idempotency-Key only */
};

/* --- parameters and headers ------------------------------------------------------------------ */

/** vbd_request_header - value of a header, valid as long as the request; NULL if it is absent, or
 * if the request does not honour it */
static inline const char *vbd_request_header(const struct vbd_request *req, enum vbd_header header)
{
	return vbd_header_applies(header, req) ? req->headers[header] : NULL;
}

/** vbd_query_text - get a parameter of at most @max characters; absent: *ret is unchanged */
enum vbd_status vbd_query_text(const struct vbd_request *req, const char *name, size_t max,
	const char **ret, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_query_u64 - get a decimal parameter from @min to @max; absent: *ret is unchanged */
enum vbd_status vbd_query_u64(const struct vbd_request *req, const char *name, uint64_t min,
	uint64_t max, uint64_t *ret, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_query_enum - get the index in @names of a parameter; absent: *ret is unchanged */
enum vbd_status vbd_query_enum(const struct vbd_request *req, const char *name,
	const char *const *names, size_t n_names, size_t *ret,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_request_origin - the origin of what the request makes; valid as long as the request */
struct vbd_origin vbd_request_origin(const struct vbd_request *req);

/**
 * vbd_request_decode - fill a struct from the body, as vbd_decode_all() does
 * @err: the first fault; the problem with which the handler answers tells all
 */
enum vbd_status vbd_request_decode(struct vbd_request *req, const struct vbd_field *fields,
	size_t n_fields, void *target, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_request_parse_wait - set the members about waiting from `wait_ms` and `Prefer`
 *
 * Both are cut to 60 s. If both are present, wait_ms is in force. Returns VBD_E_WRONG_TYPE or
 * VBD_E_OUT_OF_RANGE for a wait_ms that is no number; a Prefer that is not understood is ignored.
 */
enum vbd_status vbd_request_parse_wait(
	struct vbd_request *req, struct vbd_error *err) VBD_MUST_CHECK;

/* --- answers --------------------------------------------------------------------------------- */

/** vbd_request_add_retry_after - add `Retry-After: SECONDS`, which every 429 and 503 has */
void vbd_request_add_retry_after(struct vbd_request *req, unsigned int seconds);

/** vbd_request_add_allow - add `Allow` with the methods of a bit mask (1 << enum vbd_method) */
void vbd_request_add_allow(struct vbd_request *req, unsigned int allow);

/** vbd_request_add_location - add `Location: /v1/KIND/ID` */
void vbd_request_add_location(struct vbd_request *req, const char *kind, uint64_t id);

/** vbd_request_reserve_answer - take the memory for the answer now: a request that makes an object,
 * and then finds none, would be told that nothing was made */
enum vbd_status vbd_request_reserve_answer(
	struct vbd_request *req, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_request_begin_answer - begin the document for vbd_reply_json(), in the memory that was
 * reserved, if that was done */
struct vbd_encoder vbd_request_begin_answer(struct vbd_request *req);

/** vbd_reply_json - answer with a document, which this ends; without memory for it, answer 507 */
void vbd_reply_json(struct vbd_request *req, unsigned int status, struct vbd_encoder *out);

/** vbd_reply_empty - answer without a body, with @status 204 for example */
void vbd_reply_empty(struct vbd_request *req, unsigned int status);

/** vbd_reply_static - answer 200 with static bytes */
void vbd_reply_static(
	struct vbd_request *req, const char *content_type, const void *bytes, size_t len_bytes);

/** vbd_reply_text - answer 200 with bytes from malloc, which this frees; NULL (no memory) answers
 * 507. @content_type: static string */
void vbd_reply_text(
	struct vbd_request *req, const char *content_type, char *bytes, size_t len_bytes);

/** vbd_reply_stream - answer 200 or 206 with bytes that @reader, copied, produces */
void vbd_reply_stream(
	struct vbd_request *req, unsigned int status, const struct vbd_reader *reader);

/**
 * vbd_reply_feed - answer 200 with a body of unknown length; not for a parked request
 * @content_type: static string
 * @feed: copied; its `free` is called in any case, and the request is valid until then
 *
 * Answers too_many_requests if there are too many feeds already.
 */
void vbd_reply_feed(struct vbd_request *req, const char *content_type, const struct vbd_feed *feed);

/** vbd_reply_problem - answer with an error */
void vbd_reply_problem(struct vbd_request *req, const struct vbd_error *err);

/**
 * vbd_reply_outcome - answer that what the request began has failed
 * @err:   its `object` is the path of the object
 * @extra: may be NULL
 *
 * The answer has the object as Location and instance, and is 424 whatever the code is: no client
 * shall take it for a request that did nothing, and repeat it.
 */
void vbd_reply_outcome(struct vbd_request *req, const struct vbd_error *err,
	const struct vbd_problem_extra *extra);

/** vbd_reply_problem_extra - as vbd_reply_problem(), with the members of @extra */
void vbd_reply_problem_extra(struct vbd_request *req, const struct vbd_error *err,
	const struct vbd_problem_extra *extra);

/** vbd_request_send - let the transport send `reply`, which is complete, when the row of @ticket is
 * written; see vbd_request_wait_written() */
void vbd_request_send(struct vbd_request *req, uint64_t ticket);

/**
 * vbd_request_audit - call on_audited, once, if the request is to be audited
 *
 * Audited are the requests of a known caller that may change something, those that the caller's
 * role does not allow, and the routes that are marked. Call it when the answer is complete.
 */
void vbd_request_audit(struct vbd_request *req);

/** vbd_request_settle - answer with `err`, if the handler has set it and left without an answer;
 * call it after a handler, and after a callback that continues one in vbd_request_wait() */
void vbd_request_settle(struct vbd_request *req);

/* --- waiting --------------------------------------------------------------------------------- */

/**
 * vbd_request_park - keep a request after its handler returns
 * @timeout_ms: time until @on_timeout is called; 0: no deadline
 * @on_timeout: called at the deadline, and must reply; may be NULL if @timeout_ms is 0
 * @on_gone:    called when the client has left, or the server stops. It may reply with the current
 *              state, for a repeat under the same Idempotency-Key; otherwise the server answers.
 *
 * For a parked request the new deadline and callbacks take the place of the old ones. The request
 * is valid until @on_gone has run or there is a reply.
 *
 * Returns VBD_E_TOO_MANY_REQUESTS if too many requests are parked, VBD_E_STOPPING, VBD_E_NO_MEMORY;
 * the request is not parked then, and the handler replies.
 */
enum vbd_status vbd_request_park(struct vbd_request *req, uint64_t timeout_ms,
	vbd_request_cb on_timeout, vbd_request_cb on_gone, void *arg,
	struct vbd_error *err) VBD_MUST_CHECK;

/* A short wait for what another thread does. */
struct vbd_wait {
	bool (*is_over)(const void *on, uint64_t number);
	const void *on;
	uint64_t number;
	struct vbd_link *watches; /* notified when @is_over may return something else */
	uint64_t most_ms;
};

/**
 * vbd_request_wait - call @go_on exactly once: when @wait is over, after `most_ms`, when the client
 * leaves or the server stops (`abandoned` of the request), or now if the request can't wait
 *
 * The wait is not counted in VBD_SHARE_WAITING.
 */
void vbd_request_wait(
	struct vbd_request *req, const struct vbd_wait *wait, vbd_request_cb go_on, void *arg);

/**
 * vbd_request_wait_written - vbd_request_wait() until a row of the store is written, or the store
 * fails: the daemon serves on without it
 * @keeper: may be NULL
 * @ticket: of the row, see vbd_keeper_has(); VBD_TICKET_NONE: there is none
 */
void vbd_request_wait_written(struct vbd_request *req, struct vbd_keeper *keeper, uint64_t ticket,
	vbd_request_cb go_on, void *arg);
#define VBD_WRITTEN_MS 5000

/** vbd_request_fini - free all that a request owns, its idempotency entry too, and zero it */
void vbd_request_fini(struct vbd_request *req);

#endif
