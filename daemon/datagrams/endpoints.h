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
#include "rdma/device/calls.h"
#include "rdma/ud/endpoint.h"
#include "rdma/ud/group.h"
#include "rdma/ud/peer.h"

struct vbd_endpoint_record {
	struct vbd_object object;      /* first */
	struct vbd_endpoint *endpoint; /* the RDMA side; never NULL */
	struct vbd_inbox inbox;
	struct vbd_link peers;	/* of struct vbd_peer_record */
	struct vbd_link groups; /* of struct vbd_group_record */
	uint64_t receive_bytes; /* included in qp_receives_bytes while the endpoint is open */
};

struct vbd_endpoint_spec {
	struct vbd_origin origin;
	char name[64];	/* "" for none */
	char addr[256]; /* "": does not listen */
	uint16_t port;
	char device[64]; /* "" for the device of the address, else the default device */
	struct vbd_endpoint_params params;
};

/** vbd_endpoint_create - create an endpoint, which is ready when a call thread has registered its
 * receives; its watches are called then */
enum vbd_status vbd_endpoint_create(struct vbd_daemon *daemon, const struct vbd_endpoint_spec *spec,
	struct vbd_endpoint_record **ret_record, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_endpoints_device_removing - end the endpoints on the device */
void vbd_endpoints_device_removing(struct vbd_daemon *daemon, const struct vbd_device *device);

/** vbd_endpoints_close_all - close all endpoints, because the daemon stops */
void vbd_endpoints_close_all(struct vbd_daemon *daemon);

struct vbd_group_record {
	struct vbd_object object; /* first */
	struct vbd_group group;
	struct vbd_link link; /* in the endpoint's list */
	uint64_t endpoint_id;
	uint32_t timeout_ms;
};

struct vbd_group_spec {
	struct vbd_origin origin;
	char name[64]; /* "" for none */
	struct vbd_endpoint_record *endpoint;
	char addr[256];
	enum vbd_group_mode mode;
	uint32_t timeout_ms;
};

/** vbd_group_create - begin to join; a later failure is the group's own error */
enum vbd_status vbd_group_create(struct vbd_daemon *daemon, const struct vbd_group_spec *spec,
	struct vbd_group_record **ret_record, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_group_ref - a transfer begins to send to the group, which is joined */
void vbd_group_ref(struct vbd_group_record *record);
/** vbd_group_unref - the transfer has ended */
void vbd_group_unref(struct vbd_group_record *record);

/** vbd_groups_endpoint_ended - end the endpoint's groups */
void vbd_groups_endpoint_ended(struct vbd_endpoint_record *endpoint);

/** vbd_groups_destroy_of - free the groups of an ended endpoint */
void vbd_groups_destroy_of(struct vbd_endpoint_record *endpoint);

struct vbd_peer_record {
	struct vbd_object object; /* first */
	struct vbd_peer peer;
	struct vbd_call call; /* makes the address handle */
	struct vbd_link link; /* in the endpoint's list */
	uint64_t endpoint_id;
	char dst_addr[256]; /* to send a SIDR request to; "" for none */
	uint16_t dst_port;
	uint64_t message;    /* seq of the message whose sender this is; 0 for none */
	uint32_t timeout_ms; /* of the resolution and the SIDR request; 0: neither is needed */
	struct vbd_resolution *resolution;
	unsigned int users; /* transfers that use its address handle */
};

/* A peer is found by a SIDR request to dst_addr, is a message's sender, or has a known path. */
struct vbd_peer_spec {
	struct vbd_origin origin;
	char name[64]; /* "" for none */
	struct vbd_endpoint_record *endpoint;
	char dst_addr[256]; /* "" for no SIDR request */
	uint16_t dst_port;
	uint32_t timeout_ms;
	struct vbd_private_data request;
	uint64_t message;	 /* seq; 0 if the peer is not the sender of a message */
	struct ibv_ah_attr path; /* the known path; port_num is the endpoint's */
	int gid_index;		 /* -1: the endpoint's */
	uint32_t qpn;
	bool has_qkey; /* false: the endpoint's qkey */
	uint32_t qkey;
};

/** vbd_peer_create - begin to resolve the peer; a later failure is the peer's own error */
enum vbd_status vbd_peer_create(struct vbd_daemon *daemon, const struct vbd_peer_spec *spec,
	struct vbd_peer_record **ret_record, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_peer_delete - delete the peer at once; VBD_E_IN_USE while a transfer sends to it */
enum vbd_status vbd_peer_delete(
	struct vbd_peer_record *record, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_peer_ref - a transfer begins to send to the peer, which is ready */
void vbd_peer_ref(struct vbd_peer_record *record);
/** vbd_peer_unref - the transfer has ended */
void vbd_peer_unref(struct vbd_peer_record *record);

/** vbd_peers_endpoint_ended - fail the endpoint's peers and free their address handles */
void vbd_peers_endpoint_ended(struct vbd_endpoint_record *endpoint);

/** vbd_peers_destroy_of - free the peers of an ended endpoint */
void vbd_peers_destroy_of(struct vbd_endpoint_record *endpoint);

#endif
