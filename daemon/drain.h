/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drain: nothing new begins, and what moves data finishes. A client asks for it and may take it
 * back; vbd_daemon_stop() begins with it.
 *
 * While the daemon drains, every request that would make an object or move data is refused
 * (vbd_daemon_accepts_work()), listeners refuse connect requests, and queued connections wait.
 * Kept objects that have gone are not made again until it serves. Open connections stay. A transfer
 * that waits for messages of the peer (op recv) is not waited for.
 *
 * Control thread. Nothing blocks.
 */
#ifndef VBD_DAEMON_DRAIN_H
#define VBD_DAEMON_DRAIN_H

#include "daemon/core/context.h"

/** vbd_drain_create - the daemon serves */
enum vbd_status vbd_drain_create(struct vbd_daemon *daemon, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_drain_destroy - free what vbd_drain_create() made */
void vbd_drain_destroy(struct vbd_daemon *daemon);

/**
 * vbd_drain_begin - begin to drain, or give the drain another deadline
 * @deadline_ms: then transfers under way are cancelled; 0: they may take as long as they need
 *
 * While the daemon stops, the drain is over at its deadline instead: the end of the connections
 * ends their transfers.
 */
void vbd_drain_begin(struct vbd_daemon *daemon, uint64_t deadline_ms);

/** vbd_drain_undo - serve again; `stopping` if the daemon stops. Harmless while it serves. */
enum vbd_status vbd_drain_undo(struct vbd_daemon *daemon, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_drain_check - a transfer may have been the last one that the drain waits for */
void vbd_drain_check(struct vbd_daemon *daemon);

/** vbd_drain_transfers - transfers that a drain waits for */
uint32_t vbd_drain_transfers(const struct vbd_daemon *daemon);

#endif
