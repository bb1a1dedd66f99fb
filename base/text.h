/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text from outside (a peer, a client) or cut by snprintf(3), on its way to a log or a record.
 *
 * Any thread; nothing here blocks.
 */
#ifndef VBD_BASE_TEXT_H
#define VBD_BASE_TEXT_H

#include <stddef.h>

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

#endif
