/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A data worker runs these: the channels with their transfers, probes and heartbeats, and the
 * shared receive queues. The worker (rdma/data/worker.h) calls them by this table, and knows none
 * of them.
 */
#ifndef VBD_RDMA_DATA_DATAPATH_H
#define VBD_RDMA_DATA_DATAPATH_H

struct vbd_worker_ops;

/* For vbd_worker_create(). */
extern const struct vbd_worker_ops vbd_datapath_ops;

#endif
