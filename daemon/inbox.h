/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages that a connection has received and nobody has forgotten yet.
 *
 * Control thread; used by daemon/connections.c only.
 */
#ifndef VBD_DAEMON_INBOX_H
#define VBD_DAEMON_INBOX_H

#include "daemon/connections.h"

/** vbd_inbox_add - a message came in; without memory to note it, it is dropped and its receive
 * posted again */
void vbd_inbox_add(struct vbd_connection *connection, struct vbd_recv_slot *slot);

/** vbd_inbox_detach - the receives' memory goes: copy what is still held, so that it can be read
 * afterwards */
void vbd_inbox_detach(struct vbd_connection *connection);

/** vbd_inbox_clear - free all messages */
void vbd_inbox_clear(struct vbd_connection *connection);

#endif
