/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rping's protocol (rdma-core, librdmacm/examples/rping.c), both halves.
 *
 * A ping: the client sends the range of its source; the server reads the bytes and sends a message;
 * the client sends the range of its sink; the server writes the bytes there and sends a message. A
 * pure table in rdma/data/rping.c has the order.
 *
 * The channel's worker, unless noted.
 */
#ifndef VBD_RDMA_DATA_RPING_H
#define VBD_RDMA_DATA_RPING_H

#include "rdma/data/channel.h"

/* rping refuses -S of 64 KiB or more; the last byte is the NUL of its text. */
#define VBD_RPING_BYTES_MAX 65535
#define VBD_RPING_BYTES_MIN 2

/* The size of the messages of both halves. */
#define VBD_RPING_MESSAGE_BYTES 16

/* The operations of the services RPING and RPING_CLIENT. */
extern const struct vbd_service_ops vbd_rping_ops;

/* A ping is back; @same: its bytes are those that were sent. */
typedef void (*vbd_rping_back_cb)(struct vbd_channel *channel, bool same);

/**
 * vbd_rping_ping - client; begin a ping
 * @size_bytes: VBD_RPING_BYTES_MIN to _MAX
 * @number:     of the ping, from 0; its text begins with it
 * @back:       called once when the ping is back; not called if the channel breaks before
 */
void vbd_rping_ping(
	struct vbd_channel *channel, uint32_t size_bytes, uint64_t number, vbd_rping_back_cb back);

/*
 * The protocol of rping: one pure table for both halves, which do not share a state.
 *
 * Any thread.
 */

/* The side that is in a state, and what it waits for. */
enum vbd_rping_state {
	VBD_RPING_WAIT_SOURCE,	/* server: where the client's bytes are */
	VBD_RPING_READING,	/* server: the bytes */
	VBD_RPING_WAIT_SINK,	/* server: where the bytes shall go */
	VBD_RPING_WRITING,	/* server: the bytes' arrival */
	VBD_RPING_IDLE,		/* client: a probe */
	VBD_RPING_WAIT_READ,	/* client: the server's word that it has read the bytes */
	VBD_RPING_WAIT_WRITTEN, /* client: the server's word that it has written them */
	VBD_RPING_STATE_COUNT
};

enum vbd_rping_event {
	VBD_RPING_EV_START,   /* begin a ping */
	VBD_RPING_EV_MESSAGE, /* the peer sent a message */
	VBD_RPING_EV_MOVED,   /* our read or write is done */
	VBD_RPING_EVENT_COUNT
};

enum vbd_rping_action {
	VBD_RPING_NOTHING,
	VBD_RPING_READ,	      /* read the client's bytes */
	VBD_RPING_WRITE,      /* write them back */
	VBD_RPING_SAY_DONE,   /* say so */
	VBD_RPING_SAY_SOURCE, /* say where the bytes are */
	VBD_RPING_SAY_SINK,   /* say where they shall go */
	VBD_RPING_CHECK,      /* compare what came back, and time it */
	VBD_RPING_REFUSE,     /* end the connection: this is not rping */
	VBD_RPING_ACTION_COUNT
};

/** vbd_rping_rule - the pure table; every pair is decided */
const struct vbd_rule *vbd_rping_rule(enum vbd_rping_state state, enum vbd_rping_event event);

#endif
