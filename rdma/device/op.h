/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transports, operations and services, the traits of an operation, and the counters of each.
 *
 * Any thread.
 */
#ifndef VBD_RDMA_DEVICE_OP_H
#define VBD_RDMA_DEVICE_OP_H

#include "base/counter.h"
#include "rdma/device/caps.h"

struct ibv_ah;
struct vbd_window;

/* X(SYMBOL, json name) */
#define VBD_TRANSPORT_MAP(X)      \
	X(VBD_TRANSPORT_RC, "rc") \
	X(VBD_TRANSPORT_UC, "uc") \
	X(VBD_TRANSPORT_UD, "ud")

/* The type of the queue pair that moves the messages. */
enum vbd_qp_transport { VBD_TRANSPORT_MAP(VBD_ENUM_ROW) VBD_TRANSPORT_COUNT };

/** vbd_transport_name - "rc" */
const char *vbd_transport_name(enum vbd_qp_transport transport);

/*
 * X(SYMBOL, json name, RC, UC, UD, remote, imm, atomic, sends, inline, chunks, capability, opcode)
 *
 *   RC, UC, UD  a queue pair of this transport supports it
 *   remote      it needs the address and the rkey of the peer's memory
 *   imm         it carries an immediate
 *   atomic      it works on VBD_ATOMIC_BYTES, and the old value comes back
 *   sends       it consumes a receive of the peer, which keeps the bytes
 *   inline      its bytes may be in the work request
 *   chunks      a transfer of it is cut into chunks
 *   capability  of the device, VBD_CAP_*; COUNT: it needs none
 *   opcode      IBV_WR_* of its send work request
 */
/* clang-format off */
#define VBD_OP_MAP(X)                                                                     \
	X(VBD_OP_SEND,              "send",                                               \
		1, 1, 1, 0, 0, 0, 1, 1, 0, COUNT, SEND)                                   \
	X(VBD_OP_RECV,              "recv",                                               \
		1, 1, 1, 0, 0, 0, 0, 0, 0, COUNT, SEND)                                   \
	X(VBD_OP_WRITE,             "write",                                              \
		1, 1, 0, 1, 0, 0, 0, 1, 1, COUNT, RDMA_WRITE)                             \
	X(VBD_OP_READ,              "read",                                               \
		1, 0, 0, 1, 0, 0, 0, 0, 1, COUNT, RDMA_READ)                              \
	X(VBD_OP_SEND_IMM,          "send_imm",                                           \
		1, 1, 1, 0, 1, 0, 1, 1, 0, SEND_IMM, SEND_WITH_IMM)                       \
	X(VBD_OP_WRITE_IMM,         "write_imm",                                          \
		1, 1, 0, 1, 1, 0, 0, 1, 1, WRITE_IMM, RDMA_WRITE_WITH_IMM)                \
	X(VBD_OP_FETCH_ADD,         "fetch_add",                                          \
		1, 0, 0, 1, 0, 1, 0, 0, 0, ATOMICS, ATOMIC_FETCH_AND_ADD)                 \
	X(VBD_OP_COMPARE_SWAP,      "compare_swap",                                       \
		1, 0, 0, 1, 0, 1, 0, 0, 0, ATOMICS, ATOMIC_CMP_AND_SWP)                   \
	X(VBD_OP_BIND_WINDOW,       "bind_window",                                        \
		1, 1, 0, 0, 0, 0, 0, 0, 0, COUNT, BIND_MW)                                \
	X(VBD_OP_INVALIDATE_WINDOW, "invalidate_window",                                  \
		1, 1, 0, 0, 0, 0, 0, 0, 0, COUNT, LOCAL_INV)
/* clang-format on */

enum vbd_op { VBD_OP_MAP(VBD_ENUM_ROW) VBD_OP_COUNT };

/** vbd_op_name - "write" */
const char *vbd_op_name(enum vbd_op op);

