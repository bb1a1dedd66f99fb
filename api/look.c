/* SPDX-License-Identifier: Apache-2.0 */
#include "api/look.h"

#include "api/context.h"
#include "daemon/kernel.h"

#include <stdlib.h>

struct look {
	struct vbd_watch watch;
	struct vbd_request *req;
	uint64_t number;
	void (*answer)(struct vbd_request *req, bool fresh);
};

static void end(struct look *look)
{
	vbd_watch_remove(&look->watch);
	free(look);
}

static void on_looked(struct vbd_watch *watch, bool gone)
{
	struct look *look = VBD_CONTAINER_OF(watch, struct look, watch);

	if (gone || vbd_kernel_looked(vbd_request_daemon(look->req)) < look->number)
		return;
	look->answer(look->req, true);
	end(look);
}

static void on_timeout(struct vbd_request *req, void *arg)
{
	struct look *look = arg;

	look->answer(req, false);
	end(look);
}

static void on_gone(struct vbd_request *req, void *arg)
{
	(void)req;
	end(arg);
}

void vbd_look_run(struct vbd_request *req, void (*answer)(struct vbd_request *req, bool fresh))
{
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	uint64_t number = vbd_kernel_look(daemon);
	struct look *look;

	if (vbd_kernel_looked(daemon) >= number) {
		answer(req, true);
		return;
	}
	look = calloc(1, sizeof(*look));
	if (!look || vbd_request_park(req, VBD_LOOK_PATIENCE_MS, on_timeout, on_gone, look, NULL) !=
			     VBD_OK) {
		free(look);
		answer(req, false);
		return;
	}
	*look = (struct look){.req = req, .number = number, .answer = answer};
	vbd_list_init(&look->watch.link);
	look->watch.cb = on_looked;
	vbd_watch_add(vbd_kernel_watches(daemon), &look->watch);
}

uint64_t vbd_look_others_waiting(const struct vbd_request *req, uint64_t parked)
{
	return parked - (req->parked && parked ? 1 : 0);
}
