/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/conn/conn_parts.h"

#include "base/log.h"
#include "rdma/device/port_counters.h"
#include "rdma/device/source.h"
#include "rdma/fabric/goodbye.h"
#include "rdma/names/rejection.h"
#include "rdma/provider/provider.h"

#include <net/if.h>
#include <netinet/in.h>

/* rdma_get_local_addr(3) and rdma_get_peer_addr(3) lose the scope of link-local addresses
 * (librdmacm 44). */
static void copy_addr(struct sockaddr_storage *to, const struct sockaddr *from, uint32_t scope_id)
{
	vbd_addr_copy(to, from);
	if (vbd_sockaddr_needs_scope(from))
		((struct sockaddr_in6 *)to)->sin6_scope_id = scope_id;
}

void vbd_conn_cm_take_device(struct vbd_conn *conn)
{
	/* NULL after ADDR_RESOLVED has been seen where the node GUID is 0 (rdma-core PR #1547). */
	const struct vbd_device_id device =
		vbd_device_id_bound(&conn->fabric->devices, conn->cm_id);

	if (!*device.name)
		return;
	conn->device = device;
	conn->port_num = vbd_pv_id_port_num(conn->cm_id);
}

void vbd_conn_cm_take_addresses(struct vbd_conn *conn)
{
	uint32_t scope_id = vbd_sockaddr_scope((const struct sockaddr *)&conn->peer);

	if (!scope_id)
		scope_id = vbd_sockaddr_scope((const struct sockaddr *)&conn->local);
	copy_addr(&conn->local, vbd_pv_id_local(conn->cm_id), scope_id);
	copy_addr(&conn->peer, vbd_pv_id_peer(conn->cm_id), scope_id);
}

void vbd_conn_cm_take_scope(struct vbd_conn *conn, const char *netdev)
{
	struct sockaddr_storage *addrs[] = {&conn->local, &conn->peer};

	for (size_t i = 0; i < VBD_ARRAY_LEN(addrs); i++) {
		if (vbd_sockaddr_needs_scope((const struct sockaddr *)addrs[i]))
			((struct sockaddr_in6 *)addrs[i])->sin6_scope_id = if_nametoindex(netdev);
	}
}

void vbd_conn_cm_take_peer_data(struct vbd_conn *conn, const struct vbd_pv_cm_event *event)
{
	struct vbd_private_data *data = &conn->peer_private_data;

	if (!event->has_conn_param)
		return;
	if (event->type == RDMA_CM_EVENT_CONNECT_REQUEST ||
		event->type == RDMA_CM_EVENT_CONNECT_RESPONSE) {
		conn->peer_responder_resources = event->responder_resources;
		conn->peer_initiator_depth = event->initiator_depth;
	}
	if (!event->private_data_bytes)
		return;
	data->message = event->type == RDMA_CM_EVENT_CONNECT_REQUEST ? VBD_CM_MESSAGE_REQUEST
			: event->type == RDMA_CM_EVENT_REJECTED	     ? VBD_CM_MESSAGE_REJECT
								     : VBD_CM_MESSAGE_REPLY;
	data->length_bytes = event->private_data_bytes;
	memcpy(data->bytes, event->private_data, event->private_data_bytes);
}

/* The source: the requested address, else an address of the requested device, else, with a
 * requested port, the wildcard address. ss_family 0: none is requested. */
static enum vbd_status choose_source_addr(struct vbd_conn *conn, const struct sockaddr *dst,
	struct sockaddr_storage *ret_src, struct vbd_error *err)
{
	const struct vbd_device *device;
	enum vbd_status status;

	*ret_src = conn->cm.src;
	if (!ret_src->ss_family && conn->cm.device[0]) {
		device = vbd_fabric_device(conn->fabric, conn->cm.device);
		if (!device)
			return vbd_error_set(
				err, VBD_E_NO_DEVICE, "there is no device '%s'", conn->cm.device);
		status = vbd_source_of_device(device, conn->fabric->interfaces, dst, ret_src, err);
		if (status)
			return status;
	} else if (!ret_src->ss_family && conn->cm.src_port) {
		ret_src->ss_family = dst->sa_family;
	}
	vbd_addr_set_port(ret_src, conn->cm.src_port);
	return VBD_OK;
}

