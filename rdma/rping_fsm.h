/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rping's halves say when: one pure table for both, which do not share a state.
 *
 * Any thread.
 */
#ifndef VBD_RDMA_RPING_FSM_H
#define VBD_RDMA_RPING_FSM_H

/* X(SYMBOL, name, what it waits for) */
#define VBD_RPING_STATE_MAP(X)                                                            \
	X(WAIT_SOURCE, "wait_source", "server: where the client's bytes are")             \
	X(READING, "reading", "server: the bytes")                                        \
	X(WAIT_SINK, "wait_sink", "server: where the bytes shall go")                     \
	X(WRITING, "writing", "server: the bytes' arrival")                               \
	X(IDLE, "idle", "client: a probe")                                                \
	X(WAIT_READ, "wait_read", "client: the server's word that it has read the bytes") \
	X(WAIT_WRITTEN, "wait_written", "client: the server's word that it has written them")

enum vbd_rping_state {
#define VBD_RPING_STATE_ENUM(sym, name, text) VBD_RPING_##sym,
	VBD_RPING_STATE_MAP(VBD_RPING_STATE_ENUM)
#undef VBD_RPING_STATE_ENUM
		VBD_RPING_STATE_COUNT
};

/* X(SYMBOL, name) */
#define VBD_RPING_EVENT_MAP(X)                              \
	X(START, "start")     /* one ping more */           \
	X(MESSAGE, "message") /* the peer said something */ \
	X(MOVED, "moved")     /* our read or write is done */

enum vbd_rping_event {
#define VBD_RPING_EVENT_ENUM(sym, name) VBD_RPING_EV_##sym,
	VBD_RPING_EVENT_MAP(VBD_RPING_EVENT_ENUM)
#undef VBD_RPING_EVENT_ENUM
		VBD_RPING_EVENT_COUNT
};

/* X(SYMBOL, what it is) */
#define VBD_RPING_ACTION_MAP(X)                         \
	X(NOTHING, "-")                                 \
	X(READ, "read the client's bytes")              \
	X(WRITE, "write them back")                     \
	X(SAY_DONE, "say so")                           \
	X(SAY_SOURCE, "say where the bytes are")        \
	X(SAY_SINK, "say where they shall go")          \
	X(CHECK, "compare what came back, and time it") \
	X(REFUSE, "end the connection: this is not rping")

enum vbd_rping_action {
#define VBD_RPING_ACTION_ENUM(sym, text) VBD_RPING_##sym,
	VBD_RPING_ACTION_MAP(VBD_RPING_ACTION_ENUM)
#undef VBD_RPING_ACTION_ENUM
		VBD_RPING_ACTION_COUNT
};

struct vbd_rping_rule {
	enum vbd_rping_state next;
	enum vbd_rping_action action;
	const char *note; /* why */
};

/** vbd_rping_rule - the pure table; every pair is decided */
const struct vbd_rping_rule *vbd_rping_rule(enum vbd_rping_state state, enum vbd_rping_event event);

/* Their names, for people. */
const char *vbd_rping_state_name(enum vbd_rping_state state);
const char *vbd_rping_state_text(enum vbd_rping_state state);
const char *vbd_rping_event_name(enum vbd_rping_event event);
const char *vbd_rping_action_text(enum vbd_rping_action action);

#endif
