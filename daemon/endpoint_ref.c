/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/endpoints.h"

enum vbd_status vbd_endpoint_check_ready(
	const struct vbd_endpoint_record *record, const char *pointer, struct vbd_error *err)
{
	if (record->endpoint->state == VBD_ENDPOINT_READY)
		return VBD_OK;
	return vbd_error_input(err, VBD_E_WRONG_STATE, pointer,
		"endpoint %llu is %s; only a ready one can be used",
		(unsigned long long)record->object.id,
		vbd_endpoint_state_name(record->endpoint->state));
}
