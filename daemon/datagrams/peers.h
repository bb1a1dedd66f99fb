/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Peers as resources: to whom an endpoint sends.
 *
 * Control thread.
 */
#ifndef VBD_DAEMON_DATAGRAMS_PEERS_H
#define VBD_DAEMON_DATAGRAMS_PEERS_H

#include "daemon/datagrams/endpoints.h"
#include "rdma/ud/peer.h"

struct vbd_peer_record {
	struct vbd_object object; /* first */
	struct vbd_daemon *daemon;
	struct vbd_peer peer;
	struct vbd_link link; /* the endpoint's list */
	uint64_t endpoint_id;
	char dst[272];	     /* "host:port" as asked for; "" if it was not asked for */
	uint64_t message;    /* seq of the message that it sent; 0 if it was not taken from one */
	uint32_t timeout_ms; /* 0: nobody is asked */
	struct vbd_resolution *resolution;
	unsigned int users; /* sends that use its address handle */
};

/* One of three: asked for at dst_addr, the sender of a message, or known. */
struct vbd_peer_spec {
	char name[64]; /* "" for none */
	struct vbd_endpoint_record *endpoint;
	char dst_addr[256]; /* "" if it is not asked for */
	uint16_t dst_port;
	uint32_t timeout_ms;
	struct vbd_private_data request;
	uint64_t message;	 /* 0 if it is not the sender of one */
	struct vbd_ah_path path; /* known: port_num is the endpoint's */
	int gid_index;		 /* -1: the endpoint's */
	uint32_t qpn;
	bool has_qkey; /* else the endpoint's own */
	uint32_t qkey;
};

/** vbd_peer_create - begin to resolve it; what fails later is the peer's own error */
enum vbd_status vbd_peer_create(struct vbd_daemon *daemon, const struct vbd_peer_spec *spec,
	struct vbd_peer_record **ret_record, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_peer_delete - in_use while something is being sent to it; else it is gone at once */
enum vbd_status vbd_peer_delete(
	struct vbd_peer_record *record, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_peer_ref - a transfer will send to it; ready */
void vbd_peer_ref(struct vbd_peer_record *record);
/** vbd_peer_unref - the transfer has ended */
void vbd_peer_unref(struct vbd_peer_record *record);

/** vbd_peers_endpoint_ended - those of the endpoint fail, their address handles go */
void vbd_peers_endpoint_ended(struct vbd_endpoint_record *endpoint);

/** vbd_peers_destroy_of - free those of the endpoint; it has ended */
void vbd_peers_destroy_of(struct vbd_endpoint_record *endpoint);

#endif
