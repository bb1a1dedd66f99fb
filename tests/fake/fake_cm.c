/* SPDX-License-Identifier: Apache-2.0 */
/* The connection manager: event channels, ids, events. */
#include "tests/fake/fake.h"

#include <arpa/inet.h>
#include <unistd.h>

static struct fake_id *id_of(const struct rdma_cm_id *id)
{
	return (struct fake_id *)(uintptr_t)id;
}

static struct fake_event_channel *channel_of(const struct rdma_event_channel *cm_channel)
{
	return (struct fake_event_channel *)(uintptr_t)cm_channel;
}

/* Event channels. */

enum vbd_status vbd_pv_create_event_channel(
	struct rdma_event_channel **ret_cm_channel, struct vbd_error *err)
{
	struct fake_event_channel *cm_channel;
	int errnum;

	(void)fake_may_block(VBD_WAIT_CREATE_EVENT_CHANNEL);
	fake_lock();
	errnum = fake_call(VBD_PV_CALL_CREATE_EVENT_CHANNEL);
	if (!errnum) {
		cm_channel = fake_allocate(sizeof(*cm_channel));
		cm_channel->ibv.fd = fake_eventfd(0);
		vbd_list_init(&cm_channel->events);
		g_fake.live.event_channels++;
		vbd_list_append(&g_fake.event_channels, &cm_channel->link);
		*ret_cm_channel = &cm_channel->ibv;
	}
	fake_unlock();
	return fake_result(VBD_PV_CALL_CREATE_EVENT_CHANNEL, errnum, err);
}

static void free_event_channel(struct fake_event_channel *cm_channel)
{
	vbd_list_remove(&cm_channel->link);
	g_fake.live.event_channels--;
	(void)close(cm_channel->ibv.fd);
	free(cm_channel);
}

void vbd_pv_destroy_event_channel(struct rdma_event_channel *ibv)
{
	struct fake_event_channel *cm_channel = channel_of(ibv);
	bool busy = false;

	if (!ibv)
		return;
	fake_lock();
	fake_note("rdma_destroy_event_channel");
	vbd_list_for_each (link, &g_fake.ids)
		busy |= VBD_CONTAINER_OF(link, struct fake_id, link)->ibv.channel == ibv;
	if (busy)
		fake_broken("an event cm_channel is destroyed before its ids");
	else
		free_event_channel(cm_channel);
	fake_unlock();
}

int vbd_pv_event_channel_fd(const struct rdma_event_channel *cm_channel)
{
	return cm_channel->fd;
}

/* Events. */

struct cm_event {
	struct vbd_link link;
	struct vbd_pv_cm_event event;
	struct fake_id *on; /* a request belongs to its listener until the caller takes it */
};

static void free_id(struct fake_id *id);

static void drop_event(struct fake_event_channel *cm_channel, struct cm_event *event)
{
	vbd_list_remove(&event->link);
	if (vbd_list_empty(&cm_channel->events))
		fake_fd_lower(cm_channel->ibv.fd);
	if (event->on != id_of(event->event.id))
		free_id(id_of(event->event.id));
	free(event);
}

static void drop_events_of(struct fake_id *id)
{
	struct fake_event_channel *cm_channel = channel_of(id->ibv.channel);

	vbd_list_for_each (link, &cm_channel->events) {
		struct cm_event *event = VBD_CONTAINER_OF(link, struct cm_event, link);

		if (event->on == id)
			drop_event(cm_channel, event);
	}
}

static void queue_event(struct fake_id *on, const struct vbd_pv_cm_event *what)
{
	struct fake_event_channel *cm_channel = channel_of(on->ibv.channel);
	struct cm_event *event = fake_allocate(sizeof(*event));

	event->event = *what;
	event->on = on;
	if (vbd_list_empty(&cm_channel->events))
		fake_fd_raise(cm_channel->ibv.fd);
	vbd_list_append(&cm_channel->events, &event->link);
}

