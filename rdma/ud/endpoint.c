/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/ud/endpoint.h"

#include "base/clock.h"
#include "base/log.h"
#include "rdma/device/source.h"
#include "rdma/provider/provider.h"

#include <netinet/in.h>

/* SIDR requests that may wait in the kernel. */
#define BACKLOG 128

/* Bind a new CM id to addr. */
static enum vbd_status bind_new_id(struct vbd_endpoint *endpoint, const struct sockaddr *addr,
	struct vbd_device **device, struct vbd_error *err)
{
	struct vbd_fabric *fabric = endpoint->fabric;
	struct vbd_device *bound;
	enum vbd_status status = vbd_fabric_check_cm(fabric, err);
	const char *name;

	if (!status)
		status = vbd_pv_create_udp_id(&endpoint->account, fabric->cm_channel,
			&endpoint->tag, &endpoint->listen_id, err);
	if (!status)
		status = vbd_pv_bind_addr(endpoint->listen_id, addr, err);
	if (status)
		return status;
	name = vbd_device_of_id(&endpoint->fabric->devices, endpoint->listen_id);
	bound = name ? vbd_fabric_device(fabric, name) : NULL;
	if (!bound)
		return VBD_OK;
	if (*device && *device != bound)
		return vbd_error_param(err, VBD_E_BAD_VALUE, "device",
			"the address belongs to device %s, not to %s", bound->name,
			(*device)->name);
	*device = bound;
	return VBD_OK;
}

/* Listen on the CM id, if there is one, and note its address. */
static enum vbd_status start_listening(struct vbd_endpoint *endpoint, struct vbd_error *err)
{
	const struct sockaddr *bound;
	enum vbd_status status;

	if (!endpoint->listen_id)
		return VBD_OK;
	status = vbd_pv_listen(endpoint->listen_id, BACKLOG, err);
	if (status)
		return status;
	bound = vbd_pv_id_local(endpoint->listen_id);
	memcpy(&endpoint->addr, bound, vbd_sockaddr_bytes(bound));
	return VBD_OK;
}

/* Destroy the CM id. */
static void stop_listening(struct vbd_endpoint *endpoint)
{
	vbd_calls_end_id(endpoint->fabric->calls, &endpoint->account, endpoint->listen_id);
	endpoint->listen_id = NULL;
}

static enum vbd_status check_answerable(const struct vbd_endpoint *endpoint,
	const struct vbd_pv_cm_event *request, struct vbd_error *err)
{
	const char *name = vbd_device_of_id(&endpoint->fabric->devices, request->id);

	if (!endpoint->qp.ibv_qp)
		return vbd_error_set(err, VBD_E_WRONG_STATE, "the endpoint's QP is not ready yet");
	/* An endpoint that listens on the wildcard address gets requests of every device. */
	if (!name || strcmp(name, endpoint->device.name) != 0)
		return vbd_error_set(err, VBD_E_BAD_VALUE,
			"the request came by device %s, but the QP is on %s", name ? name : "?",
			endpoint->device.name);
	return VBD_OK;
}

static enum vbd_status answer_sidr_request(
	struct vbd_endpoint *endpoint, const struct vbd_pv_cm_event *request, struct vbd_error *err)
{
	const struct vbd_private_data *reply = &endpoint->params.reply;
	struct rdma_conn_param param = {
		.qp_num = endpoint->qp.info.lqpn,
		.private_data = reply->length_bytes ? reply->bytes : NULL,
		.private_data_len = reply->length_bytes,
	};

	return vbd_pv_accept(request->id, &param, err);
}

