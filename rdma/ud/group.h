/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A multicast group that an endpoint is a member of: joined by CM, the endpoint's QP attached by
 * us (it is no QP of librdmacm's), an address handle to send to it.
 *
 * Control thread. Nothing blocks: a group has no neighbour that would have to be looked up.
 */
#ifndef VBD_RDMA_UD_GROUP_H
#define VBD_RDMA_UD_GROUP_H

#include "base/enum.h"
#include "base/error.h"
#include "rdma/provider/account.h"
#include "rdma/ud/ah.h"
#include "rdma/names/cm_tag.h"
#include "rdma/ud/endpoint.h"
#include "rdma/ud/group_fsm.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct rdma_cm_id;
struct vbd_group;
struct vbd_pv_cm_event;

/* X(SYMBOL, json name) */
#define VBD_GROUP_MODE_MAP(X)                                                           \
	X(VBD_GROUP_FULL, "full")	    /* it receives what is sent to the group */ \
	X(VBD_GROUP_SEND_ONLY, "send_only") /* it does not */

enum vbd_group_mode { VBD_GROUP_MODE_MAP(VBD_ENUM_ROW) VBD_GROUP_MODE_COUNT };

/** vbd_group_mode_name - "send_only" */
const char *vbd_group_mode_name(enum vbd_group_mode mode);

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
	struct vbd_account account;
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

/** vbd_group_ref_ah - a send will use the address handle; JOINED */
void vbd_group_ref_ah(struct vbd_group *group);
/** vbd_group_unuse - it has completed */
void vbd_group_unuse(struct vbd_group *group);

/** vbd_group_deadline - joining took too long */
void vbd_group_deadline(struct vbd_group *group);

/** vbd_group_endpoint_ended - nothing is sent any more and the QP is about to go; users are gone */
void vbd_group_endpoint_ended(struct vbd_group *group);

/* The fabric's way in. */
void vbd_group_on_cm_event(struct vbd_group *group, const struct vbd_pv_cm_event *event);

#endif
