/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of `verbsctl top` (top.c): the table and the view on it (rows.c), the picture (draw.c),
 * and the terminal (screen.c).
 *
 * One thread.
 */
#ifndef VBD_CMD_VERBSCTL_TOP_TOP_H
#define VBD_CMD_VERBSCTL_TOP_TOP_H

#include "base/attr.h"
#include "base/enum.h"

#include <jansson.h>

/* --- the table (rows.c) ------------------------------------------------------------------------
 *
 * A row for each connection, built from the server's lists, with rates from this snapshot and the
 * one before; its columns, the order of rows by a column, and the choice of columns that fit on the
 * terminal. Pure: no server, no terminal, no clock.
 */

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
 * X(SYMBOL, name of --sort, title, letter, form, path of the member, stays, least, most)
 *
 * In order from left to right. The letter is the key that sorts by the column. If the terminal is
 * too narrow, the column with the lowest "stays" is removed first. "least" and "most" limit the
 * width in columns of the terminal; within them a column is as wide as its widest cell.
 */
#define VBD_CTL_TOP_COLUMN_MAP(X)                                                           \
	X(VBD_CTL_TOP_ID, "id", "ID", 'i', WHOLE, "id", 100, 2, 10)                         \
	X(VBD_CTL_TOP_NAME, "name", "NAME", 'n', TEXT, "name", 90, 10, 24)                  \
	X(VBD_CTL_TOP_STATE, "state", "STATE", 's', TEXT, "state", 99, 11, 15)              \
	X(VBD_CTL_TOP_PEER, "peer", "PEER", 'p', TEXT, "peer", 60, 16, 47)                  \
	X(VBD_CTL_TOP_DEVICE, "device", "DEVICE", 'd', TEXT, "device", 30, 6, 16)           \
	X(VBD_CTL_TOP_SENT_RATE, "sent/s", "SENT/s", 't', COUNT, "top.sent_rate", 98, 6, 6) \
	X(VBD_CTL_TOP_RECV_RATE, "recv/s", "RECV/s", 'v', COUNT, "top.recv_rate", 97, 6, 6) \
	X(VBD_CTL_TOP_OPS_RATE, "ops/s", "OPS/s", 'o', COUNT, "top.ops_rate", 70, 5, 6)     \
	X(VBD_CTL_TOP_CQ, "cq", "CQ", 'c', SHARE, "top.cq", 75, 4, 4)                       \
	X(VBD_CTL_TOP_RTT, "rtt", "RTT", 'l', NS, "rtt.last_ns", 80, 6, 6)                  \
	X(VBD_CTL_TOP_RTT_P99, "rtt99", "RTT99", '9', NS, "rtt.p99_ns", 40, 6, 6)           \
	X(VBD_CTL_TOP_SENT, "sent", "SENT", 'T', COUNT, "top.sent", 35, 5, 6)               \
	X(VBD_CTL_TOP_RECV, "recv", "RECV", 'V', COUNT, "top.recv", 34, 5, 6)               \
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

extern const struct vbd_ctl_top_column_spec vbd_ctl_top_columns[VBD_CTL_TOP_COLUMN_END];

/*
 * One snapshot of all connections. A row is a connection of the server, with what is computed in
 * its member `top`: rates are per second since the snapshot before, and missing in the first one.
 */
struct vbd_ctl_rows {
	json_t *by_id;	  /* an object with the rows; owned */
	uint64_t at_ns;	  /* monotonic time of the answer */
	double sent_rate; /* sum over all rows, per second */
	double received_rate;
};

/**
 * vbd_ctl_rows_init - build the rows of a snapshot
 * @connections: array of connections, which become rows; one without an id is left out
 * @cqs:         array of completion queues, or NULL
 * @at_ns:       monotonic time of the answer
 * @before:      the snapshot before, of the same run of the daemon; NULL for none. If it is very
 *               recent, its rates are copied.
 * @ret_rows:    free it with vbd_ctl_rows_fini()
 */
void vbd_ctl_rows_init(json_t *connections, const json_t *cqs, uint64_t at_ns,
	const struct vbd_ctl_rows *before, struct vbd_ctl_rows *ret_rows);

/** vbd_ctl_rows_fini - free; a zeroed struct is allowed */
void vbd_ctl_rows_fini(struct vbd_ctl_rows *rows);

/** vbd_ctl_rows_find - the row of a connection, borrowed; NULL if there is none */
json_t *vbd_ctl_rows_find(const struct vbd_ctl_rows *rows, uint64_t id);

/* Width of each column; 0 for a column that does not fit. One space separates two columns. */
struct vbd_ctl_top_layout {
	size_t width[VBD_CTL_TOP_COLUMN_END];
};

