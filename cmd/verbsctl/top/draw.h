/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws the picture of `top` on the open screen (screen.h): summary, news, and the current page.
 *
 * One thread. Blocks only while the terminal does not take output.
 */
#ifndef VBD_CMD_VERBSCTL_TOP_DRAW_H
#define VBD_CMD_VERBSCTL_TOP_DRAW_H

#include "cmd/verbsctl/top/rows.h"
#include "cmd/verbsctl/top/view.h"

#include <jansson.h>

/* The content of a picture. All pointers are borrowed; those that may be NULL say so. */
struct vbd_ctl_top_picture {
	const char *server;  /* address of the server */
	const char *version; /* version of the daemon; NULL until known */
	const json_t *stats; /* answer of GET /v1/stats; NULL before the first answer */
	const struct vbd_ctl_rows *rows;
	uint64_t total;	      /* number of connections on the server */
	const char *trouble;  /* why the data is old; NULL if it is not */
	unsigned int stale_s; /* age of the data, if there is trouble */
	const char *news;     /* message to show for a while; NULL for none */
	const char *detail;   /* lines about the chosen connection; NULL until fetched */
};

/** vbd_ctl_top_draw - draw the picture for the current size of the terminal */
void vbd_ctl_top_draw(struct vbd_ctl_top_view *view, const struct vbd_ctl_top_picture *picture);

/** vbd_ctl_top_page_lines - number of visible rows, for keys that move by a page */
size_t vbd_ctl_top_page_lines(void);

#endif
