/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service of batches of connections: a batch is a list of connections that are checked and made
 * together, and what became of each: established, or ended before that. The connections are normal
 * ones, and stay when the batch has ended.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_CONNECTIONS_CONNECTION_BATCHES_H
#define VBD_DAEMON_CONNECTIONS_CONNECTION_BATCHES_H

#include "base/enum.h"
#include "daemon/connections/connections.h"
#include "daemon/core/failures.h"

/* X(SYMBOL, json name, ended) */
#define VBD_CONNECTION_BATCH_STATE_MAP(X)                 \
	X(VBD_CONNECTION_BATCH_RUNNING, "running", false) \
	X(VBD_CONNECTION_BATCH_DONE, "done", true)        \
	X(VBD_CONNECTION_BATCH_FAILED, "failed", true)

enum vbd_connection_batch_state {
	VBD_CONNECTION_BATCH_STATE_MAP(VBD_ENUM_ROW) VBD_CONNECTION_BATCH_STATE_COUNT
};

/** vbd_connection_batch_state_name - "running" */
const char *vbd_connection_batch_state_name(enum vbd_connection_batch_state state);

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

struct vbd_connection_batch;

/* A connection of a batch. */
struct vbd_connection_item {
	struct vbd_watch watch;
	struct vbd_connection_batch *batch;
	struct vbd_connection *connection; /* NULL once the outcome is known */
	uint64_t connection_id;
	enum vbd_connection_outcome outcome;
};

struct vbd_connection_batch {
	struct vbd_object object; /* first */
	enum vbd_connection_batch_state state;
	struct vbd_connection_item *items;
	uint32_t count;
	uint32_t counts[VBD_CONNECTION_OUTCOME_COUNT];
	uint32_t cancelled; /* items that vbd_object_cancel() has looked at */
	uint64_t ended_ns;
	struct vbd_error error; /* of the connection that failed first */
	struct vbd_failures failures;
};

/**
 * vbd_connection_batch_create - make a batch of prepared connections, which then connect one after
 * the other
 * @connections: from vbd_connections_prepare(); the caller discards them if this fails
 * @count:       1 to VBD_BATCH_MAX
 *
 * VBD_E_LIMIT_REACHED, _NO_MEMORY.
 */
enum vbd_status vbd_connection_batch_create(struct vbd_daemon *daemon,
	struct vbd_connection *const *connections, uint32_t count,
	struct vbd_connection_batch **ret_batch, struct vbd_error *err) VBD_MUST_CHECK;

#endif
