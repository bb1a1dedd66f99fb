/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that came from outside: is it UTF-8, how long is it, and how does it get into an answer.
 *
 * Any thread.
 */
#ifndef VBD_API_JSON_UTF8_H
#define VBD_API_JSON_UTF8_H

#include <jansson.h>

#include <stdbool.h>
#include <stddef.h>

/** vbd_utf8_valid - are the bytes UTF-8 (RFC 3629: shortest form, no surrogates)? */
bool vbd_utf8_valid(const void *bytes, size_t len_bytes);

/** vbd_utf8_printable - UTF-8 without control characters other than tab, LF and CR? */
bool vbd_utf8_printable(const void *bytes, size_t len_bytes);

/** vbd_utf8_length - characters (not bytes) of a string that is UTF-8 */
size_t vbd_utf8_length(const char *text);

/**
 * vbd_json_text - a JSON string of any text
 * @text: bytes that are not UTF-8 (a message cut in the middle of a character) become '?'; NULL
 *        gives JSON null
 *
 * Returns a new reference, NULL only without memory.
 */
json_t *vbd_json_text(const char *text);

#endif
