/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices that come. Call threads list them and open them, since any of that may wait: for a module
 * that the kernel loads, for udev (open_cdev_robust() in util/open_cdev.c of rdma-core 44), or for
 * the driver. A device that can't be opened keeps its record, and each scan tries it again.
 */
#include "base/log.h"
#include "rdma/fabric/fabric_parts.h"
#include "rdma/provider/provider.h"

static bool is_not_removed(const struct vbd_device *device)
{
	return device->state != VBD_DEVICE_REMOVED;
}

static const struct vbd_pv_device *find_in_scan(
	const struct vbd_device *device, const struct vbd_scan *scan)
{
	/* A device that went and came back between two scans has a new uverbs number, or at least
	 * another name in libibverbs. */
	for (size_t i = 0; i < scan->count; i++) {
		if (strcmp(scan->found[i].library_name, device->library_name) == 0 &&
			strcmp(scan->found[i].uverbs_name, device->uverbs_name) == 0)
			return &scan->found[i];
	}
	return NULL;
}

/* A list read while devices exchanged their names may have one name twice: skip it, since another
 * uevent and its scan follow. */
static bool has_unique_name(const struct vbd_scan *scan, const struct vbd_pv_device *found)
{
	for (size_t i = 0; i < scan->count; i++) {
		if (&scan->found[i] != found && strcmp(scan->found[i].name, found->name) == 0)
			return false;
	}
	return true;
}

static bool take_new_name(struct vbd_device *device, const struct vbd_scan *scan)
{
	const struct vbd_pv_device *found = find_in_scan(device, scan);
	const char *before = device->name;

	if (!is_not_removed(device) || !found || strcmp(before, found->name) == 0 ||
		!has_unique_name(scan, found) || !vbd_device_rename(device, found))
		return false;
	(void)snprintf(device->name_before, sizeof(device->name_before), "%s", before);
	return true;
}

/* Devices may have exchanged their names, so all of them are told at once. */
static void take_new_names(struct vbd_fabric *fabric)
{
	bool renamed = false;

	vbd_list_for_each_of (struct vbd_device, device, link, &fabric->devices)
		renamed |= take_new_name(device, &fabric->scan);
	if (renamed && fabric->ops->devices_renamed)
		fabric->ops->devices_renamed(fabric->ops_arg);
	vbd_list_for_each_of (struct vbd_device, device, link, &fabric->devices)
		device->name_before[0] = '\0';
}

static void add_device(struct vbd_fabric *fabric, const struct vbd_pv_device *found)
{
	struct vbd_device *device;

	vbd_list_for_each_of (const struct vbd_device, each, link, &fabric->devices) {
		if (is_not_removed(each) && strcmp(each->name, found->name) == 0) {
			fabric->rescan_owed |= each->state == VBD_DEVICE_REMOVING || each->gone;
			return;
		}
	}
	device = vbd_device_create(
		++fabric->last_device_id, found, fabric->calls, &vbd_fabric_device_ops, fabric);
	if (device)
		vbd_list_append(&fabric->devices, &device->link);
}

static void compare_devices(struct vbd_fabric *fabric)
{
	vbd_list_for_each_of (struct vbd_device, device, link, &fabric->devices) {
		if (is_not_removed(device) && !find_in_scan(device, &fabric->scan))
			vbd_fabric_remove_device(fabric, device);
	}
	take_new_names(fabric);
	fabric->rescan_owed = false;
	for (size_t i = 0; i < fabric->scan.count; i++)
		add_device(fabric, &fabric->scan.found[i]);
	vbd_list_for_each_of (struct vbd_device, device, link, &fabric->devices)
		vbd_device_begin_open(device);
}

/* Call thread. */
static void scan_work(struct vbd_call *call)
{
	struct vbd_scan *scan = VBD_CONTAINER_OF(call, struct vbd_scan, call);

	if (scan->wants_channel &&
		vbd_pv_create_event_channel(&scan->cm_channel, &scan->cm_channel_error) != VBD_OK)
		scan->cm_channel = NULL;
	if (vbd_pv_list_devices(&scan->found, &scan->count, &scan->error) != VBD_OK)
		scan->found = NULL;
}

static void take_cm_channel(struct vbd_fabric *fabric)
{
	struct vbd_scan *scan = &fabric->scan;

	if (!scan->wants_channel)
		return;
	fabric->cm_channel = scan->cm_channel;
	fabric->cm_channel_error = scan->cm_channel_error;
	if (fabric->cm_channel && !fabric->ending && fabric->ops->cm_opened)
		fabric->ops->cm_opened(fabric->ops_arg);
}

static void on_scan_done(struct vbd_call *call)
{
	struct vbd_fabric *fabric = VBD_CONTAINER_OF(call, struct vbd_fabric, scan.call);
	struct vbd_scan *scan = &fabric->scan;

	scan->under_way = false;
	take_cm_channel(fabric);
	scan->failed = !scan->found;
	if (scan->failed)
		vbd_log(VBD_LOG_DEBUG, "fabric", "%s", scan->error.text);
	/* A list older than the last uevent could bring back a device that has gone. */
	else if (!fabric->ending && !scan->owed)
		compare_devices(fabric);
	free(scan->found);
	scan->found = NULL;
	if (fabric->ending)
		return;
	if (scan->owed)
		vbd_fabric_rescan(fabric);
	else if (fabric->ops->scanned)
		fabric->ops->scanned(fabric->ops_arg);
}

void vbd_fabric_rescan(struct vbd_fabric *fabric)
{
	struct vbd_scan *scan = &fabric->scan;

	scan->owed = scan->under_way;
	if (scan->under_way)
		return;
	*scan = (struct vbd_scan){.call.work = scan_work,
		.call.done = on_scan_done,
		.under_way = true,
		.wants_channel = !fabric->cm_channel};
	vbd_call_start(fabric->calls, &scan->call, VBD_LANE_PEER);
}

bool vbd_fabric_is_scanning(const struct vbd_fabric *fabric)
{
	bool scanning = fabric->scan.under_way;

	vbd_list_for_each_of (struct vbd_device, device, link, &fabric->devices)
		scanning |= device->opening;
	return scanning;
}

bool vbd_fabric_lacks(const struct vbd_fabric *fabric)
{
	bool lacks = !fabric->cm_channel || fabric->scan.failed;

	vbd_list_for_each_of (const struct vbd_device, device, link, &fabric->devices) {
		lacks |= device->state == VBD_DEVICE_FAILED || device->state == VBD_DEVICE_OPENING;
	}
	return lacks;
}
