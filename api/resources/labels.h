/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of new objects: the member `labels` of a request that makes objects. Any thread. */
#ifndef VBD_API_RESOURCES_LABELS_H
#define VBD_API_RESOURCES_LABELS_H

#include "base/attr.h"
#include "base/error.h"

#include <jansson.h>

struct vbd_labels;

/** vbd_labels_decode - the member `labels`; NULL for an absent one
 * @ret_labels: a reference; NULL for no labels */
enum vbd_status vbd_labels_decode(
	const json_t *json, struct vbd_labels **ret_labels, struct vbd_error *err) VBD_MUST_CHECK;

#endif
