/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked of the CM for a connection or a listener, beside its QP: where it goes out, what
 * its packets are marked with, what it says.
 */
#ifndef VBD_RDMA_CONN_CM_PARAMS_H
#define VBD_RDMA_CONN_CM_PARAMS_H

#include "rdma/device/private_data.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* Something that may be left to the system. */
enum vbd_choice {
	VBD_CHOICE_NONE,
	VBD_CHOICE_NO,
	VBD_CHOICE_YES,
};

struct vbd_cm_params {
	char device[64];	     /* "" for whichever the address leads to */
	struct sockaddr_storage src; /* connection: ss_family 0 for any */
	uint16_t src_port;	     /* connection: 0 for any */
	int tos;		     /* 0 to 255; -1: not asked for */
	bool reuse_addr;
	enum vbd_choice v6_only; /* listener: NONE leaves it to net.ipv6.bindv6only */
	/* With the request, or with the reply that accepts. */
	struct vbd_private_data private_data;
};

/** vbd_cm_params_default - nothing is asked for */
static inline struct vbd_cm_params vbd_cm_params_default(void)
{
	return (struct vbd_cm_params){.tos = -1};
}

#endif
