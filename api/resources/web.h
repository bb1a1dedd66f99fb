/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dashboard's files, bundled by web/build.mjs into the binary; none in a build without it.
 *
 * Any thread.
 */
#ifndef VBD_API_RESOURCES_WEB_H
#define VBD_API_RESOURCES_WEB_H

/* The page itself; every other file is served as /assets/NAME and has a hash in its name. */
#define VBD_WEB_PAGE "index.html"

struct vbd_web_file {
	const char *name; /* without a folder */
	const char *content_type;
	const char *etag; /* quoted */
	const char *start;
	const char *end;
};

/* Ends with a row without a name. */
extern const struct vbd_web_file vbd_web_files[];

#endif
