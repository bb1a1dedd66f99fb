/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A protection domain: memory and queue pairs work together only inside the same one. Every device
 * has a default PD, made with it; clients create others.
 *
 * Control thread.
 */
#ifndef VBD_RDMA_DEVICE_PD_H
#define VBD_RDMA_DEVICE_PD_H

#include "base/list.h"
#include "rdma/provider/account.h"

struct ibv_context;
struct ibv_pd;
struct vbd_device;
struct vbd_slabs;

struct vbd_pd {
	struct vbd_link link; /* the device's list; the default PD first */
	uint64_t id;	      /* 0: the fabric has not told of it yet */
	char name[64];	      /* for messages; "" without a name */
	bool is_default;
	struct vbd_device *device;
	struct vbd_account account;
	struct ibv_pd *ibv_pd;	 /* NULL once revoked */
	struct vbd_slabs *slabs; /* memory of the receives of queue pairs; made at the first one */
	struct vbd_slabs *messages; /* of messages of clients; made at the first long one */
	void (*destroy_slabs)(struct vbd_slabs *slabs); /* set with one of them */
	unsigned int
		refs; /* registrations, QPs and SRQs, each with a reference to the device too */
	unsigned int messages_in_flight;
	bool delete_pending; /* no lookup finds it any more: freed with its last user */
	bool losing;	     /* the device is being removed: the last reference frees ibv_pd */
};

/** vbd_pd_make - any thread; a protection domain for vbd_pd_add() */
enum vbd_status vbd_pd_make(
	struct ibv_context *context, struct vbd_pd **ret_pd, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_pd_add - append @pd to the list of its device; the first one is the default PD, and has no
 * reference to the device */
void vbd_pd_add(struct vbd_device *device, struct vbd_pd *pd);

/** vbd_pd_create - make a protection domain and add it to @device */
enum vbd_status vbd_pd_create(
	struct vbd_device *device, struct vbd_pd **ret_pd, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_pd_destroy - the PD has no users. NULL is fine. */
void vbd_pd_destroy(struct vbd_pd *pd);

/** vbd_pd_revoke - its device is being removed: ibv_pd is freed at the latest with the last user.
 * The record stays until vbd_pd_destroy(). Not for a default PD. */
void vbd_pd_revoke(struct vbd_pd *pd);

/** vbd_pd_delete - no lookup finds the PD any more; freed with its last user */
void vbd_pd_delete(struct vbd_pd *pd);

/** vbd_pd_ref, vbd_pd_unref - a reference to the PD and to its device */
void vbd_pd_ref(struct vbd_pd *pd);
void vbd_pd_unref(struct vbd_pd *pd);

/**
 * vbd_pd_require_same - VBD_OK, or pd_mismatch
 * @one:   the name of the owner of @a ("connection 3"), @other the same of @b
 */
enum vbd_status vbd_pd_require_same(const struct vbd_pd *a, const char *one, const struct vbd_pd *b,
	const char *other, struct vbd_error *err) VBD_MUST_CHECK;

#endif
