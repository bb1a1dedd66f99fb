/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of clients, peers and the kernel: check for UTF-8, count characters.
 *
 * Any thread.
 */
#ifndef VBD_BASE_UTF8_H
#define VBD_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/** vbd_utf8_valid - true if the bytes are UTF-8 (RFC 3629: shortest form, no surrogates) */
bool vbd_utf8_valid(const void *bytes, size_t len_bytes);

/**
 * vbd_utf8_printable - true for UTF-8 without control characters other than tab, LF and CR, without
 * other ends of a line, and without marks for the direction of writing, which let a text look like
 * another one
 */
bool vbd_utf8_printable(const void *bytes, size_t len_bytes);

/** vbd_utf8_line - true for printable UTF-8 without tab, LF and CR, and without any character that
 * shows nothing: names, labels and other short texts, which people compare by eye */
bool vbd_utf8_line(const void *bytes, size_t len_bytes);

/** vbd_utf8_length - number of characters (not bytes) of a UTF-8 string */
size_t vbd_utf8_length(const char *text);

#endif
