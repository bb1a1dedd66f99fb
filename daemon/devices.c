/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/devices.h"

#include "base/attr.h"
#include "daemon/buffers.h"
#include "daemon/connections.h"
#include "daemon/endpoints.h"
#include "daemon/listeners.h"
#include "daemon/uevent.h"
#include "daemon/windows.h"
#include "rdma/names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* A device that can't be opened at once (its node is not there yet) is tried this often, this far
 * apart. */
#define RETRIES	 5
#define RETRY_MS 1000

/* Only where the kernel's uevents can't be heard. */
#define RESCAN_MS 5000

/* Records of removed devices that are kept. */
#define REMOVED_KEPT 16

/* The watch of one device's async events. */
struct async_watch {
	struct vbd_link link;
	struct vbd_device *device;
	struct vbd_fd_watch *fd_watch;
};

struct vbd_devices {
	struct vbd_daemon *daemon;
	struct vbd_fd_watch *cm_watch;
	struct vbd_fd_watch *control_watch;
	struct vbd_uevent *uevent; /* NULL where there are none */
	struct vbd_fd_watch *uevent_watch;
	struct vbd_timer *rescan_timer;
	unsigned int retries_left;
	bool destroying;
	struct vbd_link async_watches;
	struct vbd_deferred forget_old;
};

static void log_failure(const char *what, const struct vbd_error *error)
{
	vbd_log(VBD_LOG_WARNING, NULL, "%s: %s", what, error->text);
}

static void on_cm_readable(unsigned int events, void *arg)
{
	const struct vbd_devices *devices = arg;

	(void)events;
	vbd_fabric_dispatch_cm(devices->daemon->fabric);
}

static void on_control_readable(unsigned int events, void *arg)
{
	const struct vbd_devices *devices = arg;

	(void)events;
	vbd_fabric_dispatch_control(devices->daemon->fabric);
}

static void on_async_readable(unsigned int events, void *arg)
{
	const struct async_watch *watch = arg;

	(void)events;
	vbd_device_drain_async(watch->device);
}

static void stop_async_watch(struct async_watch *watch)
{
	vbd_list_remove(&watch->link);
	vbd_fd_watch_stop(watch->fd_watch);
	free(watch);
}

static void watch_async(struct vbd_devices *devices, struct vbd_device *device)
{
	struct async_watch *watch = calloc(1, sizeof(*watch));
	struct vbd_error error = {0};

	if (!watch)
		return;
	watch->device = device;
	if (vbd_fd_watch_start(devices->daemon->loop, vbd_device_async_fd(device), VBD_FD_READ,
		    on_async_readable, watch, &watch->fd_watch, &error) != VBD_OK) {
		log_failure("async events are not watched", &error);
		free(watch);
		return;
	}
	vbd_list_append(&devices->async_watches, &watch->link);
}

static void on_cm_opened(void *arg)
{
	struct vbd_devices *devices = ((struct vbd_daemon *)arg)->devices;
	struct vbd_error error = {0};

	if (vbd_fd_watch_start(devices->daemon->loop, vbd_fabric_cm_fd(devices->daemon->fabric),
		    VBD_FD_READ, on_cm_readable, devices, &devices->cm_watch, &error) != VBD_OK)
		log_failure("CM events are not watched", &error);
}

static void on_device_added(struct vbd_device *device, void *arg)
{
	struct vbd_daemon *daemon = arg;
	bool failed = device->state == VBD_DEVICE_FAILED;

	(void)vbd_eventlog_append(daemon->eventlog,
		failed ? VBD_EVENT_DEVICE_FAILED : VBD_EVENT_DEVICE_ADDED,
		failed ? VBD_SEVERITY_ERROR : VBD_SEVERITY_NOTICE, VBD_KIND_DEVICE, device->id,
		VBD_REASON_NONE, "%s: %s", device->name,
		failed ? device->error.text : device->transport);
	if (failed) {
		if (daemon->devices->retries_left > 0) {
			daemon->devices->retries_left--;
			vbd_timer_set(daemon->devices->rescan_timer, RETRY_MS);
		}
		return;
	}
	watch_async(daemon->devices, device);
	vbd_listeners_device_added(daemon);
}

static void on_device_removing(struct vbd_device *device, void *arg)
{
	struct vbd_daemon *daemon = arg;

	vbd_list_for_each (link, &daemon->devices->async_watches) {
		struct async_watch *watch = VBD_CONTAINER_OF(link, struct async_watch, link);

		if (watch->device == device)
			stop_async_watch(watch);
	}
	vbd_log(VBD_LOG_NOTICE, device->name, "is being removed");
	vbd_listeners_device_removing(daemon, device->name);
	vbd_connections_device_removing(daemon, device->name);
	vbd_windows_device_removing(daemon, device);
	vbd_endpoints_device_removing(daemon, device);
	vbd_buffers_device_removing(daemon, device);
}

