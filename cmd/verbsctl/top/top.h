/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of `verbsctl top` (top.c): the connections and the view on them (rows.c), the picture
 * (draw.c), and the terminal (screen.c).
 *
 * One thread.
 */
#ifndef VBD_CMD_VERBSCTL_TOP_TOP_H
#define VBD_CMD_VERBSCTL_TOP_TOP_H

#include "base/attr.h"

#include <jansson.h>

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

/* A column of the list. */
struct vbd_ctl_top_column {
	const char *name;  /* for --sort */
	char letter;	   /* the key that sorts by the column */
	const char *field; /* "TITLE=field" (vbd_ctl_table_put()); a format means a number, of which
			    * the largest comes first */
	int stays;	   /* where the terminal is too narrow, the lowest goes first */
	size_t least;	   /* width at least, so that columns don't jump */
};

/* From left to right. */
extern const struct vbd_ctl_top_column vbd_ctl_top_columns[];
extern const size_t vbd_ctl_top_column_count;

enum vbd_ctl_top_page {
	VBD_CTL_TOP_LIST,
	VBD_CTL_TOP_DETAIL,
	VBD_CTL_TOP_HELP,
};

/* The state of `verbsctl top`: its data, and the view on them. */
struct vbd_ctl_top {
	/* Set and owned by the caller. */
	const char *server;   /* address of the server */
	json_t *index;	      /* answer of GET /v1; NULL before the first answer */
	json_t *stats;	      /* answer of GET /v1/stats; NULL before the first answer */
	uint64_t total;	      /* number of connections on the server */
	const char *trouble;  /* why the data is old; NULL if it is not */
	unsigned int stale_s; /* age of the data, if there is trouble */
	const char *news;     /* message to show for a while; NULL for none */
	const char *detail;   /* lines about the chosen connection; NULL until fetched */

	/* The connections by id, as of vbd_ctl_top_take(). The member `top` of each has what is
	 * computed: rates are per second since the call before, and missing after the first. */
	json_t *rows;
	uint64_t rows_ns;
	double sent_rate, received_rate; /* of all together */

	/* The view on them. */
	enum vbd_ctl_top_page page;
	size_t sort; /* index of a column */
	bool reverse;
	bool ended;  /* fetch ended connections too */
	bool typing; /* keys edit the filter */
	bool quit;
	char filter[VBD_CTL_TOP_FILTER_BYTES];
	char filter_before[VBD_CTL_TOP_FILTER_BYTES]; /* the filter that Escape restores */
	json_t **shown;				      /* rows that match the filter, in order */
	size_t shown_count;
	uint64_t chosen;  /* id of the chosen row; 0 for none */
	bool holds;	  /* the user chose the row: it stays chosen when the order changes */
	size_t chosen_at; /* index of the chosen row in @shown */
	size_t first;	  /* index in @shown of the topmost visible row */
	size_t scroll;	  /* topmost visible line of another page */
};

/* --- the connections and the view (rows.c): no server, no terminal, no clock -------------------
 */

/** vbd_ctl_top_column_of - the index of the column with this name of --sort, or else of the column
 * that the key sorts by; the number of columns if there is none; NULL: by the key alone */
size_t vbd_ctl_top_column_of(const char *name, int key);

/**
 * vbd_ctl_top_take - show these connections from now on
 * @connections: array, whose objects get the member `top`; one without an id is left out; NULL:
 *               none, and what was there before is forgotten
 * @cqs:         array of completion queues, or NULL
 * @at_ns:       monotonic time of the answer; soon after the call before, its rates stay
 *
 * A row that the user chose stays chosen when the order changes. If it is gone, the row at its
 * place is chosen. Until the user chooses, the topmost row is chosen.
 */
void vbd_ctl_top_take(
	struct vbd_ctl_top *top, json_t *connections, const json_t *cqs, uint64_t at_ns);

/**
 * vbd_ctl_top_key - handle a key
 * @page_lines: number of visible rows
 *
 * Returns whether other data has to be fetched.
 */
bool vbd_ctl_top_key(struct vbd_ctl_top *top, int key, size_t page_lines);

/**
 * vbd_ctl_top_table - scroll until the chosen row is visible, and make the lines of the list: the
 * titles, and the visible rows, with the columns that fit
 * @lines: number of visible rows
 * @width: of the terminal
 *
 * Returns "" if there is no row.
 */
char *vbd_ctl_top_table(struct vbd_ctl_top *top, size_t lines, size_t width);

/** vbd_ctl_top_fini - free what vbd_ctl_top_take() made */
void vbd_ctl_top_fini(struct vbd_ctl_top *top);

/* --- the picture (draw.c): summary, news, and the current page -------------------------------- */

/** vbd_ctl_top_draw - draw the picture for the current size of the terminal */
void vbd_ctl_top_draw(struct vbd_ctl_top *top);

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
