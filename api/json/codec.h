/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes in a JSON string: as plain text, base64 or hex.
 *
 * Any thread.
 */
#ifndef VBD_API_JSON_CODEC_H
#define VBD_API_JSON_CODEC_H

#include "base/attr.h"
#include "base/error.h"

#include <jansson.h>

#include <stddef.h>
#include <stdint.h>

enum vbd_encoding {
	VBD_ENCODING_TEXT,
	VBD_ENCODING_BASE64,
	VBD_ENCODING_HEX,
	VBD_ENCODING_AUTO, /* text if the bytes are printable UTF-8, else base64 */
};

extern const char *const vbd_encoding_names[4];

/**
 * vbd_codec_encode - encode bytes as a JSON string
 * @ret_encoding: the encoding used; BASE64 instead of TEXT if the bytes are not UTF-8
 *
 * Returns a new reference; NULL without memory.
 */
json_t *vbd_codec_encode(const uint8_t *bytes, size_t len_bytes, enum vbd_encoding encoding,
	enum vbd_encoding *ret_encoding);

/**
 * vbd_codec_decode - decode a text to bytes
 * @encoding:  TEXT, BASE64 or HEX
 * @max_bytes: more is VBD_E_TOO_LONG
 * @pointer:   JSON pointer of the member, for errors
 * @ret_bytes: from malloc(), owned by the caller; never NULL
 */
enum vbd_status vbd_codec_decode(const char *text, enum vbd_encoding encoding, size_t max_bytes,
	const char *pointer, uint8_t **ret_bytes, size_t *ret_len_bytes,
	struct vbd_error *err) VBD_MUST_CHECK;

#endif
