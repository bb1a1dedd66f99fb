/* SPDX-License-Identifier: Apache-2.0 */
#include "api/qp_params.h"

#include "api/encode.h"
#include "api/request.h"
#include "daemon/resources.h"
#include "rdma/names.h"

const char *const vbd_service_names[VBD_SERVICE_COUNT] = {
#define SERVICE_NAME(sym, json) [VBD_SERVICE_##sym] = json,
	VBD_SERVICE_MAP(SERVICE_NAME)
#undef SERVICE_NAME
};

#define QP_FIELD(member) VBD_FIELD_AT(struct vbd_qp_input, params.qp.member)
#define UINT(name_, member, min_, max_)                                                     \
	{                                                                                   \
		.name = name_, .type = VBD_FIELD_UINT,                                      \
		VBD_FIELD_AT(struct vbd_qp_input, params.member), .min = min_, .max = max_, \
	}
#define QP_UINT(member, min, max)   UINT(#member, qp.member, min, max)
#define CONN_UINT(member, min, max) UINT(#member, member, min, max)

#define QP_REF(member)                                                                             \
	{                                                                                          \
		.name = #member, .type = VBD_FIELD_REF, VBD_FIELD_AT(struct vbd_qp_input, member), \
		VBD_FIELD_SEEN(struct vbd_qp_input, member##_seen)                                 \
	}

const struct vbd_field vbd_qp_fields[VBD_QP_FIELD_COUNT] = {
	{.name = "service",
		.type = VBD_FIELD_ENUM,
		QP_FIELD(service),
		.names = vbd_service_names,
		.n_names = VBD_SERVICE_COUNT,
		VBD_FIELD_SEEN(struct vbd_qp_input, service_seen)},
	QP_UINT(sq_depth, 1, 16384),
	{.name = "rq_depth",
		.type = VBD_FIELD_UINT,
		QP_FIELD(rq_depth),
		.min = 1,
		.max = 16384,
		VBD_FIELD_SEEN(struct vbd_qp_input, rq_depth_seen)},
	{.name = "recv_size_bytes",
		.type = VBD_FIELD_UINT,
		QP_FIELD(recv_size_bytes),
		.min = 1,
		.max = 1048576,
		VBD_FIELD_SEEN(struct vbd_qp_input, recv_size_seen)},
	QP_REF(pd),
	QP_REF(cq),
	QP_REF(srq),
	QP_UINT(max_send_sge, 1, VBD_SGES_MAX),
	QP_UINT(max_recv_sge, 1, VBD_SGES_MAX),
	QP_UINT(inline_bytes, 0, 1024),
	QP_UINT(signal_every, 1, 16384),
	CONN_UINT(retry_count, 0, 7),
	CONN_UINT(rnr_retry, 0, 7),
	CONN_UINT(ack_timeout, 0, 31),
	CONN_UINT(min_rnr_timer, 0, 31),
	CONN_UINT(responder_resources, 0, 255),
	CONN_UINT(initiator_depth, 0, 255),
	CONN_UINT(path_mtu_bytes, 256, 4096),
};

struct vbd_qp_input vbd_qp_input_default(void)
{
	return (struct vbd_qp_input){.params = vbd_conn_params_default()};
}

enum vbd_status vbd_qp_input_merge(
	struct vbd_qp_input *qp, bool service_seen, enum vbd_service service, struct vbd_error *err)
{
	if (qp->params.path_mtu_bytes && !vbd_mtu_of_bytes(qp->params.path_mtu_bytes))
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/qp/path_mtu_bytes",
			"/qp/path_mtu_bytes must be 256, 512, 1024, 2048 or 4096, not %u",
			qp->params.path_mtu_bytes);
	if (qp->params.qp.signal_every > qp->params.qp.sq_depth)
		return vbd_error_input(err, VBD_E_OUT_OF_RANGE, "/qp/signal_every",
			"signal_every is %u; the send queue holds %u work requests",
			qp->params.qp.signal_every, qp->params.qp.sq_depth);
	if (!service_seen)
		return VBD_OK;
	if (qp->service_seen && qp->params.qp.service != service)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/service",
			"service says %s and qp.service says %s", vbd_service_names[service],
			vbd_service_names[qp->params.qp.service]);
	qp->params.qp.service = service;
	return VBD_OK;
}

