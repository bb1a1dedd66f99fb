/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An answer, from the handler that makes it to the server that sends it.
 *
 * Control thread.
 */
#ifndef VBD_API_HTTP_REPLY_H
#define VBD_API_HTTP_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VBD_REPLY_HEADERS_MAX 6

struct vbd_reply_header {
	const char *name; /* static */
	char value[200];
};

/* Body bytes that are made while they are sent. */
struct vbd_reader {
	/*
	 * Fills @buf with bytes from @offset on; returns how many (1 to @size), or 0 when it
	 * can't go on: the client then sees a short answer and a closed connection.
	 */
	size_t (*read)(void *arg, uint64_t offset, char *buf, size_t size);
	void (*free)(void *arg); /* always called, once; NULL for nothing to do */
	void *arg;
	uint64_t length_bytes;
};

/* Body bytes that go on for as long as somebody listens. */
struct vbd_feed {
	/* Fills @buf with what there is to say, returns how many bytes; 0: nothing at the moment.
	 * After 0 nothing is asked for until vbd_request_wake(). */
	size_t (*read)(void *arg, char *buf, size_t size);
	void (*free)(void *arg); /* always called, once: nobody listens any more */
	void *arg;
};

struct vbd_reply {
	unsigned int status;	  /* HTTP; 0: there is no answer yet */
	bool close;		  /* end the HTTP connection after it */
	const char *content_type; /* static; NULL without a body */
	char *body;		  /* from malloc; NULL if static_body or reader has it */
	const char *static_body;
	size_t body_bytes;
	struct vbd_reader reader; /* used if its read is set */
	struct vbd_feed feed;	  /* the same */
	size_t n_headers;
	struct vbd_reply_header headers[VBD_REPLY_HEADERS_MAX];
};

/** vbd_reply_header - add a header; dropped if there are VBD_REPLY_HEADERS_MAX already */
void vbd_reply_add_header(struct vbd_reply *reply, const char *name, const char *value);

/** vbd_reply_find_header - NULL if it is not there */
const char *vbd_reply_find_header(const struct vbd_reply *reply, const char *name);

/** vbd_reply_fini - free what it owns; safe on a zeroed one */
void vbd_reply_fini(struct vbd_reply *reply);

#endif
