/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CM's parameters of a connection or a listener: device, source, ToS, socket options, private
 * data.
 */
#ifndef VBD_RDMA_CONN_CM_PARAMS_H
#define VBD_RDMA_CONN_CM_PARAMS_H

#include "rdma/device/private_data.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* NONE: the system's default. */
enum vbd_choice {
	VBD_CHOICE_NONE,
	VBD_CHOICE_NO,
	VBD_CHOICE_YES,
};

struct vbd_cm_params {
	char device[64];	     /* "": the address decides */
	struct sockaddr_storage src; /* connection: ss_family 0 for any */
	uint16_t src_port;	     /* connection: 0 for any */
	int tos;		     /* 0 to 255; -1: the system's default */
	bool reuse_addr;
	enum vbd_choice v6_only; /* listener; NONE: net.ipv6.bindv6only decides */
	/* Private data of the request or the reply. */
	struct vbd_private_data private_data;
};

/** vbd_cm_params_default - no device, source or option requested */
static inline struct vbd_cm_params vbd_cm_params_default(void)
{
	return (struct vbd_cm_params){.tos = -1};
}

#endif
