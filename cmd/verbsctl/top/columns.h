/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns of `top`: the text of each cell, the order of rows by a column, and the choice of
 * columns that fit on the terminal. Pure.
 *
 * One thread.
 */
#ifndef VBD_CMD_VERBSCTL_TOP_COLUMNS_H
#define VBD_CMD_VERBSCTL_TOP_COLUMNS_H

#include "base/enum.h"
#include "cmd/verbsctl/top/rows.h"

/*
 * X(SYMBOL, name of --sort, title, letter, right-aligned, falls, stays, least, most)
 *
 * In order from left to right. The letter is the key that sorts by the column. "falls" means that
 * the largest value comes first. If the terminal is too narrow, the column with the lowest "stays"
 * is removed first. "least" and "most" limit the width in columns of the terminal; within them a
 * column is as wide as its widest cell.
 */
#define VBD_CTL_TOP_COLUMN_MAP(X)                                               \
	X(VBD_CTL_TOP_ID, "id", "ID", 'i', true, false, 100, 2, 10)             \
	X(VBD_CTL_TOP_NAME, "name", "NAME", 'n', false, false, 90, 10, 24)      \
	X(VBD_CTL_TOP_STATE, "state", "STATE", 's', false, false, 99, 11, 15)   \
	X(VBD_CTL_TOP_PEER, "peer", "PEER", 'p', false, false, 60, 16, 47)      \
	X(VBD_CTL_TOP_DEVICE, "device", "DEVICE", 'd', false, false, 30, 6, 16) \
	X(VBD_CTL_TOP_SENT_RATE, "sent/s", "SENT/s", 't', true, true, 98, 6, 6) \
	X(VBD_CTL_TOP_RECV_RATE, "recv/s", "RECV/s", 'v', true, true, 97, 6, 6) \
	X(VBD_CTL_TOP_OPS_RATE, "ops/s", "OPS/s", 'o', true, true, 70, 5, 6)    \
	X(VBD_CTL_TOP_CQ, "cq", "CQ", 'c', true, true, 75, 4, 4)                \
	X(VBD_CTL_TOP_RTT, "rtt", "RTT", 'l', true, true, 80, 6, 6)             \
	X(VBD_CTL_TOP_RTT_P99, "rtt99", "RTT99", '9', true, true, 40, 6, 6)     \
	X(VBD_CTL_TOP_SENT, "sent", "SENT", 'T', true, true, 35, 5, 6)          \
	X(VBD_CTL_TOP_RECV, "recv", "RECV", 'V', true, true, 34, 5, 6)          \
	X(VBD_CTL_TOP_END_CODE, "end_code", "END-CODE", 'w', false, false, 50, 8, 24)

enum vbd_ctl_top_column { VBD_CTL_TOP_COLUMN_MAP(VBD_ENUM_ROW) VBD_CTL_TOP_COLUMN_END };

/* One row of the map. */
struct vbd_ctl_top_column_spec {
	const char *name;
	const char *title;
	char letter;
	bool right;
	bool falls;
	int stays;
	size_t least;
	size_t most;
};

/* Width of each column; 0 for a column that does not fit. One space separates two columns. */
struct vbd_ctl_top_layout {
	size_t width[VBD_CTL_TOP_COLUMN_END];
};

/** vbd_ctl_top_column_spec - the row of a column */
const struct vbd_ctl_top_column_spec *vbd_ctl_top_column_spec(enum vbd_ctl_top_column column);

/** vbd_ctl_top_column_of_letter - the column that the key sorts by; END if there is none */
enum vbd_ctl_top_column vbd_ctl_top_column_of_letter(int key);

/** vbd_ctl_top_column_of_name - the column with this name of --sort; END if there is none */
enum vbd_ctl_top_column vbd_ctl_top_column_of_name(const char *name);

/** vbd_ctl_top_cell - format a column of a row; the caller frees the text */
char *vbd_ctl_top_cell(const struct vbd_ctl_row *row, enum vbd_ctl_top_column column);

/**
 * vbd_ctl_top_compare - compare two rows by a column
 * @reverse: reverse the column's own order
 *
 * Returns a negative number if @a comes first. An unknown value comes last in either order; rows
 * with equal values are ordered by id.
 */
int vbd_ctl_top_compare(const struct vbd_ctl_row *a, const struct vbd_ctl_row *b,
	enum vbd_ctl_top_column column, bool reverse);

/**
 * vbd_ctl_top_layout - choose the columns that fit, and their widths
 * @rows:    the rows to show
 * @count:   number of rows
 * @columns: width of the terminal
 * @ended:   whether ended connections are shown; only these have an end code
 *
 * At least one column stays, even if it does not fit.
 */
struct vbd_ctl_top_layout vbd_ctl_top_layout(
	const struct vbd_ctl_row *const *rows, size_t count, size_t columns, bool ended);

/**
 * vbd_ctl_short_count - format a count in 5 characters or less: "17", "99.9K", "1023M" (powers of
 * 1024); the caller frees the text
 */
char *vbd_ctl_short_count(double count);

/**
 * vbd_ctl_short_ns - format a time in 6 characters or less: "980ns", "12.3us", "1.50s"; the caller
 * frees the text
 */
char *vbd_ctl_short_ns(double ns);

#endif
