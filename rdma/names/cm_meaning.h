/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CM events that mean something else than they say, by the state of the connection. The error
 * of a connection, the cause in `explain` (rdma/diagnose/cause_rows.h) and docs/why.md
 * (rdma/diagnose/why_rows.h) have their words from here.
 *
 * Any thread; pure.
 */
#ifndef VBD_RDMA_NAMES_CM_MEANING_H
#define VBD_RDMA_NAMES_CM_MEANING_H

#include "base/enum.h"

#include <stdbool.h>
#include <stdint.h>

/* clang-format off */
/* Clauses that follow the name of the peer, and hints. */
#define VBD_TEXT_ADDRESS_TAKEN(hwaddr) \
	" has another hardware address now" hwaddr ": another host has taken its address, or its interface was replaced"
#define VBD_HINT_ADDRESS_TAKEN \
	"Compare the hardware address with that of the peer (`ip link` there); if it is another host's, take the address from that. Then connect again."
#define VBD_TEXT_NOT_CONFIRMED \
	" asked for the connection, was accepted, and did not confirm: its program has ended, or the answer from here does not reach it"
#define VBD_HINT_NOT_CONFIRMED \
	"See the peer's end of the connection; if it still waits for the answer, UDP 4791 must pass both ways."

/* X(SYMBOL, clause, hint) */
#define VBD_CM_MEANING_MAP(X) \
	X(VBD_CM_ADDRESS_TAKEN, VBD_TEXT_ADDRESS_TAKEN(""), VBD_HINT_ADDRESS_TAKEN) \
	X(VBD_CM_NOT_CONFIRMED, VBD_TEXT_NOT_CONFIRMED, VBD_HINT_NOT_CONFIRMED)
/* clang-format on */

enum vbd_cm_meaning { VBD_CM_MEANING_MAP(VBD_ENUM_ROW) VBD_CM_MEANING_COUNT, VBD_CM_AS_IT_SAYS };

/**
 * vbd_cm_meaning - the meaning of a CM event
 * @type:        enum rdma_cm_event_type
 * @status:      of the event
 * @established: the connection was established
 * @passive:     the peer asked for it
 */
enum vbd_cm_meaning vbd_cm_meaning(int type, int64_t status, bool established, bool passive);

/** vbd_cm_meaning_text - a clause that follows the name of the peer */
const char *vbd_cm_meaning_text(enum vbd_cm_meaning meaning);

/** vbd_cm_meaning_hint - a sentence: the remedy */
const char *vbd_cm_meaning_hint(enum vbd_cm_meaning meaning);

#endif
