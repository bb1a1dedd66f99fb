/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/connections/inbox.h"

#include <stdlib.h>
#include <string.h>

void vbd_inbox_init(
	struct vbd_inbox *inbox, struct vbd_object *object, enum vbd_event_type lost_event)
{
	*inbox = (struct vbd_inbox){.object = object, .lost_event = lost_event};
	vbd_list_init(&inbox->messages);
}

/* Returns false without memory to record the message. */
static bool add(struct vbd_inbox *inbox, struct vbd_recv_slot *slot)
{
	struct vbd_message *message = calloc(1, sizeof(*message));

	inbox->last_seq++;
	if (!message)
		return false;
	message->seq = inbox->last_seq;
	message->received_ns = slot->received_ns;
	message->received = slot->received;
	message->slot = slot;
	message->has_source = slot->channel->limits.transport == VBD_TRANSPORT_UD;
	if (message->has_source)
		message->source = vbd_ah_source_of(slot);
	vbd_list_append(&inbox->messages, &message->link);
	inbox->count++;
	return true;
}

static void on_message(void *reader, struct vbd_recv_slot *slot)
{
	struct vbd_inbox *inbox = reader;

	if (!add(inbox, slot)) {
		vbd_object_log(inbox->object, inbox->lost_event, VBD_SEVERITY_ERROR, VBD_OK,
			"message %llu is lost: no memory", (unsigned long long)inbox->last_seq);
		vbd_qp_release_message(inbox->qp, slot);
	}
	vbd_object_counted(inbox->object);
}

struct vbd_message *vbd_inbox_find(const struct vbd_inbox *inbox, uint64_t seq)
{
	vbd_list_for_each (link, &inbox->messages) {
		struct vbd_message *message = VBD_CONTAINER_OF(link, struct vbd_message, link);

		if (message->seq == seq)
			return message;
	}
	return NULL;
}

uint64_t vbd_inbox_newest(const struct vbd_inbox *inbox)
{
	if (vbd_list_empty(&inbox->messages))
		return 0;
	return VBD_CONTAINER_OF(inbox->messages.prev, struct vbd_message, link)->seq;
}

static void free_message(struct vbd_inbox *inbox, struct vbd_message *message)
{
	vbd_list_remove(&message->link);
	inbox->count--;
	free(message->copy);
	free(message);
}

static void copy_messages(void *reader)
{
	struct vbd_inbox *inbox = reader;

	vbd_list_for_each (link, &inbox->messages) {
		struct vbd_message *message = VBD_CONTAINER_OF(link, struct vbd_message, link);

		message->copy =
			malloc(message->received.length_bytes ? message->received.length_bytes : 1);
		if (!message->copy) {
			free_message(inbox, message);
			continue;
		}
		memcpy(message->copy, vbd_channel_recv_data(message->slot),
			message->received.length_bytes);
		message->slot = NULL;
	}
}

void vbd_inbox_attach(struct vbd_inbox *inbox, struct vbd_qp *qp)
{
	static const struct vbd_qp_reader_ops ops = {
		.on_message = on_message,
		.before_memory_freed = copy_messages,
	};

	inbox->qp = qp;
	qp->reader_ops = &ops;
	qp->reader = inbox;
}

void vbd_inbox_clear(struct vbd_inbox *inbox)
{
	vbd_list_for_each (link, &inbox->messages)
		free_message(inbox, VBD_CONTAINER_OF(link, struct vbd_message, link));
}

const uint8_t *vbd_message_data(const struct vbd_message *message)
{
	return message->slot ? vbd_channel_recv_data(message->slot) : message->copy;
}

enum vbd_status vbd_inbox_delete(struct vbd_inbox *inbox, uint64_t through, struct vbd_error *err)
{
	if (through > inbox->last_seq)
		return vbd_error_input(err, VBD_E_OUT_OF_RANGE, "through",
			"only %llu messages have been received so far",
			(unsigned long long)inbox->last_seq);
	vbd_list_for_each (link, &inbox->messages) {
		struct vbd_message *message = VBD_CONTAINER_OF(link, struct vbd_message, link);

		if (message->seq > through)
			break;
		if (message->slot)
			vbd_qp_release_message(inbox->qp, message->slot);
		free_message(inbox, message);
	}
	return VBD_OK;
}