/* iWARP's CM moves the QP itself. */
static void go_rts_for(const struct fake_id *id)
{
	struct fake_qp *qp = fake_qp_by_number(id->asked.param.qp_num);

	if (id->device && id->device->ibv.transport_type == IBV_TRANSPORT_IWARP && qp)
		fake_qp_set_state(qp, IBV_QPS_RTS);
}

static void follow(struct fake_id *id, const struct vbd_pv_cm_event *event)
{
	if (event->type == RDMA_CM_EVENT_ADDR_RESOLVED) {
		id->state = FAKE_ID_ADDR_RESOLVED;
	} else if (event->type == RDMA_CM_EVENT_ROUTE_RESOLVED) {
		id->state = FAKE_ID_ROUTE_RESOLVED;
	} else if (event->type == RDMA_CM_EVENT_CONNECT_RESPONSE) {
		id->peer_known = true;
		id->peer_qpn = event->qp_num;
		id->peer_responder_resources = event->responder_resources;
	} else if (event->type == RDMA_CM_EVENT_ESTABLISHED) {
		id->state = FAKE_ID_CONNECTED;
		go_rts_for(id);
	} else if (event->type == RDMA_CM_EVENT_REJECTED ||
		   event->type == RDMA_CM_EVENT_UNREACHABLE) {
		id->state = FAKE_ID_OVER;
	}
}

void fake_event_push(struct fake_id *id, const struct vbd_pv_cm_event *what)
{
	struct vbd_pv_cm_event event = *what;

	event.id = &id->ibv;
	id->parted |= event.type == RDMA_CM_EVENT_DISCONNECTED;
	follow(id, &event);
	queue_event(id, &event);
}

void fake_event_push_plain(struct fake_id *id, enum rdma_cm_event_type type, int status)
{
	const struct vbd_pv_cm_event event = {.type = type, .status = status};

	fake_event_push(id, &event);
}

bool vbd_pv_next_cm_event(struct rdma_event_channel *ibv, struct vbd_pv_cm_event *ret_event)
{
	struct fake_event_channel *cm_channel = channel_of(ibv);
	struct cm_event *event;
	struct fake_id *id;

	fake_lock();
	event = VBD_LIST_FIRST(&cm_channel->events, struct cm_event, link);
	if (event) {
		*ret_event = event->event;
		ret_event->id_context = event->on->ibv.context;
		id = id_of(event->event.id);
		if (!id->known) {
			id->known = true;
			g_fake.live.ids++;
			vbd_account_made(NULL, VBD_PV_CM_ID);
		}
		event->on = id;
		drop_event(cm_channel, event);
	}
	fake_unlock();
	return event != NULL;
}

/* Ids. */

static struct fake_id *new_id(struct rdma_event_channel *cm_channel)
{
	struct fake_id *id = fake_allocate(sizeof(*id));

	id->ibv.channel = cm_channel;
	id->ibv.ps = RDMA_PS_TCP;
	id->asked.ack_timeout = -1;
	id->asked.tos = -1;
	id->asked.reuse_addr = -1;
	id->asked.v6_only = -1;
	id->asked.backlog = -1;
	id->asked.resolve_timeout_ms = -1;
	vbd_list_append(&g_fake.ids, &id->link);
	return id;
}

enum vbd_status vbd_pv_create_id(struct vbd_account *account, struct rdma_event_channel *cm_channel,
	void *id_context, struct rdma_cm_id **ret_id, struct vbd_error *err)
{
	struct fake_id *id;
	int errnum;

	fake_lock();
	errnum = fake_call(VBD_PV_CALL_CREATE_ID);
	if (!errnum) {
		id = new_id(cm_channel);
		id->ibv.context = id_context;
		id->known = true;
		g_fake.live.ids++;
		*ret_id = &id->ibv;
	}
	if (!errnum)
		vbd_account_made(account, VBD_PV_CM_ID);
	fake_unlock();
	return fake_result(VBD_PV_CALL_CREATE_ID, errnum, err);
}

