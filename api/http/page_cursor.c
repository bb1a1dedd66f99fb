/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `next` and `after` of lists: the sort key, and the place of the last item of the page, so that
 * the next page is found even when that item is gone. The text is base64url, because clients must
 * not read or make one.
 */
#include "api/http/page_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* Longest text inside a cursor, and its NUL. */
#define PLAIN_BYTES 232

static void encode(const char *plain, char cursor[VBD_PAGE_CURSOR_BYTES])
{
	size_t len = strlen(plain);
	size_t used = 0;

	for (size_t i = 0; i < len; i += 3) {
		size_t taken = len - i < 3 ? len - i : 3;
		uint32_t bits = 0;

		for (size_t k = 0; k < 3; k++)
			bits = bits << 8 | (k < taken ? (unsigned char)plain[i + k] : 0u);
		for (size_t k = 0; k <= taken; k++)
			cursor[used++] = letters[bits >> (18 - 6 * k) & 63];
	}
	cursor[used] = '\0';
}

/* Returns whether @cursor is base64url of a text. */
static bool decode(const char *cursor, char plain[PLAIN_BYTES])
{
	size_t used = 0;
	uint32_t bits = 0;
	unsigned int n_bits = 0;

	for (; *cursor; cursor++) {
		const char *letter = strchr(letters, *cursor);

		if (!letter || used + 1 >= PLAIN_BYTES)
			return false;
		bits = bits << 6 | (uint32_t)(letter - letters);
		n_bits += 6;
		if (n_bits < 8)
			continue;
		n_bits -= 8;
		plain[used] = (char)(bits >> n_bits & 255);
		if (!plain[used++])
			return false;
	}
	plain[used] = '\0';
	return true;
}

char *vbd_page_cursor(const struct vbd_page *page, const struct vbd_page_place *place,
	char cursor[VBD_PAGE_CURSOR_BYTES])
{
	char plain[PLAIN_BYTES];

	(void)snprintf(plain, sizeof(plain), "%s:%" PRIu64 ":%" PRIu64 ":%s", page->sort, place->id,
		place->number, place->text);
	encode(plain, cursor);
	return cursor;
}

/* Read "7:" at @at; returns what follows, NULL if there is no such number. */
static const char *read_number(const char *at, uint64_t *ret)
{
	char *end;

	if (*at < '0' || *at > '9')
		return NULL;
	*ret = strtoull(at, &end, 10);
	return *end == ':' ? end + 1 : NULL;
}

enum vbd_status vbd_page_cursor_parse(const struct vbd_page *page, const char *cursor,
	struct vbd_page_place *ret_place, struct vbd_error *err)
{
	char plain[PLAIN_BYTES];
	size_t sort_len = strlen(page->sort);
	const char *at = NULL;

	if (decode(cursor, plain) && strncmp(plain, page->sort, sort_len) == 0 &&
		plain[sort_len] == ':')
		at = read_number(plain + sort_len + 1, &ret_place->id);
	if (at)
		at = read_number(at, &ret_place->number);
	if (!at || !ret_place->id || strlen(at) >= sizeof(ret_place->text))
		return vbd_error_input(err, VBD_E_BAD_VALUE, "after",
			"after must be the `next` of a page of this list with the same sort");
	(void)snprintf(ret_place->text, sizeof(ret_place->text), "%s", at);
	return VBD_OK;
}
