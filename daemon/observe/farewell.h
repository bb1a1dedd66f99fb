/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A farewell: a daemon that stops reports that to the verbsd of its peers, which can't ask it any
 * more when somebody wants to know why their connections ended.
 *
 * Control thread. A call thread sends the reports while the connections are closed.
 */
#ifndef VBD_DAEMON_OBSERVE_FAREWELL_H
#define VBD_DAEMON_OBSERVE_FAREWELL_H

#include "daemon/core/context.h"

/* Only the newest connections are told of: as many requests as may wait in the kernel of a
 * peer (rdma/fabric/report.c). */
#define VBD_FAREWELLS_MAX 64

/* A silent peer delays the end of the daemon by no more, or by an eighth of shutdown_timeout_ms. */
#define VBD_FAREWELL_MS 400

/** vbd_farewell_begin - the connections of @daemon are about to be closed: tell the peers of those
 * that are established. The daemon has not stopped before that is over. */
void vbd_farewell_begin(struct vbd_daemon *daemon);

#endif