static void free_id(struct fake_id *id)
{
	vbd_list_remove(&id->link);
	if (id->peer)
		id->peer->peer = NULL;
	if (id->device)
		id->device->ids--;
	if (id->known)
		g_fake.live.ids--;
	free(id);
}

static bool is_iwarp(const struct fake_id *id)
{
	return id->device && id->device->ibv.transport_type == IBV_TRANSPORT_IWARP;
}

void vbd_pv_destroy_id(struct vbd_account *account, struct rdma_cm_id *ibv)
{
	struct fake_id *id = id_of(ibv);

	if (!ibv)
		return;
	(void)fake_may_block(VBD_WAIT_DESTROY_ID);
	fake_lock();
	fake_note("rdma_destroy_id");
	drop_events_of(id);
	fake_loop_gone(id);
	free_id(id);
	vbd_account_destroyed(account, VBD_PV_CM_ID);
	fake_unlock();
}

enum vbd_status vbd_pv_create_udp_id(struct vbd_account *account,
	struct rdma_event_channel *cm_channel, void *id_context, struct rdma_cm_id **ret_id,
	struct vbd_error *err)
{
	int errnum = vbd_pv_fault(VBD_PV_CALL_CREATE_UDP_ID);
	enum vbd_status status =
		errnum ? fake_result(VBD_PV_CALL_CREATE_UDP_ID, errnum, err)
		       : vbd_pv_create_id(account, cm_channel, id_context, ret_id, err);

	if (status)
		return status;
	(*ret_id)->ps = RDMA_PS_UDP;
	(*ret_id)->qp_type = IBV_QPT_UD;
	return VBD_OK;
}

void vbd_pv_set_id_context(struct rdma_cm_id *id, void *id_context)
{
	fake_lock();
	id->context = id_context;
	fake_unlock();
}

void fake_id_bind(struct fake_id *id, struct fake_device *device)
{
	if (id->device)
		id->device->ids--;
	id->device = device;
	id->ibv.port_num = device ? 1 : 0;
	if (!device)
		return;
	device->ids++;
	id->path_mtu = device->port.active_mtu;
	if (id->ibv.route.addr.src_addr.sa_family == AF_UNSPEC)
		memcpy(&id->ibv.route.addr.src_sin, &device->addr, sizeof(device->addr));
}

static bool is_any(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET6)
		return IN6_IS_ADDR_UNSPECIFIED(
			&((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr);
	return ((const struct sockaddr_in *)(const void *)addr)->sin_addr.s_addr == 0;
}

static bool is_loopback(const struct sockaddr_in *addr)
{
	return ntohl(addr->sin_addr.s_addr) >> 24 == 127;
}

/* The device that has the address; the first device also has 127.0.0.1. */
static struct fake_device *device_at(const struct sockaddr *addr)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)addr;

	if (addr->sa_family != AF_INET)
		return NULL;
	vbd_list_for_each (link, &g_fake.devices) {
		struct fake_device *device = VBD_CONTAINER_OF(link, struct fake_device, link);

		if (device->plugged &&
			(is_loopback(in) || device->addr.sin_addr.s_addr == in->sin_addr.s_addr))
			return device;
	}
	return NULL;
}

static void copy_addr(struct sockaddr_storage *to, const struct sockaddr *from)
{
	memcpy(to, from,
		from->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					    : sizeof(struct sockaddr_in));
}

static int bind_addr(struct fake_id *id, const struct sockaddr *addr)
{
	struct fake_device *device = device_at(addr);

	if (id->state != FAKE_ID_IDLE)
		return EINVAL;
	if (!is_any(addr) && !device)
		return ENODEV;
	/* As rdma_cm has it, whether the port is taken or the address not there (seen on 6.1). */
	if (fake_listener_on(addr))
		return EADDRNOTAVAIL;
	copy_addr(&id->ibv.route.addr.src_storage, addr);
	if (!is_any(addr))
		fake_id_bind(id, device);
	id->state = FAKE_ID_BOUND;
	return 0;
}

