/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/connections/past_keys.h"

#include <stdio.h>
#include <stdlib.h>

#include <string.h>

#define PAST_KEYS 32

struct past_key {
	struct sockaddr_storage peer;
	struct vbd_qp_remote_use use; /* ops 0: a free place */
};

/* The newest closes of an owner on a device. */
struct past_close {
	uint64_t whose;
	char device_name[64];
	uint64_t at_ns[2]; /* of a buffer, of a window */
};

struct vbd_past_keys {
	struct past_key keys[PAST_KEYS];
	struct past_close closes[PAST_KEYS];
	unsigned int next, next_close;
};

static struct vbd_daemon *daemon_of(const struct vbd_connection *connection)
{
	return connection->object.registry->daemon;
}

/* NULL without memory. */
static struct vbd_past_keys *room(struct vbd_daemon *daemon)
{
	if (!daemon->past_keys)
		daemon->past_keys = calloc(1, sizeof(*daemon->past_keys));
	return daemon->past_keys;
}

static bool is_peer(const struct past_key *past, const struct vbd_connection *connection)
{
	return vbd_sockaddr_is_same((const struct sockaddr *)&past->peer,
		(const struct sockaddr *)&connection->conn->peer);
}

static struct past_key *place_for(
	struct vbd_past_keys *past_keys, const struct vbd_connection *connection)
{
	for (size_t i = 0; i < PAST_KEYS; i++) {
		struct past_key *past = &past_keys->keys[i];

		if (past->use.rkey == connection->conn->qp.remote_use.rkey &&
			past->use.whose == connection->conn->qp.remote_use.whose &&
			is_peer(past, connection))
			return past;
	}
	return &past_keys->keys[past_keys->next++ % PAST_KEYS];
}

void vbd_past_keys_note(const struct vbd_connection *connection)
{
	struct vbd_past_keys *past_keys = room(daemon_of(connection));
	const struct vbd_conn *conn = connection->conn;
	struct past_key *past;

	if (!past_keys || !conn->qp.remote_use.ops || !conn->peer.ss_family)
		return;
	past = place_for(past_keys, connection);
	past->peer = conn->peer;
	past->use = conn->qp.remote_use;
}

bool vbd_past_keys_worked(
	const struct vbd_connection *connection, const struct vbd_qp_remote_use *request)
{
	const struct vbd_past_keys *past_keys = daemon_of(connection)->past_keys;

	for (size_t i = 0; past_keys && i < PAST_KEYS; i++) {
		const struct past_key *past = &past_keys->keys[i];

		if (past->use.rkey == request->rkey && past->use.whose == request->whose &&
			past->use.ops & request->ops && past->use.begin <= request->begin &&
			request->end <= past->use.end && is_peer(past, connection))
			return true;
	}
	return false;
}

void vbd_past_keys_note_closed(
	const struct vbd_object *memory, const char *device_name, bool window, uint64_t at_ns)
{
	struct vbd_past_keys *past_keys = room(memory->registry->daemon);
	struct past_close *past = NULL;

	if (!past_keys)
		return;
	for (size_t i = 0; i < PAST_KEYS && !past; i++) {
		if (past_keys->closes[i].whose == vbd_whose(memory) &&
			strcmp(past_keys->closes[i].device_name, device_name) == 0)
			past = &past_keys->closes[i];
	}
	if (!past) {
		past = &past_keys->closes[past_keys->next_close++ % PAST_KEYS];
		past->whose = vbd_whose(memory);
		memset(past->at_ns, 0, sizeof(past->at_ns));
		(void)snprintf(past->device_name, sizeof(past->device_name), "%s", device_name);
	}
	past->at_ns[window] = at_ns;
}

uint64_t vbd_past_keys_closed_ns(const struct vbd_connection *connection, bool window)
{
	const struct vbd_past_keys *past_keys = daemon_of(connection)->past_keys;
	uint64_t at_ns = 0;

	for (size_t i = 0; past_keys && i < PAST_KEYS; i++) {
		const struct past_close *past = &past_keys->closes[i];

		if (past->at_ns[window] > at_ns &&
			vbd_owner_informs(connection->object.owner, past->whose) &&
			strcmp(past->device_name, connection->conn->device_name) == 0)
			at_ns = past->at_ns[window];
	}
	return at_ns;
}
