/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/device/msgpool.h"

#include "rdma/device/device.h"
#include "rdma/device/mem.h"
#include "rdma/device/pd.h"

#include <stdlib.h>

struct vbd_msgpool {
	struct vbd_mem mem;
	uint64_t taken; /* a bit for each slot */
};

_Static_assert(VBD_MSGPOOL_SLOTS == 64, "one bit of `taken` for each slot");

static enum vbd_status create(struct vbd_pd *pd, struct vbd_error *err)
{
	struct vbd_msgpool *pool = calloc(1, sizeof(*pool));
	enum vbd_status status;

	if (!pool)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for messages");
	pool->mem.size_bytes = (size_t)VBD_MSGPOOL_SLOTS * VBD_MSGPOOL_SLOT_BYTES;
	status = vbd_mem_allocate(&pool->mem, err);
	if (status)
		goto free_pool;
	vbd_pd_ref(pd);
	status = vbd_mem_register(&pool->mem, pd, err);
	if (status)
		goto unref;
	pd->msgpool = pool;
	pd->destroy_msgpool = vbd_msgpool_destroy;
	return VBD_OK;

unref:
	vbd_pd_unref(pd);
	vbd_mem_free(&pool->mem);
free_pool:
	free(pool);
	return status;
}

enum vbd_status vbd_msgpool_alloc(struct vbd_pd *pd, int *ret_slot, uint8_t **ret_addr,
	uint32_t *ret_lkey, struct vbd_error *err)
{
	struct vbd_msgpool *pool;
	enum vbd_status status;
	int slot;

	status = pd->msgpool ? VBD_OK : create(pd, err);
	if (status)
		return status;
	pool = pd->msgpool;
	if (pool->taken == UINT64_MAX) {
		if (err && err->status == VBD_OK)
			err->limit = VBD_MSGPOOL_SLOTS;
		return vbd_error_set(err, VBD_E_TOO_MANY_REQUESTS,
			"device %s has %d messages in flight, the limit", pd->device->name,
			VBD_MSGPOOL_SLOTS);
	}
	slot = __builtin_ctzll(~pool->taken);
	pool->taken |= 1ULL << slot;
	*ret_slot = slot;
	*ret_addr = pool->mem.addr + (size_t)slot * VBD_MSGPOOL_SLOT_BYTES;
	*ret_lkey = pool->mem.lkey;
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
	vbd_mem_free(&pool->mem);
	free(pool);
}
