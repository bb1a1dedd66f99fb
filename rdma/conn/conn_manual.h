/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Manual bring-up: a connection without a CM id. Somebody else carries the attributes from side to
 * side, and a client takes the QP from state to state, a step at a time if it likes.
 *
 * Control thread.
 */
#ifndef VBD_RDMA_CONN_CONN_MANUAL_H
#define VBD_RDMA_CONN_CONN_MANUAL_H

#include "base/attr.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct vbd_conn;
struct vbd_device;
struct vbd_conn_move;

/* X(SYMBOL, json name): where a client can take a QP */
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

/* What a client may choose. */
struct vbd_manual_params {
	uint8_t port_num;     /* 1 to the device's ports */
	bool gid_index_given; /* else the first that fits: RoCE v2 of an IPv4 address first */
	uint32_t gid_index;   /* in the port's table */
	uint16_t pkey_index;  /* in the port's table */
	uint8_t sl;	      /* 0 to 15 */
	bool psn_given;	      /* else a random one */
	uint32_t psn;	      /* 24 bit */
	bool stay_in_reset;   /* else the QP goes to INIT at once */
};

/* What the peer needs to know of us, and what of the port decides the path. */
struct vbd_manual_local {
	uint8_t port_num;
	bool infiniband; /* LIDs lead to the peer; else GIDs do */
	uint16_t lid;
	bool gid_known;
	uint32_t gid_index;
	uint8_t gid[16];
	uint16_t pkey_index;
	uint8_t sl;
	uint32_t psn;
	uint32_t mtu_bytes;
};

/* What the peer said of itself, and how to get there. */
struct vbd_manual_remote {
	uint16_t lid;	    /* InfiniBand: 1 to 0xbfff; else not looked at */
	uint8_t gid[16];    /* all zero: none. InfiniBand: with one there is a GRH */
	uint32_t qpn;	    /* 2 to 2^24 - 1 */
	uint32_t psn;	    /* 24 bit */
	uint32_t mtu_bytes; /* 256 to 4096; 0: as ours */
	uint8_t sl;	    /* 0 to 15 */
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint32_t flow_label; /* 20 bit */
};

/* The part of a connection that only a manual bring-up has. */
struct vbd_conn_manual {
	bool on;
	struct vbd_manual_local local;
	bool has_remote;
	struct vbd_manual_remote remote;
	int to, then;		    /* enum ibv_qp_state: of the last step, and behind it */
	bool parking;		    /* the QP was taken to ERR, its flushes are not in yet */
	struct vbd_error failure;   /* of the last step, if it failed after its call returned */
	struct vbd_conn_move *move; /* a move that may block is under way; NULL if none is */
};

/**
 * vbd_manual_choose - what a client chose, held against the device, and the rest filled in
 *
 * Returns not_supported if the device's QPs can't be moved by hand, out_of_range and bad_value with
 * the pointer of the member (as `/gid_index`), and what querying the port and its GIDs gives.
 * Nothing is made.
 */
enum vbd_status vbd_manual_choose(const struct vbd_device *device,
	const struct vbd_manual_params *params, struct vbd_manual_local *ret_local,
	struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_conn_remote - take the peer's attributes, and the QP from INIT to RTR or RTS
 * @bring_to: RTR or RTS
 *
 * The kernel may have to ask the network for the peer's hardware address. Then this returns VBD_OK
 * before the step is done: see vbd_conn_stepping().
 *
 * Returns wrong_state unless the connection is manual and its QP is in INIT; bad_value, with the
 * pointer, for attributes that lead nowhere on this port; and the device's refusal, which leaves
 * the QP where it was.
 */
enum vbd_status vbd_conn_remote(struct vbd_conn *conn, const struct vbd_manual_remote *remote,
	enum vbd_qp_step bring_to, struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_conn_modify - take the QP one step
 *
 * ERR, and RESET, which goes by ERR, are done when what was posted is flushed; RTR may take as long
 * as vbd_conn_remote() says.
 *
 * Returns wrong_state, naming the steps that are possible; otherwise as vbd_conn_remote().
 */
enum vbd_status vbd_conn_modify(
	struct vbd_conn *conn, enum vbd_qp_step step, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_stepping - is a step under way? When it is done, stepped() of the connection's
 * observers is called, and manual.failure says whether it failed. */
bool vbd_conn_stepping(const struct vbd_conn *conn);

/** vbd_conn_moved - the control thread, after vbd_conn_move_work() of rdma/conn/conn_move.h */
void vbd_conn_moved(struct vbd_conn *conn);

#endif
