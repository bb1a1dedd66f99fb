/* SPDX-License-Identifier: Apache-2.0 */
#include "api/encode.h"
#include "api/handlers.h"
#include "api/page.h"
#include "rdma/names.h"
#include "rdma/why.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const vbd_service_names[VBD_SERVICE_COUNT] = {
#define SERVICE_NAME(sym, json) [VBD_SERVICE_##sym] = json,
	VBD_SERVICE_MAP(SERVICE_NAME)
#undef SERVICE_NAME
};

/* Tags are compared by what is between the quotes. */
bool vbd_request_knows_tag(struct vbd_request *req, const char *etag)
{
	const char *known = vbd_request_header(req, "If-None-Match");

	return known && (strcmp(known, "*") == 0 || strstr(known, etag));
}

const char *vbd_ref_text(const struct vbd_json_ref *ref, char buf[VBD_REF_TEXT_BYTES])
{
	if (ref->name)
		return ref->name;
	(void)snprintf(buf, VBD_REF_TEXT_BYTES, "%" PRIu64, ref->id);
	return buf;
}

void vbd_blame(struct vbd_error *err, const char *pointer)
{
	if (!*err->pointer)
		(void)snprintf(err->pointer, sizeof(err->pointer), "%s", pointer);
}

void vbd_copy_text(char *to, size_t to_bytes, const char *text)
{
	(void)snprintf(to, to_bytes, "%s", text ? text : "");
}

json_t *vbd_encode_error(const struct vbd_error *err)
{
	struct vbd_encoder out;

	if (err->status == VBD_OK)
		return json_null();
	out = vbd_encode_begin();
	vbd_put_text(&out, "code", vbd_status_code(err->status));
	vbd_put_text(&out, "text", *err->text ? err->text : vbd_status_text(err->status));
	vbd_put_text(&out, "hint", vbd_why_hint(err));
	return vbd_encode_end(&out);
}

void vbd_walk_registry(void *registry, vbd_page_visit_cb visit, void *visitor)
{
	for (struct vbd_object *object = vbd_registry_first(registry); object;
		object = vbd_registry_next(object))
		visit(object, visitor);
}

uint64_t vbd_object_id(const void *item)
{
	return ((const struct vbd_object *)item)->id;
}

int vbd_object_compare_name(const void *a, const void *b)
{
	return strcmp(((const struct vbd_object *)a)->name, ((const struct vbd_object *)b)->name);
}

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

void vbd_put_received(struct vbd_encoder *out, const struct vbd_received *received)
{
	vbd_put_text(out, "op", vbd_op_name(received->op));
	vbd_put_u64(out, "length_bytes", received->length_bytes);
	vbd_put_u64_or_null(
		out, "written_bytes", received->op == VBD_OP_WRITE_IMM, received->written_bytes);
	vbd_put_u64_or_null(out, "imm", received->has_imm, received->imm);
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
