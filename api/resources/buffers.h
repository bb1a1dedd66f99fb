/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers and their bytes. Control thread. */
#ifndef VBD_API_RESOURCES_BUFFERS_H
#define VBD_API_RESOURCES_BUFFERS_H

struct vbd_request;

void vbd_create_buffer(struct vbd_request *req);
void vbd_delete_buffer(struct vbd_request *req);
void vbd_get_buffer_data(struct vbd_request *req);
void vbd_open_buffer_data(struct vbd_request *req);
void vbd_put_buffer_data(struct vbd_request *req);
void vbd_get_buffer_fd(struct vbd_request *req);
void vbd_get_buffer_checksum(struct vbd_request *req);

#endif
