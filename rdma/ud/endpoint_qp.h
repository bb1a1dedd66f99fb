/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The QP of an endpoint: its port and GID are chosen, and it goes to RTS.
 *
 * Control thread; used by rdma/ud/endpoint.c only.
 */
#ifndef VBD_RDMA_UD_ENDPOINT_QP_H
#define VBD_RDMA_UD_ENDPOINT_QP_H

#include "rdma/ud/endpoint.h"

/** vbd_endpoint_choose - port, GID and MTU of @device; bad_value if @device does not have them */
enum vbd_status vbd_endpoint_choose(struct vbd_endpoint *endpoint, const struct vbd_device *device,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_endpoint_qp_make - the QP in RTS, its receives posted, handed to the worker;
 * vbd_qp_release() frees what was made before a failure */
enum vbd_status vbd_endpoint_qp_make(struct vbd_endpoint *endpoint, struct vbd_device *device,
	struct vbd_error *err) VBD_MUST_CHECK;

#endif
