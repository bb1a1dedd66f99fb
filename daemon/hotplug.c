/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/daemon.h"

#include "base/attr.h"
#include "base/clock.h"
#include "daemon/connections/connections.h"
#include "daemon/connections/listeners.h"
#include "daemon/connections/peer_reports.h"
#include "daemon/core/traces.h"
#include "daemon/core/watch.h"
#include "daemon/datagrams/endpoints.h"
#include "daemon/kept/reconciler.h"
#include "daemon/memory/buffers.h"
#include "daemon/memory/shared.h"
#include "daemon/memory/windows.h"
#include "daemon/observe/report.h"
#include "daemon/uevent.h"
#include "rdma/fabric/fabric.h"
#include "rdma/fabric/goodbye.h"
#include "rdma/names/names.h"

#include <unistd.h>

/* While a device can't be opened, or there is no rdma_cm: the time to the first retry and the most
 * between two. A file's mode, and a module that is loaded, have no uevent that tells of them. */
#define RETRY_MS      1000
#define RETRY_MOST_MS 30000

/* How long the start waits for the devices: they open in milliseconds, unless a driver hangs. */
#define START_MS 1000

/* Scan interval without uevents from the kernel. */
#define RESCAN_MS 5000

/* How often queue pairs are looked at, and how many at a time: 512 take 16 s. Only a peer's
 * forbidden access over an otherwise idle connection waits for that. */
#define QP_CHECK_MS    500
#define QP_CHECK_COUNT 16

/* Report ports are opened so many times, on the same timer, where an address may have come:
 * interfaces may change very often, and librdmacm may know a new device late. */
#define LISTENS 10

/* CM ids, awaiting the answer to a disconnect, that the same timer looks at: 1024 take 8 s. */
#define GOODBYE_CHECK_COUNT 64

/* Number of removed devices whose records are kept. */
#define REMOVED_KEPT 16

struct vbd_hotplug {
	struct vbd_daemon *daemon;
	struct vbd_fd_watch *cm_watch;
	struct vbd_fd_watch *control_watch;
	int uevent_fd, link_fd;		   /* -1 if the kernel tells nothing */
	struct vbd_fd_watch *uevent_watch; /* NULL: devices are scanned for periodically */
	struct vbd_fd_watch *link_watch;
	struct vbd_timer *rescan_timer;
	struct vbd_timer *qp_timer;
	unsigned int retry_ms;	   /* to the next retry, if there is to be one */
	unsigned int listens_left; /* calls of vbd_peer_reports_listen() that are left, since an
				      address may have come */
	bool destroying;
	struct vbd_deferred free_removed;
};

static void on_cm_readable(unsigned int events, void *arg)
{
	const struct vbd_hotplug *hotplug = arg;

	(void)events;
	vbd_fabric_dispatch_cm(hotplug->daemon->fabric);
}

static void on_control_readable(unsigned int events, void *arg)
{
	const struct vbd_hotplug *hotplug = arg;

	(void)events;
	vbd_fabric_dispatch_control(hotplug->daemon->fabric);
	/* A call for which the stop waits may have returned: of an AH, an SRQ or a queue pair. */
	vbd_daemon_check_stop(hotplug->daemon);
}

static void on_async_readable(unsigned int events, void *arg)
{
	(void)events;
	vbd_device_drain_async(arg);
}

/* A failure is a lack of memory or descriptors: on_qp_timer() tries again. */
static void watch_fd(const struct vbd_hotplug *hotplug, int fd, vbd_fd_cb cb, void *arg,
	struct vbd_fd_watch **watch)
{
	struct vbd_error error = {0};

	if (vbd_fd_watch_start(hotplug->daemon->loop, fd, VBD_FD_READ, cb, arg, watch, &error) !=
		VBD_OK)
		vbd_log(VBD_LOG_WARNING, NULL, "RDMA events are not watched: %s", error.text);
}

static void watch_new_descriptors(struct vbd_hotplug *hotplug)
{
	const struct vbd_fabric *fabric = hotplug->daemon->fabric;

	if (fabric->cm_channel && !hotplug->cm_watch)
		watch_fd(hotplug, vbd_fabric_cm_fd(fabric), on_cm_readable, hotplug,
			&hotplug->cm_watch);
	vbd_list_for_each_of (struct vbd_device, device, link, &fabric->devices) {
		if (device->state == VBD_DEVICE_PRESENT && !device->async_watch)
			watch_fd(hotplug, vbd_device_async_fd(device), on_async_readable, device,
				&device->async_watch);
	}
}

