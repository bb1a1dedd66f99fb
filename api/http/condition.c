/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/condition.h"

#include "api/http/header.h"
#include "api/http/request.h"

#include <string.h>

#define HINT_NO_TAG "There is no ETag to name here: leave If-Match out, or send If-Match: *."
#define HINT_THERE  "Leave If-None-Match out: it asks for nothing to be done if there is something."

static bool is_weak(const char *tag)
{
	return strncmp(tag, "W/", 2) == 0;
}

/* The comparisons of RFC 9110, 8.8.3.2: a strong one takes no weak tag, a weak one minds no "W/".
 */
static bool has_tag(const char *list, const char *tag, bool weakly)
{
	size_t len;

	if (tag && is_weak(tag))
		tag = weakly ? tag + 2 : NULL;
	for (const char *at = vbd_header_next(list, &len); at;
		at = vbd_header_next(at + len, &len)) {
		size_t skip = weakly && is_weak(at) ? 2 : 0;

		/* RFC 9110, 13.1.1: "*" stands alone; a malformed list lets nothing be done. */
		if (len == 1 && *at == '*')
			return weakly || !strchr(list, ',');
		if (tag && len == skip + strlen(tag) && memcmp(at + skip, tag, len - skip) == 0)
			return true;
	}
	return false;
}

static enum vbd_status refuse(
	const struct vbd_condition_of *of, const char *known, struct vbd_error *err)
{
	if (of->absent)
		return vbd_error_set(err, VBD_E_CHANGED_MEANWHILE,
			"there is no such %s now; the request is for %.64s", of->what, known);
	if (of->tag)
		return vbd_error_set(err, VBD_E_CHANGED_MEANWHILE,
			"the %s has changed: its ETag is %s now; the request is for %.64s",
			of->what, of->tag, known);
	(void)vbd_error_set(err, VBD_E_CHANGED_MEANWHILE, "%.96s has no ETag, so none is %.64s",
		of->what, known);
	return vbd_error_hint(err, err->status, HINT_NO_TAG);
}

enum vbd_status vbd_condition_check(
	struct vbd_request *req, const struct vbd_condition_of *of, struct vbd_error *err)
{
	const char *known = vbd_request_header(req, VBD_HEADER_IF_MATCH);

	if (known && (of->absent || !has_tag(known, of->tag, false)))
		return refuse(of, known, err);
	if (req->method == VBD_METHOD_GET || of->absent || !vbd_condition_is_known(req, of->tag))
		return VBD_OK;
	(void)vbd_error_set(err, VBD_E_CHANGED_MEANWHILE,
		"there is something at %.96s, and the request is for the case that there is not",
		req->path);
	return vbd_error_hint(err, err->status, HINT_THERE);
}

bool vbd_condition_is_known(struct vbd_request *req, const char *tag)
{
	const char *known = vbd_request_header(req, VBD_HEADER_IF_NONE_MATCH);

	return known && has_tag(known, tag, true);
}
