/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources/handlers.h"

#include "api/resources/context.h"
#include "api/resources/keep.h"
#include "api/resources/labels.h"
#include "daemon/core/labels.h"
#include "daemon/kept/kept.h"

void vbd_create_labelled(struct vbd_request *req)
{
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	struct vbd_error err = {0};
	struct vbd_labels *labels = NULL;
	struct vbd_kept *kept = NULL;

	if (vbd_request_reserve_answer(req, &err) != VBD_OK ||
		vbd_labels_decode(json_object_get(req->json, "labels"), &labels, &err) != VBD_OK ||
		vbd_keep_take(req, labels, &kept, &err) != VBD_OK) {
		vbd_labels_unref(labels);
		vbd_reply_problem(req, &err);
		return;
	}
	(void)json_object_del(req->json, "labels");
	daemon->new_labels = labels;
	req->route->create(req);
	daemon->new_labels = NULL;
	daemon->new_shared = false;
	vbd_labels_unref(labels);
	if (kept)
		vbd_kept_settle(kept);
}
