/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer of an endpoint: the destination of datagrams. Set directly, or resolved by CM (SIDR) from
 * an address and a port to a path, a QP number and a qkey.
 *
 * Control thread, except vbd_peer_make_ah().
 */
#ifndef VBD_RDMA_UD_PEER_H
#define VBD_RDMA_UD_PEER_H

#include "rdma/ud/endpoint.h"

struct rdma_cm_id;
struct vbd_calls;
struct vbd_peer;
struct vbd_pv_cm_event;
struct vbd_tries;

/*
 * The state machine of a peer, one pure table: (state, event) -> (next state, action, note). Every
 * pair is decided. rdma/ud/peer.c looks up the row, sets the state and performs the action.
 *
 * Any thread.
 */

/* X(SYMBOL, name, json name, awaited, ended) */
#define VBD_PEER_STATE_MAP(X)                                                                \
	X(VBD_PEER_RESOLVING_ADDR, "resolving_addr", "resolving", "the address of the host", \
		false)                                                                       \
	X(VBD_PEER_RESOLVING_ROUTE, "resolving_route", "resolving", "a path to it", false)   \
	X(VBD_PEER_ASKING, "asking", "resolving", "the peer to tell its QP number", false)   \
	X(VBD_PEER_RETRYING, "retrying", "resolving", "its next try", false)                 \
	X(VBD_PEER_MAKING_AH, "making_ah", "resolving",                                      \
		"the system to find the neighbour on the way", false)                        \
	X(VBD_PEER_READY, "ready", "ready", "", false)                                       \
	X(VBD_PEER_FAILED, "failed", "failed", "", true)

enum vbd_peer_state { VBD_PEER_STATE_MAP(VBD_ENUM_ROW) VBD_PEER_STATE_COUNT };

/* X(SYMBOL, name) */
#define VBD_PEER_EVENT_MAP(X)                                                                 \
	X(VBD_PEER_EV_KNOWN, "known")		  /* set without the CM */                    \
	X(VBD_PEER_EV_NAME_FAILED, "name_failed") /* the host name has no address */          \
	X(VBD_PEER_EV_ADDR_RESOLVED, "addr_resolved")                                         \
	X(VBD_PEER_EV_ADDR_ERROR, "addr_error")                                               \
	X(VBD_PEER_EV_ROUTE_RESOLVED, "route_resolved")                                       \
	X(VBD_PEER_EV_ROUTE_ERROR, "route_error")                                             \
	X(VBD_PEER_EV_ANSWERED, "answered") /* ESTABLISHED: the SIDR reply came */            \
	X(VBD_PEER_EV_REJECTED, "rejected") /* UNREACHABLE with a SIDR status, or REJECTED */ \
	X(VBD_PEER_EV_UNREACHABLE, "unreachable") /* no reply */                              \
	X(VBD_PEER_EV_CONNECT_ERROR, "connect_error")                                         \
	X(VBD_PEER_EV_DEVICE_REMOVAL, "device_removal")                                       \
	X(VBD_PEER_EV_OTHER_CM, "other_cm") /* an unexpected CM event */                      \
	X(VBD_PEER_EV_AH_MADE, "ah_made")   /* the address handle is made */                  \
	X(VBD_PEER_EV_AH_FAILED, "ah_failed")                                                 \
	X(VBD_PEER_EV_CALL_FAILED, "call_failed") /* a call of an action */                   \
	X(VBD_PEER_EV_TRY_FAILED, "try_failed")	  /* and another one follows */               \
	X(VBD_PEER_EV_NEXT_TRY, "next_try")                                                   \
	X(VBD_PEER_EV_TRIES_OVER, "tries_over") /* no time is left for another try */         \
	X(VBD_PEER_EV_DEADLINE, "deadline")                                                   \
	X(VBD_PEER_EV_ENDPOINT_ENDED, "endpoint_ended")

enum vbd_peer_event { VBD_PEER_EVENT_MAP(VBD_ENUM_ROW) VBD_PEER_EVENT_COUNT };

enum vbd_peer_action {
	VBD_PEER_DO_IGNORE, /* nothing; the note gives the reason */
	VBD_PEER_DO_RESOLVE_ROUTE,
	VBD_PEER_DO_ASK,
	VBD_PEER_DO_REST,    /* destroy the CM id, wait if need be */
	VBD_PEER_DO_TRY,     /* the next address, or the first one again */
	VBD_PEER_DO_MAKE_AH, /* destroy the CM id, have the handle made */
	VBD_PEER_DO_KEEP_AH, /* sends are possible */
	VBD_PEER_DO_FREE_AH, /* the handle was made too late, or the endpoint ended */
	VBD_PEER_DO_FAIL,    /* destroy the CM id, record the error */
	VBD_PEER_ACTION_COUNT
};

/** vbd_peer_rule - the row of @event in @state; never NULL */
const struct vbd_rule *vbd_peer_rule(enum vbd_peer_state state, enum vbd_peer_event event);
/** vbd_peer_state_name - "resolving_route" */
const char *vbd_peer_state_name(enum vbd_peer_state state);
/** vbd_peer_state_json - "resolving" */
const char *vbd_peer_state_json(enum vbd_peer_state state);
/** vbd_peer_state_waits_for - the awaited event, as words; "" for READY and FAILED */
const char *vbd_peer_state_waits_for(enum vbd_peer_state state);
const char *vbd_peer_event_name(enum vbd_peer_event event);

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
	enum vbd_peer_state state; /* written by step_peer() in peer.c only */
	struct vbd_error error;	   /* the reason of FAILED */
	uint64_t timeout_ms;	   /* of the resolution, from vbd_peer_init() on */
	uint64_t began_ns;
	struct vbd_tries *tries; /* NULL before and after them */
	struct vbd_account account;
	struct rdma_cm_id *cm_id;	 /* NULL unless resolving */
	struct vbd_private_data request; /* of the SIDR request */
	struct vbd_private_data answer;	 /* of the SIDR reply */
	bool known;			 /* path, qpn and qkey are set */
	struct ibv_ah_attr path;
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
	struct vbd_peer *peer, const struct ibv_ah_attr *path, uint32_t qpn, uint32_t qkey);

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