/* The reply is one datagram: if it is lost the peer repeats the request, which has a new id. */
static void on_sidr_request(struct vbd_endpoint *endpoint, const struct vbd_pv_cm_event *request)
{
	struct vbd_error refused = {0};
	struct vbd_error error = {0};

	endpoint->sidr_requests++;
	if (check_answerable(endpoint, request, &refused) == VBD_OK &&
		answer_sidr_request(endpoint, request, &refused) == VBD_OK) {
		endpoint->sidr_answered++;
	} else {
		endpoint->sidr_refused++;
		if (vbd_pv_reject(request->id, false, NULL, 0, &error) != VBD_OK)
			vbd_log(VBD_LOG_DEBUG, "endpoint", "%s", error.text);
	}
	endpoint->ops->asked(endpoint, vbd_pv_id_peer(request->id),
		refused.status ? &refused : NULL, endpoint->ops_arg);
	vbd_calls_end_id(endpoint->fabric->calls, NULL, request->id);
}

struct vbd_endpoint_params vbd_endpoint_params_default(void)
{
	struct vbd_endpoint_params params = {.qp = vbd_conn_params_default().qp,
		.qkey = VBD_CM_QKEY,
		.port_num = 1,
		.gid_index = -1};

	params.qp.transport = VBD_TRANSPORT_UD;
	params.qp.recv_size_bytes = VBD_UD_RECV_SIZE_BYTES;
	return params;
}

static void step_error(struct vbd_endpoint *endpoint, enum vbd_endpoint_event event,
	enum vbd_reason reason, const struct vbd_error *error);

static void drain_endpoint(struct vbd_endpoint *endpoint)
{
	stop_listening(endpoint);
	endpoint->ops->set_deadline(
		endpoint, endpoint->fabric->drain_timeout_ms, endpoint->ops_arg);
	vbd_qp_drain(&endpoint->qp);
}

static void finish_endpoint(struct vbd_endpoint *endpoint)
{
	stop_listening(endpoint);
	endpoint->ops->set_deadline(endpoint, 0, endpoint->ops_arg);
	vbd_qp_release(&endpoint->qp, NULL);
}

static void step_drained(struct vbd_endpoint *endpoint)
{
	enum vbd_reason reason = endpoint->qp.reason;

	step_error(endpoint,
		vbd_reason_clean(reason) ? VBD_ENDPOINT_EV_DRAINED_CLEAN
					 : VBD_ENDPOINT_EV_DRAINED_FAILED,
		reason, NULL);
}

static enum vbd_status perform_action(
	struct vbd_endpoint *endpoint, enum vbd_endpoint_action action, struct vbd_error *err)
{
	switch (action) {
	case VBD_ENDPOINT_DO_OPEN:
		return vbd_endpoint_qp_open(endpoint, err);
	case VBD_ENDPOINT_DO_STOP:
		stop_listening(endpoint);
		break;
	case VBD_ENDPOINT_DO_GO_ON:
		step_drained(endpoint);
		break;
	case VBD_ENDPOINT_DO_DRAIN:
		drain_endpoint(endpoint);
		break;
	case VBD_ENDPOINT_DO_FORCE:
		vbd_qp_force(&endpoint->qp);
		break;
	case VBD_ENDPOINT_DO_FINISH:
		finish_endpoint(endpoint);
		break;
	case VBD_ENDPOINT_DO_COUNT:
		endpoint->qp.errors_after_first++;
		break;
	case VBD_ENDPOINT_DO_IGNORE:
	case VBD_ENDPOINT_ACTION_COUNT:
		break;
	}
	return VBD_OK;
}

/* Look up the rule, set the state, act, notify; the new state's row undoes an action that fails. */
static void step_endpoint(struct vbd_endpoint *endpoint, enum vbd_endpoint_event event,
	enum vbd_reason reason, const struct vbd_cause *cause)
{
	const struct vbd_rule *rule = vbd_endpoint_rule(endpoint->state, event);
	enum vbd_endpoint_state old = endpoint->state;
	struct vbd_error error = {0};

