/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol of rping: one pure table for both halves, which do not share a state.
 *
 * Any thread.
 */
#ifndef VBD_RDMA_DATA_RPING_FSM_H
#define VBD_RDMA_DATA_RPING_FSM_H

#include "base/enum.h"

/* X(SYMBOL, name, what it waits for) */
#define VBD_RPING_STATE_MAP(X)                                                          \
	X(VBD_RPING_WAIT_SOURCE, "wait_source", "server: where the client's bytes are") \
	X(VBD_RPING_READING, "reading", "server: the bytes")                            \
	X(VBD_RPING_WAIT_SINK, "wait_sink", "server: where the bytes shall go")         \
	X(VBD_RPING_WRITING, "writing", "server: the bytes' arrival")                   \
	X(VBD_RPING_IDLE, "idle", "client: a probe")                                    \
	X(VBD_RPING_WAIT_READ, "wait_read",                                             \
		"client: the server's word that it has read the bytes")                 \
	X(VBD_RPING_WAIT_WRITTEN, "wait_written",                                       \
		"client: the server's word that it has written them")

enum vbd_rping_state { VBD_RPING_STATE_MAP(VBD_ENUM_ROW) VBD_RPING_STATE_COUNT };

/* X(SYMBOL, name) */
#define VBD_RPING_EVENT_MAP(X)                                           \
	X(VBD_RPING_EV_START, "start")	   /* begin a ping */            \
	X(VBD_RPING_EV_MESSAGE, "message") /* the peer sent a message */ \
	X(VBD_RPING_EV_MOVED, "moved")	   /* our read or write is done */

enum vbd_rping_event { VBD_RPING_EVENT_MAP(VBD_ENUM_ROW) VBD_RPING_EVENT_COUNT };

/* X(SYMBOL, text) */
#define VBD_RPING_ACTION_MAP(X)                                   \
	X(VBD_RPING_NOTHING, "-")                                 \
	X(VBD_RPING_READ, "read the client's bytes")              \
	X(VBD_RPING_WRITE, "write them back")                     \
	X(VBD_RPING_SAY_DONE, "say so")                           \
	X(VBD_RPING_SAY_SOURCE, "say where the bytes are")        \
	X(VBD_RPING_SAY_SINK, "say where they shall go")          \
	X(VBD_RPING_CHECK, "compare what came back, and time it") \
	X(VBD_RPING_REFUSE, "end the connection: this is not rping")

enum vbd_rping_action { VBD_RPING_ACTION_MAP(VBD_ENUM_ROW) VBD_RPING_ACTION_COUNT };

struct vbd_rping_rule {
	enum vbd_rping_state next;
	enum vbd_rping_action action;
	const char *note; /* why */
};

/** vbd_rping_rule - the pure table; every pair is decided */
const struct vbd_rping_rule *vbd_rping_rule(enum vbd_rping_state state, enum vbd_rping_event event);

#endif
