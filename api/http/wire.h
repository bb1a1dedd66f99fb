/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Check that the head of a request follows RFC 9112. libmicrohttpd 0.9.75 accepts forms that two
 * parsers in a row may read differently (request smuggling): bare LF, folded lines, NUL bytes,
 * spaces before the colon, several Content-Lengths. It parses in place, so the bytes between the
 * strings that it returns show these forms: it writes two NULs for a CR LF, one for a colon.
 * libmicrohttpd 1.0 leaves the LF, blanks before the CR, and the empty line as they are; the server
 * makes it refuse the forms by itself (MHD_OPTION_STRICT_FOR_CLIENT).
 *
 * A header that verbsd reads (header.h) may come once only, unless it is a list: otherwise one
 * program on the way might go by the first and verbsd by the last.
 *
 * Any thread; no allocation.
 */
#ifndef VBD_API_HTTP_WIRE_H
#define VBD_API_HTTP_WIRE_H

#include "base/error.h"

struct vbd_wire {
	const char *target; /* address and length of the raw target, before MHD decodes it */
	size_t target_bytes;
	const char *at; /* the next header line must begin here */
	unsigned int lengths, encodings;
	uint32_t seen; /* bits of enum vbd_header */
	bool http_1_1;
	uint64_t content_bytes;
	const char *fault;	/* text of the first fault, static; NULL if there is none */
	enum vbd_status status; /* of the first fault */
	const char *hint;	/* of the first fault, static; NULL: that of the status */
};

/** vbd_wire_is_token - whether a name is a token of RFC 9110, 5.6.2 */
bool vbd_wire_is_token(const char *text, size_t len_bytes);

/** vbd_wire_target - note the raw target, which is not decoded yet */
void vbd_wire_target(struct vbd_wire *wire, const char *target);

/** vbd_wire_begin - check the parsed request line */
void vbd_wire_begin(struct vbd_wire *wire, const char *method, const char *version);

/** vbd_wire_header - check the next header, in the order of the wire */
void vbd_wire_header(struct vbd_wire *wire, const char *name, size_t name_bytes, const char *value,
	size_t value_bytes);

/**
 * vbd_wire_end - check the end of the head, and return the first fault
 * @method:     as for vbd_wire_begin(): points to the first byte of the head
 * @head_bytes: length of the head, with the empty line
 * @ret_content_bytes: Content-Length; UINT64_MAX for a chunked body
 *
 * Returns VBD_E_MALFORMED_REQUEST, or VBD_E_NOT_IMPLEMENTED for a transfer coding; the connection
 * must be closed then, since the place where the next request begins is unknown.
 */
enum vbd_status vbd_wire_end(struct vbd_wire *wire, const char *method, size_t head_bytes,
	uint64_t *ret_content_bytes, struct vbd_error *err) VBD_MUST_CHECK;

#endif
