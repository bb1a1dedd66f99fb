/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/tables.h"

#include "daemon/core/registry.h" /* uthash, set up for the project */

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

/* --- pairs ----------------------------------------------------------------------------------- */

void vbd_pairs_add(char pairs[VBD_PAIRS_BYTES], const char *key, const char *value)
{
	size_t len = strlen(pairs);

	(void)snprintf(pairs + len, VBD_PAIRS_BYTES - len, "%s%s=%s", len ? "," : "", key, value);
}

const char *vbd_pairs_next(
	const char *pairs, char key[VBD_LABEL_BYTES], char value[VBD_LABEL_BYTES])
{
	size_t key_len = strcspn(pairs, "=");
	size_t value_len;

	if (!pairs[key_len])
		return NULL;
	(void)snprintf(key, VBD_LABEL_BYTES, "%.*s", (int)key_len, pairs);
	pairs += key_len + 1;
	value_len = strcspn(pairs, ",");
	(void)snprintf(value, VBD_LABEL_BYTES, "%.*s", (int)value_len, pairs);
	pairs += value_len;
	return *pairs ? pairs + 1 : pairs;
}

void vbd_pairs_of_labels(const struct vbd_labels *labels, char pairs[VBD_PAIRS_BYTES])
{
	pairs[0] = '\0';
	for (size_t i = 0; labels && i < labels->count; i++)
		vbd_pairs_add(pairs, labels->items[i].key, labels->items[i].value);
}

struct vbd_labels *vbd_pairs_to_labels(const char *pairs)
{
	char key[VBD_LABEL_BYTES], value[VBD_LABEL_BYTES];
	struct vbd_labels *labels = pairs[0] ? vbd_labels_create(VBD_LABELS_MAX) : NULL;

	if (!labels)
		return NULL;
	while (labels->count < VBD_LABELS_MAX && (pairs = vbd_pairs_next(pairs, key, value)))
		vbd_labels_add(labels, key, value);
	return labels;
}
