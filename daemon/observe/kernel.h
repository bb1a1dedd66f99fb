/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshots of the kernel: its counters of RDMA devices (sysfs), the objects that it holds for this
 * process, and memory and file descriptors of this process. The thread pool takes them, since they
 * take time: one at a time, for any number of requests.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_OBSERVE_KERNEL_H
#define VBD_DAEMON_OBSERVE_KERNEL_H

#include "base/clock.h"
#include "daemon/core/context.h"
#include "daemon/core/watch.h"
#include "rdma/device/port_counters.h"
#include "rdma/provider/account.h"

/* CPU time, memory and descriptors of this process. */
struct vbd_process {
	uint64_t cpu_ns; /* of all threads, in user and kernel mode */
	uint64_t resident_bytes;
	uint64_t virtual_bytes;
	uint64_t open_fds;
	uint64_t max_fds;
};

/* The kernel's count of objects, and those of verbsd and librdmacm at that time. */
struct vbd_object_counts {
	bool known;			      /* false: there is no rdma netlink */
	uint64_t kernel[VBD_PV_OBJECT_COUNT]; /* VBD_PV_UNKNOWN: not counted by the kernel */
	uint64_t held[VBD_PV_OBJECT_COUNT];   /* verbsd's objects */
	uint64_t librdmacm[VBD_PV_OBJECT_COUNT];
	uint64_t leaked;     /* excess of `kernel` over the other two, in both of two counts */
	uint64_t counted_ns; /* monotonic; when the count began; 0: there was none */
	uint64_t took_ns;
};

struct vbd_kernel_counter {
	char device[64];
	unsigned int port_num;
	enum vbd_counter_set set;
	char name[64]; /* "sent_pkts" */
	uint64_t value;
};

/* A snapshot without the objects, which vbd_kernel_object_counts() has. */
struct vbd_kernel_view {
	struct vbd_kernel_counter *counters; /* by set, name, device and port */
	size_t counter_count;
	struct vbd_process process;
	uint64_t took_ns;
};

/** vbd_kernel_create - create the daemon's `kernel`, without a snapshot */
enum vbd_status vbd_kernel_create(struct vbd_daemon *daemon, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_kernel_destroy - free it, after the loop, so that no snapshot is being taken */
void vbd_kernel_destroy(struct vbd_daemon *daemon);

/* A snapshot is shared by those who ask for one no later than this. */
#define VBD_KERNEL_FRESH_NS VBD_NS_PER_MS

/**
 * vbd_kernel_snapshot_begin - begin a snapshot, or join the one under way or taken just now
 * @with_objects: also count the objects, unless that was done too short a time ago
 *
 * Returns its number. It is complete when vbd_kernel_snapshots_taken() has reached that number; the
 * watches are called then.
 */
uint64_t vbd_kernel_snapshot_begin(struct vbd_daemon *daemon, bool with_objects);
uint64_t vbd_kernel_snapshots_taken(const struct vbd_daemon *daemon);
struct vbd_link *vbd_kernel_watches(struct vbd_daemon *daemon);

/** vbd_kernel_view - the last complete snapshot, valid until the next is complete; all zero before
 * the first */
const struct vbd_kernel_view *vbd_kernel_view(const struct vbd_daemon *daemon);

/** vbd_kernel_object_counts - the last count of objects, which may be older than the snapshot */
const struct vbd_object_counts *vbd_kernel_object_counts(const struct vbd_daemon *daemon);

#endif