enum vbd_status vbd_pv_bind_addr(
	struct rdma_cm_id *id, const struct sockaddr *addr, struct vbd_error *err)
{
	int errnum;

	fake_lock();
	errnum = fake_call(VBD_PV_CALL_BIND_ADDR);
	if (!errnum)
		errnum = bind_addr(id_of(id), addr);
	fake_unlock();
	return fake_result(VBD_PV_CALL_BIND_ADDR, errnum, err);
}

/* sin_port and sin6_port are at the same offset. */
static in_port_t *port_of(struct fake_id *id)
{
	return &id->ibv.route.addr.src_sin.sin_port;
}

static struct fake_id *listener_at(in_port_t port_be)
{
	vbd_list_for_each (link, &g_fake.ids) {
		struct fake_id *id = VBD_CONTAINER_OF(link, struct fake_id, link);

		if (id->state == FAKE_ID_LISTENING && *port_of(id) == port_be)
			return id;
	}
	return NULL;
}

struct fake_id *fake_listener_on(const struct sockaddr *addr)
{
	return listener_at(((const struct sockaddr_in *)(const void *)addr)->sin_port);
}

struct rdma_cm_id *fake_id_listening(uint16_t port)
{
	struct fake_id *id;

	fake_lock();
	id = listener_at(htons(port));
	fake_unlock();
	return id ? &id->ibv : NULL;
}

static int listen_on(struct fake_id *id, int backlog)
{
	if (id->state != FAKE_ID_BOUND)
		return EINVAL;
	if (*port_of(id) && listener_at(*port_of(id)))
		return EADDRINUSE;
	if (!*port_of(id))
		*port_of(id) = htons(++g_fake.last_port);
	id->asked.backlog = backlog;
	id->state = FAKE_ID_LISTENING;
	return 0;
}

enum vbd_status vbd_pv_listen(struct rdma_cm_id *id, int backlog, struct vbd_error *err)
{
	int errnum;

	fake_lock();
	errnum = fake_call(VBD_PV_CALL_LISTEN);
	if (!errnum)
		errnum = listen_on(id_of(id), backlog);
	fake_unlock();
	return fake_result(VBD_PV_CALL_LISTEN, errnum, err);
}

enum vbd_status vbd_pv_resolve_addr(struct rdma_cm_id *ibv, const struct sockaddr *src,
	const struct sockaddr *dst, int timeout_ms, struct vbd_error *err)
{
	struct fake_id *id = id_of(ibv);
	int errnum;

	fake_lock();
	errnum = fake_call(VBD_PV_CALL_RESOLVE_ADDR);
	if (!errnum && id->state != FAKE_ID_IDLE)
		errnum = EINVAL;
	if (!errnum) {
		if (src)
			copy_addr(&ibv->route.addr.src_storage, src);
		copy_addr(&ibv->route.addr.dst_storage, dst);
		id->asked.resolve_timeout_ms = timeout_ms;
		fake_loop_resolve_addr(id);
	}
	fake_unlock();
	return fake_result(VBD_PV_CALL_RESOLVE_ADDR, errnum, err);
}

enum vbd_status vbd_pv_resolve_route(struct rdma_cm_id *ibv, int timeout_ms, struct vbd_error *err)
{
	struct fake_id *id = id_of(ibv);
	int errnum;

	fake_lock();
	errnum = fake_call(VBD_PV_CALL_RESOLVE_ROUTE);
	if (!errnum && id->state != FAKE_ID_ADDR_RESOLVED)
		errnum = EINVAL;
	if (!errnum) {
		id->asked.resolve_timeout_ms = timeout_ms;
		fake_loop_resolve_route(id);
	}
	fake_unlock();
	return fake_result(VBD_PV_CALL_RESOLVE_ROUTE, errnum, err);
}

