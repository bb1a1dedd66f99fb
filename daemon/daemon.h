/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Life of the daemon: it is made, stopped and destroyed here, and with it every service.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_DAEMON_H
#define VBD_DAEMON_DAEMON_H

#include "daemon/core/context.h"

/** vbd_daemon_create - loop, log, registries, fabric with running workers; devices that are there
 * are opened */
enum vbd_status vbd_daemon_create(const struct vbd_config *config, struct vbd_daemon **ret_daemon,
	struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_daemon_stop - begin to stop: nothing new, listeners closed, connections disconnected and
 * drained
 * @stopped: called once, when nothing is left or shutdown_timeout_ms has passed
 */
void vbd_daemon_stop(struct vbd_daemon *daemon, void (*stopped)(void *arg), void *arg);

/** vbd_daemon_is_drained - has everything ended? Only then may it be destroyed. */
bool vbd_daemon_is_drained(const struct vbd_daemon *daemon);

/** vbd_daemon_destroy - free everything; once it is drained. NULL is fine. */
void vbd_daemon_destroy(struct vbd_daemon *daemon);

#endif
