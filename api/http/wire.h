/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Was the request's head written as RFC 9112 has it? libmicrohttpd 0.9.75 forgives much that two
 * parsers in a row read differently (request smuggling): bare LF, folded lines, NUL bytes, spaces
 * before the colon, several Content-Lengths. It parses in place, so the bytes between the strings
 * that it hands out tell: each line end has become two NULs, each colon one.
 *
 * Any thread; no allocation.
 */
#ifndef VBD_API_HTTP_WIRE_H
#define VBD_API_HTTP_WIRE_H

#include "base/attr.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vbd_wire {
	const char *target; /* where the raw target was, and its length, before it was decoded */
	size_t target_bytes;
	const char *at; /* where the next header line must begin */
	unsigned int hosts, lengths, encodings;
	bool http_1_1;
	bool chunked;
	uint64_t content_bytes;
	const char *fault; /* the first one, static text; NULL if there is none */
};

/** vbd_wire_target - the raw target, as yet untouched */
void vbd_wire_target(struct vbd_wire *wire, const char *target);

/** vbd_wire_begin - the request line, parsed */
void vbd_wire_begin(struct vbd_wire *wire, const char *method, const char *version);

/** vbd_wire_header - the next header, in the order of the wire */
void vbd_wire_header(struct vbd_wire *wire, const char *name, size_t name_bytes, const char *value,
	size_t value_bytes);

/**
 * vbd_wire_end - the verdict
 * @method:     as given to vbd_wire_begin(): the head's first byte
 * @head_bytes: length of the head, with the empty line
 * @ret_content_bytes: announced body; UINT64_MAX when it comes in chunks
 *
 * Returns VBD_E_MALFORMED_REQUEST; the connection must then be closed, since nobody knows where the
 * next request begins.
 */
enum vbd_status vbd_wire_end(struct vbd_wire *wire, const char *method, size_t head_bytes,
	uint64_t *ret_content_bytes, struct vbd_error *err) VBD_MUST_CHECK;

#endif
