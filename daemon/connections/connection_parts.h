/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interfaces between the files of the connection service:
 *
 *   connection_create.c  creation: limits, checks, record; on request, manual, from a listener
 *   connection_events.c  callbacks of the RDMA side: states, ends, messages
 *   connection_queue.c   batches of connections, which wait for their turn to connect; the first
 *                        steps of one: its event, its turn, its name
 *   connections.c        lookup, commands, the end of a record; numbers of connections by state,
 *                        traffic to sort by, durations of phases
 *
 * Each file calls only those below it in this list.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_CONNECTIONS_CONNECTION_PARTS_H
#define VBD_DAEMON_CONNECTIONS_CONNECTION_PARTS_H

#include "daemon/connections/connections.h"

/** vbd_connection_of - the connection whose registry entry is @object */
static inline struct vbd_connection *vbd_connection_of(struct vbd_object *object)
{
	return VBD_CONTAINER_OF(object, struct vbd_connection, object);
}

/* connection_events.c: the callbacks of every connection's vbd_conn */
extern const struct vbd_conn_ops vbd_connection_conn_ops;

/* connection_queue.c */

/** vbd_connection_announce - append the event of the creation of a connection to an address */
void vbd_connection_announce(struct vbd_connection *connection);

/** vbd_connection_resolve - resolve the host name, if it is one, then the address; a failure is the
 * connection's own `reason` */
void vbd_connection_resolve(struct vbd_connection *connection);

/** vbd_connection_look_up - look up the host name; the addresses, or a failure, go to the RDMA side
 */
enum vbd_status vbd_connection_look_up(
	struct vbd_connection *connection, struct vbd_error *err) VBD_MUST_CHECK;

/* connections.c */

/** vbd_connection_discard - free a prepared connection, as if it had never been */
void vbd_connection_discard(struct vbd_object *object);

/** vbd_connection_count_state - count the connection in its state instead of the state before */
void vbd_connection_count_state(struct vbd_connection *connection);

/** vbd_connection_time_phase - record the duration of the state @left, which the connection has
 * just left */
void vbd_connection_time_phase(struct vbd_connection *connection, enum vbd_conn_state left);

#endif
