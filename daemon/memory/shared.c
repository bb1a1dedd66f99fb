/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/memory/shared.h"

#include "daemon/connections/connections.h"
#include "daemon/connections/listeners.h"
#include "daemon/core/devices.h"
#include "daemon/datagrams/endpoints.h"
#include "daemon/memory/buffers.h"

/* No `free`: the fabric frees the PDs, CQs and SRQs, and a record owns nothing else. */
const struct vbd_kind vbd_pd_kind = {.size_bytes = sizeof(struct vbd_shared)};
const struct vbd_kind vbd_cq_kind = {.size_bytes = sizeof(struct vbd_shared)};
const struct vbd_kind vbd_srq_kind = {.size_bytes = sizeof(struct vbd_shared)};

static enum vbd_event_type creation_event_type(const struct vbd_registry *registry)
{
	if (registry == registry->daemon->pds)
		return VBD_EVENT_PD_CREATED;
	return registry == registry->daemon->cqs ? VBD_EVENT_CQ_CREATED : VBD_EVENT_SRQ_CREATED;
}

static const struct vbd_device *device_of(const struct vbd_shared *shared)
{
	const struct vbd_registry *registry = shared->object.registry;

	if (registry == registry->daemon->pds)
		return shared->pd->device;
	return registry == registry->daemon->cqs ? shared->cq->device : shared->srq->pd->device;
}

enum vbd_status vbd_shared_add(struct vbd_registry *registry, const struct vbd_origin *origin,
	uint64_t id, void *item, const char *name, struct vbd_shared **ret_shared,
	struct vbd_error *err)
{
	struct vbd_object *object;
	enum vbd_status status = vbd_object_adopt(registry, origin, id, name, &object, err);

	if (status)
		return status;
	*ret_shared = VBD_CONTAINER_OF(object, struct vbd_shared, object);
	(*ret_shared)->item = item;
	vbd_object_log(object, creation_event_type(registry), VBD_SEVERITY_INFO, VBD_OK, "on %s",
		device_of(*ret_shared)->name);
	return VBD_OK;
}

void vbd_shared_updated(struct vbd_shared *shared)
{
	const struct vbd_registry *registry = shared->object.registry;

	if (registry == registry->daemon->cqs)
		vbd_object_log(&shared->object, VBD_EVENT_CQ_UPDATED, VBD_SEVERITY_INFO, VBD_OK,
			"%u entries, moderation %u in %u us", shared->cq->capacity_cqe,
			shared->cq->moderation_count, shared->cq->moderation_period_us);
	else
		vbd_object_log(&shared->object, VBD_EVENT_SRQ_UPDATED, VBD_SEVERITY_INFO, VBD_OK,
			"limit %llu", (unsigned long long)vbd_counter_get(&shared->srq->limit));
	vbd_object_changed(&shared->object);
}

void vbd_shared_remove(struct vbd_registry *registry, uint64_t id)
{
	struct vbd_object *object = vbd_registry_find_id(registry, id);

	if (object)
		vbd_object_free(object);
}

enum vbd_status vbd_shared_may_add(const struct vbd_registry *registry,
	const struct vbd_caller *caller, const char *name, struct vbd_error *err)
{
	enum vbd_status status = vbd_daemon_accepts_work(registry->daemon, err);

	return status ? status : vbd_registry_check(registry, caller, name, err);
}

/* Users. */

static bool qp_names_object(const struct vbd_qp_params *qp, const struct vbd_object *object)
{
	const struct vbd_daemon *daemon = object->registry->daemon;

	if (object->registry == daemon->pds)
		return qp->pd_id == object->id;
	return (object->registry == daemon->cqs ? qp->cq_id : qp->srq_id) == object->id;
}

static void add_queue_pairs(const struct vbd_object *shared, struct vbd_users *users)
{
	const struct vbd_daemon *daemon = shared->registry->daemon;

	vbd_registry_for_each_of (struct vbd_listener, listener, daemon->listeners) {
		if (qp_names_object(&listener->params.qp, shared))
			vbd_users_add(users, &listener->object);
	}
	vbd_registry_for_each_of (struct vbd_connection, connection, daemon->connections) {
		if (!connection->object.ended &&
			qp_names_object(&connection->conn->params.qp, shared))
			vbd_users_add(users, &connection->object);
	}
	vbd_registry_for_each_of (struct vbd_endpoint_record, record, daemon->ud_endpoints) {
		if (!record->object.ended && qp_names_object(&record->endpoint->params.qp, shared))
			vbd_users_add(users, &record->object);
	}
}

void vbd_shared_users_of(const struct vbd_shared *shared, const struct vbd_caller *caller,
	struct vbd_users *ret_users)
{
	const struct vbd_daemon *daemon = shared->object.registry->daemon;

	*ret_users = (struct vbd_users){.caller = caller};
	add_queue_pairs(&shared->object, ret_users);
	vbd_registry_for_each_of (struct vbd_shared, other, daemon->srqs) {
		if (other->srq->pd == shared->item || other->srq->cq == shared->item)
			vbd_users_add(ret_users, &other->object);
	}
	if (shared->object.registry != daemon->pds)
		return;
	vbd_registry_for_each_of (struct vbd_buffer, buffer, daemon->buffers) {
		if (buffer->pd_id == shared->object.id &&
			(buffer->state == VBD_BUFFER_READY ||
				buffer->state == VBD_BUFFER_REGISTERING))
			vbd_users_add(ret_users, &buffer->object);
	}
}

bool vbd_shared_is_own(const struct vbd_object *object)
{
	const struct vbd_daemon *daemon = object->registry->daemon;
	const struct vbd_shared *shared = VBD_CONTAINER_OF(object, const struct vbd_shared, object);

	if (object->registry == daemon->pds)
		return shared->pd->is_default;
	return object->registry == daemon->cqs && !shared->cq->asked_for;
}

