/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Send work requests that go to the device together, by one call and so by one doorbell: on
 * hardware a write to a register of the device, with Soft-RoCE a system call. Each worker has one
 * chain. It holds requests of one channel, and none when the worker turns to another channel.
 *
 * The worker.
 */
#ifndef VBD_RDMA_DATA_SEND_CHAIN_H
#define VBD_RDMA_DATA_SEND_CHAIN_H

#include "base/error.h"
#include "rdma/device/op.h"

#include <infiniband/verbs.h>

/* The first request of a chain waits until the last one is written. */
#define VBD_CHAIN_WRS 32

struct vbd_send_chain {
	uint32_t count;
	uint32_t sge_count;
	/* Written field by field: to fill them with zeros takes longer than the rest of a post. */
	struct ibv_send_wr wrs[VBD_CHAIN_WRS];
	struct ibv_sge sges[VBD_CHAIN_WRS + VBD_SGES_MAX];
	struct vbd_error error; /* of posts; zeros, except while a failure is handled */
};

#endif
