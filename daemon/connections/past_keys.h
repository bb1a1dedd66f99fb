/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last keys of remote memory that worked on connections that have ended: a program that keeps
 * an old key, while its peer has made its memory anew, is told so.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_CONNECTIONS_PAST_KEYS_H
#define VBD_DAEMON_CONNECTIONS_PAST_KEYS_H

#include "daemon/connections/connections.h"

/** vbd_past_keys_note - @connection ends: remember the key of its remote memory, if one worked.
 * Without memory it is forgotten. */
void vbd_past_keys_note(const struct vbd_connection *connection);

/** vbd_past_keys_worked - did a request with the key, the range and one of the operations of
 * @request work on an earlier connection with the host of @connection? */
bool vbd_past_keys_worked(
	const struct vbd_connection *connection, const struct vbd_qp_remote_use *request);

/** vbd_past_keys_destroy - free the daemon's `past_keys` */
void vbd_past_keys_destroy(struct vbd_daemon *daemon);

#endif