static void on_cm_opened(void *arg)
{
	struct vbd_hotplug *hotplug = ((struct vbd_daemon *)arg)->hotplug;

	watch_new_descriptors(hotplug);
	hotplug->listens_left = LISTENS;
}

static void open_report_ports(struct vbd_hotplug *hotplug)
{
	if (!hotplug->listens_left || hotplug->daemon->stopping)
		return;
	hotplug->listens_left--;
	if (vbd_peer_reports_listen(hotplug->daemon))
		hotplug->listens_left = 0;
}

/* Append @event, which has type, words and detail, about the device. */
static void append_device_event(
	struct vbd_daemon *daemon, const struct vbd_device *device, struct vbd_event *event)
{
	event->kind = VBD_KIND_DEVICE;
	event->object_id = device->id;
	event->words[VBD_EVENT_STATE] = vbd_device_state_name(device->state);
	(void)snprintf(event->name, sizeof(event->name), "%s", device->name);
	(void)vbd_eventlog_add(daemon->eventlog, event);
	vbd_watch_notify(&daemon->device_watches, false);
}

/* @before: the state before; VBD_DEVICE_STATE_COUNT: none, or the same */
static void VBD_PRINTF(6, 7) log_event(struct vbd_daemon *daemon, const struct vbd_device *device,
	enum vbd_event_type type, enum vbd_severity severity, enum vbd_device_state before,
	const char *fmt, ...)
{
	struct vbd_event event = {.type = type, .severity = severity};
	va_list ap;

	if (before != VBD_DEVICE_STATE_COUNT)
		event.words[VBD_EVENT_PREVIOUS_STATE] = vbd_device_state_name(before);
	if (device->state == VBD_DEVICE_FAILED)
		event.words[VBD_EVENT_CODE] = vbd_status_code(device->error.status);
	va_start(ap, fmt);
	(void)vsnprintf(event.detail, sizeof(event.detail), fmt, ap);
	va_end(ap);
	append_device_event(daemon, device, &event);
}

static void on_scan_done(void *arg)
{
	struct vbd_hotplug *hotplug = ((struct vbd_daemon *)arg)->hotplug;
	unsigned int most_ms = hotplug->uevent_watch ? RETRY_MOST_MS : RESCAN_MS;
	bool lacks = vbd_fabric_lacks(hotplug->daemon->fabric);

	if (lacks || !hotplug->uevent_watch)
		vbd_timer_set(hotplug->rescan_timer,
			lacks && hotplug->retry_ms < most_ms ? hotplug->retry_ms : most_ms);
	hotplug->retry_ms = lacks && hotplug->retry_ms < most_ms ? 2 * hotplug->retry_ms : RETRY_MS;
}

static void on_device_added(struct vbd_device *device, void *arg)
{
	struct vbd_daemon *daemon = arg;

	if (device->state == VBD_DEVICE_FAILED) {
		log_event(daemon, device, VBD_EVENT_DEVICE_FAILED, VBD_SEVERITY_ERROR,
			VBD_DEVICE_STATE_COUNT, "%s: %s", device->name, device->error.text);
		return;
	}
	vbd_traces_sample(daemon, device);
	log_event(daemon, device, VBD_EVENT_DEVICE_ADDED, VBD_SEVERITY_NOTICE,
		VBD_DEVICE_STATE_COUNT, "%s: %s", device->name, device->transport);
	watch_new_descriptors(daemon->hotplug);
	daemon->hotplug->listens_left = LISTENS;
	vbd_listeners_device_added(daemon);
	open_report_ports(daemon->hotplug);
	vbd_reconciler_device_added(daemon);
}

static void rename_objects(struct vbd_daemon *daemon, const struct vbd_device *device)
{
	for (int kind = VBD_KIND_DEVICE + 1; kind < VBD_KIND_COUNT; kind++) {
		const struct vbd_registry *registry = &daemon->registries[kind];

		if (!registry->kind->device)
			continue;
		vbd_registry_for_each (object, registry) {
			struct vbd_device_id *ref = registry->kind->device(object);

			if (ref->id != device->id)
				continue;
			*ref = vbd_device_id_of(device);
			vbd_object_changed(object);
		}
	}
}

