/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reports of the other sides of connections on their ends (rdma/fabric/report.h), and the
 * connections by their queue pairs.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_CONNECTIONS_PEER_REPORTS_H
#define VBD_DAEMON_CONNECTIONS_PEER_REPORTS_H

#include "daemon/connections/connections.h"
#include "rdma/fabric/report.h"

struct vbd_peer_report {
	struct vbd_report theirs; /* the newest */
	/* Why the device here refused the peer's request. verbsd judges the request once, and shows
	 * the result to callers of this verbsd. */
	enum vbd_report_memory memory;
	uint64_t over_bytes;
};

/** vbd_peer_reports_expect - @connection is established, or may be at the peer: from now on a
 * report may name it by its queue pairs, if both are known. Opens a report port on the local
 * address as well, unless the configuration says no. A later call does nothing. */
void vbd_peer_reports_expect(struct vbd_connection *connection);

/** vbd_peer_reports_listen - open a report port on each address of the devices, unless the
 * configuration says no: the peers of an earlier run ask there what has become of it. Call it when
 * a device or an address may have come. False if a later call may open more. */
bool vbd_peer_reports_listen(struct vbd_daemon *daemon);

/** vbd_peer_reports_find - the newest connection of these queue pairs on the device; NULL if there
 * is none. The caller checks that the peer is the same. */
struct vbd_connection *vbd_peer_reports_find(
	struct vbd_daemon *daemon, const char *device_name, uint32_t lqpn, uint32_t rqpn);

/** vbd_peer_reports_forget - the connection is freed */
void vbd_peer_reports_forget(struct vbd_connection *connection);

#endif
