/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer to a request: the handler makes it, the server sends it.
 *
 * Control thread.
 */
#ifndef VBD_API_HTTP_REPLY_H
#define VBD_API_HTTP_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VBD_REPLY_HEADERS_MAX 8

struct vbd_reply_header {
	const char *name; /* static */
	char value[200];
};

/* A body that is produced while it is sent. */
struct vbd_reader {
	/* Fill @buf with the bytes from @offset on, and return their number (1 to @size). 0 aborts:
	 * the client sees a short answer and a closed connection. */
	size_t (*read)(void *arg, uint64_t offset, char *buf, size_t size);
	void (*free)(void *arg); /* called exactly once; may be NULL */
	void *arg;
	uint64_t length_bytes;
};

/* The value of vbd_feed.read() when the body is complete. */
#define VBD_FEED_OVER SIZE_MAX

/* A body of unknown length, sent as its bytes come, for as long as the client is connected. */
struct vbd_feed {
	/* Fill @buf and return the number of bytes; 0 if there are none now: the server calls again
	 * after `wake` of the transport. */
	size_t (*read)(void *arg, char *buf, size_t size);
	void (*free)(void *arg); /* called exactly once, when the answer has ended */
	void *arg;
};

struct vbd_reply {
	unsigned int status;	  /* HTTP status; 0: there is no answer yet */
	const char *code;	  /* of the problem, static; NULL for another answer */
	bool close;		  /* close the HTTP connection afterwards */
	const char *content_type; /* static; NULL without a body */
	char *body;		  /* from malloc; NULL if another member is the body */
	const char *static_body;
	size_t body_bytes;
	/* The body has members that the role "read" must not see. `public_body` (from malloc) is
	 * the body without them, NULL without memory: only that may be kept on a disk. */
	bool has_secrets;
	char *public_body;
	size_t public_bytes;
	struct vbd_reader reader; /* the body, if its `read` is set */
	struct vbd_feed feed;	  /* the body, if its `read` is set */
	size_t n_headers;
	struct vbd_reply_header headers[VBD_REPLY_HEADERS_MAX];
};

/** vbd_reply_add_header - add a header, unless there are VBD_REPLY_HEADERS_MAX already */
void vbd_reply_add_header(struct vbd_reply *reply, const char *name, const char *value);

/** vbd_reply_find_header - the value of a header; NULL if it is absent */
const char *vbd_reply_find_header(const struct vbd_reply *reply, const char *name);

/** vbd_reply_fini - free the bodies of an answer, and zero it; a zeroed answer is allowed */
void vbd_reply_fini(struct vbd_reply *reply);

#endif
