/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The membership of an endpoint in a multicast group: joined by CM; the endpoint's QP, which is no
 * QP of librdmacm, attached here; an address handle for sends to the group.
 *
 * Control thread. Nothing blocks: call threads join and leave, and a group has no neighbour to
 * resolve.
 */
#ifndef VBD_RDMA_UD_GROUP_H
#define VBD_RDMA_UD_GROUP_H

#include "rdma/ud/endpoint.h"

struct rdma_cm_id;
struct vbd_calls;
struct vbd_group;
struct vbd_pv_cm_event;

/*
 * The state machine of a membership in a multicast group, one pure table: (state, event) -> (next
 * state, action, note). Every pair is decided. rdma/ud/group.c looks up the row, sets the state and
 * performs the action.
 *
 * Any thread.
 */

/* X(SYMBOL, name, json name, awaited, ended) */
#define VBD_GROUP_STATE_MAP(X)                                                                     \
	X(VBD_GROUP_IS_RESOLVING, "resolving", "joining", "the device behind the group's address", \
		false)                                                                             \
	X(VBD_GROUP_IS_JOINING, "joining", "joining", "the membership", false)                     \
	X(VBD_GROUP_IS_JOINED, "joined", "joined", "", false)                                      \
	X(VBD_GROUP_IS_LEAVING, "leaving", "leaving", "what was sent to the group to be gone",     \
		false)                                                                             \
	X(VBD_GROUP_IS_LEFT, "left", "left", "", true)                                             \
	X(VBD_GROUP_IS_FAILED, "failed", "failed", "", true)

/* RESOLVING to FAILED; the names begin with VBD_GROUP_IS_, as modes are VBD_GROUP_. */
enum vbd_group_state { VBD_GROUP_STATE_MAP(VBD_ENUM_ROW) VBD_GROUP_STATE_COUNT };

/* X(SYMBOL, name) */
#define VBD_GROUP_EVENT_MAP(X)                                                         \
	X(VBD_GROUP_EV_ADDR_RESOLVED, "addr_resolved")                                 \
	X(VBD_GROUP_EV_ADDR_ERROR, "addr_error")                                       \
	X(VBD_GROUP_EV_MEMBER, "member")       /* MULTICAST_JOIN */                    \
	X(VBD_GROUP_EV_NO_MEMBER, "no_member") /* MULTICAST_ERROR: refused, or lost */ \
	X(VBD_GROUP_EV_DEVICE_REMOVAL, "device_removal")                               \
	X(VBD_GROUP_EV_OTHER_CM, "other_cm")	   /* an unexpected CM event */        \
	X(VBD_GROUP_EV_CALL_FAILED, "call_failed") /* a call of an action */           \
	X(VBD_GROUP_EV_DEADLINE, "deadline")                                           \
	X(VBD_GROUP_EV_CMD_LEAVE, "cmd_leave")                                         \
	X(VBD_GROUP_EV_IDLE, "idle") /* no send to the group is outstanding */         \
	X(VBD_GROUP_EV_ENDPOINT_ENDED, "endpoint_ended")

enum vbd_group_event { VBD_GROUP_EVENT_MAP(VBD_ENUM_ROW) VBD_GROUP_EVENT_COUNT };

enum vbd_group_action {
	VBD_GROUP_DO_IGNORE,  /* nothing; the note gives the reason */
	VBD_GROUP_DO_JOIN,    /* request the membership */
	VBD_GROUP_DO_ATTACH,  /* attach the QP, make the address handle */
	VBD_GROUP_DO_LEAVE,   /* detach, leave, destroy the CM id, and the handle when idle */
	VBD_GROUP_DO_FREE_AH, /* destroy the unused handle */
	VBD_GROUP_DO_FAIL,    /* as leave, and record the error */
	VBD_GROUP_ACTION_COUNT
};

/** vbd_group_rule - the row of @event in @state; never NULL */
const struct vbd_rule *vbd_group_rule(enum vbd_group_state state, enum vbd_group_event event);
/** vbd_group_state_name - "resolving" */
const char *vbd_group_state_name(enum vbd_group_state state);
/** vbd_group_state_json - "joining" */
const char *vbd_group_state_json(enum vbd_group_state state);
const char *vbd_group_state_waits_for(enum vbd_group_state state);
bool vbd_group_state_ended(enum vbd_group_state state);
const char *vbd_group_event_name(enum vbd_group_event event);

/* X(SYMBOL, json name) */
#define VBD_GROUP_MODE_MAP(X)                                        \
	X(VBD_GROUP_FULL, "full")	    /* sends and receives */ \
	X(VBD_GROUP_SEND_ONLY, "send_only") /* does not receive */

enum vbd_group_mode { VBD_GROUP_MODE_MAP(VBD_ENUM_ROW) VBD_GROUP_MODE_COUNT };

/** vbd_group_mode_name - "send_only" */
const char *vbd_group_mode_name(enum vbd_group_mode mode);

/* Notifications to the layer above, on the control thread. */
struct vbd_group_ops {
	/* The state changed, and the action of the change is done. The group may be freed in LEFT,
	 * and in FAILED once it has no users. */
	void (*state_changed)(struct vbd_group *group, void *arg);
};

struct vbd_group {
	struct vbd_cm_tag tag; /* first */
	uint64_t id;
	struct vbd_endpoint *endpoint; /* NULL once the endpoint has ended */
	struct vbd_calls *calls;       /* destroy what it leaves */
	const struct vbd_group_ops *ops;
	void *ops_arg;
	enum vbd_group_mode mode;
	enum vbd_group_state state; /* written by step_group() in group.c only */
	struct vbd_error error;	    /* the reason of FAILED */
	struct sockaddr_storage addr;
	struct vbd_account account;
	struct rdma_cm_id *cm_id; /* not NULL while resolving, joining, joined */
	bool attached;		  /* the QP is attached */
	bool known;		  /* path, qpn and qkey are set; they are kept */
	struct ibv_ah_attr path;  /* its dgid is the group's, its dlid the group's LID */
	uint32_t qpn;
	uint32_t qkey;
	struct vbd_ah *ah;  /* NULL unless JOINED or in use */
	unsigned int users; /* sends that use the handle */
};

/**
 * vbd_group_join - begin to become a member
 * @group: zeroed memory of the caller
 *
 * A failure ends the group in FAILED.
 */
void vbd_group_join(struct vbd_group *group, uint64_t id, struct vbd_endpoint *endpoint,
	const struct sockaddr *addr, enum vbd_group_mode mode, const struct vbd_group_ops *ops,
	void *ops_arg);

/** vbd_group_leave - begin to leave; harmless once the group ended */
void vbd_group_leave(struct vbd_group *group);

/** vbd_group_ref_ah - a send will use the address handle; the group is JOINED */
void vbd_group_ref_ah(struct vbd_group *group);
/** vbd_group_unuse - a send with the address handle has completed */
void vbd_group_unuse(struct vbd_group *group);

/** vbd_group_deadline - the deadline of the join has passed */
void vbd_group_deadline(struct vbd_group *group);

/** vbd_group_endpoint_ended - the QP is about to be destroyed, and no send is outstanding */
void vbd_group_endpoint_ended(struct vbd_group *group);

/* For the fabric. */
void vbd_group_on_cm_event(struct vbd_group *group, const struct vbd_pv_cm_event *event);

#endif
