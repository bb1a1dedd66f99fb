/* SPDX-License-Identifier: Apache-2.0 */
/* Datagram endpoints and their messages. Control thread. */
#ifndef VBD_API_RESOURCES_ENDPOINTS_H
#define VBD_API_RESOURCES_ENDPOINTS_H

struct vbd_request;

void vbd_create_ud_endpoint(struct vbd_request *req);

void vbd_list_ud_endpoint_messages(struct vbd_request *req);
void vbd_send_ud_endpoint_message(struct vbd_request *req);
void vbd_delete_ud_endpoint_messages(struct vbd_request *req);

#endif
