/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/inbox.h"

#include <stdlib.h>
#include <string.h>

void vbd_inbox_add(struct vbd_connection *connection, struct vbd_recv_slot *slot)
{
	struct vbd_message *message = calloc(1, sizeof(*message));

	connection->last_seq++;
	if (!message) {
		(void)vbd_eventlog_append(connection->daemon->eventlog, VBD_EVENT_CONNECTION_ASYNC,
			VBD_SEVERITY_ERROR, VBD_KIND_CONNECTION, connection->object.id,
			VBD_REASON_NONE, "message %llu is lost: no memory",
			(unsigned long long)connection->last_seq);
		vbd_conn_release_message(connection->conn, slot);
		return;
	}
	message->seq = connection->last_seq;
	message->received_ns = slot->received_ns;
	message->received = slot->received;
	message->slot = slot;
	vbd_list_append(&connection->inbox, &message->link);
	connection->inbox_count++;
}

static void free_message(struct vbd_connection *connection, struct vbd_message *message)
{
	vbd_list_remove(&message->link);
	connection->inbox_count--;
	free(message->copy);
	free(message);
}

void vbd_inbox_detach(struct vbd_connection *connection)
{
	vbd_list_for_each (link, &connection->inbox) {
		struct vbd_message *message = VBD_CONTAINER_OF(link, struct vbd_message, link);

		message->copy =
			malloc(message->received.length_bytes ? message->received.length_bytes : 1);
		if (!message->copy) {
			free_message(connection, message);
			continue;
		}
		memcpy(message->copy, vbd_channel_recv_data(message->slot),
			message->received.length_bytes);
		message->slot = NULL;
	}
}

void vbd_inbox_clear(struct vbd_connection *connection)
{
	vbd_list_for_each (link, &connection->inbox)
		free_message(connection, VBD_CONTAINER_OF(link, struct vbd_message, link));
}

const uint8_t *vbd_message_data(const struct vbd_message *message)
{
	return message->slot ? vbd_channel_recv_data(message->slot) : message->copy;
}

enum vbd_status vbd_connection_delete_messages(
	struct vbd_connection *connection, uint64_t through, struct vbd_error *err)
{
	if (through > connection->last_seq)
		return vbd_error_input(err, VBD_E_OUT_OF_RANGE, "through",
			"connection %llu has received %llu messages so far",
			(unsigned long long)connection->object.id,
			(unsigned long long)connection->last_seq);
	vbd_list_for_each (link, &connection->inbox) {
		struct vbd_message *message = VBD_CONTAINER_OF(link, struct vbd_message, link);

		if (message->seq > through)
			break;
		if (message->slot)
			vbd_conn_release_message(connection->conn, message->slot);
		free_message(connection, message);
	}
	return VBD_OK;
}
