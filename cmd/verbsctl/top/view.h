/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The view on the rows of `top`: order, filter, chosen row, scroll position, and the effect of each
 * key. Pure.
 *
 * One thread.
 */
#ifndef VBD_CMD_VERBSCTL_TOP_VIEW_H
#define VBD_CMD_VERBSCTL_TOP_VIEW_H

#include "cmd/verbsctl/top/rows.h"

#define VBD_CTL_TOP_FILTER_BYTES 128

/* Keys that are not characters. A character is passed as the bytes of its UTF-8. */
enum vbd_ctl_key {
	VBD_CTL_KEY_NONE = -1,
	VBD_CTL_KEY_GONE = -2, /* the terminal was closed */
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
	bool ended;  /* fetch ended connections too */
	bool typing; /* keys edit the filter */
	bool quit;
	char filter[VBD_CTL_TOP_FILTER_BYTES];
	char filter_before[VBD_CTL_TOP_FILTER_BYTES]; /* the filter that Escape restores */

	const struct vbd_ctl_row **shown; /* rows that match the filter, in order; borrowed */
	size_t shown_count;
	uint64_t chosen;  /* id of the chosen row; 0 for none */
	bool holds;	  /* the user chose the row: it stays chosen when the order changes */
	size_t chosen_at; /* index of the chosen row in @shown */
	size_t first;	  /* index in @shown of the topmost visible row */
	size_t scroll;	  /* topmost visible line of the detail */
};

/* The action that the caller takes after a key. */
enum vbd_ctl_top_action {
	VBD_CTL_TOP_DRAW,
	VBD_CTL_TOP_FETCH, /* fetch, then draw: the view needs other data than was fetched last */
};

/**
 * vbd_ctl_top_view_take - show these rows from now on
 * @rows: borrowed until the next call
 *
 * A row that the user chose stays chosen when the order changes. If it is gone, the row at its
 * place is chosen. Until the user chooses, the topmost row is chosen.
 */
void vbd_ctl_top_view_take(struct vbd_ctl_top_view *view, const struct vbd_ctl_rows *rows);

/**
 * vbd_ctl_top_view_key - handle a key
 * @rows:       the rows of vbd_ctl_top_view_take()
 * @page_lines: number of visible rows
 */
enum vbd_ctl_top_action vbd_ctl_top_view_key(
	struct vbd_ctl_top_view *view, const struct vbd_ctl_rows *rows, int key, size_t page_lines);

/**
 * vbd_ctl_top_view_settle - scroll until the chosen row is visible
 * @lines: number of visible rows
 */
void vbd_ctl_top_view_settle(struct vbd_ctl_top_view *view, size_t lines);

/** vbd_ctl_top_view_fini - free; a zeroed struct is allowed */
void vbd_ctl_top_view_fini(struct vbd_ctl_top_view *view);

#endif
