/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of new objects: the member `labels` of a request that makes objects. Control thread. */
#ifndef VBD_API_RESOURCES_LABELS_H
#define VBD_API_RESOURCES_LABELS_H

struct vbd_request;

/** vbd_create_labelled - take `labels` out of the body, and call `create` of the route: the objects
 * that it makes get the labels */
void vbd_create_labelled(struct vbd_request *req);

#endif
