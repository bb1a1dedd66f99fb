/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text for people: what came from a server made harmless for a terminal, numbers with units, and
 * numbers read from the command line.
 *
 * One thread. Memory that can't be had ends the program (vbd_ctl_must): a command line tool has
 * nothing to save.
 */
#ifndef VBD_CMD_VERBSCTL_COMMON_TEXT_H
#define VBD_CMD_VERBSCTL_COMMON_TEXT_H

#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What a run of verbsctl ends with. Who returns VBD_CTL_FAILED or VBD_CTL_USAGE has told the user.
 */
enum vbd_ctl_exit {
	VBD_CTL_OK = 0,
	VBD_CTL_FAILED = 1, /* refused by the server, failed there, or out of reach */
	VBD_CTL_USAGE = 2,
};

/** vbd_ctl_must - @ptr itself; ends the program with a message if it is NULL */
void *vbd_ctl_must(void *ptr);

/** vbd_ctl_format - sprintf into memory of the right size; the caller frees it */
char *vbd_ctl_format(const char *fmt, ...) VBD_PRINTF(1, 2);

/**
 * vbd_ctl_fail - one line on stderr, "verbsctl: …", made harmless; returns VBD_CTL_FAILED
 * @fmt: no stop and no newline at its end
 */
enum vbd_ctl_exit vbd_ctl_fail(const char *fmt, ...) VBD_PRINTF(1, 2);

/** vbd_ctl_usage - the same for a wrong command line; returns VBD_CTL_USAGE */
enum vbd_ctl_exit vbd_ctl_usage(const char *fmt, ...) VBD_PRINTF(1, 2);

/** vbd_ctl_note - the same for news that end nothing */
void vbd_ctl_note(const char *fmt, ...) VBD_PRINTF(1, 2);

/**
 * vbd_ctl_text_safe - a copy that can't steer a terminal; the caller frees it
 * @text: any bytes
 *
 * Control characters (C0, DEL, C1), line and paragraph separators, marks that turn the writing
 * direction, and bytes that are not UTF-8 are written as escapes: a newline as "\n", ESC as "\x1b",
 * U+202E as "\u202e".
 */
char *vbd_ctl_text_safe(const char *text, size_t len_bytes);

/**
 * vbd_ctl_text_safe_json - the same for a JSON text, which stays the same document
 *
 * Such characters stand only inside strings there, so each can become its \u escape. Newlines and
 * tabs between the tokens stay.
 */
char *vbd_ctl_text_safe_json(const char *json);

/** vbd_ctl_text_put_escaped - write @text to @out percent-encoded for a path segment or a query
 * value */
void vbd_ctl_text_put_escaped(FILE *out, const char *text);

/** vbd_ctl_text_is_utf8 - valid UTF-8 without a NUL? */
bool vbd_ctl_text_is_utf8(const char *text, size_t len_bytes);

/**
 * vbd_ctl_text_columns - columns of a terminal that a harmless text takes
 *
 * Goes by LC_CTYPE: a character that it doesn't know takes one column a byte.
 */
size_t vbd_ctl_text_columns(const char *text);

/**
 * vbd_ctl_text_fit - a harmless text in exactly @columns columns; the caller frees it
 * @right: spaces go before it
 *
 * What is too long ends in "~".
 */
char *vbd_ctl_text_fit(const char *text, size_t columns, bool right);

/**
 * vbd_ctl_text_wrap - the same lines, with those that are longer than @columns broken at spaces;
 * the caller frees it
 * @text:   harmless lines
 * @indent: spaces before the rest of a line that was broken; less than @columns, or none is broken
 */
char *vbd_ctl_text_wrap(const char *text, size_t columns, size_t indent);

/** vbd_ctl_text_of_bytes - "1.5 MiB"; below 1 KiB "17 B". The caller frees it. */
char *vbd_ctl_text_of_bytes(uint64_t bytes);

/** vbd_ctl_text_of_ns - "12.345 ms", "1.500 s", "980 ns". The caller frees it. */
char *vbd_ctl_text_of_ns(uint64_t ns);

/** vbd_ctl_text_of_span - the same below a minute, and "1:02:03" from there on. The caller frees
 * it.
 */
char *vbd_ctl_text_of_span(uint64_t ns);

/**
 * vbd_ctl_parse_time - ns since 1970 of "2026-01-02T03:04:05.000000006Z", the form that verbsd has
 */
bool vbd_ctl_parse_time(const char *text, uint64_t *ret_ns);

/**
 * vbd_ctl_parse_uint - a decimal number of at most INT64_MAX, which is what JSON integers carry
 *
 * Returns false if @text is anything else.
 */
bool vbd_ctl_parse_uint(const char *text, uint64_t *ret_value);

/** vbd_ctl_parse_hex - "0x" and 1 to 16 hex digits */
bool vbd_ctl_parse_hex(const char *text, uint64_t *ret_value);

/** vbd_ctl_parse_size - bytes: a number and K, M, G or T (powers of 1024; "KiB" and "KB" mean the
 * same) */
bool vbd_ctl_parse_size(const char *text, uint64_t *ret_bytes);

/** vbd_ctl_parse_duration - a number, maybe with decimals, and ms, s, m or h; a bare number is
 * seconds */
bool vbd_ctl_parse_duration(const char *text, uint64_t *ret_ms);

#endif
