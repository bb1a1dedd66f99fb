/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dashboard's files, which web/build.mjs bundles into the binary; a build may have none.
 *
 * Any thread.
 */
#ifndef VBD_API_WEB_H
#define VBD_API_WEB_H

/* The page; every other file is served as /assets/NAME, and its name contains a hash. */
#define VBD_WEB_PAGE "index.html"

struct vbd_web_file {
	const char *name; /* without a folder */
	const char *content_type;
	const char *etag; /* quoted */
	const char *start;
	const char *end;
};

/* The last row has no name. */
extern const struct vbd_web_file vbd_web_files[];

#endif
