/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The endpoint service: an endpoint's name, limits, inbox and watches, and its peers and groups.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_DATAGRAMS_ENDPOINTS_H
#define VBD_DAEMON_DATAGRAMS_ENDPOINTS_H

#include "daemon/connections/inbox.h"
#include "daemon/core/object.h"
#include "rdma/ud/endpoint.h"

struct vbd_endpoint_record {
	struct vbd_object object;      /* first */
	struct vbd_endpoint *endpoint; /* the RDMA side; never NULL */
	struct vbd_inbox inbox;
	struct vbd_link peers;	/* of struct vbd_peer_record */
	struct vbd_link groups; /* of struct vbd_group_record */
	uint64_t receive_bytes; /* included in qp_receives_bytes while the endpoint is open */
};

struct vbd_endpoint_spec {
	char name[64];	/* "" for none */
	char addr[256]; /* "": does not listen */
	uint16_t port;
	char device[64]; /* "" for the device of the address, else the default device */
	struct vbd_endpoint_params params;
};

/** vbd_endpoint_create - create an endpoint, which is ready when a call thread has registered its
 * receives; its watches tell */
enum vbd_status vbd_endpoint_create(struct vbd_daemon *daemon, const struct vbd_endpoint_spec *spec,
	struct vbd_endpoint_record **ret_record, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_endpoint_delete_messages - see vbd_inbox_delete() */
enum vbd_status vbd_endpoint_delete_messages(
	struct vbd_endpoint_record *record, uint64_t through, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_endpoints_device_removing - end the endpoints on the device */
void vbd_endpoints_device_removing(struct vbd_daemon *daemon, const struct vbd_device *device);

/** vbd_endpoints_close_all - close all endpoints, because the daemon stops */
void vbd_endpoints_close_all(struct vbd_daemon *daemon);

#endif
