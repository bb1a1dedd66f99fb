/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registered memory for messages whose bytes came in an API request and don't fit into the work
 * request: slots, as many as are needed up to a limit, for each protection domain.
 *
 * Control thread. The slots are registered a few at a time, when they are first needed, so that no
 * call takes long (docs/internals/blocking.md).
 */
#ifndef VBD_RDMA_DEVICE_MSGPOOL_H
#define VBD_RDMA_DEVICE_MSGPOOL_H

#include "base/error.h"

#include <stdint.h>

struct vbd_pd;

#define VBD_MSGPOOL_SLOT_BYTES 16384
#define VBD_MSGPOOL_SLOTS      64
#define VBD_MSGPOOL_SLAB_SLOTS 4 /* registered together */

/** vbd_msgpool_alloc - a slot of the PD's pool, registered if need be; too_many_requests when all
 * are in use */
enum vbd_status vbd_msgpool_alloc(struct vbd_pd *pd, int *ret_slot, uint8_t **ret_addr,
	uint32_t *ret_lkey, struct vbd_error *err) VBD_MUST_CHECK;

void vbd_msgpool_free(struct vbd_pd *pd, int slot);

/** vbd_msgpool_destroy - no message may be outstanding: the device or the PD is being removed. NULL
 * is fine. */
void vbd_msgpool_destroy(struct vbd_pd *pd);

#endif
