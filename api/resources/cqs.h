/* SPDX-License-Identifier: Apache-2.0 */
/* Completion queues. Control thread. */
#ifndef VBD_API_RESOURCES_CQS_H
#define VBD_API_RESOURCES_CQS_H

struct vbd_request;

void vbd_create_cq(struct vbd_request *req);
void vbd_patch_cq(struct vbd_request *req);

#endif
