/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request that wants to know what the kernel says now, which takes a moment.
 *
 * Control thread.
 */
#ifndef VBD_API_LOOK_H
#define VBD_API_LOOK_H

#include "api/request.h"

/* Longer than that nobody waits for the kernel. */
#define VBD_LOOK_PATIENCE_MS 3000

/**
 * vbd_look_run - look (daemon/kernel.h), then answer
 * @answer: must reply; called once unless the client leaves. @fresh: false when the kernel takes
 *          too long, or too many requests wait already: vbd_kernel_view() is an older one
 */
void vbd_look_run(struct vbd_request *req, void (*answer)(struct vbd_request *req, bool fresh));

/** vbd_look_others_waiting - of @parked requests, those besides this one */
uint64_t vbd_look_others_waiting(const struct vbd_request *req, uint64_t parked);

#endif
