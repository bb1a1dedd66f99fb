/* SPDX-License-Identifier: Apache-2.0 */
/* Listeners. Control thread. */
#ifndef VBD_API_RESOURCES_LISTENERS_H
#define VBD_API_RESOURCES_LISTENERS_H

struct vbd_request;

void vbd_create_listener(struct vbd_request *req);
void vbd_delete_listener(struct vbd_request *req);
void vbd_patch_listener(struct vbd_request *req);

#endif
