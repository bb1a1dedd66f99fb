/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a connection ended: the statuses that can be the reason of an end. A row gives the symbol of
 * the status, and whether the connection ends `closed` (nothing went wrong) or `failed`. Name,
 * text and hint are those of the status.
 *
 * Any thread.
 */
#ifndef VBD_RDMA_NAMES_REASON_H
#define VBD_RDMA_NAMES_REASON_H

#include "base/enum.h"
#include "base/error.h"

/* X(SYMBOL of the status, clean, outcome in explanations unless a deadline or a completion tells
 * more: VBD_OUTCOME_… of rdma/diagnose/facts.h) */
#define VBD_REASON_MAP(X)                        \
	X(PEER_DISCONNECT, true, PEER_LEFT)      \
	X(LOCAL_CLOSE, true, CLOSED)             \
	X(CANCELLED, true, CANCELLED)            \
	X(STOPPING, true, STOPPED)               \
	X(DAEMON_DIED, false, STOPPED)           \
	X(REJECTED, false, REJECTED)             \
	X(REJECTED_LOCALLY, true, REJECTED_HERE) \
	X(UNREACHABLE, false, UNANSWERED)        \
	X(NAME_NOT_RESOLVED, false, NAMELESS)    \
	X(ADDR_ERROR, false, UNRESOLVED)         \
	X(ROUTE_ERROR, false, UNRESOLVED)        \
	X(CONNECT_ERROR, false, HANDSHAKE)       \
	X(TIMED_OUT, false, LATE)                \
	X(RETRY_EXCEEDED, false, UNACKED)        \
	X(PEER_SILENT, false, SILENT)            \
	X(RNR_EXCEEDED, false, RNR)              \
	X(REMOTE_ACCESS, false, ACCESS)          \
	X(REMOTE_OPERATION, false, SERVICE)      \
	X(REMOTE_INVALID, false, INVALID)        \
	X(LOCAL_ERROR, false, REQUEST_FAILED)    \
	X(DEVICE_REMOVED, false, DEVICE_LOST)    \
	X(QP_FATAL, false, QP_FAILED)            \
	X(RESOURCE_ERROR, false, RESOURCE)       \
	X(PROTOCOL_ERROR, false, PROTOCOL)

enum vbd_reason {
	VBD_REASON_NONE,
#define VBD_REASON_ENUM(sym, ...) VBD_REASON_##sym,
	VBD_REASON_MAP(VBD_REASON_ENUM)
#undef VBD_REASON_ENUM
		VBD_REASON_COUNT
};

/*
 * How it is known that the device of this side refused a request of the peer, which ends the
 * connection. X(SYMBOL, name)
 */
#define VBD_REFUSAL_MAP(X)                                                               \
	X(VBD_REFUSAL_NONE, "none")                                                      \
	/* The QP is in ERR, nobody here had moved it there, and no work request failed: \
	 * this is likely. */                                                            \
	X(VBD_REFUSAL_QP_STATE, "qp_state")                                              \
	/* The device said so. */                                                        \
	X(VBD_REFUSAL_ASYNC_EVENT, "async_event")

enum vbd_refusal { VBD_REFUSAL_MAP(VBD_ENUM_ROW) VBD_REFUSAL_COUNT };

/** vbd_refusal_name - "qp_state" */
const char *vbd_refusal_name(enum vbd_refusal refusal);

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

/** vbd_reason_name - the code of the status, "peer_disconnect"; "none" for VBD_REASON_NONE */
const char *vbd_reason_name(enum vbd_reason reason);

/** vbd_reason_text - one sentence without its full stop */
const char *vbd_reason_text(enum vbd_reason reason);

/** vbd_reason_status - the status of the same name; VBD_OK for VBD_REASON_NONE */
enum vbd_status vbd_reason_status(enum vbd_reason reason);

/** vbd_reason_clean - does the connection end `closed` rather than `failed`? */
bool vbd_reason_clean(enum vbd_reason reason);

/** vbd_reason_of_status - the reason for the status of a failed completion or call; LOCAL_ERROR if
 * the status is no reason */
enum vbd_reason vbd_reason_of_status(enum vbd_status status);

#endif
