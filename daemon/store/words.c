/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/words.h"

#include "daemon/core/registry.h" /* uthash, set up for the project */

#include <stdlib.h>
#include <string.h>

struct word {
	UT_hash_handle hh;
	char text[];
};

struct vbd_words {
	struct word *all;
};

struct vbd_words *vbd_words_create(void)
{
	return calloc(1, sizeof(struct vbd_words));
}

void vbd_words_free(struct vbd_words *words)
{
	struct word *next;

	if (!words)
		return;
	for (struct word *word = words->all; word; word = next) {
		next = word->hh.next;
		HASH_DEL(words->all, word);
		free(word);
	}
	free(words);
}

static struct word *find(const struct vbd_words *words, const char *text)
{
	struct word *word;

	HASH_FIND_STR(words->all, text, word);
	return word;
}

const char *vbd_words_get(struct vbd_words *words, const char *text)
{
	struct word *word = find(words, text);
	size_t len = strlen(text);

	if (word)
		return word->text;
	word = calloc(1, sizeof(*word) + len + 1);
	if (!word)
		return NULL;
	memcpy(word->text, text, len + 1);
	HASH_ADD_KEYPTR(hh, words->all, word->text, len, word);
	if (word->hh.tbl)
		return word->text;
	free(word);
	return NULL;
}
