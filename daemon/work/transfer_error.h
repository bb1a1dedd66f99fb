/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The error of a transfer that ended without being done.
 *
 * Control thread; used by daemon/work/transfers.c only.
 */
#ifndef VBD_DAEMON_WORK_TRANSFER_ERROR_H
#define VBD_DAEMON_WORK_TRANSFER_ERROR_H

#include "daemon/work/transfers.h"

/** vbd_transfer_explain - replace the error of a flush by the reason why the owner of the queue
 * pair ended; before the record forgets its queue pair */
void vbd_transfer_explain(struct vbd_transfer_record *record);

/** vbd_transfer_problem - `problem` of struct vbd_kind */
void vbd_transfer_problem(const struct vbd_object *object, struct vbd_error *ret_err);

#endif
