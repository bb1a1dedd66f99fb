/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/copies/copy_fsm.h"

#include <assert.h>

#define ON(event, next, action, note) \
	[VBD_COPY_EV_##event] = {VBD_COPY_##next, VBD_COPY_ACT_##action, note}

/* The rule of a state for all events without a row. */
#define OTHERWISE(next, action, note) \
	[VBD_COPY_EVENT_COUNT] = {VBD_COPY_##next, VBD_COPY_ACT_##action, note}

/* clang-format off */
/* An event that this end raises itself. */
#define UNUSED(event, state) ON(event, state, NONE, "this state does not wait for it")

/* The copy is under way. Messages that the state does not expect have no row. */
#define UNDER_WAY(state) \
	ON(BYE, STOPPING, STOP, "the peer gave up and says why"), \
	ON(FAIL, STOPPING, SEND_BYE, "this end gives up and says why"), \
	ON(CANCEL, CANCELLING, SEND_BYE, "a client cancelled the copy"), \
	UNUSED(IDLE, state), \
	OTHERWISE(STOPPING, SEND_BYE, "the state does not expect this message: the peer broke the protocol")

/* A message may be faster than the report of the connection. */
#define CONNECTED(state) UNUSED(ESTABLISHED, state)

#define CONNECTION_NEEDED \
	ON(DISCONNECTED, STOPPING, STOP, "there is no copy without a connection")

#define NOTHING_PREPARED(state) \
	UNUSED(PREPARED, state), \
	UNUSED(START_SENDS, state), \
	UNUSED(START_RECEIVES, state)

/* The two ends are not agreed yet. */
#define AGREEING(state) \
	UNDER_WAY(state), \
	CONNECTION_NEEDED, \
	UNUSED(ALL_DONE, state)

static const struct vbd_rule rules[VBD_COPY_STATE_COUNT][VBD_COPY_EVENT_COUNT + 1] = {
	[VBD_COPY_CONNECTING] = {
		AGREEING(CONNECTING),
		NOTHING_PREPARED(CONNECTING),
		ON(ESTABLISHED, AWAIT_CHALLENGE, SEND_HELLO, "the client speaks first"),
	},
	[VBD_COPY_AWAIT_HELLO] = {
		AGREEING(AWAIT_HELLO),
		CONNECTED(AWAIT_HELLO),
		NOTHING_PREPARED(AWAIT_HELLO),
		ON(HELLO, AWAIT_PROOF, ANSWER_HELLO, "the client says what it wants"),
	},
	[VBD_COPY_AWAIT_CHALLENGE] = {
		AGREEING(AWAIT_CHALLENGE),
		CONNECTED(AWAIT_CHALLENGE),
		NOTHING_PREPARED(AWAIT_CHALLENGE),
		ON(CHALLENGE, AWAIT_READY, PROVE, "the nonce of the server is known"),
	},
	[VBD_COPY_AWAIT_PROOF] = {
		AGREEING(AWAIT_PROOF),
		CONNECTED(AWAIT_PROOF),
		NOTHING_PREPARED(AWAIT_PROOF),
		ON(PROOF, PREPARING, CHECK_PROOF, "no memory is spent on a client before its proof"),
	},
	[VBD_COPY_AWAIT_READY] = {
		AGREEING(AWAIT_READY),
		CONNECTED(AWAIT_READY),
		NOTHING_PREPARED(AWAIT_READY),
		ON(READY, PREPARING, CHECK_READY, "the server proves that it knows the secret, too"),
	},
	[VBD_COPY_PREPARING] = {
		AGREEING(PREPARING),
		CONNECTED(PREPARING),
		ON(PREPARED, AWAIT_START, SEND_READY, "the client may begin"),
		ON(START_SENDS, SENDING, BEGIN_SENDING, "both ends are ready"),
		ON(START_RECEIVES, RECEIVING, BEGIN_RECEIVING, "both ends are ready"),
	},
	[VBD_COPY_AWAIT_START] = {
		AGREEING(AWAIT_START),
		CONNECTED(AWAIT_START),
		NOTHING_PREPARED(AWAIT_START),
		ON(START, PREPARING, CHECK_START, "the client is ready"),
	},
	[VBD_COPY_SENDING] = {
		UNDER_WAY(SENDING),
		CONNECTED(SENDING),
		CONNECTION_NEEDED,
		NOTHING_PREPARED(SENDING),
		ON(WANT, SENDING, TAKE_WANT, "the receiver chooses among the entries"),
		ON(FREE, SENDING, TAKE_FREE, "slots can be written again"),
		ON(FILES_DONE, SENDING, TAKE_DONE, "the receiver tells what became of files"),
		ON(ALL_DONE, FINISHING, SEND_END, "the receiver has told about every entry"),
	},
	[VBD_COPY_RECEIVING] = {
		UNDER_WAY(RECEIVING),
		CONNECTED(RECEIVING),
		CONNECTION_NEEDED,
		NOTHING_PREPARED(RECEIVING),
		UNUSED(ALL_DONE, RECEIVING),
		ON(ENTRIES, RECEIVING, TAKE_ENTRIES, "the sender tells what there is"),
		ON(SUM, RECEIVING, TAKE_SUM, "the digest of a file that is about to be complete"),
		ON(DROPPED, RECEIVING, TAKE_DROPPED, "a file can't be read any further"),
		ON(SLOT_CAME, RECEIVING, TAKE_SLOT, "a slot is full"),
		ON(END, CONFIRMING, CHECK_END, "the sender has nothing more"),
	},
	[VBD_COPY_FINISHING] = {
		UNDER_WAY(FINISHING),
		CONNECTED(FINISHING),
		CONNECTION_NEEDED,
		NOTHING_PREPARED(FINISHING),
		UNUSED(ALL_DONE, FINISHING),
		ON(FREE, FINISHING, TAKE_FREE, "the last slots may be given back after their files are done"),
		ON(END_OK, CLOSING, STOP, "both ends know that everything is in its place"),
	},
	[VBD_COPY_CONFIRMING] = {
		UNDER_WAY(CONFIRMING),
		CONNECTED(CONFIRMING),
		NOTHING_PREPARED(CONFIRMING),
		ON(ALL_DONE, CLOSING, STOP, "both ends know that everything is in its place"),
		ON(DISCONNECTED, CLOSING, STOP, "the sender closes as soon as it has END_OK, which can be noticed first; every file is in its place anyway"),
	},
	[VBD_COPY_CLOSING] = {
		ON(IDLE, DONE, NONE, "nothing uses the memory any more"),
		OTHERWISE(CLOSING, NONE, "everything is in its place: nothing changes that"),
	},
	[VBD_COPY_STOPPING] = {
		ON(IDLE, FAILED, NONE, "nothing uses the memory any more"),
		OTHERWISE(STOPPING, NONE, "the copy has failed already: the first reason stays, and late messages are dropped"),
	},
	[VBD_COPY_CANCELLING] = {
		ON(IDLE, CANCELLED, NONE, "nothing uses the memory any more"),
		OTHERWISE(CANCELLING, NONE, "the copy was cancelled already: the first reason stays, and late messages are dropped"),
	},
	[VBD_COPY_DONE] = {OTHERWISE(DONE, NONE, "the copy has ended")},
	[VBD_COPY_FAILED] = {OTHERWISE(FAILED, NONE, "the copy has ended")},
	[VBD_COPY_CANCELLED] = {OTHERWISE(CANCELLED, NONE, "the copy has ended")},
};
/* clang-format on */

VBD_RULES(vbd_copy_rule, enum vbd_copy_state, enum vbd_copy_event, rules)

static_assert((int)VBD_COPY_EV_HELLO == (int)VBD_COPY_MSG_HELLO - 1 &&
		      (int)VBD_COPY_EV_BYE == (int)VBD_COPY_MSG_BYE - 1,
	"the events of messages are in the order of the types");

enum vbd_copy_event vbd_copy_event_of(enum vbd_copy_message_type type)
{
	return (enum vbd_copy_event)(type - 1);
}

VBD_ENUM_NAMES(vbd_copy_state_name, enum vbd_copy_state, VBD_COPY_STATE_MAP)
VBD_ENUM_COLUMN(bool, vbd_copy_state_ended, enum vbd_copy_state, VBD_COPY_STATE_MAP, 3)
VBD_ENUM_NAMES(vbd_copy_event_name, enum vbd_copy_event, VBD_COPY_EVENT_MAP)
VBD_ENUM_NAMES(vbd_copy_action_name, enum vbd_copy_action, VBD_COPY_ACTION_MAP)
