/* SPDX-License-Identifier: Apache-2.0 */
/* The member `labels` of a request that makes objects or changes their labels. Any thread. */
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

/** vbd_labels_check_patch - whether the object @patch has labels and nulls only, as in RFC
 * 7396: null takes a label away */
enum vbd_status vbd_labels_check_patch(const json_t *patch, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_labels_patch - @labels with the changes of @patch, which vbd_labels_check_patch() allowed;
 * VBD_E_OUT_OF_RANGE if that are too many
 * @ret_labels: a reference; NULL for no labels */
enum vbd_status vbd_labels_patch(const struct vbd_labels *labels, const json_t *patch,
	struct vbd_labels **ret_labels, struct vbd_error *err) VBD_MUST_CHECK;

#endif
