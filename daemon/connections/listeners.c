/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/connections/listeners.h"

#include "base/addr.h"
#include "base/clock.h"
#include "base/enum.h"
#include "daemon/connections/connections.h"
#include "daemon/core/devices.h"
#include "rdma/data/channel.h"
#include "rdma/fabric/fabric.h"
#include "rdma/names/rejection.h"
#include "rdma/provider/faults.h"
#include "rdma/provider/provider.h"

VBD_ENUM_NAMES(vbd_accept_name, enum vbd_accept, VBD_ACCEPT_MAP)
VBD_ENUM_NAMES(vbd_listener_state_name, enum vbd_listener_state, VBD_LISTENER_STATE_MAP)

/* rdma_cm.ko may learn of a device later than ib_uverbs.ko, whose uevent makes verbsd try to listen
 * again, and no event tells that rdma_cm.ko has (ib_register_device(), drivers/infiniband/core). */
#define RETRY_MS 500

/* The first refusals of a listener get an event each, the others one summary in each period. */
#define REFUSALS_IN_FULL   10
#define REFUSALS_PERIOD_MS 10000

#define REASON_ROW(symbol, name, ...) [symbol] = VBD_REJECTION_PREFIX name,

/* Is the rest of limits.connections reserved for connections that verbsd opens itself? */
static bool is_accept_limit_reached(const struct vbd_daemon *daemon)
{
	const struct vbd_config_limits *limits = &daemon->config->limits;
	uint64_t most = limits->connections / 2;
	uint64_t kept = limits->connections_reserved;

	return daemon->connections_accepted >= limits->connections - (kept < most ? kept : most);
}

static enum vbd_connect_refusal check_request(
	struct vbd_listener *listener, const struct vbd_pv_cm_event *request, struct vbd_error *err)
{
	enum vbd_connect_refusal refusal;

	if (vbd_daemon_accepts_work(listener->object.registry->daemon, NULL) != VBD_OK)
		return VBD_CONNECT_REFUSAL_DRAINING;
	if (listener->accept == VBD_ACCEPT_REJECT)
		return VBD_CONNECT_REFUSAL_POLICY;
	refusal = vbd_gate_check(&listener->gate, vbd_pv_id_peer(request->id),
		vbd_pv_id_peer_gid(request->id), vbd_clock_mono_ns());
	if (refusal == VBD_CONNECT_REFUSAL_NONE &&
		vbd_fault_take(VBD_FAULT_REFUSE_ACCEPTS, 0, &listener->object, NULL))
		return VBD_CONNECT_REFUSAL_FAULT;
	if (refusal == VBD_CONNECT_REFUSAL_NONE &&
		is_accept_limit_reached(listener->object.registry->daemon))
		return VBD_CONNECT_REFUSAL_RESERVED;
	if (refusal == VBD_CONNECT_REFUSAL_NONE &&
		vbd_cm_request_check(listener->object.registry->daemon->fabric, request,
			&listener->params, err) != VBD_OK)
		return VBD_CONNECT_REFUSAL_PATH_MTU;
	return refusal;
}

static void log_refusal(struct vbd_listener *listener, const struct vbd_pv_cm_event *request,
	enum vbd_connect_refusal refusal, const struct vbd_error *err)
{
	const struct sockaddr *peer = vbd_pv_id_peer(request->id);
	struct sockaddr_storage addr = {0};
	char text[VBD_ADDR_TEXT_BYTES];

	if (!vbd_ration_take(&listener->refusals))
		return;
	memcpy(&addr, peer, vbd_sockaddr_bytes(peer));
	vbd_object_log(&listener->object, VBD_EVENT_SECURITY_CONNECT_REFUSED, VBD_SEVERITY_WARNING,
		err->status, "a connect request from %s: %s: %s", vbd_addr_format(&addr, text),
		vbd_connect_refusal_name(refusal), err->text);
}

static void on_refusals_summed(void *arg, uint64_t count)
{
	struct vbd_listener *listener = arg;

	vbd_object_log(&listener->object, VBD_EVENT_SECURITY_CONNECT_REFUSED, VBD_SEVERITY_WARNING,
		VBD_E_LIMIT_REACHED, "%llu more connect requests within %u s",
		(unsigned long long)count, REFUSALS_PERIOD_MS / 1000);
	vbd_object_counted(&listener->object);
}

