/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/memory/buffers.h"

#include "base/clock.h"
#include "base/enum.h"
#include "base/hugepage.h"
#include "base/memfd.h"
#include "daemon/core/devices.h"
#include "daemon/core/quota.h"
#include "rdma/device/caps.h"
#include "rdma/device/device.h"
#include "rdma/device/pd.h"
#include "rdma/fabric/shared.h"
#include "rdma/qp/qp.h"

#include <fcntl.h>
#include <unistd.h>

VBD_ENUM_NAMES(vbd_buffer_state_name, enum vbd_buffer_state, VBD_BUFFER_STATE_MAP)

void vbd_memory_work_done(struct vbd_daemon *daemon)
{
	daemon->pool_jobs--;
	vbd_daemon_check_stop(daemon);
}

void vbd_memory_work(struct vbd_object *object, bool takes_long, void (*work)(void *arg),
	void (*done)(void *arg))
{
	struct vbd_daemon *daemon = object->registry->daemon;

	daemon->pool_jobs++;
	if (takes_long && !daemon->stopping &&
		vbd_loop_work(daemon->loop, VBD_WORK_MEMORY, object->owner, work, done, object,
			NULL) == VBD_OK)
		return;
	work(object);
	done(object);
}

static void uncount_bytes(struct vbd_buffer *buffer)
{
	buffer->object.registry->daemon->buffers_bytes -= buffer->counted_bytes;
	buffer->counted_bytes = 0;
	vbd_object_unpin(&buffer->object);
}

VBD_OBJECT_RECORD(buffer_of, struct vbd_buffer)

/* Pool thread. */
static void allocate_and_register(void *arg)
{
	struct vbd_buffer *buffer = arg;
	struct vbd_mem *mem = &buffer->mem;

	/* The daemon stops: do not allocate memory that nobody will use. */
	if (buffer->object.registry->daemon->closing) {
		(void)vbd_error_set(&buffer->error, VBD_E_STOPPING, "the daemon stops");
		return;
	}
	if (!mem->addr && vbd_mem_allocate(mem, &buffer->error) != VBD_OK)
		return;
	/* After a failure bytes that were there before stay: a second try needs them. */
	if (vbd_mem_register(mem, buffer->new_pd, &buffer->error) != VBD_OK && !buffer->restores &&
		!mem->has_bytes)
		vbd_mem_unmap(mem);
}

static void set_ready(struct vbd_buffer *buffer)
{
	buffer->state = VBD_BUFFER_READY;
	vbd_object_log(&buffer->object, VBD_EVENT_BUFFER_REGISTERED, VBD_SEVERITY_INFO, VBD_OK,
		"%zu bytes on %s%s", buffer->mem.size_bytes, buffer->device.name,
		buffer->mem.has_bytes ? ", with what was in them before the start" : "");
}

static void set_failed(struct vbd_buffer *buffer)
{
	buffer->state = VBD_BUFFER_FAILED;
	vbd_mem_free(&buffer->mem);
	uncount_bytes(buffer);
	vbd_object_log(&buffer->object, VBD_EVENT_BUFFER_FAILED, VBD_SEVERITY_WARNING,
		buffer->error.status, "%zu bytes on %s: %s", buffer->mem.size_bytes,
		buffer->device.name, buffer->error.text);
}

/* The buffer could not be registered again: it stays LOST. */
static void set_lost_again(struct vbd_buffer *buffer)
{
	vbd_mem_deregister(&buffer->mem);
	buffer->state = VBD_BUFFER_LOST;
}

static void on_registered(void *arg)
{
	struct vbd_buffer *buffer = arg;
	struct vbd_daemon *daemon = buffer->object.registry->daemon;

	/* The MR of a successful registration owns the reference. */
	if (!buffer->mem.mr)
		vbd_pd_unref(buffer->new_pd);
	else if (vbd_device_usable(buffer->new_pd->device, &buffer->error) == VBD_OK)
		set_ready(buffer);
	if (buffer->state == VBD_BUFFER_REGISTERING)
		(buffer->restores ? set_lost_again : set_failed)(buffer);
	vbd_object_changed(&buffer->object);
	vbd_memory_work_done(daemon);
}

