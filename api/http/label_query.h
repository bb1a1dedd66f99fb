/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameter `label` of lists, of events and of operations on several objects.
 *
 * Control thread.
 */
#ifndef VBD_API_HTTP_LABEL_QUERY_H
#define VBD_API_HTTP_LABEL_QUERY_H

#include "api/http/request.h"
#include "daemon/core/labels.h"

/** vbd_query_labels - read `label`, as in "job=x,team"; absent: no labels are selected */
enum vbd_status vbd_query_labels(const struct vbd_request *req, struct vbd_label_selector *selector,
	struct vbd_error *err) VBD_MUST_CHECK;

#endif