static void on_device_removed(struct vbd_device *device, void *arg)
{
	struct vbd_daemon *daemon = arg;
	struct vbd_devices *devices = daemon->devices;

	if (!devices || devices->destroying)
		return;
	(void)vbd_eventlog_append(daemon->eventlog, VBD_EVENT_DEVICE_REMOVED, VBD_SEVERITY_NOTICE,
		VBD_KIND_DEVICE, device->id, VBD_REASON_NONE,
		"%s: nothing of ours holds it any more", device->name);
	vbd_loop_defer(daemon->loop, &devices->forget_old);
	if (daemon->fabric->rescan_owed)
		vbd_timer_set(devices->rescan_timer, 0);
}

static void on_async_event(struct vbd_device *device, int type, int port_num, void *arg)
{
	struct vbd_daemon *daemon = arg;

	(void)vbd_eventlog_append(daemon->eventlog, VBD_EVENT_DEVICE_ASYNC, VBD_SEVERITY_NOTICE,
		VBD_KIND_DEVICE, device->id, VBD_REASON_NONE, "%s port %d: %s: %s", device->name,
		port_num, vbd_async_event_name(type), vbd_async_event_text(type));
	/* A listener's address may be back now. */
	vbd_listeners_device_added(daemon);
}

static const struct vbd_fabric_ops fabric_ops = {
	.device_added = on_device_added,
	.device_removing = on_device_removing,
	.device_removed = on_device_removed,
	.async_event = on_async_event,
	.cm_opened = on_cm_opened,
};

/* Records of removed devices don't pile up when one comes and goes for ever. */
static void forget_old(struct vbd_deferred *deferred)
{
	struct vbd_devices *devices = VBD_CONTAINER_OF(deferred, struct vbd_devices, forget_old);
	struct vbd_fabric *fabric = devices->daemon->fabric;
	unsigned int removed = 0;

	vbd_list_for_each (link, &fabric->devices)
		removed += VBD_CONTAINER_OF(link, struct vbd_device, link)->state ==
			   VBD_DEVICE_REMOVED;
	vbd_list_for_each (link, &fabric->devices) {
		struct vbd_device *device = VBD_CONTAINER_OF(link, struct vbd_device, link);

		if (removed <= REMOVED_KEPT)
			return;
		if (device->state != VBD_DEVICE_REMOVED)
			continue;
		vbd_device_destroy(device);
		removed--;
	}
}

static void on_uevent(const char *action, const char *sysname, void *arg)
{
	struct vbd_devices *devices = arg;

	if (strcmp(action, "remove") == 0)
		vbd_fabric_remove_uverbs(devices->daemon->fabric, sysname);
	devices->retries_left = RETRIES;
	vbd_fabric_rescan(devices->daemon->fabric);
}

static void on_uevent_readable(unsigned int events, void *arg)
{
	struct vbd_devices *devices = arg;

	(void)events;
	if (!vbd_uevent_drain(devices->uevent, on_uevent, devices))
		vbd_fabric_rescan(devices->daemon->fabric);
}

static void on_rescan(void *arg)
{
	struct vbd_devices *devices = arg;

	if (!devices->uevent)
		vbd_timer_set(devices->rescan_timer, RESCAN_MS);
	vbd_fabric_rescan(devices->daemon->fabric);
}

static enum vbd_status watch_uevents(struct vbd_devices *devices, struct vbd_error *err)
{
	enum vbd_status status = vbd_uevent_create(&devices->uevent, err);

	if (status)
		return status;
	return vbd_fd_watch_start(devices->daemon->loop, vbd_uevent_fd(devices->uevent),
		VBD_FD_READ, on_uevent_readable, devices, &devices->uevent_watch, err);
}

static enum vbd_status start(struct vbd_devices *devices, struct vbd_error *err)
{
	struct vbd_daemon *daemon = devices->daemon;
	struct vbd_error uevent_error = {0};
	enum vbd_status status;

	status = vbd_timer_create(daemon->loop, on_rescan, devices, &devices->rescan_timer, err);
	if (status)
		return status;
	status = vbd_fabric_create((unsigned int)daemon->config->workers,
		(uint32_t)daemon->config->cq_depth, (uint32_t)daemon->config->drain_timeout_ms,
		&fabric_ops, daemon, &daemon->fabric, err);
	if (status)
		return status;
	if (daemon->fabric->channel)
		on_cm_opened(daemon);
	status = vbd_fd_watch_start(daemon->loop, vbd_fabric_control_fd(daemon->fabric),
		VBD_FD_READ, on_control_readable, devices, &devices->control_watch, err);
	if (!status)
		status = vbd_fabric_start(daemon->fabric, err);
	if (status)
		return status;
	if (watch_uevents(devices, &uevent_error) != VBD_OK) {
		log_failure("no uevents, looking at the devices now and again", &uevent_error);
		vbd_timer_set(devices->rescan_timer, RESCAN_MS);
	}
	/* After the uevents are watched, so that no device slips through in between. */
	vbd_fabric_rescan(daemon->fabric);
	if (!vbd_fabric_default_device(daemon->fabric))
		vbd_log(VBD_LOG_NOTICE, NULL,
			"no RDMA device yet; one that comes is taken up by itself");
	return VBD_OK;
}