/** vbd_ctl_top_column_of - the column with this name of --sort, or else the column that the key
 * sorts by; END if there is none; NULL: by the key alone */
enum vbd_ctl_top_column vbd_ctl_top_column_of(const char *name, int key);

/** vbd_ctl_top_cell - format a column of a row */
char *vbd_ctl_top_cell(const json_t *row, enum vbd_ctl_top_column column);

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
	json_t *const *rows, size_t count, size_t columns, bool ended);

/** vbd_ctl_short_count - format a count in 5 characters or less: "17", "99.9K", "1023M" (powers of
 * 1024) */
char *vbd_ctl_short_count(double count);

/** vbd_ctl_short_ns - format a time in 6 characters or less: "980ns", "12.3us", "1.50s" */
char *vbd_ctl_short_ns(double ns);

/* --- the view (rows.c) -------------------------------------------------------------------------
 *
 * Order, filter, chosen row, scroll position, and the effect of each key. Pure.
 */

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

	json_t **shown; /* rows that match the filter, in order; borrowed */
	size_t shown_count;
	uint64_t chosen;  /* id of the chosen row; 0 for none */
	bool holds;	  /* the user chose the row: it stays chosen when the order changes */
	size_t chosen_at; /* index of the chosen row in @shown */
	size_t first;	  /* index in @shown of the topmost visible row */
	size_t scroll;	  /* topmost visible line of the detail */
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
 *
 * Returns whether the view needs other data than was fetched last.
 */
bool vbd_ctl_top_view_key(
	struct vbd_ctl_top_view *view, const struct vbd_ctl_rows *rows, int key, size_t page_lines);

/**
 * vbd_ctl_top_view_settle - scroll until the chosen row is visible
 * @lines: number of visible rows
 */
void vbd_ctl_top_view_settle(struct vbd_ctl_top_view *view, size_t lines);

/** vbd_ctl_top_view_fini - free; a zeroed struct is allowed */
void vbd_ctl_top_view_fini(struct vbd_ctl_top_view *view);

/* --- the picture (draw.c): summary, news, and the current page -------------------------------- */

/* The content of a picture. All pointers are borrowed; those that may be NULL say so. */
struct vbd_ctl_top_picture {
	const char *server;  /* address of the server */
	const json_t *index; /* answer of GET /v1; NULL before the first answer */
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

/* --- the terminal (screen.c) -------------------------------------------------------------------
 *
 * For drawing and for reading keys. The only user of ncurses. One screen at a time, because it is
 * the terminal of the process. While the screen is open, only these functions may write to the
 * terminal. ncurses restores the terminal if SIGINT or SIGTERM kills the program.
 */

enum vbd_ctl_style {
	VBD_CTL_STYLE_PLAIN,
	VBD_CTL_STYLE_BOLD,
	VBD_CTL_STYLE_BAR, /* dark on light, for titles and the chosen row */
	VBD_CTL_STYLE_GOOD,
	VBD_CTL_STYLE_BAD,
	VBD_CTL_STYLE_ALARM, /* a conspicuous bar, for errors */
};

/**
 * vbd_ctl_screen_open - take over the terminal
 * @color: whether to use colours
 *
 * Standard input and standard output must be a terminal. Returns false, with the terminal
 * unchanged, if ncurses can't draw on the terminal of TERM.
 */
bool vbd_ctl_screen_open(bool color);

/** vbd_ctl_screen_close - restore the terminal; does nothing if the screen is not open */
void vbd_ctl_screen_close(void);

/** vbd_ctl_screen_lines - current number of lines */
size_t vbd_ctl_screen_lines(void);

/** vbd_ctl_screen_columns - current number of columns */
size_t vbd_ctl_screen_columns(void);

/** vbd_ctl_screen_clear - begin a new picture; vbd_ctl_screen_show() makes it visible */
void vbd_ctl_screen_clear(void);

/**
 * vbd_ctl_screen_put - draw a safe text
 * @columns: width; the text is cut or padded with spaces
 *
 * Text outside the screen is left out.
 */
void vbd_ctl_screen_put(
	size_t line, size_t column, size_t columns, enum vbd_ctl_style style, const char *text);

/** vbd_ctl_screen_show - make the picture visible */
void vbd_ctl_screen_show(void);

/**
 * vbd_ctl_screen_key - wait for a key
 * @timeout_ms: longest wait; 0 for none
 *
 * Returns a value of enum vbd_ctl_key, or one byte of a character. VBD_CTL_KEY_RESIZE
 * means that the size of the terminal has changed.
 */
int vbd_ctl_screen_key(unsigned int timeout_ms);

#endif
