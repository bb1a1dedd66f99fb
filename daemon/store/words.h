/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool of texts that stay until the pool is freed, each of them once: events keep pointers to
 * names, and those of earlier runs come out of a database.
 *
 * One thread at a time; never blocks.
 */
#ifndef VBD_DAEMON_STORE_WORDS_H
#define VBD_DAEMON_STORE_WORDS_H

#include "base/attr.h"

struct vbd_words;

/** vbd_words_create - an empty pool; NULL without memory */
struct vbd_words *vbd_words_create(void);

/** vbd_words_free - free it with its texts; NULL is fine */
void vbd_words_free(struct vbd_words *words);

/** vbd_words_get - the pool's copy of @text; NULL without memory */
const char *vbd_words_get(struct vbd_words *words, const char *text);

#endif
