/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as text in JSON: as they are, base64 or hex.
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
	VBD_ENCODING_AUTO, /* text where that is printable UTF-8, else base64 */
};

extern const char *const vbd_encoding_names[4];

/**
 * vbd_codec_encode - a JSON string of bytes
 * @ret_encoding: what was used in the end: bytes that are no UTF-8 can't be text
 *
 * Returns a new reference; NULL without memory.
 */
json_t *vbd_codec_encode(const uint8_t *bytes, size_t len_bytes, enum vbd_encoding encoding,
	enum vbd_encoding *ret_encoding);

/**
 * vbd_codec_decode - bytes of a text
 * @encoding:  TEXT, BASE64 or HEX
 * @max_bytes: more is VBD_E_TOO_LONG
 * @pointer:   the member to blame
 * @ret_bytes: from malloc(), the caller's; never NULL
 */
enum vbd_status vbd_codec_decode(const char *text, enum vbd_encoding encoding, size_t max_bytes,
	const char *pointer, uint8_t **ret_bytes, size_t *ret_len_bytes,
	struct vbd_error *err) VBD_MUST_CHECK;

#endif