static enum vbd_status check_limits(const struct vbd_daemon *daemon,
	const struct vbd_caller *caller, const struct vbd_mem *mem, struct vbd_error *err)
{
	const struct vbd_config_limits *limits = &daemon->config->limits;
	uint64_t mapped_bytes = vbd_mem_mapped_bytes(mem);

	if (mapped_bytes > limits->buffers_bytes - daemon->buffers_bytes) {
		vbd_error_limit(err, "buffers_bytes", limits->buffers_bytes);
		return vbd_error_input(err,
			mapped_bytes > limits->buffers_bytes ? VBD_E_LIMIT_EXCEEDED
							     : VBD_E_LIMIT_REACHED,
			"/size_bytes",
			"all buffers together can have %llu bytes; %llu are in use, and %llu are "
			"needed",
			(unsigned long long)limits->buffers_bytes,
			(unsigned long long)daemon->buffers_bytes,
			(unsigned long long)mapped_bytes);
	}
	return vbd_quota_check(caller, VBD_QUOTA_pinned_bytes, mapped_bytes, err);
}

/* Fill in @ret_mem from the request; allocate nothing. */
static enum vbd_status describe_memory(
	const struct vbd_buffer_spec *spec, struct vbd_mem *ret_mem, struct vbd_error *err)
{
	*ret_mem = (struct vbd_mem){
		.kind = spec->kind,
		.access = spec->access,
		.size_bytes = spec->size_bytes,
		.relaxed_ordering = spec->relaxed_ordering,
		.on_demand_paging = spec->on_demand_paging,
	};
	if (spec->kind == VBD_MEM_HUGEPAGE ||
		(spec->kind == VBD_MEM_SHARED && spec->page_size_bytes))
		return vbd_hugepage_choose(spec->page_size_bytes, &ret_mem->page_size_bytes, err);
	if (spec->page_size_bytes)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/page_size_bytes",
			"/page_size_bytes is allowed for the kinds hugepage and shared only");
	ret_mem->page_size_bytes = (size_t)sysconf(_SC_PAGESIZE);
	return VBD_OK;
}

/* Use the memory of an earlier run for @mem, if it fits. */
static enum vbd_status use_earlier_bytes(
	struct vbd_buffer_bytes *bytes, struct vbd_mem *mem, struct vbd_error *err)
{
	size_t huge_page_bytes = vbd_mem_is_huge(mem) ? mem->page_size_bytes : 0;

	if (mem->kind != VBD_MEM_SHARED) {
		(void)vbd_error_set(
			&bytes->misfit, VBD_E_BAD_VALUE, "the buffer is not shared any more");
		return VBD_OK;
	}
	if (vbd_memfd_check(bytes->fd, vbd_mem_mapped_bytes(mem), huge_page_bytes,
		    &bytes->misfit) != VBD_OK)
		return VBD_OK;
	mem->fd = fcntl(bytes->fd, F_DUPFD_CLOEXEC, 0);
	if (mem->fd < 0)
		return vbd_error_errno(err, VBD_OK, "fcntl", errno, "shared memory");
	mem->has_bytes = true;
	return VBD_OK;
}

static enum vbd_status check_device(
	const struct vbd_device *device, const struct vbd_mem *mem, struct vbd_error *err)
{
	enum vbd_status status = VBD_OK;

	if (mem->access & VBD_ACCESS_REMOTE_ATOMIC)
		status = vbd_device_require(device, VBD_CAP_ATOMICS, err);
	if (!status && (mem->access & VBD_ACCESS_MW_BIND) &&
		!vbd_device_can(device, VBD_CAP_MW_TYPE_1))
		status = vbd_device_require(device, VBD_CAP_MW_TYPE_2, err);
	if (!status && mem->relaxed_ordering)
		status = vbd_device_require(device, VBD_CAP_RELAXED_ORDERING, err);
	if (!status && mem->on_demand_paging)
		status = vbd_device_require(device, VBD_CAP_ON_DEMAND_PAGING, err);
	return status;
}

static enum vbd_status add_buffer(struct vbd_daemon *daemon, const struct vbd_buffer_spec *spec,
	const struct vbd_mem *mem, const struct vbd_pd *pd, struct vbd_buffer **ret_buffer,
	struct vbd_error *err)
{
	struct vbd_buffer *buffer;
	struct vbd_object *object;
	enum vbd_status status =
		vbd_object_create(daemon->buffers, &spec->origin, spec->name, &object, err);

