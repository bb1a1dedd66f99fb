/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/server_parts.h"

#include <microhttpd.h>

/* MHD's timeout knows nothing of connections that its callbacks have resumed, so that they would
 * wait for the next request. */
static void set_timer(struct vbd_server_endpoint *endpoint)
{
	MHD_UNSIGNED_LONG_LONG timeout_ms = 0;
	bool has_timeout = MHD_get_timeout(endpoint->mhd, &timeout_ms) == MHD_YES;

	if (!endpoint->run_soon && !(has_timeout && timeout_ms == 0))
		vbd_server_wake_undrained(endpoint);
	if (endpoint->run_soon)
		return;
	if (has_timeout)
		vbd_timer_set(endpoint->timer, timeout_ms);
	else
		vbd_timer_clear(endpoint->timer);
}

static void run(struct vbd_server_endpoint *endpoint)
{
	endpoint->run_soon = false;
	endpoint->server->stats.runs++;
	vbd_server_take_turns(endpoint);
	(void)MHD_run(endpoint->mhd);
	vbd_server_convict(endpoint);
	set_timer(endpoint);
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
