/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Manual bring-up: a connection without a CM id. The client exchanges the attributes with the peer,
 * and moves the QP from state to state, in one call or step by step (vbd_conn_remote(),
 * vbd_conn_set_qp_state()). Here are the attributes of the QP, in place of the CM's.
 *
 * Control thread.
 */
#ifndef VBD_RDMA_CONN_MANUAL_H
#define VBD_RDMA_CONN_MANUAL_H

#include "rdma/qp/qp_params.h"

#include <infiniband/verbs.h>

struct vbd_device;

/* X(SYMBOL, json name): QP states that a client can request */
#define VBD_QP_STEP_MAP(X) \
	X(RESET, "RESET")  \
	X(INIT, "INIT")    \
	X(RTR, "RTR")      \
	X(RTS, "RTS")      \
	X(SQD, "SQD")      \
	X(ERR, "ERR")

enum vbd_qp_step {
#define VBD_QP_STEP_ENUM(sym, json) VBD_QP_TO_##sym,
	VBD_QP_STEP_MAP(VBD_QP_STEP_ENUM)
#undef VBD_QP_STEP_ENUM
		VBD_QP_STEP_COUNT
};

/* The client's choice. */
struct vbd_manual_params {
	uint8_t port_num;     /* 1 to the device's number of ports */
	bool gid_index_given; /* else the best: RoCE v2 with an IPv4 address first */
	uint32_t gid_index;   /* in the port's table */
	uint16_t pkey_index;  /* in the port's table */
	uint8_t sl;	      /* 0 to 15 */
	bool psn_given;	      /* else a random one */
	uint32_t psn;	      /* 24 bit */
	bool stay_in_reset;   /* else vbd_conn_open_manual() moves the QP to INIT */
};

/* A depth that the peer has not told; as a limit it means no limit. */
#define VBD_DEPTH_UNKNOWN UINT8_MAX

/* Local attributes for the peer, and attributes of the port. */
struct vbd_manual_local {
	uint8_t port_num;
	bool infiniband; /* LIDs address the peer; else GIDs do */
	uint16_t lid;
	bool gid_known;
	uint32_t gid_index;
	uint8_t gid[16];
	const char *gid_type; /* static string: "roce_v2", "ib" on InfiniBand */
	uint16_t pkey_index;
	uint8_t sl;
	uint32_t psn;
	uint32_t port_mtu_bytes; /* or path_mtu_bytes of the parameters, if that is less */
	uint8_t responder_resources, initiator_depth; /* at most those of the device */
};

/* The peer's attributes and those of the path. */
struct vbd_manual_remote {
	uint16_t lid;		 /* InfiniBand: 1 to 0xbfff; else ignored */
	uint8_t gid[16];	 /* all zero: none. InfiniBand: a GID adds a GRH */
	uint32_t qpn;		 /* 2 to 2^24 - 1 */
	uint32_t psn;		 /* 24 bit */
	uint32_t port_mtu_bytes; /* 256 to 4096; 0: as the local MTU */
	uint8_t sl;		 /* 0 to 15 */
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint32_t flow_label; /* 20 bit */

	/* Told by a peer that knows them, to be held against the local ones. */
	const char *qp_type;	     /* static string: "rc", "uc"; NULL: not told */
	char gid_type[16];	     /* "": not told */
	uint32_t path_mtu_bytes;     /* of the peer's QP in RTR; 0: not told, or not in RTR yet */
	uint8_t responder_resources; /* or VBD_DEPTH_UNKNOWN */
	uint8_t initiator_depth;     /* or VBD_DEPTH_UNKNOWN */
	uint32_t recv_size_bytes;    /* of each of its receives; 0: not told */
};

/* The members of a connection that only a manual bring-up uses. */
struct vbd_conn_manual {
	struct vbd_manual_local local;
	bool stay_in_reset; /* when the QP is made */
	bool has_remote;
	struct vbd_manual_remote remote;
	int to, then;		  /* enum ibv_qp_state: of the last step; next state after it */
	bool parking;		  /* the QP is in ERR, flushes are outstanding */
	struct vbd_error failure; /* of the last step, if it failed later than its call */
};

/**
 * vbd_manual_choose - check the client's choice, and choose the rest; creates nothing
 *
 * Returns not_supported for iWARP, out_of_range and bad_value with the pointer of the member (as
 * `/gid_index`), and errors of the queries of the port and its GIDs.
 */
enum vbd_status vbd_manual_choose(const struct vbd_device *device,
	const struct vbd_manual_params *params, struct vbd_manual_local *ret_local,
	struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_manual_check_remote - can a queue pair with @local talk to a peer with @remote?
 * @transport: of the local queue pair
 *
 * Returns bad_value with the parameter that is useless here or contradicts.
 */
enum vbd_status vbd_manual_check_remote(const struct vbd_manual_local *local,
	enum vbd_qp_transport transport, const struct vbd_manual_remote *remote,
	struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_manual_attributes - the attributes of the move from @old_state to @attr->qp_state: IBTA
 * tables 91 to 95, without the timers and retries, which are connection parameters
 * @ret_mask: of ibv_modify_qp(3)
 */
void vbd_manual_attributes(const struct vbd_conn_manual *manual, enum vbd_qp_transport transport,
	int old_state, struct ibv_qp_attr *attr, int *ret_mask);

#endif
