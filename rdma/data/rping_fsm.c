/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/data/rping_fsm.h"

#define ON(event, next, action, note) \
	[VBD_RPING_EV_##event] = {VBD_RPING_##next, VBD_RPING_##action, note}
#define SERVER_STARTS(state) ON(START, state, NOTHING, "a server begins nothing")
#define CLIENT_MOVES(state)  ON(MOVED, state, NOTHING, "a client moves nothing itself")

/* clang-format off */
static const struct vbd_rping_rule rules[VBD_RPING_STATE_COUNT][VBD_RPING_EVENT_COUNT] = {
	[VBD_RPING_WAIT_SOURCE] = {
		SERVER_STARTS(WAIT_SOURCE),
		ON(MESSAGE, READING, READ, "a ping begins"),
		ON(MOVED, WAIT_SOURCE, NOTHING, "nothing is being moved"),
	},
	[VBD_RPING_READING] = {
		SERVER_STARTS(READING),
		ON(MESSAGE, READING, REFUSE, "the client waits for the read"),
		ON(MOVED, WAIT_SINK, SAY_DONE, "the bytes are here"),
	},
	[VBD_RPING_WAIT_SINK] = {
		SERVER_STARTS(WAIT_SINK),
		ON(MESSAGE, WRITING, WRITE, "the client says where it wants them"),
		ON(MOVED, WAIT_SINK, NOTHING, "nothing is being moved"),
	},
	[VBD_RPING_WRITING] = {
		SERVER_STARTS(WRITING),
		ON(MESSAGE, WRITING, REFUSE, "the client waits for the write"),
		ON(MOVED, WAIT_SOURCE, SAY_DONE, "the bytes are there"),
	},
	[VBD_RPING_IDLE] = {
		ON(START, WAIT_READ, SAY_SOURCE, "a ping begins"),
		ON(MESSAGE, IDLE, REFUSE, "nobody asked"),
		CLIENT_MOVES(IDLE),
	},
	[VBD_RPING_WAIT_READ] = {
		ON(START, WAIT_READ, NOTHING, "one at a time"),
		ON(MESSAGE, WAIT_WRITTEN, SAY_SINK, "the server has the bytes"),
		CLIENT_MOVES(WAIT_READ),
	},
	[VBD_RPING_WAIT_WRITTEN] = {
		ON(START, WAIT_WRITTEN, NOTHING, "one at a time"),
		ON(MESSAGE, IDLE, CHECK, "the bytes are back"),
		CLIENT_MOVES(WAIT_WRITTEN),
	},
};
/* clang-format on */

const struct vbd_rping_rule *vbd_rping_rule(enum vbd_rping_state state, enum vbd_rping_event event)
{
	return &rules[state][event];
}
