/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/qp/qp.h"

#include "rdma/data/heartbeat.h"
#include "rdma/fabric/shared.h"
#include "rdma/provider/provider.h"

static struct vbd_qp_remains *remains_of_call(struct vbd_call *call)
{
	return VBD_CONTAINER_OF(call, struct vbd_qp_remains, call);
}

/* Call thread. */
static void destroy_qp_work(struct vbd_call *call)
{
	struct vbd_qp_remains *remains = remains_of_call(call);

	vbd_pv_destroy_qp(remains->qp->account, remains->ibv_qp);
}

/* Call thread. */
static void free_remains_work(struct vbd_call *call)
{
	struct vbd_qp_remains *remains = remains_of_call(call);

	if (remains->ibv_qp)
		vbd_pv_destroy_qp(&remains->account, remains->ibv_qp);
	if (remains->channel)
		vbd_channel_free_memory(remains->channel);
}

static void on_remains_freed(struct vbd_call *call)
{
	struct vbd_qp_remains *remains = remains_of_call(call);
	struct vbd_channel *channel = remains->channel;
	struct vbd_cq *cq = channel ? channel->cq : NULL;
	struct vbd_pd *pd = remains->pd;

	/* After the queue pair, and without its places in the CQ and the PD: a peer that does not
	 * answer holds up nothing but its id. */
	vbd_calls_end_id(remains->fabric->calls, &remains->account, remains->cm_id);
	vbd_channel_destroy(channel);
	if (cq)
		vbd_cq_release(cq, remains->reserved_cqe);
	vbd_fabric_qp_gone(remains->fabric, cq, remains->srq);
	if (pd) {
		vbd_fabric_release_device(remains->fabric, pd->device);
		vbd_pd_unref(pd);
	}
	vbd_account_close(&remains->account);
	free(remains);
}

/* Free what a queue pair needed, in the order of docs/internals/lifetimes.md. If the process is
 * about to exit, the kernel frees all of that. */
static void free_remains(struct vbd_qp_remains *remains)
{
	if (remains->cm_id)
		vbd_pv_set_id_context(remains->cm_id, &remains->tag);
	remains->qp = NULL;
	if (remains->fabric->exits) {
		remains->fabric->left_to_kernel = true;
		return;
	}
	remains->call.work = free_remains_work;
	remains->call.done = on_remains_freed;
	vbd_call_start(remains->fabric->calls, &remains->call, VBD_LANE_END);
}

void vbd_qp_init(struct vbd_qp *qp, struct vbd_fabric *fabric, struct vbd_account *account,
	uint64_t owner_id, const struct vbd_qp_ops *ops)
{
	*qp = (struct vbd_qp){
		.ops = ops, .fabric = fabric, .account = account, .owner_id = owner_id};
	vbd_list_init(&qp->transfers);
}

void vbd_qp_fini(struct vbd_qp *qp)
{
	free(qp->ended_ops);
	free(qp->ended_heartbeat);
}

void vbd_qp_attach(struct vbd_qp *qp)
{
	struct vbd_channel *channel = qp->channel;

	channel->attached = true;
	/* A completion and any other command wake the worker, which takes this command first: to
	 * wake it for each new queue pair would cost more than the command does. */
	if (channel->limits.poll == VBD_POLL_BUSY)
		vbd_worker_send(channel->worker, &channel->attach_command, VBD_WORKER_ATTACH);
	else
		vbd_worker_leave(channel->worker, &channel->attach_command, VBD_WORKER_ATTACH);
}

void vbd_qp_start_heartbeat(struct vbd_qp *qp)
{
	struct vbd_channel *channel = qp->channel;

	if (channel->heartbeat && !channel->drain_sent)
		vbd_worker_send(channel->worker, &channel->heartbeat->start_command,
			VBD_WORKER_START_HEARTBEAT);
}

void vbd_qp_moved(struct vbd_qp *qp, int state)
{
	int old_state = qp->told_state;

	qp->info.state = state;
	qp->told_state = state;
	qp->info.read_ns = 0;
	qp->ops->moved(qp, old_state);
}

enum vbd_status vbd_qp_modify(
	struct vbd_qp *qp, struct ibv_qp_attr *attr, int mask, struct vbd_error *err)
{
	int state = (int)attr->qp_state;
	enum vbd_status status = vbd_pv_modify_qp(qp->ibv_qp, attr, mask, err);

