/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explanations: the facts of a connection, gathered from wherever they are; what follows from them;
 * and what the table of rdma/diagnose/why.h says of how it ended.
 *
 * Control thread. Asks the kernel for ports, GID tables and interfaces: microseconds.
 */
#ifndef VBD_DAEMON_OBSERVE_EXPLAIN_H
#define VBD_DAEMON_OBSERVE_EXPLAIN_H

#include "daemon/connections/connections.h"
#include "rdma/diagnose/facts.h"
#include "rdma/diagnose/why.h"

#define VBD_CAUSES_MAX 3

struct vbd_explanation {
	char summary[480]; /* one sentence with its stop */
	struct vbd_facts facts;
	struct vbd_findings findings;
	struct vbd_why causes[VBD_CAUSES_MAX]; /* the closest to what was seen first */
	size_t cause_count;		       /* 0: nothing went wrong */
	/* what the connection noted last before its first error; NULL if there was no error */
	const struct vbd_timeline_entry *preceding;
};

/** vbd_explain_ends - the addresses of both ends: of the CM, else on RoCE what the GIDs are; false
 * while they are not known. Port 0. */
bool vbd_explain_ends(const struct vbd_connection *connection, struct sockaddr_storage *ret_local,
	struct sockaddr_storage *ret_peer);

/**
 * vbd_explain_connection - of a connection in any state, also of the history
 * @netroute: to its peer, as it is now; NULL if the kernel was not asked
 */
void vbd_explain_connection(const struct vbd_connection *connection,
	const struct vbd_pv_netroute *netroute, struct vbd_explanation *ret_explanation);

/* Where somebody would connect to. */
struct vbd_destination {
	struct sockaddr_storage addr;
	struct sockaddr_storage src; /* asked for, or of the device asked for; ss_family 0: any */
	char device[64];	     /* asked for; "" for any */
};

/**
 * vbd_destination_choose - as a connection would: what is asked for is there and fits, and the
 * source is the device's
 *
 * no_device, address_not_available; bad_value at "dst" or "src".
 */
enum vbd_status vbd_destination_choose(const struct vbd_daemon *daemon,
	struct vbd_destination *destination, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_explain_destination - the facts and findings of a route to an address, without a connection
 * @netroute: to it, from its `src` */
void vbd_explain_destination(const struct vbd_daemon *daemon,
	const struct vbd_destination *destination, const struct vbd_pv_netroute *netroute,
	struct vbd_explanation *ret_explanation);

/** vbd_explain_netroute - the facts that @netroute tells, of a connection or of a destination */
void vbd_explain_netroute(const struct vbd_daemon *daemon, const struct vbd_pv_netroute *netroute,
	struct vbd_facts *facts);

#endif
