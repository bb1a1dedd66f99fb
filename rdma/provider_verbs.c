/* SPDX-License-Identifier: Apache-2.0 */
/* The provider that is made of librdmacm and libibverbs. */
#include "rdma/provider.h"

#include "rdma/cm_context.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum vbd_status vbd_pv_list_devices(
	struct vbd_pv_device **ret_devices, size_t *ret_count, struct vbd_error *err)
{
	struct vbd_pv_device *devices;
	struct ibv_device **list;
	int count = 0;

	list = ibv_get_device_list(&count);
	if (!list) {
		/* A kernel without uverbs has no devices, which is no error of ours. */
		if (errno != ENOSYS && errno != ENOENT)
			return vbd_error_errno(err, VBD_OK, "ibv_get_device_list", errno,
				"devices can't be listed");
		count = 0;
	}
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
		(void)snprintf(
			device->ibdev_path, sizeof(device->ibdev_path), "%s", list[i]->ibdev_path);
		(void)snprintf(
			device->uverbs_name, sizeof(device->uverbs_name), "%s", list[i]->dev_name);
		device->transport = list[i]->transport_type;
	}
	if (list)
		ibv_free_device_list(list);
	*ret_devices = devices;
	*ret_count = (size_t)count;
	return VBD_OK;
}

static enum vbd_status set_nonblocking(int fd, struct vbd_error *err)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return vbd_error_errno(err, VBD_OK, "fcntl", errno, "descriptor %d", fd);
	return VBD_OK;
}

enum vbd_status vbd_pv_open_device(
	const char *name, struct ibv_context **ret_context, struct vbd_error *err)
{
	struct ibv_context *context = NULL;
	struct ibv_device **list;
	enum vbd_status status;
	int open_errno = ENODEV;

	list = ibv_get_device_list(NULL);
	if (!list)
		return vbd_error_errno(
			err, VBD_OK, "ibv_get_device_list", errno, "device %s", name);
	for (struct ibv_device **device = list; *device; device++) {
		if (strcmp(ibv_get_device_name(*device), name) != 0)
			continue;
		errno = 0;
		context = ibv_open_device(*device);
		open_errno = errno ? errno : EIO;
		break;
	}
	ibv_free_device_list(list);
	if (!context)
		return vbd_error_errno(err, VBD_OK, "ibv_open_device", open_errno,
			"device %s can't be opened", name);
	status = set_nonblocking(context->async_fd, err);
	if (status) {
		(void)ibv_close_device(context);
		return status;
	}
	*ret_context = context;
	return VBD_OK;
}

void vbd_pv_close_device(struct ibv_context *context)
{
	if (!context)
		return;
	vbd_cm_context_device_closed(context->device);
	(void)ibv_close_device(context);
}

enum vbd_status vbd_pv_query_device(
	struct ibv_context *context, struct ibv_device_attr_ex *ret_attr, struct vbd_error *err)
{
	int rc;

	/* What an older driver does not fill is not there. */
	memset(ret_attr, 0, sizeof(*ret_attr));
	rc = ibv_query_device_ex(context, NULL, ret_attr);
	if (rc)
		return vbd_error_errno(err, VBD_OK, "ibv_query_device_ex", rc, "device %s",
			ibv_get_device_name(context->device));
	return VBD_OK;
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
	int rc = ibv_query_port(context, port_num, ret_attr);

	if (rc)
		return vbd_error_errno(err, VBD_OK, "ibv_query_port", rc, "device %s port %u",
			ibv_get_device_name(context->device), port_num);
	return VBD_OK;
}

enum vbd_status vbd_pv_query_gids(struct ibv_context *context, struct ibv_gid_entry *entries,
	size_t max_entries, size_t *ret_count, struct vbd_error *err)
{
	ssize_t count = ibv_query_gid_table(context, entries, max_entries, 0);

	if (count < 0)
		return vbd_error_errno(err, VBD_OK, "ibv_query_gid_table", (int)-count, "device %s",
			ibv_get_device_name(context->device));
	*ret_count = (size_t)count;
	return VBD_OK;
}

