/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The QP of an endpoint: the choice of its port and GID, and its moves to RTS.
 *
 * Control thread; used by rdma/ud/endpoint.c only.
 */
#ifndef VBD_RDMA_UD_ENDPOINT_QP_H
#define VBD_RDMA_UD_ENDPOINT_QP_H

#include "rdma/ud/endpoint.h"

/** vbd_endpoint_choose - choose port, GID and MTU of @device; bad_value if @device has no such port
 * or GID */
enum vbd_status vbd_endpoint_choose(struct vbd_endpoint *endpoint, const struct vbd_device *device,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_endpoint_qp_open - create the QP, whose memory vbd_qp_prepare() has registered, move it to
 * RTS with its receives posted, attach it to its worker. After a failure vbd_qp_release() frees the
 * resources. */
enum vbd_status vbd_endpoint_qp_open(
	struct vbd_endpoint *endpoint, struct vbd_error *err) VBD_MUST_CHECK;

#endif
