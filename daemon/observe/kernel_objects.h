/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects that the kernel holds for this process, counted over rdma netlink and compared with
 * those that verbsd and librdmacm know. The kernel lists each object, so a count takes the longer
 * the more connections there are. The thread pool takes it, and it uses at most a tenth of the
 * time: whoever asks sooner gets the last count, with its age.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_OBSERVE_KERNEL_OBJECTS_H
#define VBD_DAEMON_OBSERVE_KERNEL_OBJECTS_H

#include "daemon/core/context.h"
#include "rdma/provider/account.h"

/* A count, with the counts of verbsd's and librdmacm's objects at that time. */
struct vbd_object_counts {
	bool known;			      /* false: there is no rdma netlink */
	uint64_t kernel[VBD_PV_OBJECT_COUNT]; /* VBD_PV_UNKNOWN: not counted by the kernel */
	uint64_t held[VBD_PV_OBJECT_COUNT];   /* verbsd's objects */
	uint64_t librdmacm[VBD_PV_OBJECT_COUNT];
	uint64_t leaked;     /* excess of `kernel` over the other two, in both of two counts */
	uint64_t counted_ns; /* monotonic; when the count began; 0: there was none */
	uint64_t took_ns;
};

struct vbd_kernel_objects;

/**
 * vbd_kernel_objects_create - without a count
 * @counted: called with @arg after each count
 */
enum vbd_status vbd_kernel_objects_create(struct vbd_daemon *daemon, void (*counted)(void *arg),
	void *arg, struct vbd_kernel_objects **ret_objects, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_kernel_objects_destroy - after the loop, so that no count is under way. NULL is fine. */
void vbd_kernel_objects_destroy(struct vbd_kernel_objects *objects);

/**
 * vbd_kernel_objects_refresh - begin a count, if the last one is old enough and none is under way
 *
 * Returns whether to wait for `counted`: there is no count yet, or the one under way is quick.
 */
bool vbd_kernel_objects_refresh(struct vbd_kernel_objects *objects);

/** vbd_kernel_objects_counts - the last count, valid until the next one ends */
const struct vbd_object_counts *vbd_kernel_objects_counts(const struct vbd_kernel_objects *objects);

#endif
