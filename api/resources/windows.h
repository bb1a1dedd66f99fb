/* SPDX-License-Identifier: Apache-2.0 */
/* Memory windows. Control thread. */
#ifndef VBD_API_RESOURCES_WINDOWS_H
#define VBD_API_RESOURCES_WINDOWS_H

struct vbd_request;

void vbd_create_window(struct vbd_request *req);

#endif
