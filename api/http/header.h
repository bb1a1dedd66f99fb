/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Header fields. A row of the list below is for each one that verbsd reads. It gives the requests
 * that honour a field: for any other request the field is absent, and a field without a row is
 * ignored. docs/http.md has the table for users, and a test walks it. Connection is
 * libmicrohttpd's.
 *
 * Any thread for functions without a request, else the control thread; nothing here blocks.
 */
#ifndef VBD_API_HTTP_HEADER_H
#define VBD_API_HTTP_HEADER_H

#include "base/error.h"

struct vbd_request;

/*
 * X(SYMBOL, name, lines, requests, check)
 * lines:    ONE: a second line is refused, since one program on the way might go by the first and
 *           verbsd by the last; LIST: several lines are one list (RFC 9110, 5.3)
 * requests: ALL; FRAME: as ALL, and blanks behind the value count; POST; WAIT: those that
 * vbd_route_waits(); PART: GET of bytes, not HEAD (RFC 9110, 14.2); STREAM: that of events check:
 * of header.c: refuses a request for the field; NULL: others read the field
 */
#define VBD_HEADER_MAP(X)                                                             \
	X(AUTHORIZATION, "Authorization", ONE, ALL, NULL)                             \
	X(CONTENT_ENCODING, "Content-Encoding", LIST, ALL, check_coding)              \
	X(CONTENT_LENGTH, "Content-Length", ONE, FRAME, NULL)                         \
	X(CONTENT_RANGE, "Content-Range", ONE, ALL, refuse_part)                      \
	X(CONTENT_TYPE, "Content-Type", ONE, ALL, check_media_type)                   \
	X(EXPECT, "Expect", LIST, ALL, check_expectation)                             \
	X(HOST, "Host", ONE, ALL, NULL)                                               \
	X(IDEMPOTENCY_KEY, "Idempotency-Key", ONE, POST, NULL)                        \
	X(IF_MATCH, "If-Match", LIST, ALL, NULL)                                      \
	X(IF_NONE_MATCH, "If-None-Match", LIST, ALL, NULL)                            \
	X(IF_RANGE, "If-Range", ONE, PART, NULL)                                      \
	X(LAST_EVENT_ID, "Last-Event-ID", ONE, STREAM, NULL)                          \
	X(ORIGIN, "Origin", ONE, ALL, NULL)                                           \
	X(PREFER, "Prefer", LIST, WAIT, NULL)                                         \
	X(RANGE, "Range", ONE, PART, NULL)                                            \
	X(SEC_FETCH_SITE, "Sec-Fetch-Site", ONE, ALL, NULL)                           \
	X(TRANSFER_ENCODING, "Transfer-Encoding", ONE, FRAME, NULL)                   \
	X(VERBSD_IF_SERVER, "Verbsd-If-Server", ONE, ALL, NULL)                       \
	X(X_HTTP_METHOD, "X-HTTP-Method", LIST, ALL, refuse_method)                   \
	X(X_HTTP_METHOD_OVERRIDE, "X-HTTP-Method-Override", LIST, ALL, refuse_method) \
	X(X_METHOD_OVERRIDE, "X-Method-Override", LIST, ALL, refuse_method)

enum vbd_header {
#define VBD_HEADER_SYMBOL(sym, ...) VBD_HEADER_##sym,
	VBD_HEADER_MAP(VBD_HEADER_SYMBOL)
#undef VBD_HEADER_SYMBOL
		VBD_HEADER_COUNT
};

/** vbd_header_name - "If-Match" */
const char *vbd_header_name(enum vbd_header header);

/** vbd_is_token - whether a text is a token of RFC 9110, 5.6.2 */
bool vbd_is_token(const char *text, size_t len_bytes);

/**
 * vbd_headers_add - take the next field of a request into its `headers`, if verbsd reads it
 * @name: in any case; @value: its blanks at the end are left out
 *
 * Returns VBD_E_MALFORMED_REQUEST for a name that is no token, for control characters in the value
 * and for a second line of a field that is no list; VBD_E_NO_MEMORY.
 */
