/* SPDX-License-Identifier: Apache-2.0 */
/* Multicast groups. Control thread. */
#ifndef VBD_API_RESOURCES_GROUPS_H
#define VBD_API_RESOURCES_GROUPS_H

struct vbd_request;

void vbd_create_multicast_membership(struct vbd_request *req);

#endif
