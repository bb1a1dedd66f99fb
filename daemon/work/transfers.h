/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers as resources: limits, deadline, cancel, and the records of those that ended.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_WORK_TRANSFERS_H
#define VBD_DAEMON_WORK_TRANSFERS_H

#include "daemon/memory/buffers.h"
#include "daemon/connections/connections.h"
#include "daemon/datagrams/groups.h"
#include "daemon/datagrams/peers.h"
#include "daemon/core/object.h"
#include "rdma/data/transfer.h"

/* Longest message that a request may carry itself. */
#define VBD_MESSAGE_BYTES_MAX 16384

/* A part of a buffer. */
struct vbd_transfer_range {
	struct vbd_buffer *buffer; /* of a record: NULL once it has ended */
	uint64_t buffer_id;	   /* of a record */
	uint64_t offset;
	uint64_t length_bytes;
};

struct vbd_transfer_record {
	struct vbd_object object; /* first */
	struct vbd_daemon *daemon;
	struct vbd_transfer transfer;
	struct vbd_link link;	/* the QP's list while the transfer has not ended */
	struct vbd_qp *qp;	/* NULL once the transfer has ended */
	uint64_t connection_id; /* 0 over an endpoint, and the other way round */
	uint64_t endpoint_id;
	struct vbd_peer_record *peer;	   /* NULL once it has ended */
	struct vbd_group_record *group;	   /* NULL once it has ended */
	uint64_t peer_id, group_id;	   /* 0: not to one */
	struct vbd_transfer_range *ranges; /* what it moves from or to; none of a message */
	uint32_t range_count;
	bool listed;	      /* asked for as a list: one work request */
	struct vbd_sge *sges; /* the same for the device */
	uint32_t timeout_ms;
	uint8_t *inline_data; /* a message that fits the work request */
	int message_slot;     /* in the pool of the PD below; -1 if none */
	struct vbd_pd *message_pd;
	bool stopping; /* its deadline has passed or a client cancelled it */
};

struct vbd_transfer_spec {
	struct vbd_qp *qp;	      /* of a connection or an endpoint */
	struct vbd_peer_record *peer; /* over an endpoint: one of these two */
	struct vbd_group_record *group;
	struct vbd_buffer *buffer; /* NULL: `ranges`, or nothing */
	enum vbd_op op;
	uint64_t offset;
	uint64_t length_bytes; /* of all ranges together, where there are some */
	struct vbd_transfer_range ranges[VBD_SGES_MAX];
	uint32_t range_count;
	struct vbd_wr_params
		wr; /* but ah, remote_qpn and remote_qkey: the peer or the group has them */
	uint64_t chunk_bytes;
	uint64_t message_bytes; /* SEND, SEND_IMM: cut into messages of this many; 0: one message */
	uint32_t tx_depth; /* work requests outstanding at most; 0: as many as the queue holds */
	uint32_t timeout_ms;
	/* A benchmark's: as in struct vbd_transfer. `length_bytes` is that of one work request;
	 * without a buffer it is VBD_MESSAGE_BYTES_MAX at most. */
	uint64_t repeats;
	uint64_t run_ns;
	struct vbd_histogram *latency_ns;
};

/**
 * vbd_transfer_prepare - check and make a record that does not move anything yet
 *
 * wrong_state (connection not established, buffer not ready, a service takes the messages),
 * range_not_satisfiable, limit_reached, out_of_range (too much for the queue pair), bad_value (the
 * buffer is on another device, an address is not aligned), not_supported. The record goes to
 * vbd_transfers_start() or to vbd_transfer_free() before the loop turns.
 */
enum vbd_status vbd_transfer_prepare(struct vbd_daemon *daemon,
	const struct vbd_transfer_spec *spec, struct vbd_transfer_record **ret_record,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_transfers_start - start what is prepared, one right behind the other; can't fail */
void vbd_transfers_start(struct vbd_transfer_record *const *records, size_t count);

/** vbd_transfer_free - free what is prepared and shall not start; nobody has heard of it */
void vbd_transfer_free(struct vbd_transfer_record *record);

/** vbd_transfer_create - prepare and start one; errors as of vbd_transfer_prepare() */
enum vbd_status vbd_transfer_create(struct vbd_daemon *daemon, const struct vbd_transfer_spec *spec,
	struct vbd_transfer_record **ret_record, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_transfer_send_message - send @length_bytes (at most VBD_MESSAGE_BYTES_MAX) that are copied;
 * with @imm unless it is NULL */
enum vbd_status vbd_transfer_send_message(struct vbd_connection *connection, const uint8_t *data,
	uint32_t length_bytes, const uint32_t *imm, uint32_t timeout_ms,
	struct vbd_transfer_record **ret_record, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_transfer_send_datagram - the same over an endpoint
 * @to: its `qp`, and `peer` or `group`; the rest of it is not read */
enum vbd_status vbd_transfer_send_datagram(struct vbd_daemon *daemon,
	const struct vbd_transfer_spec *to, const uint8_t *data, uint32_t length_bytes,
	const uint32_t *imm, uint32_t timeout_ms, struct vbd_transfer_record **ret_record,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_transfer_length - the bytes that it is to move; of a benchmark by time those that it has */
uint64_t vbd_transfer_length(const struct vbd_transfer *transfer);

/** vbd_transfer_uses - does it still move bytes from or to @buffer? */
bool vbd_transfer_uses(const struct vbd_transfer_record *record, const struct vbd_buffer *buffer);

#endif