static enum vbd_status set_option(
	enum vbd_pv_call call, int *option, int value, struct vbd_error *err)
{
	int errnum;

	fake_lock();
	errnum = fake_call(call);
	if (!errnum)
		*option = value;
	fake_unlock();
	return fake_result(call, errnum, err);
}

enum vbd_status vbd_pv_set_ack_timeout(
	struct rdma_cm_id *id, uint8_t ack_timeout, struct vbd_error *err)
{
	return set_option(
		VBD_PV_CALL_SET_ACK_TIMEOUT, &id_of(id)->asked.ack_timeout, ack_timeout, err);
}

enum vbd_status vbd_pv_set_tos(struct rdma_cm_id *id, uint8_t tos, struct vbd_error *err)
{
	return set_option(VBD_PV_CALL_SET_TOS, &id_of(id)->asked.tos, tos, err);
}

/* Follows cm_init_qp_*_attr() and iw_cm_init_qp_attr() of the kernel. */
static int init_qp_attr(const struct fake_id *id, struct ibv_qp_attr *attr, int *ret_mask)
{
	bool iwarp = id->device && id->device->ibv.transport_type == IBV_TRANSPORT_IWARP;

	if (!id->device)
		return EINVAL;
	if (attr->qp_state == IBV_QPS_INIT || (iwarp && attr->qp_state == IBV_QPS_RTR)) {
		attr->qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
		/* The peer's answer decides whether it may read. */
		if (iwarp || (id->peer_known && id->peer_responder_resources))
			attr->qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
		attr->port_num = 1;
		*ret_mask = IBV_QP_STATE | IBV_QP_ACCESS_FLAGS;
		if (!iwarp)
			*ret_mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT;
		return 0;
	}
	if (iwarp) {
		*ret_mask = 0;
		return 0;
	}
	if (!id->peer_known)
		return EINVAL;
	if (attr->qp_state == IBV_QPS_RTR) {
		attr->path_mtu = id->path_mtu;
		attr->dest_qp_num = id->peer_qpn;
		attr->rq_psn = 0x1234;
		attr->max_dest_rd_atomic = id->peer_responder_resources;
		attr->ah_attr.is_global = 1;
		memcpy(attr->ah_attr.grh.dgid.raw, id->device->gids[0].gid.raw, 16);
		*ret_mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
		return 0;
	}
	if (attr->qp_state != IBV_QPS_RTS)
		return EINVAL;
	attr->sq_psn = 0x4321;
	attr->timeout = 19;
	attr->retry_cnt = 7;
	attr->rnr_retry = 7;
	*ret_mask = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
		    IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	return 0;
}

enum vbd_status vbd_pv_set_reuse_addr(struct rdma_cm_id *id, struct vbd_error *err)
{
	return set_option(VBD_PV_CALL_SET_REUSE_ADDR, &id_of(id)->asked.reuse_addr, 1, err);
}

enum vbd_status vbd_pv_set_v6_only(struct rdma_cm_id *id, bool v6_only, struct vbd_error *err)
{
	return set_option(VBD_PV_CALL_SET_V6_ONLY, &id_of(id)->asked.v6_only, v6_only, err);
}

enum vbd_status vbd_pv_init_qp_attr(
	struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *ret_mask, struct vbd_error *err)
{
	int errnum;

	fake_lock();
	errnum = fake_call(VBD_PV_CALL_INIT_QP_ATTR);
	if (!errnum)
		errnum = init_qp_attr(id_of(id), attr, ret_mask);
	fake_unlock();
	return fake_result(VBD_PV_CALL_INIT_QP_ATTR, errnum, err);
}

static void take_private_data(struct fake_id *id, const void *data, uint8_t data_bytes)
{
	id->asked.private_data_bytes = data_bytes;
	if (data_bytes)
		memcpy(id->asked.private_data, data, data_bytes);
}

