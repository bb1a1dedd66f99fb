/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request that waits for a snapshot of the kernel's state, which takes milliseconds.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_KERNEL_SNAPSHOT_H
#define VBD_API_RESOURCES_KERNEL_SNAPSHOT_H

#include "api/http/request.h"

/* Longest wait for a snapshot. */
#define VBD_KERNEL_SNAPSHOT_TIMEOUT_MS 3000

/**
 * vbd_kernel_snapshot_await - take a snapshot (daemon/observe/kernel.h), then call @answer
 * @answer: must reply; called once, unless the client leaves. @fresh: false if the kernel takes too
 *          long or too many requests wait, so that vbd_kernel_view() is an older snapshot
 */
void vbd_kernel_snapshot_await(
	struct vbd_request *req, void (*answer)(struct vbd_request *req, bool fresh));

/** vbd_kernel_snapshot_others_waiting - number of @parked requests without @req */
uint64_t vbd_kernel_snapshot_others_waiting(const struct vbd_request *req, uint64_t parked);

#endif
