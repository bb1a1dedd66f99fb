/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explanations: the facts of a connection, gathered from all objects and the kernel; the findings
 * that follow from them; and the causes of its end.
 *
 * Control thread. Queries the kernel for ports, GID tables and interfaces: microseconds.
 */
#ifndef VBD_DAEMON_OBSERVE_EXPLAIN_H
#define VBD_DAEMON_OBSERVE_EXPLAIN_H

#include "daemon/connections/connections.h"
#include "daemon/core/context.h"
#include "daemon/core/traces.h"
#include "rdma/diagnose/judge.h"

/*
 * A look at the surroundings of a connection: the route and the neighbour of its peer, and the
 * counters of its device; whether the device of a peer that is silent answers, and what its verbsd
 * reports on the connection. It is taken on the thread pool, since each part may block.
 */
struct vbd_look {
	bool netroute_known;
	struct vbd_error err; /* why not */
	struct vbd_pv_netroute netroute;
	bool asked, answered;	  /* a question was sent to the peer's host; the host answered */
	uint64_t rtt_ns;	  /* of that answer */
	bool replied;		  /* a verbsd at the peer's host did; `report` is set */
	struct vbd_report report; /* not `known`: the peer's verbsd has no such connection */
	uint64_t transfer; /* a transfer that had waited for some time before the look; 0: none */
	uint64_t transfer_done;		/* the bytes that it had done before the look */
	struct vbd_trace_sample sample; /* at_ns 0: there is none */
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
 * @caller: whose work it is on the thread pool; see vbd_loop_work()
 * @dst:    IPv4 or IPv6
 * @src:    source address; NULL or ss_family 0 for any
 * @cb:     as for vbd_look_begin()
 */
enum vbd_status vbd_look_at_route(struct vbd_daemon *daemon, struct vbd_caller *caller,
	const struct sockaddr_storage *dst, const struct sockaddr_storage *src, vbd_look_cb cb,
	void *arg, struct vbd_error *err) VBD_MUST_CHECK;

/*
 * Evidence: the facts of a connection at the moment of its first error, kept with it until its
 * record is deleted. Later facts would mislead: the interface may be up again, and the inbox gone.
 * The thread pool looks at the route and the counters.
 */

/** vbd_evidence_keep - set `kept` of a connection whose end has begun. `keeping` is true until the
 * thread pool has looked as well; the watches are called then. Keeps nothing without memory. Call
 * it again when the connection has ended: if its error has become another one meanwhile, `kept` has
 * the request of that one, and the peer's verbsd is told. */
void vbd_evidence_keep(struct vbd_connection *connection);

struct vbd_explanation {
	char summary[768]; /* one sentence with its full stop */
	struct vbd_facts facts;
	struct vbd_verdicts verdicts;
	/* the last timeline entry before the first error; NULL if there was no error */
	const struct vbd_timeline_entry *preceding;
};

/** vbd_explain_ends - get the addresses of both ends, with port 0: from the CM, else on RoCE from
 * the GIDs; false while they are not known */
bool vbd_explain_ends(const struct vbd_connection *connection, struct sockaddr_storage *ret_local,
	struct sockaddr_storage *ret_peer);

/**
 * vbd_explain_connection - explain a connection in any state, also of the history
 * @look: at its surroundings now; NULL: there was none. Facts that were kept at the first error are
 *        preferred.
 * @reader: NULL: sees everything. An operator learns nothing of the transfers of others, and of a
 *          connection of the daemon neither what the peer asked of memory nor what is wrong with it
 * @role: of @reader for this connection: from "operate" on it gets the peer's private data
 */
void vbd_explain_connection(const struct vbd_connection *connection, const struct vbd_look *look,
	struct vbd_caller *reader, enum vbd_role role, struct vbd_explanation *ret_explanation);

/** vbd_explain_gather - the facts of a connection: `kept` if they are kept, with those that may
 * still change after the first error; else all as they are now
 * @look: as for vbd_explain_connection() */
void vbd_explain_gather(const struct vbd_connection *connection, const struct vbd_look *look,
	struct vbd_facts *ret_facts);

/** vbd_explain_take - set the facts that follow from @look for @connection, at once, while a reply
 * is new: what the peer's verbsd replied; and unless the facts that are kept have them, its route,
 * and by how much the counters rose since its incident began */
void vbd_explain_take(const struct vbd_connection *connection, const struct vbd_look *look,
	struct vbd_facts *facts);

/** vbd_explain_incident - set the incident of a connection: how it failed, or why it waits. If
 * facts are kept, only members that may still change after the first error.
 * @look: as for vbd_explain_connection() */
void vbd_explain_incident(const struct vbd_connection *connection, const struct vbd_look *look,
	struct vbd_incident *incident);

/** vbd_explain_request - set the request of @connection that failed, or waits longest for the peer;
 * leaves @incident as it is if none is known now */
void vbd_explain_request(const struct vbd_connection *connection, struct vbd_incident *incident);

/** vbd_explain_running - a transfer that has waited so long for the peer that one may ask whether
 * it makes progress: its id and the bytes done so far; false if there is none */
bool vbd_explain_running(
	const struct vbd_connection *connection, uint64_t *ret_transfer, uint64_t *ret_done_bytes);

/** vbd_explain_unheard - does the connection wait for a sign of the peer, or did it end for lack of
 * one, or by the peer's disconnect, which its host or device may have sent when it went? */
bool vbd_explain_unheard(const struct vbd_connection *connection);

/* The destination of a connection to come. */
struct vbd_destination {
	struct sockaddr_storage addr;
	struct sockaddr_storage src; /* of the request or its device; ss_family 0: any */
	char device[64];	     /* of the request; "" for any */
	uint64_t device_id;	     /* set by vbd_destination_choose(); 0 for any */
};

/**
 * vbd_destination_choose - check the request as a connection would, and set `src` to the device's
 *
 * VBD_E_NO_DEVICE, _ADDRESS_NOT_AVAILABLE; _BAD_VALUE at "dst_addr" or "src_addr".
 */
enum vbd_status vbd_destination_choose(const struct vbd_daemon *daemon,
	struct vbd_destination *destination, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_explain_destination - facts and findings of a route without a connection. @netroute: the
 * route from `src` to the destination. */
void vbd_explain_destination(const struct vbd_daemon *daemon,
	const struct vbd_destination *destination, const struct vbd_pv_netroute *netroute,
	struct vbd_explanation *ret_explanation);

/** vbd_explain_netroute - set the facts that follow from @netroute to @dst, NULL if unknown;
 * without a device, and if the port that leads there is down, that port with its device and GID */
void vbd_explain_netroute(const struct vbd_fabric *fabric, const struct vbd_pv_netroute *netroute,
	const struct sockaddr *dst, struct vbd_facts *facts);

#endif
