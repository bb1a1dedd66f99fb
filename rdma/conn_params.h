/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client chooses of a connection's queue pair and path.
 */
#ifndef VBD_RDMA_CONN_PARAMS_H
#define VBD_RDMA_CONN_PARAMS_H

#include "base/attr.h"
#include "base/error.h"
#include "rdma/qp_params.h"

#include <stdint.h>

struct vbd_device;

struct vbd_conn_params {
	struct vbd_qp_params qp; /* its transport is RC or UC */
	uint8_t retry_count;	 /* 0 to 7; 7 is for ever on Soft-RoCE, seven elsewhere */
	uint8_t rnr_retry;	 /* 0 to 7; 7 is for ever */
	uint8_t ack_timeout;	 /* 4.096 us * 2^n, 0 to 31; 0 is for ever */
	uint8_t min_rnr_timer;	 /* IBTA code, 0 to 31 */
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint32_t path_mtu_bytes; /* 256 to 4096, at most; 0 for the path's own */
};

/** vbd_conn_params_default - vbd_qp_params_default(), retry 4, rnr_retry 7, ack_timeout 14,
 * min_rnr_timer 12 */
struct vbd_conn_params vbd_conn_params_default(void);

/** vbd_conn_params_check - not_supported if @device lacks something that @params ask for */
enum vbd_status vbd_conn_params_check(const struct vbd_conn_params *params,
	const struct vbd_device *device, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_lowered - @wanted, but not more than the @limit of the device and what the @peer allows
 */
uint8_t vbd_conn_lowered(uint8_t wanted, uint32_t limit, uint8_t peer);

#endif
