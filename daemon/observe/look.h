/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look at what surrounds a connection: the route and the neighbour of its peer, and the counters
 * of its device; whether the device of a peer that is silent answers, and what its verbsd reports
 * on the connection. The thread pool looks, since all may block.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_OBSERVE_LOOK_H
#define VBD_DAEMON_OBSERVE_LOOK_H

#include "daemon/connections/connections.h"
#include "daemon/core/context.h"
#include "rdma/diagnose/facts.h"
#include "rdma/fabric/report.h"
#include "rdma/provider/ask.h"
#include "rdma/provider/netroute.h"

struct vbd_look {
	bool netroute_known;
	struct vbd_error err; /* why not */
	struct vbd_pv_netroute netroute;
	bool asked, answered;	  /* a question to the peer's host has left; it answered */
	uint64_t rtt_ns;	  /* of that answer */
	bool replied;		  /* a verbsd at the peer's host did; `report` is set */
	struct vbd_report report; /* not `known`: it does not know the connection */
	uint64_t transfer; /* the one that waited before the look, for some time; 0: not watched */
	uint64_t transfer_done; /* its bytes then */
	bool counted;		/* the two members below are set */
	uint64_t counted_ns;
	uint64_t counters[VBD_TRACE_COUNT];
};

typedef void (*vbd_look_cb)(const struct vbd_look *look, void *arg);

/**
 * vbd_look_begin - begin to look at what surrounds @connection
 * @cb: called exactly once, unless this function returns an error; also while the daemon is being
 *      destroyed, when it must not access the daemon
 */
enum vbd_status vbd_look_begin(const struct vbd_connection *connection, vbd_look_cb cb, void *arg,
	struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_look_at_route - find route and neighbour of an address; nothing is sent to it
 * @dst: IPv4 or IPv6
 * @src: source address; NULL or ss_family 0 for any
 * @cb:  as for vbd_look_begin()
 */
enum vbd_status vbd_look_at_route(struct vbd_daemon *daemon, const struct sockaddr_storage *dst,
	const struct sockaddr_storage *src, vbd_look_cb cb, void *arg,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_look_take - set the facts that follow from @look for @connection: its route, and by how much
 * the counters rose since its incident began */
void vbd_look_take(const struct vbd_connection *connection, const struct vbd_look *look,
	struct vbd_facts *facts);

/** vbd_look_take_reply - set the facts that follow from the reply of the peer's verbsd, if any
 * came: at once, while the reply is new */
void vbd_look_take_reply(const struct vbd_connection *connection, const struct vbd_look *look,
	struct vbd_facts *facts);

#endif
