/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words that look alike, for "did you mean ...?".
 *
 * Any thread; nothing here blocks.
 */
#ifndef VBD_BASE_SIMILAR_H
#define VBD_BASE_SIMILAR_H

#include <stddef.h>

/* A search for the name that the author of a word may have meant. */
struct vbd_similar {
	const char *word;
	const char *like; /* the name most like the word so far; NULL: none is like it */
	size_t edits;	  /* from the word to that name */
};

/**
 * vbd_similar_try - consider another name, borrowed; NULL is fine
 *
 * Two are alike if at most two letters must be added, removed or changed, and fewer than @name has,
 * or if @name begins with the word. Names and words of more than 63 characters are like nothing.
 */
void vbd_similar_try(struct vbd_similar *similar, const char *name);

#endif
