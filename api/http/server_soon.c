/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/server_parts.h"

/* A timer, so that MHD runs from the loop only: its callbacks must not call MHD_run(). */
void vbd_server_run_soon(struct vbd_server_endpoint *endpoint)
{
	if (endpoint->run_soon)
		return;
	endpoint->run_soon = true;
	vbd_timer_set(endpoint->timer, 0);
}
