/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The creation of a shared receive queue. A call thread registers the memory of its receives, which
 * takes as long as that memory is large; no client sees the SRQ before it is complete.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_MEMORY_SRQS_H
#define VBD_DAEMON_MEMORY_SRQS_H

#include "daemon/memory/shared.h"

struct vbd_srq_spec {
	char name[64];
	char device_name[65]; /* "" for the device of the PD or CQ, or the default device */
	struct vbd_pd *pd;    /* NULL for the device's default PD */
	struct vbd_cq *cq;    /* NULL for a CQ that verbsd makes by itself */
	struct vbd_srq_params params;
};

/* A creation under way. */
struct vbd_srq_creation;

/**
 * vbd_srq_made_cb - a creation has ended
 * @srq: the record; NULL after a failure, of which @err tells
 */
typedef void (*vbd_srq_made_cb)(struct vbd_shared *srq, const struct vbd_error *err, void *arg);

/**
 * vbd_srq_request - begin to make an SRQ, for the caller whose request is being handled
 * @made:         called later, exactly once, unless vbd_srq_cancel() is called before
 * @ret_creation: valid until then
 *
 * Errors as of vbd_cq_request(), and bad_value for objects of two devices; @made gets not_found
 * too, if the PD or the CQ has been deleted meanwhile. Does not block.
 */
enum vbd_status vbd_srq_request(struct vbd_daemon *daemon, const struct vbd_srq_spec *spec,
	vbd_srq_made_cb made, void *arg, struct vbd_srq_creation **ret_creation,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_srq_cancel - nobody wants the SRQ any more: it is not made */
void vbd_srq_cancel(struct vbd_srq_creation *creation);

#endif
