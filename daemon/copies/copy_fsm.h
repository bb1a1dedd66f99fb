/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of one end of a copy as one pure table: (state, event) -> (next state, action, why).
 * Every pair is decided. The client is the daemon that was asked for the copy and connects; the
 * server has the listener. Sender and receiver are the roles after START: a client that pushes
 * sends, and one that pulls receives. A client begins in CONNECTING, a server in AWAIT_HELLO.
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
	/* this end checks the proof and makes its window; the peer waits for it */                \
	X(VBD_COPY_PREPARING, "preparing", false)                                                  \
	X(VBD_COPY_AWAIT_START, "await_start", false) /* server */                                 \
	X(VBD_COPY_SENDING, "sending", false)                                                      \
	X(VBD_COPY_RECEIVING, "receiving", false)                                                  \
	X(VBD_COPY_FINISHING, "finishing", false)   /* the sender awaits END_OK */                 \
	X(VBD_COPY_CONFIRMING, "confirming", false) /* END_OK is on its way to the sender */       \
	/* In these three, jobs of the pool or the device may still use the memory of the copy. */ \
	X(VBD_COPY_CLOSING, "closing", false)	/* everything is in its place */                   \
	X(VBD_COPY_STOPPING, "stopping", false) /* the copy has failed */                          \
	X(VBD_COPY_CANCELLING, "cancelling", false)                                                \
	X(VBD_COPY_DONE, "done", true)                                                             \
	X(VBD_COPY_FAILED, "failed", true)                                                         \
	X(VBD_COPY_CANCELLED, "cancelled", true)

enum vbd_copy_state { VBD_COPY_STATE_MAP(VBD_ENUM_ROW) VBD_COPY_STATE_COUNT };

/* X(SYMBOL, name): first the messages of the peer, in the order of their types; the rest is raised
 * by this end only, so no message can pretend to be one of them. */
#define VBD_COPY_EVENT_MAP(X)                                                                     \
	X(VBD_COPY_EV_HELLO, "hello")                                                             \
	X(VBD_COPY_EV_CHALLENGE, "challenge")                                                     \
	X(VBD_COPY_EV_PROOF, "proof")                                                             \
	X(VBD_COPY_EV_READY, "ready")                                                             \
	X(VBD_COPY_EV_START, "start")                                                             \
	X(VBD_COPY_EV_ENTRIES, "entries")                                                         \
	X(VBD_COPY_EV_WANT, "want")                                                               \
	X(VBD_COPY_EV_FREE, "free")                                                               \
	X(VBD_COPY_EV_SUM, "sum")                                                                 \
	X(VBD_COPY_EV_DROPPED, "dropped")                                                         \
	X(VBD_COPY_EV_FILES_DONE, "files_done") /* message DONE */                                \
	X(VBD_COPY_EV_END, "end")                                                                 \
	X(VBD_COPY_EV_END_OK, "end_ok")                                                           \
	X(VBD_COPY_EV_BYE, "bye")                                                                 \
	X(VBD_COPY_EV_SLOT_CAME, "slot_came") /* an RDMA write with immediate */                  \
	X(VBD_COPY_EV_ESTABLISHED, "established")                                                 \
	X(VBD_COPY_EV_PREPARED, "prepared") /* server: proof and window are fine */               \
	/* client: START has been sent; server: the START that came is fine */                    \
	X(VBD_COPY_EV_START_SENDS, "start_sends") /* this end is the sender */                    \
	X(VBD_COPY_EV_START_RECEIVES, "start_receives")                                           \
	/* sender: every entry is done; receiver: the peer has END_OK (its send has completed) */ \
	X(VBD_COPY_EV_ALL_DONE, "all_done")                                                       \
	X(VBD_COPY_EV_FAIL, "fail")	/* this end gives up: error, deadline, bad message */     \
	X(VBD_COPY_EV_CANCEL, "cancel") /* a client wants the end */                              \
	X(VBD_COPY_EV_DISCONNECTED, "disconnected") /* the connection has ended */                \
	X(VBD_COPY_EV_IDLE, "idle")		    /* nothing uses the memory any more */

enum vbd_copy_event { VBD_COPY_EVENT_MAP(VBD_ENUM_ROW) VBD_COPY_EVENT_COUNT };

/* X(SYMBOL, name): what the owner does after the state is set */
#define VBD_COPY_ACTION_MAP(X)                                                                    \
	X(VBD_COPY_ACT_NONE, "none")                                                              \
	X(VBD_COPY_ACT_SEND_HELLO, "send_hello")                                                  \
	X(VBD_COPY_ACT_ANSWER_HELLO, "answer_hello") /* find the export; CHALLENGE */             \
	X(VBD_COPY_ACT_PROVE, "prove")		     /* PROOF */                                  \
	/* check the client's proof; make a window if this end receives; then PREPARED */         \
	X(VBD_COPY_ACT_CHECK_PROOF, "check_proof")                                                \
	X(VBD_COPY_ACT_SEND_READY, "send_ready")                                                  \
	/* check the server's proof and window; make one if this end receives; send START; then   \
	 * START_SENDS or START_RECEIVES */                                                       \
	X(VBD_COPY_ACT_CHECK_READY, "check_ready")                                                \
	/* check the client's window; then START_SENDS or START_RECEIVES, at once */              \
	X(VBD_COPY_ACT_CHECK_START, "check_start")                                                \
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
	/* are all entries done, and the numbers those of this end? END_OK, else FAIL, at once */ \
	X(VBD_COPY_ACT_CHECK_END, "check_end")                                                    \
	X(VBD_COPY_ACT_SEND_BYE, "send_bye") /* if there is a connection; and stop */             \
	/* begin no more work, close the connection; IDLE when the last work has ended */         \
	X(VBD_COPY_ACT_STOP, "stop")

enum vbd_copy_action { VBD_COPY_ACTION_MAP(VBD_ENUM_ROW) VBD_COPY_ACTION_COUNT };

/** vbd_copy_rule - the pure table: the effect of @event in @state. A message that the state does
 * not expect leads to STOPPING by SEND_BYE: the peer broke the protocol. */
const struct vbd_rule *vbd_copy_rule(enum vbd_copy_state state, enum vbd_copy_event event);

/** vbd_copy_event_of - the event of a message of @type, which is not NONE */
enum vbd_copy_event vbd_copy_event_of(enum vbd_copy_message_type type);

const char *vbd_copy_state_name(enum vbd_copy_state state);
bool vbd_copy_state_ended(enum vbd_copy_state state);
const char *vbd_copy_event_name(enum vbd_copy_event event);
const char *vbd_copy_action_name(enum vbd_copy_action action);

#endif
