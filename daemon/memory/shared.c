/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/memory/shared.h"

#include "daemon/memory/buffers.h"
#include "daemon/connections/connections.h"
#include "daemon/datagrams/endpoints.h"
#include "daemon/core/devices.h"
#include "daemon/connections/listeners.h"
#include "daemon/core/receives.h"

#include <stdio.h>
#include <string.h>

/* What the three kinds have in common, so that one search serves all. */
struct kind {
	const char *singular, *plural;
	size_t link_offset, id_offset, name_offset;
	size_t limit_offset; /* in struct vbd_config_limits */
};

static const struct kind pds = {"protection domain", "pds", offsetof(struct vbd_pd, fabric_link),
	offsetof(struct vbd_pd, id), offsetof(struct vbd_pd, name),
	offsetof(struct vbd_config_limits, pds)};
static const struct kind cqs = {"completion queue", "cqs", offsetof(struct vbd_cq, link),
	offsetof(struct vbd_cq, id), offsetof(struct vbd_cq, name),
	offsetof(struct vbd_config_limits, cqs)};
static const struct kind srqs = {"shared receive queue", "srqs", offsetof(struct vbd_srq, link),
	offsetof(struct vbd_srq, id), offsetof(struct vbd_srq, name),
	offsetof(struct vbd_config_limits, srqs)};

static void *item_of(const struct kind *kind, struct vbd_link *link)
{
	return (char *)link - kind->link_offset;
}

static uint64_t id_of(const struct kind *kind, const void *item)
{
	uint64_t id;

	memcpy(&id, (const char *)item + kind->id_offset, sizeof(id));
	return id;
}

static uint64_t limit_of(const struct kind *kind, const struct vbd_daemon *daemon)
{
	uint64_t limit;

	memcpy(&limit, (const char *)&daemon->config->limits + kind->limit_offset, sizeof(limit));
	return limit;
}

static const char *name_of(const struct kind *kind, const void *item)
{
	return (const char *)item + kind->name_offset;
}

/* One that is on its way out is not there any more. */
static bool is_there(const struct kind *kind, const void *item)
{
	const struct vbd_cq *cq = item;

	if (kind == &pds)
		return ((const struct vbd_pd *)item)->ibv_pd;
	if (kind == &srqs)
		return !((const struct vbd_srq *)item)->removing;
	return !cq->removing && !cq->deleted;
}

static void *find_ref(const struct kind *kind, const struct vbd_link *list, const char *ref,
	struct vbd_error *err)
{
	uint64_t id = 0;
	bool by_id = vbd_ref_is_id(ref, &id);

	vbd_list_for_each (link, list) {
		void *item = item_of(kind, link);

		if (is_there(kind, item) &&
			(by_id ? id_of(kind, item) == id : strcmp(name_of(kind, item), ref) == 0))
			return item;
	}
	(void)vbd_error_set(err, VBD_E_NOT_FOUND, "there is no %s '%.64s'", kind->singular, ref);
	return NULL;
}

struct vbd_pd *vbd_pd_find_ref(struct vbd_daemon *daemon, const char *ref, struct vbd_error *err)
{
	return find_ref(&pds, &daemon->fabric->pds, ref, err);
}

struct vbd_cq *vbd_cq_find_ref(struct vbd_daemon *daemon, const char *ref, struct vbd_error *err)
{
	return find_ref(&cqs, &daemon->fabric->cqs, ref, err);
}

struct vbd_srq *vbd_srq_find_ref(struct vbd_daemon *daemon, const char *ref, struct vbd_error *err)
{
	return find_ref(&srqs, &daemon->fabric->srqs, ref, err);
}

/* May one more be made, with this name? */
static enum vbd_status check_new(const struct vbd_daemon *daemon, const struct kind *kind,
	const struct vbd_link *list, const char *name, struct vbd_error *err)
{
	enum vbd_status status = vbd_daemon_accepts_work(daemon, err);
	const uint64_t limit = limit_of(kind, daemon);
	const void *holder = NULL;
	uint64_t count = 0;

	if (status)
		return status;
	vbd_list_for_each (link, list) {
		const void *item = item_of(kind, link);

		count++;
		if (*name && is_there(kind, item) && strcmp(name_of(kind, item), name) == 0)
			holder = item;
	}
	if (holder) {
		if (err && err->status == VBD_OK)
			(void)snprintf(err->object, sizeof(err->object), "/v1/%s/%llu",
				kind->plural, (unsigned long long)id_of(kind, holder));
		return vbd_error_input(err, VBD_E_NAME_TAKEN, "/name", "%s %llu has the name '%s'",
			kind->singular, (unsigned long long)id_of(kind, holder), name);
	}
	if (count < limit)
		return VBD_OK;
	if (err && err->status == VBD_OK)
		err->limit = limit;
	return vbd_error_set(err, VBD_E_LIMIT_REACHED, "there are %llu %s, which is the limit",
		(unsigned long long)count, kind->plural);
}

/* Users. */

