/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/datagrams/endpoints.h"

#include "base/addr.h"
#include "daemon/core/devices.h"
#include "daemon/core/quota.h"

VBD_OBJECT_RECORD(record_of, struct vbd_endpoint_record)

/* Callbacks of the RDMA side. */

static void on_set_deadline(struct vbd_endpoint *endpoint, uint64_t timeout_ms, void *arg)
{
	struct vbd_endpoint_record *record = arg;

	(void)endpoint;
	if (timeout_ms)
		vbd_timer_set(record->object.deadline, timeout_ms);
	else
		vbd_timer_clear(record->object.deadline);
}

/* End the groups before the QP: no send to them is left, and an attached QP can't be destroyed. */
static void on_before_qp_destroy(struct vbd_endpoint *endpoint, void *arg)
{
	struct vbd_endpoint_record *record = arg;

	(void)endpoint;
	vbd_groups_endpoint_ended(record);
	vbd_peers_endpoint_ended(record);
}

static void on_sidr_request(struct vbd_endpoint *endpoint, const struct sockaddr *peer,
	const struct vbd_error *refused, void *arg)
{
	struct vbd_endpoint_record *record = arg;
	const struct sockaddr_storage *from = (const struct sockaddr_storage *)peer;
	char text[VBD_ADDR_TEXT_BYTES];

	(void)endpoint;
	vbd_object_log(&record->object, VBD_EVENT_UD_ENDPOINT_RESOLVED,
		refused ? VBD_SEVERITY_WARNING : VBD_SEVERITY_INFO,
		refused ? refused->status : VBD_OK, "%s requested the QP number%s%s",
		vbd_addr_format(from, text), refused ? ": " : "", refused ? refused->text : "");
}

static void end_record(struct vbd_endpoint_record *record)
{
	struct vbd_daemon *daemon = record->object.registry->daemon;
	const struct vbd_endpoint *endpoint = record->endpoint;
	bool failed = endpoint->state == VBD_ENDPOINT_FAILED;

	vbd_object_end(&record->object);
	daemon->ud_endpoints_ended[endpoint->qp.reason]++;
	daemon->qp_receives_bytes -= record->receive_bytes;
	vbd_object_unpin(&record->object);
	vbd_object_log(&record->object, VBD_EVENT_UD_ENDPOINT_ENDED,
		failed ? VBD_SEVERITY_WARNING : VBD_SEVERITY_INFO,
		vbd_reason_status(endpoint->qp.reason), "%s: %s%s%s",
		vbd_endpoint_state_name(endpoint->state), vbd_reason_name(endpoint->qp.reason),
		endpoint->qp.first_error.at_ns ? ": " : "",
		endpoint->qp.first_error.at_ns ? endpoint->qp.first_error.error.text : "");
}

static void on_state_changed(struct vbd_endpoint *endpoint, void *arg)
{
	struct vbd_endpoint_record *record = arg;

	if (vbd_endpoint_state_ended(endpoint->state))
		end_record(record);
	else if (endpoint->state == VBD_ENDPOINT_READY)
		vbd_object_log(&record->object, VBD_EVENT_UD_ENDPOINT_STATE_CHANGED,
			VBD_SEVERITY_INFO, VBD_OK, "ready, qpn 0x%06x", endpoint->qp.info.lqpn);
	vbd_object_changed(&record->object);
}

static const struct vbd_endpoint_ops endpoint_ops = {
	.state_changed = on_state_changed,
	.set_deadline = on_set_deadline,
	.before_qp_goes = on_before_qp_destroy,
	.asked = on_sidr_request,
};

static void on_deadline(void *arg)
{
	struct vbd_endpoint_record *record = arg;

	vbd_endpoint_deadline(record->endpoint);
}

/* Creation. */

/* Create a record with its timer in the registry, without the RDMA side. */
static enum vbd_status make_record(struct vbd_daemon *daemon, const struct vbd_endpoint_spec *spec,
	struct vbd_endpoint_record **ret_record, struct vbd_error *err)
{
	struct vbd_endpoint_record *record;
	struct vbd_object *object;
	uint64_t receive_bytes = (uint64_t)spec->params.qp.rq_depth *
				 (spec->params.qp.recv_size_bytes + VBD_GRH_BYTES);
	enum vbd_status status =
		vbd_receives_check(daemon, spec->origin.caller, receive_bytes, "/qp", err);

	if (!status)
		status = vbd_object_create(
			daemon->ud_endpoints, &spec->origin, spec->name, &object, err);
	if (status)
		return status;
	record = record_of(object);
	record->receive_bytes = receive_bytes;
	vbd_list_init(&record->peers);
	vbd_list_init(&record->groups);
	vbd_inbox_init(&record->inbox, object, VBD_EVENT_UD_ENDPOINT_MESSAGE_DROPPED);
	*ret_record = record;
	return VBD_OK;
}

/* The SIDR reply carries a fixed qkey, so an endpoint with an address can't have another one. */
static enum vbd_status check_spec(const struct vbd_endpoint_spec *spec,
	struct sockaddr_storage *ret_addr, struct vbd_error *err)
{
	enum vbd_status status;