enum vbd_status vbd_cm_set_options(
	struct rdma_cm_id *id, const struct vbd_cm_params *cm, struct vbd_error *err)
{
	enum vbd_status status = VBD_OK;

	if (cm->tos >= 0)
		status = vbd_pv_set_tos(id, (uint8_t)cm->tos, err);
	if (!status && cm->reuse_addr)
		status = vbd_pv_set_reuse_addr(id, err);
	if (!status && cm->v6_only != VBD_CHOICE_NONE)
		status = vbd_pv_set_v6_only(id, cm->v6_only == VBD_CHOICE_YES, err);
	return status;
}

enum vbd_status vbd_conn_cm_resolve(
	struct vbd_conn *conn, const struct sockaddr *dst, struct vbd_error *err)
{
	struct vbd_fabric *fabric = conn->fabric;
	struct vbd_error error = {0};
	struct sockaddr_storage src;
	enum vbd_status status;

	vbd_addr_copy(&conn->peer, dst);
	status = vbd_fabric_check_cm(fabric, err);
	if (!status)
		status = vbd_reach_check_dst(fabric, dst, "dst_addr", err);
	if (!status)
		status = choose_source_addr(conn, dst, &src, err);
	if (!status)
		status = vbd_pv_create_id(
			&conn->account, fabric->cm_channel, &conn->tag, &conn->cm_id, err);
	if (status)
		return status;
	vbd_conn_note(conn, VBD_TIMELINE_CALL, "rdma_create_id", "");
	status = vbd_cm_set_options(conn->cm_id, &conn->cm, err);
	if (status)
		return status;
	vbd_conn_notef(conn, VBD_TIMELINE_CALL, "rdma_resolve_addr", "timeout %d ms",
		VBD_RESOLVE_TIMEOUT_MS);
	if (src.ss_family)
		conn->local = src;
	status = vbd_pv_resolve_addr(conn->cm_id,
		src.ss_family ? (const struct sockaddr *)&src : NULL, dst, VBD_RESOLVE_TIMEOUT_MS,
		&error);
	return status ? vbd_source_judge_bind(vbd_interfaces_known(fabric),
				(const struct sockaddr *)&src, "src_port", &error, err)
		      : VBD_OK;
}

enum vbd_status vbd_conn_cm_resolve_route(struct vbd_conn *conn, struct vbd_error *err)
{
	vbd_conn_cm_take_device(conn);
	vbd_conn_cm_take_addresses(conn);
	if (conn->cm.device[0] && strcmp(conn->device.name, conn->cm.device) != 0)
		return vbd_error_set(err, VBD_E_ROUTE_ERROR,
			"the route leaves by device %s, but device %s was requested",
			conn->device.name, conn->cm.device);
	vbd_conn_notef(conn, VBD_TIMELINE_CALL, "rdma_resolve_route", "device %s port %u",
		conn->device.name, conn->port_num);
	return vbd_pv_resolve_route(conn->cm_id, VBD_RESOLVE_TIMEOUT_MS, err);
}

struct rdma_conn_param vbd_conn_cm_param(const struct vbd_conn *conn)
{
	const struct vbd_device_attr *limits = &conn->qp.device->attr;
	const struct vbd_private_data *data = &conn->cm.private_data;

	return (struct rdma_conn_param){
		.private_data = data->length_bytes ? data->bytes : NULL,
		.private_data_len = data->length_bytes,
		.responder_resources = vbd_conn_lowered(conn->params.responder_resources,
			limits->max_qp_rd_atom, conn->peer_responder_resources),
		.initiator_depth = vbd_conn_lowered(conn->params.initiator_depth,
			limits->max_qp_init_rd_atom, conn->peer_initiator_depth),
		.flow_control = 1,
		.retry_count = conn->params.retry_count,
		.rnr_retry_count = conn->params.rnr_retry,
		.qp_num = conn->qp.ibv_qp->qp_num,
	};
}

