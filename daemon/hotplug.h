/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device hot-plug: kernel uevents, async events, the CM channel, and one teardown for every sign of
 * a removal. The changes of a device are passed on to every service here.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_HOTPLUG_H
#define VBD_DAEMON_HOTPLUG_H

#include "daemon/core/context.h"

/** vbd_hotplug_create - create the fabric, watch uevents, and open the devices that exist */
enum vbd_status vbd_hotplug_create(struct vbd_daemon *daemon, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_hotplug_destroy - stop watching and free the fabric; harmless if it was never created */
void vbd_hotplug_destroy(struct vbd_daemon *daemon);

#endif
