/* SPDX-License-Identifier: Apache-2.0 */
/* The script, devices, protection domains and memory. */
#include "tests/fake/fake.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct fake g_fake;

static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;

static void init_once(void)
{
	if (g_fake.devices.next)
		return;
	vbd_list_init(&g_fake.devices);
	vbd_list_init(&g_fake.contexts);
	vbd_list_init(&g_fake.pds);
	vbd_list_init(&g_fake.mrs);
	vbd_list_init(&g_fake.mws);
	vbd_list_init(&g_fake.comp_channels);
	vbd_list_init(&g_fake.cqs);
	vbd_list_init(&g_fake.srqs);
	vbd_list_init(&g_fake.qps);
	vbd_list_init(&g_fake.ahs);
	vbd_list_init(&g_fake.event_channels);
	vbd_list_init(&g_fake.ids);
	g_fake.last_qpn = 0x10;
	g_fake.last_key = 0x100;
	g_fake.last_port = 20000;
}

void fake_lock(void)
{
	(void)pthread_mutex_lock(&g_lock);
	init_once();
}

void fake_unlock(void)
{
	(void)pthread_mutex_unlock(&g_lock);
}

void fake_abort(const char *what)
{
	(void)fprintf(stderr, "fake provider: %s\n", what);
	abort();
}

void fake_broken(const char *fmt, ...)
{
	va_list ap;

	if (g_fake.misuse[0])
		return;
	va_start(ap, fmt);
	(void)vsnprintf(g_fake.misuse, sizeof(g_fake.misuse), fmt, ap);
	va_end(ap);
	(void)fprintf(stderr, "fake provider: %s\n", g_fake.misuse);
}

const char *fake_misuse(void)
{
	return g_fake.misuse[0] ? g_fake.misuse : NULL;
}

/* Calls and their failures. */

void fake_note(const char *call)
{
	if (g_fake.records_nothing)
		return;
	if (g_fake.call_count == g_fake.call_room) {
		g_fake.call_room = g_fake.call_room ? g_fake.call_room * 2 : 256;
		g_fake.calls = fake_grow(g_fake.calls, g_fake.call_room * sizeof(*g_fake.calls));
	}
	g_fake.calls[g_fake.call_count++] = call;
}

void fake_record_calls(bool on)
{
	fake_lock();
	g_fake.records_nothing = !on;
	fake_unlock();
}

static unsigned int objects(void)
{
	const struct fake_live *live = &g_fake.live;

	return live->pds + live->mrs + live->mws + live->cqs + live->srqs + live->qps + live->ahs;
}

static bool makes_object(const char *call)
{
	static const char *const calls[] = {"ibv_alloc_pd", "ibv_reg_mr", "ibv_alloc_mw",
		"ibv_create_cq", "ibv_create_srq", "ibv_create_qp", "ibv_create_ah"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(calls); i++) {
		if (strcmp(calls[i], call) == 0)
			return true;
	}
	return false;
}

void fake_objects_full(bool full)
{
	fake_lock();
	g_fake.objects_max = full ? objects() : 0;
	fake_unlock();
}

int fake_enter(const char *call)
{
	fake_note(call);
	if (g_fake.objects_max && objects() >= g_fake.objects_max && makes_object(call))
		return EAGAIN;
	if (g_fake.fail_call && strcmp(g_fake.fail_call, call) == 0) {
		g_fake.fail_call = NULL;
		return g_fake.fail_call_errno;
	}
	if (g_fake.fail_nth == 0 || --g_fake.fail_nth > 0)
		return 0;
	g_fake.failed_call = call;
	return g_fake.fail_nth_errno;
}

int fake_call(enum vbd_pv_call call)
{
	int errnum = vbd_pv_fault(call);

	return errnum ? errnum : fake_enter(vbd_pv_call_library(call));
}

void fake_fail_nth(unsigned int nth, int errnum)
{
	fake_lock();
	g_fake.fail_nth = nth;
	g_fake.fail_nth_errno = errnum;
	g_fake.failed_call = NULL;
	fake_unlock();
}

void fake_fail_next(const char *call, int errnum)
{
	fake_lock();
	g_fake.fail_call = errnum ? call : NULL;
	g_fake.fail_call_errno = errnum;
	fake_unlock();
}

const char *fake_failed_call(void)
{
	const char *call;

	/* A worker may be making calls meanwhile. */
	fake_lock();
	call = g_fake.failed_call;
	fake_unlock();
	return call;
}