enum vbd_status vbd_pv_query_gid(struct ibv_context *context, uint8_t port_num, uint32_t gid_index,
	struct ibv_gid_entry *ret_entry, struct vbd_error *err)
{
	int rc = ibv_query_gid_ex(context, port_num, gid_index, ret_entry, 0);

	if (rc)
		return vbd_error_errno(err, VBD_OK, "ibv_query_gid_ex", rc,
			"device %s port %u GID %u", ibv_get_device_name(context->device), port_num,
			gid_index);
	return VBD_OK;
}

bool vbd_pv_next_async_event(struct ibv_context *context, struct vbd_pv_async_event *ret_event)
{
	struct ibv_async_event event;

	if (ibv_get_async_event(context, &event) != 0)
		return false;
	*ret_event = (struct vbd_pv_async_event){.type = (int)event.event_type};
	switch (event.event_type) {
	case IBV_EVENT_CQ_ERR:
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
		ret_event->element.qp = event.element.qp;
		break;
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_PKEY_CHANGE:
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER:
	case IBV_EVENT_GID_CHANGE:
		ret_event->element.port_num = event.element.port_num;
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		ret_event->element.srq = event.element.srq;
		break;
	case IBV_EVENT_DEVICE_FATAL:
	case IBV_EVENT_WQ_FATAL:
		break;
	}
	ibv_ack_async_event(&event);
	return true;
}

enum vbd_status vbd_pv_alloc_pd(
	struct ibv_context *context, struct ibv_pd **ret_pd, struct vbd_error *err)
{
	errno = 0;
	*ret_pd = ibv_alloc_pd(context);
	if (!*ret_pd)
		return vbd_error_errno(err, VBD_OK, "ibv_alloc_pd", errno, "device %s",
			ibv_get_device_name(context->device));
	return VBD_OK;
}

void vbd_pv_dealloc_pd(struct ibv_pd *pd)
{
	if (pd)
		(void)ibv_dealloc_pd(pd);
}

/* ENOMEM means the memlock limit far more often than memory: ib_umem_get() answers it for both
 * (kernel 6.1). */
static enum vbd_status pinning_failed(
	const char *call, int errnum, size_t length_bytes, struct vbd_error *err)
{
	struct rlimit limit;

	if (errnum != ENOMEM || getrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
		limit.rlim_cur == RLIM_INFINITY)
		return vbd_error_errno(
			err, VBD_OK, call, errnum, "%zu bytes can't be registered", length_bytes);
	if (err && err->status == VBD_OK)
		err->limit = limit.rlim_cur;
	return vbd_error_errno(err, VBD_E_MEMLOCK, call, errnum,
		"%zu bytes can't be locked: RLIMIT_MEMLOCK is %llu bytes", length_bytes,
		(unsigned long long)limit.rlim_cur);
}

enum vbd_status vbd_pv_reg_mr(struct ibv_pd *pd, void *addr, size_t length_bytes, int access,
	struct ibv_mr **ret_mr, struct vbd_error *err)
{
	struct ibv_mr *mr;

	errno = 0;
	mr = ibv_reg_mr(pd, addr, length_bytes, (unsigned int)access);
	if (!mr)
		return pinning_failed("ibv_reg_mr", errno, length_bytes, err);
	*ret_mr = mr;
	return VBD_OK;
}

void vbd_pv_dereg_mr(struct ibv_mr *mr)
{
	if (mr)
		(void)ibv_dereg_mr(mr);
}

enum vbd_status vbd_pv_alloc_mw(
	struct ibv_pd *pd, enum ibv_mw_type type, struct ibv_mw **ret_mw, struct vbd_error *err)
{
	struct ibv_mw *mw;

	errno = 0;
	mw = ibv_alloc_mw(pd, type);
	if (!mw)
		return vbd_error_errno(err, errno == ENOMEM ? VBD_E_DEVICE_LIMIT : VBD_OK,
			"ibv_alloc_mw", errno, "device %s",
			ibv_get_device_name(pd->context->device));
	*ret_mw = mw;
	return VBD_OK;
}

