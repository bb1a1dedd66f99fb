/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the configuration again, on request and by a signal.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_RELOAD_H
#define VBD_API_RESOURCES_RELOAD_H

#include "api/http/request.h"

struct vbd_api;
struct vbd_config_changes;

/** vbd_post_reload - begin to reload; the answer comes when that is over */
void vbd_post_reload(struct vbd_request *req);

/** vbd_reload_answer - answer the request that began to reload, if there is one
 * @err: why the configuration stays as it is; VBD_OK in it when @changes are taken up */
void vbd_reload_answer(
	struct vbd_api *api, const struct vbd_config_changes *changes, const struct vbd_error *err);

#endif
