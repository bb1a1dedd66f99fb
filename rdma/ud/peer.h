/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer of an endpoint: the destination of datagrams. Set directly, or resolved by CM (SIDR) from
 * an address and a port to a path, a QP number and a qkey.
 *
 * Control thread, except vbd_peer_make_ah().
 */
#ifndef VBD_RDMA_UD_PEER_H
#define VBD_RDMA_UD_PEER_H

#include "base/error.h"
#include "rdma/names/wr_id.h"
#include "rdma/provider/account.h"
#include "rdma/ud/ah.h"
#include "rdma/ud/endpoint.h"
#include "rdma/ud/peer_fsm.h"

struct rdma_cm_id;
struct vbd_calls;
struct vbd_peer;
struct vbd_tries;
struct vbd_pv_cm_event;

/* Notifications to the layer above, on the control thread. No member is NULL. */
struct vbd_peer_ops {
	/* The state changed, and the action of the change is done. */
	void (*state_changed)(struct vbd_peer *peer, void *arg);
	/*
	 * Call vbd_peer_make_ah() on a thread that may block, then vbd_peer_ah_made() on this one;
	 * or vbd_peer_ah_made() alone, with @peer->ah_error set.
	 */
	void (*make_ah)(struct vbd_peer *peer, void *arg);
	/* Call vbd_peer_deadline() in @timeout_ms, instead of later. */
	void (*set_deadline)(struct vbd_peer *peer, uint64_t timeout_ms, void *arg);
	/* Look up the host name again; vbd_peer_resolve() or vbd_peer_name_failed() follows, not
	 * inside this call. */
	enum vbd_status (*look_up)(struct vbd_peer *peer, void *arg, struct vbd_error *err);
};

struct vbd_peer {
	struct vbd_cm_tag tag; /* first */
	uint64_t id;
	struct vbd_endpoint *endpoint; /* NULL once the endpoint has ended */
	struct vbd_calls *calls;       /* destroy what it leaves */
	const struct vbd_peer_ops *ops;
	void *ops_arg;
	enum vbd_peer_state state; /* written by set_state() in peer.c only */
	struct vbd_error error;	   /* the reason of FAILED */
	uint64_t timeout_ms;	   /* of the resolution, from vbd_peer_init() on */
	uint64_t began_ns;
	struct vbd_tries *tries; /* NULL before and after them */
	struct vbd_account account;
	struct rdma_cm_id *cm_id;	 /* NULL unless resolving */
	struct vbd_private_data request; /* of the SIDR request */
	struct vbd_private_data answer;	 /* of the SIDR reply */
	bool known;			 /* path, qpn and qkey are set */
	struct vbd_ah_path path;
	uint32_t qpn;
	uint32_t qkey;
	struct vbd_ah *ah;    /* NULL unless READY */
	bool ah_pending;      /* from make_ah() to vbd_peer_ah_made() */
	struct vbd_pd *ah_pd; /* with a reference while ah_pending */
	struct vbd_ah *made;  /* made by vbd_peer_make_ah(), until vbd_peer_ah_made() */
	struct vbd_error ah_error;
};

/**
 * vbd_peer_init - in RESOLVING_ADDR, nothing is sent yet
 * @peer:    zeroed memory of the caller
 * @request: private data of the SIDR request that vbd_peer_resolve() sends
 * @timeout_ms: for vbd_peer_resolve(): the deadline that is set
 */
void vbd_peer_init(struct vbd_peer *peer, uint64_t id, struct vbd_endpoint *endpoint,
	const struct vbd_private_data *request, uint64_t timeout_ms, const struct vbd_peer_ops *ops,
	void *ops_arg);

/** vbd_peer_resolve - resolve by CM at 1 to VBD_ADDRS_MAX addresses, one after the other; @named:
 * they are of a host name. A failure ends the peer in FAILED, unless another try may succeed in
 * what is left of its time. */
void vbd_peer_resolve(
	struct vbd_peer *peer, const struct sockaddr_storage *addrs, size_t count, bool named);

/** vbd_peer_name_failed - the host name has no address: as vbd_peer_resolve() */
void vbd_peer_name_failed(struct vbd_peer *peer, const struct vbd_error *why);

/** vbd_peer_set - set the destination without the CM; the address handle is made next */
void vbd_peer_set(
	struct vbd_peer *peer, const struct vbd_ah_path *path, uint32_t qpn, uint32_t qkey);

/** vbd_peer_make_ah - make the address handle. Any thread; blocks for up to 3 s. Uses only ah_pd,
 * path, made and ah_error. */
void vbd_peer_make_ah(struct vbd_peer *peer);
void vbd_peer_ah_made(struct vbd_peer *peer);

/** vbd_peer_deadline - the deadline of the resolution has passed */
void vbd_peer_deadline(struct vbd_peer *peer);

/** vbd_peer_endpoint_ended - no send is outstanding: fail, and destroy the address handle */
void vbd_peer_endpoint_ended(struct vbd_peer *peer);

/** vbd_peer_fini - free the resources; not while ah_pending or a send uses the address handle */
void vbd_peer_fini(struct vbd_peer *peer);

/* For the fabric. */
void vbd_peer_on_cm_event(struct vbd_peer *peer, const struct vbd_pv_cm_event *event);

#endif
