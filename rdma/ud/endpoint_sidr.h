/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CM id of an endpoint: it is bound to an address, listens, and answers SIDR requests.
 *
 * Control thread; used by rdma/ud/endpoint.c only. Nothing blocks.
 */
#ifndef VBD_RDMA_UD_ENDPOINT_SIDR_H
#define VBD_RDMA_UD_ENDPOINT_SIDR_H

#include "rdma/ud/endpoint.h"

/**
 * vbd_endpoint_bind - bind a new CM id to @addr
 * @device: in: the device that it must be, NULL for any; out: the device of the address, unless the
 *          address is of no single device
 *
 * Returns bad_value if the address is of another device, address_in_use, …. After a failure
 * vbd_endpoint_stop_listening() destroys the id.
 */
enum vbd_status vbd_endpoint_bind(struct vbd_endpoint *endpoint, const struct sockaddr *addr,
	struct vbd_device **device, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_endpoint_start_listening - listen on the CM id, if there is one, and note its address */
enum vbd_status vbd_endpoint_start_listening(
	struct vbd_endpoint *endpoint, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_endpoint_stop_listening - destroy the CM id; harmless if there is none */
void vbd_endpoint_stop_listening(struct vbd_endpoint *endpoint);

/** vbd_endpoint_on_request - answer a SIDR request, or refuse it */
void vbd_endpoint_on_request(struct vbd_endpoint *endpoint, const struct vbd_pv_cm_event *request);

#endif
