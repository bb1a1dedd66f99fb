/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a connection ended. One row each: symbol, JSON name, the status for a client that waits for
 * the connection, whether the connection ends `closed` (nothing went wrong) or `failed`, and the
 * text. The hint comes from the status.
 *
 * Any thread.
 */
#ifndef VBD_RDMA_NAMES_REASON_H
#define VBD_RDMA_NAMES_REASON_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* X(SYMBOL, json name, status symbol, clean, text) */
#define VBD_REASON_MAP(X)                                                                         \
	X(PEER_DISCONNECT, "peer_disconnect", PEER_DISCONNECT, true, "The peer disconnected")     \
	X(LOCAL_CLOSE, "local_close", LOCAL_CLOSE, true, "A client closed the connection")        \
	X(SHUTDOWN, "shutdown", STOPPING, true, "The daemon stopped")                             \
	X(REJECTED, "rejected", REJECTED, false, "The peer rejected the connection")              \
	X(REJECTED_LOCALLY, "rejected_locally", REJECTED, true, "The request was rejected here")  \
	X(UNREACHABLE, "unreachable", UNREACHABLE, false, "The peer did not answer")              \
	X(NAME_ERROR, "name_error", NAME_NOT_RESOLVED, false, "The host name has no address")     \
	X(ADDR_ERROR, "addr_error", ADDR_ERROR, false, "The address could not be resolved")       \
	X(ROUTE_ERROR, "route_error", ROUTE_ERROR, false, "No path to the peer")                  \
	X(CONNECT_ERROR, "connect_error", CONNECT_ERROR, false,                                   \
		"The connection could not be made")                                               \
	X(DEADLINE, "deadline", DEADLINE, false, "The deadline passed")                           \
	X(RETRY_EXCEEDED, "retry_exceeded", RETRY_EXCEEDED, false,                                \
		"The peer's device stopped acknowledging")                                        \
	X(RNR_EXCEEDED, "rnr_exceeded", RNR_EXCEEDED, false,                                      \
		"The peer had no receive posted for too long")                                    \
	X(REMOTE_ACCESS, "remote_access", REMOTE_ACCESS, false,                                   \
		"The peer's device refused access to its memory")                                 \
	X(REMOTE_OPERATION, "remote_operation", REMOTE_OPERATION, false,                          \
		"The peer failed an operation")                                                   \
	X(REMOTE_INVALID, "remote_invalid", REMOTE_INVALID, false,                                \
		"The peer's device rejected a request as invalid")                                \
	X(LOCAL_ERROR, "local_error", LOCAL_ERROR, false, "The local device failed an operation") \
	X(DEVICE_REMOVED, "device_removed", DEVICE_REMOVED, false, "The device was removed")      \
	X(QP_FATAL, "qp_fatal", QP_FATAL, false, "The device moved the QP to the error state")    \
	X(RESOURCE_ERROR, "resource_error", VERBS_ERROR, false,                                   \
		"A call that the connection needed failed here")                                  \
	X(PROTOCOL_ERROR, "protocol_error", INTERNAL, false,                                      \
		"The CM reported an event that can't happen in that state")

enum vbd_reason {
	VBD_REASON_NONE,
#define VBD_REASON_ENUM(sym, json, status, clean, text) VBD_REASON_##sym,
	VBD_REASON_MAP(VBD_REASON_ENUM)
#undef VBD_REASON_ENUM
		VBD_REASON_COUNT
};

/* The first error of a connection; its consequences (flushes, a disconnect) do not replace it. */
struct vbd_first_error {
	uint64_t at_ns; /* 0: no error */
	struct vbd_error error;
	int op;		   /* enum vbd_op of the failed completion; -1 if none */
	uint64_t transfer; /* id; 0 if none */
};

/* The error that comes with an event. */
struct vbd_cause {
	const struct vbd_error *error; /* NULL if there is none */
	int op;			       /* enum vbd_op; -1 if none */
	uint64_t transfer;	       /* id; 0 if none */
};

/** vbd_reason_name - "peer_disconnect"; "none" for VBD_REASON_NONE */
const char *vbd_reason_name(enum vbd_reason reason);

/** vbd_reason_text - one sentence without its full stop */
const char *vbd_reason_text(enum vbd_reason reason);

/** vbd_reason_status - the status that stands for it */
enum vbd_status vbd_reason_status(enum vbd_reason reason);

/** vbd_reason_clean - does the connection end `closed` rather than `failed`? */
bool vbd_reason_clean(enum vbd_reason reason);

/** vbd_reason_of_status - the reason for a failed completion's class; LOCAL_ERROR if no row fits */
enum vbd_reason vbd_reason_of_status(enum vbd_status status);

#endif
