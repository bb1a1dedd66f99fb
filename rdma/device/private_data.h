/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private data: the few bytes that a user of the CM may send with its messages.
 *
 * Any thread; no allocation.
 */
#ifndef VBD_RDMA_DEVICE_PRIVATE_DATA_H
#define VBD_RDMA_DEVICE_PRIVATE_DATA_H

#include "base/enum.h"
#include "base/error.h"

/* rdma_conn_param has 8 bits for the length. */
#define VBD_PRIVATE_DATA_MAX 255

/* An enhanced MPA request uses four of these bytes itself (RFC 6581, 4.1): with more than 251 the
 * length wraps, and the kernel drops the connection (seen on siw, 6.1). */
#define VBD_PRIVATE_DATA_IWARP_MAX 251

/*
 * X(SYMBOL, json name, bytes on InfiniBand and RoCE, bytes on iWARP)
 *
 * IBTA 12.6 and 12.11, less the 36 bytes of the CMA's own header in a request (kernel rdma/ib_cm.h,
 * cma.c). MPA has room for 512 bytes, librdmacm for less.
 */
#define VBD_CM_MESSAGE_MAP(X)                                                         \
	X(VBD_CM_MESSAGE_REQUEST, "request", 56, VBD_PRIVATE_DATA_IWARP_MAX)          \
	X(VBD_CM_MESSAGE_REPLY, "reply", 196, VBD_PRIVATE_DATA_IWARP_MAX)             \
	X(VBD_CM_MESSAGE_REJECT, "reject", 148, VBD_PRIVATE_DATA_IWARP_MAX)           \
	X(VBD_CM_MESSAGE_SIDR_REQUEST, "sidr_request", 180, 0) /* UD: not on iWARP */ \
	X(VBD_CM_MESSAGE_SIDR_REPLY, "sidr_reply", 136, 0)

enum vbd_cm_message { VBD_CM_MESSAGE_MAP(VBD_ENUM_ROW) VBD_CM_MESSAGE_COUNT };

struct vbd_private_data {
	enum vbd_cm_message message; /* the message that carries it */
	uint8_t length_bytes;	     /* 0: there is none */
	uint8_t bytes[VBD_PRIVATE_DATA_MAX];
};

/** vbd_cm_message_name - "request" */
const char *vbd_cm_message_name(enum vbd_cm_message message);

/** vbd_cm_message_room - the number of bytes of private data that @message can carry */
uint8_t vbd_cm_message_room(enum vbd_cm_message message, bool iwarp);

/**
 * vbd_private_data_check - does it fit into @message?
 * @iwarp:   over iWARP; false also while the transport is unknown, as its room is the smallest
 * @pointer: the member to name in the error
 *
 * Returns VBD_OK, or VBD_E_TOO_LONG with the room in bytes.
 */
enum vbd_status vbd_private_data_check(const struct vbd_private_data *data,
	enum vbd_cm_message message, bool iwarp, const char *pointer,
	struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_private_data_shown_bytes - the length without zero bytes at the end
 *
 * On InfiniBand and RoCE the CM fills a message up with zero bytes, which can't be distinguished
 * from zero bytes that the peer sent.
 */
uint8_t vbd_private_data_shown_bytes(const struct vbd_private_data *data);

#endif
