/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes in a JSON string: as plain text, base64 or hex.
 *
 * Any thread.
 */
#ifndef VBD_API_JSON_CODEC_H
#define VBD_API_JSON_CODEC_H

#include "base/error.h"

struct vbd_encoder;

enum vbd_encoding {
	VBD_ENCODING_TEXT,
	VBD_ENCODING_BASE64,
	VBD_ENCODING_HEX,
	VBD_ENCODING_AUTO, /* text if the bytes are printable UTF-8, else base64 */
};

extern const char *const vbd_encoding_names[4];

/** vbd_codec_choose - the encoding that bytes get: TEXT or BASE64 for AUTO, and BASE64 instead of
 * TEXT if they are not UTF-8 */
enum vbd_encoding vbd_codec_choose(
	const uint8_t *bytes, size_t len_bytes, enum vbd_encoding encoding);

/** vbd_put_data - put bytes as a string; @encoding: of vbd_codec_choose() */
void vbd_put_data(struct vbd_encoder *out, const char *name, const uint8_t *bytes, size_t len_bytes,
	enum vbd_encoding encoding);

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
