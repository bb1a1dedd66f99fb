/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text from outside (a peer, a client) or cut by snprintf(3), on its way to a log or a record.
 *
 * Any thread; nothing here blocks.
 */
#ifndef VBD_BASE_TEXT_H
#define VBD_BASE_TEXT_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * vbd_text_clean - make a text safe to print and to put into JSON
 * @text: changed in place: '?' replaces every control character, and every byte that is not part of
 *        valid UTF-8 (RFC 3629); the length stays the same
 */
void vbd_text_clean(char *text);

/**
 * vbd_text_copy - copy a text that needs no formatting, at a tenth of the cost of snprintf(3)
 * @to_bytes: size of @to, 1 or more; what does not fit with the NUL is cut off
 *
 * Returns the length of the copy in bytes without the NUL, at which more text can be appended.
 */
size_t vbd_text_copy(char *to, size_t to_bytes, const char *text);

/* Part of vbd_text_path(). */
struct vbd_text_path {
	char text[101];
};

/**
 * vbd_text_path - a path for a line that has no room for a long one
 * @path: of any length
 *
 * Returns all of a path of 100 bytes or less, else how it begins and how it ends, which names the
 * file, with "..." between. A caller uses the member `text` within the same expression:
 * `vbd_error_set(err, status, "%s is no file", vbd_text_path(path).text)`.
 */
struct vbd_text_path vbd_text_path(const char *path);

/* A search for the name that the author of a word may have meant. */
struct vbd_similar {
	const char *word;
	const char *like; /* the name most like the word so far; NULL: none is like it */
	size_t edits;	  /* from the word to that name */
};

/**
 * vbd_similar_try - consider another name, borrowed; NULL is fine
 *
 * Two are alike if at most two letters must be added, removed or changed, and fewer than @name has,
 * or if @name begins with the word. Names and words of more than 63 characters are like nothing.
 */
void vbd_similar_try(struct vbd_similar *similar, const char *name);

/* Arguments of "%s%s%s" behind an unknown name: "; did you mean NAME?", or nothing if @like is
 * NULL. */
#define VBD_DID_YOU_MEAN(like) \
	(like) ? "; did you mean " : "", (like) ? (like) : "", (like) ? "?" : ""

/**
 * vbd_parse_uint - parse a decimal number of at most INT64_MAX, the range of JSON integers
 *
 * Returns false if @text is malformed.
 */
bool vbd_parse_uint(const char *text, uint64_t *ret_value);

/** vbd_parse_number - as vbd_parse_uint(), and also hexadecimal after "0x" */
bool vbd_parse_number(const char *text, uint64_t *ret_value);

/**
 * vbd_parse_size - parse a number of bytes with K, M, G or T (powers of 1024; "KiB" and "KB" mean
 * the same)
 */
bool vbd_parse_size(const char *text, uint64_t *ret_bytes);

/**
 * vbd_parse_duration - parse a number, maybe with decimals, and ms, s, m or h
 * @unit: of a number without one, "ms" or "s"
 */
bool vbd_parse_duration(const char *text, const char *unit, uint64_t *ret_ms);

/**
 * vbd_utf8_char - decode the character at @bytes (RFC 3629: shortest form, no surrogates)
 * @len_bytes: 1 or more
 * @ret_code:  set to its number in Unicode, unless 0 is returned
 *
 * Returns its length, 1 to 4 bytes; 0 if the bytes are not a character.
 */
size_t vbd_utf8_char(const void *bytes, size_t len_bytes, uint32_t *ret_code);

/** vbd_utf8_valid - true if the bytes are UTF-8 */
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

/** vbd_text_has_only - whether the bytes are ASCII letters, digits and characters of @marks */
bool vbd_text_has_only(const char *text, size_t len_bytes, const char *marks);

#endif