	if (status)
		return status;
	buffer = buffer_of(object);
	buffer->state = VBD_BUFFER_REGISTERING;
	buffer->mem = *mem;
	buffer->counted_bytes = vbd_mem_mapped_bytes(mem);
	buffer->device = vbd_device_id_of(pd->device);
	buffer->pd_id = pd->id;
	daemon->buffers_bytes += buffer->counted_bytes;
	vbd_object_pin(object, buffer->counted_bytes);
	*ret_buffer = buffer;
	return VBD_OK;
}

static enum vbd_status begin_registration(
	struct vbd_buffer *buffer, struct vbd_pd *pd, bool restores, struct vbd_error *err)
{
	struct vbd_daemon *daemon = buffer->object.registry->daemon;
	enum vbd_status status;

	buffer->new_pd = pd;
	buffer->restores = restores;
	status = vbd_loop_work(daemon->loop, VBD_WORK_MEMORY, buffer->object.owner,
		allocate_and_register, on_registered, buffer, err);
	if (status)
		return status;
	vbd_pd_ref(pd);
	daemon->pool_jobs++;
	return VBD_OK;
}

static enum vbd_status choose_pd(const struct vbd_daemon *daemon,
	const struct vbd_buffer_spec *spec, struct vbd_pd **ret_pd, struct vbd_error *err)
{
	struct vbd_pd *pd = vbd_fabric_pd(daemon->fabric, spec->pd_id);
	struct vbd_device *device;
	enum vbd_status status;

	if (!pd) {
		status = vbd_device_choose(daemon, spec->device_name, &device, err);
		if (!status)
			*ret_pd = device->pd;
		return status;
	}
	if (spec->device_name[0] && strcmp(pd->device->name, spec->device_name) != 0)
		return vbd_error_input(err, VBD_E_BAD_VALUE, "/device",
			"device is %s, but pd %llu belongs to %s", spec->device_name,
			(unsigned long long)pd->id, pd->device->name);
	*ret_pd = pd;
	return vbd_device_usable(pd->device, err);
}

enum vbd_status vbd_buffer_create(struct vbd_daemon *daemon, const struct vbd_buffer_spec *spec,
	struct vbd_buffer **ret_buffer, struct vbd_error *err)
{
	struct vbd_buffer *buffer;
	enum vbd_status status;
	struct vbd_pd *pd;
	struct vbd_mem mem;

	status = vbd_daemon_accepts_work(daemon, err);
	if (!status)
		status = describe_memory(spec, &mem, err);
	if (!status)
		status = check_limits(daemon, spec->origin.caller, &mem, err);
	if (!status)
		status = choose_pd(daemon, spec, &pd, err);
	if (!status)
		status = check_device(pd->device, &mem, err);
	if (!status)
		status = add_buffer(daemon, spec, &mem, pd, &buffer, err);
	if (status)
		return status;
	if (spec->bytes)
		status = use_earlier_bytes(spec->bytes, &buffer->mem, err);
	if (!status)
		status = begin_registration(buffer, pd, false, err);
	if (status) {
		vbd_object_free(&buffer->object);
		return status;
	}
	vbd_object_log(&buffer->object, VBD_EVENT_BUFFER_CREATED, VBD_SEVERITY_DEBUG, VBD_OK,
		"registration on %s begins", buffer->device.name);
	*ret_buffer = buffer;
	return VBD_OK;
}

enum vbd_status vbd_buffer_restore(
	struct vbd_buffer *buffer, const struct vbd_buffer_spec *spec, struct vbd_error *err)
{
	struct vbd_daemon *daemon = buffer->object.registry->daemon;
	enum vbd_status status = vbd_daemon_accepts_work(daemon, err);
	struct vbd_pd *pd;

	if (!status && buffer->state != VBD_BUFFER_LOST)
		status = vbd_error_set(err, VBD_E_WRONG_STATE, "buffer %llu is not lost",
			(unsigned long long)buffer->object.id);
	if (!status && (buffer->users > 0 || buffer->mem.pd))
		status = vbd_error_set(err, VBD_E_IN_USE,
			"transfers, windows or peers still use buffer %llu on the device that went",
			(unsigned long long)buffer->object.id);
	if (!status)
		status = choose_pd(daemon, spec, &pd, err);
	if (!status)
		status = check_device(pd->device, &buffer->mem, err);
	if (!status)
		status = begin_registration(buffer, pd, true, err);
	if (status)
		return status;
	buffer->state = VBD_BUFFER_REGISTERING;
	buffer->error = (struct vbd_error){0};
	buffer->device = vbd_device_id_of(pd->device);
	buffer->pd_id = pd->id;
	vbd_object_changed(&buffer->object);
	return VBD_OK;
}