void vbd_pv_dealloc_mw(struct ibv_mw *mw)
{
	if (mw)
		(void)ibv_dealloc_mw(mw);
}

enum vbd_status vbd_pv_create_comp_channel(
	struct ibv_context *context, struct ibv_comp_channel **ret_channel, struct vbd_error *err)
{
	struct ibv_comp_channel *channel;
	enum vbd_status status;

	errno = 0;
	channel = ibv_create_comp_channel(context);
	if (!channel)
		return vbd_error_errno(err, VBD_OK, "ibv_create_comp_channel", errno, "device %s",
			ibv_get_device_name(context->device));
	status = set_nonblocking(channel->fd, err);
	if (status) {
		(void)ibv_destroy_comp_channel(channel);
		return status;
	}
	*ret_channel = channel;
	return VBD_OK;
}

void vbd_pv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	if (channel)
		(void)ibv_destroy_comp_channel(channel);
}

enum vbd_status vbd_pv_create_cq(struct ibv_context *context, uint32_t depth_cqe, void *cq_context,
	struct ibv_comp_channel *channel, struct ibv_cq **ret_cq, struct vbd_error *err)
{
	struct ibv_cq *cq;

	errno = 0;
	cq = ibv_create_cq(context, (int)depth_cqe, cq_context, channel, 0);
	if (!cq)
		return vbd_error_errno(err, VBD_OK, "ibv_create_cq", errno, "device %s, %u entries",
			ibv_get_device_name(context->device), depth_cqe);
	*ret_cq = cq;
	return VBD_OK;
}

void vbd_pv_destroy_cq(struct ibv_cq *cq)
{
	if (cq)
		(void)ibv_destroy_cq(cq);
}

enum vbd_status vbd_pv_resize_cq(struct ibv_cq *cq, uint32_t depth_cqe, struct vbd_error *err)
{
	int rc = ibv_resize_cq(cq, (int)depth_cqe);

	if (rc)
		return vbd_error_errno(
			err, VBD_OK, "ibv_resize_cq", rc, "%d to %u entries", cq->cqe, depth_cqe);
	return VBD_OK;
}

enum vbd_status vbd_pv_moderate_cq(
	struct ibv_cq *cq, uint16_t count, uint16_t period_us, struct vbd_error *err)
{
	struct ibv_modify_cq_attr attr = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = {.cq_count = count, .cq_period = period_us},
	};
	int rc = ibv_modify_cq(cq, &attr);

	if (rc)
		return vbd_error_errno(
			err, VBD_OK, "ibv_modify_cq", rc, "count %u, %u us", count, period_us);
	return VBD_OK;
}

enum vbd_status vbd_pv_arm_cq(struct ibv_cq *cq, struct vbd_error *err)
{
	int rc = ibv_req_notify_cq(cq, 0);

	if (rc)
		return vbd_error_errno(
			err, VBD_OK, "ibv_req_notify_cq", rc, "completion queue can't be armed");
	return VBD_OK;
}

void *vbd_pv_take_cq_event(struct ibv_comp_channel *channel)
{
	struct ibv_cq *cq = NULL;
	void *cq_context = NULL;

	if (ibv_get_cq_event(channel, &cq, &cq_context) != 0)
		return NULL;
	ibv_ack_cq_events(cq, 1);
	return cq_context;
}

unsigned int vbd_pv_poll_cq(struct ibv_cq *cq, struct ibv_wc *wcs, unsigned int max)
{
	int count = ibv_poll_cq(cq, (int)max, wcs);

	return count > 0 ? (unsigned int)count : 0;
}

enum vbd_status vbd_pv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init,
	struct ibv_qp **ret_qp, struct vbd_error *err)
{
	struct ibv_qp *qp;

