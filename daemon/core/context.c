/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/context.h"

VBD_ENUM_NAMES(vbd_drain_state_name, enum vbd_drain_state, VBD_DRAIN_STATE_MAP)

enum vbd_status vbd_daemon_accepts_work(const struct vbd_daemon *daemon, struct vbd_error *err)
{
	if (daemon->stopping)
		return vbd_error_set(err, VBD_E_STOPPING, "the daemon is stopping");
	if (daemon->drain.state != VBD_DRAIN_SERVING)
		return vbd_error_set(err, VBD_E_DRAINING, "the state of the drain is %s",
			vbd_drain_state_name(daemon->drain.state));
	return VBD_OK;
}

void vbd_daemon_check_stop(struct vbd_daemon *daemon)
{
	if (daemon->stopping || daemon->drain.state == VBD_DRAIN_DRAINING)
		vbd_loop_defer(daemon->loop, &daemon->stop_check);
}
