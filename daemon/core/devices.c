/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/core/devices.h"

#include "base/hugepage.h"
#include "base/text.h"

#include <sys/resource.h>

/* The name of a device that the author of @name may have meant; NULL if none is like it. */
static const char *device_like(const struct vbd_daemon *daemon, const char *name)
{
	struct vbd_similar similar = {.word = name};

	vbd_list_for_each_of (struct vbd_device, device, link, &daemon->fabric->devices)
		vbd_similar_try(&similar, device->name);
	return similar.like;
}

struct vbd_device *vbd_device_find_ref(
	const struct vbd_daemon *daemon, const char *ref, struct vbd_error *err)
{
	struct vbd_device *found = NULL;
	const char *like;
	uint64_t id = 0;
	bool by_id = vbd_ref_is_id(ref, &id);

	vbd_list_for_each_of (struct vbd_device, device, link, &daemon->fabric->devices) {
		if (by_id ? device->id == id : strcmp(device->name, ref) == 0)
			found = device;
	}
	if (found)
		return found;
	like = device_like(daemon, ref);
	(void)vbd_error_set(err, VBD_E_NOT_FOUND, "there is no device '%.64s'%s%s%s", ref,
		VBD_DID_YOU_MEAN(like));
	return NULL;
}

const struct vbd_daemon *vbd_device_daemon(const struct vbd_device *device)
{
	return ((const struct vbd_fabric *)device->ops_arg)->ops_arg;
}

enum vbd_status vbd_device_choose(const struct vbd_daemon *daemon, const char *name,
	struct vbd_device **ret_device, struct vbd_error *err)
{
	struct vbd_error error = {0};
	const char *like;
	enum vbd_status status = vbd_fabric_choose(daemon->fabric, name, ret_device, &error);

	if (!status)
		return VBD_OK;
	if (!*name)
		return vbd_error_set(err, status, "%s", error.text);
	like = status == VBD_E_NO_DEVICE ? device_like(daemon, name) : NULL;
	if (like && strcmp(like, name) == 0)
		like = NULL; /* the device is there, and can't be used */
	return vbd_error_input(
		err, status, "/device", "%s%s%s%s", error.text, VBD_DID_YOU_MEAN(like));
}

bool vbd_ready_device(const struct vbd_daemon *daemon, char *detail, size_t detail_bytes)
{
	const struct vbd_device *device = vbd_fabric_default_device(daemon->fabric);
	const struct vbd_device *unopened = vbd_fabric_unopened_device(daemon->fabric, NULL);
	const char *without = unopened ? unopened->error.text : "no RDMA device";

	(void)snprintf(detail, detail_bytes, "%s", device ? device->name : without);
	return device;
}

bool vbd_ready_port(const struct vbd_daemon *daemon, char *detail, size_t detail_bytes)
{
	const struct vbd_device *device = vbd_fabric_default_device(daemon->fabric);

	if (device && vbd_device_port_active(device)) {
		(void)snprintf(detail, detail_bytes, "%s has an active port", device->name);
		return true;
	}
	(void)snprintf(detail, detail_bytes, "no port is active");
	return false;
}

bool vbd_ready_cm(const struct vbd_daemon *daemon, char *detail, size_t detail_bytes)
{
	(void)snprintf(detail, detail_bytes, "%s",
		daemon->fabric->cm_channel ? "open" : daemon->fabric->cm_channel_error.text);
	return daemon->fabric->cm_channel;
}

void vbd_memlock(uint64_t *ret_locked_bytes, uint64_t *ret_limit_bytes)
{
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

	(void)getrlimit(RLIMIT_MEMLOCK, &limit);
	*ret_limit_bytes = limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
	/* VmPin is registered memory, VmLck mlock(2)ed memory; the limit holds for each. */
	*ret_locked_bytes = vbd_proc_bytes("/proc/self/status", "VmPin");
}
