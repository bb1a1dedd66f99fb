/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/header.h"

#include "api/http/request.h"

#include <string.h>
#include <strings.h>

bool vbd_header_all_are(const char *list, const char *word)
{
	size_t len;

	for (const char *at = vbd_header_next(list, &len); at;
		at = vbd_header_next(at + len, &len)) {
		if (len != strlen(word) || strncasecmp(at, word, len) != 0)
			return false;
	}
	return true;
}

static enum vbd_status check_coding(
	struct vbd_request *req, const char *value, struct vbd_error *err)
{
	if (!value || vbd_header_all_are(value, "identity"))
		return VBD_OK;
	vbd_request_add_header(req, "Accept-Encoding", "identity");
	(void)vbd_error_set(err, VBD_E_UNSUPPORTED_MEDIA_TYPE,
		"the Content-Encoding is %.64s; %s takes bodies without one", value, req->path);
	return vbd_error_hint(
		err, err->status, "Send the body as it is, without Content-Encoding.");
}

/* RFC 9110, 14.5: a server without partial PUT must not store the part as if it were the whole. */
static enum vbd_status refuse_part(
	struct vbd_request *req, const char *value, struct vbd_error *err)
{
	if (!value)
		return VBD_OK;
	(void)vbd_error_input(err, VBD_E_BAD_VALUE, "Content-Range",
		"the Content-Range is %.64s; %s takes no part of a body by it", value, req->path);
	return vbd_error_hint(err, err->status,
		"Leave Content-Range out; the parameter offset_bytes is where a PUT of data "
		"writes.");
}

static enum vbd_status refuse_method(
	struct vbd_request *req, const char *value, struct vbd_error *err)
{
	if (!value)
		return VBD_OK;
	(void)req;
	(void)vbd_error_input(err, VBD_E_BAD_VALUE, "X-HTTP-Method-Override",
		"a header asks for the method %.32s; only the request line says the method", value);
	return vbd_error_hint(err, err->status, "Send the method that is meant.");
}

static enum vbd_status check_expectation(
	struct vbd_request *req, const char *value, struct vbd_error *err)
{
	(void)req;
	if (!value || vbd_header_all_are(value, "100-continue"))
		return VBD_OK;
	return vbd_error_set(err, VBD_E_EXPECTATION_FAILED,
		"the request expects %.64s; only 100-continue is known", value);
}

/* Compare a Content-Type, without its parameters and case, with @type. */
static bool media_type_is(const char *header, const char *type)
{
	size_t len = strlen(type);

	if (strncasecmp(header, type, len) != 0)
		return false;
	header += len;
	header += strspn(header, " \t");
	return *header == '\0' || *header == ';';
}

/*
 * True if a browser asks for something to be done. Its page must name the Content-Type also without
 * a body: no form of another site can, and no script of one without being asked for first.
 */
static bool is_act_of_browser(struct vbd_request *req)
{
	return req->method != VBD_METHOD_GET &&
	       (vbd_request_header(req, VBD_HEADER_ORIGIN) ||
		       vbd_request_header(req, VBD_HEADER_SEC_FETCH_SITE));
}

static enum vbd_status check_media_type(
	struct vbd_request *req, const char *type, struct vbd_error *err)
{
	bool stream = req->route->body == VBD_BODY_STREAM;
	const char *want = stream ? "application/octet-stream" : "application/json";

	if (req->content_bytes == 0 && !stream && !is_act_of_browser(req))
		return VBD_OK;
	if (stream ? !type || media_type_is(type, want) : type && media_type_is(type, want))
		return VBD_OK;
	vbd_request_add_header(
		req, req->method == VBD_METHOD_PATCH ? "Accept-Patch" : "Accept", want);
	return vbd_error_set(err, VBD_E_UNSUPPORTED_MEDIA_TYPE,
		"the Content-Type is %.64s; %s takes %s", type ? type : "absent", req->path, want);
}

static enum vbd_status (*const checks[VBD_HEADER_COUNT])(
	struct vbd_request *req, const char *value, struct vbd_error *err) = {
#define CHECK(sym, name, lines, requests, check) [VBD_HEADER_##sym] = check,
	VBD_HEADER_MAP(CHECK)
#undef CHECK
};

enum vbd_status vbd_headers_check(struct vbd_request *req, struct vbd_error *err)
{
	for (unsigned int i = 0; i < VBD_HEADER_COUNT; i++) {
		if (checks[i] &&
			checks[i](req, vbd_request_header(req, (enum vbd_header)i), err) != VBD_OK)
			return err->status;
	}
	return VBD_OK;
}
