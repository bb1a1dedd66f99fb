/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dashboard: a page and its assets. They need no token, since they contain no data of the
 * daemon; the requests of the page need one.
 */
#include "api/http/request.h"
#include "api/resources/handlers.h"
#include "api/resources/web.h"

/* Allow scripts, styles, fonts and requests of this server only, nothing inline, and no frame. */
#define POLICY                                                                              \
	"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " \
	"object-src 'none'"
#define FOR_EVER "public, max-age=31536000, immutable"

static const struct vbd_web_file *find(const char *name)
{
	for (const struct vbd_web_file *file = vbd_web_files; file->name; file++) {
		if (strcmp(file->name, name) == 0)
			return file;
	}
	return NULL;
}

static void reply_file(
	struct vbd_request *req, const struct vbd_web_file *file, const char *cache_control)
{
	vbd_request_add_header(req, "Cache-Control", cache_control);
	vbd_request_add_header(req, "ETag", file->etag);
	vbd_reply_static(req, file->content_type, file->start, (size_t)(file->end - file->start));
}

void vbd_get_page(struct vbd_request *req)
{
	const struct vbd_web_file *file = find(VBD_WEB_PAGE);
	struct vbd_error err = {0};

	if (!file) {
		(void)vbd_error_set(&err, VBD_E_NOT_FOUND,
			"this verbsd was built without the dashboard; the API begins at /v1");
		vbd_reply_problem(req, &err);
		return;
	}
	vbd_request_add_header(req, "Content-Security-Policy", POLICY);
	vbd_request_add_header(req, "X-Frame-Options", "DENY");
	vbd_request_add_header(req, "Referrer-Policy", "no-referrer");
	/* no-cache: a page of an older daemon would refer to assets that do not exist any more. */
	reply_file(req, file, "no-cache");
}

void vbd_get_asset(struct vbd_request *req)
{
	const struct vbd_web_file *file = find(req->ref);
	struct vbd_error err = {0};

	if (file && strcmp(file->name, VBD_WEB_PAGE) != 0) {
		reply_file(req, file, FOR_EVER);
		return;
	}
	(void)vbd_error_set(&err, VBD_E_NOT_FOUND, "%.128s: no such asset", req->path);
	vbd_reply_problem(req, &err);
}
