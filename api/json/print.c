/* SPDX-License-Identifier: Apache-2.0 */
#include "api/json/print.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The bytes of a text that grows; no more are taken once one part was lost. */
struct text {
	char *bytes;
	size_t len, room;
	bool failed;
};

static int append(const char *bytes, size_t len, void *arg)
{
	struct text *text = arg;

	if (text->len + len >= text->room && !text->failed) {
		size_t room = 2 * (text->len + len) + 256;
		char *grown = realloc(text->bytes, room);

		text->failed = !grown;
		text->bytes = grown ? grown : text->bytes;
		text->room = grown ? room : text->room;
	}
	if (text->failed)
		return -1;
	memcpy(text->bytes + text->len, bytes, len);
	text->len += len;
	return 0;
}

char *vbd_json_print(const json_t *json, size_t *ret_len)
{
	struct text text = {0};

	if (json_dump_callback(json, append, &text, JSON_COMPACT) != 0 || text.failed) {
		free(text.bytes);
		return NULL;
	}
	text.bytes[text.len] = '\0';
	if (ret_len)
		*ret_len = text.len;
	return text.bytes;
}

char *vbd_json_document(const json_t *json, size_t *ret_bytes)
{
	char *text = json ? vbd_json_print(json, ret_bytes) : NULL;

	if (text)
		text[(*ret_bytes)++] = '\n';
	return text;
}