static enum vbd_status find_named(
	struct vbd_daemon *daemon, struct vbd_qp_input *qp, struct vbd_error *err)
{
	char text[VBD_REF_TEXT_BYTES];

	if (qp->pd_seen) {
		const struct vbd_pd *pd = vbd_pd_find_ref(daemon, vbd_ref_text(&qp->pd, text), err);

		qp->params.qp.pd_id = pd ? pd->id : 0;
		if (!pd)
			vbd_blame(err, "/qp/pd");
	}
	if (qp->cq_seen) {
		const struct vbd_cq *cq = vbd_cq_find_ref(daemon, vbd_ref_text(&qp->cq, text), err);

		qp->params.qp.cq_id = cq ? cq->id : 0;
		if (!cq)
			vbd_blame(err, "/qp/cq");
	}
	if (qp->srq_seen) {
		const struct vbd_srq *srq =
			vbd_srq_find_ref(daemon, vbd_ref_text(&qp->srq, text), err);

		qp->params.qp.srq_id = srq ? srq->id : 0;
		if (!srq)
			vbd_blame(err, "/qp/srq");
	}
	return err->status;
}

enum vbd_status vbd_qp_input_resources(
	struct vbd_daemon *daemon, struct vbd_qp_input *qp, struct vbd_error *err)
{
	enum vbd_status status;

	if (qp->srq_seen && (qp->rq_depth_seen || qp->recv_size_seen)) {
		const char *pointer = qp->rq_depth_seen ? "/qp/rq_depth" : "/qp/recv_size_bytes";

		return vbd_error_input(err, VBD_E_BAD_VALUE, pointer,
			"%s has no meaning beside srq: the receives are the SRQ's", pointer);
	}
	status = find_named(daemon, qp, err);
	return status ? status : vbd_params_check_resources(daemon, &qp->params, err);
}

json_t *vbd_encode_params(const struct vbd_conn_params *params)
{
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_text(&out, "service", vbd_service_name(params->qp.service));
	vbd_put_u64(&out, "sq_depth", params->qp.sq_depth);
	vbd_put_u64(&out, "rq_depth", params->qp.rq_depth);
	vbd_put_u64(&out, "recv_size_bytes", params->qp.recv_size_bytes);
	vbd_put_u64(&out, "max_send_sge", params->qp.max_send_sge);
	vbd_put_u64(&out, "max_recv_sge", params->qp.max_recv_sge);
	vbd_put_u64(&out, "inline_bytes", params->qp.inline_bytes);
	vbd_put_u64(&out, "signal_every", params->qp.signal_every);
	vbd_put_u64(&out, "retry_count", params->retry_count);
	vbd_put_u64(&out, "rnr_retry", params->rnr_retry);
	vbd_put_u64(&out, "ack_timeout", params->ack_timeout);
	vbd_put_u64(&out, "min_rnr_timer", params->min_rnr_timer);
	vbd_put_u64(&out, "responder_resources", params->responder_resources);
	vbd_put_u64(&out, "initiator_depth", params->initiator_depth);
	vbd_put_u64_or_null(&out, "pd", params->qp.pd_id != 0, params->qp.pd_id);
	vbd_put_u64_or_null(&out, "cq", params->qp.cq_id != 0, params->qp.cq_id);
	vbd_put_u64_or_null(&out, "srq", params->qp.srq_id != 0, params->qp.srq_id);
	vbd_put_u64_or_null(
		&out, "path_mtu_bytes", params->path_mtu_bytes != 0, params->path_mtu_bytes);
	return vbd_encode_end(&out);
}
