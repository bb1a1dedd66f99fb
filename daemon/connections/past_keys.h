/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last keys of remote memory that worked on connections that have ended, and when memory here
 * was last closed to peers: a program that keeps an old key, while its peer has made its memory
 * anew, is told so. Both by owner (vbd_whose()): of the transfer that used the key, and of the
 * memory that was closed.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_CONNECTIONS_PAST_KEYS_H
#define VBD_DAEMON_CONNECTIONS_PAST_KEYS_H

#include "daemon/connections/connections.h"

/** vbd_past_keys_note - @connection ends: remember the key of its remote memory, if one worked.
 * Without memory it is forgotten. */
void vbd_past_keys_note(const struct vbd_connection *connection);

/** vbd_past_keys_worked - did a request of the same owner with the key, the range and one of the
 * operations of @request work on an earlier connection with the host of @connection? */
bool vbd_past_keys_worked(
	const struct vbd_connection *connection, const struct vbd_qp_remote_use *request);

/** vbd_past_keys_note_closed - @memory, a buffer or a @window on the device, is closed to peers at
 * @at_ns. Without memory that is forgotten. */
void vbd_past_keys_note_closed(
	const struct vbd_object *memory, const char *device_name, bool window, uint64_t at_ns);

/** vbd_past_keys_closed_ns - when a buffer or a @window on the device of @connection was last
 * closed to peers; 0 if that is not known */
uint64_t vbd_past_keys_closed_ns(const struct vbd_connection *connection, bool window);

#endif
