/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/fabric/goodbye.h"

#include "rdma/device/port_counters.h"
#include "rdma/fabric/fabric.h"
#include "rdma/provider/provider.h"

static void free_goodbye(struct vbd_goodbye *goodbye)
{
	goodbye->fabric->goodbye_count--;
	vbd_list_remove(&goodbye->link);
	vbd_account_close(&goodbye->account);
	free(goodbye);
}

static void end_goodbye(struct vbd_goodbye *goodbye)
{
	vbd_calls_end_id(goodbye->fabric->calls, &goodbye->account, goodbye->cm_id);
	free_goodbye(goodbye);
}

static bool is_on_device(const struct vbd_goodbye *goodbye, const struct vbd_device *device)
{
	const char *name = vbd_device_of_id(&goodbye->fabric->devices, goodbye->cm_id);

	return name && strcmp(name, device->name) == 0;
}

static void set_said(struct vbd_goodbye *goodbye)
{
	goodbye->kind = VBD_GOODBYE_SAID;
	goodbye->said_ns = vbd_clock_mono_ns();
}

static void say_or_end_held(struct vbd_goodbye *goodbye)
{
	if (goodbye->kind == VBD_GOODBYE_SAID)
		return;
	if (goodbye->kind == VBD_GOODBYE_HELD &&
		vbd_calls_disconnect(goodbye->fabric->calls, goodbye->cm_id))
		set_said(goodbye);
	else
		end_goodbye(goodbye);
}

void vbd_goodbyes_go_on(struct vbd_fabric *fabric, struct vbd_device *device)
{
	if (vbd_cm_must_not_send(device))
		return;
	vbd_list_for_each_of (struct vbd_goodbye, goodbye, link, &fabric->goodbyes) {
		if (is_on_device(goodbye, device))
			say_or_end_held(goodbye);
	}
}

bool vbd_goodbye_begin(struct vbd_fabric *fabric, enum vbd_goodbye_kind kind,
	struct rdma_cm_id *cm_id, struct vbd_account *account)
{
	struct vbd_goodbye *goodbye;

	if (fabric->exits || fabric->goodbye_count >= VBD_GOODBYES_MAX)
		return false;
	goodbye = calloc(1, sizeof(*goodbye));
	if (!goodbye)
		return false;
	goodbye->tag.kind = VBD_CM_GOODBYE;
	goodbye->fabric = fabric;
	goodbye->kind = kind;
	if (kind == VBD_GOODBYE_SAID)
		set_said(goodbye);
	goodbye->cm_id = cm_id;
	vbd_account_hand_over(account, &goodbye->account, VBD_PV_CM_ID);
	vbd_pv_set_id_context(cm_id, &goodbye->tag);
	vbd_list_append(&fabric->goodbyes, &goodbye->link);
	fabric->goodbye_count++;
	return true;
}

void vbd_goodbye_on_cm_event(struct vbd_goodbye *goodbye, const struct vbd_pv_cm_event *event)
{
	/* The other events are hints, or were on their way before the disconnect. */
	if (event->type == RDMA_CM_EVENT_DISCONNECTED ||
		event->type == RDMA_CM_EVENT_TIMEWAIT_EXIT ||
		event->type == RDMA_CM_EVENT_DEVICE_REMOVAL)
		end_goodbye(goodbye);
}

void vbd_goodbyes_check(struct vbd_fabric *fabric, uint64_t now_ns, unsigned int count)
{
	const struct vbd_link *first = NULL;
	struct vbd_link *link;

	for (; count && (link = vbd_list_go_round(&fabric->goodbyes, &first)); count--) {
		struct vbd_goodbye *goodbye = VBD_CONTAINER_OF(link, struct vbd_goodbye, link);

		if (goodbye->kind == VBD_GOODBYE_SAID &&
			(goodbye->tag.disconnect_failed ||
				now_ns >= goodbye->said_ns + VBD_GOODBYE_PATIENCE_NS))
			end_goodbye(goodbye);
	}
}

void vbd_goodbyes_abandon(struct vbd_fabric *fabric)
{
	vbd_list_for_each_of (struct vbd_goodbye, goodbye, link, &fabric->goodbyes) {
		if (fabric->exits)
			free_goodbye(goodbye);
		else
			end_goodbye(goodbye);
	}
}
