/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/device/cm_silence.h"

#include "rdma/device/device.h"
#include "rdma/device/port_counters.h"

static void add(const char *name, uint64_t value, void *arg)
{
	(void)name;
	*(uint64_t *)arg += value;
}

uint64_t vbd_cm_messages_in(const struct vbd_device *device, uint8_t port_num)
{
	uint64_t sum = 0;

	if (port_num)
		vbd_port_counters_read(
			device->ibdev_path, port_num, VBD_COUNTER_SET_CM_RX_MSGS, add, &sum);
	return sum;
}

void vbd_cm_silence_begin(struct vbd_device *device, uint8_t port_num)
{
	device->cm_port_num = vbd_device_is_soft_roce(device) ? port_num : 0;
	device->cm_counted = false;
}

void vbd_cm_silence_counted(struct vbd_device *device, uint64_t messages)
{
	if (!device->cm_counted)
		device->cm_messages_before = messages;
	device->cm_counted = device->cm_port_num;
	device->cm_messages = messages;
}

bool vbd_cm_is_silent(const struct vbd_device *device)
{
	return device->port_err_ns && device->cm_counted &&
	       device->cm_messages == device->cm_messages_before;
}

bool vbd_cm_must_not_send(struct vbd_device *device)
{
	return vbd_device_is_soft_roce(device) && device->state == VBD_DEVICE_PRESENT &&
	       vbd_device_ports_down(device);
}
