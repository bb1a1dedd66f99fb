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
	MHD_UNSIGNED_LONG_LONG timeout_ms = 0;
	bool has_timeout;

	endpoint->run_again = false;
	endpoint->server->stats.runs++;
	vbd_server_take_turns(endpoint);
	(void)MHD_run(endpoint->mhd);
	has_timeout = MHD_get_timeout(endpoint->mhd, &timeout_ms) == MHD_YES;
	if (!endpoint->run_again && !(has_timeout && timeout_ms == 0))
		vbd_server_wake_undrained(endpoint);
	if (endpoint->run_again)
		vbd_server_run_soon(endpoint);
	else if (has_timeout)
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
