/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/context.h"

enum vbd_status vbd_daemon_accepts_work(const struct vbd_daemon *daemon, struct vbd_error *err)
{
	if (daemon->stopping)
		return vbd_error_set(err, VBD_E_STOPPING, "the daemon is stopping");
	return VBD_OK;
}

void vbd_daemon_check_stop(struct vbd_daemon *daemon)
{
	if (daemon->stopping)
		vbd_loop_defer(daemon->loop, &daemon->stop_check);
}
