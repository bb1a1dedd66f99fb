/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CQs of a shared receive queue. A message completes in the CQ of the queue pair that it is
 * for, so each CQ of a user reserves the depth of the SRQ, once. All of them are of one worker,
 * since only that one posts on the SRQ.
 */
#include "rdma/fabric/srq_cqs.h"

#include "base/attr.h"
#include "rdma/device/pd.h"
#include "rdma/fabric/fabric_parts.h"

#include <stdlib.h>

static struct vbd_srq_cq *srq_cq_of(struct vbd_link *link)
{
	return VBD_CONTAINER_OF(link, struct vbd_srq_cq, link);
}

/* Another CQ, with room for the receives of the SRQ and for @cqe more. */
static enum vbd_status add_cq(struct vbd_fabric *fabric, struct vbd_srq *srq, uint32_t cqe,
	struct vbd_srq_cq **ret_more, struct vbd_error *err)
{
	struct vbd_srq_cq *more = calloc(1, sizeof(*more));
	enum vbd_status status;

	if (!more)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a completion queue");
	status = vbd_fabric_admit_on(
		fabric, srq->pd->device, srq->worker, srq->depth + cqe, &more->cq, err);
	if (status) {
		free(more);
		return status;
	}
	/* The two are released one after the other. */
	vbd_cq_release(more->cq, srq->depth + cqe);
	(void)vbd_cq_admit(more->cq, srq->depth);
	vbd_list_append(&srq->more_cqs, &more->link);
	*ret_more = more;
	return VBD_OK;
}

enum vbd_status vbd_srq_cqs_admit(struct vbd_fabric *fabric, struct vbd_srq *srq, uint32_t cqe,
	struct vbd_cq **ret_cq, struct vbd_error *err)
{
	struct vbd_srq_cq *more = NULL;
	enum vbd_status status;

	/* A client that has chosen the CQ knows how large it is. */
	if (srq->cq->asked_for || vbd_cq_admit(srq->cq, cqe)) {
		*ret_cq = srq->cq;
		return srq->cq->asked_for ? vbd_fabric_admit_in(srq->cq, cqe, err) : VBD_OK;
	}
	vbd_list_for_each (link, &srq->more_cqs) {
		more = srq_cq_of(link);
		if (vbd_cq_admit(more->cq, cqe))
			goto admitted;
	}
	status = add_cq(fabric, srq, cqe, &more, err);
	if (status)
		return status;
	(void)vbd_cq_admit(more->cq, cqe);
admitted:
	more->users++;
	*ret_cq = more->cq;
	return VBD_OK;
}

void vbd_srq_cqs_left(struct vbd_srq *srq, const struct vbd_cq *cq)
{
	vbd_list_for_each (link, &srq->more_cqs) {
		struct vbd_srq_cq *more = srq_cq_of(link);

		if (more->cq != cq || --more->users > 0)
			continue;
		vbd_cq_release(more->cq, srq->depth);
		vbd_list_remove(&more->link);
		free(more);
	}
}

void vbd_srq_cqs_forget(struct vbd_srq *srq)
{
	vbd_list_for_each (link, &srq->more_cqs)
		free(srq_cq_of(link));
}
