/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel holds for this process, and what of it we know of: should there be more than we
 * know, something was forgotten.
 */
#ifndef VBD_RDMA_ACCOUNT_H
#define VBD_RDMA_ACCOUNT_H

#include "base/error.h"

#include <stdint.h>

struct vbd_channel;
struct vbd_fabric;

/* X(SYMBOL, name): what the kernel keeps account of for each process */
#define VBD_PV_OBJECT_MAP(X)  \
	X(QP, "qp")           \
	X(CQ, "cq")           \
	X(MR, "mr")           \
	X(PD, "pd")           \
	X(CM_ID, "cm_id")     \
	X(CONTEXT, "context") \
	X(SRQ, "srq")

enum vbd_pv_object {
#define VBD_PV_OBJECT_ENUM(sym, name) VBD_PV_##sym,
	VBD_PV_OBJECT_MAP(VBD_PV_OBJECT_ENUM)
#undef VBD_PV_OBJECT_ENUM
		VBD_PV_OBJECT_COUNT
};

/* Of something that this kernel keeps no account of. */
#define VBD_PV_UNKNOWN UINT64_MAX

/** vbd_object_type_name - "qp" */
const char *vbd_object_type_name(enum vbd_pv_object type);

/** vbd_account_kernel - vbd_pv_count_objects(); any thread, blocks */
enum vbd_status vbd_account_kernel(
	uint64_t ret_counts[VBD_PV_OBJECT_COUNT], struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_account_librdmacm - what librdmacm made for itself */
void vbd_account_librdmacm(uint64_t ret_counts[VBD_PV_OBJECT_COUNT]);

/** vbd_account_fabric - control; add what devices and queues hold */
void vbd_account_fabric(const struct vbd_fabric *fabric, uint64_t counts[VBD_PV_OBJECT_COUNT]);

/** vbd_account_channel - control; add what a channel has registered. NULL is fine. */
void vbd_account_channel(const struct vbd_channel *channel, uint64_t counts[VBD_PV_OBJECT_COUNT]);

#endif
