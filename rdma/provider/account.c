/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/provider/account.h"

#include <stdatomic.h>

/* Sums over the whole process, to compare with the kernel's. Several threads write. */
static _Atomic uint64_t held[VBD_PV_OBJECT_COUNT];

VBD_ENUM_NAMES(vbd_object_type_name, enum vbd_pv_object, VBD_PV_OBJECT_MAP)

void vbd_account_made(struct vbd_account *account, enum vbd_pv_object type)
{
	if (account)
		account->held[type]++;
	(void)atomic_fetch_add_explicit(&held[type], 1, memory_order_relaxed);
}

void vbd_account_destroyed(struct vbd_account *account, enum vbd_pv_object type)
{
	if (account)
		account->held[type]--;
	(void)atomic_fetch_sub_explicit(&held[type], 1, memory_order_relaxed);
}

void vbd_account_hand_over(
	struct vbd_account *from, struct vbd_account *to, enum vbd_pv_object type)
{
	if (from)
		from->held[type]--;
	if (to)
		to->held[type]++;
}

void vbd_account_close(struct vbd_account *account)
{
	for (size_t i = 0; i < VBD_PV_OBJECT_COUNT; i++)
		(void)atomic_fetch_sub_explicit(&held[i], account->held[i], memory_order_relaxed);
	memset(account, 0, sizeof(*account));
}

void vbd_account_held(uint64_t ret_counts[VBD_PV_OBJECT_COUNT])
{
	for (size_t i = 0; i < VBD_PV_OBJECT_COUNT; i++)
		ret_counts[i] = atomic_load_explicit(&held[i], memory_order_relaxed);
}
