/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/device/msgpool.h"

#include "rdma/device/device.h"
#include "rdma/device/mem.h"
#include "rdma/device/pd.h"

#include <stdlib.h>

#define SLABS (VBD_MSGPOOL_SLOTS / VBD_MSGPOOL_SLAB_SLOTS)

struct vbd_msgpool {
	struct vbd_mem slabs[SLABS]; /* registered when a slot of the slab is first needed */
	uint64_t taken;		     /* a bit for each slot */
};

_Static_assert(VBD_MSGPOOL_SLOTS == 64, "one bit of `taken` for each slot");
_Static_assert(VBD_MSGPOOL_SLOTS % VBD_MSGPOOL_SLAB_SLOTS == 0, "each slot is in a slab");

static enum vbd_status create(struct vbd_pd *pd, struct vbd_error *err)
{
	pd->msgpool = calloc(1, sizeof(*pd->msgpool));
	if (!pd->msgpool)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for messages");
	pd->destroy_msgpool = vbd_msgpool_destroy;
	return VBD_OK;
}

static enum vbd_status open_slab(struct vbd_pd *pd, struct vbd_mem *slab, struct vbd_error *err)
{
	enum vbd_status status;

	slab->size_bytes = (size_t)VBD_MSGPOOL_SLAB_SLOTS * VBD_MSGPOOL_SLOT_BYTES;
	status = vbd_mem_allocate(slab, err);
	if (status)
		return status;
	vbd_pd_ref(pd);
	status = vbd_mem_register(slab, pd, err);
	if (status) {
		vbd_pd_unref(pd);
		vbd_mem_free(slab);
		return status;
	}
	pd->msgpool_refs++;
	return VBD_OK;
}

static void close_slab(struct vbd_pd *pd, struct vbd_mem *slab)
{
	if (!slab->mr)
		return;
	pd->msgpool_refs--;
	vbd_mem_free(slab);
}

enum vbd_status vbd_msgpool_alloc(struct vbd_pd *pd, int *ret_slot, uint8_t **ret_addr,
	uint32_t *ret_lkey, struct vbd_error *err)
{
	enum vbd_status status = pd->msgpool ? VBD_OK : create(pd, err);
	struct vbd_msgpool *pool = pd->msgpool;
	struct vbd_mem *slab;
	int slot;

	if (status)
		return status;
	if (pool->taken == UINT64_MAX) {
		if (err && err->status == VBD_OK)
			err->limit = VBD_MSGPOOL_SLOTS;
		return vbd_error_set(err, VBD_E_TOO_MANY_REQUESTS,
			"device %s has %d messages in flight, the limit", pd->device->name,
			VBD_MSGPOOL_SLOTS);
	}
	slot = __builtin_ctzll(~pool->taken);
	slab = &pool->slabs[slot / VBD_MSGPOOL_SLAB_SLOTS];
	status = slab->mr ? VBD_OK : open_slab(pd, slab, err);
	if (status)
		return status;
	pool->taken |= 1ULL << slot;
	*ret_slot = slot;
	*ret_addr = vbd_mem_own(slab) +
		    (size_t)(slot % VBD_MSGPOOL_SLAB_SLOTS) * VBD_MSGPOOL_SLOT_BYTES;
	*ret_lkey = slab->lkey;
	return VBD_OK;
}

void vbd_msgpool_free(struct vbd_pd *pd, int slot)
{
	if (pd->msgpool)
		pd->msgpool->taken &= ~(1ULL << slot);
}

void vbd_msgpool_destroy(struct vbd_pd *pd)
{
	struct vbd_msgpool *pool = pd ? pd->msgpool : NULL;

	if (!pool)
		return;
	pd->msgpool = NULL;
	/* The last registered slab may free the PD with its reference. */
	for (int i = 0; i < SLABS; i++)
		close_slab(pd, &pool->slabs[i]);
	free(pool);
}
