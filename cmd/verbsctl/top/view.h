/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How somebody looks at the rows of `top`: order, filter, which row is chosen, how far it is
 * scrolled; and what each key does to that. Pure.
 *
 * One thread.
 */
#ifndef VBD_CMD_VERBSCTL_TOP_VIEW_H
#define VBD_CMD_VERBSCTL_TOP_VIEW_H

#include "cmd/verbsctl/top/columns.h"
#include "cmd/verbsctl/top/rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VBD_CTL_TOP_FILTER_BYTES 128

/* Keys that are no character. Characters come as the bytes of their UTF-8. */
enum vbd_ctl_key {
	VBD_CTL_KEY_NONE = -1,
	VBD_CTL_KEY_GONE = -2, /* there is no terminal any more */
	VBD_CTL_KEY_ENTER = '\n',
	VBD_CTL_KEY_ESCAPE = 27,
	VBD_CTL_KEY_BACKSPACE = 127,
	VBD_CTL_KEY_UP = 0x1000,
	VBD_CTL_KEY_DOWN,
	VBD_CTL_KEY_PAGE_UP,
	VBD_CTL_KEY_PAGE_DOWN,
	VBD_CTL_KEY_HOME,
	VBD_CTL_KEY_END,
	VBD_CTL_KEY_RESIZE,
};

enum vbd_ctl_top_page {
	VBD_CTL_TOP_LIST,
	VBD_CTL_TOP_DETAIL,
	VBD_CTL_TOP_HELP,
};

struct vbd_ctl_top_view {
	enum vbd_ctl_top_page page;
	enum vbd_ctl_top_column sort;
	bool reverse;
	bool ended;  /* connections that ended are asked for as well */
	bool typing; /* keys go into the filter */
	bool quit;
	char filter[VBD_CTL_TOP_FILTER_BYTES];
	char filter_before[VBD_CTL_TOP_FILTER_BYTES]; /* while typing: what Escape brings back */

	const struct vbd_ctl_row **shown; /* those that match, in order; borrowed rows */
	size_t shown_count;
	uint64_t chosen;  /* id of the row that is chosen; 0 if there is none */
	bool holds;	  /* somebody chose it: it stays chosen wherever it moves */
	size_t chosen_at; /* where it is in @shown */
	size_t first;	  /* of @shown: the topmost one that is drawn */
	size_t scroll;	  /* lines that the detail is scrolled down */
};

/* What a key asks of the caller beyond drawing anew. */
enum vbd_ctl_top_wish {
	VBD_CTL_TOP_DRAW,
	VBD_CTL_TOP_FETCH, /* something else is to be shown than was asked for last */
};

/**
 * vbd_ctl_top_view_take - look at these rows from now on
 * @rows: stay the caller's, and must stay until others are taken
 *
 * A row that somebody chose stays chosen wherever it moves; when it is gone the one in its place
 * is. Before that it is the topmost one.
 */
void vbd_ctl_top_view_take(struct vbd_ctl_top_view *view, const struct vbd_ctl_rows *rows);

/**
 * vbd_ctl_top_view_key - do what a key means
 * @rows: what vbd_ctl_top_view_take() was given
 * @page_lines: rows that are visible at once
 */
enum vbd_ctl_top_wish vbd_ctl_top_view_key(
	struct vbd_ctl_top_view *view, const struct vbd_ctl_rows *rows, int key, size_t page_lines);

/** vbd_ctl_top_view_settle - scroll so that the chosen row is among @lines visible ones */
void vbd_ctl_top_view_settle(struct vbd_ctl_top_view *view, size_t lines);

/** vbd_ctl_top_view_fini - takes one that is zeroed, too */
void vbd_ctl_top_view_fini(struct vbd_ctl_top_view *view);

#endif
