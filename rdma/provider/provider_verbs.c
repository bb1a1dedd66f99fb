/* SPDX-License-Identifier: Apache-2.0 */
/* The provider made of librdmacm and libibverbs: devices, memory, queues. */
#include "rdma/provider/provider.h"

#include "rdma/provider/faults.h"
#include "rdma/provider/provider_parts.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <unistd.h>

static const char *device_name(const struct ibv_context *context)
{
	return ibv_get_device_name(context->device);
}

/* libibverbs keeps the name with which it found a device, and the folder of that name. */
static void read_present_name(struct vbd_pv_device *device)
{
	char path[128], name[sizeof(device->name)];
	FILE *file;

	(void)snprintf(
		path, sizeof(path), "/sys/class/infiniband_verbs/%s/ibdev", device->uverbs_name);
	file = fopen(path, "re");
	if (!file)
		return;
	if (fscanf(file, "%63s", name) == 1 && strcmp(name, device->name) != 0) {
		memcpy(device->name, name, sizeof(name));
		(void)snprintf(device->ibdev_path, sizeof(device->ibdev_path),
			"/sys/class/infiniband/%s", name);
	}
	(void)fclose(file);
}

enum vbd_status vbd_pv_list_devices(
	struct vbd_pv_device **ret_devices, size_t *ret_count, struct vbd_error *err)
{
	struct vbd_pv_device *devices;
	struct ibv_device **list = NULL;
	int count = 0, rc;

	rc = VBD_PV_RESULT(LIST_DEVICES, VBD_PV_MADE(&list, ibv_get_device_list(&count)));
	/* A kernel without uverbs has no devices, which is no error. */
	if (rc && rc != ENOSYS && rc != ENOENT)
		return vbd_pv_failed(VBD_PV_CALL_LIST_DEVICES, rc, err, "devices can't be listed");
	if (!list)
		count = 0;
	devices = calloc((size_t)count + 1, sizeof(*devices));
	if (!devices) {
		if (list)
			ibv_free_device_list(list);
		return vbd_error_set(err, VBD_E_NO_MEMORY, "devices can't be listed");
	}
	for (int i = 0; i < count; i++) {
		struct vbd_pv_device *device = &devices[i];

		(void)snprintf(
			device->name, sizeof(device->name), "%s", ibv_get_device_name(list[i]));
		memcpy(device->library_name, device->name, sizeof(device->name));
		(void)snprintf(
			device->ibdev_path, sizeof(device->ibdev_path), "%s", list[i]->ibdev_path);
		(void)snprintf(
			device->uverbs_name, sizeof(device->uverbs_name), "%s", list[i]->dev_name);
		device->transport = list[i]->transport_type;
		read_present_name(device);
	}
	if (list)
		ibv_free_device_list(list);
	*ret_devices = devices;
	*ret_count = (size_t)count;
	return VBD_OK;
}

enum vbd_status vbd_pv_set_nonblocking(int fd, struct vbd_error *err)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return vbd_error_errno(err, VBD_OK, "fcntl", errno, "descriptor %d", fd);
	return VBD_OK;
}

/*
 * Where a device file can't be opened, both libraries wait 5 s for udev (open_cdev_robust() in
 * util/open_cdev.c of rdma-core 44), and librdmacm opens a device of its own accord when the first
 * id is bound to it, in rdma_get_cm_event(3) on the control thread. They wait by inotify, which
 * nothing else in this process uses. Without it they give up at once, with the errno of the file.
 */
__attribute__((visibility("default"))) int inotify_init1(int flags)
{
	(void)flags;
	return -1;
}

