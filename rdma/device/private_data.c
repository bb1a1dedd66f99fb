/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/device/private_data.h"

VBD_ENUM_NAMES(vbd_cm_message_name, enum vbd_cm_message, VBD_CM_MESSAGE_MAP)
static VBD_ENUM_COLUMN(uint8_t, ib_bytes_of, enum vbd_cm_message, VBD_CM_MESSAGE_MAP,
	3) static VBD_ENUM_COLUMN(uint8_t, iwarp_bytes_of, enum vbd_cm_message, VBD_CM_MESSAGE_MAP,
	4)

	uint8_t vbd_cm_message_room(enum vbd_cm_message message, bool iwarp)
{
	return iwarp ? iwarp_bytes_of(message) : ib_bytes_of(message);
}

enum vbd_status vbd_private_data_check(const struct vbd_private_data *data,
	enum vbd_cm_message message, bool iwarp, const char *pointer, struct vbd_error *err)
{
	uint8_t room = vbd_cm_message_room(message, iwarp);

	if (data->length_bytes <= room)
		return VBD_OK;
	return vbd_error_input(err, VBD_E_TOO_LONG, pointer,
		"%s has %u bytes; a CM %s carries at most %u over %s", pointer, data->length_bytes,
		vbd_cm_message_name(message), room, iwarp ? "iWARP" : "InfiniBand and RoCE");
}

uint8_t vbd_private_data_shown_bytes(const struct vbd_private_data *data)
{
	uint8_t shown = data->length_bytes;

	while (shown && !data->bytes[shown - 1])
		shown--;
	return shown;
}
