/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clues: what the facts of a connection say about the cause of its incident, as yes or no.
 *
 * Any thread; pure.
 */
#ifndef VBD_RDMA_DIAGNOSE_CLUE_H
#define VBD_RDMA_DIAGNOSE_CLUE_H

#include "rdma/diagnose/clue_rows.h"

struct vbd_facts;

enum vbd_clue {
#define VBD_CLUE_ENUM(sym, text) VBD_CLUE_##sym,
	VBD_CLUE_MAP(VBD_CLUE_ENUM)
#undef VBD_CLUE_ENUM
		VBD_CLUE_COUNT
};

/* A set of clues: VBD_CLUE_BIT() of each. */
__extension__ typedef unsigned __int128 vbd_clue_set;

#define VBD_CLUE_BIT(clue) ((vbd_clue_set)1 << (clue))

_Static_assert(VBD_CLUE_COUNT <= 128, "clues are the bits of a vbd_clue_set");

/** vbd_clues_find - the clues in @facts */
vbd_clue_set vbd_clues_find(const struct vbd_facts *facts);

/** vbd_clue_text - the text of a clue, with placeholders (rdma/diagnose/words.h) */
const char *vbd_clue_text(enum vbd_clue clue);

#endif
