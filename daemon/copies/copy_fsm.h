/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of one end of a copy as one pure table: (state, event) -> (next state, action, why).
 * Every pair is decided. The client is the daemon that was asked for the copy and connects; the
 * server has the listener. Sender and receiver are the roles after START: a client that pushes
 * sends, and one that pulls receives.
 *
 * Any thread.
 */
#ifndef VBD_DAEMON_COPIES_COPY_FSM_H
#define VBD_DAEMON_COPIES_COPY_FSM_H

#include "daemon/copies/copy_wire.h"

/* X(SYMBOL, json name, ended) */
#define VBD_COPY_STATE_MAP(X)                                                                      \
	X(VBD_COPY_CONNECTING, "connecting", false)	      /* client: no connection yet */      \
	X(VBD_COPY_AWAIT_HELLO, "await_hello", false)	      /* server */                         \
	X(VBD_COPY_AWAIT_CHALLENGE, "await_challenge", false) /* client */                         \
	X(VBD_COPY_AWAIT_PROOF, "await_proof", false)	      /* server */                         \
	X(VBD_COPY_AWAIT_READY, "await_ready", false)	      /* client */                         \
	X(VBD_COPY_AWAIT_START, "await_start", false)	      /* server */                         \
	X(VBD_COPY_SENDING, "sending", false)                                                      \
	X(VBD_COPY_RECEIVING, "receiving", false)                                                  \
	X(VBD_COPY_FINISHING, "finishing", false) /* the sender awaits END_OK */                   \
	/* The copy has failed or was cancelled; jobs of the pool or the device use its memory. */ \
	X(VBD_COPY_STOPPING, "stopping", false)                                                    \
	X(VBD_COPY_DONE, "done", true)                                                             \
	X(VBD_COPY_FAILED, "failed", true)                                                         \
	X(VBD_COPY_CANCELLED, "cancelled", true)

enum vbd_copy_state { VBD_COPY_STATE_MAP(VBD_ENUM_ROW) VBD_COPY_STATE_COUNT };

/* X(SYMBOL, name): each message of the peer is an event, and these are the others. A slot that was
 * written is SLOT_CAME. */
#define VBD_COPY_EVENT_MAP(X)                                                                     \
	X(VBD_COPY_EV_ESTABLISHED, "established")                                                 \
	X(VBD_COPY_EV_HELLO, "hello")                                                             \
	X(VBD_COPY_EV_CHALLENGE, "challenge")                                                     \
	X(VBD_COPY_EV_PROOF, "proof")                                                             \
	X(VBD_COPY_EV_READY, "ready")                                                             \
	X(VBD_COPY_EV_START_SENDS, "start_sends") /* START; this server is the sender */          \
	X(VBD_COPY_EV_START_RECEIVES, "start_receives")                                           \
	X(VBD_COPY_EV_ENTRIES, "entries")                                                         \
	X(VBD_COPY_EV_WANT, "want")                                                               \
	X(VBD_COPY_EV_FREE, "free")                                                               \
	X(VBD_COPY_EV_SUM, "sum")                                                                 \
	X(VBD_COPY_EV_DROPPED, "dropped")                                                         \
	X(VBD_COPY_EV_SLOT_CAME, "slot_came")                                                     \
	X(VBD_COPY_EV_FILES_DONE, "files_done") /* message DONE */                                \
	X(VBD_COPY_EV_END, "end")                                                                 \
	X(VBD_COPY_EV_END_OK, "end_ok")                                                           \
	X(VBD_COPY_EV_BYE, "bye")                                                                 \
	X(VBD_COPY_EV_ALL_DONE, "all_done") /* sender: every entry is done */                     \
	X(VBD_COPY_EV_FAIL, "fail")	    /* this end gives up: error, deadline, bad message */ \
	X(VBD_COPY_EV_CANCEL, "cancel")	    /* a client wants the end */                          \
	X(VBD_COPY_EV_DISCONNECTED, "disconnected") /* the connection has ended */                \
	X(VBD_COPY_EV_IDLE, "idle")		    /* nothing uses the memory any more */

enum vbd_copy_event { VBD_COPY_EVENT_MAP(VBD_ENUM_ROW) VBD_COPY_EVENT_COUNT };

/* X(SYMBOL, name): what the owner does on entry of the next state */
#define VBD_COPY_ACTION_MAP(X)                                                                    \
	X(VBD_COPY_ACT_NONE, "none")                                                              \
	X(VBD_COPY_ACT_SEND_HELLO, "send_hello")                                                  \
	X(VBD_COPY_ACT_ANSWER_HELLO, "answer_hello") /* find the export; CHALLENGE */             \
	X(VBD_COPY_ACT_PROVE, "prove")		     /* PROOF */                                  \
	X(VBD_COPY_ACT_CHECK_PROOF, "check_proof") /* then READY, with a window if it receives */ \
	X(VBD_COPY_ACT_CHECK_READY, "check_ready") /* the server's proof; then START */           \
	X(VBD_COPY_ACT_BEGIN_SENDING, "begin_sending")                                            \
	X(VBD_COPY_ACT_BEGIN_RECEIVING, "begin_receiving")                                        \
	X(VBD_COPY_ACT_TAKE_ENTRIES, "take_entries")                                              \
	X(VBD_COPY_ACT_TAKE_WANT, "take_want")                                                    \
	X(VBD_COPY_ACT_TAKE_FREE, "take_free")                                                    \
	X(VBD_COPY_ACT_TAKE_SUM, "take_sum")                                                      \
	X(VBD_COPY_ACT_TAKE_DROPPED, "take_dropped")                                              \
	X(VBD_COPY_ACT_TAKE_SLOT, "take_slot")                                                    \
	X(VBD_COPY_ACT_TAKE_DONE, "take_done")                                                    \
	X(VBD_COPY_ACT_SEND_END, "send_end")                                                      \
	X(VBD_COPY_ACT_CHECK_END, "check_end") /* all in place? then END_OK */                    \
	X(VBD_COPY_ACT_SEND_BYE, "send_bye")   /* and stop */                                     \
	X(VBD_COPY_ACT_STOP, "stop")	       /* begin no more work; close the connection */

enum vbd_copy_action { VBD_COPY_ACTION_MAP(VBD_ENUM_ROW) VBD_COPY_ACTION_COUNT };

struct vbd_copy_rule {
	enum vbd_copy_state next;
	enum vbd_copy_action action;
	const char *note; /* why */
};

/** vbd_copy_rule - the pure table: the effect of @event in @state. A message that the state does
 * not expect leads to STOPPING by SEND_BYE: the peer broke the protocol. */
const struct vbd_copy_rule *vbd_copy_rule(enum vbd_copy_state state, enum vbd_copy_event event);

/** vbd_copy_event_of - the event of a message; @sends: this end is the sender, for START */
enum vbd_copy_event vbd_copy_event_of(enum vbd_copy_message_type type, bool sends);

const char *vbd_copy_state_name(enum vbd_copy_state state);
bool vbd_copy_state_ended(enum vbd_copy_state state);
const char *vbd_copy_event_name(enum vbd_copy_event event);
const char *vbd_copy_action_name(enum vbd_copy_action action);

#endif
