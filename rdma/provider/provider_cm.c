/* SPDX-License-Identifier: Apache-2.0 */
/* The provider made of librdmacm and libibverbs: the connection manager. */
#include "rdma/provider/provider.h"

#include "rdma/provider/faults.h"
#include "rdma/provider/provider_parts.h"

#include <fcntl.h>
#include <unistd.h>

enum vbd_status vbd_pv_create_event_channel(
	struct rdma_event_channel **ret_cm_channel, struct vbd_error *err)
{
	struct rdma_event_channel *cm_channel = NULL;
	enum vbd_status status = VBD_PV_DO(CREATE_EVENT_CHANNEL,
		VBD_PV_MADE(&cm_channel, rdma_create_event_channel()), err, "%s",
		errno == EACCES ? "/dev/infiniband/rdma_cm can't be opened" : "no rdma_cm");

	if (!status)
		status = vbd_pv_set_nonblocking(cm_channel->fd, err);
	if (status)
		vbd_pv_destroy_event_channel(cm_channel);
	else
		*ret_cm_channel = cm_channel;
	return status;
}

void vbd_pv_destroy_event_channel(struct rdma_event_channel *cm_channel)
{
	if (cm_channel)
		rdma_destroy_event_channel(cm_channel);
}

int vbd_pv_event_channel_fd(const struct rdma_event_channel *cm_channel)
{
	return cm_channel->fd;
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

/* The port space of the id decides which of the two an event carries. */
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

static bool has_free_descriptors(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int other = dup(fd);
	bool left = other >= 0;

	if (left)
		(void)close(other);
	if (fd >= 0)
		(void)close(fd);
	return left;
}

/* librdmacm opens a device when the first id resolves to it. If that fails it reports -1 and has
 * lost the errno (ucma_init_device(), librdmacm 44). A device takes two descriptors. */
static int addr_error_status(int status)
{
	return status == -1 && !has_free_descriptors() ? -EMFILE : status;
}

bool vbd_pv_next_cm_event(struct rdma_event_channel *cm_channel, struct vbd_pv_cm_event *ret_event)
{
	struct rdma_cm_event *event;

	/* librdmacm may fail for an internal event although more events wait. The descriptor stays
	 * readable then, so the caller comes back. */
	if (rdma_get_cm_event(cm_channel, &event) != 0)
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
		vbd_account_made(NULL, VBD_PV_CM_ID);
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
		ret_event->status = addr_error_status(event->status);
		break;
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

static enum vbd_status count_id(int rc, struct vbd_account *account, struct vbd_error *err)
{
	if (rc)
		return vbd_pv_failed(VBD_PV_CALL_CREATE_ID, rc, err, "no CM id");
	vbd_account_made(account, VBD_PV_CM_ID);
	return VBD_OK;
}

enum vbd_status vbd_pv_create_id(struct vbd_account *account, struct rdma_event_channel *cm_channel,
	void *id_context, struct rdma_cm_id **ret_id, struct vbd_error *err)
{
	return count_id(VBD_PV_RESULT(CREATE_ID, VBD_PV_ERRNO(rdma_create_id(cm_channel, ret_id,
							 id_context, RDMA_PS_TCP))),
		account, err);
}

enum vbd_status vbd_pv_create_udp_id(struct vbd_account *account,
	struct rdma_event_channel *cm_channel, void *id_context, struct rdma_cm_id **ret_id,
	struct vbd_error *err)
{
	return count_id(VBD_PV_RESULT(CREATE_UDP_ID, VBD_PV_ERRNO(rdma_create_id(cm_channel, ret_id,
							     id_context, RDMA_PS_UDP))),
		account, err);
}

void vbd_pv_destroy_id(struct vbd_account *account, struct rdma_cm_id *id)
{
	const struct ibv_device *device;

	if (!id)
		return;
	device = id->verbs ? id->verbs->device : NULL;
	/* librdmacm keeps what it has of a membership until it is left. It leaves none that is not
	 * there. */
	if (id->ps == RDMA_PS_UDP)
		(void)rdma_leave_multicast(id, rdma_get_peer_addr(id));
	(void)rdma_destroy_id(id);
	vbd_account_destroyed(account, VBD_PV_CM_ID);
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
	int rc = VBD_PV_RESULT(
		BIND_ADDR, VBD_PV_ERRNO(rdma_bind_addr(id, (struct sockaddr *)(uintptr_t)addr)));

	if (rc == EACCES) /* cma_use_port() in drivers/infiniband/core/cma.c */
		(void)vbd_error_hint(err, VBD_OK,
			"A port below 1024 needs CAP_NET_BIND_SERVICE: see IN THE UNIT in "
			"verbsd.yaml(5).");
	if (rc)
		return vbd_pv_failed(VBD_PV_CALL_BIND_ADDR, rc, err, "the address can't be bound");
	vbd_cm_context_bound(id->verbs);
	return VBD_OK;
}

enum vbd_status vbd_pv_listen(struct rdma_cm_id *id, int backlog, struct vbd_error *err)
{
	return VBD_PV_DO(LISTEN, VBD_PV_ERRNO(rdma_listen(id, backlog)), err, "no listening");
}

enum vbd_status vbd_pv_resolve_addr(struct rdma_cm_id *id, const struct sockaddr *src,
	const struct sockaddr *dst, int timeout_ms, struct vbd_error *err)
{
	struct sockaddr *from = (struct sockaddr *)(uintptr_t)src;
	struct sockaddr *to = (struct sockaddr *)(uintptr_t)dst;

	return VBD_PV_DO(RESOLVE_ADDR, VBD_PV_ERRNO(rdma_resolve_addr(id, from, to, timeout_ms)),
		err, "the address can't be resolved");
}

enum vbd_status vbd_pv_resolve_route(struct rdma_cm_id *id, int timeout_ms, struct vbd_error *err)
{
	return VBD_PV_DO(
		RESOLVE_ROUTE, VBD_PV_ERRNO(rdma_resolve_route(id, timeout_ms)), err, "no route");
}

/* rdma_set_option(3) does not write to the value. */
#define SET_OPTION(id, option, value) \
	VBD_PV_ERRNO(rdma_set_option( \
		id, RDMA_OPTION_ID, RDMA_OPTION_ID_##option, &(value), sizeof(value)))

enum vbd_status vbd_pv_set_ack_timeout(
	struct rdma_cm_id *id, uint8_t ack_timeout, struct vbd_error *err)
{
	return VBD_PV_DO(SET_ACK_TIMEOUT, SET_OPTION(id, ACK_TIMEOUT, ack_timeout), err,
		"ack_timeout can't be set");
}

enum vbd_status vbd_pv_set_tos(struct rdma_cm_id *id, uint8_t tos, struct vbd_error *err)
{
	return VBD_PV_DO(SET_TOS, SET_OPTION(id, TOS, tos), err, "tos can't be set");
}

enum vbd_status vbd_pv_set_reuse_addr(struct rdma_cm_id *id, struct vbd_error *err)
{
	int on = 1;

	return VBD_PV_DO(
		SET_REUSE_ADDR, SET_OPTION(id, REUSEADDR, on), err, "reuse_addr can't be set");
}

enum vbd_status vbd_pv_set_v6_only(struct rdma_cm_id *id, bool v6_only, struct vbd_error *err)
{
	int on = v6_only;

	return VBD_PV_DO(SET_V6_ONLY, SET_OPTION(id, AFONLY, on), err, "v6_only can't be set");
}

enum vbd_status vbd_pv_init_qp_attr(
	struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *ret_mask, struct vbd_error *err)
{
	int rc = VBD_PV_RESULT(INIT_QP_ATTR, VBD_PV_ERRNO(rdma_init_qp_attr(id, attr, ret_mask)));

	/* The kernel has given the connection up already, and its event is on its way. */
	if (rc == EINVAL)
		return vbd_error_set(err, VBD_E_PEER_DISCONNECT,
			"the peer disconnected before the QP was ready");
	return rc ? vbd_pv_failed(VBD_PV_CALL_INIT_QP_ATTR, rc, err, "no attributes for the QP")
		  : VBD_OK;
}

enum vbd_status vbd_pv_connect(
	struct rdma_cm_id *id, struct rdma_conn_param *param, struct vbd_error *err)
{
	return VBD_PV_DO(CONNECT, VBD_PV_ERRNO(rdma_connect(id, param)), err, "no connect");
}

enum vbd_status vbd_pv_accept(
	struct rdma_cm_id *id, struct rdma_conn_param *param, struct vbd_error *err)
{
	return VBD_PV_DO(ACCEPT, VBD_PV_ERRNO(rdma_accept(id, param)), err, "no accept");
}

enum vbd_status vbd_pv_reject(struct rdma_cm_id *id, bool vendor_option, const void *private_data,
	uint8_t private_data_bytes, struct vbd_error *err)
{
	return VBD_PV_DO(REJECT,
		VBD_PV_ERRNO(vendor_option ? rdma_reject_ece(id, private_data, private_data_bytes)
					   : rdma_reject(id, private_data, private_data_bytes)),
		err, "no reject");
}

enum vbd_status vbd_pv_establish(struct rdma_cm_id *id, struct vbd_error *err)
{
	return VBD_PV_DO(ESTABLISH, VBD_PV_ERRNO(rdma_establish(id)), err, "not established");
}

enum vbd_status vbd_pv_notify_established(struct rdma_cm_id *id, struct vbd_error *err)
{
	int rc = VBD_PV_RESULT(
		NOTIFY_ESTABLISHED, VBD_PV_ERRNO(rdma_notify(id, IBV_EVENT_COMM_EST)));

	/* EISCONN: the RTU came in meanwhile. */
	if (rc && rc != EISCONN)
		return vbd_pv_failed(VBD_PV_CALL_NOTIFY_ESTABLISHED, rc, err, "not notified");
	return VBD_OK;
}

enum vbd_status vbd_pv_disconnect(struct rdma_cm_id *id, struct vbd_error *err)
{
	return VBD_PV_DO(DISCONNECT, VBD_PV_ERRNO(rdma_disconnect(id)), err, "no disconnect");
}

const struct ibv_device *vbd_pv_id_device(const struct rdma_cm_id *id)
{
	return id->verbs ? id->verbs->device : NULL;
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

const uint8_t *vbd_pv_id_peer_gid(const struct rdma_cm_id *id)
{
	static const union ibv_gid none;
	const union ibv_gid *gid = &id->route.addr.addr.ibaddr.dgid;

	return memcmp(gid, &none, sizeof(none)) == 0 ? NULL : gid->raw;
}
