/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict parsing of the raw request target: origin form only, and path segments and parameters are
 * decoded one by one, so that a proxy and this server can't read an encoded slash, a dot segment or
 * a NUL differently.
 *
 * Any thread; no allocation.
 */
#ifndef VBD_API_HTTP_URI_H
#define VBD_API_HTTP_URI_H

#include "base/error.h"

#define VBD_URI_SEGMENTS_MAX 8
#define VBD_URI_PARAMS_MAX   16

struct vbd_uri_param {
	const char *name;
	const char *value; /* "" if there is no '=' */
};

struct vbd_uri {
	size_t n_segments; /* of the path; may be more than VBD_URI_SEGMENTS_MAX */
	const char *segments[VBD_URI_SEGMENTS_MAX];
	size_t n_params;
	struct vbd_uri_param params[VBD_URI_PARAMS_MAX];
};

/**
 * vbd_uri_split - split a target in absolute form, "http://a.example/v1"
 * @text:          the raw target; overwritten
 * @ret_scheme:    "http" or "https", in any case; unchanged for another form
 * @ret_authority: likewise "a.example"; both point into @text or to static strings
 *
 * Returns the origin form for vbd_uri_parse(): @text itself if it is no absolute form.
 */
char *vbd_uri_split(char *text, const char **ret_scheme, const char **ret_authority);

/**
 * vbd_uri_parse - parse a request target
 * @text: the raw target; overwritten; @ret_uri points into it
 *
 * Returns VBD_E_MALFORMED_REQUEST for a target that is not in origin form, has bytes that must be
 * encoded, bad or dangerous escapes (%00, %2F in the path), dot segments, decoded text that is not
 * UTF-8, a repeated parameter, or more than VBD_URI_PARAMS_MAX parameters.
 */
enum vbd_status vbd_uri_parse(
	char *text, struct vbd_uri *ret_uri, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_uri_param - the value of a parameter; NULL if it is absent */
const char *vbd_uri_param(const struct vbd_uri *uri, const char *name);

#endif