	errno = 0;
	qp = ibv_create_qp(pd, init);
	if (!qp)
		return vbd_error_errno(err, VBD_OK, "ibv_create_qp", errno,
			"sq_depth %u, rq_depth %u, inline %u bytes", init->cap.max_send_wr,
			init->cap.max_recv_wr, init->cap.max_inline_data);
	*ret_qp = qp;
	return VBD_OK;
}

enum vbd_status vbd_pv_modify_qp(
	struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask, struct vbd_error *err)
{
	int rc = ibv_modify_qp(qp, attr, mask);

	if (rc)
		return vbd_error_errno(
			err, VBD_E_VERBS_ERROR, "ibv_modify_qp", rc, "qp 0x%06x", qp->qp_num);
	return VBD_OK;
}

enum vbd_status vbd_pv_query_qp(
	struct ibv_qp *qp, struct ibv_qp_attr *ret_attr, int mask, struct vbd_error *err)
{
	struct ibv_qp_init_attr init;
	int rc = ibv_query_qp(qp, ret_attr, mask, &init);

	if (rc)
		return vbd_error_errno(
			err, VBD_E_VERBS_ERROR, "ibv_query_qp", rc, "qp 0x%06x", qp->qp_num);
	return VBD_OK;
}

void vbd_pv_destroy_qp(struct ibv_qp *qp)
{
	if (qp)
		(void)ibv_destroy_qp(qp);
}

enum vbd_status vbd_pv_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct vbd_error *err)
{
	struct ibv_send_wr *bad;
	int rc = ibv_post_send(qp, wr, &bad);

	/* siw's library gives it negative. */
	if (rc)
		return vbd_error_errno(
			err, VBD_E_VERBS_ERROR, "ibv_post_send", abs(rc), "qp 0x%06x", qp->qp_num);
	return VBD_OK;
}

enum vbd_status vbd_pv_bind_mw(
	struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind, struct vbd_error *err)
{
	int rc = ibv_bind_mw(qp, mw, bind);

	if (rc)
		return vbd_error_errno(
			err, VBD_E_VERBS_ERROR, "ibv_bind_mw", rc, "qp 0x%06x", qp->qp_num);
	return VBD_OK;
}

enum vbd_status vbd_pv_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct vbd_error *err)
{
	struct ibv_recv_wr *bad;
	int rc = ibv_post_recv(qp, wr, &bad);

	if (rc)
		return vbd_error_errno(
			err, VBD_E_VERBS_ERROR, "ibv_post_recv", abs(rc), "qp 0x%06x", qp->qp_num);
	return VBD_OK;
}

enum vbd_status vbd_pv_create_srq(
	struct ibv_pd *pd, uint32_t max_wr, struct ibv_srq **ret_srq, struct vbd_error *err)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = max_wr, .max_sge = 1}};
	struct ibv_srq *srq;

	errno = 0;
	srq = ibv_create_srq(pd, &init);
	if (!srq)
		return vbd_error_errno(err, VBD_OK, "ibv_create_srq", errno, "%u receives", max_wr);
	*ret_srq = srq;
	return VBD_OK;
}

enum vbd_status vbd_pv_arm_srq(struct ibv_srq *srq, uint32_t limit, struct vbd_error *err)
{
	struct ibv_srq_attr attr = {.srq_limit = limit};
	int rc = ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT);

	if (rc)
		return vbd_error_errno(err, VBD_OK, "ibv_modify_srq", rc, "limit %u", limit);
	return VBD_OK;
}

void vbd_pv_destroy_srq(struct ibv_srq *srq)
{
	if (srq)
		(void)ibv_destroy_srq(srq);
}

enum vbd_status vbd_pv_post_srq_recv(
	struct ibv_srq *srq, struct ibv_recv_wr *wr, struct vbd_error *err)
{
	struct ibv_recv_wr *bad;
	int rc = ibv_post_srq_recv(srq, wr, &bad);

	if (rc)
		return vbd_error_errno(
			err, VBD_E_VERBS_ERROR, "ibv_post_srq_recv", rc, "a shared receive");
	return VBD_OK;
}