static void add_user(struct vbd_shared_users *users, const char *plural, uint64_t id)
{
	users->total++;
	if (users->shown == VBD_USERS_SHOWN_MAX)
		return;
	(void)snprintf(users->paths[users->shown++], VBD_PATH_BYTES, "/v1/%s/%llu", plural,
		(unsigned long long)id);
}

static uint64_t named_id(const struct vbd_conn_params *params, const struct kind *kind)
{
	if (kind == &pds)
		return params->qp.pd_id;
	return kind == &cqs ? params->qp.cq_id : params->qp.srq_id;
}

static void add_those_who_name(const struct vbd_daemon *daemon, const struct kind *kind,
	uint64_t id, struct vbd_shared_users *users)
{
	vbd_registry_for_each (object, daemon->listeners) {
		const struct vbd_listener *listener =
			VBD_CONTAINER_OF(object, struct vbd_listener, object);

		if (named_id(&listener->params, kind) == id)
			add_user(users, "listeners", object->id);
	}
	vbd_registry_for_each (object, daemon->connections) {
		const struct vbd_connection *connection =
			VBD_CONTAINER_OF(object, struct vbd_connection, object);

		if (!connection->object.ended && named_id(&connection->conn->params, kind) == id)
			add_user(users, "connections", object->id);
	}
	vbd_registry_for_each (object, daemon->endpoints) {
		const struct vbd_endpoint_record *record =
			VBD_CONTAINER_OF(object, struct vbd_endpoint_record, object);
		const struct vbd_endpoint_params *params = &record->endpoint->params;

		if (!record->object.ended && ((kind == &pds && params->qp.pd_id == id) ||
						     (kind == &cqs && params->qp.cq_id == id)))
			add_user(users, "endpoints", object->id);
	}
}

void vbd_pd_users_of(const struct vbd_daemon *daemon, const struct vbd_pd *pd,
	struct vbd_shared_users *ret_users)
{
	*ret_users = (struct vbd_shared_users){0};
	add_those_who_name(daemon, &pds, pd->id, ret_users);
	vbd_list_for_each (link, &daemon->fabric->srqs) {
		const struct vbd_srq *srq = VBD_CONTAINER_OF(link, struct vbd_srq, link);

		if (srq->pd == pd && !srq->removing)
			add_user(ret_users, "srqs", srq->id);
	}
	vbd_registry_for_each (object, daemon->buffers) {
		const struct vbd_buffer *buffer =
			VBD_CONTAINER_OF(object, struct vbd_buffer, object);

		if (buffer->pd_id == pd->id && (buffer->state == VBD_BUFFER_READY ||
						       buffer->state == VBD_BUFFER_REGISTERING))
			add_user(ret_users, "buffers", object->id);
	}
}

void vbd_cq_users_of(const struct vbd_daemon *daemon, const struct vbd_cq *cq,
	struct vbd_shared_users *ret_users)
{
	*ret_users = (struct vbd_shared_users){0};
	add_those_who_name(daemon, &cqs, cq->id, ret_users);
	vbd_list_for_each (link, &daemon->fabric->srqs) {
		const struct vbd_srq *srq = VBD_CONTAINER_OF(link, struct vbd_srq, link);

		if (srq->cq == cq && !srq->removing)
			add_user(ret_users, "srqs", srq->id);
	}
}

void vbd_srq_users_of(const struct vbd_daemon *daemon, const struct vbd_srq *srq,
	struct vbd_shared_users *ret_users)
{
	*ret_users = (struct vbd_shared_users){0};
	add_those_who_name(daemon, &srqs, srq->id, ret_users);
}

static enum vbd_status check_unused(const struct kind *kind, uint64_t id,
	const struct vbd_shared_users *users, struct vbd_error *err)
{
	if (!users->total)
		return VBD_OK;
	return vbd_error_set(err, VBD_E_IN_USE, "%s %llu has %zu users", kind->singular,
		(unsigned long long)id, users->total);
}

static enum vbd_status goes_by_itself(const struct kind *kind, uint64_t id, struct vbd_error *err)
{
	return vbd_error_set(err, VBD_E_WRONG_STATE,
		"%s %llu was created by verbsd itself and can't be deleted by a client",
		kind->singular, (unsigned long long)id);
}

/* Protection domains. */

enum vbd_status vbd_pd_request(struct vbd_daemon *daemon, const char *name, const char *device_name,
	struct vbd_pd **ret_pd, struct vbd_error *err)
{
	enum vbd_status status = check_new(daemon, &pds, &daemon->fabric->pds, name, err);
	struct vbd_device *device;

	if (!status)
		status = vbd_device_choose(daemon, device_name, &device, err);
	if (!status)
		status = vbd_fabric_make_pd(daemon->fabric, device, ret_pd, err);
	if (!status)
		(void)snprintf((*ret_pd)->name, sizeof((*ret_pd)->name), "%s", name);
	return status;
}

enum vbd_status vbd_pd_delete_unused(
	struct vbd_daemon *daemon, struct vbd_pd *pd, struct vbd_error *err)
{
	struct vbd_shared_users users;
	enum vbd_status status;

