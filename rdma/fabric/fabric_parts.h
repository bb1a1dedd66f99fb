/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the fabric share:
 *
 *   fabric_dispatch.c  hands each CM event and each notification to its object
 *   fabric.c           its life, devices
 *   fabric_cqs.c       completion queues: room in them, the ones that are made and taken away
 *
 * Each calls those below it in this list only.
 *
 * Control thread.
 */
#ifndef VBD_RDMA_FABRIC_FABRIC_PARTS_H
#define VBD_RDMA_FABRIC_FABRIC_PARTS_H

#include "rdma/fabric/fabric.h"
#include "rdma/data/worker.h"

/** vbd_fabric_remove_cq_if_idle - begin to remove @cq, unless a queue pair or SRQ uses it */
void vbd_fabric_remove_cq_if_idle(struct vbd_fabric *fabric, struct vbd_cq *cq);

/** vbd_fabric_remove_idle_cqs - take away those of @device that nobody uses */
void vbd_fabric_remove_idle_cqs(struct vbd_fabric *fabric, const struct vbd_device *device);

/** vbd_fabric_remove_spare_cqs - of those that nobody uses, leave @device one on each worker */
void vbd_fabric_remove_spare_cqs(struct vbd_fabric *fabric, const struct vbd_device *device);

#endif
