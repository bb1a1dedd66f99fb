/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole terminal, for drawing and for reading keys. The only user of ncurses.
 *
 * One thread, and one screen at a time, because it is the terminal of the process. While the screen
 * is open, only these functions may write to the terminal. ncurses restores the terminal if SIGINT
 * or SIGTERM kills the program.
 */
#ifndef VBD_CMD_VERBSCTL_TOP_SCREEN_H
#define VBD_CMD_VERBSCTL_TOP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

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
 * @color:   whether to use colours
 * @ret_why: set on failure: a static string with the reason
 *
 * Standard input and standard output must be a terminal. Returns false, with the terminal
 * unchanged, if ncurses can't draw on the terminal of TERM.
 */
bool vbd_ctl_screen_open(bool color, const char **ret_why);

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
 * Returns a value of enum vbd_ctl_key (view.h), or one byte of a character. VBD_CTL_KEY_RESIZE
 * means that the size of the terminal has changed.
 */
int vbd_ctl_screen_key(unsigned int timeout_ms);

#endif
