/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches of connections, which are checked and made together: the outcome of each is that it was
 * established, or ended before that.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_CONNECTIONS_CONNECTION_BATCHES_H
#define VBD_DAEMON_CONNECTIONS_CONNECTION_BATCHES_H

#include "daemon/connections/connections.h"
#include "daemon/core/batch.h"

/* X(SYMBOL, json name): what became of a connection so far */
#define VBD_CONNECTION_OUTCOME_MAP(X)                        \
	X(VBD_CONNECTION_OUTCOME_QUEUED, "queued")           \
	X(VBD_CONNECTION_OUTCOME_CONNECTING, "connecting")   \
	X(VBD_CONNECTION_OUTCOME_ESTABLISHED, "established") \
	X(VBD_CONNECTION_OUTCOME_FAILED, "failed")

enum vbd_connection_outcome {
	VBD_CONNECTION_OUTCOME_MAP(VBD_ENUM_ROW) VBD_CONNECTION_OUTCOME_COUNT
};

/** vbd_connection_outcome_name - "established" */
const char *vbd_connection_outcome_name(enum vbd_connection_outcome outcome);

/**
 * vbd_connection_batch_create - make a batch of prepared connections, which then connect one after
 * the other
 * @connections: from vbd_connections_prepare(); the caller discards them if this fails
 * @count:       1 to VBD_BATCH_MAX
 *
 * VBD_E_LIMIT_REACHED, _NO_MEMORY.
 */
enum vbd_status vbd_connection_batch_create(struct vbd_daemon *daemon,
	struct vbd_connection *const *connections, uint32_t count, struct vbd_batch **ret_batch,
	struct vbd_error *err) VBD_MUST_CHECK;

#endif
