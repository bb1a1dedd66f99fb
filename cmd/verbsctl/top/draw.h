/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The picture of `top`: summary, news, and the page that the view is on. Draws on the screen of
 * screen.h, which is open.
 *
 * One thread; never blocks beyond a write to the terminal.
 */
#ifndef VBD_CMD_VERBSCTL_TOP_DRAW_H
#define VBD_CMD_VERBSCTL_TOP_DRAW_H

#include "cmd/verbsctl/top/rows.h"
#include "cmd/verbsctl/top/view.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* All that a picture shows. Everything is borrowed, and may be NULL where it says so. */
struct vbd_ctl_top_picture {
	const char *server;  /* its address */
	const char *version; /* of the daemon; NULL before it is known */
	const json_t *stats; /* of GET /v1/stats; NULL before the first answer */
	const struct vbd_ctl_rows *rows;
	uint64_t total;	      /* connections that there are to be seen */
	const char *trouble;  /* why nothing newer is shown; NULL when all is well */
	unsigned int stale_s; /* age of what is shown, while there is trouble */
	const char *news;     /* something to be told for a while; NULL for nothing */
	const char *detail;   /* text of the chosen connection, in lines; NULL before it is there */
};

/** vbd_ctl_top_draw - draw it, for the size that the terminal has now */
void vbd_ctl_top_draw(struct vbd_ctl_top_view *view, const struct vbd_ctl_top_picture *picture);

/** vbd_ctl_top_page_lines - rows that are visible at once, for keys that move by a page */
size_t vbd_ctl_top_page_lines(void);

#endif