/* IBTA 12.6; the kernel's CMA uses 36 bytes of a request itself. */
static uint8_t room_for(enum rdma_cm_event_type type, const struct fake_id *to)
{
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
		return fake_id_is_ud(to) ? 180 : 56;
	if (fake_id_is_ud(to))
		return 136;
	return type == RDMA_CM_EVENT_REJECTED ? 148 : 196;
}

void fake_event_set_private_data(struct vbd_pv_cm_event *event, const struct fake_id *to,
	const void *data, uint8_t data_bytes)
{
	bool iwarp = to->device && to->device->ibv.transport_type == IBV_TRANSPORT_IWARP;

	event->has_conn_param = true;
	event->private_data_bytes = iwarp ? data_bytes : room_for(event->type, to);
	if (data_bytes > event->private_data_bytes)
		fake_broken("%u bytes of private data do not fit", data_bytes);
	else if (data_bytes)
		memcpy(event->private_data, data, data_bytes);
}

static int connect_id(struct fake_id *id, const struct rdma_conn_param *param)
{
	const struct fake_qp *qp = fake_qp_by_number(param->qp_num);

	if (id->state != FAKE_ID_ROUTE_RESOLVED)
		return EINVAL;
	if (!qp || (qp->recv_count == 0 && !qp->srq && !g_fake.receives_optional))
		fake_broken("rdma_connect with a QP that has no receive posted");
	id->asked.param = *param;
	take_private_data(id, param->private_data, param->private_data_len);
	id->asked.connected = true;
	id->state = FAKE_ID_CONNECTING;
	fake_loop_connect(id);
	return 0;
}

enum vbd_status vbd_pv_connect(
	struct rdma_cm_id *id, struct rdma_conn_param *param, struct vbd_error *err)
{
	const struct fake_device *device = id_of(id)->device;
	int errnum = 0;

	if (device && device->ibv.transport_type == IBV_TRANSPORT_IWARP)
		errnum = fake_may_block(VBD_WAIT_CONNECT);
	fake_lock();
	if (!errnum)
		errnum = fake_call(VBD_PV_CALL_CONNECT);
	if (!errnum)
		errnum = connect_id(id_of(id), param);
	fake_unlock();
	return fake_result(VBD_PV_CALL_CONNECT, errnum, err);
}

static int accept_id(struct fake_id *id, const struct rdma_conn_param *param)
{
	const struct fake_qp *qp = fake_qp_by_number(param->qp_num);
	bool iwarp = id->device && id->device->ibv.transport_type == IBV_TRANSPORT_IWARP;

	if (id->state != FAKE_ID_REQUESTED)
		return EINVAL;
	if (!qp || (qp->recv_count == 0 && !qp->srq && !g_fake.receives_optional) ||
		(!iwarp && qp->ibv.state != IBV_QPS_RTS))
		fake_broken("rdma_accept with a QP that can't receive");
	id->asked.param = *param;
	take_private_data(id, param->private_data, param->private_data_len);
	id->asked.accepted = true;
	id->state = FAKE_ID_ACCEPTED;
	fake_loop_accept(id);
	return 0;
}

enum vbd_status vbd_pv_accept(
	struct rdma_cm_id *id, struct rdma_conn_param *param, struct vbd_error *err)
{
	int errnum;

	fake_lock();
	errnum = fake_call(VBD_PV_CALL_ACCEPT);
	if (!errnum)
		errnum = accept_id(id_of(id), param);
	fake_unlock();
	return fake_result(VBD_PV_CALL_ACCEPT, errnum, err);
}

enum vbd_status vbd_pv_reject(struct rdma_cm_id *ibv, bool vendor_option, const void *private_data,
	uint8_t private_data_bytes, struct vbd_error *err)
{
	struct fake_id *id = id_of(ibv);
	int errnum;

	fake_lock();
	errnum = fake_call(VBD_PV_CALL_REJECT);
	if (!errnum && id->state != FAKE_ID_REQUESTED)
		errnum = EINVAL;
	if (!errnum) {
		id->asked.rejected = true;
		id->asked.vendor_option = vendor_option;
		take_private_data(id, private_data, private_data_bytes);
		id->state = FAKE_ID_OVER;
		fake_loop_reject(id);
	}
	fake_unlock();
	return fake_result(VBD_PV_CALL_REJECT, errnum, err);
}

