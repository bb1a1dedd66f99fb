/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schemas QpParams, QpParamsFull, UdQpParams and UdQpParamsFull of openapi.yaml: parameters of
 * a queue pair, generated from the rows of rdma/qp/qp_params.h.
 *
 * Control thread.
 */
#ifndef VBD_API_CORE_QP_PARAMS_H
#define VBD_API_CORE_QP_PARAMS_H

#include "api/json/decode.h"
#include "rdma/qp/qp_params.h"

struct vbd_caller;
struct vbd_daemon;
struct vbd_encoder;

/* The decoded QpParams or UdQpParams. */
struct vbd_qp_input {
	struct vbd_conn_params params;
	struct {
		struct vbd_json_ref pd, cq, srq;
	} refs;
	/* Times in place of codes; 0: none. */
	struct {
#define VBD_QP_TIMER_MEMBER(name, max_ns) uint64_t name;
		VBD_QP_TIMER_MAP(VBD_QP_TIMER_MEMBER)
#undef VBD_QP_TIMER_MEMBER
	} times_ns;
	/* True for each member that the request has. */
	struct {
#define VBD_QP_PARAM_SEEN(kind, name, ...) bool name;
		VBD_QP_PARAM_MAP(VBD_QP_PARAM_SEEN, VBD_QP_PARAM_SEEN)
#undef VBD_QP_PARAM_SEEN
	} seen;
};

#define VBD_QP_PARAM_ONE(...) +1
enum {
	VBD_QP_FIELD_COUNT = 0 VBD_QP_PARAM_MAP(VBD_QP_PARAM_ONE, VBD_QP_PARAM_ONE)
		VBD_QP_TIMER_MAP(VBD_QP_PARAM_ONE),
	VBD_UD_QP_FIELD_COUNT = 0 VBD_QP_PARAM_MAP(VBD_QP_PARAM_ONE, VBD_QP_PARAM_SKIP),
};
extern const struct vbd_field vbd_qp_fields[VBD_QP_FIELD_COUNT];
extern const struct vbd_field vbd_ud_qp_fields[VBD_UD_QP_FIELD_COUNT];

/* The members `qp` and `service` of a struct that has `struct vbd_qp_input qp`. Only a listener has
 * the last service, files. */
#define VBD_QP_FIELDS(type_) \
	VBD_QP_FIELDS_OF(type_, vbd_qp_fields, VBD_QP_FIELD_COUNT, VBD_CONNECTION_SERVICES)
#define VBD_LISTENER_QP_FIELDS(type_) \
	VBD_QP_FIELDS_OF(type_, vbd_qp_fields, VBD_QP_FIELD_COUNT, VBD_SERVICE_COUNT)
#define VBD_UD_QP_FIELDS(type_) \
	VBD_QP_FIELDS_OF(type_, vbd_ud_qp_fields, VBD_UD_QP_FIELD_COUNT, VBD_CONNECTION_SERVICES)
#define VBD_QP_FIELDS_OF(type_, fields_, count_, services_)                          \
	{VBD_FIELD(OBJECT, "qp", type_, qp), .fields = fields_, .n_fields = count_}, \
	{                                                                            \
		VBD_FIELD(ENUM, "service", type_, qp.params.qp.service),             \
			.names = vbd_service_names, .n_names = services_             \
	}
#define VBD_CONNECTION_SERVICES (VBD_SERVICE_COUNT - 1)
extern const char *const vbd_service_names[VBD_SERVICE_COUNT];

/** vbd_qp_input_default - the defaults of absent members */
struct vbd_qp_input vbd_qp_input_default(void);

/** vbd_qp_input_heartbeat - unless the request has an interval, send heartbeats in this one where
 * that is possible */
void vbd_qp_input_heartbeat(struct vbd_qp_input *qp, uint32_t default_ms);

/**
 * vbd_qp_input_check - set what absent members leave open, and find the named PD, CQ and SRQ
 * @daemon: NULL: do not look for them
 *
 * Sets signal_every if it is absent, and the codes of timers given as times. bad_value if
 * path_mtu_bytes is no MTU or a timer is given twice, out_of_range if signal_every exceeds the send
 * queue; not_found, bad_value or pd_mismatch for the named objects.
 */
enum vbd_status vbd_qp_input_check(struct vbd_daemon *daemon, const struct vbd_caller *caller,
	struct vbd_qp_input *qp, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_put_params - put schema QpParamsFull */
void vbd_put_params(struct vbd_encoder *out, const char *name, const struct vbd_daemon *daemon,
	const struct vbd_conn_params *params);

/** vbd_put_ud_params - put schema UdQpParamsFull */
void vbd_put_ud_params(struct vbd_encoder *out, const char *name, const struct vbd_daemon *daemon,
	const struct vbd_qp_params *params);

#endif