	if (!status)
		vbd_qp_moved(qp, state);
	return status;
}

/* The drain, in the order of docs/internals/lifetimes.md. */

bool vbd_qp_is_drained(const struct vbd_qp *qp)
{
	const struct vbd_channel *channel = qp->channel;

	return !channel || !channel->attached ||
	       (channel->drained && channel->purge_sent == channel->purged);
}

void vbd_qp_collect_flushes(struct vbd_qp *qp)
{
	struct vbd_channel *channel = qp->channel;

	channel->drain_sent = true;
	vbd_worker_send(channel->worker, &channel->drain_command, VBD_WORKER_DRAIN);
}

/* The worker may post on the QP until it has processed the drain command: only then can the QP be
 * destroyed. */
void vbd_qp_force(struct vbd_qp *qp)
{
	struct vbd_channel *channel = qp->channel;

	if (channel->purge_sent)
		return;
	channel->purge_sent = true;
	vbd_worker_send(channel->worker, &channel->purge_command, VBD_WORKER_QUIESCE);
}

void vbd_qp_stop(struct vbd_qp *qp)
{
	vbd_qp_collect_flushes(qp);
	qp->channel->stopped = true;
}

bool vbd_qp_has_sends(const struct vbd_qp *qp)
{
	/* Over Soft-RoCE the peer may have refused a request before ibv_post_send(3) returns. */
	bool rings = qp->channel && vbd_counter_get(&qp->channel->ringing);
	uint64_t posted = 0, back = 0;

	for (enum vbd_op op = 0; qp->channel && op < VBD_OP_COUNT; op++) {
		const struct vbd_op_counters *counters = &qp->channel->ops[op];

		if (op == VBD_OP_RECV)
			continue;
		back += vbd_counter_get(&counters->completed) + vbd_counter_get(&counters->errors) +
			vbd_counter_get(&counters->flushed);
		posted += vbd_counter_get(&counters->posted);
	}
	return rings || posted > back;
}

void vbd_qp_drain(struct vbd_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	struct vbd_error error = {0};

	if (qp->channel->drain_sent && !qp->channel->stopped)
		return;
	if (!qp->channel->stopped)
		vbd_qp_collect_flushes(qp);
	qp->channel->stopped = false;
	if (vbd_qp_modify(qp, &attr, IBV_QP_STATE, &error) != VBD_OK)
		vbd_qp_force(qp);
}

static struct ibv_qp *take_ibv_qp(struct vbd_qp *qp)
{
	struct ibv_qp *ibv_qp = qp->ibv_qp;

	if (!ibv_qp)
		return NULL;
	qp->ops->before_destroy(qp);
	vbd_list_remove(&qp->channel->fabric_link);
	qp->ibv_qp = NULL;
	return ibv_qp;
}

static void on_qp_destroyed(struct vbd_call *call)
{
	struct vbd_qp_remains *remains = remains_of_call(call);
	struct vbd_channel *channel = remains->qp->channel;

	remains->ibv_qp = NULL;
	vbd_worker_send(channel->worker, &channel->purge_command, VBD_WORKER_PURGE);
}

static void on_channel_quiesced(void *owner)
{
	struct vbd_qp *qp = owner;

	qp->remains->ibv_qp = take_ibv_qp(qp);
	qp->remains->call.work = destroy_qp_work;
	qp->remains->call.done = on_qp_destroyed;
	vbd_call_start(qp->fabric->calls, &qp->remains->call, VBD_LANE_END);
}

static void on_command_back(void *owner)
{
	struct vbd_qp *qp = owner;
	struct vbd_channel *channel = qp->channel;

	/* The last receive of an SRQ is not announced on some devices: rxe (6.1) never raises
	 * LAST_WQE_REACHED. After the QP is destroyed only the completions in the CQ are left. */
	if (channel->drained && qp->srq && !channel->purge_sent) {
		channel->purge_sent = true;
		on_channel_quiesced(qp);
		return;
	}
	if (channel->drained && vbd_qp_is_drained(qp))
		qp->ops->on_drained(qp);
}

/* Other notifications of the channel. */

