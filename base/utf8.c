/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

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

/* U+0080 to U+009F are controls; U+061C, U+200E, U+200F, U+202A to U+202E and U+2066 to U+2069 set
 * the direction of writing; U+2028 and U+2029 end a line. */
static bool is_hidden(const uint8_t *at, size_t used)
{
	if (used == 2)
		return (at[0] == 0xc2 && at[1] < 0xa0) || (at[0] == 0xd8 && at[1] == 0x9c);
	if (used != 3 || at[0] != 0xe2)
		return false;
	if (at[1] == 0x80)
		return at[2] == 0x8e || at[2] == 0x8f || (at[2] >= 0xa8 && at[2] <= 0xae);
	return at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9;
}

static bool is_shown(const void *bytes, size_t len_bytes, const char *spaces)
{
	const uint8_t *at = bytes;

	while (len_bytes) {
		size_t used = character_bytes(at, len_bytes);

		if (!used || is_hidden(at, used) || at[0] == 0x7f ||
			(at[0] < 0x20 && (!at[0] || !strchr(spaces, at[0]))))
			return false;
		at += used;
		len_bytes -= used;
	}
	return true;
}

bool vbd_utf8_printable(const void *bytes, size_t len_bytes)
{
	return is_shown(bytes, len_bytes, "\t\n\r");
}

bool vbd_utf8_line(const void *bytes, size_t len_bytes)
{
	return is_shown(bytes, len_bytes, "");
}

size_t vbd_utf8_length(const char *text)
{
	size_t length = 0;

	for (; *text; text++)
		length += ((uint8_t)*text & 0xc0) != 0x80;
	return length;
}
