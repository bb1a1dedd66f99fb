/* SPDX-License-Identifier: Apache-2.0 */
/* The members of a body that are the same for all kinds of new objects. Control thread. */
#ifndef VBD_API_RESOURCES_CREATE_H
#define VBD_API_RESOURCES_CREATE_H

struct vbd_request;

/** vbd_create_labelled - take `labels` and `keep` out of the body, and call `create` of the route:
 * the objects that it makes get the labels, and are kept */
void vbd_create_labelled(struct vbd_request *req);

#endif
