/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/label_query.h"

#define SELECTOR_CHARS_MAX (VBD_LABELS_MAX * 2 * VBD_LABEL_BYTES)

enum vbd_status vbd_query_labels(
	const struct vbd_request *req, struct vbd_label_selector *selector, struct vbd_error *err)
{
	const char *text = NULL;
	enum vbd_status status = vbd_query_text(req, "label", SELECTOR_CHARS_MAX, &text, err);

	selector->count = 0;
	if (status != VBD_OK || !text)
		return status;
	return vbd_label_selector_parse(selector, text, "label", err);
}
