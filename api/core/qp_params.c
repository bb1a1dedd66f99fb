/* SPDX-License-Identifier: Apache-2.0 */
#include "api/core/qp_params.h"

#include "api/core/common_json.h"
#include "daemon/memory/shared.h"
#include "rdma/data/heartbeat.h"

const char *const vbd_service_names[VBD_SERVICE_COUNT] = {VBD_SERVICE_MAP(VBD_ENUM_NAME)};

static const char *const poll_names[VBD_POLL_COUNT] = {VBD_POLL_MAP(VBD_ENUM_NAME)};

/* The decoding of a row of each kind. */
#define FIELD(name_, member_)                                       \
	.name = #name_, VBD_FIELD_AT(struct vbd_qp_input, member_), \
	VBD_FIELD_SEEN(struct vbd_qp_input, seen.name_)
#define FIELD_UINT(name_, member_, min_, max_) \
	{FIELD(name_, params.member_), .type = VBD_FIELD_UINT, .min = min_, .max = max_},
#define FIELD_OPTIONAL	FIELD_UINT
#define FIELD_SPIN	FIELD_UINT
#define FIELD_HEARTBEAT FIELD_UINT
#define FIELD_POLL(name_, member_, min_, max_) \
	{FIELD(name_, params.member_), .type = VBD_FIELD_ENUM, VBD_NAMES(poll_names)},
/* The last access flag, mw_bind, is of buffers only. */
#define FIELD_ACCESS(name_, member_, min_, max_)                                              \
	{FIELD(name_, params.member_), .type = VBD_FIELD_ENUM_SET, .names = vbd_access_names, \
		.n_names = VBD_ACCESS_NAME_COUNT - 1},
#define FIELD_REF(name_, member_, min_, max_) {FIELD(name_, refs.name_), .type = VBD_FIELD_REF},

#define FIELD_ROW(kind_, name_, member_, min_, max_, initial_) \
	FIELD_##kind_(name_, member_, min_, max_)

/* The time in place of a code. */
#define FIELD_TIMER(name_, max_ns_)                                                    \
	{VBD_FIELD(UINT, #name_ "_ns", struct vbd_qp_input, times_ns.name_), .min = 1, \
		.max = max_ns_},

const struct vbd_field vbd_qp_fields[] = {
	VBD_QP_PARAM_MAP(FIELD_ROW, FIELD_ROW) VBD_QP_TIMER_MAP(FIELD_TIMER)};
const struct vbd_field vbd_ud_qp_fields[] = {VBD_QP_PARAM_MAP(FIELD_ROW, VBD_QP_PARAM_SKIP)};

struct vbd_qp_input vbd_qp_input_default(void)
{
	return (struct vbd_qp_input){.params = vbd_conn_params_default()};
}

void vbd_qp_input_heartbeat(struct vbd_qp_input *qp, uint32_t default_ms)
{
	if (qp->seen.heartbeat_ms)
		return;
	qp->params.qp.heartbeat_ms = default_ms;
	qp->params.qp.heartbeat_if_able = true;
}

/* Set the code of each timer whose time is given. */
static enum vbd_status merge_timers(struct vbd_qp_input *qp, struct vbd_error *err)
{
#define MERGE_TIMER(name_, max_ns_)                                                         \
	if (qp->times_ns.name_ && qp->seen.name_ &&                                         \
		qp->params.name_ != vbd_##name_##_code(qp->times_ns.name_))                 \
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/qp/" #name_ "_ns",           \
			"" #name_ " and " #name_ "_ns are not the same: give one of them"); \
	if (qp->times_ns.name_)                                                             \
		qp->params.name_ = vbd_##name_##_code(qp->times_ns.name_);
	VBD_QP_TIMER_MAP(MERGE_TIMER)
	return VBD_OK;
}

/* More would tell the progress of a transfer over a long queue too seldom. */
#define SIGNAL_EVERY_MOST 16

/* Enough completions that slots become free long before the queue is full. */
static uint32_t default_signal_every(uint32_t sq_depth)
{
	uint32_t quarter = (sq_depth + 3) / 4;

	return quarter < SIGNAL_EVERY_MOST ? quarter : SIGNAL_EVERY_MOST;
}

static enum vbd_status complete_and_check(struct vbd_qp_input *qp, struct vbd_error *err)
{
	if (!qp->seen.signal_every)
		qp->params.qp.signal_every = default_signal_every(qp->params.qp.sq_depth);
	if (qp->params.path_mtu_bytes && !vbd_mtu_of_bytes(qp->params.path_mtu_bytes))
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/qp/path_mtu_bytes",
			"/qp/path_mtu_bytes must be 256, 512, 1024, 2048 or 4096, not %u",
			qp->params.path_mtu_bytes);
	if (qp->params.qp.signal_every > qp->params.qp.sq_depth)
		return vbd_error_input(err, VBD_E_OUT_OF_RANGE, "/qp/signal_every",
			"signal_every is %u; the send queue holds %u work requests",
			qp->params.qp.signal_every, qp->params.qp.sq_depth);
	if (qp->params.qp.heartbeat_ms && qp->params.qp.heartbeat_ms < VBD_HEARTBEAT_MS_MIN)
		return vbd_error_input(err, VBD_E_OUT_OF_RANGE, "/qp/heartbeat_ms",
			"/qp/heartbeat_ms must be 0 or at least %u, not %u", VBD_HEARTBEAT_MS_MIN,
			qp->params.qp.heartbeat_ms);
	if (qp->seen.spin_us && qp->params.qp.poll != VBD_POLL_ADAPTIVE)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/qp/spin_us",
			"spin_us is for poll \"adaptive\" only");
	return merge_timers(qp, err);
}