	if (rule->next != old)
		vbd_qp_remember(&endpoint->qp, reason, cause);
	if (rule->next != old)
		vbd_log(VBD_LOG_DEBUG, "endpoint", "%llu %s -> %s (%s)",
			(unsigned long long)endpoint->id, vbd_endpoint_state_name(old),
			vbd_endpoint_state_name(rule->next), vbd_endpoint_event_name(event));
	endpoint->state = rule->next;
	if (rule->next != old && vbd_endpoint_state_ended(rule->next))
		endpoint->ended_ns = vbd_clock_mono_ns();
	if (perform_action(endpoint, rule->action, &error) != VBD_OK) {
		step_error(
			endpoint, VBD_ENDPOINT_EV_CALL_FAILED, VBD_REASON_RESOURCE_ERROR, &error);
		return;
	}
	/* If the action made a further step, that step has notified. */
	if (endpoint->state != old && endpoint->state == rule->next)
		endpoint->ops->state_changed(endpoint, endpoint->ops_arg);
}

static void step_error(struct vbd_endpoint *endpoint, enum vbd_endpoint_event event,
	enum vbd_reason reason, const struct vbd_error *error)
{
	const struct vbd_cause cause = {.error = error, .op = -1};

	step_endpoint(endpoint, event, reason, &cause);
}

/* The queue pair. */

static struct vbd_endpoint *endpoint_of_qp(struct vbd_qp *qp)
{
	return VBD_CONTAINER_OF(qp, struct vbd_endpoint, qp);
}

static void on_completion_error(struct vbd_qp *qp, const struct vbd_cause *cause, bool flushed)
{
	if (flushed)
		step_endpoint(
			endpoint_of_qp(qp), VBD_ENDPOINT_EV_QP_ERROR, VBD_REASON_QP_FATAL, cause);
	else
		step_endpoint(endpoint_of_qp(qp), VBD_ENDPOINT_EV_WC_ERROR,
			vbd_reason_of_status(cause->error->status), cause);
}

static void on_async_event(struct vbd_qp *qp, int type)
{
	struct vbd_error error = {.source = VBD_SOURCE_ASYNC, .kind = type};

	if (!vbd_qp_fails_by(type))
		return;
	(void)vbd_error_set(&error, VBD_E_QP_FATAL, "%s", vbd_async_event_text(type));
	step_error(endpoint_of_qp(qp), VBD_ENDPOINT_EV_QP_ERROR, VBD_REASON_QP_FATAL, &error);
}

static void on_qp_drained(struct vbd_qp *qp)
{
	step_drained(endpoint_of_qp(qp));
}

/* An endpoint has no timeline. */
static void on_qp_moved(struct vbd_qp *qp, int old_state)
{
	vbd_log(VBD_LOG_DEBUG, "endpoint", "%llu: QP %s -> %s", (unsigned long long)qp->owner_id,
		vbd_qp_state_name(old_state), vbd_qp_state_name(qp->info.state));
}

static void before_qp_destroyed(struct vbd_qp *qp)
{
	struct vbd_endpoint *endpoint = endpoint_of_qp(qp);

	endpoint->ops->before_qp_goes(endpoint, endpoint->ops_arg);
}

static enum vbd_status check_endpoint_ready(const struct vbd_qp *qp, struct vbd_error *err)
{
	const struct vbd_endpoint *endpoint = VBD_CONTAINER_OF(qp, struct vbd_endpoint, qp);

	if (endpoint->state == VBD_ENDPOINT_READY)
		return VBD_OK;
	return vbd_error_param(err, VBD_E_WRONG_STATE, "endpoint",
		"endpoint %llu is %s; only a ready endpoint can be used",
		(unsigned long long)endpoint->id, vbd_endpoint_state_name(endpoint->state));
}

static void end_endpoint(struct vbd_qp *qp, const struct vbd_error *why, uint64_t transfer)
{
	const struct vbd_cause cause = {.error = why, .op = -1, .transfer = transfer};

	step_endpoint(endpoint_of_qp(qp),
		why->status == VBD_E_CANCELLED ? VBD_ENDPOINT_EV_CMD_CLOSE
					       : VBD_ENDPOINT_EV_WC_ERROR,
		vbd_reason_of_status(why->status), &cause);
}

static const struct vbd_qp_ops qp_ops = {
	.owner = "endpoint",
	.check_usable = check_endpoint_ready,
	.end = end_endpoint,
	.on_error = on_completion_error,
	.on_async = on_async_event,
	.on_drained = on_qp_drained,
	.moved = on_qp_moved,
	.before_destroy = before_qp_destroyed,
};