enum vbd_status vbd_pv_create_event_channel(
	struct rdma_event_channel **ret_channel, struct vbd_error *err)
{
	struct rdma_event_channel *channel;
	enum vbd_status status;

	errno = 0;
	channel = rdma_create_event_channel();
	if (!channel)
		return vbd_error_errno(err, errno == ENOENT ? VBD_E_NO_DEVICE : VBD_OK,
			"rdma_create_event_channel", errno, "no rdma_cm");
	status = set_nonblocking(channel->fd, err);
	if (status) {
		rdma_destroy_event_channel(channel);
		return status;
	}
	*ret_channel = channel;
	return VBD_OK;
}

void vbd_pv_destroy_event_channel(struct rdma_event_channel *channel)
{
	if (channel)
		rdma_destroy_event_channel(channel);
}

int vbd_pv_event_channel_fd(const struct rdma_event_channel *channel)
{
	return channel->fd;
}

static void copy_private_data(
	const void *data, uint8_t len_bytes, struct vbd_pv_cm_event *ret_event)
{
	if (!data || !len_bytes)
		return;
	ret_event->private_data_bytes = len_bytes;
	memcpy(ret_event->private_data, data, len_bytes);
}

static void copy_conn_param(const struct rdma_conn_param *param, struct vbd_pv_cm_event *ret_event)
{
	ret_event->has_conn_param = true;
	ret_event->responder_resources = param->responder_resources;
	ret_event->initiator_depth = param->initiator_depth;
	ret_event->rnr_retry_count = param->rnr_retry_count;
	ret_event->qp_num = param->qp_num;
	copy_private_data(param->private_data, param->private_data_len, ret_event);
}

static void copy_ud_param(const struct rdma_ud_param *param, struct vbd_pv_cm_event *ret_event)
{
	ret_event->has_ud_param = true;
	ret_event->ah_attr = param->ah_attr;
	ret_event->qp_num = param->qp_num;
	ret_event->qkey = param->qkey;
}

/* Which of the two an event carries depends on the port space of its id. */
static void copy_param(const struct rdma_cm_event *event, struct vbd_pv_cm_event *ret_event)
{
	const struct rdma_ud_param *ud = &event->param.ud;

	if (event->id->qp_type != IBV_QPT_UD) {
		copy_conn_param(&event->param.conn, ret_event);
		return;
	}
	copy_private_data(ud->private_data, ud->private_data_len, ret_event);
	if (event->event == RDMA_CM_EVENT_ESTABLISHED)
		copy_ud_param(ud, ret_event);
}

bool vbd_pv_next_cm_event(struct rdma_event_channel *channel, struct vbd_pv_cm_event *ret_event)
{
	struct rdma_cm_event *event;
	struct pollfd readable = {.fd = channel->fd, .events = POLLIN};

	/*
	 * Looked at first: librdmacm may answer a failed internal event with an error though more
	 * events wait, and the descriptor alone says whether there is one.
	 */
	if (poll(&readable, 1, 0) <= 0 || rdma_get_cm_event(channel, &event) != 0)
		return false;
	memset(ret_event, 0, offsetof(struct vbd_pv_cm_event, private_data));
	ret_event->type = event->event;
	ret_event->status = event->status;
	ret_event->id = event->id;
	ret_event->id_context = event->event == RDMA_CM_EVENT_CONNECT_REQUEST
					? event->listen_id->context
					: event->id->context;
	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		vbd_cm_context_bound(event->id->verbs);
		copy_param(event, ret_event);
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
	case RDMA_CM_EVENT_ESTABLISHED:
	case RDMA_CM_EVENT_REJECTED:
		copy_param(event, ret_event);
		break;
	case RDMA_CM_EVENT_MULTICAST_JOIN:
		copy_ud_param(&event->param.ud, ret_event);
		break;
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		vbd_cm_context_bound(event->id->verbs);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
	case RDMA_CM_EVENT_MULTICAST_ERROR:
	case RDMA_CM_EVENT_ADDR_CHANGE:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	}
	(void)rdma_ack_cm_event(event);
	return true;
}

