/* SPDX-License-Identifier: Apache-2.0 */
#include "base/similar.h"

#include "base/attr.h"

#define EDITS_MAX 2

/* The edit distance of Levenshtein, with one row of the matrix in memory. */
static size_t distance(const char *a, const char *b, size_t b_len, size_t *row)
{
	for (size_t j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t corner = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t best = corner + (a[i - 1] != b[j - 1]);

			corner = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[b_len];
}

/* SIZE_MAX: not alike. */
static size_t edits_between(const char *word, const char *name)
{
	size_t row[64];
	size_t word_len = strlen(word);
	size_t name_len = strlen(name);
	size_t edits;

	if (word_len >= VBD_ARRAY_LEN(row) || name_len >= VBD_ARRAY_LEN(row))
		return SIZE_MAX;
	edits = distance(word, name, name_len, row);
	if (edits > 1 && strncmp(name, word, word_len) == 0)
		edits = 1;
	return edits > EDITS_MAX || edits >= name_len ? SIZE_MAX : edits;
}

void vbd_similar_try(struct vbd_similar *similar, const char *name)
{
	size_t edits = name ? edits_between(similar->word, name) : SIZE_MAX;

	if (edits == SIZE_MAX || (similar->like && edits >= similar->edits))
		return;
	similar->like = name;
	similar->edits = edits;
}