static void count_refusal(struct vbd_listener *listener, const struct vbd_pv_cm_event *request,
	enum vbd_connect_refusal refusal, const struct vbd_error *err)
{
	listener->rejected++;
	listener->refused[refusal]++;
	listener->object.registry->daemon->connects_refused[refusal]++;
	/* No event about a refusal that a client asked for: the policy, the drain, a fault. */
	if (refusal != VBD_CONNECT_REFUSAL_POLICY && refusal != VBD_CONNECT_REFUSAL_DRAINING &&
		refusal != VBD_CONNECT_REFUSAL_FAULT)
		log_refusal(listener, request, refusal, err);
}

static bool on_connect(struct vbd_cm_listener *cm, const struct vbd_pv_cm_event *request, void *arg,
	const char **ret_reason)
{
	static const char *const reasons[VBD_CONNECT_REFUSAL_COUNT] = {
		VBD_CONNECT_REFUSAL_MAP(REASON_ROW)};
	struct vbd_listener *listener = arg;
	struct vbd_error err = {0};
	enum vbd_connect_refusal refusal = check_request(listener, request, &err);

	(void)cm;
	listener->requests++;
	if (refusal != VBD_CONNECT_REFUSAL_NONE)
		(void)vbd_error_set(
			&err, VBD_E_LIMIT_REACHED, "%s", vbd_connect_refusal_text(refusal));
	else if (vbd_connection_from_request(listener, request, &err))
		return true;
	else
		refusal = err.status == VBD_E_QUOTA_EXCEEDED ? VBD_CONNECT_REFUSAL_QUOTA
							     : VBD_CONNECT_REFUSAL_ERROR;
	count_refusal(listener, request, refusal, &err);
	*ret_reason = reasons[refusal];
	return false;
}

static void set_lost(struct vbd_listener *listener, const char *why)
{
	if (listener->state == VBD_LISTENER_LOST)
		return;
	listener->state = VBD_LISTENER_LOST;
	vbd_timer_set(listener->retry, RETRY_MS);
	listener->error = (struct vbd_error){0};
	(void)vbd_error_set(&listener->error, VBD_E_DEVICE_REMOVED, "%s", why);
	vbd_object_log(&listener->object, VBD_EVENT_LISTENER_LOST, VBD_SEVERITY_WARNING,
		VBD_E_DEVICE_REMOVED, "%s", why);
	vbd_object_changed(&listener->object);
}

static void on_device_lost(struct vbd_cm_listener *cm, void *arg)
{
	(void)cm;
	set_lost(arg, "the listener's device was removed");
}

static const struct vbd_cm_listener_ops cm_ops = {.request = on_connect, .lost = on_device_lost};

static enum vbd_status open_cm_listener(struct vbd_listener *listener, struct vbd_error *err)
{
	struct vbd_error error = {0};
	char text[VBD_ADDR_TEXT_BYTES];

	if (vbd_cm_listener_open(&listener->cm, listener->object.registry->daemon->fabric,
		    (const struct sockaddr *)&listener->asked_addr, &listener->cm_params,
		    (int)listener->backlog, &cm_ops, listener, &error) == VBD_OK) {
		listener->addr = listener->cm.addr;
		vbd_addr_set_port(&listener->asked_addr, vbd_addr_port(&listener->addr));
		return VBD_OK;
	}
	if (err && err->status == VBD_OK)
		*err = (struct vbd_error){.source = error.source,
			.raw = error.raw,
			.call = error.call,
			.hint = error.hint,
			.param = error.param};
	return vbd_error_set(err, error.status, "%s port %u: %s",
		vbd_addr_format(&listener->addr, text), vbd_addr_port(&listener->addr), error.text);
}

VBD_OBJECT_RECORD(listener_of, struct vbd_listener)

static bool a_device_is_leaving(const struct vbd_fabric *fabric)
{
	vbd_list_for_each_of (struct vbd_device, device, link, &fabric->devices) {
		if (device->state == VBD_DEVICE_REMOVING)
			return true;
	}
	return false;
}

