/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text for a terminal: the server's text made safe, numbers with units, numbers parsed from the
 * command line.
 *
 * Memory: each text and each JSON value that a function of verbsctl returns is kept
 * (vbd_ctl_keep()), and no caller frees one. It lives until the end of the program, or until
 * vbd_ctl_release() in a loop that may run for long. A docstring says where that is otherwise.
 *
 * One thread. A failed allocation ends the program (vbd_ctl_must()): a command line tool has
 * nothing to save.
 */
#ifndef VBD_CMD_VERBSCTL_COMMON_TEXT_H
#define VBD_CMD_VERBSCTL_COMMON_TEXT_H

#include "base/attr.h"

#include <stdarg.h>

/* Exit statuses. */
enum vbd_ctl_exit {
	VBD_CTL_OK = 0,
	VBD_CTL_FAILED = 1, /* the server refused or failed */
	VBD_CTL_USAGE = 2,
	VBD_CTL_TIMED_OUT = 3, /* a deadline passed */
	VBD_CTL_NOT_FOUND = 4, /* the server has no such object */
	VBD_CTL_NO_SERVER = 5, /* no connection to the server */
};

/** vbd_ctl_must - return @ptr; if it is NULL print an error and end the program */
void *vbd_ctl_must(void *ptr);

/**
 * vbd_ctl_try - run a part of the program; returns the exit status with which it ends
 * @part: holds nothing that vbd_ctl_end() would leave behind, but what is kept
 */
enum vbd_ctl_exit vbd_ctl_try(void (*part)(void *arg), void *arg);

/** vbd_ctl_end - end the innermost vbd_ctl_try(), or the program without one; not in a callback of
 * a library */
_Noreturn void vbd_ctl_end(enum vbd_ctl_exit exit_status);

/**
 * vbd_ctl_keep - give up @ptr, which is released with all that is kept after it
 * @release: frees @ptr
 *
 * Returns @ptr; ends the program if it is NULL.
 */
void *vbd_ctl_keep(void *ptr, void (*release)(void *ptr));

/** vbd_ctl_kept - the place from which a later vbd_ctl_release() releases */
size_t vbd_ctl_kept(void);

/** vbd_ctl_release - release what was kept since vbd_ctl_kept() returned @from */
void vbd_ctl_release(size_t from);

/** vbd_ctl_format - sprintf(3) into new memory */
char *vbd_ctl_format(const char *fmt, ...) VBD_PRINTF(1, 2);

/** vbd_ctl_format_va - vbd_ctl_format() with the arguments of the caller */
char *vbd_ctl_format_va(const char *fmt, va_list ap) VBD_PRINTF(1, 0);

/**
 * vbd_ctl_note - print "verbsctl: …" on standard error, safe for a terminal: the text may quote
 * the server or the user
 * @fmt: printf(3) format without full stop and newline
 */
void vbd_ctl_note(const char *fmt, ...) VBD_PRINTF(1, 2);

/* Print an error as vbd_ctl_note() does, and end. */
#define vbd_ctl_fail(...)  (vbd_ctl_note(__VA_ARGS__), vbd_ctl_end(VBD_CTL_FAILED))
#define vbd_ctl_usage(...) (vbd_ctl_note(__VA_ARGS__), vbd_ctl_end(VBD_CTL_USAGE))

/**
 * vbd_ctl_end_if_unread - end the program if nobody reads standard output any more
 *
 * Returns while it has a reader, and always for a file. Otherwise ends by SIGPIPE, as a write to a
 * pipe without a reader does, and also where that signal is ignored. Does not block.
 * Source: poll(2), POLLERR of the write end of a pipe and POLLHUP of a socket.
 */
void vbd_ctl_end_if_unread(void);

/**
 * vbd_ctl_flush - write the output so far
 *
 * Prints the error and ends with VBD_CTL_FAILED if output is lost; if nobody reads it any more,
 * ends as vbd_ctl_end_if_unread() does. May block.
 */
void vbd_ctl_flush(void);

/**
 * vbd_ctl_text_safe - copy a text without anything that controls a terminal
 *
 * Replaces control characters (C0, DEL, C1), line and paragraph separators, marks that change the
 * writing direction, and bytes that are not UTF-8 by escapes: a newline by "\n", ESC by "\x1b",
 * U+202E by "\u202e".
 */
char *vbd_ctl_text_safe(const char *text);

/** vbd_ctl_text_safe_bytes - vbd_ctl_text_safe() of any bytes */
char *vbd_ctl_text_safe_bytes(const char *text, size_t len_bytes);

/**
 * vbd_ctl_text_safe_json - make a JSON text safe for a terminal without changing its value
 *
 * Unsafe characters occur only inside strings of JSON, so a \u escape can replace each. Newlines
 * and tabs between tokens stay.
 */
char *vbd_ctl_text_safe_json(const char *json);

/** vbd_ctl_text_percent - encode @text for a segment of a path or a value of a query */
char *vbd_ctl_text_percent(const char *text);

/**
 * vbd_ctl_text_columns - width of a safe text in columns of the terminal
 *
 * Follows LC_CTYPE. A character that the locale does not know counts one column for each byte.
 */
size_t vbd_ctl_text_columns(const char *text);

/**
 * vbd_ctl_text_fit - cut or pad a safe text to exactly @columns columns
 *
 * A text that is cut ends with "~".
 */
char *vbd_ctl_text_fit(const char *text, size_t columns);

/**
 * vbd_ctl_text_wrap - break lines longer than @columns at spaces
 * @text:   safe lines
 * @indent: number of spaces before a continuation line; no line is broken unless it is less than
 * @columns
 */
char *vbd_ctl_text_wrap(const char *text, size_t columns, size_t indent);

/** vbd_ctl_text_of_bytes - format bytes: "1.5 MiB", or "17 B" below 1 KiB */
char *vbd_ctl_text_of_bytes(uint64_t bytes);

/** vbd_ctl_text_of_ns - format a time: "12.345 ms", "1.500 s", "980 ns" */
char *vbd_ctl_text_of_ns(uint64_t ns);

/** vbd_ctl_text_of_span - format a time as vbd_ctl_text_of_ns() does, but from one minute on as
 * "1:02:03" */
char *vbd_ctl_text_of_span(uint64_t ns);

/**
 * vbd_ctl_parse_time - parse verbsd's times, "2026-01-02T03:04:05.000000006Z"; sets ns since 1970
 */
bool vbd_ctl_parse_time(const char *text, uint64_t *ret_ns);

/** vbd_ctl_parse_hex - parse "0x" and 1 to 16 hex digits */
bool vbd_ctl_parse_hex(const char *text, uint64_t *ret_value);

/** vbd_ctl_hex_encode - two digits for each byte */
char *vbd_ctl_hex_encode(const void *bytes, size_t len_bytes);

/** vbd_ctl_hex_decode - decode a text; returns false if @text is malformed */
bool vbd_ctl_hex_decode(const char *text, char **ret_bytes, size_t *ret_len_bytes);

#endif
