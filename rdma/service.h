/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a connection does with incoming messages: keep them (inbox), send them back (echo), or speak
 * rping's protocol.
 *
 * The channel's worker.
 */
#ifndef VBD_RDMA_SERVICE_H
#define VBD_RDMA_SERVICE_H

#include "rdma/channel.h"

#include <stdbool.h>
#include <stddef.h>

/** vbd_service_scratch_bytes - memory that a channel with this service needs behind its receives */
size_t vbd_service_scratch_bytes(enum vbd_service service);

/** vbd_service_received - a message is in a receive; what becomes of the receive is the service's
 * to decide */
void vbd_service_received(struct vbd_channel *channel, struct vbd_recv_slot *slot);

/** vbd_service_sent - a work request that a service posted has completed well */
void vbd_service_sent(struct vbd_channel *channel, const struct vbd_send_slot *sent);

/** vbd_service_pump - post what a service could not post for want of a send slot */
void vbd_service_pump(struct vbd_channel *channel);

#endif
