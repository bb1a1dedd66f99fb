/* SPDX-License-Identifier: Apache-2.0 */
/* Kept objects: /v1/kept_objects. Control thread. */
#ifndef VBD_API_RESOURCES_KEPT_OBJECTS_H
#define VBD_API_RESOURCES_KEPT_OBJECTS_H

struct vbd_request;

/** vbd_delete_kept_object - DELETE: the object of the path stays, and is kept no longer: 204 */
void vbd_delete_kept_object(struct vbd_request *req);

#endif
