/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of `top`: a row for each connection, built from the server's lists, with rates from
 * this snapshot and the one before; its columns, the order of rows by a column, and the choice of
 * columns that fit on the terminal. Pure: no server, no terminal, no clock.
 *
 * One thread.
 */
#ifndef VBD_CMD_VERBSCTL_TOP_ROWS_H
#define VBD_CMD_VERBSCTL_TOP_ROWS_H

#include "base/enum.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a column is shown. Texts and ids come in rising order; of other numbers the largest comes
 * first. */
enum vbd_ctl_top_form {
	VBD_CTL_TOP_TEXT,
	VBD_CTL_TOP_WHOLE, /* an id */
	VBD_CTL_TOP_COUNT, /* in powers of 1024 */
	VBD_CTL_TOP_SHARE, /* 0 to 1, as a percentage */
	VBD_CTL_TOP_NS,
};

/*
 * X(SYMBOL, name of --sort, title, letter, form, member of the connection or NULL, stays, least,
 *   most)
 *
 * In order from left to right. The letter is the key that sorts by the column. A column without a
 * member is computed. If the terminal is too narrow, the column with the lowest "stays" is removed
 * first. "least" and "most" limit the width in columns of the terminal; within them a column is as
 * wide as its widest cell.
 */
#define VBD_CTL_TOP_COLUMN_MAP(X)                                                 \
	X(VBD_CTL_TOP_ID, "id", "ID", 'i', WHOLE, "id", 100, 2, 10)               \
	X(VBD_CTL_TOP_NAME, "name", "NAME", 'n', TEXT, "name", 90, 10, 24)        \
	X(VBD_CTL_TOP_STATE, "state", "STATE", 's', TEXT, "state", 99, 11, 15)    \
	X(VBD_CTL_TOP_PEER, "peer", "PEER", 'p', TEXT, "peer", 60, 16, 47)        \
	X(VBD_CTL_TOP_DEVICE, "device", "DEVICE", 'd', TEXT, "device", 30, 6, 16) \
	X(VBD_CTL_TOP_SENT_RATE, "sent/s", "SENT/s", 't', COUNT, NULL, 98, 6, 6)  \
	X(VBD_CTL_TOP_RECV_RATE, "recv/s", "RECV/s", 'v', COUNT, NULL, 97, 6, 6)  \
	X(VBD_CTL_TOP_OPS_RATE, "ops/s", "OPS/s", 'o', COUNT, NULL, 70, 5, 6)     \
	X(VBD_CTL_TOP_CQ, "cq", "CQ", 'c', SHARE, NULL, 75, 4, 4)                 \
	X(VBD_CTL_TOP_RTT, "rtt", "RTT", 'l', NS, "rtt.last_ns", 80, 6, 6)        \
	X(VBD_CTL_TOP_RTT_P99, "rtt99", "RTT99", '9', NS, "rtt.p99_ns", 40, 6, 6) \
	X(VBD_CTL_TOP_SENT, "sent", "SENT", 'T', COUNT, NULL, 35, 5, 6)           \
	X(VBD_CTL_TOP_RECV, "recv", "RECV", 'V', COUNT, NULL, 34, 5, 6)           \
	X(VBD_CTL_TOP_END_CODE, "end_code", "END-CODE", 'w', TEXT, "end_code", 50, 8, 24)

enum vbd_ctl_top_column { VBD_CTL_TOP_COLUMN_MAP(VBD_ENUM_ROW) VBD_CTL_TOP_COLUMN_END };

/* One row of the map. */
struct vbd_ctl_top_column_spec {
	const char *name;
	const char *title;
	char letter;
	enum vbd_ctl_top_form form;
	const char *path;
	int stays;
	size_t least;
	size_t most;
};

/* A number that may be unknown. */
struct vbd_ctl_maybe {
	bool known;
	double value;
};

/* One connection. Rates are per second since the snapshot before, and unknown in the first one. */
struct vbd_ctl_row {
	uint64_t id;
	bool ended;
	uint64_t completed; /* work requests */
	/* For a column of texts: owned, safe for a terminal, "-" if there is none; else NULL. */
	char *text[VBD_CTL_TOP_COLUMN_END];
	struct vbd_ctl_maybe number[VBD_CTL_TOP_COLUMN_END]; /* unknown for a column of texts */
};

/* One snapshot of all connections, ordered by id. */
struct vbd_ctl_rows {
	struct vbd_ctl_row *items;
	size_t count;
	uint64_t at_ns;	  /* monotonic time of the answer */
	double sent_rate; /* sum over all rows, per second */
	double received_rate;
};

/**
 * vbd_ctl_rows_init - build the rows of a snapshot
 * @connections: array of connections; an item without an id is left out
 * @cqs:         array of completion queues, or NULL
 * @at_ns:       monotonic time of the answer
 * @before:      the snapshot before, of the same run of the daemon; NULL for none. If it is very
 *               recent, its rates are copied.
 * @ret_rows:    free it with vbd_ctl_rows_fini()
 */
void vbd_ctl_rows_init(const json_t *connections, const json_t *cqs, uint64_t at_ns,
	const struct vbd_ctl_rows *before, struct vbd_ctl_rows *ret_rows);

/** vbd_ctl_rows_fini - free; a zeroed struct is allowed */
void vbd_ctl_rows_fini(struct vbd_ctl_rows *rows);

/** vbd_ctl_rows_find - the row of a connection; NULL if there is none */
const struct vbd_ctl_row *vbd_ctl_rows_find(const struct vbd_ctl_rows *rows, uint64_t id);

/**
 * vbd_ctl_row_matches - whether any text of the row, or its id, contains @filter
 * @filter: case is ignored; "" matches every row
 */
bool vbd_ctl_row_matches(const struct vbd_ctl_row *row, const char *filter);

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

/** vbd_ctl_top_cell - format a column of a row */
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

/** vbd_ctl_short_count - format a count in 5 characters or less: "17", "99.9K", "1023M" (powers of
 * 1024) */
char *vbd_ctl_short_count(double count);

/** vbd_ctl_short_ns - format a time in 6 characters or less: "980ns", "12.3us", "1.50s" */
char *vbd_ctl_short_ns(double ns);

#endif
