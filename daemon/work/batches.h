/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The batch service: a batch is a list of transfers that are checked together and start together,
 * and their common outcome. The transfers are normal ones: they are listed, and each has its own
 * deadline and its own place in the history.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_WORK_BATCHES_H
#define VBD_DAEMON_WORK_BATCHES_H

#include "base/enum.h"
#include "daemon/core/failures.h"
#include "daemon/core/turns.h"
#include "daemon/work/transfers.h"

/* X(SYMBOL, json name, ended) */
#define VBD_BATCH_STATE_MAP(X)                 \
	X(VBD_BATCH_RUNNING, "running", false) \
	X(VBD_BATCH_DONE, "done", true)        \
	X(VBD_BATCH_FAILED, "failed", true)

enum vbd_batch_state { VBD_BATCH_STATE_MAP(VBD_ENUM_ROW) VBD_BATCH_STATE_COUNT };

/** vbd_batch_state_name - "running" */
const char *vbd_batch_state_name(enum vbd_batch_state state);

struct vbd_batch;

/* A transfer of a batch. */
struct vbd_batch_item {
	struct vbd_watch watch;
	struct vbd_batch *batch;
	struct vbd_transfer_record *transfer; /* NULL once the transfer has ended */
	uint64_t transfer_id;
	enum vbd_transfer_state ended_state; /* of the ended transfer */
};

struct vbd_batch {
	struct vbd_object object; /* first */
	enum vbd_batch_state state;
	struct vbd_batch_item *items;
	uint32_t count;
	uint32_t open; /* transfers that have not ended */
	uint64_t ended_ns;
	struct vbd_steps cancelling; /* waits for its turn while there are transfers to cancel */
	uint32_t cancelled;	     /* transfers before this one were cancelled, or have ended */
	/* The error of the transfer that failed first. */
	struct vbd_error error;
	struct vbd_first_error first_error; /* status VBD_OK if there was no failed completion */
	struct vbd_failures failures;
};

/**
 * vbd_batch_create - make a batch of prepared transfers, and start them in immediate succession
 * @records: from vbd_transfer_prepare(); the caller frees them if this fails
 * @count:   1 to VBD_BATCH_MAX
 *
 * VBD_E_LIMIT_REACHED, _NO_MEMORY.
 */
enum vbd_status vbd_batch_create(struct vbd_daemon *daemon,
	struct vbd_transfer_record *const *records, uint32_t count, struct vbd_batch **ret_batch,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_batch_transfer_state - the state of one of the batch's transfers, which may be gone */
enum vbd_transfer_state vbd_batch_transfer_state(const struct vbd_batch_item *item);

#endif
