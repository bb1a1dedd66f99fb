/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handling of a connection's incoming messages: keep them (inbox), send them back (echo), only
 * count them (sink), or speak rping's protocol.
 *
 * The channel's worker.
 */
#ifndef VBD_RDMA_DATA_SERVICE_H
#define VBD_RDMA_DATA_SERVICE_H

#include "rdma/data/channel.h"

/**
 * vbd_service_check - can a queue pair of @transport with receives of this size have @service?
 *
 * not_supported (rping's two need RDMA read, echo a connection), bad_value (rping's need receives
 * of 16 bytes). Any thread.
 */
enum vbd_status vbd_service_check(enum vbd_service service, enum vbd_qp_transport transport,
	uint32_t recv_size_bytes, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_service_ops - the operations of @service, for struct vbd_channel_limits; any thread */
const struct vbd_service_ops *vbd_service_ops(enum vbd_service service);

#endif
