/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An account of the objects that this process has in the kernel. Each owner (a connection, an
 * endpoint, registered memory, a device ...) has a struct vbd_account. The provider counts each
 * object that it makes or destroys in the account of the owner and in the sums, so that nobody has
 * to visit all owners for the sums. Objects that an owner has not destroyed when it closes its
 * account are leaked: the kernel has them and no account does.
 */
#ifndef VBD_RDMA_PROVIDER_ACCOUNT_H
#define VBD_RDMA_PROVIDER_ACCOUNT_H

#include "base/enum.h"
#include "base/error.h"

/* X(SYMBOL, name): the object types that the kernel counts for each process */
#define VBD_PV_OBJECT_MAP(X)         \
	X(VBD_PV_QP, "qp")           \
	X(VBD_PV_CQ, "cq")           \
	X(VBD_PV_MR, "mr")           \
	X(VBD_PV_PD, "pd")           \
	X(VBD_PV_CM_ID, "cm_id")     \
	X(VBD_PV_CONTEXT, "context") \
	X(VBD_PV_SRQ, "srq")

enum vbd_pv_object { VBD_PV_OBJECT_MAP(VBD_ENUM_ROW) VBD_PV_OBJECT_COUNT };

/* The count of a type that this kernel does not count. */
#define VBD_PV_UNKNOWN UINT64_MAX

/** vbd_object_type_name - "qp" */
const char *vbd_object_type_name(enum vbd_pv_object type);

/* The account of one owner: zeroed at first. One thread at a time uses it. */
struct vbd_account {
	uint16_t held[VBD_PV_OBJECT_COUNT];
};

/**
 * vbd_account_made, vbd_account_destroyed - the provider has made or destroyed an object
 * @account: of the owner; NULL for an object that has no owner yet
 *
 * Any thread.
 */
void vbd_account_made(struct vbd_account *account, enum vbd_pv_object type);
void vbd_account_destroyed(struct vbd_account *account, enum vbd_pv_object type);

/** vbd_account_hand_over - an object of @from is one of @to from now on; NULL: without an owner;
 * any thread */
void vbd_account_hand_over(
	struct vbd_account *from, struct vbd_account *to, enum vbd_pv_object type);

/** vbd_account_close - before the owner is freed: objects that are left are leaked; any thread */
void vbd_account_close(struct vbd_account *account);

/** vbd_account_held - sums over all open accounts and objects without an owner; any thread */
void vbd_account_held(uint64_t ret_counts[VBD_PV_OBJECT_COUNT]);

/**
 * vbd_pv_count_objects - the objects that the kernel has for this process on all devices, by type
 *
 * Any thread; blocks: the kernel goes through the objects of all processes.
 */
enum vbd_status vbd_pv_count_objects(
	uint64_t ret_counts[VBD_PV_OBJECT_COUNT], struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_pv_own_objects - the share of librdmacm in these objects; never more than the total */
void vbd_pv_own_objects(uint64_t ret_counts[VBD_PV_OBJECT_COUNT]);

#endif
