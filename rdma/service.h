/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a connection does with incoming messages: keep them (inbox), send them back (echo), count
 * and forget them (sink), or speak rping's protocol.
 *
 * The channel's worker.
 */
#ifndef VBD_RDMA_SERVICE_H
#define VBD_RDMA_SERVICE_H

#include "rdma/channel.h"

#include <stdbool.h>

/**
 * vbd_service_check - can a queue pair of @transport with receives of that size have @service?
 *
 * not_supported (rping's two need RDMA read, echo a connection), bad_value (rping's need receives
 * of 16 bytes). Any thread.
 */
enum vbd_status vbd_service_check(enum vbd_service service, enum vbd_qp_transport transport,
	uint32_t recv_size_bytes, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_service_create - control; the memory that the channel's service needs */
enum vbd_status vbd_service_create(
	struct vbd_channel *channel, struct vbd_pd *pd, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_service_destroy - control; also of a channel for which that failed or was not called */
void vbd_service_destroy(struct vbd_channel *channel);

/** vbd_service_renew - control; as it was when made: vbd_channel_renew() */
void vbd_service_renew(struct vbd_channel *channel);

/** vbd_service_received - a message is in a receive; what becomes of the receive is the service's
 * to decide */
void vbd_service_received(struct vbd_channel *channel, struct vbd_recv_slot *slot);

/** vbd_service_sent - a work request that a service posted has completed well */
void vbd_service_sent(struct vbd_channel *channel, const struct vbd_send_slot *sent);

/** vbd_service_pump - post what a service could not post for want of a send slot */
void vbd_service_pump(struct vbd_channel *channel);

#endif
