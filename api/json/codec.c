/* SPDX-License-Identifier: Apache-2.0 */
#include "api/json/codec.h"

#include "base/text.h"
#include "api/json/writer.h"

#include <gnutls/gnutls.h>

const char *const vbd_encoding_names[4] = {
	[VBD_ENCODING_TEXT] = "text",
	[VBD_ENCODING_BASE64] = "base64",
	[VBD_ENCODING_HEX] = "hex",
	[VBD_ENCODING_AUTO] = "auto",
};

enum vbd_encoding vbd_codec_choose(
	const uint8_t *bytes, size_t len_bytes, enum vbd_encoding encoding)
{
	if (encoding == VBD_ENCODING_AUTO)
		return vbd_utf8_printable(bytes, len_bytes) ? VBD_ENCODING_TEXT
							    : VBD_ENCODING_BASE64;
	if (encoding == VBD_ENCODING_TEXT && !vbd_utf8_valid(bytes, len_bytes))
		return VBD_ENCODING_BASE64;
	return encoding;
}

void vbd_put_data(struct vbd_encoder *out, const char *name, const uint8_t *bytes, size_t len_bytes,
	enum vbd_encoding encoding)
{
	/* The cast is safe: gnutls does not change the bytes. */
	const gnutls_datum_t in = {(unsigned char *)bytes, (unsigned int)len_bytes};
	gnutls_datum_t text = {NULL, 0};
	int rc;

	if (encoding == VBD_ENCODING_TEXT || !len_bytes) {
		vbd_put_utf8(out, name, (const char *)bytes, len_bytes);
		return;
	}
	rc = encoding == VBD_ENCODING_HEX ? gnutls_hex_encode2(&in, &text)
					  : gnutls_base64_encode2(&in, &text);
	if (rc < 0) {
		out->failed = true;
		return;
	}
	vbd_put_text(out, name, (const char *)text.data);
	gnutls_free(text.data);
}

static enum vbd_status check_alphabet(
	const char *text, enum vbd_encoding encoding, const char *pointer, struct vbd_error *err)
{
	static const char base64[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t len = strlen(text);
	size_t good;

	if (encoding == VBD_ENCODING_HEX) {
		good = strspn(text, "0123456789abcdefABCDEF");
		if (good != len || len % 2)
			return vbd_error_input(err, VBD_E_BAD_VALUE, pointer,
				"%s is not pairs of hex digits", pointer);
		return VBD_OK;
	}
	good = strspn(text, base64);
	good += strspn(text + good, "=");
	if (good != len || len % 4 || (len && strcspn(text, "=") + 2 < len))
		return vbd_error_input(err, VBD_E_BAD_VALUE, pointer,
			"%s is not base64 (RFC 4648, section 4, with padding)", pointer);
	return VBD_OK;
}

static enum vbd_status copy_bytes(const void *bytes, size_t len_bytes, size_t max_bytes,
	const char *pointer, uint8_t **ret_bytes, size_t *ret_len_bytes, struct vbd_error *err)
{
	uint8_t *copy;

	if (len_bytes > max_bytes)
		return vbd_error_input(err, VBD_E_TOO_LONG, pointer,
			"%s has %zu bytes; at most %zu are allowed", pointer, len_bytes, max_bytes);
	copy = malloc(len_bytes + 1);
	if (!copy)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for %s", pointer);
	if (len_bytes)
		memcpy(copy, bytes, len_bytes);
	*ret_bytes = copy;
	*ret_len_bytes = len_bytes;
	return VBD_OK;
}

enum vbd_status vbd_codec_decode(const char *text, enum vbd_encoding encoding, size_t max_bytes,
	const char *pointer, uint8_t **ret_bytes, size_t *ret_len_bytes, struct vbd_error *err)
{
	const gnutls_datum_t in = {(unsigned char *)text, (unsigned int)strlen(text)};
	gnutls_datum_t out = {NULL, 0};
	enum vbd_status status;
	int rc;

	if (encoding == VBD_ENCODING_TEXT || !in.size)
		return copy_bytes(text, in.size, max_bytes, pointer, ret_bytes, ret_len_bytes, err);
	status = check_alphabet(text, encoding, pointer, err);
	if (status != VBD_OK)
		return status;
	rc = encoding == VBD_ENCODING_HEX ? gnutls_hex_decode2(&in, &out)
					  : gnutls_base64_decode2(&in, &out);
	if (rc < 0)
		return vbd_error_input(err, VBD_E_BAD_VALUE, pointer, "%s is not %s: %s", pointer,
			vbd_encoding_names[encoding], gnutls_strerror(rc));
	status = copy_bytes(out.data, out.size, max_bytes, pointer, ret_bytes, ret_len_bytes, err);
	gnutls_free(out.data);
	return status;
}