/* The library tries other files of the device too, and has the errno of the last one, or none. */
static enum vbd_status set_open_error(
	const char *name, const char *uverbs_name, int errnum, struct vbd_error *err)
{
	bool of_file = !errnum || errnum == EACCES || errnum == EPERM || errnum == ENOENT;
	char path[128];
	int fd;

	(void)snprintf(path, sizeof(path), "/dev/infiniband/%s", uverbs_name);
	fd = of_file ? open(path, O_RDWR | O_CLOEXEC) : -1;
	if (of_file && fd < 0)
		return vbd_error_errno(err, VBD_OK, "ibv_open_device", errno,
			"device %s: %s can't be opened", name, path);
	if (fd >= 0)
		(void)close(fd);
	return vbd_error_errno(
		err, VBD_OK, "ibv_open_device", errnum, "device %s can't be opened", name);
}

enum vbd_status vbd_pv_open_device(struct vbd_account *account, const char *uverbs_name,
	struct ibv_context **ret_context, struct vbd_error *err)
{
	struct ibv_context *context = NULL;
	struct ibv_device **list;
	enum vbd_status status;
	char name[VBD_DEVICE_NAME_BYTES] = "";
	int open_errno = ENODEV, rc = vbd_pv_fault(VBD_PV_CALL_OPEN_DEVICE);

	if (rc)
		return vbd_pv_failed(VBD_PV_CALL_OPEN_DEVICE, rc, err, "device %s", uverbs_name);
	list = ibv_get_device_list(NULL);
	if (!list)
		return vbd_error_errno(
			err, VBD_OK, "ibv_get_device_list", errno, "device %s", uverbs_name);
	for (struct ibv_device **device = list; *device; device++) {
		if (strcmp((*device)->dev_name, uverbs_name) != 0)
			continue;
		errno = 0;
		context = ibv_open_device(*device);
		open_errno = errno;
		(void)snprintf(name, sizeof(name), "%s", ibv_get_device_name(*device));
		break;
	}
	ibv_free_device_list(list);
	if (!context)
		return set_open_error(*name ? name : uverbs_name, uverbs_name, open_errno, err);
	status = vbd_pv_set_nonblocking(context->async_fd, err);
	if (status) {
		(void)ibv_close_device(context);
		return status;
	}
	vbd_account_made(account, VBD_PV_CONTEXT);
	*ret_context = context;
	return VBD_OK;
}

DIR *vbd_pv_open_counters(const char *path)
{
	return opendir(path);
}

void vbd_pv_close_device(struct vbd_account *account, struct ibv_context *context)
{
	if (!context)
		return;
	vbd_cm_context_device_closed(context->device);
	(void)ibv_close_device(context);
	vbd_account_destroyed(account, VBD_PV_CONTEXT);
}

enum vbd_status vbd_pv_query_device(
	struct ibv_context *context, struct ibv_device_attr_ex *ret_attr, struct vbd_error *err)
{
	/* Members that an older driver does not fill must be 0. */
	memset(ret_attr, 0, sizeof(*ret_attr));
	return VBD_PV_DO(QUERY_DEVICE, ibv_query_device_ex(context, NULL, ret_attr), err,
		"device %s", device_name(context));
}

bool vbd_pv_resizes_cqs(struct ibv_context *context)
{
	struct ibv_cq *cq = ibv_create_cq(context, 1, NULL, NULL, 0);
	bool resized;

	if (!cq)
		return false;
	resized = ibv_resize_cq(cq, 2) == 0;
	(void)ibv_destroy_cq(cq);
	return resized;
}

enum vbd_status vbd_pv_query_port(struct ibv_context *context, uint8_t port_num,
	struct ibv_port_attr *ret_attr, struct vbd_error *err)
{
	return VBD_PV_DO(QUERY_PORT, ibv_query_port(context, port_num, ret_attr), err,
		"device %s port %u", device_name(context), port_num);
}

enum vbd_status vbd_pv_query_gids(struct ibv_context *context, struct ibv_gid_entry *entries,
	size_t max_entries, size_t *ret_count, struct vbd_error *err)
{
	ssize_t count = 0;
	enum vbd_status status = VBD_PV_DO(QUERY_GIDS,
		(count = ibv_query_gid_table(context, entries, max_entries, 0)) < 0 ? (int)count
										    : 0,
		err, "device %s", device_name(context));

	if (!status)
		*ret_count = (size_t)count;
	return status;
}