enum vbd_status vbd_pv_establish(struct rdma_cm_id *ibv, struct vbd_error *err)
{
	struct fake_id *id = id_of(ibv);
	int errnum;

	fake_lock();
	errnum = fake_call(VBD_PV_CALL_ESTABLISH);
	if (!errnum && (id->state != FAKE_ID_CONNECTING || !id->peer_known))
		errnum = EINVAL;
	if (!errnum) {
		id->asked.established = true;
		id->state = FAKE_ID_CONNECTED;
		fake_loop_establish(id);
	}
	fake_unlock();
	return fake_result(VBD_PV_CALL_ESTABLISH, errnum, err);
}

enum vbd_status vbd_pv_notify_established(struct rdma_cm_id *id, struct vbd_error *err)
{
	int errnum;

	fake_lock();
	errnum = fake_call(VBD_PV_CALL_NOTIFY_ESTABLISHED);
	if (!errnum)
		id_of(id)->asked.notified = true;
	fake_unlock();
	return fake_result(VBD_PV_CALL_NOTIFY_ESTABLISHED, errnum, err);
}

enum vbd_status vbd_pv_disconnect(struct rdma_cm_id *ibv, struct vbd_error *err)
{
	struct fake_id *id = id_of(ibv);
	int errnum = fake_may_block(VBD_WAIT_DISCONNECT);

	fake_lock();
	if (!errnum)
		errnum = fake_call(VBD_PV_CALL_DISCONNECT);
	if (!errnum && !id->peer_known && id->state != FAKE_ID_CONNECTED)
		errnum = EINVAL;
	if (!errnum) {
		id->asked.disconnected = true;
		fake_loop_gone(id);
		/* The kernel reports the peer's answer to a disconnect, too. */
		if (!is_iwarp(id) && !id->parted && !g_fake.unanswered)
			fake_event_push_plain(id, RDMA_CM_EVENT_DISCONNECTED, 0);
	}
	fake_unlock();
	return fake_result(VBD_PV_CALL_DISCONNECT, errnum, err);
}

const struct ibv_device *vbd_pv_id_device(const struct rdma_cm_id *id)
{
	const struct fake_device *device = id_of(id)->device;

	return device ? &device->ibv : NULL;
}

uint8_t vbd_pv_id_port_num(const struct rdma_cm_id *id)
{
	return id->port_num;
}

const struct sockaddr *vbd_pv_id_local(struct rdma_cm_id *id)
{
	return &id->route.addr.src_addr;
}

const struct sockaddr *vbd_pv_id_peer(struct rdma_cm_id *id)
{
	return &id->route.addr.dst_addr;
}

const uint8_t *vbd_pv_id_peer_gid(const struct rdma_cm_id *id)
{
	static const union ibv_gid none;
	const union ibv_gid *gid = &id->route.addr.addr.ibaddr.dgid;

	return memcmp(gid, &none, sizeof(none)) == 0 ? NULL : gid->raw;
}

/* Script functions. */

void fake_cm_event(struct rdma_cm_id *id, enum rdma_cm_event_type type, int status)
{
	fake_lock();
	fake_event_push_plain(id_of(id), type, status);
	fake_unlock();
}

void fake_unanswered(bool on)
{
	fake_lock();
	g_fake.unanswered = on;
	fake_unlock();
}

void fake_cm_event_with(struct rdma_cm_id *id, const struct vbd_pv_cm_event *event)
{
	fake_lock();
	fake_event_push(id_of(id), event);
	fake_unlock();
}

