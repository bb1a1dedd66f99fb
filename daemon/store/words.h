/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of columns: a pool in which each stays once until the pool is freed, since events keep
 * pointers to names, and those of earlier runs come out of a database; and pairs,
 * "state=closed,code=timed_out". No key has '=', and no value ','.
 *
 * One thread at a time; never blocks.
 */
#ifndef VBD_DAEMON_STORE_WORDS_H
#define VBD_DAEMON_STORE_WORDS_H

#include "daemon/core/labels.h"

struct vbd_words;

/** vbd_words_create - an empty pool; NULL without memory */
struct vbd_words *vbd_words_create(void);

/** vbd_words_free - free it with its texts; NULL is fine */
void vbd_words_free(struct vbd_words *words);

/** vbd_words_get - the pool's copy of @text; NULL without memory */
const char *vbd_words_get(struct vbd_words *words, const char *text);

/* As many pairs as an object may have labels, and a NUL. */
#define VBD_PAIRS_BYTES (VBD_LABELS_MAX * 2 * VBD_LABEL_BYTES)

/** vbd_pairs_add - append a pair */
void vbd_pairs_add(char pairs[VBD_PAIRS_BYTES], const char *key, const char *value);

/** vbd_pairs_next - copy the first pair; returns the text behind it, and NULL if there is none */
const char *vbd_pairs_next(
	const char *pairs, char key[VBD_LABEL_BYTES], char value[VBD_LABEL_BYTES]);

/** vbd_pairs_of_labels - the pairs of a set of labels; "" for NULL */
void vbd_pairs_of_labels(const struct vbd_labels *labels, char pairs[VBD_PAIRS_BYTES]);

/** vbd_pairs_to_labels - a new set of labels; NULL for none, and without memory */
struct vbd_labels *vbd_pairs_to_labels(const char *pairs);

#endif
