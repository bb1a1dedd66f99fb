/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/device/private_data.h"

static const struct {
	const char *name;
	uint8_t ib_bytes;
	uint8_t iwarp_bytes;
} messages[VBD_CM_MESSAGE_COUNT] = {
#define VBD_CM_MESSAGE_ROW(sym, json, ib_bytes, iwarp_bytes) [sym] = {json, ib_bytes, iwarp_bytes},
	VBD_CM_MESSAGE_MAP(VBD_CM_MESSAGE_ROW)
#undef VBD_CM_MESSAGE_ROW
};

const char *vbd_cm_message_name(enum vbd_cm_message message)
{
	return messages[message].name;
}

uint8_t vbd_cm_message_room(enum vbd_cm_message message, bool iwarp)
{
	return iwarp ? messages[message].iwarp_bytes : messages[message].ib_bytes;
}

enum vbd_status vbd_private_data_check(const struct vbd_private_data *data,
	enum vbd_cm_message message, bool iwarp, const char *pointer, struct vbd_error *err)
{
	uint8_t room = vbd_cm_message_room(message, iwarp);

	if (data->length_bytes <= room)
		return VBD_OK;
	return vbd_error_input(err, VBD_E_TOO_LONG, pointer,
		"%s has %u bytes; a CM %s carries at most %u over %s", pointer, data->length_bytes,
		messages[message].name, room, iwarp ? "iWARP" : "InfiniBand and RoCE");
}

uint8_t vbd_private_data_shown_bytes(const struct vbd_private_data *data)
{
	uint8_t shown = data->length_bytes;

	while (shown && !data->bytes[shown - 1])
		shown--;
	return shown;
}