/* The record goes first: the fabric may free the object at once. */
static void delete_unused(struct vbd_shared *shared)
{
	const struct vbd_registry *registry = shared->object.registry;
	const struct vbd_daemon *daemon = registry->daemon;
	void *item = shared->item;

	vbd_object_free(&shared->object);
	if (registry == daemon->pds)
		vbd_pd_delete(item);
	else if (registry == daemon->cqs)
		vbd_fabric_delete_cq(daemon->fabric, item);
	else
		vbd_fabric_delete_srq(item);
}

enum vbd_status vbd_shared_delete(struct vbd_shared *shared, const struct vbd_caller *caller,
	struct vbd_users *ret_users, struct vbd_error *err)
{
	const char *singular = shared->object.registry->singular;
	const unsigned long long id = shared->object.id;

	vbd_shared_users_of(shared, caller, ret_users);
	if (vbd_shared_is_own(&shared->object))
		return vbd_error_set(err, VBD_E_WRONG_STATE,
			"%s %llu was created by verbsd itself and can't be deleted by a client",
			singular, id);
	if (ret_users->total)
		return vbd_error_set(err, VBD_E_IN_USE, "%s %llu has %zu user%s", singular, id,
			ret_users->total, ret_users->total == 1 ? "" : "s");
	delete_unused(shared);
	return VBD_OK;
}

/* Protection domains. */

enum vbd_status vbd_pd_request(struct vbd_daemon *daemon, const struct vbd_origin *origin,
	const char *name, const char *device_name, struct vbd_shared **ret_pd,
	struct vbd_error *err)
{
	enum vbd_status status = vbd_shared_may_add(daemon->pds, origin->caller, name, err);
	struct vbd_device *device;
	struct vbd_pd *pd;

	if (!status)
		status = vbd_device_choose(daemon, device_name, &device, err);
	if (!status)
		status = vbd_fabric_make_pd(daemon->fabric, device, &pd, err);
	if (status)
		return status;
	(void)snprintf(pd->name, sizeof(pd->name), "%s", name);
	status = vbd_shared_add(daemon->pds, origin, pd->id, pd, name, ret_pd, err);
	if (status)
		vbd_pd_delete(pd);
	return status;
}

/* Completion queues. */

enum vbd_status vbd_cq_request(struct vbd_daemon *daemon, const struct vbd_cq_spec *spec,
	struct vbd_shared **ret_cq, struct vbd_error *err)
{
	enum vbd_status status =
		vbd_shared_may_add(daemon->cqs, spec->origin.caller, spec->name, err);
	struct vbd_device *device;
	struct vbd_cq *cq;

	if (!status)
		status = vbd_device_choose(daemon, spec->device_name, &device, err);
	if (!status)
		status = vbd_fabric_check_cq(device, spec->cqe, &spec->moderation, err);
	if (!status)
		status = vbd_fabric_make_cq(daemon->fabric, device, spec->cqe, &cq, err);
	if (status)
		return status;
	status = vbd_fabric_moderate_cq(cq, &spec->moderation, err);
	if (!status)
		status = vbd_shared_add(
			daemon->cqs, &spec->origin, cq->id, cq, spec->name, ret_cq, err);
	if (status)
		vbd_fabric_delete_cq(daemon->fabric, cq);
	return status;
}

enum vbd_status vbd_cq_change(struct vbd_cq *cq, const uint32_t *cqe,
	const struct vbd_cq_moderation *moderation, struct vbd_error *err)
{
	enum vbd_status status = VBD_OK;

	/* In a smaller CQ the queue pairs that name no CQ may find no room: each would then get a
	 * CQ of its own. */
	if (cqe && !cq->asked_for && *cqe < cq->capacity_cqe)
		return vbd_error_input(err, VBD_E_WRONG_STATE, "/cqe",
			"cq %llu was created by verbsd itself with %u entries and can't be smaller "
			"than that",
			(unsigned long long)cq->id, cq->capacity_cqe);
	if (moderation)
		status = vbd_fabric_check_cq(cq->device, 0, moderation, err);
	if (!status && cqe)
		status = vbd_fabric_resize_cq(cq, *cqe, err);
	if (!status && moderation)
		status = vbd_fabric_moderate_cq(cq, moderation, err);
	return status;
}

/* One queue pair can't use objects of two devices or of two protection domains. */
enum vbd_status vbd_shared_check(const struct vbd_daemon *daemon,
	const struct vbd_conn_params *params, struct vbd_error *err)
{
	const struct vbd_srq *srq = vbd_fabric_srq(daemon->fabric, params->qp.srq_id);
	const struct vbd_cq *cq = vbd_fabric_cq(daemon->fabric, params->qp.cq_id);
	const struct vbd_pd *pd = vbd_fabric_pd(daemon->fabric, params->qp.pd_id);
	char one[40];

	if (!srq && pd && cq && pd->device != cq->device)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/qp/cq",
			"cq %llu belongs to %s, but the pd belongs to %s",
			(unsigned long long)cq->id, cq->device->name, pd->device->name);
	if (!srq)
		return VBD_OK;
	if (params->qp.service == VBD_SERVICE_NONE)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/qp/srq",
			"with the service none the client posts the receives, so srq is not "
			"allowed");
	if (cq && cq != srq->cq)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/qp/cq",
			"srq %llu uses cq %llu, so its queue pairs must use that cq too",
			(unsigned long long)srq->id, (unsigned long long)srq->cq->id);
	(void)snprintf(one, sizeof(one), "srq %llu", (unsigned long long)srq->id);
	return pd ? vbd_pd_require_same(srq->pd, one, pd, "the queue pair", err) : VBD_OK;
}
