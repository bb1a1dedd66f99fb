/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the other threads run: each data worker is woken at an interval and must make a turn of
 * its loop, and a thread pool with work must take a job. The control thread runs if this code does.
 *
 * A sample of the traffic is taken at every second beat.
 *
 * Beats are counted, not time: after a pause of the whole process every thread has its beats again.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_OBSERVE_HEALTH_H
#define VBD_DAEMON_OBSERVE_HEALTH_H

#include "daemon/core/context.h"

struct vbd_traffic;

/** vbd_health_create - create the daemon's `health`, and begin to beat */
enum vbd_status vbd_health_create(struct vbd_daemon *daemon, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_health_destroy - free it, after the loop, so that no job is under way */
void vbd_health_destroy(struct vbd_daemon *daemon);

/** vbd_health_beat - look at each thread, and wake it for the next look; called at an interval, and
 * by tests */
void vbd_health_beat(struct vbd_daemon *daemon);

/** vbd_health_traffic - the samples of the traffic */
const struct vbd_traffic *vbd_health_traffic(const struct vbd_daemon *daemon);

/* True if all workers, or the thread pool, run. @detail: gets one line. */
bool vbd_health_workers(const struct vbd_daemon *daemon, char *detail, size_t detail_bytes);
bool vbd_health_pool(const struct vbd_daemon *daemon, char *detail, size_t detail_bytes);

#endif