enum vbd_status fake_result(enum vbd_pv_call call, int errnum, struct vbd_error *err)
{
	return errnum ? vbd_pv_failed(call, errnum, err, "by the script") : VBD_OK;
}

unsigned int fake_count(const char *call)
{
	unsigned int count = 0;

	fake_lock();
	for (size_t i = 0; i < g_fake.call_count; i++)
		count += strcmp(g_fake.calls[i], call) == 0;
	fake_unlock();
	return count;
}

long fake_first(const char *call)
{
	long found = -1;

	fake_lock();
	for (size_t i = 0; i < g_fake.call_count && found < 0; i++) {
		if (strcmp(g_fake.calls[i], call) == 0)
			found = (long)i;
	}
	fake_unlock();
	return found;
}

long fake_last(const char *call)
{
	long found = -1;

	fake_lock();
	for (size_t i = 0; i < g_fake.call_count; i++) {
		if (strcmp(g_fake.calls[i], call) == 0)
			found = (long)i;
	}
	fake_unlock();
	return found;
}

struct fake_live fake_live(void)
{
	struct fake_live live;

	fake_lock();
	live = g_fake.live;
	fake_unlock();
	return live;
}

unsigned int fake_live_total(void)
{
	struct fake_live live = fake_live();
	uint64_t held[VBD_PV_OBJECT_COUNT];
	unsigned int unbalanced = 0;

	vbd_account_held(held);
	for (size_t i = 0; i < VBD_PV_OBJECT_COUNT; i++)
		unbalanced += held[i] != 0;
	return unbalanced + live.contexts + live.pds + live.mrs + live.mws + live.comp_channels +
	       live.cqs + live.srqs + live.qps + live.ahs + live.event_channels + live.ids;
}

/* Event descriptors. */

int fake_eventfd(int flags)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | flags);

	if (fd < 0)
		fake_abort("no eventfd");
	return fd;
}

void fake_fd_raise(int fd)
{
	const uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) != (ssize_t)sizeof(one))
		fake_abort("an eventfd can't be written");
}

void fake_fd_lower(int fd)
{
	uint64_t count;

	(void)!read(fd, &count, sizeof(count));
}

/* Devices. */

static const char *name_of(const struct fake_device *device)
{
	return device->new_name ? device->new_name : device->ibv.name;
}

struct fake_device *fake_device_find(const char *name)
{
	vbd_list_for_each (link, &g_fake.devices) {
		struct fake_device *device = VBD_CONTAINER_OF(link, struct fake_device, link);

		if (device->plugged && (strcmp(name_of(device), name) == 0 ||
					       strcmp(device->ibv.dev_name, name) == 0))
			return device;
	}
	return NULL;
}

static void describe(struct fake_device *device, const char *name, unsigned int number)
{
	(void)snprintf(device->ibv.name, sizeof(device->ibv.name), "%s", name);
	(void)snprintf(device->ibv.dev_name, sizeof(device->ibv.dev_name), "uverbs%u", number - 1);
	(void)snprintf(device->ibv.ibdev_path, sizeof(device->ibv.ibdev_path),
		"/nonexistent/infiniband/%s", name);
	device->ibv.transport_type = IBV_TRANSPORT_IB;
	device->attr = (struct ibv_device_attr){
		.fw_ver = "1.2.3",
		.max_mr_size = UINT64_MAX,
		.max_qp = 1000,
		.max_qp_wr = 20000,
		.max_sge = 32,
		.max_sge_rd = 16,
		.max_cq = 1000,
		.max_cqe = 40000,
		.max_mr = 1000,
		.max_pd = 1000,
		.max_srq = 1000,
		.max_srq_wr = 20000,
		.max_srq_sge = 32,
		.max_mcast_grp = 100,
		.atomic_cap = IBV_ATOMIC_HCA,
		.device_cap_flags = IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B,
		.max_qp_rd_atom = 128,
		.max_qp_init_rd_atom = 128,
		.phys_port_cnt = 1,
	};
	device->odp_caps.general_caps = IBV_ODP_SUPPORT;
	device->cq_mod_caps = (struct ibv_cq_moderation_caps){
		.max_cq_count = UINT16_MAX, .max_cq_period = UINT16_MAX};
	device->resizes_cqs = true;
	device->port = (struct ibv_port_attr){
		.state = IBV_PORT_ACTIVE,
		.max_mtu = IBV_MTU_4096,
		.active_mtu = IBV_MTU_1024,
		.max_msg_sz = 0x40000000,
		.phys_state = 5,
		.pkey_tbl_len = 1,
		.link_layer = IBV_LINK_LAYER_ETHERNET,
	};
	device->addr = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(0x0a000000 + number),
	};
	device->gids[0] = (struct ibv_gid_entry){
		.gid.raw = {[10] = 0xff, 0xff, 10, 0, 0, (uint8_t)number},
		.port_num = 1,
		.gid_type = IBV_GID_TYPE_ROCE_V2,
	};
	device->gid_count = 1;
}

