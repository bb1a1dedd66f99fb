/* SPDX-License-Identifier: Apache-2.0 */
/* Protection domains. Control thread. */
#ifndef VBD_API_RESOURCES_PDS_H
#define VBD_API_RESOURCES_PDS_H

struct vbd_request;

void vbd_create_pd(struct vbd_request *req);

#endif
