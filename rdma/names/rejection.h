/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reason that a verbsd gives with a rejection that no client asked for: "verbsd: CODE" as
 * private data, where CODE is that of a refusal of a listener, of a status, or one below.
 *
 * Any thread.
 */
#ifndef VBD_RDMA_NAMES_REJECTION_H
#define VBD_RDMA_NAMES_REJECTION_H

#include "base/enum.h"

/* clang-format off */
/*
 * X(SYMBOL, json name, text here, text and advice for the side that was refused)
 *
 * Why a connect request was refused, in the order of the checks: a stranger uses up no rate of
 * those that are allowed.
 */
#define VBD_CONNECT_REFUSAL_MAP(X) \
	X(VBD_CONNECT_REFUSAL_DRAINING, "draining", "verbsd drains, and begins nothing new", \
		"the verbsd there drains, and begins nothing new", \
		"Connect to another host, or have the drain taken back there: `verbsctl undrain`.") \
	X(VBD_CONNECT_REFUSAL_POLICY, "policy", "the listener rejects every request", \
		"its listener rejects every request", \
		"Have accept of that listener changed to auto or manual.") \
	X(VBD_CONNECT_REFUSAL_NOT_ALLOWED, "not_allowed", "the peer is not in allow", \
		"the address of this side is not among those that its listener allows", \
		"Have the address of this side added to allow of that listener, or connect from one that is.") \
	X(VBD_CONNECT_REFUSAL_RATE, "rate", "connects_per_s is used up", \
		"more connect requests came than connects_per_s of its listener", \
		"Connect again later, or have connects_per_s of that listener raised.") \
	X(VBD_CONNECT_REFUSAL_PER_PEER, "max_per_peer", "the peer has max_per_peer connections", \
		"this side has as many connections to its listener as max_per_peer", \
		"Close connections to it, or have max_per_peer of that listener raised.") \
	X(VBD_CONNECT_REFUSAL_CONNECTIONS, "max_connections", "there are max_connections", \
		"its listener has as many connections as max_connections", \
		"Have connections of that listener closed, or its max_connections raised.") \
	X(VBD_CONNECT_REFUSAL_RESERVED, "reserved", \
		"the rest of limits.connections is kept for connections that verbsd opens", \
		"the rest of its limits.connections is kept for connections that it opens itself", \
		"Have connections closed there, or limits.connections of its configuration raised.") \
	X(VBD_CONNECT_REFUSAL_FAULT, "fault", "a fault of a client refuses it", \
		"it was told to refuse connect requests, as a test", \
		"Wait until the fault there is deleted: `verbsctl faults ls`.") \
	X(VBD_CONNECT_REFUSAL_PATH_MTU, "path_mtu", "the path MTU of the peer is larger than that of the port here", \
		"the path MTU of this side is larger than the port there carries", \
		"Give the interfaces of both sides the same MTU (`ip link`), or set qp.path_mtu_bytes of both, of that listener and here, to the smaller one.") \
	X(VBD_CONNECT_REFUSAL_QUOTA, "quota", "a quota of the listener's owner is used up", \
		"the owner of its listener has used up a quota", \
		"Have connections of that owner closed, or its quotas in callers_file there raised.") \
	X(VBD_CONNECT_REFUSAL_ERROR, "error", "the connection could not be made", \
		"it could not make the connection", \
		"See security_connect_refused among the events there: `verbsctl events`.")
/* clang-format on */

enum vbd_connect_refusal {
	VBD_CONNECT_REFUSAL_MAP(VBD_ENUM_ROW) VBD_CONNECT_REFUSAL_COUNT,
	VBD_CONNECT_REFUSAL_NONE
};

/** vbd_connect_refusal_name - "max_per_peer" */
const char *vbd_connect_refusal_name(enum vbd_connect_refusal refusal);

/** vbd_connect_refusal_text - "the peer has max_per_peer connections" */
const char *vbd_connect_refusal_text(enum vbd_connect_refusal refusal);

/** vbd_connect_refusal_told - the same for the side that was refused: a clause about the other */
const char *vbd_connect_refusal_told(enum vbd_connect_refusal refusal);

/** vbd_connect_refusal_advice - a sentence: the remedy for the side that was refused */
const char *vbd_connect_refusal_advice(enum vbd_connect_refusal refusal);

#define VBD_REJECTION_PREFIX "verbsd: "

/* The code of a request whose listener was deleted. */
#define VBD_REJECTION_LISTENER_DELETED "listener_deleted"

/* The meaning of such a reason for the side that was rejected. */
struct vbd_rejection {
	char text[200];	    /* a clause about the other side, without a full stop */
	const char *advice; /* a sentence */
};

/** vbd_rejection_read - read the text of a rejection; false if it is of another program, or has the
 * code of a later version */
bool vbd_rejection_read(const char *words, struct vbd_rejection *ret_rejection);

#endif