static void on_devices_renamed(void *arg)
{
	struct vbd_daemon *daemon = arg;

	vbd_list_for_each_of (struct vbd_device, device, link, &daemon->fabric->devices) {
		if (!device->name_before[0])
			continue;
		rename_objects(daemon, device);
		log_event(daemon, device, VBD_EVENT_DEVICE_RENAMED, VBD_SEVERITY_NOTICE,
			VBD_DEVICE_STATE_COUNT, "%s: has this name now, and was %s before",
			device->name, device->name_before);
	}
}

static void stop_async_watch(struct vbd_device *device)
{
	vbd_fd_watch_stop(device->async_watch);
	device->async_watch = NULL;
}

static void on_device_removing(struct vbd_device *device, void *arg)
{
	struct vbd_daemon *daemon = arg;

	stop_async_watch(device);
	log_event(daemon, device, VBD_EVENT_DEVICE_STATE_CHANGED, VBD_SEVERITY_NOTICE,
		VBD_DEVICE_PRESENT, "%s: is being removed", device->name);
	vbd_listeners_device_removing(daemon, device->name);
	vbd_connections_device_removing(daemon, device->name);
	vbd_windows_device_removing(daemon, device);
	vbd_endpoints_device_removing(daemon, device);
	vbd_buffers_device_removing(daemon, device);
}

static void on_device_removed(struct vbd_device *device, void *arg)
{
	struct vbd_daemon *daemon = arg;
	struct vbd_hotplug *hotplug = daemon->hotplug;

	if (!hotplug || hotplug->destroying)
		return;
	log_event(daemon, device, VBD_EVENT_DEVICE_REMOVED, VBD_SEVERITY_NOTICE,
		VBD_DEVICE_REMOVING, "%s: closed, as no object of verbsd uses it any more",
		device->name);
	vbd_loop_defer(daemon->loop, &hotplug->free_removed);
	if (daemon->fabric->rescan_owed)
		vbd_timer_set(hotplug->rescan_timer, 0);
}

/* Failures are warnings, so that a client that selects by severity gets them. */
static enum vbd_severity async_event_severity(int type)
{
	bool failure = type == IBV_EVENT_PORT_ERR || type == IBV_EVENT_DEVICE_FATAL ||
		       type == IBV_EVENT_CQ_ERR || type == IBV_EVENT_SRQ_ERR ||
		       type == IBV_EVENT_WQ_FATAL;

	return failure ? VBD_SEVERITY_WARNING : VBD_SEVERITY_NOTICE;
}

static void on_async_event(struct vbd_device *device, int type, int port_num, void *arg)
{
	struct vbd_daemon *daemon = arg;
	struct vbd_event event = {.type = VBD_EVENT_DEVICE_ASYNC_EVENT,
		.severity = async_event_severity(type),
		.words[VBD_EVENT_ASYNC_EVENT] = vbd_async_event_name(type),
		.port_num = (uint8_t)port_num};

	(void)snprintf(event.detail, sizeof(event.detail), "%s port %d: %s: %s", device->name,
		port_num, vbd_async_event_name(type), vbd_async_event_text(type));
	append_device_event(daemon, device, &event);
	daemon->hotplug->listens_left = LISTENS;
	/* The address of a LOST listener may be back. */
	vbd_listeners_device_added(daemon);
	vbd_reconciler_device_added(daemon);
}

static struct vbd_registry *registry_of(struct vbd_daemon *daemon, enum vbd_pv_object type)
{
	return type == VBD_PV_PD ? daemon->pds : type == VBD_PV_CQ ? daemon->cqs : daemon->srqs;
}

/* Without memory for its record an object of the fabric is used, but no client finds it. */
static void on_made(enum vbd_pv_object type, uint64_t id, void *item, void *arg)
{
	static const struct vbd_origin of_daemon;
	struct vbd_shared *shared;

	(void)!vbd_shared_add(registry_of(arg, type), &of_daemon, id, item, "", &shared, NULL);
}

static void on_gone(enum vbd_pv_object type, uint64_t id, void *arg)
{
	vbd_shared_remove(registry_of(arg, type), id);
}

static bool on_peer_report(const struct sockaddr *peer, const char *device_name,
	const struct vbd_report *theirs, struct vbd_report *ret_ours, void *arg)
{
	return vbd_report_answer(arg, peer, device_name, theirs, ret_ours);
}

