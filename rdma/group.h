/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A multicast group that an endpoint is a member of: joined by CM, the endpoint's QP attached by
 * us (it is no QP of librdmacm's), an address handle to send to it.
 *
 * Control thread. Nothing blocks: a group has no neighbour that would have to be looked up.
 */
#ifndef VBD_RDMA_GROUP_H
#define VBD_RDMA_GROUP_H

#include "base/error.h"
#include "rdma/ah.h"
#include "rdma/cm_tag.h"
#include "rdma/endpoint.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct rdma_cm_id;
struct vbd_group;
struct vbd_pv_cm_event;

/* X(SYMBOL, json name) */
#define VBD_GROUP_MODE_MAP(X)                                                 \
	X(FULL, "full")		  /* it receives what is sent to the group */ \
	X(SEND_ONLY, "send_only") /* it does not */

enum vbd_group_mode {
#define VBD_GROUP_MODE_ENUM(sym, json) VBD_GROUP_##sym,
	VBD_GROUP_MODE_MAP(VBD_GROUP_MODE_ENUM)
#undef VBD_GROUP_MODE_ENUM
		VBD_GROUP_MODE_COUNT
};

/** vbd_group_mode_name - "send_only" */
const char *vbd_group_mode_name(enum vbd_group_mode mode);

/* X(SYMBOL, name, json name, what it waits for, ended) */
#define VBD_GROUP_STATE_MAP(X)                                                               \
	X(RESOLVING, "resolving", "joining", "the device behind the group's address", false) \
	X(JOINING, "joining", "joining", "the membership", false)                            \
	X(JOINED, "joined", "joined", "", false)                                             \
	X(LEAVING, "leaving", "leaving", "what was sent to the group to be gone", false)     \
	X(LEFT, "left", "left", "", true)                                                    \
	X(FAILED, "failed", "failed", "", true)

/* RESOLVING to FAILED; the names begin with VBD_GROUP_IS_, as modes are VBD_GROUP_. */
enum vbd_group_state {
#define VBD_GROUP_STATE_ENUM(sym, name, json, waits, ended) VBD_GROUP_IS_##sym,
	VBD_GROUP_STATE_MAP(VBD_GROUP_STATE_ENUM)
#undef VBD_GROUP_STATE_ENUM
		VBD_GROUP_STATE_COUNT
};

/* X(SYMBOL, name) */
#define VBD_GROUP_EVENT_MAP(X)                                                 \
	X(ADDR_RESOLVED, "addr_resolved")                                      \
	X(ADDR_ERROR, "addr_error")                                            \
	X(MEMBER, "member")	  /* MULTICAST_JOIN */                         \
	X(NO_MEMBER, "no_member") /* MULTICAST_ERROR: not, or not any more */  \
	X(DEVICE_REMOVAL, "device_removal")                                    \
	X(OTHER_CM, "other_cm")	      /* a CM event that means nothing here */ \
	X(CALL_FAILED, "call_failed") /* a call that an action made */         \
	X(DEADLINE, "deadline")                                                \
	X(CMD_LEAVE, "cmd_leave")                                              \
	X(IDLE, "idle") /* nothing that was sent to it is outstanding */       \
	X(ENDPOINT_ENDED, "endpoint_ended")

enum vbd_group_event {
#define VBD_GROUP_EVENT_ENUM(sym, name) VBD_GROUP_EV_##sym,
	VBD_GROUP_EVENT_MAP(VBD_GROUP_EVENT_ENUM)
#undef VBD_GROUP_EVENT_ENUM
		VBD_GROUP_EVENT_COUNT
};

/* X(SYMBOL, name) */
#define VBD_GROUP_ACTION_MAP(X)                                                            \
	X(IGNORE, "ignore") /* nothing; the row's note says why */                         \
	X(JOIN, "join")	    /* ask for the membership */                                   \
	X(ATTACH, "attach") /* attach the QP, make the address handle */                   \
	X(LEAVE, "leave")   /* detach, leave, let go of the CM id; the handle when idle */ \
	X(DROP, "drop")	    /* the handle is not used any more: destroy it */              \
	X(FAIL, "fail")	    /* as leave, and keep the error */

enum vbd_group_action {
#define VBD_GROUP_ACTION_ENUM(sym, name) VBD_GROUP_DO_##sym,
	VBD_GROUP_ACTION_MAP(VBD_GROUP_ACTION_ENUM)
#undef VBD_GROUP_ACTION_ENUM
		VBD_GROUP_ACTION_COUNT
};

struct vbd_group_rule {
	enum vbd_group_state next;
	enum vbd_group_action action;
	const char *note; /* why */
};

/** vbd_group_rule - the pure table: what @event does to @state; every pair is decided */
const struct vbd_group_rule *vbd_group_rule(enum vbd_group_state state, enum vbd_group_event event);
/** vbd_group_state_name - "resolving" */
const char *vbd_group_state_name(enum vbd_group_state state);
/** vbd_group_state_json - "joining" */
const char *vbd_group_state_json(enum vbd_group_state state);
const char *vbd_group_state_waits_for(enum vbd_group_state state);
bool vbd_group_state_ended(enum vbd_group_state state);
const char *vbd_group_event_name(enum vbd_group_event event);
const char *vbd_group_action_name(enum vbd_group_action action);

/* Upward news, on the control thread. */
struct vbd_group_ops {
	/* The state changed, its action is done. In LEFT it may be freed; in FAILED too, once it
	 * has no users. */
	void (*state_changed)(struct vbd_group *group, void *arg);
};

struct vbd_group {
	struct vbd_cm_tag tag; /* first */
	uint64_t id;
	struct vbd_endpoint *endpoint; /* NULL once it has ended */
	const struct vbd_group_ops *ops;
	void *ops_arg;
	enum vbd_group_mode mode;
	enum vbd_group_state state; /* written by set_state() in group.c only */
	struct vbd_error error;	    /* why it is FAILED */
	struct sockaddr_storage addr;
	struct rdma_cm_id *cm_id; /* NULL unless it resolves, joins or is joined */
	bool asked;		  /* there is something to leave */
	bool attached;		  /* the QP is */
	bool known;		  /* path, qpn and qkey are there; they stay */
	struct vbd_ah_path path;  /* its dgid is the group's, its dlid the group's LID */
	uint32_t qpn;
	uint32_t qkey;
	struct ibv_ah *ah;  /* NULL unless JOINED, or somebody still uses it */
	unsigned int users; /* sends that use it */
};

/**
 * vbd_group_join - begin to become a member
 * @group: zeroed memory of the caller's
 *
 * A failure is the group's: its state says so.
 */
void vbd_group_join(struct vbd_group *group, uint64_t id, struct vbd_endpoint *endpoint,
	const struct sockaddr *addr, enum vbd_group_mode mode, const struct vbd_group_ops *ops,
	void *ops_arg);

/** vbd_group_leave - begin to leave; harmless when it has ended */
void vbd_group_leave(struct vbd_group *group);

/** vbd_group_use - a send will use the address handle; JOINED */
void vbd_group_use(struct vbd_group *group);
/** vbd_group_unuse - it has completed */
void vbd_group_unuse(struct vbd_group *group);

/** vbd_group_deadline - joining took too long */
void vbd_group_deadline(struct vbd_group *group);

/** vbd_group_endpoint_ended - nothing is sent any more and the QP is about to go; users are gone */
void vbd_group_endpoint_ended(struct vbd_group *group);

/* The fabric's way in. */
void vbd_group_on_cm_event(struct vbd_group *group, const struct vbd_pv_cm_event *event);

#endif
