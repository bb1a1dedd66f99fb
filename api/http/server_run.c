/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/server_parts.h"

#include <microhttpd.h>

/* A timer, so that MHD runs from the loop only: its callbacks must not call MHD_run(). */
void vbd_server_run_soon(struct vbd_server_endpoint *endpoint)
{
	vbd_timer_set(endpoint->timer, 0);
}

static void run(struct vbd_server_endpoint *endpoint)
{
	MHD_UNSIGNED_LONG_LONG timeout_ms;

	endpoint->run_again = false;
	(void)MHD_run(endpoint->mhd);
	if (endpoint->run_again)
		vbd_server_run_soon(endpoint);
	else if (MHD_get_timeout(endpoint->mhd, &timeout_ms) == MHD_YES)
		vbd_timer_set(endpoint->timer, timeout_ms);
	else
		vbd_timer_clear(endpoint->timer);
}

void vbd_server_on_ready(unsigned int events, void *arg)
{
	(void)events;
	run(arg);
}

void vbd_server_on_timer(void *arg)
{
	run(arg);
}
