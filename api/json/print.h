/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON as text.
 *
 * Any thread.
 */
#ifndef VBD_API_JSON_PRINT_H
#define VBD_API_JSON_PRINT_H

#include <jansson.h>
#include <stddef.h>

/**
 * vbd_json_print - the text of a JSON value, without spaces
 * @ret_len: length without the NUL behind the text; NULL if not wanted
 *
 * Returns a text that the caller frees; NULL without memory, also where json_dumps(3) would leave
 * a part of the text out (jansson 2.14 ignores a failed write of a member's name).
 */
char *vbd_json_print(const json_t *json, size_t *ret_len);

/**
 * vbd_json_document - the text of a document, with a newline in place of the NUL at its end, so
 * that a shell prompt starts a new line
 *
 * Returns a text from malloc(); NULL without memory, or if @json is NULL.
 */
char *vbd_json_document(const json_t *json, size_t *ret_bytes);

#endif
