/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches of transfers, which are checked together and start together. The outcome of a transfer in
 * its batch is its state.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_WORK_BATCHES_H
#define VBD_DAEMON_WORK_BATCHES_H

#include "daemon/core/batch.h"
#include "daemon/work/transfers.h"

/**
 * vbd_transfer_batch_create - make a batch of prepared transfers, and start them in immediate
 * succession
 * @records: from vbd_transfer_prepare(); the caller frees them if this fails
 * @count:   1 to VBD_BATCH_MAX
 *
 * VBD_E_LIMIT_REACHED, _NO_MEMORY.
 */
enum vbd_status vbd_transfer_batch_create(struct vbd_daemon *daemon,
	struct vbd_transfer_record *const *records, uint32_t count, struct vbd_batch **ret_batch,
	struct vbd_error *err) VBD_MUST_CHECK;

#endif
