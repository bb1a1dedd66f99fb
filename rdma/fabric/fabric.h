/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all connections share: the CM channel, the devices, the CQs and the workers, and the
 * dispatch of what they report.
 *
 * Control thread. The caller watches the descriptors and calls the matching dispatch function.
 */
#ifndef VBD_RDMA_FABRIC_FABRIC_H
#define VBD_RDMA_FABRIC_FABRIC_H

#include "base/error.h"
#include "base/list.h"
#include "base/mailbox.h"
#include "rdma/device/device.h"

#include <stdbool.h>
#include <stdint.h>

struct rdma_event_channel;
struct vbd_cq;
struct vbd_pd;
struct vbd_srq;
struct vbd_transfer;
struct vbd_worker;

/* One for each enum rdma_cm_event_type that librdmacm 44 has, and the last for all others. */
#define VBD_CM_EVENT_TYPES 17

/* How long the kernel may resolve an address or a route; the caller's own deadline may be shorter.
 */
#define VBD_RESOLVE_TIMEOUT_MS 2000

struct vbd_fabric_ops {
	/* A new device, PRESENT or FAILED. Its async descriptor wants watching. */
	void (*device_added)(struct vbd_device *device, void *arg);
	/* It begins to go: stop watching its descriptor, take down what is on it. */
	void (*device_removing)(struct vbd_device *device, void *arg);
	/* It is gone: nothing of ours holds it any more. */
	void (*device_removed)(struct vbd_device *device, void *arg);
	void (*async_event)(struct vbd_device *device, int type, int port_num, void *arg);
	/* The fabric made a default PD, or a CQ for queue pairs that name none. */
	void (*pd_made)(struct vbd_pd *pd, void *arg);
	void (*cq_made)(struct vbd_cq *cq, void *arg);
	/* The object goes with its device, or is a spare CQ: no client may find it any more. */
	void (*pd_gone)(const struct vbd_pd *pd, void *arg);
	void (*cq_gone)(const struct vbd_cq *cq, void *arg);
	void (*srq_gone)(const struct vbd_srq *srq, void *arg);
	/* The CM channel was opened late, with the first device: its descriptor wants watching. */
	void (*cm_opened)(void *arg);
};

/* A queue pair as the fabric knows it: the receiver of an async event that names the queue pair. */
struct vbd_fabric_qp {
	struct vbd_link link;
	const struct vbd_device *device;
	uint32_t lqpn;
	void (*on_async)(struct vbd_fabric_qp *qp, int type); /* @type: enum ibv_event_type */
};

struct vbd_fabric {
	struct rdma_event_channel *cm_channel; /* NULL while the kernel has no rdma_cm */
	struct vbd_error cm_channel_error;     /* why it is NULL */
	struct vbd_mailbox control;	       /* notifications of the workers */
	struct vbd_worker **workers;
	unsigned int worker_count;
	unsigned int next_worker;
	uint32_t cq_depth;
	uint32_t drain_timeout_ms; /* a QP that is slower with its flushes is destroyed without them
				    */
	struct vbd_link devices;   /* of struct vbd_device, also removed ones, oldest first */
	struct vbd_link cqs;	   /* of struct vbd_cq */
	struct vbd_link pds;	   /* of struct vbd_pd */
	struct vbd_link srqs;	   /* of struct vbd_srq */
	bool rescan_owed;	   /* a device waits for one of the same name to be REMOVED */
	uint64_t last_device_id, last_cq_id, last_pd_id, last_srq_id;
	unsigned int listeners_everywhere; /* that are bound to every device */
	struct vbd_counter cm_events[VBD_CM_EVENT_TYPES];
	const struct vbd_fabric_ops *ops;
	void *ops_arg;
	struct vbd_link qps; /* of struct vbd_fabric_qp */
};

/**
 * vbd_fabric_create - CM channel (if the kernel has one) and workers, not running; no devices yet
 * @worker_count: 1 to 64
 * @cq_depth:     completions that a CQ shall hold
 * @drain_timeout_ms: how long a QP may take to flush
 */
enum vbd_status vbd_fabric_create(unsigned int worker_count, uint32_t cq_depth,
	uint32_t drain_timeout_ms, const struct vbd_fabric_ops *ops, void *ops_arg,
	struct vbd_fabric **ret_fabric, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_fabric_start - start the workers' threads (tests don't, and turn the workers by hand) */
enum vbd_status vbd_fabric_start(struct vbd_fabric *fabric, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_fabric_destroy - connections, listeners and buffers are gone before. NULL is fine. */
void vbd_fabric_destroy(struct vbd_fabric *fabric);

/** vbd_fabric_rescan - compare with the devices there are: new ones are opened, vanished ones begin
 * to be removed */
void vbd_fabric_rescan(struct vbd_fabric *fabric);

/** vbd_fabric_remove_uverbs - the kernel said (uevent) that "uverbs0" is going */
void vbd_fabric_remove_uverbs(struct vbd_fabric *fabric, const char *uverbs_name);

/** vbd_fabric_remove_device - it begins to be removed; idempotent */
void vbd_fabric_remove_device(struct vbd_fabric *fabric, struct vbd_device *device);

/** vbd_fabric_release_device - something of it went: give up the CQs that nobody uses any more; all
 * of them when it is REMOVING, else all but one of those that were not asked for of each worker */
void vbd_fabric_release_device(struct vbd_fabric *fabric, struct vbd_device *device);

/** vbd_fabric_device_busy - does any connection still have a QP on it? */
bool vbd_fabric_device_busy(const struct vbd_fabric *fabric, const struct vbd_device *device);

/** vbd_fabric_device - a PRESENT or REMOVING device by name; NULL if there is none */
struct vbd_device *vbd_fabric_device(const struct vbd_fabric *fabric, const char *name);

/** vbd_fabric_default_device - the first PRESENT one with an active port, else the first PRESENT
 * one; NULL if none */
struct vbd_device *vbd_fabric_default_device(const struct vbd_fabric *fabric);

/** vbd_fabric_cm_fd - -1 while there is no CM channel */
int vbd_fabric_cm_fd(const struct vbd_fabric *fabric);

/** vbd_fabric_check_cm - no_device, with the error of the open, while there is no CM channel */
enum vbd_status vbd_fabric_check_cm(
	const struct vbd_fabric *fabric, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_fabric_dispatch_cm - handle the CM events that are there, a bounded number at a time */
void vbd_fabric_dispatch_cm(struct vbd_fabric *fabric);

/** vbd_fabric_control_fd - readable when workers have written */
int vbd_fabric_control_fd(const struct vbd_fabric *fabric);

/** vbd_fabric_dispatch_control - handle the notifications of the workers */
void vbd_fabric_dispatch_control(struct vbd_fabric *fabric);

/** vbd_fabric_admit - a CQ of @device with room for @cqe completions, made if need be, admitted */
enum vbd_status vbd_fabric_admit(struct vbd_fabric *fabric, struct vbd_device *device, uint32_t cqe,
	struct vbd_cq **ret_cq, struct vbd_error *err) VBD_MUST_CHECK;

#endif
