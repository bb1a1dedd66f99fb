/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn/conn_room.h"

#include "rdma/conn/conn.h"

#include <stdlib.h>

enum vbd_status vbd_conn_room_add(struct vbd_conn_room *room, uint32_t count, struct vbd_error *err)
{
	for (uint32_t i = 0; i < count; i++) {
		struct vbd_conn *blank = calloc(1, sizeof(*blank));

		if (!blank)
			return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a connection");
		room->blanks[room->count++] = blank;
	}
	return VBD_OK;
}

struct vbd_conn *vbd_conn_room_take(struct vbd_conn_room *room)
{
	return room && room->count ? room->blanks[--room->count]
				   : calloc(1, sizeof(struct vbd_conn));
}

void vbd_conn_room_fini(struct vbd_conn_room *room)
{
	while (room->count)
		free(room->blanks[--room->count]);
}