	if (pd->is_default)
		return goes_by_itself(&pds, pd->id, err);
	vbd_pd_users_of(daemon, pd, &users);
	status = check_unused(&pds, pd->id, &users, err);
	if (!status)
		vbd_pd_delete(pd);
	return status;
}

/* Completion queues. */

enum vbd_status vbd_cq_request(struct vbd_daemon *daemon, const struct vbd_cq_spec *spec,
	struct vbd_cq **ret_cq, struct vbd_error *err)
{
	enum vbd_status status = check_new(daemon, &cqs, &daemon->fabric->cqs, spec->name, err);
	struct vbd_device *device;
	struct vbd_cq *cq;

	if (!status)
		status = vbd_device_choose(daemon, spec->device_name, &device, err);
	if (!status)
		status = vbd_fabric_check_cq(device, spec->depth_cqe, &spec->moderation, err);
	if (!status)
		status = vbd_fabric_make_cq(daemon->fabric, device, spec->depth_cqe, &cq, err);
	if (status)
		return status;
	status = vbd_fabric_moderate_cq(cq, &spec->moderation, err);
	if (status) {
		vbd_fabric_delete_cq(cq);
		return status;
	}
	(void)snprintf(cq->name, sizeof(cq->name), "%s", spec->name);
	*ret_cq = cq;
	return VBD_OK;
}

enum vbd_status vbd_cq_change(struct vbd_cq *cq, const uint32_t *depth_cqe,
	const struct vbd_cq_moderation *moderation, struct vbd_error *err)
{
	enum vbd_status status = VBD_OK;

	/* Queue pairs that name none would find no room, and get another one each. */
	if (depth_cqe && !cq->asked_for && *depth_cqe < cq->capacity_cqe)
		return vbd_error_input(err, VBD_E_WRONG_STATE, "/depth_cqe",
			"cq %llu was created by verbsd itself with %u entries and can't be smaller "
			"than that",
			(unsigned long long)cq->id, cq->capacity_cqe);
	if (moderation)
		status = vbd_fabric_check_cq(cq->device, 0, moderation, err);
	if (!status && depth_cqe)
		status = vbd_fabric_resize_cq(cq, *depth_cqe, err);
	if (!status && moderation)
		status = vbd_fabric_moderate_cq(cq, moderation, err);
	return status;
}

enum vbd_status vbd_cq_delete_unused(
	struct vbd_daemon *daemon, struct vbd_cq *cq, struct vbd_error *err)
{
	struct vbd_shared_users users;
	enum vbd_status status;

	if (!cq->asked_for)
		return goes_by_itself(&cqs, cq->id, err);
	vbd_cq_users_of(daemon, cq, &users);
	status = check_unused(&cqs, cq->id, &users, err);
	if (!status)
		vbd_fabric_delete_cq(cq);
	return status;
}

/* Shared receive queues. */

static enum vbd_status choose_pd(struct vbd_daemon *daemon, const struct vbd_srq_spec *spec,
	struct vbd_pd **ret_pd, struct vbd_error *err)
{
	struct vbd_device *device = spec->pd   ? spec->pd->device
				    : spec->cq ? spec->cq->device
					       : NULL;
	enum vbd_status status;

	if (device && spec->device_name[0] && strcmp(device->name, spec->device_name) != 0)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/device",
			"device is %s, but the given object belongs to %s", spec->device_name,
			device->name);
	status = device ? vbd_device_usable(device, err)
			: vbd_device_choose(daemon, spec->device_name, &device, err);
	if (!status)
		*ret_pd = spec->pd ? spec->pd : device->pd;
	return status;
}

enum vbd_status vbd_srq_request(struct vbd_daemon *daemon, const struct vbd_srq_spec *spec,
	struct vbd_srq **ret_srq, struct vbd_error *err)
{
	enum vbd_status status = check_new(daemon, &srqs, &daemon->fabric->srqs, spec->name, err);
	struct vbd_pd *pd;

	if (!status && spec->params.limit > spec->params.depth)
		status = vbd_error_input(err, VBD_E_OUT_OF_RANGE, "/limit",
			"limit is %u; the queue holds %u receives", spec->params.limit,
			spec->params.depth);
	if (!status)
		status = choose_pd(daemon, spec, &pd, err);
	if (!status)
		status = vbd_receives_check(daemon,
			(uint64_t)spec->params.depth * spec->params.recv_size_bytes, "/depth", err);
	if (!status)
		status = vbd_fabric_make_srq(
			daemon->fabric, pd, spec->cq, &spec->params, ret_srq, err);
	if (!status)
		(void)snprintf((*ret_srq)->name, sizeof((*ret_srq)->name), "%s", spec->name);
	return status;
}

enum vbd_status vbd_srq_delete_unused(
	struct vbd_daemon *daemon, struct vbd_srq *srq, struct vbd_error *err)
{
	struct vbd_shared_users users;
	enum vbd_status status;

	vbd_srq_users_of(daemon, srq, &users);
	status = check_unused(&srqs, srq->id, &users, err);
	if (!status)
		vbd_fabric_delete_srq(srq);
	return status;
}

/* What is of two devices, or of two domains, can't be used by one queue pair. */
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
