/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The request target as it stood on the wire, taken apart strictly: origin form only, path
 * segments and parameters decoded one by one, so that no encoded slash, dot segment or NUL can mean
 * one thing here and another in front of us.
 *
 * Any thread; no allocation.
 */
#ifndef VBD_API_HTTP_URI_H
#define VBD_API_HTTP_URI_H

#include "base/attr.h"
#include "base/error.h"

#include <stddef.h>

#define VBD_URI_SEGMENTS_MAX 8
#define VBD_URI_PARAMS_MAX   16

struct vbd_uri_param {
	const char *name;
	const char *value; /* "" if there was no '=' */
};

struct vbd_uri {
	size_t n_segments; /* of the path; more than VBD_URI_SEGMENTS_MAX if it has more */
	const char *segments[VBD_URI_SEGMENTS_MAX];
	size_t n_params;
	struct vbd_uri_param params[VBD_URI_PARAMS_MAX];
};

/**
 * vbd_uri_parse - take a target apart
 * @text: the raw target; overwritten, and what @ret_uri points into
 *
 * Returns VBD_E_MALFORMED_REQUEST for a target that is not in origin form, has bytes that must be
 * encoded, bad or dangerous escapes (%00, %2F in the path), dot segments, decoded text that is not
 * UTF-8, a parameter twice, or more parameters than any path takes.
 */
enum vbd_status vbd_uri_parse(
	char *text, struct vbd_uri *ret_uri, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_uri_param - the value of a parameter; NULL if it is not there */
const char *vbd_uri_param(const struct vbd_uri *uri, const char *name);

#endif
