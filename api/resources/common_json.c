/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members that several kinds of objects have: counters, errors, ends, latencies, access flags.
 */
#include "api/resources/common_json.h"

#include "api/json/encode.h"
#include "base/histogram.h"
#include "rdma/device/mem.h"
#include "rdma/diagnose/why.h"
#include "rdma/names/names.h"

#include <assert.h>

json_t *vbd_encode_op_counters(const struct vbd_op_counters *counters)
{
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_u64(&out, "posted", vbd_counter_get(&counters->posted));
	vbd_put_u64(&out, "completed", vbd_counter_get(&counters->completed));
	vbd_put_u64(&out, "errors", vbd_counter_get(&counters->errors));
	vbd_put_u64(&out, "flushed", vbd_counter_get(&counters->flushed));
	vbd_put_u64(&out, "bytes", vbd_counter_get(&counters->bytes));
	vbd_put_u64(&out, "signalled", vbd_counter_get(&counters->signalled));
	return vbd_encode_end(&out);
}

void vbd_put_received(struct vbd_encoder *out, const struct vbd_received *received)
{
	vbd_put_text(out, "op", vbd_op_name(received->op));
	vbd_put_u64(out, "length_bytes", received->length_bytes);
	vbd_put_u64_or_null(
		out, "written_bytes", received->op == VBD_OP_WRITE_IMM, received->written_bytes);
	vbd_put_u64_or_null(out, "imm", received->has_imm, received->imm);
}

json_t *vbd_encode_latency(const struct vbd_histogram *times_ns)
{
	struct vbd_encoder out;

	if (vbd_counter_get(&times_ns->count) == 0)
		return json_null();
	out = vbd_encode_begin();
	vbd_put_u64(&out, "min", vbd_counter_get(&times_ns->min));
	vbd_put_u64(&out, "mean", vbd_histogram_mean(times_ns));
	vbd_put_u64(&out, "p50", vbd_histogram_permille(times_ns, 500));
	vbd_put_u64(&out, "p90", vbd_histogram_permille(times_ns, 900));
	vbd_put_u64(&out, "p99", vbd_histogram_permille(times_ns, 990));
	vbd_put_u64(&out, "p999", vbd_histogram_permille(times_ns, 999));
	vbd_put_u64(&out, "max", vbd_counter_get(&times_ns->max));
	return vbd_encode_end(&out);
}

/* Index: bit number in enum vbd_mem_access. */
const char *const vbd_access_names[VBD_ACCESS_NAME_COUNT] = {
	"remote_write", "remote_read", "remote_atomic", "mw_bind"};
static_assert(VBD_ACCESS_REMOTE_WRITE == 1 << 0 && VBD_ACCESS_REMOTE_READ == 1 << 1 &&
		      VBD_ACCESS_REMOTE_ATOMIC == 1 << 2 && VBD_ACCESS_MW_BIND == 1 << 3,
	"the decoder sets the bit of the name's index");

json_t *vbd_encode_access(unsigned int access)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < VBD_ACCESS_NAME_COUNT; i++) {
		if (access & 1u << i)
			(void)json_array_append_new(list, json_string(vbd_access_names[i]));
	}
	return list;
}

/* --- errors and the end ---------------------------------------------------------------------- */

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

static void put_error_source(struct vbd_encoder *out, const struct vbd_first_error *first)
{
	const struct vbd_error *error = &first->error;

	switch (error->source) {
	case VBD_SOURCE_CM_EVENT:
		vbd_put_text(out, "source", "cm_event");
		vbd_put_text(out, "cm_event", vbd_cm_event_name(error->kind));
		vbd_put_i64(out, "cm_status", error->raw);
		if (error->status == VBD_E_REJECTED)
			vbd_put_text(out, "reject_reason", vbd_cm_reject_name((int)error->raw));
		break;
	case VBD_SOURCE_WC:
		vbd_put_text(out, "source", "wc");
		vbd_put_text(out, "wc_status", vbd_wc_status_name(error->kind));
		vbd_put_i64(out, "vendor_err", error->raw);
		break;
	case VBD_SOURCE_ASYNC:
		vbd_put_text(out, "source", "async_event");
		vbd_put_text(out, "async_event", vbd_async_event_name(error->kind));
		break;
	case VBD_SOURCE_DEADLINE:
		vbd_put_text(out, "source", "deadline");
		break;
	case VBD_SOURCE_GAI:
		vbd_put_text(out, "source", "resolver");
		break;
	case VBD_SOURCE_ERRNO:
		vbd_put_text(out, "source", "call");
		vbd_put_text(out, "errno", vbd_errno_name((int)error->raw));
		break;
	case VBD_SOURCE_NONE:
	case VBD_SOURCE_INPUT:
		vbd_put_text(out, "source", "call");
		break;
	}
}

json_t *vbd_encode_first_error(const struct vbd_first_error *first)
{
	struct vbd_encoder out;

	if (!first->at_ns)
		return json_null();
	out = vbd_encode_begin();
	vbd_put_time(&out, "at", first->at_ns);
	vbd_put_text(&out, "text",
		*first->error.text ? first->error.text : vbd_status_text(first->error.status));
	vbd_put_text(&out, "hint", vbd_why_hint(&first->error));
	put_error_source(&out, first);
	if (first->error.call)
		vbd_put_text(&out, "call", first->error.call);
	if (first->opcode >= 0)
		vbd_put_text(&out, "opcode", vbd_op_name((enum vbd_op)first->opcode));
	if (first->transfer)
		vbd_put_u64(&out, "transfer", first->transfer);
	return vbd_encode_end(&out);
}

json_t *vbd_encode_end_reason(enum vbd_reason reason)
{
	struct vbd_encoder out;

	if (reason == VBD_REASON_NONE)
		return json_null();
	out = vbd_encode_begin();
	vbd_put_text(&out, "reason", vbd_reason_name(reason));
	vbd_put_text(&out, "text", vbd_reason_text(reason));
	vbd_put_text(&out, "hint", vbd_status_hint(vbd_reason_status(reason)));
	return vbd_encode_end(&out);
}