enum vbd_status vbd_devices_create(struct vbd_daemon *daemon, struct vbd_error *err)
{
	struct vbd_devices *devices = calloc(1, sizeof(*devices));
	enum vbd_status status;

	if (!devices)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the devices");
	devices->daemon = daemon;
	devices->retries_left = RETRIES;
	vbd_list_init(&devices->async_watches);
	vbd_deferred_init(&devices->forget_old, forget_old);
	daemon->devices = devices;
	status = start(devices, err);
	if (status)
		vbd_devices_destroy(daemon);
	return status;
}

void vbd_devices_destroy(struct vbd_daemon *daemon)
{
	struct vbd_devices *devices = daemon->devices;

	if (!devices)
		return;
	devices->destroying = true;
	vbd_list_remove(&devices->forget_old.link);
	vbd_list_for_each (link, &devices->async_watches)
		stop_async_watch(VBD_CONTAINER_OF(link, struct async_watch, link));
	vbd_fd_watch_stop(devices->cm_watch);
	vbd_fd_watch_stop(devices->control_watch);
	vbd_fd_watch_stop(devices->uevent_watch);
	vbd_uevent_destroy(devices->uevent);
	vbd_timer_destroy(devices->rescan_timer);
	vbd_fabric_destroy(daemon->fabric);
	daemon->fabric = NULL;
	daemon->devices = NULL;
	free(devices);
}

static bool parse_id(const char *ref, uint64_t *ret_id)
{
	char *end;

	if (*ref < '0' || *ref > '9')
		return false;
	errno = 0;
	*ret_id = strtoull(ref, &end, 10);
	return *end == '\0' && errno == 0;
}

struct vbd_device *vbd_device_find_ref(
	struct vbd_daemon *daemon, const char *ref, struct vbd_error *err)
{
	struct vbd_device *found = NULL;
	uint64_t id = 0;
	bool by_id = parse_id(ref, &id);

	vbd_list_for_each (link, &daemon->fabric->devices) {
		struct vbd_device *device = VBD_CONTAINER_OF(link, struct vbd_device, link);

		if (by_id ? device->id == id : strcmp(device->name, ref) == 0)
			found = device;
	}
	if (!found)
		(void)vbd_error_set(err, VBD_E_NOT_FOUND, "there is no device '%.64s'", ref);
	return found;
}

enum vbd_status vbd_device_choose(const struct vbd_daemon *daemon, const char *name,
	struct vbd_device **ret_device, struct vbd_error *err)
{
	struct vbd_device *device;

	device = name[0] ? vbd_fabric_device(daemon->fabric, name)
			 : vbd_fabric_default_device(daemon->fabric);
	if (!device && name[0])
		return vbd_error_input(
			err, VBD_E_NO_DEVICE, "/device", "there is no device '%s'", name);
	if (!device)
		return vbd_error_set(err, VBD_E_NO_DEVICE, "there is no RDMA device");
	*ret_device = device;
	return vbd_device_usable(device, err);
}

bool vbd_ready_device(const struct vbd_daemon *daemon, char *detail, size_t detail_bytes)
{
	const struct vbd_device *device = vbd_fabric_default_device(daemon->fabric);

	(void)snprintf(detail, detail_bytes, "%s", device ? device->name : "no RDMA device");
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
		daemon->fabric->channel ? "open" : daemon->fabric->channel_error.text);
	return daemon->fabric->channel;
}

void vbd_memlock(uint64_t *ret_locked_bytes, uint64_t *ret_limit_bytes)
{
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
	unsigned long long kib;
	char line[128];
	FILE *file;

	(void)getrlimit(RLIMIT_MEMLOCK, &limit);
	*ret_limit_bytes = limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
	*ret_locked_bytes = 0;
	file = fopen("/proc/self/status", "re");
	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		/* Registered memory counts as pinned, mlock(2)ed as locked; the limit is on each.
		 */
		if (sscanf(line, "VmPin: %llu kB", &kib) == 1) /* NOLINT: bounded by the kernel */
			*ret_locked_bytes = kib * 1024;
	}
	(void)fclose(file);
}