void fake_addr_resolved(struct rdma_cm_id *id, struct fake_device *device)
{
	fake_lock();
	fake_id_bind(id_of(id), device);
	fake_event_push_plain(id_of(id), RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	fake_unlock();
}

void fake_connect_response(struct rdma_cm_id *ibv)
{
	struct fake_id *id = id_of(ibv);
	bool iwarp = id->device && id->device->ibv.transport_type == IBV_TRANSPORT_IWARP;
	struct vbd_pv_cm_event event = {
		.type = iwarp ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_CONNECT_RESPONSE,
		.has_conn_param = true,
		.responder_resources = 16,
		.initiator_depth = 16,
		.qp_num = 0x77,
	};

	fake_lock();
	fake_event_push(id, &event);
	fake_unlock();
}

struct fake_id *fake_request_push(struct fake_id *listener, struct fake_device *device,
	const struct sockaddr *local, const struct sockaddr *peer,
	const struct rdma_conn_param *param)
{
	struct fake_id *id = new_id(listener->ibv.channel);
	struct vbd_pv_cm_event event = {
		.type = RDMA_CM_EVENT_CONNECT_REQUEST,
		.id = &id->ibv,
		.has_conn_param = true,
		/* cm_format_req_event() in core/cm.c, 6.1 */
		.responder_resources = param->initiator_depth,
		.initiator_depth = param->responder_resources,
		.qp_num = param->qp_num,
	};

	id->ibv.ps = listener->ibv.ps;
	id->ibv.qp_type = listener->ibv.qp_type;
	id->state = FAKE_ID_REQUESTED;
	id->peer_known = true;
	id->peer_qpn = param->qp_num;
	id->peer_responder_resources = param->initiator_depth;
	copy_addr(&id->ibv.route.addr.src_storage, local);
	copy_addr(&id->ibv.route.addr.dst_storage, peer);
	fake_id_bind(id, device);
	fake_event_set_private_data(&event, id, param->private_data, param->private_data_len);
	queue_event(listener, &event);
	return id;
}

struct rdma_cm_id *fake_connect_request(struct rdma_cm_id *listener, struct fake_device *device)
{
	const struct rdma_conn_param param = {
		.responder_resources = 16,
		.initiator_depth = 16,
		.qp_num = 0x77,
	};
	struct sockaddr_in local = device->addr;
	const struct sockaddr_in peer = {
		.sin_family = AF_INET,
		.sin_port = htons(40000),
		.sin_addr.s_addr = htonl(0x0a0000fe),
	};
	struct fake_id *id;

	fake_lock();
	local.sin_port = *port_of(id_of(listener));
	id = fake_request_push(id_of(listener), device, (const struct sockaddr *)&local,
		(const struct sockaddr *)&peer, &param);
	fake_unlock();
	return &id->ibv;
}

struct fake_id_asked fake_id_asked(const struct rdma_cm_id *id)
{
	struct fake_id_asked asked;

	fake_lock();
	asked = id_of(id)->asked;
	fake_unlock();
	return asked;
}

void fake_device_cm_removal(struct fake_device *device)
{
	fake_lock();
	vbd_list_for_each (link, &g_fake.ids) {
		struct fake_id *id = VBD_CONTAINER_OF(link, struct fake_id, link);

		if (id->device == device && id->known)
			fake_event_push_plain(id, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
	}
	fake_unlock();
}

void fake_cm_reset(void)
{
	struct fake_event_channel *cm_channel;
	struct cm_event *event;
	struct fake_id *id;

	vbd_list_for_each (link, &g_fake.event_channels) {
		cm_channel = VBD_CONTAINER_OF(link, struct fake_event_channel, link);
		while ((event = VBD_LIST_FIRST(&cm_channel->events, struct cm_event, link)))
			drop_event(cm_channel, event);
	}
	while ((id = VBD_LIST_FIRST(&g_fake.ids, struct fake_id, link)))
		free_id(id);
	while ((cm_channel =
			VBD_LIST_FIRST(&g_fake.event_channels, struct fake_event_channel, link)))
		free_event_channel(cm_channel);
}