static void on_channel_error(void *owner)
{
	struct vbd_qp *qp = owner;
	const struct vbd_channel *channel = qp->channel;
	static const struct vbd_error unknown = {
		.status = VBD_E_NO_MEMORY,
		.text = "a work request failed, and there was no memory to say how",
	};
	const struct vbd_error *error = channel->first_error ? channel->first_error : &unknown;
	const struct vbd_cause cause = {
		.error = error,
		.op = channel->first_error_op == VBD_OP_COUNT ? -1 : (int)channel->first_error_op,
		.transfer = channel->first_error_transfer,
	};

	qp->ops->on_error(
		qp, &cause, error->source == VBD_SOURCE_WC && error->kind == IBV_WC_WR_FLUSH_ERR);
}

static void on_channel_message(void *owner, struct vbd_recv_slot *slot)
{
	struct vbd_qp *qp = owner;

	slot->held = true;
	if (qp->reader_ops)
		qp->reader_ops->on_message(qp->reader, slot);
}

static void on_async_event(void *owner, int type)
{
	struct vbd_qp *qp = owner;

	qp->ops->on_async(qp, type);
}

static void check_qp(void *owner)
{
	struct vbd_qp *qp = owner;

	if (qp->ops->check)
		qp->ops->check(qp);
}

const struct vbd_channel_owner_ops vbd_qp_channel_ops = {
	.on_error = on_channel_error,
	.on_quiesced = on_channel_quiesced,
	.on_command_back = on_command_back,
	.on_message = on_channel_message,
	.on_async = on_async_event,
	.check = check_qp,
};

void vbd_qp_release_message(struct vbd_qp *qp, struct vbd_recv_slot *slot)
{
	/* During the drain the receive would only be flushed, and its command could outlive the
	 * channel. */
	slot->held = false;
	if (!slot->srq && (!qp->channel->attached || qp->channel->drain_sent))
		return;
	vbd_worker_send(qp->channel->worker, &slot->item, VBD_WORKER_RELEASE_RECV);
}

/* Release. */

static void detach_channel(struct vbd_qp *qp)
{
	struct vbd_channel *channel = qp->channel;

	if (!channel)
		return;
	qp->ended_ops = channel->ops;
	channel->ops = NULL;
	qp->ended_heartbeat = channel->heartbeat;
	channel->heartbeat = NULL;
	if (qp->reader_ops)
		qp->reader_ops->before_memory_freed(qp->reader);
	if (qp->srq)
		vbd_srq_release_held(qp->srq, channel);
	qp->channel = NULL;
}

void vbd_qp_release(struct vbd_qp *qp, struct rdma_cm_id *cm_id)
{
	struct vbd_qp_remains *remains = qp->remains;

	if (!remains) {
		vbd_calls_end_id(qp->fabric->calls, qp->account, cm_id);
		return;
	}
	remains->ibv_qp = take_ibv_qp(qp);
	remains->cm_id = cm_id;
	remains->account = *qp->account;
	*qp->account = (struct vbd_account){0};
	remains->channel = qp->channel;
	remains->reserved_cqe = qp->reserved_cqe;
	remains->pd = qp->pd;
	remains->srq = qp->srq;
	detach_channel(qp);
	qp->remains = NULL;
	qp->device = NULL;
	qp->pd = NULL;
	qp->srq = NULL;
	free_remains(remains);
}

void vbd_qp_renew(struct vbd_qp *qp)
{
	vbd_qp_fini(qp);
	qp->ended_ops = NULL;
	qp->ended_heartbeat = NULL;
	qp->info = (struct vbd_qp_info){0};
	qp->told_state = IBV_QPS_RESET;
	qp->cq_id = 0;
}

const struct vbd_op_counters *vbd_qp_op_counters(const struct vbd_qp *qp, enum vbd_op op)
{
	static const struct vbd_op_counters none;
	const struct vbd_op_counters *ops = qp->channel ? qp->channel->ops : qp->ended_ops;

	return ops ? &ops[op] : &none;
}

/* Devices answer a write to a queue pair that allows none by one of these. */
bool vbd_qp_refuses_heartbeat(const struct vbd_qp *qp)
{
	const struct vbd_error *error = &qp->first_error.error;

	return vbd_qp_heartbeat(qp) && error->source == VBD_SOURCE_WC && qp->first_error.op < 0 &&
	       (error->kind == IBV_WC_REM_INV_REQ_ERR || error->kind == IBV_WC_REM_ACCESS_ERR ||
		       error->kind == IBV_WC_REM_OP_ERR);
}