static void on_cm_id_destroyed(void *arg)
{
	struct vbd_daemon *daemon = arg;

	vbd_watch_notify(&daemon->id_watches, false);
}

static const struct vbd_fabric_ops fabric_ops = {
	.id_ended = on_cm_id_destroyed,
	.device_added = on_device_added,
	.devices_renamed = on_devices_renamed,
	.device_removing = on_device_removing,
	.device_removed = on_device_removed,
	.async_event = on_async_event,
	.made = on_made,
	.gone = on_gone,
	.cm_opened = on_cm_opened,
	.scanned = on_scan_done,
	.report = on_peer_report,
};

/* Limit the records of removed devices, since a device may come and go endlessly. */
static void free_removed_devices(struct vbd_deferred *deferred)
{
	struct vbd_hotplug *hotplug = VBD_CONTAINER_OF(deferred, struct vbd_hotplug, free_removed);
	struct vbd_fabric *fabric = hotplug->daemon->fabric;
	unsigned int removed = 0;

	vbd_list_for_each_of (struct vbd_device, device, link, &fabric->devices)
		removed += device->state == VBD_DEVICE_REMOVED;
	vbd_list_for_each_of (struct vbd_device, device, link, &fabric->devices) {
		if (removed <= REMOVED_KEPT)
			return;
		if (device->state != VBD_DEVICE_REMOVED)
			continue;
		log_event(hotplug->daemon, device, VBD_EVENT_DEVICE_DELETED, VBD_SEVERITY_DEBUG,
			VBD_DEVICE_STATE_COUNT, "%s: was removed long ago", device->name);
		vbd_device_destroy(device);
		removed--;
	}
}

void vbd_hotplug_look(struct vbd_daemon *daemon)
{
	daemon->hotplug->retry_ms = RETRY_MS;
	vbd_fabric_rescan(daemon->fabric);
}

static void on_uevent(const char *action, const char *sysname, void *arg)
{
	struct vbd_hotplug *hotplug = arg;

	if (strcmp(action, "remove") == 0)
		vbd_fabric_remove_uverbs(hotplug->daemon->fabric, sysname);
	vbd_hotplug_look(hotplug->daemon);
}

static void on_uevent_readable(unsigned int events, void *arg)
{
	struct vbd_hotplug *hotplug = arg;

	(void)events;
	if (!vbd_uevent_drain(hotplug->uevent_fd, on_uevent, hotplug))
		vbd_fabric_rescan(hotplug->daemon->fabric);
}

static void on_links_changed(unsigned int events, void *arg)
{
	struct vbd_hotplug *hotplug = arg;

	(void)events;
	if (!vbd_linkwatch_drain(hotplug->link_fd))
		return;
	vbd_fabric_forget_recent(hotplug->daemon->fabric);
	hotplug->listens_left = LISTENS;
}

static void on_rescan(void *arg)
{
	struct vbd_hotplug *hotplug = arg;

	vbd_fabric_rescan(hotplug->daemon->fabric);
}

static void on_qp_timer(void *arg)
{
	struct vbd_hotplug *hotplug = arg;

	vbd_timer_set(hotplug->qp_timer, QP_CHECK_MS);
	watch_new_descriptors(hotplug);
	open_report_ports(hotplug);
	vbd_fabric_check_qps(hotplug->daemon->fabric, QP_CHECK_COUNT);
	vbd_calls_check(hotplug->daemon->fabric->calls, vbd_clock_mono_ns());
	if (!hotplug->daemon->stopping)
		vbd_fabric_check_network(hotplug->daemon->fabric, vbd_clock_mono_ns());
	vbd_goodbyes_check(hotplug->daemon->fabric, vbd_clock_mono_ns(), GOODBYE_CHECK_COUNT);
}

static void watch_netlink(struct vbd_hotplug *hotplug,
	enum vbd_status (*open_fd)(int *ret_fd, struct vbd_error *err), vbd_fd_cb cb, int *fd,
	struct vbd_fd_watch **watch, const char *otherwise)
{
	struct vbd_error error = {0};
	enum vbd_status status = open_fd(fd, &error);

	if (!status)
		status = vbd_fd_watch_start(
			hotplug->daemon->loop, *fd, VBD_FD_READ, cb, hotplug, watch, &error);
	if (status)
		vbd_log(VBD_LOG_WARNING, NULL, "%s: %s", otherwise, error.text);
}