	if (!spec->addr[0])
		return VBD_OK;
	status = vbd_addr_parse_own(spec->addr, spec->port, "/addr", ret_addr, err);
	if (status)
		return status;
	if (spec->params.qkey != VBD_CM_QKEY)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/qkey",
			"the CM answers every SIDR request with qkey 0x%08x", VBD_CM_QKEY);
	return VBD_OK;
}

static enum vbd_status find_device(struct vbd_daemon *daemon, const char *name,
	struct vbd_device **ret_device, struct vbd_error *err)
{
	struct vbd_error error = {0};

	*ret_device = NULL;
	if (!*name)
		return VBD_OK;
	*ret_device = vbd_device_find_ref(daemon, name, &error);
	if (*ret_device)
		return VBD_OK;
	return vbd_error_input(err, error.status, "/device", "%s", error.text);
}

static enum vbd_status open_endpoint(struct vbd_endpoint_record *record,
	const struct vbd_endpoint_spec *spec, const struct sockaddr_storage *addr,
	struct vbd_error *err)
{
	struct vbd_device *device;
	enum vbd_status status =
		find_device(record->object.registry->daemon, spec->device, &device, err);

	if (status)
		return status;
	return vbd_endpoint_open(record->object.registry->daemon->fabric, record->object.id, device,
		addr->ss_family ? (const struct sockaddr *)addr : NULL, &spec->params,
		&endpoint_ops, record, &record->endpoint, err);
}

static void log_created(struct vbd_endpoint_record *record)
{
	const struct vbd_endpoint *endpoint = record->endpoint;
	char text[VBD_ADDR_TEXT_BYTES];

	if (!endpoint->listen_id) {
		vbd_object_log(&record->object, VBD_EVENT_UD_ENDPOINT_CREATED, VBD_SEVERITY_INFO,
			VBD_OK, "on %s", endpoint->device.name);
		return;
	}
	vbd_object_log(&record->object, VBD_EVENT_UD_ENDPOINT_CREATED, VBD_SEVERITY_INFO, VBD_OK,
		"on %s, listens on %s port %u", endpoint->device.name,
		vbd_addr_format(&endpoint->addr, text), vbd_addr_port(&endpoint->addr));
}

enum vbd_status vbd_endpoint_create(struct vbd_daemon *daemon, const struct vbd_endpoint_spec *spec,
	struct vbd_endpoint_record **ret_record, struct vbd_error *err)
{
	struct sockaddr_storage addr = {0};
	struct vbd_endpoint_record *record;
	enum vbd_status status;

	status = vbd_daemon_accepts_work(daemon, err);
	if (!status)
		status = check_spec(spec, &addr, err);
	if (!status)
		status = make_record(daemon, spec, &record, err);
	if (status)
		return status;
	status = open_endpoint(record, spec, &addr, err);
	if (status) {
		vbd_object_free(&record->object);
		return status;
	}
	daemon->qp_receives_bytes += record->receive_bytes;
	vbd_object_pin(&record->object, record->receive_bytes);
	vbd_inbox_attach(&record->inbox, &record->endpoint->qp);
	log_created(record);
	*ret_record = record;
	return VBD_OK;
}

/* Commands. */

void vbd_endpoints_device_removing(struct vbd_daemon *daemon, const struct vbd_device *device)
{
	vbd_registry_for_each_of (struct vbd_endpoint_record, record, daemon->ud_endpoints) {
		if (record->endpoint->qp.device == device)
			vbd_endpoint_device_removed(record->endpoint);
	}
}

void vbd_endpoints_close_all(struct vbd_daemon *daemon)
{
	vbd_registry_for_each_of (struct vbd_endpoint_record, record, daemon->ud_endpoints)
		vbd_endpoint_close(record->endpoint, VBD_REASON_STOPPING);
}

static void close_endpoint(struct vbd_object *object)
{
	vbd_endpoint_close(record_of(object)->endpoint, VBD_REASON_LOCAL_CLOSE);
}

static void free_record(struct vbd_object *object)
{
	struct vbd_endpoint_record *record = record_of(object);

	vbd_groups_destroy_of(record);
	vbd_peers_destroy_of(record);
	vbd_inbox_clear(&record->inbox);
	vbd_endpoint_destroy(record->endpoint);
}

VBD_OBJECT_STATE(
	get_state_name, struct vbd_endpoint_record, endpoint->state, vbd_endpoint_state_name)

static void get_problem(const struct vbd_object *object, struct vbd_error *ret_err)
{
	const struct vbd_qp *qp = &((const struct vbd_endpoint_record *)object)->endpoint->qp;

	/* A call that failed while it opened says more than resource_error. */
	if (qp->reason == VBD_REASON_RESOURCE_ERROR)
		*ret_err = qp->first_error.error;
	else
		vbd_qp_end_error(qp, ret_err);
}

VBD_OBJECT_DEVICE(get_device_id, struct vbd_endpoint_record, endpoint->device)

/* Deleting an endpoint closes it; its peers and groups are freed with it. */
const struct vbd_kind vbd_ud_endpoint_kind = {
	.size_bytes = sizeof(struct vbd_endpoint_record),
	.on_deadline = on_deadline,
	.cancel = close_endpoint,
	.state = get_state_name,
	.device = get_device_id,
	.problem = get_problem,
	.free = free_record,
};
