/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a listener refuses a connect request.
 *
 * Any thread.
 */
#ifndef VBD_DAEMON_CORE_CONNECT_REFUSAL_H
#define VBD_DAEMON_CORE_CONNECT_REFUSAL_H

#include "base/enum.h"

/*
 * X(SYMBOL, json name, text)
 *
 * Why a connect request was refused, in the order of the checks: a stranger uses up no rate of
 * those that are allowed.
 */
#define VBD_CONNECT_REFUSAL_MAP(X)                                                               \
	X(VBD_CONNECT_REFUSAL_POLICY, "policy", "the listener rejects every request")            \
	X(VBD_CONNECT_REFUSAL_NOT_ALLOWED, "not_allowed", "the peer is not in allow")            \
	X(VBD_CONNECT_REFUSAL_RATE, "rate", "connects_per_s is used up")                         \
	X(VBD_CONNECT_REFUSAL_PER_PEER, "max_per_peer", "the peer has max_per_peer connections") \
	X(VBD_CONNECT_REFUSAL_CONNECTIONS, "max_connections", "there are max_connections")       \
	X(VBD_CONNECT_REFUSAL_RESERVED, "reserved",                                              \
		"the rest of limits.connections is kept for connections that verbsd opens")      \
	X(VBD_CONNECT_REFUSAL_QUOTA, "quota", "a quota of the listener's owner is used up")      \
	X(VBD_CONNECT_REFUSAL_ERROR, "error", "the connection could not be made")

enum vbd_connect_refusal {
	VBD_CONNECT_REFUSAL_MAP(VBD_ENUM_ROW) VBD_CONNECT_REFUSAL_COUNT,
	VBD_CONNECT_REFUSAL_NONE
};

/** vbd_connect_refusal_name - "max_per_peer" */
const char *vbd_connect_refusal_name(enum vbd_connect_refusal refusal);

/** vbd_connect_refusal_text - "the peer has max_per_peer connections" */
const char *vbd_connect_refusal_text(enum vbd_connect_refusal refusal);

#endif
