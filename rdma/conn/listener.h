/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A listening CM id. The layer above decides about requests.
 *
 * Control thread.
 */
#ifndef VBD_RDMA_CONN_LISTENER_H
#define VBD_RDMA_CONN_LISTENER_H

#include "rdma/conn/conn.h"

struct vbd_cm_listener;

struct vbd_cm_listener_ops {
	/* A connect request came. Create a connection with vbd_conn_create_passive(), which then
	 * owns the request's id; or return false, and the listener rejects the request, with the
	 * text @ret_reason as private data if that is set. */
	bool (*request)(struct vbd_cm_listener *listener, const struct vbd_pv_cm_event *request,
		void *arg, const char **ret_reason);
	/* The device is being removed: the id is destroyed already. */
	void (*lost)(struct vbd_cm_listener *listener, void *arg);
};

struct vbd_cm_listener {
	struct vbd_cm_tag tag; /* first */
	struct vbd_fabric *fabric;
	struct vbd_account account;
	struct rdma_cm_id *cm_id;    /* NULL once lost or closed */
	bool everywhere;	     /* counted in fabric->listeners_everywhere */
	struct vbd_device_id device; /* no name when bound to every device */
	struct sockaddr_storage addr;
	const struct vbd_cm_listener_ops *ops;
	void *ops_arg;
};

/**
 * vbd_cm_listener_open - bind and listen
 * @listener: zeroed memory of the caller
 * @addr:     address and port; in @listener->addr the kernel's port replaces port 0, and an address
 *            of the requested device replaces the wildcard address
 * @cm:       device, ToS, reuse of the address, IPv6 only
 * @backlog:  requests that may wait in the kernel, which drops further ones silently
 */
enum vbd_status vbd_cm_listener_open(struct vbd_cm_listener *listener, struct vbd_fabric *fabric,
	const struct sockaddr *addr, const struct vbd_cm_params *cm, int backlog,
	const struct vbd_cm_listener_ops *ops, void *ops_arg, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_cm_listener_close - stop listening; harmless when lost or closed */
void vbd_cm_listener_close(struct vbd_cm_listener *listener);

/**
 * vbd_cm_request_check - can a connection of @params carry what the peer of @request will send?
 *
 * Returns limit_reached if the path MTU of the request, or that of @params where it is less, is
 * more than the port carries. The kernel's CM takes it (cm_req_handler() in core/cm.c, 6.1), and no
 * reply could lower it.
 */
enum vbd_status vbd_cm_request_check(const struct vbd_fabric *fabric,
	const struct vbd_pv_cm_event *request, const struct vbd_conn_params *params,
	struct vbd_error *err) VBD_MUST_CHECK;

/* For the fabric. */
void vbd_cm_listener_on_cm_event(
	struct vbd_cm_listener *listener, const struct vbd_pv_cm_event *event);

#endif
