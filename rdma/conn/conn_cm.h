/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CM id of a connection: addresses, options, parameters, private data.
 *
 * Control thread; used by the files that rdma/conn/conn_parts.h names.
 */
#ifndef VBD_RDMA_CONN_CONN_CM_H
#define VBD_RDMA_CONN_CONN_CM_H

#include "rdma/conn/conn.h"

struct rdma_conn_param;

/** vbd_conn_cm_resolve - create the CM id, set its options, begin to resolve @dst */
enum vbd_status vbd_conn_cm_resolve(
	struct vbd_conn *conn, const struct sockaddr *dst, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_cm_resolve_route - begin to resolve the route; ROUTE_ERROR if the device is not the
 * requested one */
enum vbd_status vbd_conn_cm_resolve_route(
	struct vbd_conn *conn, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_cm_param - the argument of rdma_connect(3) or rdma_accept(3), with pointers into @conn
 */
struct rdma_conn_param vbd_conn_cm_param(const struct vbd_conn *conn);

/** vbd_conn_cm_reject - reject the request, with the reason and the private data of @conn */
void vbd_conn_cm_reject(struct vbd_conn *conn);

/** vbd_conn_cm_take_device_name - copy the device name and port number of the CM id */
void vbd_conn_cm_take_device_name(struct vbd_conn *conn);

/** vbd_conn_cm_take_addresses - copy both addresses of the CM id */
void vbd_conn_cm_take_addresses(struct vbd_conn *conn);

/** vbd_conn_cm_take_scope - link-local addresses without a scope get that of interface @netdev */
void vbd_conn_cm_take_scope(struct vbd_conn *conn, const char *netdev);

/** vbd_conn_cm_take_peer_data - copy the peer's limits and private data from @event */
void vbd_conn_cm_take_peer_data(struct vbd_conn *conn, const struct vbd_pv_cm_event *event);

/** vbd_conn_cm_disconnect - disconnect if the CM thinks that it is connected, unless the device
 * must not send now */
void vbd_conn_cm_disconnect(struct vbd_conn *conn);

/** vbd_conn_cm_outlives - hand the CM id over if the peer must still be told of the end; false:
 * there is none, or the caller destroys it */
bool vbd_conn_cm_outlives(struct vbd_conn *conn);

#endif
