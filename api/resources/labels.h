/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels in requests: the member `labels` of a request that makes objects, and the operations on
 * all objects that `label` selects.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_LABELS_H
#define VBD_API_RESOURCES_LABELS_H

struct vbd_request;

/** vbd_create_labelled - take `labels` out of the body, and call `create` of the route: the objects
 * that it makes get the labels */
void vbd_create_labelled(struct vbd_request *req);

/** vbd_delete_selected - delete the objects of the route's `task` that `label` selects, a few in
 * each turn of the loop; the answer tells what became of them */
void vbd_delete_selected(struct vbd_request *req);

/** vbd_cancel_selected - as vbd_delete_selected(), but end the objects and keep their records */
void vbd_cancel_selected(struct vbd_request *req);

#endif