const struct vbd_heartbeat_counters *vbd_qp_heartbeat(const struct vbd_qp *qp)
{
	const struct vbd_heartbeat *heartbeat =
		qp->channel ? qp->channel->heartbeat : qp->ended_heartbeat;

	return heartbeat ? &heartbeat->counters : NULL;
}

void vbd_qp_remember(struct vbd_qp *qp, enum vbd_reason reason, const struct vbd_cause *cause)
{
	if (qp->reason == VBD_REASON_NONE)
		qp->reason = reason;
	if (!cause->error)
		return;
	if (qp->first_error.at_ns) {
		qp->errors_after_first++;
		return;
	}
	qp->first_error = (struct vbd_first_error){
		.at_ns = vbd_clock_mono_ns(),
		.error = *cause->error,
		.op = cause->op,
		.transfer = cause->transfer,
	};
}

void vbd_qp_end_error(const struct vbd_qp *qp, struct vbd_error *ret_err)
{
	char owner[VBD_QP_OWNER_BYTES];

	*ret_err = qp->first_error.error;
	if (!qp->first_error.at_ns)
		(void)vbd_error_set(ret_err, vbd_reason_status(qp->reason), "%s ended: %s",
			vbd_qp_owner_text(qp, owner), vbd_reason_text(qp->reason));
	/* The hint of the status that the failed call has says more than that of resource_error. */
	if (qp->reason == VBD_REASON_RESOURCE_ERROR && !ret_err->hint)
		ret_err->hint = vbd_status_hint(ret_err->status);
	ret_err->status = vbd_reason_status(qp->reason);
}

bool vbd_qp_fails_by(int type)
{
	return type == IBV_EVENT_QP_FATAL || type == IBV_EVENT_QP_REQ_ERR ||
	       type == IBV_EVENT_QP_ACCESS_ERR || type == IBV_EVENT_CQ_ERR;
}

char *vbd_qp_owner_text(const struct vbd_qp *qp, char text[VBD_QP_OWNER_BYTES])
{
	(void)snprintf(text, VBD_QP_OWNER_BYTES, "%s %llu", qp->ops->owner,
		(unsigned long long)qp->owner_id);
	return text;
}

/* Parameters of connections: rdma/qp/qp_params.h. */

struct vbd_conn_params vbd_conn_params_default(void)
{
	return (struct vbd_conn_params){
		.qp = {.transport = VBD_TRANSPORT_RC, .service = VBD_SERVICE_INBOX},
#define DEFAULT(kind, name, member, min, max, initial) .member = (initial),
		VBD_QP_PARAM_MAP(DEFAULT, DEFAULT)
#undef DEFAULT
	};
}

/* Over UC nothing acknowledges a write, and over iWARP only TCP does: an echo would need the peer's
 * program. */
static bool may_have_heartbeat(
	const struct vbd_conn_params *params, const struct vbd_device *device)
{
	return params->qp.transport == VBD_TRANSPORT_RC && !vbd_device_is_iwarp(device);
}

static enum vbd_status check_heartbeat(const struct vbd_conn_params *params,
	const struct vbd_device *device, struct vbd_error *err)
{
	if (!params->qp.heartbeat_ms || params->qp.heartbeat_if_able ||
		may_have_heartbeat(params, device))
		return VBD_OK;
	return vbd_error_param(err, VBD_E_NOT_SUPPORTED, "heartbeat_ms",
		"over %s the peer's device acknowledges no write, so heartbeats are not possible; "
		"use "
		"a probe of kind echo or rping",
		vbd_device_is_iwarp(device) ? "iWARP" : "uc");
}

void vbd_conn_params_fit(struct vbd_conn_params *params, const struct vbd_device *device)
{
	if (params->qp.heartbeat_if_able && !may_have_heartbeat(params, device))
		params->qp.heartbeat_ms = 0;
}

enum vbd_status vbd_conn_params_check(const struct vbd_conn_params *params,
	const struct vbd_device *device, struct vbd_error *err)
{
	if (params->path_mtu_bytes && vbd_device_require(device, VBD_CAP_PATH_MTU, err) != VBD_OK)
		return VBD_E_NOT_SUPPORTED;
	return check_heartbeat(params, device, err);
}

uint8_t vbd_conn_lowered(uint8_t wanted, uint32_t limit, uint8_t peer)
{
	if (wanted > limit)
		wanted = (uint8_t)limit;
	return wanted < peer ? wanted : peer;
}