enum vbd_status vbd_headers_add(struct vbd_request *req, const char *name, size_t name_bytes,
	const char *value, size_t value_bytes, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_headers_frame - set `content_bytes` of a request that has all its headers
 * @http_1_1: false for HTTP/1.0
 *
 * Returns VBD_E_MALFORMED_REQUEST if two readers could find different ends of the request, or for
 * HTTP/1.1 without a Host; VBD_E_NOT_IMPLEMENTED for a transfer coding. The connection must be
 * closed then, since the place where the next request begins is not known.
 */
enum vbd_status vbd_headers_frame(
	struct vbd_request *req, bool http_1_1, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_header_applies - whether the request honours the field */
bool vbd_header_applies(enum vbd_header header, const struct vbd_request *req);

/** vbd_header_next - the next member of a list, without the blanks around it: sets @ret_len and
 * returns its first byte; NULL at the end. @at: behind the last one. A comma in quotes is no end.
 */
const char *vbd_header_next(const char *at, size_t *ret_len);

/** vbd_header_all_are - is each member of a list @word, whatever its case? */
bool vbd_header_all_are(const char *list, const char *word);

/**
 * vbd_headers_check - refuse a request whose header fields alone are a reason to
 *
 * Returns VBD_E_BAD_VALUE, VBD_E_UNSUPPORTED_MEDIA_TYPE, or VBD_E_EXPECTATION_FAILED.
 */
enum vbd_status vbd_headers_check(struct vbd_request *req, struct vbd_error *err) VBD_MUST_CHECK;

/* --- Range ----------------------------------------------------------------------------------- */

/* RFC 9110, section 14, as far as it names one range of bytes. */
enum vbd_range {
	VBD_RANGE_WHOLE,   /* no range, several, or an invalid one: answer 200 with all bytes */
	VBD_RANGE_PART,	   /* answer 206 */
	VBD_RANGE_OUTSIDE, /* answer 416 */
};

/**
 * vbd_range_parse - find the range of a resource of @size_bytes
 * @value: the header's value; NULL if there is none
 *
 * Sets the outputs for VBD_RANGE_PART only.
 */
enum vbd_range vbd_range_parse(
	const char *value, uint64_t size_bytes, uint64_t *ret_first, uint64_t *ret_length_bytes);

/* --- Prefer ---------------------------------------------------------------------------------- */

#define VBD_PREFER_WAIT_MAX_S 60

/**
 * vbd_prefer_wait - parse wait=N
 * @value:      the header's value; NULL if there is none
 * @ret_wait_s: 0 to VBD_PREFER_WAIT_MAX_S; a longer wait is cut to that
 *
 * Returns false, and sets nothing, if there is no valid wait=N: an invalid preference is ignored
 * (RFC 7240, section 2).
 */
bool vbd_prefer_wait(const char *value, unsigned int *ret_wait_s);

/** vbd_prefer_async - true if the client prefers an immediate answer; @value: as above */
bool vbd_prefer_async(const char *value);

/* --- If-Match and If-None-Match -------------------------------------------------------------- */

/*
 * The preconditions of RFC 9110, section 13. No resource has a date of its last change, so
 * If-Modified-Since and If-Unmodified-Since are ignored (13.1.3, 13.1.4).
 */

/* The resource that a request is for, as it is now. */
struct vbd_condition_of {
	const char *what; /* "connection" */
	const char *tag;  /* the quoted ETag; NULL: there is none */
	bool absent;	  /* nothing is there now */
};

/**
 * vbd_condition_check - evaluate If-Match, and, but for GET, If-None-Match
 *
 * A condition without a comparable ETag is false, as RFC 9110 says: "*" alone holds for what has
 * none. Returns VBD_E_CHANGED_MEANWHILE.
 */
enum vbd_status vbd_condition_check(struct vbd_request *req, const struct vbd_condition_of *of,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_condition_is_known - true if If-None-Match has the ETag, weak or not, or "*"; @tag: NULL if
 * there is none */
bool vbd_condition_is_known(struct vbd_request *req, const char *tag);

#endif
