/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/connections/inbox.h"

static const char no_memory[] = "no memory";

void vbd_inbox_init(
	struct vbd_inbox *inbox, struct vbd_object *object, enum vbd_event_type lost_event)
{
	*inbox = (struct vbd_inbox){.object = object, .lost_event = lost_event};
	vbd_list_init(&inbox->messages);
	vbd_list_init(&inbox->kept_link);
}

static struct vbd_daemon *daemon_of(const struct vbd_inbox *inbox)
{
	return inbox->object->registry->daemon;
}

/* Count messages that are dropped although no client deleted them, and append an event. */
static void count_dropped(struct vbd_inbox *inbox, uint64_t count, const char *why)
{
	if (!count)
		return;
	inbox->dropped += count;
	daemon_of(inbox)->messages_dropped += count;
	vbd_object_log(inbox->object, inbox->lost_event, VBD_SEVERITY_WARNING, VBD_OK,
		"%llu unread messages were dropped: %s", (unsigned long long)count, why);
	vbd_object_counted(inbox->object);
}

/* Returns false without memory to record the message. */
static bool add_message(struct vbd_inbox *inbox, struct vbd_recv_slot *slot)
{
	struct vbd_message *message = calloc(1, sizeof(*message));

	inbox->last_seq++;
	inbox->last_received_ns = slot->received_ns;
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

	if (!add_message(inbox, slot)) {
		count_dropped(inbox, 1, no_memory);
		vbd_qp_release_message(inbox->qp, slot);
		return;
	}
	vbd_object_counted(inbox->object);
}

struct vbd_message *vbd_inbox_find(const struct vbd_inbox *inbox, uint64_t seq)
{
	vbd_list_for_each_of (struct vbd_message, message, link, &inbox->messages) {
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

/* The memory that a message takes once its connection or endpoint has ended. */
static uint64_t kept_message_bytes(const struct vbd_message *message)
{
	return sizeof(*message) + message->received.length_bytes;
}

static void free_message(struct vbd_inbox *inbox, struct vbd_message *message)
{
	vbd_list_remove(&message->link);
	inbox->count--;
	if (!vbd_list_empty(&inbox->kept_link))
		daemon_of(inbox)->kept_messages_bytes -= kept_message_bytes(message);
	if (vbd_list_empty(&inbox->messages))
		vbd_list_remove(&inbox->kept_link);
	free(message->copy);
	free(message);
}

/* Free the oldest messages until the others have room, or the inbox is empty. */
static void drop_oldest(struct vbd_inbox *inbox)
{
	const struct vbd_daemon *daemon = daemon_of(inbox);
	uint32_t before = inbox->count;

	vbd_list_for_each_of (struct vbd_message, message, link, &inbox->messages) {
		if (daemon->kept_messages_bytes <= daemon->config->records.messages_bytes)
			break;
		free_message(inbox, message);
	}
	count_dropped(inbox, before - inbox->count, "newer ones needed records.messages_bytes");
}

/* Count the messages of an inbox whose receives are about to be freed, and make room for them by
 * dropping messages: first of the inbox that ended first, at last the oldest ones of this inbox. */
static void make_room_for_inbox(struct vbd_inbox *inbox)
{
	struct vbd_daemon *daemon = daemon_of(inbox);

	vbd_list_append(&daemon->kept_inboxes, &inbox->kept_link);
	vbd_list_for_each_of (struct vbd_message, message, link, &inbox->messages)
		daemon->kept_messages_bytes += kept_message_bytes(message);
	while (daemon->kept_messages_bytes > daemon->config->records.messages_bytes)
		drop_oldest(VBD_LIST_FIRST(&daemon->kept_inboxes, struct vbd_inbox, kept_link));
}

static bool copy_message(struct vbd_message *message)
{
	size_t len = message->received.length_bytes;

	message->copy = malloc(len ? len : 1);
	if (!message->copy)
		return false;
	memcpy(message->copy, vbd_channel_recv_data(message->slot), len);
	message->slot = NULL;
	return true;
}

static void copy_messages(void *reader)
{
	struct vbd_inbox *inbox = reader;
	uint64_t lost = 0;

	if (vbd_list_empty(&inbox->messages))
		return;
	make_room_for_inbox(inbox);
	vbd_list_for_each_of (struct vbd_message, message, link, &inbox->messages) {
		if (copy_message(message))
			continue;
		free_message(inbox, message);
		lost++;
	}
	count_dropped(inbox, lost, no_memory);
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
	vbd_list_for_each_of (struct vbd_message, message, link, &inbox->messages)
		free_message(inbox, message);
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
	vbd_list_for_each_of (struct vbd_message, message, link, &inbox->messages) {
		if (message->seq > through)
			break;
		if (message->slot)
			vbd_qp_release_message(inbox->qp, message->slot);
		free_message(inbox, message);
	}
	return VBD_OK;
}