static enum vbd_status start_fabric(struct vbd_hotplug *hotplug, struct vbd_error *err)
{
	struct vbd_daemon *daemon = hotplug->daemon;
	enum vbd_status status;

	status = vbd_timer_create(daemon->loop, on_rescan, hotplug, &hotplug->rescan_timer, err);
	if (!status)
		status = vbd_timer_create(
			daemon->loop, on_qp_timer, hotplug, &hotplug->qp_timer, err);
	if (status)
		return status;
	status = vbd_fabric_create((unsigned int)daemon->config->workers,
		(uint32_t)daemon->config->default_cqe, (uint32_t)daemon->config->drain_timeout_ms,
		&fabric_ops, daemon, &daemon->fabric, err);
	if (status)
		return status;
	daemon->fabric->last_device_id = daemon->last_device_id;
	daemon->fabric->last_pd_id = daemon->pds->last_id;
	daemon->fabric->last_cq_id = daemon->cqs->last_id;
	daemon->fabric->last_srq_id = daemon->srqs->last_id;
	vbd_fabric_pin(daemon->fabric, &daemon->config->cpu_affinity);
	status = vbd_fd_watch_start(daemon->loop, vbd_fabric_control_fd(daemon->fabric),
		VBD_FD_READ, on_control_readable, hotplug, &hotplug->control_watch, err);
	if (!status)
		status = vbd_fabric_start(daemon->fabric, err);
	if (status)
		return status;
	watch_netlink(hotplug, vbd_uevent_open, on_uevent_readable, &hotplug->uevent_fd,
		&hotplug->uevent_watch,
		"no uevents from the kernel: scanning for devices periodically");
	watch_netlink(hotplug, vbd_linkwatch_open, on_links_changed, &hotplug->link_fd,
		&hotplug->link_watch, "what is known of ports may be 10 s old");
	vbd_timer_set(hotplug->qp_timer, QP_CHECK_MS);
	/* Scan after the uevents are watched, so that no device is missed. */
	vbd_fabric_rescan(daemon->fabric);
	vbd_fabric_await_scan(daemon->fabric, START_MS);
	if (!vbd_fabric_default_device(daemon->fabric))
		vbd_log(VBD_LOG_NOTICE, NULL,
			"no RDMA device yet; new devices are detected automatically");
	return VBD_OK;
}

enum vbd_status vbd_hotplug_create(struct vbd_daemon *daemon, struct vbd_error *err)
{
	struct vbd_hotplug *hotplug = calloc(1, sizeof(*hotplug));
	enum vbd_status status;

	if (!hotplug)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the devices");
	hotplug->daemon = daemon;
	hotplug->retry_ms = RETRY_MS;
	hotplug->uevent_fd = hotplug->link_fd = -1;
	vbd_deferred_init(&hotplug->free_removed, free_removed_devices);
	daemon->hotplug = hotplug;
	status = start_fabric(hotplug, err);
	if (status)
		vbd_hotplug_destroy(daemon);
	return status;
}

void vbd_hotplug_destroy(struct vbd_daemon *daemon)
{
	struct vbd_hotplug *hotplug = daemon->hotplug;

	if (!hotplug)
		return;
	hotplug->destroying = true;
	vbd_list_remove(&hotplug->free_removed.link);
	if (daemon->fabric)
		vbd_list_for_each_of (struct vbd_device, device, link, &daemon->fabric->devices)
			stop_async_watch(device);
	vbd_fd_watch_stop(hotplug->cm_watch);
	vbd_fd_watch_stop(hotplug->control_watch);
	vbd_fd_watch_stop(hotplug->uevent_watch);
	vbd_fd_watch_stop(hotplug->link_watch);
	if (hotplug->uevent_fd >= 0)
		(void)close(hotplug->uevent_fd);
	if (hotplug->link_fd >= 0)
		(void)close(hotplug->link_fd);
	vbd_timer_destroy(hotplug->rescan_timer);
	vbd_timer_destroy(hotplug->qp_timer);
	if (daemon->fabric)
		daemon->last_device_id = daemon->fabric->last_device_id;
	vbd_fabric_destroy(daemon->fabric);
	daemon->fabric = NULL;
	daemon->hotplug = NULL;
	free(hotplug);
}