/* Pool thread. */
static void unmap_memory(void *arg)
{
	struct vbd_buffer *buffer = arg;

	vbd_mem_empty(&buffer->mem);
	vbd_mem_unmap(&buffer->mem);
}

static void on_unmapped(void *arg)
{
	struct vbd_buffer *buffer = arg;
	struct vbd_daemon *daemon = buffer->object.registry->daemon;

	vbd_object_free(&buffer->object);
	vbd_memory_work_done(daemon);
}

static void free_when_unused(struct vbd_buffer *buffer)
{
	if (buffer->object.deleted && buffer->refs == 0)
		vbd_memory_work(&buffer->object, true, unmap_memory, on_unmapped);
}

/* Call thread. */
static void revoke_keys(struct vbd_call *call)
{
	vbd_mem_revoke(&VBD_CONTAINER_OF(call, struct vbd_buffer, revocation)->mem);
}

static void on_keys_revoked(struct vbd_call *call)
{
	struct vbd_buffer *buffer = VBD_CONTAINER_OF(call, struct vbd_buffer, revocation);
	struct vbd_daemon *daemon = buffer->object.registry->daemon;

	buffer->revocation.work = NULL;
	vbd_mem_deregister(&buffer->mem);
	vbd_buffer_unref(buffer);
	vbd_daemon_check_stop(daemon);
}

/* On a call thread: Soft-RoCE waits for a peer's write that has begun (rxe_dereg_mr(), 6.1). */
static void start_revocation(struct vbd_buffer *buffer)
{
	vbd_buffer_ref(buffer);
	if (buffer->revocation.work || !buffer->mem.pd) {
		vbd_buffer_unref(buffer);
		return;
	}
	buffer->revocation.work = revoke_keys;
	buffer->revocation.done = on_keys_revoked;
	vbd_call_start(
		buffer->object.registry->daemon->fabric->calls, &buffer->revocation, VBD_LANE_END);
}

enum vbd_status vbd_buffer_delete(struct vbd_buffer *buffer, struct vbd_error *err)
{
	uint64_t id = buffer->object.id;

	if (buffer->state == VBD_BUFFER_REGISTERING)
		return vbd_error_set(err, VBD_E_IN_USE, "buffer %llu is still being registered",
			(unsigned long long)id);
	if (buffer->state == VBD_BUFFER_FAILED) {
		vbd_object_unregister(&buffer->object);
		return VBD_OK;
	}
	if (buffer->users > 0)
		return vbd_error_set(err, VBD_E_IN_USE,
			"buffer %llu has %u user%s (running transfers or windows)",
			(unsigned long long)id, buffer->users, buffer->users == 1 ? "" : "s");
	buffer->object.deleted = true;
	vbd_object_log(&buffer->object, VBD_EVENT_BUFFER_DELETED, VBD_SEVERITY_INFO, VBD_OK,
		"%zu bytes on %s", buffer->mem.size_bytes, buffer->device.name);
	vbd_object_leave(&buffer->object);
	/* Revoke now, not after the last reader: peers must lose access, and the buffer must not
	 * keep its device busy. */
	start_revocation(buffer);
	return VBD_OK;
}

bool vbd_buffers_writable(const struct vbd_daemon *daemon, const struct vbd_pd *pd)
{
	vbd_registry_for_each_of (const struct vbd_buffer, buffer, daemon->buffers) {
		/* A pool thread still owns a buffer that is being registered. */
		if (buffer->state == VBD_BUFFER_READY && buffer->mem.pd == pd &&
			(buffer->mem.access & (VBD_ACCESS_REMOTE_WRITE | VBD_ACCESS_MW_BIND)))
			return true;
	}
	return false;
}

enum vbd_status vbd_buffer_check_qp(const struct vbd_buffer *buffer, const struct vbd_qp *qp,
	const char *pointer, struct vbd_error *err)
{
	char one[40], other[VBD_QP_OWNER_BYTES];

	(void)vbd_qp_owner_text(qp, other);
	(void)snprintf(one, sizeof(one), "buffer %llu", (unsigned long long)buffer->object.id);
	if (buffer->mem.pd->device == qp->device)
		return vbd_pd_require_same(buffer->mem.pd, one, qp->pd, other, err);
	return vbd_error_hint(err,
		vbd_error_input(err, VBD_E_BAD_VALUE, pointer,
			"%s is registered with %s, but %s is on %s", one, buffer->device.name,
			other, qp->device->name),
		"Make the buffer with `device`: that of the connection.");
}

