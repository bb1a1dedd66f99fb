/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A listening CM id. What to do with a request is the observer's to decide.
 *
 * Control thread.
 */
#ifndef VBD_RDMA_CONN_LISTENER_H
#define VBD_RDMA_CONN_LISTENER_H

#include "rdma/provider/account.h"
#include "rdma/conn/conn.h"

struct vbd_cm_listener;

struct vbd_cm_listener_ops {
	/*
	 * A peer asks for a connection. The observer makes a connection of it with
	 * vbd_conn_create_passive(), which takes over the request's id; or returns false, and the
	 * request is rejected.
	 */
	bool (*request)(
		struct vbd_cm_listener *listener, const struct vbd_pv_cm_event *request, void *arg);
	/* Its device is being removed: the id is gone already. */
	void (*lost)(struct vbd_cm_listener *listener, void *arg);
};

struct vbd_cm_listener {
	struct vbd_cm_tag tag; /* first */
	struct vbd_fabric *fabric;
	struct vbd_account account;
	struct rdma_cm_id *cm_id; /* NULL when lost */
	bool everywhere;	  /* counted in fabric->listeners_everywhere */
	char device_name[64];	  /* "" when bound to every device */
	struct sockaddr_storage addr;
	const struct vbd_cm_listener_ops *ops;
	void *ops_arg;
};

/**
 * vbd_cm_listener_open - bind and listen
 * @listener: zeroed memory of the caller's
 * @addr:     address and port; port 0 is replaced in @listener->addr by the one the kernel picked,
 * and the address of all devices by one of the device asked for
 * @cm:       device, ToS, reuse of the address, IPv6 alone
 * @backlog:  requests that may wait in the kernel; too few are dropped without a word
 */
enum vbd_status vbd_cm_listener_open(struct vbd_cm_listener *listener, struct vbd_fabric *fabric,
	const struct sockaddr *addr, const struct vbd_cm_params *cm, int backlog,
	const struct vbd_cm_listener_ops *ops, void *ops_arg, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_cm_listener_close - stop listening; harmless when it is lost or closed */
void vbd_cm_listener_close(struct vbd_cm_listener *listener);

/* The fabric's way in. */
void vbd_cm_listener_on_cm_event(
	struct vbd_cm_listener *listener, const struct vbd_pv_cm_event *event);

#endif
