/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel knows of our devices and of us: its counters (sysfs) and the objects that it
 * holds for this process (rdma netlink). Asking takes time, so it is done on the thread pool, once
 * at a time however many ask.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_OBSERVE_KERNEL_H
#define VBD_DAEMON_OBSERVE_KERNEL_H

#include "daemon/core/context.h"
#include "daemon/core/watch.h"
#include "rdma/provider/account.h"

/* More counters than that are left out: a device has some 150. */
#define VBD_KERNEL_COUNTERS_MAX 16384

struct vbd_kernel_counter {
	char device[64];
	char name[96]; /* "1/hw_counters/sent_pkts" */
	uint64_t value;
};

/* What a snapshot contains. */
struct vbd_kernel_view {
	struct vbd_kernel_counter *counters; /* by device and port, the files of a set together */
	size_t counter_count;
	bool objects_known;		       /* false: there is no rdma netlink */
	uint64_t objects[VBD_PV_OBJECT_COUNT]; /* VBD_PV_UNKNOWN: no account is kept of those */
	uint64_t held[VBD_PV_OBJECT_COUNT];    /* what we know of */
	uint64_t librdmacm[VBD_PV_OBJECT_COUNT];
	uint64_t leaked; /* how many more the kernel had than both, in each of two snapshots */
	uint64_t took_ns;
};

/** vbd_kernel_create - for a daemon; without a snapshot */
enum vbd_status vbd_kernel_create(struct vbd_daemon *daemon, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_kernel_destroy - the loop is gone, so no snapshot is being taken */
void vbd_kernel_destroy(struct vbd_daemon *daemon);

/**
 * vbd_kernel_snapshot_begin - begin a snapshot, or join the one under way
 *
 * Returns its number: it is over when vbd_kernel_snapshots_taken() is that or more. The watches
 * hear of it.
 */
uint64_t vbd_kernel_snapshot_begin(struct vbd_daemon *daemon);
uint64_t vbd_kernel_snapshots_taken(const struct vbd_daemon *daemon);
struct vbd_link *vbd_kernel_watches(struct vbd_daemon *daemon);

/** vbd_kernel_view - the last complete snapshot; all zero before the first; valid until the next is
 * complete */
const struct vbd_kernel_view *vbd_kernel_view(const struct vbd_daemon *daemon);

#endif