enum vbd_status vbd_buffer_has_bytes(const struct vbd_buffer *buffer, struct vbd_error *err)
{
	if (buffer->state == VBD_BUFFER_READY || buffer->state == VBD_BUFFER_LOST)
		return VBD_OK;
	return vbd_error_set(err, VBD_E_WRONG_STATE,
		"buffer %llu is %s; only a ready or lost buffer has bytes",
		(unsigned long long)buffer->object.id, vbd_buffer_state_name(buffer->state));
}

int vbd_buffer_fd(const struct vbd_buffer *buffer)
{
	if (buffer->mem.kind != VBD_MEM_SHARED || vbd_buffer_has_bytes(buffer, NULL) != VBD_OK)
		return -1;
	return buffer->mem.fd;
}

enum vbd_status vbd_buffer_open(
	const struct vbd_buffer *buffer, bool writable, int *ret_fd, struct vbd_error *err)
{
	enum vbd_status status = vbd_buffer_has_bytes(buffer, err);

	if (status)
		return status;
	if (buffer->mem.kind != VBD_MEM_SHARED)
		return vbd_error_set(err, VBD_E_WRONG_STATE,
			"buffer %llu is not of the kind shared, and has no descriptor",
			(unsigned long long)buffer->object.id);
	return vbd_memfd_reopen(buffer->mem.fd, writable, ret_fd, err);
}

void vbd_buffer_ref(struct vbd_buffer *buffer)
{
	buffer->refs++;
}

void vbd_buffer_unref(struct vbd_buffer *buffer)
{
	buffer->refs--;
	free_when_unused(buffer);
}

enum vbd_status vbd_buffer_check_range(const struct vbd_buffer *buffer, uint64_t offset,
	uint64_t length_bytes, const char *pointer, struct vbd_error *err)
{
	uint64_t size_bytes = buffer->mem.size_bytes;

	if (offset <= size_bytes && length_bytes <= size_bytes - offset)
		return VBD_OK;
	return vbd_error_input(err, VBD_E_RANGE_NOT_SATISFIABLE, pointer,
		"%llu bytes at offset %llu reach past the end of buffer %llu, which has %llu bytes",
		(unsigned long long)length_bytes, (unsigned long long)offset,
		(unsigned long long)buffer->object.id, (unsigned long long)size_bytes);
}

/* Call it after the device's connections and their transfers were ended. */
void vbd_buffers_device_removing(struct vbd_daemon *daemon, struct vbd_device *device)
{
	vbd_registry_for_each_of (struct vbd_buffer, buffer, daemon->buffers) {
		if (buffer->state != VBD_BUFFER_READY || buffer->mem.pd->device != device)
			continue;
		buffer->state = VBD_BUFFER_LOST;
		vbd_object_log(&buffer->object, VBD_EVENT_BUFFER_LOST, VBD_SEVERITY_WARNING,
			VBD_E_DEVICE_REMOVED,
			"device %s is being removed; the buffer's %zu bytes are kept", device->name,
			buffer->mem.size_bytes);
		if (buffer->users == 0)
			start_revocation(buffer);
		vbd_object_changed(&buffer->object);
	}
}

void vbd_buffer_unref_user(struct vbd_buffer *buffer)
{
	buffer->users--;
	if (buffer->state == VBD_BUFFER_LOST && buffer->users == 0)
		start_revocation(buffer);
	vbd_buffer_unref(buffer);
}

static void free_buffer(struct vbd_object *object)
{
	struct vbd_buffer *buffer = buffer_of(object);

	uncount_bytes(buffer);
	vbd_mem_free(&buffer->mem);
}

VBD_OBJECT_STATE(get_state_name, struct vbd_buffer, state, vbd_buffer_state_name)
VBD_OBJECT_DEVICE(get_device_id, struct vbd_buffer, device)

const struct vbd_kind vbd_buffer_kind = {
	.size_bytes = sizeof(struct vbd_buffer),
	.state = get_state_name,
	.device = get_device_id,
	.error_at = offsetof(struct vbd_buffer, error),
	.free = free_buffer,
};