enum vbd_status vbd_pv_query_gid(struct ibv_context *context, uint8_t port_num, uint32_t gid_index,
	struct ibv_gid_entry *ret_entry, struct vbd_error *err)
{
	return VBD_PV_DO(QUERY_GID, ibv_query_gid_ex(context, port_num, gid_index, ret_entry, 0),
		err, "device %s port %u GID %u", device_name(context), port_num, gid_index);
}

bool vbd_pv_next_async_event(struct ibv_context *context, struct vbd_pv_async_event *ret_event)
{
	struct ibv_async_event event;

	if (ibv_get_async_event(context, &event) != 0)
		return false;
	*ret_event = (struct vbd_pv_async_event){.type = (int)event.event_type};
	switch (event.event_type) {
	case IBV_EVENT_CQ_ERR:
		ret_event->subject = VBD_PV_OF_CQ;
		ret_event->element.cq = event.element.cq;
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		ret_event->subject = VBD_PV_OF_QP;
		ret_event->element.qp_num = event.element.qp->qp_num;
		break;
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_PKEY_CHANGE:
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER:
	case IBV_EVENT_GID_CHANGE:
		ret_event->subject = VBD_PV_OF_PORT;
		ret_event->element.port_num = event.element.port_num;
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		ret_event->subject = VBD_PV_OF_SRQ;
		ret_event->element.srq = event.element.srq;
		break;
	case IBV_EVENT_DEVICE_FATAL:
	case IBV_EVENT_WQ_FATAL:
		break;
	}
	ibv_ack_async_event(&event);
	return true;
}

static enum vbd_status count_made(
	struct vbd_account *account, enum vbd_pv_object type, enum vbd_status status)
{
	if (status == VBD_OK)
		vbd_account_made(account, type);
	return status;
}

#define DESTROYER(function, type, destroy, object)                     \
	void function(struct vbd_account *account, struct type *thing) \
	{                                                              \
		if (!thing)                                            \
			return;                                        \
		(void)destroy(thing);                                  \
		vbd_account_destroyed(account, object);                \
	}

DESTROYER(vbd_pv_dealloc_pd, ibv_pd, ibv_dealloc_pd, VBD_PV_PD)
DESTROYER(vbd_pv_dereg_mr, ibv_mr, ibv_dereg_mr, VBD_PV_MR)
DESTROYER(vbd_pv_destroy_cq, ibv_cq, ibv_destroy_cq, VBD_PV_CQ)
DESTROYER(vbd_pv_destroy_qp, ibv_qp, ibv_destroy_qp, VBD_PV_QP)
DESTROYER(vbd_pv_destroy_srq, ibv_srq, ibv_destroy_srq, VBD_PV_SRQ)

enum vbd_status vbd_pv_alloc_pd(struct vbd_account *account, struct ibv_context *context,
	struct ibv_pd **ret_pd, struct vbd_error *err)
{
	return count_made(account, VBD_PV_PD,
		VBD_PV_DO(ALLOC_PD, VBD_PV_MADE(ret_pd, ibv_alloc_pd(context)), err, "device %s",
			device_name(context)));
}

/* ENOMEM means the memlock limit far more often than memory: ib_umem_get() returns it for both
 * (kernel 6.1). */
static enum vbd_status set_pinning_error(int rc, size_t length_bytes, struct vbd_error *err)
{
	struct rlimit limit;

	if (rc != ENOMEM || getrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
		limit.rlim_cur == RLIM_INFINITY)
		return vbd_pv_failed(
			VBD_PV_CALL_REG_MR, rc, err, "%zu bytes can't be registered", length_bytes);
	if (err && err->status == VBD_OK) {
		err->limit = limit.rlim_cur;
		(void)strcpy(err->limit_name, "RLIMIT_MEMLOCK");
	}
	return vbd_error_errno(err, VBD_E_MEMLOCK, "ibv_reg_mr", rc,
		"%zu bytes can't be locked: RLIMIT_MEMLOCK is %llu bytes", length_bytes,
		(unsigned long long)limit.rlim_cur);
}

