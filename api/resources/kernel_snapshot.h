/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request that waits for a snapshot of what the kernel knows, which takes milliseconds.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_KERNEL_SNAPSHOT_H
#define VBD_API_RESOURCES_KERNEL_SNAPSHOT_H

#include "api/http/request.h"

/* A request waits at most so long for the kernel. */
#define VBD_KERNEL_SNAPSHOT_TIMEOUT_MS 3000

/**
 * vbd_kernel_snapshot_await - take a snapshot of what the kernel knows (daemon/observe/kernel.h),
 * then answer
 * @answer: must reply; called once unless the client leaves. @fresh: false when the kernel takes
 *          too long, or too many requests wait already: vbd_kernel_view() is an older one
 */
void vbd_kernel_snapshot_await(
	struct vbd_request *req, void (*answer)(struct vbd_request *req, bool fresh));

/** vbd_kernel_snapshot_others_waiting - of @parked requests, those besides this one */
uint64_t vbd_kernel_snapshot_others_waiting(const struct vbd_request *req, uint64_t parked);

#endif