struct fake_device *fake_device_add(const char *name)
{
	struct fake_device *device = fake_allocate(sizeof(*device));

	fake_lock();
	if (fake_device_find(name))
		fake_abort("the device is plugged already");
	describe(device, name, ++g_fake.devices_made);
	device->plugged = true;
	vbd_list_append(&g_fake.devices, &device->link);
	fake_unlock();
	return device;
}

void fake_device_unplug(struct fake_device *device)
{
	fake_lock();
	device->plugged = false;
	fake_unlock();
}

bool fake_device_let_go(const struct fake_device *device)
{
	bool free_of_us;

	fake_lock();
	free_of_us = device->contexts == 0 && device->ids == 0;
	fake_unlock();
	return free_of_us;
}

enum vbd_status vbd_pv_list_devices(
	struct vbd_pv_device **ret_devices, size_t *ret_count, struct vbd_error *err)
{
	struct vbd_pv_device *devices = NULL;
	size_t count = 0;
	int errnum;

	(void)fake_may_block(VBD_WAIT_GET_DEVICE_LIST);
	fake_lock();
	errnum = fake_call(VBD_PV_CALL_LIST_DEVICES);
	vbd_list_for_each (link, &g_fake.devices)
		count++;
	/* The real provider allocates here too. */
	if (!errnum) {
		devices = calloc(count + 1, sizeof(*devices));
		errnum = devices ? 0 : ENOMEM;
	}
	count = 0;
	vbd_list_for_each (link, &g_fake.devices) {
		const struct fake_device *device = VBD_CONTAINER_OF(link, struct fake_device, link);
		struct vbd_pv_device *to = devices ? &devices[count] : NULL;

		if (!device->plugged || !to)
			continue;
		(void)snprintf(to->name, sizeof(to->name), "%s", name_of(device));
		(void)snprintf(to->library_name, sizeof(to->library_name), "%s", device->ibv.name);
		(void)snprintf(
			to->ibdev_path, sizeof(to->ibdev_path), "%s", device->ibv.ibdev_path);
		(void)snprintf(
			to->uverbs_name, sizeof(to->uverbs_name), "%s", device->ibv.dev_name);
		to->transport = device->ibv.transport_type;
		count++;
	}
	fake_unlock();
	if (errnum)
		return fake_result(VBD_PV_CALL_LIST_DEVICES, errnum, err);
	*ret_devices = devices;
	*ret_count = count;
	return VBD_OK;
}

static int open_context(const char *uverbs_name, struct ibv_context **ret_context)
{
	struct fake_device *device = fake_device_find(uverbs_name);
	struct fake_context *context;

	if (!device)
		return ENODEV;
	if (device->open_errno)
		return device->open_errno;
	context = fake_allocate(sizeof(*context));
	vbd_list_init(&context->async_events);
	context->device = device;
	context->ibv.device = &device->ibv;
	context->ibv.async_fd = fake_eventfd(0);
	vbd_list_append(&g_fake.contexts, &context->link);
	device->contexts++;
	g_fake.live.contexts++;
	*ret_context = &context->ibv;
	return 0;
}

enum vbd_status vbd_pv_open_device(struct vbd_account *account, const char *uverbs_name,
	struct ibv_context **ret_context, struct vbd_error *err)
{
	int errnum;

	(void)fake_may_block(VBD_WAIT_OPEN_DEVICE);
	fake_lock();
	errnum = fake_call(VBD_PV_CALL_OPEN_DEVICE);
	if (!errnum)
		errnum = open_context(uverbs_name, ret_context);
	if (!errnum)
		vbd_account_made(account, VBD_PV_CONTEXT);
	fake_unlock();
	return fake_result(VBD_PV_CALL_OPEN_DEVICE, errnum, err);
}

/* A queued async event. */
struct async_event {
	struct vbd_link link;
	struct vbd_pv_async_event event;
};

