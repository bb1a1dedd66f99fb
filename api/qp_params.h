/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QpParams and QpParamsFull of openapi.yaml: the parameters of a queue pair.
 *
 * A struct with a `struct vbd_qp_input qp`, and `service` beside it, is decoded with
 * VBD_QP_FIELDS.
 *
 * Control thread.
 */
#ifndef VBD_API_QP_PARAMS_H
#define VBD_API_QP_PARAMS_H

#include "api/decode.h"
#include "rdma/conn.h"

#include <jansson.h>

struct vbd_daemon;

struct vbd_qp_input {
	struct vbd_conn_params params;
	struct vbd_json_ref pd, cq, srq;
	bool service_seen;
	bool pd_seen, cq_seen, srq_seen, rq_depth_seen, recv_size_seen;
};
extern const struct vbd_field vbd_qp_fields[];

/* The members `qp` and `service` of a struct that has `struct vbd_qp_input qp`, `enum vbd_service
 * service` and `bool service_seen`. */
#define VBD_QP_FIELDS(type_)                                                             \
	{.name = "qp",                                                                   \
		.type = VBD_FIELD_OBJECT,                                                \
		VBD_FIELD_AT(type_, qp),                                                 \
		.fields = vbd_qp_fields,                                                 \
		.n_fields = VBD_QP_FIELD_COUNT},                                         \
	{                                                                                \
		.name = "service", .type = VBD_FIELD_ENUM, VBD_FIELD_AT(type_, service), \
		.names = vbd_service_names, .n_names = VBD_SERVICE_COUNT,                \
		VBD_FIELD_SEEN(type_, service_seen)                                      \
	}
#define VBD_QP_FIELD_COUNT 18
extern const char *const vbd_service_names[VBD_SERVICE_COUNT];

/** vbd_qp_input_default - nothing was asked for */
struct vbd_qp_input vbd_qp_input_default(void);

/** vbd_qp_input_merge - `service` is short for `qp.service`; refused when they differ, when
 * path_mtu_bytes is no MTU, or signal_every is more than the queue holds */
enum vbd_status vbd_qp_input_merge(struct vbd_qp_input *qp, bool service_seen,
	enum vbd_service service, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_qp_input_resources - the ids of the PD, CQ and SRQ that are named; not_found, bad_value or
 * pd_mismatch otherwise */
enum vbd_status vbd_qp_input_resources(
	struct vbd_daemon *daemon, struct vbd_qp_input *qp, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_encode_params - QpParamsFull */
json_t *vbd_encode_params(const struct vbd_conn_params *params);

#endif
