/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of connections as resources share:
 *
 *   connection_create.c  creation: limits, checks, record; by request, by hand, of a listener
 *   connection_events.c  what the RDMA side reports: states, ends, messages
 *   connections.c        finding, commands, the end of a record
 *   connection_totals.c  what they have moved, and how long their phases took
 *
 * Each calls those below it in this list only.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_CONNECTIONS_CONNECTION_PARTS_H
#define VBD_DAEMON_CONNECTIONS_CONNECTION_PARTS_H

#include "daemon/connections/connections.h"

/** vbd_connection_of - the connection that stands in the registry as @object */
static inline struct vbd_connection *vbd_connection_of(struct vbd_object *object)
{
	return VBD_CONTAINER_OF(object, struct vbd_connection, object);
}

/* connection_events.c: the observer of each */
extern const struct vbd_conn_ops vbd_connection_conn_ops;

/* connection_totals.c */

/** vbd_connection_count_totals - add what it has moved to @totals */
void vbd_connection_count_totals(struct vbd_totals *totals, const struct vbd_conn *conn);

/** vbd_connection_time_phase - it has left @left for the state that it is in now */
void vbd_connection_time_phase(struct vbd_connection *connection, enum vbd_conn_state left);

#endif
