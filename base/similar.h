/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words that look alike, for "did you mean ...?".
 *
 * Any thread; nothing here blocks.
 */
#ifndef VBD_BASE_SIMILAR_H
#define VBD_BASE_SIMILAR_H

#include <stddef.h>

/**
 * vbd_edits - how far is a word from a name that its author may have meant?
 *
 * Returns the number of letters to add, remove or change; 1 at most if @name begins with @word;
 * SIZE_MAX if the two are not alike: three edits or more, as many as @name has letters, or longer
 * than 63 characters.
 */
size_t vbd_edits(const char *word, const char *name);

#endif