static uint64_t find_named_id(const struct vbd_registry *registry, const struct vbd_caller *caller,
	const struct vbd_json_ref *ref, const char *pointer, struct vbd_error *err)
{
	const struct vbd_object *object = vbd_member_find(registry, caller, ref, pointer, err);

	return object ? object->id : 0;
}

static enum vbd_status find_named_objects(const struct vbd_daemon *daemon,
	const struct vbd_caller *caller, struct vbd_qp_input *qp, struct vbd_error *err)
{
	struct vbd_qp_params *params = &qp->params.qp;

	if (qp->seen.pd)
		params->pd_id = find_named_id(daemon->pds, caller, &qp->refs.pd, "/qp/pd", err);
	if (qp->seen.cq)
		params->cq_id = find_named_id(daemon->cqs, caller, &qp->refs.cq, "/qp/cq", err);
	if (qp->seen.srq)
		params->srq_id = find_named_id(daemon->srqs, caller, &qp->refs.srq, "/qp/srq", err);
	return err->status;
}

enum vbd_status vbd_qp_input_check(struct vbd_daemon *daemon, const struct vbd_caller *caller,
	struct vbd_qp_input *qp, struct vbd_error *err)
{
	enum vbd_status status = complete_and_check(qp, err);

	if (status)
		return status;
	if (qp->seen.srq && (qp->seen.rq_depth || qp->seen.recv_size_bytes)) {
		const char *pointer = qp->seen.rq_depth ? "/qp/rq_depth" : "/qp/recv_size_bytes";

		return vbd_error_input(err, VBD_E_BAD_VALUE, pointer,
			"%s is not allowed together with srq: the SRQ has the receives", pointer);
	}
	if (!daemon)
		return VBD_OK;
	status = find_named_objects(daemon, caller, qp, err);
	return status ? status : vbd_shared_check(daemon, &qp->params, err);
}

/* The encoding of a row of each kind; OPTIONAL, HEARTBEAT and REF encode 0 as null. */
#define PUT_UINT(name_, value_)	    vbd_put_u64(out, #name_, value_);
#define PUT_OPTIONAL(name_, value_) vbd_put_u64_or_null(out, #name_, (value_) != 0, value_);
#define PUT_POLL(name_, value_)	    vbd_put_text(out, #name_, vbd_poll_name(value_));
#define PUT_SPIN(name_, value_) \
	vbd_put_u64_or_null(out, #name_, params->qp.poll == VBD_POLL_ADAPTIVE, value_);
#define PUT_HEARTBEAT(name_, value_) PUT_OPTIONAL(name_, value_)
#define PUT_ACCESS(name_, value_)    vbd_put_access(out, #name_, value_);
#define PUT_REF(name_, value_)	     vbd_put_ref(out, #name_, daemon->name_##s, value_);

#define PUT_ROW(kind_, name_, member_, ...) PUT_##kind_(name_, params->member_)

/* The time of a code; null: for ever. */
#define PUT_TIMER(name_, max_ns_)                                                    \
	vbd_put_u64_or_null(out, #name_ "_ns", vbd_##name_##_ns(params->name_) != 0, \
		vbd_##name_##_ns(params->name_));

static void put_params(struct vbd_encoder *out, const struct vbd_daemon *daemon,
	const struct vbd_conn_params *params)
{
	VBD_QP_PARAM_MAP(PUT_ROW, PUT_ROW)
	VBD_QP_TIMER_MAP(PUT_TIMER)
}

static void put_ud_params(struct vbd_encoder *out, const struct vbd_daemon *daemon,
	const struct vbd_conn_params *params)
{
	VBD_QP_PARAM_MAP(PUT_ROW, VBD_QP_PARAM_SKIP)
}

void vbd_put_params(struct vbd_encoder *out, const char *name, const struct vbd_daemon *daemon,
	const struct vbd_conn_params *params)
{
	vbd_begin_object(out, name);
	put_params(out, daemon, params);
	vbd_end(out);
}

void vbd_put_ud_params(struct vbd_encoder *out, const char *name, const struct vbd_daemon *daemon,
	const struct vbd_qp_params *params)
{
	const struct vbd_conn_params all = {.qp = *params};

	vbd_begin_object(out, name);
	put_ud_params(out, daemon, &all);
	vbd_end(out);
}
