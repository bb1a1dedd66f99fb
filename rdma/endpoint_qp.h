/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The QP of an endpoint: choosing its port and GID, making it up to RTS, taking it apart. The part
 * of rdma/endpoint.c that talks to the device.
 *
 * Control thread; used by rdma/endpoint.c only.
 */
#ifndef VBD_RDMA_ENDPOINT_QP_H
#define VBD_RDMA_ENDPOINT_QP_H

#include "rdma/endpoint.h"

/** vbd_endpoint_choose - port, GID and MTU of endpoint->device; bad_value for what it has not */
enum vbd_status vbd_endpoint_choose(
	struct vbd_endpoint *endpoint, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_endpoint_qp_make - CQ, channel and QP, in RTS, receives posted, handed to the worker
 *
 * What it made before it failed is vbd_endpoint_qp_release()'s to give back.
 */
enum vbd_status vbd_endpoint_qp_make(struct vbd_endpoint *endpoint,
	const struct vbd_channel_owner_ops *owner_ops, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_endpoint_qp_to_err - so that the device flushes it */
enum vbd_status vbd_endpoint_qp_to_err(
	struct vbd_endpoint *endpoint, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_endpoint_qp_destroy - destroy the QP without its channel; harmless without a QP */
void vbd_endpoint_qp_destroy(struct vbd_endpoint *endpoint);

/** vbd_endpoint_qp_release - QP, channel, CQ reservation and device; the channel is drained or was
 * never attached */
void vbd_endpoint_qp_release(struct vbd_endpoint *endpoint);

#endif