static void retry_listen(struct vbd_listener *listener)
{
	struct vbd_error error = {0};

	vbd_timer_set(listener->retry, RETRY_MS);
	if (open_cm_listener(listener, &error) != VBD_OK) {
		listener->error = error;
		return;
	}
	vbd_timer_clear(listener->retry);
	listener->state = VBD_LISTENER_LISTENING;
	listener->error = (struct vbd_error){0};
	vbd_object_log(&listener->object, VBD_EVENT_LISTENER_RESTORED, VBD_SEVERITY_NOTICE, VBD_OK,
		"listening again, on device %s", listener->cm.device.name);
	vbd_object_changed(&listener->object);
}

static void on_retry_timer(void *arg)
{
	struct vbd_listener *listener = arg;

	/* A bound CM id would keep the device from leaving. */
	if (a_device_is_leaving(listener->object.registry->daemon->fabric))
		vbd_timer_set(listener->retry, RETRY_MS);
	else
		retry_listen(listener);
}

static enum vbd_status make_listener(struct vbd_daemon *daemon,
	const struct vbd_listener_spec *spec, struct vbd_listener **ret_listener,
	struct vbd_error *err)
{
	struct vbd_listener *listener;
	struct vbd_object *object;
	enum vbd_status status =
		vbd_object_create(daemon->listeners, &spec->origin, spec->name, &object, err);

	if (status)
		return status;
	listener = listener_of(object);
	listener->refusals = (struct vbd_ration){.full = REFUSALS_IN_FULL,
		.period_ms = REFUSALS_PERIOD_MS,
		.summary = on_refusals_summed,
		.arg = listener};
	status = vbd_timer_create(daemon->loop, on_retry_timer, listener, &listener->retry, err);
	if (!status)
		status = vbd_ration_init(&listener->refusals, daemon->loop, err);
	if (status) {
		vbd_timer_destroy(listener->retry);
		vbd_object_free(object);
		return status;
	}
	listener->gate.rules = spec->gate;
	listener->backlog = spec->backlog;
	listener->accept = spec->accept;
	listener->accept_timeout_ms = spec->accept_timeout_ms;
	listener->params = spec->params;
	listener->cm_params = spec->cm;
	*ret_listener = listener;
	return VBD_OK;
}

static enum vbd_status check_addr(const struct vbd_listener_spec *spec,
	struct sockaddr_storage *ret_addr, struct vbd_error *err)
{
	enum vbd_status status = vbd_addr_parse_own(spec->addr, spec->port, "/addr", ret_addr, err);

	if (status)
		return status;
	if (spec->cm.v6_only != VBD_CHOICE_NONE && ret_addr->ss_family != AF_INET6)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/v6_only",
			"v6_only is for IPv6 addresses; %.80s is an IPv4 address", spec->addr);
	return VBD_OK;
}

/* Check the parameters of connections to come. @device_name is "" for a listener on any device. */
static enum vbd_status check_params(const struct vbd_daemon *daemon,
	const struct vbd_conn_params *params, const char *device_name,
	struct vbd_device **ret_device, struct vbd_error *err)
{
	enum vbd_status status = vbd_service_check(
		params->qp.service, params->qp.transport, params->qp.recv_size_bytes, err);

	*ret_device = NULL;
	if (!status && device_name[0])
		status = vbd_device_choose(daemon, device_name, ret_device, err);
	if (!status && *ret_device)
		status = vbd_conn_params_check(params, *ret_device, err);
	return status;
}

static enum vbd_status check_spec(const struct vbd_daemon *daemon,
	const struct vbd_listener_spec *spec, struct sockaddr_storage *ret_addr,
	struct vbd_error *err)
{
	struct vbd_device *device = NULL;
	enum vbd_status status = check_addr(spec, ret_addr, err);

	if (!status)
		status = check_params(daemon, &spec->params, spec->cm.device, &device, err);
	if (!status)
		status = vbd_private_data_check(&spec->cm.private_data, VBD_CM_MESSAGE_REPLY,
			device && vbd_device_is_iwarp(device), "/private_data/data", err);
	return status;
}

enum vbd_status vbd_listener_create(struct vbd_daemon *daemon, const struct vbd_listener_spec *spec,
	struct vbd_listener **ret_listener, struct vbd_error *err)
{
	struct vbd_listener *listener;
	struct sockaddr_storage addr;
	enum vbd_status status;
	char text[VBD_ADDR_TEXT_BYTES];

