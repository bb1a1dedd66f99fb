/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call threads ask ports of devices, and addresses of interfaces. A port may answer only when
 * nobody changes network interfaces any more (ib_get_eth_speed() in core/verbs.c, 6.1), and so may
 * getifaddrs(3).
 */
#include "base/clock.h"
#include "rdma/device/port_counters.h"
#include "rdma/fabric/fabric_parts.h"

#include <ifaddrs.h>

/* Events and news of network interfaces tell of all that Soft-RoCE and siw change. */
#define AGE_NS (10 * VBD_NS_PER_S)

struct asking {
	struct vbd_call call;
	struct vbd_device *device; /* with a reference */
	uint8_t cm_port_num;
	uint64_t cm_messages; /* that came in at this port: see rdma/device/port_counters.h */
	struct vbd_port *ports;
	struct vbd_error error;
};

/* Call thread. */
static void ask_work(struct vbd_call *call)
{
	struct asking *asking = VBD_CONTAINER_OF(call, struct asking, call);

	asking->ports = vbd_device_ask_ports(
		asking->device->context, asking->device->attr.phys_port_cnt, &asking->error);
	asking->cm_messages = vbd_cm_messages_in(asking->device, asking->cm_port_num);
}

static void on_answer(struct vbd_call *call)
{
	struct asking *asking = VBD_CONTAINER_OF(call, struct asking, call);
	struct vbd_device *device = asking->device;
	struct vbd_port *unused = asking->ports;

	device->ports_asked = false;
	/* The answer may be older than the last event. */
	if (device->ports_owed) {
		vbd_ports_ask(call->calls, device);
	} else if (unused) {
		unused = device->ports;
		device->ports = asking->ports;
		device->ports_error = asking->error;
		vbd_cm_silence_counted(device, asking->cm_messages);
	} else {
		device->ports_owed = true;
	}
	vbd_device_unref(device);
	free(unused);
	free(asking);
}

void vbd_ports_ask(struct vbd_calls *calls, struct vbd_device *device)
{
	struct asking *asking;

	device->ports_owed = true;
	if (device->ports_asked || device->state != VBD_DEVICE_PRESENT)
		return;
	asking = calloc(1, sizeof(*asking));
	if (!asking)
		return;
	device->ports_owed = false;
	device->ports_asked = true;
	vbd_device_ref(device);
	asking->device = device;
	asking->cm_port_num = device->cm_port_num;
	asking->call.work = ask_work;
	asking->call.done = on_answer;
	vbd_call_start(calls, &asking->call, VBD_LANE_PEER);
}

/* Call thread. */
static void read_interfaces(struct vbd_call *call)
{
	struct vbd_fabric *fabric = VBD_CONTAINER_OF(call, struct vbd_fabric, interfaces_call);

	if (getifaddrs(&fabric->interfaces_read) != 0)
		fabric->interfaces_read = NULL;
}

static void on_interfaces_read(struct vbd_call *call)
{
	struct vbd_fabric *fabric = VBD_CONTAINER_OF(call, struct vbd_fabric, interfaces_call);
	struct ifaddrs *unused = fabric->interfaces_read;

	fabric->interfaces_asked = false;
	if (fabric->interfaces_owed) {
		vbd_interfaces_ask(fabric);
	} else if (unused) {
		unused = fabric->interfaces;
		fabric->interfaces = fabric->interfaces_read;
	} else {
		fabric->interfaces_owed = true;
	}
	freeifaddrs(unused);
}

void vbd_interfaces_ask(struct vbd_fabric *fabric)
{
	fabric->interfaces_owed = fabric->interfaces_asked;
	if (fabric->interfaces_asked)
		return;
	fabric->interfaces_asked = true;
	fabric->interfaces_call.work = read_interfaces;
	fabric->interfaces_call.done = on_interfaces_read;
	vbd_call_start(fabric->calls, &fabric->interfaces_call, VBD_LANE_PEER);
}

const struct ifaddrs *vbd_interfaces_known(const struct vbd_fabric *fabric)
{
	return fabric->interfaces_asked || fabric->interfaces_owed ? NULL : fabric->interfaces;
}

void vbd_fabric_check_network(struct vbd_fabric *fabric, uint64_t now_ns)
{
	bool old = now_ns >= fabric->network_at_ns + AGE_NS;

	if (old)
		fabric->network_at_ns = now_ns;
	if (old || fabric->interfaces_owed)
		vbd_interfaces_ask(fabric);
	vbd_list_for_each (link, &fabric->devices) {
		struct vbd_device *device = VBD_CONTAINER_OF(link, struct vbd_device, link);

		if (old || device->ports_owed || vbd_cm_is_silent(device))
			vbd_ports_ask(fabric->calls, device);
	}
}
