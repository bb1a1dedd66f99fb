/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slabs: registered memory that many queue pairs share, each with a range of it. So opening a
 * connection seldom registers memory, which takes long, and the device has one region for many
 * connections. A protection domain has its own slabs; peers have no access to them.
 *
 * The functions lock, and vbd_slabs_take() registers memory inside the lock: call threads only,
 * unless it says otherwise.
 */
#ifndef VBD_RDMA_DEVICE_SLAB_H
#define VBD_RDMA_DEVICE_SLAB_H

#include "base/error.h"

struct vbd_pd;
struct vbd_slab;
struct vbd_slabs;

/* The memory of a slab. A range above half of it has a slab of its own size. */
#define VBD_SLAB_BYTES ((size_t)2 << 20)

/* Ranges are multiples of this. Small, since idle connections are many and each has a range. */
#define VBD_SLAB_GRAIN_BYTES ((size_t)512)

/* A range of a slab; all zero: none. */
struct vbd_slab_range {
	struct vbd_slab *slab;
	uint8_t *addr; /* the range is zeroed when it is taken */
	size_t size_bytes;
	uint32_t lkey;
};

/** vbd_slabs_create - control; make @pd->slabs, with no slab yet, unless it is there. The PD
 * destroys it, and the spare slab with it: no range is taken then. */
enum vbd_status vbd_slabs_create(struct vbd_pd *pd, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_slabs_take - a range of @size_bytes; registers another slab if none has room
 * @size_bytes: 1 or more
 *
 * The caller keeps a reference to the PD until the range is given back.
 */
enum vbd_status vbd_slabs_take(struct vbd_slabs *slabs, size_t size_bytes,
	struct vbd_slab_range *ret_range, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_slabs_try_take - any thread, never blocks; false if no slab has room, or another thread has
 * the lock */
bool vbd_slabs_try_take(
	struct vbd_slabs *slabs, size_t size_bytes, struct vbd_slab_range *ret_range);

/** vbd_slabs_give - give a range back and zero it; a slab that is empty then is deregistered, but
 * one, which is kept for the next. A range that is none is ignored. */
void vbd_slabs_give(struct vbd_slabs *slabs, struct vbd_slab_range *range);

/*
 * Messages whose bytes came in an API request and don't fit into the work request have ranges too.
 * Their slabs are small and used by the control thread only, so that no call takes long
 * (docs/internals/blocking.md), and stay until the end of the protection domain.
 */

#define VBD_MESSAGE_SLAB_BYTES ((size_t)64 << 10)
#define VBD_MESSAGE_BYTES_MAX  16384
#define VBD_MESSAGES_MAX       64 /* in flight in a protection domain */

/** vbd_message_take - control; a range for a message of 1 to VBD_MESSAGE_BYTES_MAX bytes,
 * registered if need be; too_many_requests when VBD_MESSAGES_MAX are in flight */
enum vbd_status vbd_message_take(struct vbd_pd *pd, size_t size_bytes,
	struct vbd_slab_range *ret_range, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_message_give - control; the message is sent; a range that is none is ignored */
void vbd_message_give(struct vbd_pd *pd, struct vbd_slab_range *range);

struct vbd_slab_use {
	unsigned int slabs;	 /* each has a memory region */
	size_t registered_bytes; /* of all slabs */
	size_t taken_bytes;	 /* of all ranges, in whole grains */
};

/** vbd_slabs_use - any thread, never blocks: the numbers as of the last change */
struct vbd_slab_use vbd_slabs_use(const struct vbd_slabs *slabs);

#endif
