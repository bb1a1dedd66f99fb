/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations and the services that a connection knows, and the counters of each operation.
 *
 * Any thread.
 */
#ifndef VBD_RDMA_OP_H
#define VBD_RDMA_OP_H

#include "base/counter.h"

/* X(SYMBOL, json name) */
#define VBD_OP_MAP(X)     \
	X(SEND, "send")   \
	X(RECV, "recv")   \
	X(WRITE, "write") \
	X(READ, "read")

enum vbd_op {
#define VBD_OP_ENUM(sym, json) VBD_OP_##sym,
	VBD_OP_MAP(VBD_OP_ENUM)
#undef VBD_OP_ENUM
		VBD_OP_COUNT
};

/** vbd_op_name - "write" */
const char *vbd_op_name(enum vbd_op op);

/* X(SYMBOL, json name) */
#define VBD_SERVICE_MAP(X) \
	X(INBOX, "inbox")  \
	X(ECHO, "echo")    \
	X(RPING, "rping")

/* What a connection does with incoming messages. */
enum vbd_service {
#define VBD_SERVICE_ENUM(sym, json) VBD_SERVICE_##sym,
	VBD_SERVICE_MAP(VBD_SERVICE_ENUM)
#undef VBD_SERVICE_ENUM
		VBD_SERVICE_COUNT
};

/** vbd_service_name - "inbox" */
const char *vbd_service_name(enum vbd_service service);

/* Written by the connection's worker only. */
struct vbd_op_counters {
	struct vbd_counter posted;
	struct vbd_counter completed;
	struct vbd_counter errors; /* completions in error, flushes apart */
	struct vbd_counter flushed;
	struct vbd_counter bytes; /* payload of the completed ones */
};

#endif
