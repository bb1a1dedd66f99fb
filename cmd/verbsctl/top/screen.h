/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole terminal, to draw on and to read keys from. The only user of ncurses.
 *
 * One thread, and one screen at a time: it is the process's own terminal. While it is open nothing
 * else may write to it. A program that is killed by SIGINT or SIGTERM gives the terminal back,
 * since ncurses sees to that.
 */
#ifndef VBD_CMD_VERBSCTL_TOP_SCREEN_H
#define VBD_CMD_VERBSCTL_TOP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

enum vbd_ctl_style {
	VBD_CTL_STYLE_PLAIN,
	VBD_CTL_STYLE_BOLD,
	VBD_CTL_STYLE_BAR, /* dark on light: titles, the row that is chosen */
	VBD_CTL_STYLE_GOOD,
	VBD_CTL_STYLE_BAD,
	VBD_CTL_STYLE_ALARM, /* a bar that nobody overlooks */
};

/**
 * vbd_ctl_screen_open - take the terminal over
 * @color: may colours be used?
 * @ret_why: set if that fails: what is wrong with the terminal; a constant
 *
 * Standard input and output must be a terminal. Returns false, and leaves it as it was, if TERM
 * does not say how to draw on it.
 */
bool vbd_ctl_screen_open(bool color, const char **ret_why);

/** vbd_ctl_screen_close - give it back as it was; does nothing if it is not open */
void vbd_ctl_screen_close(void);

/** vbd_ctl_screen_size - lines and columns that it has now */
void vbd_ctl_screen_size(size_t *ret_lines, size_t *ret_columns);

/** vbd_ctl_screen_clear - begin a new picture; nothing is seen before vbd_ctl_screen_show() */
void vbd_ctl_screen_clear(void);

/**
 * vbd_ctl_screen_put - write a harmless text
 * @columns: that it gets: it is cut, or filled up with spaces
 *
 * What lies outside of the screen is left out.
 */
void vbd_ctl_screen_put(
	size_t line, size_t column, size_t columns, enum vbd_ctl_style style, const char *text);

/** vbd_ctl_screen_show - let the picture be seen */
void vbd_ctl_screen_show(void);

/**
 * vbd_ctl_screen_key - wait for a key
 * @timeout_ms: 0 to take only what is there
 *
 * Returns one of enum vbd_ctl_key (view.h), or a byte of a character. A terminal that
 * changes its size ends the wait with VBD_CTL_KEY_RESIZE.
 */
int vbd_ctl_screen_key(unsigned int timeout_ms);

#endif
