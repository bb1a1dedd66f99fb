/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client chooses of a queue pair: the same for a connection and for an endpoint.
 */
#ifndef VBD_RDMA_QP_PARAMS_H
#define VBD_RDMA_QP_PARAMS_H

#include "rdma/op.h"

#include <stdint.h>

struct vbd_qp_params {
	enum vbd_qp_transport transport;
	enum vbd_service service;
	uint32_t sq_depth;	  /* 1 to 16384 */
	uint32_t rq_depth;	  /* 1 to 16384 */
	uint32_t recv_size_bytes; /* 1 to 1 MiB; UD: without the route header */
	uint32_t max_send_sge;	  /* 1 to VBD_SGES_MAX; the default is lowered to the device's */
	uint32_t max_recv_sge;	  /* 1 to VBD_SGES_MAX */
	uint32_t inline_bytes;	  /* 0 to 1024 */
	uint32_t signal_every;	  /* 1 to sq_depth */
	uint64_t pd_id;		  /* 0: the PD of the SRQ, or the device's default one */
	uint64_t cq_id;		  /* 0: the CQ of the SRQ, or one of verbsd's own */
	uint64_t srq_id;	  /* 0: the QP has receives of its own. Never with UD */
};

/** vbd_qp_params_default - RC, inbox, 64 sends, 16 receives of 4096 bytes, 64 bytes inline; 4
 * ranges a send and 1 a receive; each work request is signalled */
struct vbd_qp_params vbd_qp_params_default(void);

#endif