enum vbd_status vbd_pv_create_id(struct rdma_event_channel *channel, void *id_context,
	struct rdma_cm_id **ret_id, struct vbd_error *err)
{
	if (rdma_create_id(channel, ret_id, id_context, RDMA_PS_TCP) != 0)
		return vbd_error_errno(err, VBD_OK, "rdma_create_id", errno, "no CM id");
	return VBD_OK;
}

void vbd_pv_destroy_id(struct rdma_cm_id *id)
{
	const struct ibv_device *device;

	if (!id)
		return;
	device = id->verbs ? id->verbs->device : NULL;
	(void)rdma_destroy_id(id);
	vbd_cm_context_unbound(device);
}

void vbd_pv_set_id_context(struct rdma_cm_id *id, void *id_context)
{
	id->context = id_context;
}

enum vbd_status vbd_pv_bind_addr(
	struct rdma_cm_id *id, const struct sockaddr *addr, struct vbd_error *err)
{
	/* rdma_bind_addr(3) does not write to the address. */
	if (rdma_bind_addr(id, (struct sockaddr *)(uintptr_t)addr) != 0)
		return vbd_error_errno(err, errno == ENODEV ? VBD_E_ADDRESS_NOT_AVAILABLE : VBD_OK,
			"rdma_bind_addr", errno, "the address can't be bound");
	vbd_cm_context_bound(id->verbs);
	return VBD_OK;
}

enum vbd_status vbd_pv_listen(struct rdma_cm_id *id, int backlog, struct vbd_error *err)
{
	if (rdma_listen(id, backlog) != 0)
		return vbd_error_errno(err, VBD_OK, "rdma_listen", errno, "no listening");
	return VBD_OK;
}

enum vbd_status vbd_pv_resolve_addr(struct rdma_cm_id *id, const struct sockaddr *src,
	const struct sockaddr *dst, int timeout_ms, struct vbd_error *err)
{
	if (rdma_resolve_addr(id, (struct sockaddr *)(uintptr_t)src,
		    (struct sockaddr *)(uintptr_t)dst, timeout_ms) != 0)
		return vbd_error_errno(err,
			errno == EADDRNOTAVAIL || errno == EADDRINUSE ? VBD_OK : VBD_E_ADDR_ERROR,
			"rdma_resolve_addr", errno, "the address can't be resolved");
	return VBD_OK;
}

enum vbd_status vbd_pv_resolve_route(struct rdma_cm_id *id, int timeout_ms, struct vbd_error *err)
{
	if (rdma_resolve_route(id, timeout_ms) != 0)
		return vbd_error_errno(
			err, VBD_E_ROUTE_ERROR, "rdma_resolve_route", errno, "no route");
	return VBD_OK;
}

static enum vbd_status set_option(struct rdma_cm_id *id, int option, const void *value,
	size_t value_bytes, const char *what, struct vbd_error *err)
{
	/* rdma_set_option(3) does not write to the value. */
	if (rdma_set_option(id, RDMA_OPTION_ID, option, (void *)(uintptr_t)value, value_bytes) != 0)
		return vbd_error_errno(
			err, VBD_E_VERBS_ERROR, "rdma_set_option", errno, "%s can't be set", what);
	return VBD_OK;
}

enum vbd_status vbd_pv_set_ack_timeout(
	struct rdma_cm_id *id, uint8_t ack_timeout, struct vbd_error *err)
{
	return set_option(id, RDMA_OPTION_ID_ACK_TIMEOUT, &ack_timeout, sizeof(ack_timeout),
		"ack_timeout", err);
}

enum vbd_status vbd_pv_set_tos(struct rdma_cm_id *id, uint8_t tos, struct vbd_error *err)
{
	return set_option(id, RDMA_OPTION_ID_TOS, &tos, sizeof(tos), "tos", err);
}