enum vbd_status vbd_pv_reg_mr(struct vbd_account *account, struct ibv_pd *pd, void *addr,
	size_t length_bytes, int access, struct ibv_mr **ret_mr, struct vbd_error *err)
{
	int rc = VBD_PV_RESULT(REG_MR,
		VBD_PV_MADE(ret_mr, ibv_reg_mr(pd, addr, length_bytes, (unsigned int)access)));

	return count_made(
		account, VBD_PV_MR, rc ? set_pinning_error(rc, length_bytes, err) : VBD_OK);
}

enum vbd_status vbd_pv_alloc_mw(
	struct ibv_pd *pd, enum ibv_mw_type type, struct ibv_mw **ret_mw, struct vbd_error *err)
{
	return VBD_PV_DO(ALLOC_MW, VBD_PV_MADE(ret_mw, ibv_alloc_mw(pd, type)), err, "device %s",
		device_name(pd->context));
}

void vbd_pv_dealloc_mw(struct ibv_mw *mw)
{
	if (mw)
		(void)ibv_dealloc_mw(mw);
}

enum vbd_status vbd_pv_create_comp_channel(struct ibv_context *context,
	struct ibv_comp_channel **ret_comp_channel, struct vbd_error *err)
{
	struct ibv_comp_channel *comp_channel = NULL;
	enum vbd_status status = VBD_PV_DO(CREATE_COMP_CHANNEL,
		VBD_PV_MADE(&comp_channel, ibv_create_comp_channel(context)), err, "device %s",
		device_name(context));

	if (!status)
		status = vbd_pv_set_nonblocking(comp_channel->fd, err);
	if (status)
		vbd_pv_destroy_comp_channel(comp_channel);
	else
		*ret_comp_channel = comp_channel;
	return status;
}

void vbd_pv_destroy_comp_channel(struct ibv_comp_channel *comp_channel)
{
	if (comp_channel)
		(void)ibv_destroy_comp_channel(comp_channel);
}

enum vbd_status vbd_pv_create_cq(struct vbd_account *account, struct ibv_context *context,
	uint32_t depth_cqe, void *cq_context, struct ibv_comp_channel *comp_channel,
	unsigned int comp_vector, struct ibv_cq **ret_cq, struct vbd_error *err)
{
	int vectors = context->num_comp_vectors > 0 ? context->num_comp_vectors : 1;
	int vector = (int)(comp_vector % (unsigned int)vectors);

	return count_made(account, VBD_PV_CQ,
		VBD_PV_DO(CREATE_CQ,
			VBD_PV_MADE(ret_cq, ibv_create_cq(context, (int)depth_cqe, cq_context,
						    comp_channel, vector)),
			err, "device %s, %u entries", device_name(context), depth_cqe));
}

enum vbd_status vbd_pv_resize_cq(struct ibv_cq *cq, uint32_t depth_cqe, struct vbd_error *err)
{
	return VBD_PV_DO(RESIZE_CQ, ibv_resize_cq(cq, (int)depth_cqe), err, "%d to %u entries",
		cq->cqe, depth_cqe);
}

enum vbd_status vbd_pv_moderate_cq(
	struct ibv_cq *cq, uint16_t count, uint16_t period_us, struct vbd_error *err)
{
	struct ibv_modify_cq_attr attr = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = {.cq_count = count, .cq_period = period_us},
	};

	return VBD_PV_DO(
		MODERATE_CQ, ibv_modify_cq(cq, &attr), err, "count %u, %u us", count, period_us);
}

enum vbd_status vbd_pv_arm_cq(struct ibv_cq *cq, struct vbd_error *err)
{
	return VBD_PV_DO(ARM_CQ, ibv_req_notify_cq(cq, 0), err, "completion queue can't be armed");
}

