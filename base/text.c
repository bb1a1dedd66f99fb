/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Accepts only the shortest form and no surrogates: the valid range of the second byte depends on
 * the first (RFC 3629, section 4). */
static bool second_byte_fits(unsigned char first, unsigned char second)
{
	switch (first) {
	case 0xe0:
		return second >= 0xa0 && second <= 0xbf;
	case 0xed:
		return second >= 0x80 && second <= 0x9f;
	case 0xf0:
		return second >= 0x90 && second <= 0xbf;
	case 0xf4:
		return second >= 0x80 && second <= 0x8f;
	default:
		return second >= 0x80 && second <= 0xbf;
	}
}

/* Length in bytes of the character of several bytes at the start of the text; 0 if no valid one
 * starts there. The NUL at the end stops every comparison. */
static size_t char_bytes(const unsigned char *c)
{
	size_t len;

	if (c[0] >= 0xc2 && c[0] <= 0xdf)
		len = 2;
	else if (c[0] >= 0xe0 && c[0] <= 0xef)
		len = 3;
	else if (c[0] >= 0xf0 && c[0] <= 0xf4)
		len = 4;
	else
		return 0;
	if (!second_byte_fits(c[0], c[1]))
		return 0;
	for (size_t i = 2; i < len; i++) {
		if (c[i] < 0x80 || c[i] > 0xbf)
			return 0;
	}
	return len;
}

static bool is_plain(unsigned char c)
{
	return c >= ' ' && c < 0x7f;
}

void vbd_text_clean(char *text)
{
	unsigned char *c = (unsigned char *)text;

	while (*c) {
		bool c1_control;
		size_t len;

		if (is_plain(*c)) {
			c++;
			continue;
		}
		len = char_bytes(c);
		c1_control = len == 2 && c[0] == 0xc2 && c[1] < 0xa0;

		if (len == 0) {
			*c++ = '?';
		} else if (c1_control) {
			*c++ = '?';
			*c++ = '?';
		} else {
			c += len;
		}
	}
}

size_t vbd_text_copy(char *to, size_t to_bytes, const char *text)
{
	size_t length = strnlen(text, to_bytes - 1);

	memcpy(to, text, length);
	to[length] = '\0';
	return length;
}

#define PATH_BEGINNING_BYTES 30
#define PATH_END_BYTES	     67

struct vbd_text_path vbd_text_path(const char *path)
{
	struct vbd_text_path shown;
	size_t length = strlen(path);

	if (length < sizeof(shown.text))
		(void)vbd_text_copy(shown.text, sizeof(shown.text), path);
	else
		(void)snprintf(shown.text, sizeof(shown.text), "%.*s...%s", PATH_BEGINNING_BYTES,
			path, path + length - PATH_END_BYTES);
	return shown;
}
