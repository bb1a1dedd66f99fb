/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of transfers. Control thread. */
#ifndef VBD_API_RESOURCES_BATCHES_H
#define VBD_API_RESOURCES_BATCHES_H

struct vbd_request;

/** vbd_create_batch - POST of a BatchCreate: all its transfers start, or none */
void vbd_create_batch(struct vbd_request *req);

#endif
