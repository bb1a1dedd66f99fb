/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/work/transfer_error.h"

#include "rdma/names/names.h"

void vbd_transfer_explain(struct vbd_transfer_record *record)
{
	enum vbd_reason reason = record->qp->reason;
	struct vbd_transfer *transfer = &record->transfer;
	char owner[VBD_QP_OWNER_BYTES];

	if (transfer->state != VBD_TRANSFER_FAILED || transfer->error.status != VBD_E_QP_FATAL ||
		reason == VBD_REASON_NONE)
		return;
	transfer->error = (struct vbd_error){0};
	(void)vbd_error_set(&transfer->error, vbd_reason_status(reason),
		"%s ended after %llu bytes of it: %s", vbd_qp_owner_text(record->qp, owner),
		(unsigned long long)vbd_counter_get(&transfer->bytes_done),
		vbd_reason_text(reason));
}

void vbd_transfer_problem(const struct vbd_object *object, struct vbd_error *ret_err)
{
	const struct vbd_transfer *transfer =
		&((const struct vbd_transfer_record *)object)->transfer;

	*ret_err = transfer->error;
	if (transfer->state == VBD_TRANSFER_TIMED_OUT ||
		transfer->state == VBD_TRANSFER_CANCELLED) {
		bool late = transfer->state == VBD_TRANSFER_TIMED_OUT;

		*ret_err = (struct vbd_error){0};
		(void)vbd_error_set(ret_err, late ? VBD_E_TIMED_OUT : VBD_E_CANCELLED,
			"the transfer %s after %llu of %llu bytes",
			late ? "reached its deadline" : "was cancelled",
			(unsigned long long)vbd_counter_get(&transfer->bytes_done),
			(unsigned long long)vbd_transfer_length(transfer));
	}
}

void vbd_transfer_first_error(
	const struct vbd_transfer_record *record, struct vbd_first_error *ret_first)
{
	const struct vbd_transfer *transfer = &record->transfer;

	*ret_first = (struct vbd_first_error){.op = -1};
	/* A flush, as after a cancel, is never the first error. */
	if (transfer->wc_status < 0 || vbd_wc_status_is_flush(transfer->wc_status))
		return;
	vbd_transfer_problem(&record->object, &ret_first->error);
	ret_first->error.source = VBD_SOURCE_WC;
	ret_first->error.kind = transfer->wc_status;
	ret_first->error.raw = transfer->vendor_err;
	ret_first->at_ns = vbd_counter_get(&transfer->ended_ns);
	ret_first->op = (int)transfer->op;
	ret_first->transfer = transfer->id;
}