/** vbd_op_allowed - does a queue pair of @transport support @op? */
bool vbd_op_allowed(enum vbd_op op, enum vbd_qp_transport transport);

/* A row of the table above. */
struct vbd_op_traits {
	const char *name;
	bool transports[VBD_TRANSPORT_COUNT];
	bool needs_remote;
	bool has_imm;
	bool is_atomic;
	bool sends;
	bool may_inline;
	bool is_cut;
	enum vbd_cap capability; /* VBD_CAP_COUNT: none */
	int opcode;		 /* enum ibv_wr_opcode */
};

extern const struct vbd_op_traits vbd_ops[VBD_OP_COUNT];

/* The size of the operand of an atomic operation. */
#define VBD_ATOMIC_BYTES 8

/* The result of a completed receive. */
struct vbd_received {
	enum vbd_op op;		/* SEND, or WRITE_IMM */
	uint32_t length_bytes;	/* bytes in the receive; 0 for a write */
	uint32_t written_bytes; /* WRITE_IMM: bytes that it wrote elsewhere */
	bool has_imm;
	uint32_t imm;
};

/* Most entries of a scatter/gather list; a larger limit of a device is not used. */
#define VBD_SGES_MAX 64

/* A range of registered memory that a work request reads from or writes to. */
struct vbd_sge {
	uintptr_t addr;
	uint32_t length_bytes;
	uint32_t lkey;
};

/* The parameters of a send work request besides its operation and its local memory. */
struct vbd_wr_params {
	bool inlined; /* the bytes are copied into the work request */
	uint32_t imm; /* of the last work request of a write, of each message of a send */
	uint64_t remote_addr;
	uint32_t rkey;
	uint64_t compare_add; /* FETCH_ADD: the addend; COMPARE_SWAP: the expected value */
	uint64_t swap;
	struct ibv_ah *ah; /* UD: the destination, with the two below */
	uint32_t remote_qpn;
	uint32_t remote_qkey;
	const struct vbd_window *mw; /* the window to bind or to invalidate; else NULL */
};

/* X(SYMBOL, json name) */
#define VBD_SERVICE_MAP(X)                                  \
	X(VBD_SERVICE_INBOX, "inbox")                       \
	X(VBD_SERVICE_ECHO, "echo")                         \
	X(VBD_SERVICE_RPING, "rping")                       \
	X(VBD_SERVICE_SINK, "sink")                         \
	X(VBD_SERVICE_NONE, "none")                         \
	X(VBD_SERVICE_RPING_CLIENT, "rping_client")         \
	/* of listeners and of copies only; the last one */ \
	X(VBD_SERVICE_FILES, "files")

/* Receives of the service FILES have at least this length. */
#define VBD_FILES_MESSAGE_BYTES 16384

/* The handling of incoming messages of a connection. */
enum vbd_service { VBD_SERVICE_MAP(VBD_ENUM_ROW) VBD_SERVICE_COUNT };

/** vbd_service_name - "inbox" */
const char *vbd_service_name(enum vbd_service service);

/* X(SYMBOL, json name) */
#define VBD_POLL_MAP(X)              \
	X(VBD_POLL_EVENTS, "events") \
	X(VBD_POLL_BUSY, "busy")     \
	X(VBD_POLL_ADAPTIVE, "adaptive")

/* How the worker of a queue pair waits for its completions; see rdma/data/worker.h. */
enum vbd_poll { VBD_POLL_MAP(VBD_ENUM_ROW) VBD_POLL_COUNT };

/** vbd_poll_name - "events" */
const char *vbd_poll_name(enum vbd_poll poll);

/* Written by the connection's worker only. */
struct vbd_op_counters {
	struct vbd_counter posted;
	struct vbd_counter completed;
	struct vbd_counter errors; /* completions in error, without flushes */
	struct vbd_counter flushed;
	struct vbd_counter bytes;     /* payload of the completed ones */
	struct vbd_counter signalled; /* posted with a request for a completion */
};

#endif
