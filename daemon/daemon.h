/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creation, stop and destruction of the daemon with all its services.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_DAEMON_H
#define VBD_DAEMON_DAEMON_H

#include "daemon/core/context.h"

/** vbd_daemon_create - create loop, log, registries, and fabric with running workers; open the
 * devices */
enum vbd_status vbd_daemon_create(const struct vbd_config *config, struct vbd_daemon **ret_daemon,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_daemon_take_held - take the memory of kept buffers that systemd has held since the run
 * before; after the sockets, and before anything is kept */
void vbd_daemon_take_held(struct vbd_daemon *daemon);

/** vbd_daemon_announce - append the event daemon_started, after all that can fail at the start */
void vbd_daemon_announce(struct vbd_daemon *daemon);

/**
 * vbd_daemon_stop - begin to stop: refuse new work, close listeners, let transfers finish for a
 * part of shutdown_timeout_ms (daemon/drain.h), then disconnect and drain connections
 * @stopped: called once, when all objects have ended or vbd_daemon_stop_time_ms() has passed
 */
void vbd_daemon_stop(struct vbd_daemon *daemon, void (*stopped)(void *arg), void *arg);

/**
 * vbd_daemon_exits - the process ends after vbd_daemon_stop(), which follows: leave it to the
 * kernel to destroy the queue pairs of many connections, which takes it a fraction of the time
 *
 * Each connection is disconnected and drained all the same. If vbd_daemon_leaves() then, the daemon
 * must not be destroyed.
 */
void vbd_daemon_exits(struct vbd_daemon *daemon);

/** vbd_daemon_stop_time_ms - how long objects may take to end: shutdown_timeout_ms, or three
 * quarters of it if the kernel will have queue pairs to destroy when the process ends */
uint64_t vbd_daemon_stop_time_ms(const struct vbd_daemon *daemon);

/** vbd_daemon_leaves - whether queue pairs are left to the kernel to destroy */
bool vbd_daemon_leaves(const struct vbd_daemon *daemon);

/** vbd_daemon_is_drained - has every object ended? Only then may the daemon be destroyed. */
bool vbd_daemon_is_drained(const struct vbd_daemon *daemon);

/** vbd_daemon_use_limits - apply the limits on objects of the changed configuration; objects above
 * a limit stay */
void vbd_daemon_use_limits(struct vbd_daemon *daemon);

/** vbd_daemon_destroy - free the drained daemon. NULL is fine. */
void vbd_daemon_destroy(struct vbd_daemon *daemon);

/** vbd_hotplug_create - create the fabric, watch uevents, and open the devices that exist */
enum vbd_status vbd_hotplug_create(struct vbd_daemon *daemon, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_hotplug_look - something may have changed: look for devices and rdma_cm now, and retry soon
 * what can't be opened */
void vbd_hotplug_look(struct vbd_daemon *daemon);

/** vbd_hotplug_destroy - stop watching and free the fabric; harmless if it was never created */
void vbd_hotplug_destroy(struct vbd_daemon *daemon);

#endif
