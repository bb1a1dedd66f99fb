/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/common/base64.h"

#include "cmd/verbsctl/common/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *vbd_ctl_base64_encode(const void *bytes, size_t len_bytes)
{
	const unsigned char *in = bytes;
	char *text = vbd_ctl_must(malloc((len_bytes + 2) / 3 * 4 + 1));
	char *out = text;

	for (size_t i = 0; i < len_bytes; i += 3) {
		size_t left = len_bytes - i;
		uint32_t group = (uint32_t)in[i] << 16;

		if (left > 1)
			group |= (uint32_t)in[i + 1] << 8;
		if (left > 2)
			group |= in[i + 2];
		*out++ = digits[group >> 18 & 63];
		*out++ = digits[group >> 12 & 63];
		*out++ = digits[group >> 6 & 63];
		*out++ = digits[group & 63];
		if (left < 3)
			out[-1] = '=';
		if (left < 2)
			out[-2] = '=';
	}
	*out = '\0';
	return text;
}

bool vbd_ctl_base64_decode(const char *text, char **ret_bytes, size_t *ret_len_bytes)
{
	size_t len = strlen(text);
	size_t padding = 0;
	size_t out_len;
	char *bytes;
	uint32_t group = 0;
	size_t n = 0;

	if (len % 4 != 0)
		return false;
	while (padding < 2 && padding < len && text[len - 1 - padding] == '=')
		padding++;
	out_len = len / 4 * 3 - padding;
	bytes = vbd_ctl_must(malloc(out_len + 1));
	for (size_t i = 0; i < len; i++) {
		const char *digit = strchr(digits, text[i]);
		bool padded = i >= len - padding;

		if (!digit && !padded) {
			free(bytes);
			return false;
		}
		group = group << 6 | (padded ? 0 : (uint32_t)(digit - digits));
		for (size_t k = 0; i % 4 == 3 && k < 3 && n < out_len; k++)
			bytes[n++] = (char)(group >> (16 - 8 * k) & 0xff);
		if (i % 4 == 3)
			group = 0;
	}
	bytes[out_len] = '\0';
	*ret_bytes = bytes;
	*ret_len_bytes = out_len;
	return true;
}
