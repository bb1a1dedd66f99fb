/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of the fabric, for rdma/dispatch.c, which passes each event to its object:
 *
 *   scan.c         devices that come: the scan of the host, the opens
 *   fabric.c       creation and end, devices that go
 *   fabric_cqs.c   completion queues: admission, creation, removal
 *
 * Each calls those below it in this list only. Control thread.
 */
#ifndef VBD_RDMA_FABRIC_FABRIC_PARTS_H
#define VBD_RDMA_FABRIC_FABRIC_PARTS_H

#include "rdma/data/srq.h"
#include "rdma/data/worker.h"
#include "rdma/device/cq.h"
#include "rdma/fabric/fabric.h"

/* Upward calls of the devices; their argument is the fabric. */
extern const struct vbd_device_ops vbd_fabric_device_ops;

/** vbd_fabric_remove_cq_if_idle - begin to remove @cq, unless a queue pair or SRQ uses it */
void vbd_fabric_remove_cq_if_idle(struct vbd_fabric *fabric, struct vbd_cq *cq);

/** vbd_ports_ask - something has happened to the ports of @device, or to their interfaces */
void vbd_ports_ask(struct vbd_device *device);

/** vbd_interfaces_ask - an interface or an address has changed */
void vbd_interfaces_ask(struct vbd_fabric *fabric);

/** vbd_fabric_new_cq - vbd_cq_create() with the next id; its worker polls the CQ */
enum vbd_status vbd_fabric_new_cq(struct vbd_fabric *fabric, struct vbd_device *device,
	struct vbd_worker *worker, uint32_t depth_cqe, struct vbd_cq **ret_cq,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_fabric_fail_cq - admit no queue pair to the CQ any more; NULL if there is none, or if it has
 * failed before */
struct vbd_cq *vbd_fabric_fail_cq(struct vbd_fabric *fabric, const struct ibv_cq *ibv_cq);

/** vbd_fabric_remove_idle_cqs - remove the CQs of @device that have no users */
void vbd_fabric_remove_idle_cqs(struct vbd_fabric *fabric, const struct vbd_device *device);

/** vbd_fabric_remove_spare_cqs - the same, but leave one CQ of @device on each worker */
void vbd_fabric_remove_spare_cqs(struct vbd_fabric *fabric, const struct vbd_device *device);

/** vbd_fabric_admit_on - as vbd_fabric_admit(), in a CQ of @worker */
enum vbd_status vbd_fabric_admit_on(struct vbd_fabric *fabric, struct vbd_device *device,
	struct vbd_worker *worker, uint32_t cqe, struct vbd_cq **ret_cq,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_fabric_least_used_worker - the worker with the fewest queue pairs; of equals the one with
 * the fewest CQs */
struct vbd_worker *vbd_fabric_least_used_worker(const struct vbd_fabric *fabric);

/* A further CQ of an SRQ, in which its depth is reserved. */
struct vbd_srq_cq {
	struct vbd_link link; /* the SRQ's list */
	struct vbd_cq *cq;
	unsigned int users; /* QPs */
};

/**
 * vbd_srq_cqs_admit - reserve room for @cqe sends of a user of @srq
 *
 * The user leaves by vbd_cq_release() and then vbd_srq_cqs_left(). limit_reached if the SRQ's CQ is
 * one that a client has chosen, and full; no_memory, and the errors of the device.
 */
enum vbd_status vbd_srq_cqs_admit(struct vbd_fabric *fabric, struct vbd_srq *srq, uint32_t cqe,
	struct vbd_cq **ret_cq, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_srq_cqs_left - note that a queue pair no longer uses @srq and @cq; the last one also
 * releases the room of @srq in @cq */
void vbd_srq_cqs_left(struct vbd_srq *srq, const struct vbd_cq *cq);

/** vbd_srq_cqs_forget - free the list; the CQs are gone, or go with the device */
void vbd_srq_cqs_forget(struct vbd_srq *srq);

#endif
