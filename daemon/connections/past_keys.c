/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/connections/past_keys.h"

#include "base/attr.h"
#include "rdma/device/source.h"

#include <stdlib.h>

#define PAST_KEYS 32

struct past_key {
	struct sockaddr_storage peer;
	struct vbd_qp_remote_use use; /* ops 0: a free place */
};

struct vbd_past_keys {
	struct past_key keys[PAST_KEYS];
	unsigned int next;
};

static struct vbd_daemon *daemon_of(const struct vbd_connection *connection)
{
	return connection->object.registry->daemon;
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
			is_peer(past, connection))
			return past;
	}
	return &past_keys->keys[past_keys->next++ % PAST_KEYS];
}

void vbd_past_keys_note(const struct vbd_connection *connection)
{
	struct vbd_daemon *daemon = daemon_of(connection);
	const struct vbd_conn *conn = connection->conn;

	if (!conn->qp.remote_use.ops || !conn->peer.ss_family)
		return;
	if (!daemon->past_keys)
		daemon->past_keys = calloc(1, sizeof(*daemon->past_keys));
	if (daemon->past_keys)
		*place_for(daemon->past_keys, connection) =
			(struct past_key){conn->peer, conn->qp.remote_use};
}

bool vbd_past_keys_worked(
	const struct vbd_connection *connection, const struct vbd_qp_remote_use *request)
{
	const struct vbd_past_keys *past_keys = daemon_of(connection)->past_keys;

	for (size_t i = 0; past_keys && i < PAST_KEYS; i++) {
		const struct past_key *past = &past_keys->keys[i];

		if (past->use.rkey == request->rkey && past->use.ops & request->ops &&
			past->use.begin <= request->begin && request->end <= past->use.end &&
			is_peer(past, connection))
			return true;
	}
	return false;
}

void vbd_past_keys_destroy(struct vbd_daemon *daemon)
{
	free(daemon->past_keys);
	daemon->past_keys = NULL;
}
