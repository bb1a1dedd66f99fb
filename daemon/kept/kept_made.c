/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/kept/kept_made.h"

#include "daemon/connections/connections.h"
#include "daemon/connections/listeners.h"
#include "daemon/connections/peer_reports.h"
#include "daemon/memory/buffers.h"

struct vbd_object *vbd_kept_made(const struct vbd_kept *kept)
{
	const struct vbd_daemon *daemon = kept->object.registry->daemon;

	return vbd_registry_find_id(&daemon->registries[kept->of], kept->made_id);
}

static enum vbd_kept_event see_listener(const struct vbd_listener *listener)
{
	return listener->state == VBD_LISTENER_LISTENING ? VBD_KEPT_EV_READY : VBD_KEPT_EV_LOST;
}

static enum vbd_kept_event see_buffer(const struct vbd_buffer *buffer, struct vbd_error *ret_err)
{
	switch (buffer->state) {
	case VBD_BUFFER_READY:
		return VBD_KEPT_EV_READY;
	case VBD_BUFFER_LOST:
		*ret_err = buffer->error;
		(void)vbd_error_set(ret_err, VBD_E_DEVICE_REMOVED,
			"the buffer's device was removed; its bytes stay");
		return VBD_KEPT_EV_ENDED;
	case VBD_BUFFER_FAILED:
		*ret_err = buffer->error;
		return VBD_KEPT_EV_ENDED;
	case VBD_BUFFER_REGISTERING:
	case VBD_BUFFER_STATE_COUNT:
		break;
	}
	return VBD_KEPT_EV_MADE;
}

static bool must_ask_peer(const struct vbd_connection *connection, enum vbd_reconnect reconnect)
{
	return reconnect == VBD_RECONNECT_ON_FAILURE && vbd_connection_was_left(connection);
}

static bool peer_has_closed(const struct vbd_connection *connection)
{
	const struct vbd_peer_report *report = connection->peer_report;

	return report && report->theirs.reason == VBD_REASON_LOCAL_CLOSE;
}

static bool wants_another(const struct vbd_connection *connection, enum vbd_reconnect reconnect)
{
	enum vbd_reason reason = connection->conn->qp.reason;

	if (reconnect == VBD_RECONNECT_ALWAYS)
		return reason != VBD_REASON_LOCAL_CLOSE && reason != VBD_REASON_CANCELLED;
	if (must_ask_peer(connection, reconnect))
		return !peer_has_closed(connection);
	return reconnect == VBD_RECONNECT_ON_FAILURE && !vbd_reason_clean(reason);
}

static enum vbd_kept_event see_connection(const struct vbd_connection *connection,
	enum vbd_reconnect reconnect, struct vbd_error *ret_err)
{
	const struct vbd_conn *conn = connection->conn;

	if (conn->state == VBD_CONN_ESTABLISHED)
		return VBD_KEPT_EV_READY;
	/* Whether another one is wanted depends on the peer's answer. */
	if (!vbd_conn_state_terminal(conn->state) ||
		(connection->keeping && must_ask_peer(connection, reconnect)))
		return VBD_KEPT_EV_MADE;
	vbd_object_problem(&connection->object, ret_err);
	return wants_another(connection, reconnect) ? VBD_KEPT_EV_ENDED : VBD_KEPT_EV_RESTED;
}

enum vbd_kept_event vbd_kept_see(const struct vbd_kept *kept, struct vbd_error *ret_err)
{
	struct vbd_object *object = vbd_kept_made(kept);

	if (!object)
		return VBD_KEPT_EV_GONE;
	if (kept->of == VBD_KIND_LISTENER)
		return see_listener(VBD_CONTAINER_OF(object, struct vbd_listener, object));
	if (kept->of == VBD_KIND_BUFFER)
		return see_buffer(VBD_CONTAINER_OF(object, struct vbd_buffer, object), ret_err);
	return see_connection(VBD_CONTAINER_OF(object, struct vbd_connection, object),
		kept->policy.reconnect, ret_err);
}

enum vbd_kept_event vbd_kept_close(const struct vbd_kept *kept, struct vbd_error *ret_err)
{
	struct vbd_object *object = vbd_kept_made(kept);

	if (!object || object->ended)
		return VBD_KEPT_EV_GONE;
	if (kept->of == VBD_KIND_LISTENER) {
		vbd_listener_delete(VBD_CONTAINER_OF(object, struct vbd_listener, object));
		return VBD_KEPT_EV_GONE;
	}
	if (kept->of == VBD_KIND_BUFFER)
		return vbd_buffer_delete(VBD_CONTAINER_OF(object, struct vbd_buffer, object),
			       ret_err) == VBD_OK
			       ? VBD_KEPT_EV_GONE
			       : VBD_KEPT_EV_BUSY;
	vbd_connection_close(VBD_CONTAINER_OF(object, struct vbd_connection, object));
	return object->ended ? VBD_KEPT_EV_GONE : VBD_KEPT_EV_MADE;
}

/* Returns NULL for another kind, and if the connection is gone. */
static struct vbd_connection *connection_of_kept(const struct vbd_kept *kept)
{
	struct vbd_object *object = kept->of == VBD_KIND_CONNECTION ? vbd_kept_made(kept) : NULL;

	return object ? VBD_CONTAINER_OF(object, struct vbd_connection, object) : NULL;
}

void vbd_kept_ask(const struct vbd_kept *kept)
{
	struct vbd_connection *connection = connection_of_kept(kept);

	if (connection && !connection->kept && must_ask_peer(connection, kept->policy.reconnect))
		kept->object.registry->daemon->connection_failed(connection);
}

uint64_t vbd_kept_before(const struct vbd_kept *kept)
{
	const struct vbd_connection *connection = connection_of_kept(kept);

	return connection ? connection->previous_id : 0;
}

void vbd_kept_note_try(const struct vbd_kept *kept)
{
	const struct vbd_connection *connection = connection_of_kept(kept);

	if (!connection || kept->tries < 2)
		return;
	if (connection->previous_id)
		vbd_conn_notef(connection->conn, VBD_TIMELINE_TRY, "begun",
			"try %" PRIu64 "; the one before has the id %" PRIu64 " now", kept->tries,
			connection->previous_id);
	else
		vbd_conn_notef(
			connection->conn, VBD_TIMELINE_TRY, "begun", "try %" PRIu64, kept->tries);
}

void vbd_kept_note_wait(const struct vbd_kept *kept, const char *next)
{
	const struct vbd_connection *connection = connection_of_kept(kept);
	const struct vbd_error *error = &kept->last_error;
	char tries[64];

	if (!connection)
		return;
	if (kept->same_since == kept->tries) {
		(void)snprintf(tries, sizeof(tries), "try %" PRIu64, kept->tries);
	} else {
		(void)snprintf(tries, sizeof(tries), "tries %" PRIu64 " to %" PRIu64,
			kept->same_since, kept->tries);
		vbd_timeline_drop(&connection->conn->timeline, VBD_TIMELINE_WAITING);
	}
	vbd_conn_notef(connection->conn, VBD_TIMELINE_TRY, VBD_TIMELINE_WAITING,
		"after %s (%s), the next %s%s%s", tries,
		error->status ? vbd_status_code(error->status) : "ended", next,
		error->text[0] ? ": " : "", error->text);
}