static struct async_event *take_async(struct fake_context *context)
{
	struct async_event *event =
		VBD_LIST_FIRST(&context->async_events, struct async_event, link);

	if (!event)
		return NULL;
	vbd_list_remove(&event->link);
	if (vbd_list_empty(&context->async_events))
		fake_fd_lower(context->ibv.async_fd);
	return event;
}

static void free_context(struct fake_context *context)
{
	struct async_event *event;

	while ((event = take_async(context)))
		free(event);
	vbd_list_remove(&context->link);
	context->device->contexts--;
	g_fake.live.contexts--;
	(void)close(context->ibv.async_fd);
	free(context);
}

void vbd_pv_close_device(struct vbd_account *account, struct ibv_context *ibv)
{
	struct fake_context *context = (struct fake_context *)(void *)ibv;

	if (!ibv)
		return;
	(void)fake_may_block(VBD_WAIT_CLOSE_DEVICE);
	fake_lock();
	fake_note("ibv_close_device");
	if (context->children) {
		fake_broken("a context is closed with %u objects on it", context->children);
	} else {
		free_context(context);
		vbd_account_destroyed(account, VBD_PV_CONTEXT);
	}
	fake_unlock();
}

static const struct fake_device *device_of(const struct ibv_context *context)
{
	return ((const struct fake_context *)(const void *)context)->device;
}

enum vbd_status vbd_pv_query_device(
	struct ibv_context *context, struct ibv_device_attr_ex *ret_attr, struct vbd_error *err)
{
	const struct fake_device *device = device_of(context);
	int errnum;

	fake_lock();
	errnum = fake_call(VBD_PV_CALL_QUERY_DEVICE);
	if (!errnum)
		*ret_attr = (struct ibv_device_attr_ex){
			.orig_attr = device->attr,
			.odp_caps = device->odp_caps,
			.cq_mod_caps = device->cq_mod_caps,
		};
	fake_unlock();
	return fake_result(VBD_PV_CALL_QUERY_DEVICE, errnum, err);
}

bool vbd_pv_resizes_cqs(struct ibv_context *context)
{
	return device_of(context)->resizes_cqs;
}

enum vbd_status vbd_pv_query_port(struct ibv_context *context, uint8_t port_num,
	struct ibv_port_attr *ret_attr, struct vbd_error *err)
{
	const struct fake_device *device = device_of(context);
	bool opening;
	int errnum;

	fake_lock();
	opening = ((const struct fake_context *)(const void *)context)->children == 0;
	fake_unlock();
	errnum = opening ? fake_must_leave_control(VBD_WAIT_QUERY_PORT)
			 : fake_may_block(VBD_WAIT_QUERY_PORT);
	fake_lock();
	if (!errnum)
		errnum = fake_call(VBD_PV_CALL_QUERY_PORT);
	if (!errnum && (port_num < 1 || port_num > device->attr.phys_port_cnt))
		errnum = EINVAL;
	if (!errnum)
		*ret_attr = device->port;
	fake_unlock();
	return fake_result(VBD_PV_CALL_QUERY_PORT, errnum, err);
}

enum vbd_status vbd_pv_query_gid(struct ibv_context *context, uint8_t port_num, uint32_t gid_index,
	struct ibv_gid_entry *ret_entry, struct vbd_error *err)
{
	const struct fake_device *device;
	int errnum;

	fake_lock();
	device = device_of(context);
	errnum = fake_call(VBD_PV_CALL_QUERY_GID);
	if (!errnum && (port_num != 1 || gid_index >= device->gid_count))
		errnum = ENODATA;
	if (!errnum)
		*ret_entry = device->gids[gid_index];
	fake_unlock();
	return fake_result(VBD_PV_CALL_QUERY_GID, errnum, err);
}

enum vbd_status vbd_pv_query_gids(struct ibv_context *context, struct ibv_gid_entry *entries,
	size_t max_entries, size_t *ret_count, struct vbd_error *err)
{
	const struct fake_device *device = device_of(context);
	int errnum;

	fake_lock();
	errnum = fake_call(VBD_PV_CALL_QUERY_GIDS);
	/* As the kernel: no part of a table, and no more than an attribute of 64 KiB. */
	if (!errnum &&
		(max_entries < device->gid_count || max_entries * sizeof(*entries) > UINT16_MAX))
		errnum = EINVAL;
	if (!errnum) {
		memcpy(entries, device->gids, device->gid_count * sizeof(*entries));
		*ret_count = device->gid_count;
	}
	fake_unlock();
	return fake_result(VBD_PV_CALL_QUERY_GIDS, errnum, err);
}