	status = vbd_daemon_accepts_work(daemon, err);
	if (!status)
		status = check_spec(daemon, spec, &addr, err);
	if (!status)
		status = make_listener(daemon, spec, &listener, err);
	if (status)
		return status;
	listener->asked_addr = addr;
	listener->addr = addr;
	status = open_cm_listener(listener, err);
	if (status) {
		vbd_timer_destroy(listener->retry);
		vbd_ration_fini(&listener->refusals);
		vbd_object_free(&listener->object);
		return status;
	}
	vbd_object_log(&listener->object, VBD_EVENT_LISTENER_CREATED, VBD_SEVERITY_INFO, VBD_OK,
		"listening on %s port %u, accept %s, service %s",
		vbd_addr_format(&listener->addr, text), vbd_addr_port(&listener->addr),
		vbd_accept_name(listener->accept), vbd_service_name(listener->params.qp.service));
	*ret_listener = listener;
	return VBD_OK;
}

struct vbd_listener_rules vbd_listener_rules(const struct vbd_listener *listener)
{
	return (struct vbd_listener_rules){
		.accept = listener->accept,
		.accept_timeout_ms = listener->accept_timeout_ms,
		.gate = listener->gate.rules,
		.params = listener->params,
	};
}

enum vbd_status vbd_listener_change(struct vbd_listener *listener,
	const struct vbd_listener_rules *rules, struct vbd_error *err)
{
	const struct vbd_gate_rules *gate = &rules->gate;
	struct vbd_device *device;

	if (check_params(listener->object.registry->daemon, &rules->params,
		    listener->cm_params.device, &device, err) != VBD_OK)
		return err->status;
	listener->params = rules->params;
	listener->accept = rules->accept;
	listener->accept_timeout_ms = rules->accept_timeout_ms;
	listener->gate.rules = *gate;
	vbd_object_log(&listener->object, VBD_EVENT_LISTENER_UPDATED, VBD_SEVERITY_INFO, VBD_OK,
		"accept %s, accept_timeout_ms %u, %u networks in allow, max_connections %u, "
		"max_per_peer %u, connects_per_s %u, service %s",
		vbd_accept_name(listener->accept), listener->accept_timeout_ms, gate->allow_count,
		gate->max_connections, gate->max_per_peer, gate->connects_per_s,
		vbd_service_name(listener->params.qp.service));
	vbd_object_changed(&listener->object);
	return VBD_OK;
}

void vbd_listener_delete(struct vbd_listener *listener)
{
	struct vbd_daemon *daemon = listener->object.registry->daemon;
	uint64_t id = listener->object.id;

	vbd_timer_destroy(listener->retry);
	vbd_cm_listener_close(&listener->cm);
	vbd_connections_listener_gone(daemon, id);
	vbd_ration_fini(&listener->refusals);
	vbd_object_log(&listener->object, VBD_EVENT_LISTENER_DELETED, VBD_SEVERITY_INFO, VBD_OK,
		"%llu requests, %llu accepted", (unsigned long long)listener->requests,
		(unsigned long long)listener->accepted);
	vbd_gate_fini(&listener->gate);
	vbd_object_unregister(&listener->object);
}

void vbd_listeners_device_removing(struct vbd_daemon *daemon, const char *device_name)
{
	vbd_registry_for_each_of (struct vbd_listener, listener, daemon->listeners) {
		if (strcmp(listener->cm.device.name, device_name) != 0)
			continue;
		vbd_cm_listener_close(&listener->cm);
		set_lost(listener, "the listener's device was removed");
	}
}

void vbd_listeners_device_added(struct vbd_daemon *daemon)
{
	vbd_registry_for_each_of (struct vbd_listener, listener, daemon->listeners) {
		if (listener->state == VBD_LISTENER_LOST)
			retry_listen(listener);
	}
}

void vbd_listeners_close_all(struct vbd_daemon *daemon)
{
	vbd_registry_for_each_of (struct vbd_listener, listener, daemon->listeners)
		vbd_listener_delete(listener);
}

VBD_OBJECT_STATE(get_state_name, struct vbd_listener, state, vbd_listener_state_name)
VBD_OBJECT_DEVICE(get_device_id, struct vbd_listener, cm.device)

const struct vbd_kind vbd_listener_kind = {
	.size_bytes = sizeof(struct vbd_listener),
	.state = get_state_name,
	.device = get_device_id,
};
