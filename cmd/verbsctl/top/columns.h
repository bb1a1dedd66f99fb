/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns of `top`: what each says of a row, how rows are ordered by it, and which of them have
 * room in a terminal. Pure.
 *
 * One thread.
 */
#ifndef VBD_CMD_VERBSCTL_TOP_COLUMNS_H
#define VBD_CMD_VERBSCTL_TOP_COLUMNS_H

#include "cmd/verbsctl/top/rows.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * X(SYMBOL, name of --sort, title, letter, right-aligned, falls, stays, least, most)
 *
 * From left to right. The letter sorts by it. A column that falls has its largest value first.
 * When the terminal is too narrow the column with the lowest "stays" goes first. Least and most are
 * columns of the terminal: it gives way down to the one, and takes what its cells need up to the
 * other.
 */
#define VBD_CTL_TOP_COLUMN_MAP(X)                                   \
	X(ID, "id", "ID", 'i', true, false, 100, 2, 10)             \
	X(NAME, "name", "NAME", 'n', false, false, 90, 10, 24)      \
	X(STATE, "state", "STATE", 's', false, false, 99, 11, 15)   \
	X(PEER, "peer", "PEER", 'p', false, false, 60, 16, 47)      \
	X(DEVICE, "device", "DEVICE", 'd', false, false, 30, 6, 16) \
	X(SENT_RATE, "sent/s", "SENT/s", 't', true, true, 98, 6, 6) \
	X(RECV_RATE, "recv/s", "RECV/s", 'v', true, true, 97, 6, 6) \
	X(OPS_RATE, "ops/s", "OPS/s", 'o', true, true, 70, 5, 6)    \
	X(CQ, "cq", "CQ", 'c', true, true, 75, 4, 4)                \
	X(RTT, "rtt", "RTT", 'l', true, true, 80, 6, 6)             \
	X(RTT_P99, "rtt99", "RTT99", '9', true, true, 40, 6, 6)     \
	X(SENT, "sent", "SENT", 'T', true, true, 35, 5, 6)          \
	X(RECV, "recv", "RECV", 'V', true, true, 34, 5, 6)          \
	X(REASON, "reason", "REASON", 'w', false, false, 50, 6, 24)

enum vbd_ctl_top_column {
#define VBD_CTL_TOP_COLUMN_ENUM(sym, ...) VBD_CTL_TOP_##sym,
	VBD_CTL_TOP_COLUMN_MAP(VBD_CTL_TOP_COLUMN_ENUM)
#undef VBD_CTL_TOP_COLUMN_ENUM
		VBD_CTL_TOP_COLUMN_END
};

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

/* Width of each column in a terminal, 0 for one that has no room. One space is between two. */
struct vbd_ctl_top_layout {
	size_t width[VBD_CTL_TOP_COLUMN_END];
};

/** vbd_ctl_top_column_spec - the row of a column */
const struct vbd_ctl_top_column_spec *vbd_ctl_top_column_spec(enum vbd_ctl_top_column column);

/** vbd_ctl_top_column_of_letter - the column that @key sorts by; END if there is none */
enum vbd_ctl_top_column vbd_ctl_top_column_of_letter(int key);

/** vbd_ctl_top_column_of_name - the column that --sort names; END if there is none */
enum vbd_ctl_top_column vbd_ctl_top_column_of_name(const char *name);

/** vbd_ctl_top_cell - what a column says of a row; the caller frees it */
char *vbd_ctl_top_cell(const struct vbd_ctl_row *row, enum vbd_ctl_top_column column);

/**
 * vbd_ctl_top_compare - order of two rows by a column: negative when @a comes first
 * @reverse: the other way round than the column has it
 *
 * What is unknown comes last either way, and ids break ties.
 */
int vbd_ctl_top_compare(const struct vbd_ctl_row *a, const struct vbd_ctl_row *b,
	enum vbd_ctl_top_column column, bool reverse);

/**
 * vbd_ctl_top_layout - which columns there is room for, and how wide they are
 * @rows, @count: what is to be shown
 * @columns:      of the terminal
 * @ended:        are connections that ended shown? Only they have a reason.
 *
 * Something is left even if there is no room for it.
 */
struct vbd_ctl_top_layout vbd_ctl_top_layout(
	const struct vbd_ctl_row *const *rows, size_t count, size_t columns, bool ended);

/** vbd_ctl_short_count - at most 5 characters: "17", "99.9K", "1023M" (powers of 1024); the caller
 * frees it */
char *vbd_ctl_short_count(double count);

/** vbd_ctl_short_ns - at most 6 characters: "980ns", "12.3us", "1.50s"; the caller frees it */
char *vbd_ctl_short_ns(double ns);

#endif
