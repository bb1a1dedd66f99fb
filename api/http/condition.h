/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preconditions (RFC 9110, section 13): If-Match and If-None-Match. No resource has a date of its
 * last change, so If-Modified-Since and If-Unmodified-Since are ignored (13.1.3, 13.1.4).
 *
 * Control thread; nothing here blocks.
 */
#ifndef VBD_API_HTTP_CONDITION_H
#define VBD_API_HTTP_CONDITION_H

#include "base/attr.h"
#include "base/error.h"

#include <stdbool.h>

struct vbd_request;

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
