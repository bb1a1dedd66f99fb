/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer of an endpoint: where its datagrams go. Known beforehand, or asked for by CM (SIDR): the
 * address and a port are resolved to a path, a QP number and a qkey.
 *
 * Control thread, but for vbd_peer_make_ah().
 */
#ifndef VBD_RDMA_UD_PEER_H
#define VBD_RDMA_UD_PEER_H

#include "base/error.h"
#include "rdma/provider/account.h"
#include "rdma/ud/ah.h"
#include "rdma/names/cm_tag.h"
#include "rdma/ud/endpoint.h"
#include "rdma/ud/peer_fsm.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct rdma_cm_id;
struct vbd_peer;
struct vbd_pv_cm_event;

/* Upward news. All on the control thread; all must be there. */
struct vbd_peer_ops {
	/* The state changed, its action is done. */
	void (*state_changed)(struct vbd_peer *peer, void *arg);
	/*
	 * Call vbd_peer_make_ah() on a thread that may block, then vbd_peer_ah_made() on this one;
	 * or vbd_peer_ah_made() alone, with @peer->ah_error set.
	 */
	void (*make_ah)(struct vbd_peer *peer, void *arg);
};

struct vbd_peer {
	struct vbd_cm_tag tag; /* first */
	uint64_t id;
	struct vbd_endpoint *endpoint; /* NULL once it has ended */
	const struct vbd_peer_ops *ops;
	void *ops_arg;
	enum vbd_peer_state state; /* written by set_state() in peer.c only */
	struct vbd_error error;	   /* why it is FAILED */
	struct vbd_account account;
	struct rdma_cm_id *cm_id;	 /* NULL unless it resolves */
	struct vbd_private_data request; /* goes with the SIDR request */
	struct vbd_private_data answer;	 /* came with the answer */
	bool known;			 /* path, qpn and qkey are there */
	struct vbd_ah_path path;
	uint32_t qpn;
	uint32_t qkey;
	struct ibv_ah *ah;    /* NULL unless READY */
	bool ah_pending;      /* make_ah was called and ah_made was not */
	struct vbd_pd *ah_pd; /* holds a reference while ah_pending */
	struct ibv_ah *made;  /* vbd_peer_make_ah()'s, until ah_made */
	struct vbd_error ah_error;
};

/**
 * vbd_peer_init - in RESOLVING_ADDR, nothing is sent yet
 * @peer:    zeroed memory of the caller's
 * @request: private data of the SIDR request that vbd_peer_resolve() sends
 */
void vbd_peer_init(struct vbd_peer *peer, uint64_t id, struct vbd_endpoint *endpoint,
	const struct vbd_private_data *request, const struct vbd_peer_ops *ops, void *ops_arg);

/** vbd_peer_resolve - ask for it by CM. A failure is the peer's: its state says so. */
void vbd_peer_resolve(struct vbd_peer *peer, const struct sockaddr *dst);

/** vbd_peer_name_failed - the host name has no address */
void vbd_peer_name_failed(struct vbd_peer *peer, const struct vbd_error *why);

/** vbd_peer_set - it is known already: only the address handle is to be made */
void vbd_peer_set(
	struct vbd_peer *peer, const struct vbd_ah_path *path, uint32_t qpn, uint32_t qkey);

/** vbd_peer_make_ah - any thread; blocks for up to 3 s. Touches nothing that others touch. */
void vbd_peer_make_ah(struct vbd_peer *peer);
void vbd_peer_ah_made(struct vbd_peer *peer);

/** vbd_peer_deadline - it took too long */
void vbd_peer_deadline(struct vbd_peer *peer);

/** vbd_peer_endpoint_ended - nothing is sent any more: it fails, and its address handle goes */
void vbd_peer_endpoint_ended(struct vbd_peer *peer);

/** vbd_peer_fini - free what it has; not while ah_pending, or while a send uses its address handle
 */
void vbd_peer_fini(struct vbd_peer *peer);

/* The fabric's way in. */
void vbd_peer_on_cm_event(struct vbd_peer *peer, const struct vbd_pv_cm_event *event);

#endif
