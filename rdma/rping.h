/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rping's protocol (rdma-core, librdmacm/examples/rping.c), both halves.
 *
 * A ping: the client says where its bytes are; the server reads them, and says so; the client says
 * where it wants them; the server writes them there, and says so.
 *
 * What is said when is in one pure table. The rest is the channel's worker, where nothing else is
 * said.
 */
#ifndef VBD_RDMA_RPING_H
#define VBD_RDMA_RPING_H

#include "rdma/channel.h"

#include <stdbool.h>

struct vbd_probe;

/* rping takes no -S of 64 KiB or more; the last byte is the NUL of its text. */
#define VBD_RPING_BYTES_MAX 65535
#define VBD_RPING_BYTES_MIN 2

/* What both halves say to each other. */
#define VBD_RPING_MESSAGE_BYTES 16

/* X(SYMBOL, what it waits for) */
#define VBD_RPING_STATE_MAP(X)                                               \
	X(WAIT_SOURCE, "server: where the client's bytes are")               \
	X(READING, "server: the bytes")                                      \
	X(WAIT_SINK, "server: where the bytes shall go")                     \
	X(WRITING, "server: the bytes' arrival")                             \
	X(IDLE, "client: a probe")                                           \
	X(WAIT_READ, "client: the server's word that it has read the bytes") \
	X(WAIT_WRITTEN, "client: the server's word that it has written them")

enum vbd_rping_state {
#define VBD_RPING_STATE_ENUM(sym, text) VBD_RPING_##sym,
	VBD_RPING_STATE_MAP(VBD_RPING_STATE_ENUM)
#undef VBD_RPING_STATE_ENUM
		VBD_RPING_STATE_COUNT
};

enum vbd_rping_event {
	VBD_RPING_EV_START,   /* one ping more */
	VBD_RPING_EV_MESSAGE, /* the peer said something */
	VBD_RPING_EV_MOVED,   /* our read or write is complete */
	VBD_RPING_EVENT_COUNT
};

enum vbd_rping_action {
	VBD_RPING_NOTHING,
	VBD_RPING_READ,
	VBD_RPING_WRITE,
	VBD_RPING_SAY_DONE,
	VBD_RPING_SAY_SOURCE,
	VBD_RPING_SAY_SINK,
	VBD_RPING_CHECK,  /* the bytes are back */
	VBD_RPING_REFUSE, /* the peer does not keep to the protocol */
};

struct vbd_rping_rule {
	enum vbd_rping_state next;
	enum vbd_rping_action action;
	const char *note; /* why */
};

/** vbd_rping_rule - the pure table; every pair is decided. Any thread. */
const struct vbd_rping_rule *vbd_rping_rule(enum vbd_rping_state state, enum vbd_rping_event event);

/** vbd_rping_create - control; the memory and the state of one half, for @channel->rping */
struct vbd_pd;
enum vbd_status vbd_rping_create(struct vbd_channel *channel, struct vbd_pd *pd, bool client,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_rping_destroy - control; NULL is fine */
void vbd_rping_destroy(struct vbd_rping *rping);

/** vbd_rping_renew - control; its first state again, nothing owed; no probe runs */
void vbd_rping_renew(struct vbd_rping *rping);

/** vbd_rping_received - a message is in @slot, which is posted again */
void vbd_rping_received(struct vbd_channel *channel, const struct vbd_recv_slot *slot);

/** vbd_rping_sent - one of its work requests is complete */
void vbd_rping_sent(struct vbd_channel *channel, enum vbd_op op);

/** vbd_rping_pump - post what could not be posted for want of a send slot */
void vbd_rping_pump(struct vbd_channel *channel);

/** vbd_rping_start - the first ping of @probe */
void vbd_rping_start(struct vbd_channel *channel, struct vbd_probe *probe);

/** vbd_rping_stop - no ping more than the one under way */
void vbd_rping_stop(struct vbd_probe *probe);

/** vbd_rping_drained - nothing of the channel is outstanding and nothing more will be: a probe that
 * runs has ended with it */
void vbd_rping_drained(struct vbd_channel *channel);

#endif