/* Private data that tells the peer why verbsd rejects it (rdma/names/rejection.h). A client that
 * rejects chooses the private data itself. */
static void write_reject_reason(const struct vbd_conn *conn, struct vbd_private_data *data)
{
	const struct vbd_first_error *first = &conn->qp.first_error;
	char text[64];

	*data = (struct vbd_private_data){.message = VBD_CM_MESSAGE_REJECT};
	if (conn->qp.reason == VBD_REASON_REJECTED_LOCALLY ||
		(conn->qp.reason == VBD_REASON_LOCAL_CLOSE && !conn->listener_deleted))
		return;
	data->length_bytes = (uint8_t)snprintf(text, sizeof(text), VBD_REJECTION_PREFIX "%s",
		conn->listener_deleted		      ? VBD_REJECTION_LISTENER_DELETED
		: first->at_ns && first->error.status ? vbd_status_code(first->error.status)
						      : vbd_reason_name(conn->qp.reason));
	memcpy(data->bytes, text, data->length_bytes);
}

void vbd_conn_cm_reject(struct vbd_conn *conn)
{
	struct vbd_private_data *data = &conn->cm.private_data;
	const char *call = conn->reject_vendor_option ? "rdma_reject_ece" : "rdma_reject";
	struct vbd_error error = {0};

	/* The private data of the reply is not for the reject message. */
	if (data->message != VBD_CM_MESSAGE_REJECT)
		write_reject_reason(conn, data);
	vbd_conn_note(conn, VBD_TIMELINE_CALL, call, "");
	/* The call fails if the peer is gone, which needs no action. */
	if (vbd_pv_reject(conn->cm_id, conn->reject_vendor_option,
		    data->length_bytes ? data->bytes : NULL, data->length_bytes, &error) != VBD_OK)
		vbd_log(VBD_LOG_DEBUG, "conn", "%s", error.text);
}

void vbd_conn_cm_disconnect(struct vbd_conn *conn)
{
	if (!conn->cm_connected || !conn->cm_id || vbd_cm_must_not_send(conn->qp.device))
		return;
	conn->cm_connected = false;
	vbd_conn_note(conn, VBD_TIMELINE_CALL, "rdma_disconnect", "");
	conn->goodbye_owed = vbd_calls_disconnect(conn->fabric->calls, conn->cm_id) &&
			     conn->established_ns && !conn->peer_disconnected &&
			     !vbd_device_is_iwarp(conn->qp.device);
}

/* A CM id with a port that a client chose is destroyed without waiting for the peer: the next
 * connection may want that port. */
bool vbd_conn_cm_outlives(struct vbd_conn *conn)
{
	struct vbd_device *device = conn->qp.device;
	enum vbd_goodbye_kind kind = VBD_GOODBYE_SAID;

	/* The kernel waits for the id of a device that goes. */
	if (!conn->cm_id || !device || device->state != VBD_DEVICE_PRESENT)
		return false;
	vbd_conn_cm_disconnect(conn);
	if (vbd_cm_must_not_send(device))
		kind = conn->cm_connected ? VBD_GOODBYE_HELD : VBD_GOODBYE_UNWANTED;
	else if (!conn->goodbye_owed || conn->tag.disconnect_failed || conn->peer_disconnected ||
		 conn->cm_over || conn->cm.src_port)
		return false;
	return vbd_goodbye_begin(conn->fabric, kind, conn->cm_id, &conn->account);
}

/* librdmacm has an event of its own for a device that it can't open (ucma_init_device()). */
#define CANT_OPEN_DEVICE (-1)

static void set_cant_open_error(const struct vbd_fabric *fabric, struct vbd_error *error)
{
	const struct vbd_device *failed = vbd_fabric_unopened_device(fabric, NULL);

	if (failed)
		(void)!vbd_device_usable(failed, error);
	else
		(void)vbd_error_set(
			error, VBD_E_ADDR_ERROR, "librdmacm can't open the device of the address");
}

