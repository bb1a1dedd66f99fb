/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a connection asks of the CM and hears from it: addresses, options, parameters, private data.
 *
 * Control thread; used by the files that rdma/conn/conn_parts.h names.
 */
#ifndef VBD_RDMA_CONN_CONN_CM_H
#define VBD_RDMA_CONN_CONN_CM_H

#include "rdma/conn/conn.h"

struct rdma_conn_param;

/** vbd_conn_cm_resolve - a CM id with the options asked for, on its way to @dst */
enum vbd_status vbd_conn_cm_resolve(
	struct vbd_conn *conn, const struct sockaddr *dst, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_cm_resolve_route - the device is known: look for a path; ROUTE_ERROR if it is not the
 * device asked for */
enum vbd_status vbd_conn_cm_resolve_route(
	struct vbd_conn *conn, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_cm_param - what goes into rdma_connect(3) or rdma_accept(3); it points into @conn */
struct rdma_conn_param vbd_conn_cm_param(const struct vbd_conn *conn);

/** vbd_conn_cm_reject - tell the peer no, with the reason and the private data there are */
void vbd_conn_cm_reject(struct vbd_conn *conn);

/** vbd_conn_cm_take_device_name - remember the device and port that the CM id is bound to */
void vbd_conn_cm_take_device_name(struct vbd_conn *conn);

/** vbd_conn_cm_take_addresses - remember both addresses of the CM id */
void vbd_conn_cm_take_addresses(struct vbd_conn *conn);

/** vbd_conn_cm_take_scope - the interface of the path: link-local addresses that lack it are on it
 */
void vbd_conn_cm_take_scope(struct vbd_conn *conn, const char *netdev);

/** vbd_conn_cm_take_peer_data - remember what the peer said of itself */
void vbd_conn_cm_take_peer_data(struct vbd_conn *conn, const struct vbd_pv_cm_event *event);

#endif
