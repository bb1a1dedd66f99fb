/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control loop starts and closes a few connections in each turn. Connections that are made
 * together wait here for their turn to connect: one queue for the whole daemon, so that
 * `connects_in_flight` bounds what all batches together ask of the kernel and of the peers. A
 * connection that has a request of its own does not wait.
 *
 * Control thread; never blocks.
 */
#ifndef VBD_DAEMON_CONNECTIONS_CONNECTION_QUEUE_H
#define VBD_DAEMON_CONNECTIONS_CONNECTION_QUEUE_H

#include "daemon/connections/connections.h"

/** vbd_connection_queue_create - make the empty queue of @daemon */
enum vbd_status vbd_connection_queue_create(
	struct vbd_daemon *daemon, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_connection_queue_add - a connection in QUEUED waits behind the others. Its event of creation
 * follows in a turn to come, and before any other event about it. */
void vbd_connection_queue_add(struct vbd_connection *connection);

/** vbd_connection_queue_moved - the connection is in another state: it may leave the queue, or make
 * room for the next one */
void vbd_connection_queue_moved(struct vbd_connection *connection);

/** vbd_connections_close_all - close all connections, a few in each turn, because the daemon stops:
 * it is `stopping` */
void vbd_connections_close_all(struct vbd_daemon *daemon);

#endif
