/* SPDX-License-Identifier: Apache-2.0 */
/* Faults that clients inject. Control thread. */
#ifndef VBD_API_RESOURCES_FAULTS_H
#define VBD_API_RESOURCES_FAULTS_H

struct vbd_request;

void vbd_create_fault(struct vbd_request *req);
void vbd_delete_fault(struct vbd_request *req);

#endif
