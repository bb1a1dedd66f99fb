/* SPDX-License-Identifier: Apache-2.0 */
/* The memory regions of a test without those of slabs, of which a spare one may stay. */
#ifndef VBD_TESTS_UNIT_SLABS_H
#define VBD_TESTS_UNIT_SLABS_H

#include "rdma/device/pd.h"
#include "rdma/device/slab.h"
#include "rdma/fabric/fabric.h"
#include "tests/fake/provider_fake.h"

/** slabs_use - of all devices of @fabric together */
static inline struct vbd_slab_use slabs_use(const struct vbd_fabric *fabric)
{
	struct vbd_slab_use sum = {0};

	vbd_list_for_each (link, &fabric->devices) {
		struct vbd_device *device = VBD_CONTAINER_OF(link, struct vbd_device, link);

		vbd_list_for_each (pd_link, &device->pds) {
			const struct vbd_pd *pd = VBD_CONTAINER_OF(pd_link, struct vbd_pd, link);
			struct vbd_slab_use use = {0};

			if (pd->slabs)
				use = vbd_slabs_use(pd->slabs);

			sum.slabs += use.slabs;
			sum.registered_bytes += use.registered_bytes;
			sum.taken_bytes += use.taken_bytes;
		}
	}
	return sum;
}

/** slabs_other_mrs - the memory regions that belong to no slab */
static inline unsigned int slabs_other_mrs(const struct vbd_fabric *fabric)
{
	return fake_live().mrs - slabs_use(fabric).slabs;
}

#endif
