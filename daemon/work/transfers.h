/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transfer service: limits, deadline, cancel, and the history of ended transfers.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_WORK_TRANSFERS_H
#define VBD_DAEMON_WORK_TRANSFERS_H

#include "daemon/connections/connections.h"
#include "daemon/core/object.h"
#include "daemon/datagrams/endpoints.h"
#include "daemon/memory/buffers.h"
#include "rdma/data/transfer.h"

/* The longest message that an API request can contain. */
#define VBD_MESSAGE_BYTES_MAX 16384

/* A range of a buffer. A transfer's record keeps buffer_id when `buffer` is NULL after its end. */
struct vbd_transfer_range {
	struct vbd_buffer *buffer;
	uint64_t buffer_id;
	uint64_t offset_bytes;
	uint64_t length_bytes;
};

struct vbd_transfer_record {
	struct vbd_object object; /* first */
	struct vbd_transfer transfer;
	struct vbd_link link;	/* in the QP's list until the transfer has ended */
	struct vbd_qp *qp;	/* NULL once the transfer has ended */
	uint64_t batch_id;	/* 0: the transfer was created by itself */
	uint64_t connection_id; /* this or endpoint_id is 0 */
	uint64_t endpoint_id;
	struct vbd_peer_record *peer;	   /* NULL once the transfer has ended */
	struct vbd_group_record *group;	   /* as `peer` */
	uint64_t peer_id, group_id;	   /* 0: no peer or group */
	struct vbd_transfer_range *ranges; /* source or target; none for a message */
	uint32_t range_count;
	bool listed;	      /* the request had a list of ranges: one work request */
	struct vbd_sge *sges; /* @ranges for the device */
	uint32_t timeout_ms;
	uint8_t *inline_data;	       /* a message that is sent inline */
	struct vbd_slab_range message; /* else memory of message_pd for it */
	struct vbd_pd *message_pd;
	bool stopping; /* its deadline has passed or a client cancelled it */
};

struct vbd_transfer_spec {
	struct vbd_origin origin;
	struct vbd_qp *qp;	      /* of a connection or an endpoint */
	struct vbd_peer_record *peer; /* over an endpoint: a peer or a group */
	struct vbd_group_record *group;
	struct vbd_buffer *buffer; /* NULL: `ranges`, or no buffer */
	enum vbd_op op;
	uint64_t offset_bytes;
	uint64_t length_bytes; /* with ranges: of all together */
	struct vbd_transfer_range ranges[VBD_SGES_MAX];
	uint32_t range_count;
	struct vbd_wr_params wr; /* without ah, remote_qpn and remote_qkey: the peer's or group's */
	uint64_t chunk_bytes;
	uint64_t message_bytes; /* SEND, SEND_IMM: the length of each message; 0: one message */
	const uint8_t *message; /* bytes of the request, which are copied; NULL: not from there */
	uint32_t tx_depth; /* most outstanding work requests; 0: as many as the send queue holds */
	uint32_t timeout_ms;
	bool awaits_connection; /* the client waits until the connection is established */
	/* For a benchmark, as in struct vbd_transfer. `length_bytes` is then the length of one work
	 * request, at most VBD_MESSAGE_BYTES_MAX without a buffer. */
	uint64_t repeats;
	uint64_t run_ns;
	struct vbd_histogram *latency_ns;
};

/**
 * vbd_transfer_prepare - check and create a record, without starting the transfer
 *
 * VBD_E_WRONG_STATE (connection not established, buffer not ready, messages go to a service),
 * _RANGE_NOT_SATISFIABLE, _LIMIT_REACHED, _OUT_OF_RANGE (too much for the queue pair), _BAD_VALUE
 * (buffer on another device, unaligned address), _NOT_SUPPORTED. The caller passes the record to
 * vbd_transfer_start() or vbd_transfer_free() before the loop turns.
 */
enum vbd_status vbd_transfer_prepare(struct vbd_daemon *daemon,
	const struct vbd_transfer_spec *spec, struct vbd_transfer_record **ret_record,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_transfer_announce - a prepared transfer becomes visible to clients, and its deadline runs;
 * vbd_transfer_submit() follows in the same turn */
void vbd_transfer_announce(struct vbd_transfer_record *record);

/** vbd_transfer_start - announce and submit a prepared transfer; can't fail */
void vbd_transfer_start(struct vbd_transfer_record *record);

/** vbd_transfer_receives - whether @object, a transfer, waits for a message of the peer */
bool vbd_transfer_receives(const struct vbd_object *object);

/** vbd_transfer_free - free a prepared transfer, which no client has seen */
void vbd_transfer_free(struct vbd_transfer_record *record);

/** vbd_transfer_create - prepare and start a transfer; errors as of vbd_transfer_prepare() */
enum vbd_status vbd_transfer_create(struct vbd_daemon *daemon, const struct vbd_transfer_spec *spec,
	struct vbd_transfer_record **ret_record, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_transfer_send - send a copy of @length_bytes (at most VBD_MESSAGE_BYTES_MAX) at @data
 * @to:  `origin`, `qp`, and over an endpoint `peer` or `group`; other members are not read
 * @imm: NULL: none
 */
enum vbd_status vbd_transfer_send(struct vbd_daemon *daemon, const struct vbd_transfer_spec *to,
	const uint8_t *data, uint32_t length_bytes, const uint32_t *imm, uint32_t timeout_ms,
	struct vbd_transfer_record **ret_record, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_transfer_first_error - the failed completion that ended the transfer; VBD_OK without one */
void vbd_transfer_first_error(
	const struct vbd_transfer_record *record, struct vbd_first_error *ret_first);

/** vbd_transfer_uses - does the transfer still use @buffer? */
bool vbd_transfer_uses(const struct vbd_transfer_record *record, const struct vbd_buffer *buffer);

/* In daemon/work/transfer_check.c; for daemon/work/transfers.c only. */

/** vbd_transfer_goes_inline - are the bytes of the buffers copied into the work requests, so that
 * the device need not read memory? Yes for up to inline_bytes, and if a client asks for it. */
bool vbd_transfer_goes_inline(const struct vbd_transfer_spec *spec);

/** vbd_transfer_check - VBD_OK, or the errors of vbd_transfer_prepare() */
enum vbd_status vbd_transfer_check(const struct vbd_daemon *daemon,
	const struct vbd_transfer_spec *spec, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_transfer_is_whole - true if chunk_bytes does not cut the transfer into several requests */
bool vbd_transfer_is_whole(const struct vbd_transfer_spec *spec);

/** vbd_transfer_message_bytes - length of the longest message of a send; 1 for an empty message,
 * which still is one work request */
uint64_t vbd_transfer_message_bytes(const struct vbd_transfer_spec *spec);

/** vbd_transfer_explain - replace the error of a flush by the reason why the owner of the queue
 * pair ended; before the record forgets its queue pair */
void vbd_transfer_explain(struct vbd_transfer_record *record);

/** vbd_transfer_problem - `problem` of struct vbd_kind */
void vbd_transfer_problem(const struct vbd_object *object, struct vbd_error *ret_err);

#endif
