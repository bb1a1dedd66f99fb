/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages that a connection or an endpoint has received and nobody has forgotten yet.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_CONNECTIONS_INBOX_H
#define VBD_DAEMON_CONNECTIONS_INBOX_H

#include "base/error.h"
#include "base/list.h"
#include "rdma/ud/ah.h"
#include "rdma/data/channel.h"

#include <stdbool.h>
#include <stdint.h>

/* A received message. Its bytes lie in the receive itself; in memory of its own once the QP is
 * gone. */
struct vbd_message {
	struct vbd_link link;
	uint64_t seq; /* 1, 2, 3 … for each inbox */
	uint64_t received_ns;
	struct vbd_received received;
	struct vbd_recv_slot *slot; /* NULL once the receive is gone */
	uint8_t *copy;		    /* then the bytes are here */
	bool has_source;	    /* a datagram */
	struct vbd_ah_source source;
};

struct vbd_inbox {
	struct vbd_link messages; /* of struct vbd_message, the oldest first */
	uint32_t count;
	uint64_t last_seq; /* 0 before the first */
};

/** vbd_inbox_init - an empty one */
void vbd_inbox_init(struct vbd_inbox *inbox);

/** vbd_inbox_add - a message came in; false without memory to note it: it is lost, and its slot the
 * caller's to release */
bool vbd_inbox_add(struct vbd_inbox *inbox, struct vbd_recv_slot *slot) VBD_MUST_CHECK;

/** vbd_inbox_find - NULL if there is none, or not any more */
struct vbd_message *vbd_inbox_find(const struct vbd_inbox *inbox, uint64_t seq);

/** vbd_inbox_newest - seq of the newest that is there; 0 if there is none */
uint64_t vbd_inbox_newest(const struct vbd_inbox *inbox);

/**
 * vbd_inbox_delete - forget messages up to @through; out_of_range if it never had that many
 * @release: called with each receive that is free again
 */
enum vbd_status vbd_inbox_delete(struct vbd_inbox *inbox, uint64_t through,
	void (*release)(struct vbd_recv_slot *slot, void *arg), void *arg,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_inbox_detach - the receives' memory goes: copy what is still held, so that it can be read
 * afterwards */
void vbd_inbox_detach(struct vbd_inbox *inbox);

/** vbd_inbox_clear - free all messages */
void vbd_inbox_clear(struct vbd_inbox *inbox);

/** vbd_message_data - its bytes; valid until the next turn of the loop */
const uint8_t *vbd_message_data(const struct vbd_message *message);

#endif
