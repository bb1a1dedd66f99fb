/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The peer service: the destinations of an endpoint's datagrams.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_DATAGRAMS_PEERS_H
#define VBD_DAEMON_DATAGRAMS_PEERS_H

#include "daemon/datagrams/endpoints.h"
#include "rdma/data/calls.h"
#include "rdma/ud/peer.h"

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
	char name[64]; /* "" for none */
	struct vbd_endpoint_record *endpoint;
	char dst_addr[256]; /* "" for no SIDR request */
	uint16_t dst_port;
	uint32_t timeout_ms;
	struct vbd_private_data request;
	uint64_t message;	 /* seq; 0 if the peer is not the sender of a message */
	struct vbd_ah_path path; /* the known path; port_num is the endpoint's */
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