/* Async events. */

static void push_async(struct fake_context *context, const struct vbd_pv_async_event *what)
{
	struct async_event *event = fake_allocate(sizeof(*event));

	event->event = *what;
	if (vbd_list_empty(&context->async_events))
		fake_fd_raise(context->ibv.async_fd);
	vbd_list_append(&context->async_events, &event->link);
}

void fake_async_push(
	struct fake_device *device, enum ibv_event_type type, struct ibv_qp *qp, int port_num)
{
	struct vbd_pv_async_event event = {.type = (int)type};

	if (qp) {
		event.subject = VBD_PV_OF_QP;
		event.element.qp_num = qp->qp_num;
	} else if (port_num) {
		event.subject = VBD_PV_OF_PORT;
		event.element.port_num = port_num;
	}
	fake_async_push_to(device, &event);
}

void fake_async_push_to(struct fake_device *device, const struct vbd_pv_async_event *event)
{
	vbd_list_for_each (link, &g_fake.contexts) {
		struct fake_context *context = VBD_CONTAINER_OF(link, struct fake_context, link);

		if (context->device == device)
			push_async(context, event);
	}
}

void fake_cq_overrun(struct ibv_cq *cq, unsigned int times)
{
	struct fake_context *context = (struct fake_context *)(void *)cq->context;

	fake_lock();
	while (times--)
		fake_async_push_to(
			context->device, &(const struct vbd_pv_async_event){
						 .type = IBV_EVENT_CQ_ERR, .element.cq = cq});
	fake_unlock();
}

void fake_async_remove(const struct ibv_qp *qp)
{
	struct fake_context *context = (struct fake_context *)(void *)qp->context;

	vbd_list_for_each (link, &context->async_events) {
		struct async_event *event = VBD_CONTAINER_OF(link, struct async_event, link);

		if (event->event.subject != VBD_PV_OF_QP ||
			event->event.element.qp_num != qp->qp_num)
			continue;
		vbd_list_remove(&event->link);
		free(event);
		if (vbd_list_empty(&context->async_events))
			fake_fd_lower(context->ibv.async_fd);
	}
}

void fake_device_async(struct fake_device *device, enum ibv_event_type type, int port_num)
{
	fake_lock();
	fake_async_push(device, type, NULL, port_num);
	fake_unlock();
}

void fake_qp_async(struct ibv_qp *qp, enum ibv_event_type type)
{
	struct fake_context *context = (struct fake_context *)(void *)qp->context;

	fake_lock();
	fake_async_push(context->device, type, qp, 0);
	fake_unlock();
}

bool vbd_pv_next_async_event(struct ibv_context *ibv, struct vbd_pv_async_event *ret_event)
{
	struct fake_context *context = (struct fake_context *)(void *)ibv;
	struct async_event *event;

	fake_lock();
	event = take_async(context);
	if (event)
		*ret_event = event->event;
	fake_unlock();
	free(event);
	return event != NULL;
}

/* Protection domains and memory. */

enum vbd_status vbd_pv_alloc_pd(struct vbd_account *account, struct ibv_context *ibv,
	struct ibv_pd **ret_pd, struct vbd_error *err)
{
	struct fake_context *context = (struct fake_context *)(void *)ibv;
	struct fake_pd *pd;
	int errnum;

	fake_lock();
	errnum = fake_call(VBD_PV_CALL_ALLOC_PD);
	if (!errnum) {
		pd = fake_allocate(sizeof(*pd));
		pd->ibv.context = ibv;
		pd->context = context;
		context->children++;
		g_fake.live.pds++;
		vbd_list_append(&g_fake.pds, &pd->link);
		*ret_pd = &pd->ibv;
	}
	if (!errnum)
		vbd_account_made(account, VBD_PV_PD);
	fake_unlock();
	return fake_result(VBD_PV_CALL_ALLOC_PD, errnum, err);
}

static void free_pd(struct fake_pd *pd)
{
	vbd_list_remove(&pd->link);
	pd->context->children--;
	g_fake.live.pds--;
	free(pd);
}

void vbd_pv_dealloc_pd(struct vbd_account *account, struct ibv_pd *ibv)
{
	struct fake_pd *pd = (struct fake_pd *)(void *)ibv;

	if (!ibv)
		return;
	fake_lock();
	fake_note("ibv_dealloc_pd");
	if (pd->children) {
		fake_broken("a PD is deallocated with %u objects on it", pd->children);
	} else {
		free_pd(pd);
		vbd_account_destroyed(account, VBD_PV_PD);
	}
	fake_unlock();
}

