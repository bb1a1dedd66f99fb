/* SPDX-License-Identifier: Apache-2.0 */
/* The caller of a request, as it sees itself. Control thread. */
#ifndef VBD_API_RESOURCES_CALLER_H
#define VBD_API_RESOURCES_CALLER_H

struct vbd_request;

void vbd_get_caller(struct vbd_request *req);

#endif