/* Creation. */

static enum vbd_status choose_device(struct vbd_endpoint *endpoint, const struct sockaddr *addr,
	struct vbd_device **device, struct vbd_error *err)
{
	const struct vbd_qp_params *params = &endpoint->params.qp;
	enum vbd_status status = VBD_OK;

	if (addr) {
		memcpy(&endpoint->addr, addr, vbd_sockaddr_bytes(addr));
		status = bind_new_id(endpoint, addr, device, err);
	}
	if (status)
		return status;
	status = *device ? vbd_device_usable(*device, err)
			 : vbd_fabric_choose(endpoint->fabric, "", device, err);
	if (!status)
		status = vbd_device_require(*device, VBD_CAP_UD, err);
	if (!status)
		status = vbd_service_check(
			params->service, params->transport, params->recv_size_bytes, err);
	if (status)
		return status;
	endpoint->device = vbd_device_id_of(*device);
	return vbd_endpoint_choose(endpoint, *device, err);
}

/* Call thread. */
static void prepare_work(struct vbd_call *call)
{
	struct vbd_endpoint *endpoint = VBD_CONTAINER_OF(call, struct vbd_endpoint, call);

	(void)!vbd_channel_prepare(endpoint->qp.channel, &endpoint->call_error);
}

static void on_prepared(struct vbd_call *call)
{
	struct vbd_endpoint *endpoint = VBD_CONTAINER_OF(call, struct vbd_endpoint, call);
	struct vbd_error *error = &endpoint->call_error;

	if (error->status)
		step_error(endpoint, VBD_ENDPOINT_EV_CALL_FAILED, VBD_REASON_RESOURCE_ERROR, error);
	else
		step_error(endpoint, VBD_ENDPOINT_EV_PREPARED, VBD_REASON_NONE, NULL);
}

static struct vbd_endpoint *allocate_endpoint(struct vbd_fabric *fabric, uint64_t id,
	const struct vbd_endpoint_params *params, const struct vbd_endpoint_ops *ops, void *ops_arg)
{
	struct vbd_endpoint *endpoint = calloc(1, sizeof(*endpoint));

	if (!endpoint)
		return NULL;
	endpoint->tag.kind = VBD_CM_ENDPOINT;
	endpoint->id = id;
	endpoint->fabric = fabric;
	endpoint->params = *params;
	endpoint->params.qp.transport = VBD_TRANSPORT_UD;
	endpoint->ops = ops;
	endpoint->ops_arg = ops_arg;
	endpoint->created_ns = vbd_clock_mono_ns();
	endpoint->call = (struct vbd_call){.work = prepare_work, .done = on_prepared};
	vbd_qp_init(&endpoint->qp, fabric, &endpoint->account, id, &qp_ops);
	return endpoint;
}

enum vbd_status vbd_endpoint_open(struct vbd_fabric *fabric, uint64_t id, struct vbd_device *device,
	const struct sockaddr *addr, const struct vbd_endpoint_params *params,
	const struct vbd_endpoint_ops *ops, void *ops_arg, struct vbd_endpoint **ret_endpoint,
	struct vbd_error *err)
{
	struct vbd_endpoint *endpoint = allocate_endpoint(fabric, id, params, ops, ops_arg);
	enum vbd_status status;

	if (!endpoint)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for an endpoint");
	status = choose_device(endpoint, addr, &device, err);
	/* Listen first: a port in use is an error before any memory is registered. */
	if (!status)
		status = start_listening(endpoint, err);
	if (!status)
		status = vbd_qp_reserve(&endpoint->qp, device, &endpoint->params.qp, err);
	if (status) {
		stop_listening(endpoint);
		vbd_qp_release(&endpoint->qp, NULL);
		vbd_endpoint_destroy(endpoint);
		return status;
	}
	vbd_call_start(fabric->calls, &endpoint->call, VBD_LANE_MEMORY);
	*ret_endpoint = endpoint;
	return VBD_OK;
}

