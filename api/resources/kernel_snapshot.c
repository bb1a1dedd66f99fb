/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources/kernel_snapshot.h"

#include "api/resources/context.h"
#include "daemon/observe/kernel.h"

#include <stdlib.h>

struct awaited {
	struct vbd_watch watch;
	struct vbd_request *req;
	uint64_t number;
	void (*answer)(struct vbd_request *req, bool fresh);
};

static void end(struct awaited *awaited)
{
	vbd_watch_remove(&awaited->watch);
	free(awaited);
}

static void on_snapshot(struct vbd_watch *watch, bool gone)
{
	struct awaited *awaited = VBD_CONTAINER_OF(watch, struct awaited, watch);

	if (gone || vbd_kernel_snapshots_taken(vbd_request_daemon(awaited->req)) < awaited->number)
		return;
	awaited->answer(awaited->req, true);
	end(awaited);
}

static void on_timeout(struct vbd_request *req, void *arg)
{
	struct awaited *awaited = arg;

	awaited->answer(req, false);
	end(awaited);
}

static void on_gone(struct vbd_request *req, void *arg)
{
	(void)req;
	end(arg);
}

void vbd_kernel_snapshot_await(
	struct vbd_request *req, void (*answer)(struct vbd_request *req, bool fresh))
{
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	uint64_t number = vbd_kernel_snapshot_begin(daemon);
	struct awaited *awaited;

	if (vbd_kernel_snapshots_taken(daemon) >= number) {
		answer(req, true);
		return;
	}
	awaited = calloc(1, sizeof(*awaited));
	if (!awaited || vbd_request_park(req, VBD_KERNEL_SNAPSHOT_TIMEOUT_MS, on_timeout, on_gone,
				awaited, NULL) != VBD_OK) {
		free(awaited);
		answer(req, false);
		return;
	}
	*awaited = (struct awaited){.req = req, .number = number, .answer = answer};
	vbd_list_init(&awaited->watch.link);
	awaited->watch.cb = on_snapshot;
	vbd_watch_add(vbd_kernel_watches(daemon), &awaited->watch);
}

uint64_t vbd_kernel_snapshot_others_waiting(const struct vbd_request *req, uint64_t parked)
{
	return parked - (req->parked && parked ? 1 : 0);
}
