/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transports, operations and services there are, what an operation moves, and the counters of
 * each.
 *
 * Any thread.
 */
#ifndef VBD_RDMA_OP_H
#define VBD_RDMA_OP_H

#include "base/counter.h"
#include "base/enum.h"

#include <stdbool.h>
#include <stdint.h>

/* X(SYMBOL, json name) */
#define VBD_TRANSPORT_MAP(X)      \
	X(VBD_TRANSPORT_RC, "rc") \
	X(VBD_TRANSPORT_UC, "uc") \
	X(VBD_TRANSPORT_UD, "ud")

/* What kind of queue pair moves the messages. */
enum vbd_qp_transport { VBD_TRANSPORT_MAP(VBD_ENUM_ROW) VBD_TRANSPORT_COUNT };

/** vbd_transport_name - "rc" */
const char *vbd_transport_name(enum vbd_qp_transport transport);

/* X(SYMBOL, json name) */
#define VBD_OP_MAP(X)                   \
	X(SEND, "send")                 \
	X(RECV, "recv")                 \
	X(WRITE, "write")               \
	X(READ, "read")                 \
	X(SEND_IMM, "send_imm")         \
	X(WRITE_IMM, "write_imm")       \
	X(FETCH_ADD, "fetch_add")       \
	X(COMPARE_SWAP, "compare_swap") \
	X(BIND_WINDOW, "bind_window")   \
	X(INVALIDATE_WINDOW, "invalidate_window")

enum vbd_op {
#define VBD_OP_ENUM(sym, json) VBD_OP_##sym,
	VBD_OP_MAP(VBD_OP_ENUM)
#undef VBD_OP_ENUM
		VBD_OP_COUNT
};

/** vbd_op_name - "write" */
const char *vbd_op_name(enum vbd_op op);

/** vbd_op_allowed - does a queue pair of @transport know @op? */
bool vbd_op_allowed(enum vbd_op op, enum vbd_qp_transport transport);

/** vbd_op_is_atomic - fetch_add or compare_swap: eight bytes, and the old value comes back */
bool vbd_op_is_atomic(enum vbd_op op);

/** vbd_op_has_imm - does it carry an immediate? */
bool vbd_op_has_imm(enum vbd_op op);

/* What an atomic operation works on. */
#define VBD_ATOMIC_BYTES 8

/* What a completed receive says of the message. */
struct vbd_received {
	enum vbd_op op;		/* SEND, or WRITE_IMM */
	uint32_t length_bytes;	/* in the receive; none of a write */
	uint32_t written_bytes; /* WRITE_IMM: what it wrote elsewhere */
	bool has_imm;
	uint32_t imm;
};

/* Most entries of a list; a device may have fewer, and what more it has is not used. */
#define VBD_SGES_MAX 64

/* A range of registered memory that a work request reads from or writes to. */
struct vbd_sge {
	uint8_t *addr;
	uint32_t length_bytes;
	uint32_t lkey;
};

/* X(SYMBOL, json name) */
#define VBD_SERVICE_MAP(X)            \
	X(VBD_SERVICE_INBOX, "inbox") \
	X(VBD_SERVICE_ECHO, "echo")   \
	X(VBD_SERVICE_RPING, "rping") \
	X(VBD_SERVICE_SINK, "sink")   \
	X(VBD_SERVICE_NONE, "none")   \
	X(VBD_SERVICE_RPING_CLIENT, "rping_client")

/* What a connection does with incoming messages. */
enum vbd_service { VBD_SERVICE_MAP(VBD_ENUM_ROW) VBD_SERVICE_COUNT };

/** vbd_service_name - "inbox" */
const char *vbd_service_name(enum vbd_service service);

/* Written by the connection's worker only. */
struct vbd_op_counters {
	struct vbd_counter posted;
	struct vbd_counter completed;
	struct vbd_counter errors; /* completions in error, flushes apart */
	struct vbd_counter flushed;
	struct vbd_counter bytes;     /* payload of the completed ones */
	struct vbd_counter signalled; /* of the posted ones, those that asked for a completion */
};

/** vbd_op_counters_copy - for when who counted is about to go */
void vbd_op_counters_copy(struct vbd_op_counters *to, const struct vbd_op_counters *from);

#endif
