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

/* Characters that show nothing, and let a text look like another one: controls, ends of a line, the
 * general category Cf but for signs that are seen, and Default_Ignorable_Code_Point (Unicode 15,
 * DerivedCoreProperties.txt). */
static const struct hidden {
	uint32_t first, last;
	bool in_texts; /* refused in longer texts as well: it turns them around, or cuts them */
} hidden[] = {
	{0x80, 0x9f, true},
	{0xad, 0xad, false},
	{0x34f, 0x34f, false},
	{0x61c, 0x61c, true},
	{0x115f, 0x1160, false},
	{0x17b4, 0x17b5, false},
	{0x180b, 0x180f, false},
	{0x200b, 0x200d, false},
	{0x200e, 0x200f, true},
	{0x2028, 0x202e, true},
	{0x2060, 0x2065, false},
	{0x2066, 0x2069, true},
	{0x206a, 0x206f, false},
	{0x2800, 0x2800, false}, /* a Braille pattern without dots */
	{0x3164, 0x3164, false},
	{0xfe00, 0xfe0f, false},
	{0xfeff, 0xfeff, false},
	{0xffa0, 0xffa0, false},
	{0xfff0, 0xfffb, false},
	{0x1bca0, 0x1bca3, false},
	{0x1d173, 0x1d17a, false},
	{0xe0000, 0xe0fff, false},
};

static const struct hidden *find_hidden(const uint8_t *at, size_t used)
{
	uint32_t code = at[0] & 0xffU >> (used + 1);

	for (size_t i = 1; i < used; i++)
		code = code << 6 | (at[i] & 0x3fU);
	for (size_t i = 0; used > 1 && i < sizeof(hidden) / sizeof(hidden[0]); i++) {
		if (code >= hidden[i].first && code <= hidden[i].last)
			return &hidden[i];
	}
	return NULL;
}

static bool is_shown(const void *bytes, size_t len_bytes, const char *spaces)
{
	const uint8_t *at = bytes;

	while (len_bytes) {
		size_t used = character_bytes(at, len_bytes);
		const struct hidden *found = used ? find_hidden(at, used) : NULL;

		if (!used || (found && (found->in_texts || !*spaces)) || at[0] == 0x7f ||
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
