/* SPDX-License-Identifier: Apache-2.0 */
#include "api/json/utf8.h"

#include <stdint.h>

/* Length of the UTF-8 character at @bytes, 1 to 4 bytes; 0 if the bytes are not a character. */
static size_t character_bytes(const uint8_t *bytes, size_t len_bytes)
{
	static const struct {
		uint8_t mask, lead, second_min, second_max;
	} forms[] = {
		/* From the table of RFC 3629, section 4: the second byte's range excludes overlong
		 * forms, surrogates and code points above U+10FFFF. */
		{0xff, 0xe0, 0xa0, 0xbf},
		{0xff, 0xed, 0x80, 0x9f},
		{0xf0, 0xe0, 0x80, 0xbf},
		{0xff, 0xf0, 0x90, 0xbf},
		{0xff, 0xf4, 0x80, 0x8f},
		{0xfc, 0xf0, 0x80, 0xbf},
	};
	size_t want;

	if (bytes[0] < 0x80)
		return 1;
	if (bytes[0] >= 0xc2 && bytes[0] <= 0xdf)
		return len_bytes >= 2 && (bytes[1] & 0xc0) == 0x80 ? 2 : 0;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if ((bytes[0] & forms[i].mask) != forms[i].lead)
			continue;
		want = bytes[0] >= 0xf0 ? 4 : 3;
		if (len_bytes < want || bytes[1] < forms[i].second_min ||
			bytes[1] > forms[i].second_max || (bytes[2] & 0xc0) != 0x80)
			return 0;
		return want == 3 || (bytes[3] & 0xc0) == 0x80 ? want : 0;
	}
	return 0;
}

bool vbd_utf8_valid(const void *bytes, size_t len_bytes)
{
	const uint8_t *at = bytes;

	while (len_bytes) {
		size_t used = character_bytes(at, len_bytes);

		if (!used)
			return false;
		at += used;
		len_bytes -= used;
	}
	return true;
}

bool vbd_utf8_printable(const void *bytes, size_t len_bytes)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < len_bytes; i++) {
		if (at[i] == 0x7f ||
			(at[i] < 0x20 && at[i] != '\t' && at[i] != '\n' && at[i] != '\r'))
			return false;
		if (at[i] == 0xc2 && i + 1 < len_bytes && at[i + 1] < 0xa0)
			return false; /* C1 controls, U+0080 to U+009F */
	}
	return vbd_utf8_valid(bytes, len_bytes);
}

size_t vbd_utf8_length(const char *text)
{
	size_t length = 0;

	for (; *text; text++)
		length += ((uint8_t)*text & 0xc0) != 0x80;
	return length;
}
