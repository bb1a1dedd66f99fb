/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for connections that are made together. Memory that the process did not have before costs
 * more time than all else that is done to make a connection in QUEUED: who makes many of them at
 * once gets it before, in parts.
 *
 * Control thread; never blocks.
 */
#ifndef VBD_RDMA_CONN_CONN_ROOM_H
#define VBD_RDMA_CONN_CONN_ROOM_H

#include "base/attr.h"
#include "base/error.h"

#include <stdint.h>

#define VBD_CONN_ROOM_MAX 1000

struct vbd_conn;

/* All zero: empty. */
struct vbd_conn_room {
	uint32_t count;
	struct vbd_conn *blanks[VBD_CONN_ROOM_MAX]; /* all zero, from calloc */
};

/** vbd_conn_room_add - get memory for @count connections more, VBD_CONN_ROOM_MAX in all; without
 * it, VBD_E_NO_MEMORY: the room has less then */
enum vbd_status vbd_conn_room_add(
	struct vbd_conn_room *room, uint32_t count, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_room_take - memory for a connection, all zero, which the caller frees; fresh memory if
 * @room is empty or NULL. NULL without memory. */
struct vbd_conn *vbd_conn_room_take(struct vbd_conn_room *room);

/** vbd_conn_room_fini - free what is left */
void vbd_conn_room_fini(struct vbd_conn_room *room);

#endif
