/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/msgpool.h"

#include "rdma/device.h"
#include "rdma/mem.h"

#include <stdlib.h>

struct vbd_msgpool {
	struct vbd_mem mem;
	uint64_t taken; /* a bit for each slot */
};

_Static_assert(VBD_MSGPOOL_SLOTS == 64, "one bit of `taken` for each slot");

static enum vbd_status create(struct vbd_device *device, struct vbd_error *err)
{
	struct vbd_msgpool *pool = calloc(1, sizeof(*pool));
	enum vbd_status status;

	if (!pool)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for messages");
	pool->mem.size_bytes = (size_t)VBD_MSGPOOL_SLOTS * VBD_MSGPOOL_SLOT_BYTES;
	status = vbd_mem_allocate(&pool->mem, err);
	if (status)
		goto free_pool;
	vbd_device_ref(device);
	status = vbd_mem_register(&pool->mem, device, err);
	if (status)
		goto unref;
	device->msgpool = pool;
	return VBD_OK;

unref:
	vbd_device_unref(device);
	vbd_mem_free(&pool->mem);
free_pool:
	free(pool);
	return status;
}

enum vbd_status vbd_msgpool_take(struct vbd_device *device, int *ret_slot, uint8_t **ret_addr,
	uint32_t *ret_lkey, struct vbd_error *err)
{
	struct vbd_msgpool *pool;
	enum vbd_status status;
	int slot;

	status = device->msgpool ? VBD_OK : create(device, err);
	if (status)
		return status;
	pool = device->msgpool;
	if (pool->taken == UINT64_MAX) {
		if (err && err->status == VBD_OK)
			err->limit = VBD_MSGPOOL_SLOTS;
		return vbd_error_set(err, VBD_E_LIMIT_REACHED,
			"device %s has %d messages under way, as many as it may", device->name,
			VBD_MSGPOOL_SLOTS);
	}
	slot = __builtin_ctzll(~pool->taken);
	pool->taken |= 1ULL << slot;
	*ret_slot = slot;
	*ret_addr = pool->mem.addr + (size_t)slot * VBD_MSGPOOL_SLOT_BYTES;
	*ret_lkey = pool->mem.lkey;
	return VBD_OK;
}

void vbd_msgpool_give(struct vbd_device *device, int slot)
{
	if (device->msgpool)
		device->msgpool->taken &= ~(1ULL << slot);
}

void vbd_msgpool_destroy(struct vbd_device *device)
{
	struct vbd_msgpool *pool = device->msgpool;

	if (!pool)
		return;
	device->msgpool = NULL;
	vbd_mem_free(&pool->mem);
	free(pool);
}
