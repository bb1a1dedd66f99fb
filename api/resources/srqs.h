/* SPDX-License-Identifier: Apache-2.0 */
/* Shared receive queues. Control thread. */
#ifndef VBD_API_RESOURCES_SRQS_H
#define VBD_API_RESOURCES_SRQS_H

struct vbd_request;

void vbd_create_srq(struct vbd_request *req);
void vbd_patch_srq(struct vbd_request *req);

#endif
