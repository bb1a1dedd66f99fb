/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/observe/netroute.h"

#include <stdlib.h>

struct job {
	struct sockaddr_storage dst, src;
	struct vbd_pv_netroute netroute;
	struct vbd_error err;
	enum vbd_status status;
	vbd_netroute_cb cb;
	void *arg;
};

/* Pool thread. */
static void work(void *arg)
{
	struct job *job = arg;

	job->status = vbd_pv_find_netroute((const struct sockaddr *)&job->dst,
		(const struct sockaddr *)&job->src, &job->netroute, &job->err);
}

static void done(void *arg)
{
	struct job *job = arg;

	job->cb(job->status ? NULL : &job->netroute, &job->err, job->arg);
	free(job);
}

enum vbd_status vbd_netroute_find(struct vbd_daemon *daemon, const struct sockaddr_storage *dst,
	const struct sockaddr_storage *src, vbd_netroute_cb cb, void *arg, struct vbd_error *err)
{
	struct job *job = calloc(1, sizeof(*job));
	enum vbd_status status;

	if (!job)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory to look for a route");
	job->dst = *dst;
	if (src)
		job->src = *src;
	job->cb = cb;
	job->arg = arg;
	status = vbd_loop_work(
		daemon->loop, VBD_WORK_OBSERVE, daemon->callers.current, work, done, job, err);
	if (status)
		free(job);
	return status;
}