void *vbd_pv_take_cq_event(struct ibv_comp_channel *comp_channel)
{
	struct ibv_cq *cq = NULL;
	void *cq_context = NULL;

	if (ibv_get_cq_event(comp_channel, &cq, &cq_context) != 0)
		return NULL;
	ibv_ack_cq_events(cq, 1);
	return cq_context;
}

unsigned int vbd_pv_poll_cq(struct ibv_cq *cq, struct ibv_wc *wcs, unsigned int max)
{
	int count = ibv_poll_cq(cq, (int)max, wcs);

	return count > 0 ? (unsigned int)count : 0;
}

enum vbd_status vbd_pv_create_qp(struct vbd_account *account, struct ibv_pd *pd,
	struct ibv_qp_init_attr *init, struct ibv_qp **ret_qp, struct vbd_error *err)
{
	return count_made(account, VBD_PV_QP,
		VBD_PV_DO(CREATE_QP, VBD_PV_MADE(ret_qp, ibv_create_qp(pd, init)), err,
			"sq_depth %u, rq_depth %u, inline %u bytes", init->cap.max_send_wr,
			init->cap.max_recv_wr, init->cap.max_inline_data));
}

enum vbd_status vbd_pv_modify_qp(
	struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask, struct vbd_error *err)
{
	return VBD_PV_DO(MODIFY_QP, ibv_modify_qp(qp, attr, mask), err, "qp 0x%06x", qp->qp_num);
}

enum vbd_status vbd_pv_query_qp(
	struct ibv_qp *qp, struct ibv_qp_attr *ret_attr, int mask, struct vbd_error *err)
{
	struct ibv_qp_init_attr init;

	return VBD_PV_DO(
		QUERY_QP, ibv_query_qp(qp, ret_attr, mask, &init), err, "qp 0x%06x", qp->qp_num);
}

enum vbd_status vbd_pv_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
	struct ibv_send_wr **ret_bad, struct vbd_error *err)
{
	*ret_bad = wr;
	return VBD_PV_DO(POST_SEND, ibv_post_send(qp, wr, ret_bad), err, "qp 0x%06x", qp->qp_num);
}

enum vbd_status vbd_pv_bind_mw(
	struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind, struct vbd_error *err)
{
	return VBD_PV_DO(BIND_MW, ibv_bind_mw(qp, mw, bind), err, "qp 0x%06x", qp->qp_num);
}

enum vbd_status vbd_pv_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
	struct ibv_recv_wr **ret_bad, struct vbd_error *err)
{
	*ret_bad = wr;
	return VBD_PV_DO(POST_RECV, ibv_post_recv(qp, wr, ret_bad), err, "qp 0x%06x", qp->qp_num);
}

enum vbd_status vbd_pv_create_srq(struct vbd_account *account, struct ibv_pd *pd, uint32_t max_wr,
	struct ibv_srq **ret_srq, struct vbd_error *err)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = max_wr, .max_sge = 1}};

	return count_made(account, VBD_PV_SRQ,
		VBD_PV_DO(CREATE_SRQ, VBD_PV_MADE(ret_srq, ibv_create_srq(pd, &init)), err,
			"%u receives", max_wr));
}

enum vbd_status vbd_pv_arm_srq(struct ibv_srq *srq, uint32_t limit, struct vbd_error *err)
{
	struct ibv_srq_attr attr = {.srq_limit = limit};

	return VBD_PV_DO(
		ARM_SRQ, ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), err, "limit %u", limit);
}

enum vbd_status vbd_pv_post_srq_recv(
	struct ibv_srq *srq, struct ibv_recv_wr *wr, struct vbd_error *err)
{
	struct ibv_recv_wr *bad;

	return VBD_PV_DO(POST_SRQ_RECV, ibv_post_srq_recv(srq, wr, &bad), err, "a shared receive");
}
