/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drain: `/v1/drain`.
 */
#ifndef VBD_API_RESOURCES_DRAIN_H
#define VBD_API_RESOURCES_DRAIN_H

#include "api/http/request.h"

/** vbd_get_drain - answer with the state; with wait_ms when nothing is under way any more */
void vbd_get_drain(struct vbd_request *req);

/** vbd_post_drain - begin to drain, or set another deadline */
void vbd_post_drain(struct vbd_request *req);

/** vbd_delete_drain - serve again */
void vbd_delete_drain(struct vbd_request *req);

#endif
