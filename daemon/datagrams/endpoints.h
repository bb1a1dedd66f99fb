/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoints as resources: name, limits, inbox, watches, and the peers and groups that go with them.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_DATAGRAMS_ENDPOINTS_H
#define VBD_DAEMON_DATAGRAMS_ENDPOINTS_H

#include "daemon/connections/inbox.h"
#include "daemon/core/object.h"
#include "rdma/ud/endpoint.h"

struct vbd_endpoint_record {
	struct vbd_object object; /* first */
	struct vbd_daemon *daemon;
	struct vbd_endpoint *endpoint; /* everything about the RDMA side; never NULL */
	struct vbd_inbox inbox;
	struct vbd_link peers;	/* of struct vbd_peer_record */
	struct vbd_link groups; /* of struct vbd_group_record */
	uint64_t receive_bytes; /* counted in messages_bytes while it is open */
};

struct vbd_endpoint_spec {
	char name[64];	/* "" for none */
	char addr[256]; /* "": it does not listen */
	uint16_t port;
	char device[64]; /* "" for the one of the address, else the default one */
	struct vbd_endpoint_params params;
};

/** vbd_endpoint_create - one that is ready; what is refused leaves nothing behind */
enum vbd_status vbd_endpoint_create(struct vbd_daemon *daemon, const struct vbd_endpoint_spec *spec,
	struct vbd_endpoint_record **ret_record, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_endpoint_delete_messages - forget messages up to @through; out_of_range if the inbox never
 * had that many */
enum vbd_status vbd_endpoint_delete_messages(
	struct vbd_endpoint_record *record, uint64_t through, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_endpoints_device_removing - end those on the device */
void vbd_endpoints_device_removing(struct vbd_daemon *daemon, const struct vbd_device *device);

/** vbd_endpoints_add_totals - what the open ones have moved so far */
void vbd_endpoints_add_totals(const struct vbd_daemon *daemon, struct vbd_totals *totals);

/** vbd_endpoints_close_all - the daemon stops */
void vbd_endpoints_close_all(struct vbd_daemon *daemon);

#endif