static void refine_addr_error(const struct vbd_fabric *fabric, struct vbd_error *error)
{
	switch (error->raw) {
	case -EMFILE:
		(void)vbd_error_set(error, VBD_E_FD_LIMIT,
			"librdmacm can't open the device of the address: no file descriptor is "
			"left");
		break;
	case CANT_OPEN_DEVICE:
		set_cant_open_error(fabric, error);
		break;
	case -ENODEV:
		error->hint = "Connect to an address that an interface with an RDMA device "
			      "(`rdma link`) leads to, or name that device or its address.";
		(void)vbd_error_set(error, VBD_E_ADDR_ERROR,
			"the interface that leads to the address has no RDMA device (ENODEV)");
		break;
	default:
		break;
	}
}

/* The kernel sends this reason if the program rejects, and also if a program listens on this port
 * but at another address of the host (cma_ib_id_from_event() in cma.c, 6.1). Only the rejection of
 * a program has private data. */
#define REJ_CONSUMER_DEFINED 28

/* The private data has the reason if a verbsd rejected and no client had asked it to. */
static void refine_reject_error(const struct vbd_pv_cm_event *event, struct vbd_error *error)
{
	char words[VBD_PRIVATE_DATA_BYTES + 1] = "";
	struct vbd_rejection rejection;

	memcpy(words, event->private_data, event->private_data_bytes);
	if (!vbd_rejection_read(words, &rejection)) {
		if (words[0] && event->status == REJ_CONSUMER_DEFINED)
			(void)vbd_error_set(error, VBD_E_REJECTED,
				"the program there refused (consumer defined)");
		return;
	}
	error->hint = rejection.advice;
	(void)vbd_error_set(error, VBD_E_REJECTED, "refused: %s", rejection.text);
}

void vbd_cm_error_of_event(const struct vbd_fabric *fabric, const struct vbd_pv_cm_event *event,
	enum vbd_status status, struct vbd_error *ret_error)
{
	const char *text = event->type == RDMA_CM_EVENT_REJECTED
				   ? vbd_cm_reject_name(event->status)
				   : vbd_cm_event_text((int)event->type);

	*ret_error = (struct vbd_error){
		.source = VBD_SOURCE_CM_EVENT,
		.kind = (int)event->type,
		.raw = event->status,
	};
	if (event->type == RDMA_CM_EVENT_ADDR_ERROR)
		refine_addr_error(fabric, ret_error);
	if (event->type == RDMA_CM_EVENT_REJECTED)
		refine_reject_error(event, ret_error);
	(void)vbd_error_set(ret_error, status, "%s", text);
}

void vbd_cm_error_of_silence(const struct vbd_device *device, struct vbd_error *error)
{
	size_t used = strlen(error->text);

	if (!device || !vbd_cm_is_silent(device))
		return;
	error->hint = VBD_CM_SILENCE_HINT;
	(void)snprintf(error->text + used, sizeof(error->text) - used,
		"; no CM message has come in on %s since its interface was down: Soft-RoCE may "
		"have gone deaf",
		device->name);
}

void vbd_cm_error_of_connect(struct vbd_error *error)
{
	struct vbd_error judged = *error;

	if (error->source != VBD_SOURCE_ERRNO)
		return;
	judged.status = VBD_OK;
	if (error->raw == ECONNREFUSED)
		(void)vbd_error_set(&judged, VBD_E_REJECTED,
			"nobody listens on that port: rdma_connect: %s (ECONNREFUSED)",
			strerror(ECONNREFUSED));
	else if (error->raw == ETIMEDOUT || error->raw == EHOSTUNREACH || error->raw == ENETUNREACH)
		(void)vbd_error_set(&judged, VBD_E_UNREACHABLE,
			"the peer's host does not answer: rdma_connect: %s (%s)",
			strerror((int)error->raw), vbd_errno_name((int)error->raw));
	else
		return;
	*error = judged;
}