enum vbd_status vbd_pv_set_reuse_addr(struct rdma_cm_id *id, struct vbd_error *err)
{
	const int on = 1;

	return set_option(id, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on), "reuse_addr", err);
}

enum vbd_status vbd_pv_set_v6_only(struct rdma_cm_id *id, bool v6_only, struct vbd_error *err)
{
	const int on = v6_only;

	return set_option(id, RDMA_OPTION_ID_AFONLY, &on, sizeof(on), "v6_only", err);
}

enum vbd_status vbd_pv_init_qp_attr(
	struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *ret_mask, struct vbd_error *err)
{
	if (rdma_init_qp_attr(id, attr, ret_mask) == 0)
		return VBD_OK;
	/* The kernel's word for a connection that it has given up, whose event is on its way. */
	if (errno == EINVAL)
		return vbd_error_set(
			err, VBD_E_PEER_DISCONNECT, "the peer gave up before the QP was ready");
	return vbd_error_errno(
		err, VBD_E_VERBS_ERROR, "rdma_init_qp_attr", errno, "no attributes for the QP");
}

enum vbd_status vbd_pv_connect(
	struct rdma_cm_id *id, struct rdma_conn_param *param, struct vbd_error *err)
{
	if (rdma_connect(id, param) != 0)
		return vbd_error_errno(
			err, VBD_E_CONNECT_ERROR, "rdma_connect", errno, "no connect");
	return VBD_OK;
}

enum vbd_status vbd_pv_accept(
	struct rdma_cm_id *id, struct rdma_conn_param *param, struct vbd_error *err)
{
	if (rdma_accept(id, param) != 0)
		return vbd_error_errno(err, VBD_E_CONNECT_ERROR, "rdma_accept", errno, "no accept");
	return VBD_OK;
}

enum vbd_status vbd_pv_reject(struct rdma_cm_id *id, bool vendor_option, const void *private_data,
	uint8_t private_data_bytes, struct vbd_error *err)
{
	int rc = vendor_option ? rdma_reject_ece(id, private_data, private_data_bytes)
			       : rdma_reject(id, private_data, private_data_bytes);

	if (rc != 0)
		return vbd_error_errno(err, VBD_E_CONNECT_ERROR,
			vendor_option ? "rdma_reject_ece" : "rdma_reject", errno, "no reject");
	return VBD_OK;
}

enum vbd_status vbd_pv_establish(struct rdma_cm_id *id, struct vbd_error *err)
{
	if (rdma_establish(id) != 0)
		return vbd_error_errno(
			err, VBD_E_CONNECT_ERROR, "rdma_establish", errno, "not established");
	return VBD_OK;
}

enum vbd_status vbd_pv_notify_established(struct rdma_cm_id *id, struct vbd_error *err)
{
	/* EISCONN: the RTU came in meanwhile. */
	if (rdma_notify(id, IBV_EVENT_COMM_EST) != 0 && errno != EISCONN)
		return vbd_error_errno(
			err, VBD_E_CONNECT_ERROR, "rdma_notify", errno, "not notified");
	return VBD_OK;
}

enum vbd_status vbd_pv_disconnect(struct rdma_cm_id *id, struct vbd_error *err)
{
	if (rdma_disconnect(id) != 0)
		return vbd_error_errno(
			err, VBD_E_VERBS_ERROR, "rdma_disconnect", errno, "no disconnect");
	return VBD_OK;
}

const char *vbd_pv_id_device(const struct rdma_cm_id *id)
{
	return id->verbs ? ibv_get_device_name(id->verbs->device) : NULL;
}

uint8_t vbd_pv_id_port_num(const struct rdma_cm_id *id)
{
	return id->port_num;
}

const struct sockaddr *vbd_pv_id_local(struct rdma_cm_id *id)
{
	return rdma_get_local_addr(id);
}

const struct sockaddr *vbd_pv_id_peer(struct rdma_cm_id *id)
{
	return rdma_get_peer_addr(id);
}
