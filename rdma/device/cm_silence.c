/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/device/cm_silence.h"

#include "rdma/device/device.h"
#include "rdma/device/port_counters.h"

static void add(const char *name, uint64_t value, void *arg)
{
	(void)name;
	*(uint64_t *)arg += value;
}

static uint64_t messages_in(const struct vbd_device *device, uint8_t port_num)
{
	uint64_t sum = 0;

	vbd_port_counters_read(device->ibdev_path, port_num, VBD_COUNTER_SET_CM_RX_MSGS, add, &sum);
	return sum;
}

void vbd_cm_silence_begin(struct vbd_device *device, uint8_t port_num)
{
	if (!vbd_device_is_soft_roce(device))
		return;
	device->cm_port_num = port_num;
	device->cm_messages_before = messages_in(device, port_num);
}

bool vbd_cm_is_silent(const struct vbd_device *device)
{
	return device->port_err_ns && device->cm_port_num &&
	       messages_in(device, device->cm_port_num) == device->cm_messages_before;
}

bool vbd_cm_must_not_send(struct vbd_device *device)
{
	return vbd_device_is_soft_roce(device) && device->state == VBD_DEVICE_PRESENT &&
	       vbd_device_ports_down(device);
}