static int register_memory(
	struct fake_pd *pd, void *addr, size_t length_bytes, int access, struct ibv_mr **ret_mr)
{
	struct fake_mr *mr;

	/* Registration pins the pages, so they must exist. */
	if (!addr || length_bytes == 0)
		return EINVAL;
	if ((access & IBV_ACCESS_REMOTE_WRITE) && !(access & IBV_ACCESS_LOCAL_WRITE))
		return EINVAL;
	mr = fake_allocate(sizeof(*mr));
	mr->pd = pd;
	mr->access = access;
	mr->ibv.context = pd->ibv.context;
	mr->ibv.pd = &pd->ibv;
	mr->ibv.addr = addr;
	mr->ibv.length = length_bytes;
	mr->ibv.lkey = ++g_fake.last_key;
	mr->ibv.rkey = ++g_fake.last_key;
	pd->children++;
	g_fake.live.mrs++;
	vbd_list_append(&g_fake.mrs, &mr->link);
	*ret_mr = &mr->ibv;
	return 0;
}

enum vbd_status vbd_pv_reg_mr(struct vbd_account *account, struct ibv_pd *ibv, void *addr,
	size_t length_bytes, int access, struct ibv_mr **ret_mr, struct vbd_error *err)
{
	int errnum = fake_takes_long(VBD_WAIT_REG_MR, length_bytes);

	fake_lock();
	if (!errnum)
		errnum = fake_call(VBD_PV_CALL_REG_MR);
	if (!errnum)
		errnum = register_memory(
			(struct fake_pd *)(void *)ibv, addr, length_bytes, access, ret_mr);
	if (!errnum)
		vbd_account_made(account, VBD_PV_MR);
	fake_unlock();
	return fake_result(VBD_PV_CALL_REG_MR, errnum, err);
}

static void free_mr(struct fake_mr *mr)
{
	vbd_list_remove(&mr->link);
	mr->pd->children--;
	g_fake.live.mrs--;
	free(mr);
}

void vbd_pv_dereg_mr(struct vbd_account *account, struct ibv_mr *ibv)
{
	if (!ibv)
		return;
	/* rxe waits for a peer's write that has begun and not ended. */
	fake_off_control(VBD_WAIT_DEREG_MR);
	fake_lock();
	fake_note("ibv_dereg_mr");
	if (((struct fake_mr *)(void *)ibv)->windows) {
		fake_broken("memory is deregistered with windows bound to it");
	} else {
		free_mr((struct fake_mr *)(void *)ibv);
		vbd_account_destroyed(account, VBD_PV_MR);
	}
	fake_unlock();
}

const struct fake_mr *fake_mr_by_key(
	const struct fake_pd *pd, uint32_t key, bool remote, uint64_t addr, uint32_t length_bytes)
{
	vbd_list_for_each (link, &g_fake.mrs) {
		const struct fake_mr *mr = VBD_CONTAINER_OF(link, struct fake_mr, link);
		uint64_t begin = (uintptr_t)mr->ibv.addr;

		if (mr->pd != pd || (remote ? mr->ibv.rkey : mr->ibv.lkey) != key)
			continue;
		if (addr < begin || addr - begin > mr->ibv.length ||
			length_bytes > mr->ibv.length - (addr - begin))
			return NULL;
		return mr;
	}
	return NULL;
}

void fake_reset(void)
{
	struct fake_context *context;
	struct fake_device *device;
	struct fake_pd *pd;
	struct fake_mr *mr;

	fake_unblock();
	fake_lock();
	fake_cm_reset();
	fake_ud_reset();
	fake_mw_reset();
	fake_data_reset();
	while ((mr = VBD_LIST_FIRST(&g_fake.mrs, struct fake_mr, link)))
		free_mr(mr);
	while ((pd = VBD_LIST_FIRST(&g_fake.pds, struct fake_pd, link)))
		free_pd(pd);
	while ((context = VBD_LIST_FIRST(&g_fake.contexts, struct fake_context, link)))
		free_context(context);
	while ((device = VBD_LIST_FIRST(&g_fake.devices, struct fake_device, link))) {
		vbd_list_remove(&device->link);
		free(device);
	}
	free(g_fake.calls);
	memset(&g_fake, 0, sizeof(g_fake));
	fake_unlock();
}
