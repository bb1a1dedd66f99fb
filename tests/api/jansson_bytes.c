/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds the writer of verbsd against jansson: reads documents, one a line, as verbsd has sent them,
 * and fails for each one whose bytes differ from those that jansson prints of it.
 *
 * usage: jansson_bytes <FILE
 */
#include <jansson.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_CHARS 300

static bool is_same(const char *line, size_t len)
{
	json_error_t error;
	json_t *json = json_loadb(line, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	bool same = text && strlen(text) == len && memcmp(text, line, len) == 0;

	if (!same)
		(void)printf("     sent:    %.*s\n     jansson: %.*s\n", SHOWN_CHARS, line,
			SHOWN_CHARS, text ? text : error.text);
	free(text);
	json_decref(json);
	return same;
}

int main(void)
{
	unsigned long count = 0, different = 0;
	char *line = NULL;
	size_t room = 0;
	ssize_t len;

	while ((len = getline(&line, &room, stdin)) > 0) {
		count++;
		len -= line[len - 1] == '\n';
		different += !is_same(line, (size_t)len);
	}
	free(line);
	if (different || !count)
		(void)printf("     %lu of %lu documents differ\n", different, count);
	return different || !count;
}
