/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evidence: the facts of a connection at the moment of its first error, kept with it until its
 * record is deleted. Later facts would mislead: the interface is up again, the inbox is gone.
 *
 * Control thread. Queries the kernel for a port and a GID: microseconds. The thread pool looks at
 * the route and the counters.
 */
#ifndef VBD_DAEMON_OBSERVE_EVIDENCE_H
#define VBD_DAEMON_OBSERVE_EVIDENCE_H

#include "daemon/connections/connections.h"

/** vbd_evidence_keep - set `kept` of a connection whose end has begun. `keeping` is true until the
 * thread pool has looked as well; the watches are called then. Keeps nothing without memory. Call
 * it again when the connection has ended: if its error has become another one meanwhile, `kept` has
 * the request of that one, and the peer's verbsd is told. */
void vbd_evidence_keep(struct vbd_connection *connection);

#endif
