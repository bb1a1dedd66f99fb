/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registered memory for messages whose bytes came in an API request and don't fit into the work
 * request: a fixed number of slots for each protection domain, made at the first such message.
 *
 * Control thread.
 */
#ifndef VBD_RDMA_DEVICE_MSGPOOL_H
#define VBD_RDMA_DEVICE_MSGPOOL_H

#include "base/error.h"

#include <stdint.h>

struct vbd_pd;

#define VBD_MSGPOOL_SLOT_BYTES 16384
#define VBD_MSGPOOL_SLOTS      64

/** vbd_msgpool_alloc - a slot of the PD's pool; too_many_requests when all are in use */
enum vbd_status vbd_msgpool_alloc(struct vbd_pd *pd, int *ret_slot, uint8_t **ret_addr,
	uint32_t *ret_lkey, struct vbd_error *err) VBD_MUST_CHECK;

void vbd_msgpool_free(struct vbd_pd *pd, int slot);

/** vbd_msgpool_destroy - no message may be outstanding: the device or the PD is being removed. NULL
 * is fine. */
void vbd_msgpool_destroy(struct vbd_pd *pd);

#endif
