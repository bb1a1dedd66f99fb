/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inbox: messages that a connection or an endpoint has received and that no client has deleted.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_CONNECTIONS_INBOX_H
#define VBD_DAEMON_CONNECTIONS_INBOX_H

#include "base/error.h"
#include "base/list.h"
#include "daemon/core/object.h"
#include "rdma/data/channel.h"
#include "rdma/qp/qp.h"
#include "rdma/ud/ah.h"

/* A received message. Its data lies in the receive, or in a copy after the QP was destroyed. */
struct vbd_message {
	struct vbd_link link;
	uint64_t seq; /* 1, 2, 3 … for each inbox */
	uint64_t received_ns;
	struct vbd_received received;
	struct vbd_recv_slot *slot; /* NULL once the receive's memory is freed */
	uint8_t *copy;		    /* the data if @slot is NULL */
	bool has_source;	    /* true for a datagram */
	struct vbd_ah_source source;
};

struct vbd_inbox {
	struct vbd_link messages; /* of struct vbd_message, the oldest first */
	uint32_t count;
	uint64_t last_seq;	   /* 0 before the first */
	uint64_t last_received_ns; /* CLOCK_MONOTONIC; of that one, also if it is deleted */
	uint64_t dropped;	   /* messages that no client deleted, and that are gone */
	struct vbd_link kept_link; /* in the daemon's kept_inboxes */
	struct vbd_object *object; /* the owner */
	enum vbd_event_type lost_event;
	struct vbd_qp *qp;
};

/** vbd_inbox_init - an empty inbox of @object. Messages that find no memory, or no room in
 * records.messages_bytes after the QP was destroyed, are lost, which the event log records as
 * @lost_event. */
void vbd_inbox_init(
	struct vbd_inbox *inbox, struct vbd_object *object, enum vbd_event_type lost_event);

/** vbd_inbox_attach - let the inbox, which outlives @qp, get the messages of @qp */
void vbd_inbox_attach(struct vbd_inbox *inbox, struct vbd_qp *qp);

/** vbd_inbox_find - NULL if there is no such message, or no longer */
struct vbd_message *vbd_inbox_find(const struct vbd_inbox *inbox, uint64_t seq);

/** vbd_inbox_newest - seq of the newest message in the inbox; 0 if it is empty */
uint64_t vbd_inbox_newest(const struct vbd_inbox *inbox);

/** vbd_inbox_delete - delete the messages up to @through; their receives are posted again.
 * out_of_range if fewer have come. */
enum vbd_status vbd_inbox_delete(
	struct vbd_inbox *inbox, uint64_t through, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_inbox_clear - free all messages */
void vbd_inbox_clear(struct vbd_inbox *inbox);

/** vbd_message_data - the message's data; valid until the next turn of the loop */
const uint8_t *vbd_message_data(const struct vbd_message *message);

#endif
