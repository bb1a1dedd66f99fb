/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters of a queue pair that a client chooses: for any queue pair, and for a connection's
 * only.
 *
 * Any thread.
 */
#ifndef VBD_RDMA_QP_QP_PARAMS_H
#define VBD_RDMA_QP_QP_PARAMS_H

#include "rdma/device/mem.h"
#include "rdma/device/op.h"

struct vbd_device;

/*
 * ANY(KIND, name, member, min, max, default): a parameter of any queue pair.
 * CONN(the same): a parameter of RC and UC only.
 *
 * KIND is the JSON form of the value (api/core/qp_params.c). `name` is the member of QpParams
 * in openapi.yaml, with the same limits and default; `member` is the member of struct
 * vbd_conn_params. Decoding, encoding and the defaults use these rows.
 */
/* clang-format off */
#define VBD_QP_PARAM_MAP(ANY, CONN) \
	ANY(UINT, sq_depth, qp.sq_depth, 1, 16384, VBD_SQ_DEPTH) \
	ANY(UINT, rq_depth, qp.rq_depth, 1, 16384, 16) \
	ANY(UINT, recv_size_bytes, qp.recv_size_bytes, 1, 1048576, VBD_RECV_SIZE_BYTES) \
	ANY(UINT, max_send_sge, qp.max_send_sge, 1, VBD_SGES_MAX, 4) \
	ANY(UINT, max_recv_sge, qp.max_recv_sge, 1, VBD_SGES_MAX, 1) \
	ANY(UINT, inline_bytes, qp.inline_bytes, 0, 1024, VBD_INLINE_BYTES) \
	/* If absent, it follows from sq_depth: vbd_qp_input_merge(). */ \
	ANY(UINT, signal_every, qp.signal_every, 1, 16384, 4) \
	ANY(POLL, poll, qp.poll, 0, 0, VBD_POLL_EVENTS) \
	ANY(SPIN, spin_us, qp.spin_us, 1, 1000000, VBD_SPIN_US) \
	/* 7 never ends on rxe (rxe_comp.c, 6.1). */ \
	CONN(HEARTBEAT, heartbeat_ms, qp.heartbeat_ms, 0, 3600000, 0) \
	CONN(UINT, retry_count, retry_count, 0, 7, 4) \
	/* 7: a slow receiver delays its sender; transfers have deadlines. */ \
	CONN(UINT, rnr_retry, rnr_retry, 0, 7, 7) \
	/* 67 ms: a dead peer is noticed in 0.4 s, instead of 8 s with rdma_cm's 19. */ \
	CONN(UINT, ack_timeout, ack_timeout, 0, 31, 14) \
	/* 0.64 ms; rdma_cm leaves 0, which is 655 ms. */ \
	CONN(UINT, min_rnr_timer, min_rnr_timer, 0, 31, 12) \
	CONN(UINT, responder_resources, responder_resources, 0, 255, 16) \
	CONN(UINT, initiator_depth, initiator_depth, 0, 255, 16) \
	ANY(REF, pd, qp.pd_id, 0, 0, 0) \
	ANY(REF, cq, qp.cq_id, 0, 0, 0) \
	CONN(REF, srq, qp.srq_id, 0, 0, 0) \
	CONN(OPTIONAL, path_mtu_bytes, path_mtu_bytes, 256, 4096, 0) \
	/* The default equals the grant of the CM (cm_init_qp_init_attr() in cm.c, 6.1). */ \
	CONN(ACCESS, remote_access, remote_access, 0, VBD_ACCESS_REMOTE_ALL, VBD_ACCESS_REMOTE_ALL)
/* clang-format on */

/*
 * X(name, max_ns): a parameter that is a code of a time. A client may give the time as `name`_ns
 * instead, which is rounded up to that of a code; the answer has both. vbd_`name`_ns() and
 * vbd_`name`_code() (rdma/names/names.h) convert. Zero is no time: the code 0 is for ever in
 * ack_timeout and the longest time in min_rnr_timer.
 */
#define VBD_QP_TIMER_MAP(X)           \
	X(ack_timeout, 8796093022208) \
	X(min_rnr_timer, 655360000)

#define VBD_ACCESS_REMOTE_ALL \
	(VBD_ACCESS_REMOTE_WRITE | VBD_ACCESS_REMOTE_READ | VBD_ACCESS_REMOTE_ATOMIC)

/* Short, since most connections are idle. Drivers round a send queue up to a power of two,
 * Soft-RoCE 1 + sq_depth of it: 16 would take twice the memory of 15 there (rxe_queue_init(), 6.1).
 */
#define VBD_SQ_DEPTH 15

/* With a depth of 16, 16 KiB of registered memory for a connection, of which most are idle. */
#define VBD_RECV_SIZE_BYTES 1024

/* The default of UD. A datagram is as long as the largest MTU at most, and nobody is told of the
 * loss of one that is longer than its receive. */
#define VBD_UD_RECV_SIZE_BYTES 4096

/* With poll ADAPTIVE, if not given: about twice as long as a wake-up of the worker takes. */
#define VBD_SPIN_US 50

/* Replaces ANY or CONN in a table without these rows. */
#define VBD_QP_PARAM_SKIP(...)

/* The parameters of any queue pair. */
struct vbd_qp_params {
	enum vbd_qp_transport transport;
	enum vbd_service service;
	uint32_t sq_depth;
	uint32_t rq_depth;
	uint32_t recv_size_bytes; /* UD: without the GRH */
	uint32_t max_send_sge;	  /* the default is lowered to the device's limit */
	uint32_t max_recv_sge;
	uint32_t inline_bytes;
	uint32_t signal_every; /* at most sq_depth */
	enum vbd_poll poll;
	uint32_t spin_us;	/* of poll ADAPTIVE */
	uint32_t heartbeat_ms;	/* interval of heartbeats, RC only; 0: none */
	bool heartbeat_if_able; /* there are none where they are not possible */
	uint64_t pd_id;		/* 0: the PD of the SRQ, else the device's default PD */
	uint64_t cq_id;		/* 0: the CQ of the SRQ, else a CQ that verbsd chooses */
	uint64_t srq_id;	/* 0: the QP has its own receives. 0 with UD */
};

struct vbd_conn_params {
	struct vbd_qp_params qp; /* transport RC or UC */
	uint8_t retry_count;	 /* 7: for ever on Soft-RoCE, seven times elsewhere */
	uint8_t rnr_retry;	 /* 7 is for ever */
	uint8_t ack_timeout;	 /* 4.096 us * 2^n; 0 is for ever */
	uint8_t min_rnr_timer;	 /* IBTA code */
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint32_t path_mtu_bytes; /* upper limit; 0: the MTU of the path */
	uint32_t remote_access;	 /* enum vbd_mem_access: permitted to the peer */
};

/** vbd_conn_params_default - the defaults of the rows, with transport RC */
struct vbd_conn_params vbd_conn_params_default(void);

/** vbd_conn_params_check - not_supported if @params need a feature that @device lacks, or their
 * transport */
enum vbd_status vbd_conn_params_check(const struct vbd_conn_params *params,
	const struct vbd_device *device, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_conn_params_fit - leave out what is wanted only where it is possible, and is not on @device
 */
void vbd_conn_params_fit(struct vbd_conn_params *params, const struct vbd_device *device);

/** vbd_conn_lowered - the least of @wanted, the @limit of the device and the limit of the @peer */
uint8_t vbd_conn_lowered(uint8_t wanted, uint32_t limit, uint8_t peer);

#endif