/* The source address, with port 0. False if there is none of the family of @towards. */
static bool choose_source_addr(const struct vbd_endpoint *endpoint, const struct sockaddr *towards,
	struct sockaddr_storage *ret_source)
{
	const struct sockaddr *own = (const struct sockaddr *)&endpoint->addr;

	if (!endpoint->addr.ss_family || vbd_sockaddr_is_any(own))
		return vbd_source_of_device(endpoint->qp.device, endpoint->fabric->interfaces,
			       towards, ret_source, NULL) == VBD_OK;
	*ret_source = endpoint->addr;
	/* sin6_port is at the same offset. */
	((struct sockaddr_in *)ret_source)->sin_port = 0;
	return own->sa_family == towards->sa_family;
}

enum vbd_status vbd_endpoint_resolve_addr(const struct vbd_endpoint *endpoint,
	struct vbd_account *account, struct vbd_cm_tag *tag, const struct sockaddr *dst,
	struct rdma_cm_id **ret_id, struct vbd_error *err)
{
	struct sockaddr_storage src;
	bool has_src = choose_source_addr(endpoint, dst, &src);
	enum vbd_status status = vbd_fabric_check_cm(endpoint->fabric, err);

	if (!status)
		status = vbd_pv_create_udp_id(
			account, endpoint->fabric->cm_channel, tag, ret_id, err);
	if (status)
		return status;
	return vbd_pv_resolve_addr(*ret_id, has_src ? (const struct sockaddr *)&src : NULL, dst,
		VBD_RESOLVE_TIMEOUT_MS, err);
}

enum vbd_status vbd_endpoint_check_device(const struct vbd_endpoint *endpoint,
	const struct rdma_cm_id *id, const char *object, struct vbd_error *err)
{
	const char *name = vbd_device_of_id(&endpoint->fabric->devices, id);

	if (name && strcmp(name, endpoint->device.name) == 0)
		return VBD_OK;
	return vbd_error_set(err, VBD_E_ADDR_ERROR,
		"the %s is reached by device %s, but the endpoint's QP is on %s", object,
		name ? name : "?", endpoint->device.name);
}

/* Commands. */

void vbd_endpoint_close(struct vbd_endpoint *endpoint, enum vbd_reason reason)
{
	step_error(endpoint,
		reason == VBD_REASON_STOPPING ? VBD_ENDPOINT_EV_SHUTDOWN
					      : VBD_ENDPOINT_EV_CMD_CLOSE,
		reason, NULL);
}

void vbd_endpoint_deadline(struct vbd_endpoint *endpoint)
{
	step_error(endpoint, VBD_ENDPOINT_EV_DEADLINE, VBD_REASON_TIMED_OUT, NULL);
}

void vbd_endpoint_device_removed(struct vbd_endpoint *endpoint)
{
	struct vbd_error error = {0};

	(void)vbd_error_set(
		&error, VBD_E_DEVICE_REMOVED, "device %s is being removed", endpoint->device.name);
	step_error(endpoint, VBD_ENDPOINT_EV_DEVICE_REMOVAL, VBD_REASON_DEVICE_REMOVED, &error);
}

void vbd_endpoint_destroy(struct vbd_endpoint *endpoint)
{
	if (!endpoint)
		return;
	vbd_qp_fini(&endpoint->qp);
	vbd_account_close(&endpoint->account);
	free(endpoint);
}

/* Notifications of the fabric. */

void vbd_endpoint_on_cm_event(struct vbd_endpoint *endpoint, const struct vbd_pv_cm_event *event)
{
	/* ADDR_CHANGE is a hint only: rdma_get_cm_event(3). */
	if (event->type == RDMA_CM_EVENT_CONNECT_REQUEST)
		on_sidr_request(endpoint, event);
	else if (event->type == RDMA_CM_EVENT_DEVICE_REMOVAL)
		/* The kernel waits until the id is destroyed. */
		vbd_endpoint_device_removed(endpoint);
	else
		vbd_log(VBD_LOG_DEBUG, "endpoint", "ignores %s",
			vbd_cm_event_name((int)event->type));
}
