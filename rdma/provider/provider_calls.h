/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The provider's functions that can fail. Each asks vbd_pv_fault() before the call of the library
 * whether a client wants the call to fail, and makes its error by vbd_pv_failed().
 */
#ifndef VBD_RDMA_PROVIDER_PROVIDER_CALLS_H
#define VBD_RDMA_PROVIDER_PROVIDER_CALLS_H

#include "rdma/provider/provider.h"

/* clang-format off */
/*
 * X(SYMBOL, name, library's function, status)
 *
 * name:   of vbd_pv_NAME(), and in `call` of a fault
 * status: of nearly every failure; VBD_OK: errno decides
 */
#define VBD_PV_CALL_MAP(X) \
	X(VBD_PV_CALL_LIST_DEVICES, "list_devices", "ibv_get_device_list", VBD_OK) \
	X(VBD_PV_CALL_OPEN_DEVICE, "open_device", "ibv_open_device", VBD_OK) \
	X(VBD_PV_CALL_QUERY_DEVICE, "query_device", "ibv_query_device_ex", VBD_OK) \
	X(VBD_PV_CALL_QUERY_PORT, "query_port", "ibv_query_port", VBD_OK) \
	X(VBD_PV_CALL_QUERY_GIDS, "query_gids", "ibv_query_gid_table", VBD_OK) \
	X(VBD_PV_CALL_QUERY_GID, "query_gid", "ibv_query_gid_ex", VBD_OK) \
	X(VBD_PV_CALL_ALLOC_PD, "alloc_pd", "ibv_alloc_pd", VBD_OK) \
	X(VBD_PV_CALL_REG_MR, "reg_mr", "ibv_reg_mr", VBD_OK) \
	X(VBD_PV_CALL_ALLOC_MW, "alloc_mw", "ibv_alloc_mw", VBD_OK) \
	X(VBD_PV_CALL_CREATE_COMP_CHANNEL, "create_comp_channel", "ibv_create_comp_channel", VBD_OK) \
	X(VBD_PV_CALL_CREATE_CQ, "create_cq", "ibv_create_cq", VBD_OK) \
	X(VBD_PV_CALL_RESIZE_CQ, "resize_cq", "ibv_resize_cq", VBD_OK) \
	X(VBD_PV_CALL_MODERATE_CQ, "moderate_cq", "ibv_modify_cq", VBD_OK) \
	X(VBD_PV_CALL_ARM_CQ, "arm_cq", "ibv_req_notify_cq", VBD_OK) \
	X(VBD_PV_CALL_CREATE_QP, "create_qp", "ibv_create_qp", VBD_OK) \
	X(VBD_PV_CALL_MODIFY_QP, "modify_qp", "ibv_modify_qp", VBD_E_VERBS_ERROR) \
	X(VBD_PV_CALL_QUERY_QP, "query_qp", "ibv_query_qp", VBD_E_VERBS_ERROR) \
	X(VBD_PV_CALL_BIND_MW, "bind_mw", "ibv_bind_mw", VBD_E_VERBS_ERROR) \
	X(VBD_PV_CALL_CREATE_AH, "create_ah", "ibv_create_ah", VBD_OK) \
	X(VBD_PV_CALL_AH_ATTR_OF_WC, "ah_attr_of_wc", "ibv_init_ah_from_wc", VBD_E_ADDR_ERROR) \
	X(VBD_PV_CALL_ATTACH_MCAST, "attach_mcast", "ibv_attach_mcast", VBD_E_VERBS_ERROR) \
	X(VBD_PV_CALL_CREATE_SRQ, "create_srq", "ibv_create_srq", VBD_OK) \
	X(VBD_PV_CALL_ARM_SRQ, "arm_srq", "ibv_modify_srq", VBD_OK) \
	X(VBD_PV_CALL_POST_SRQ_RECV, "post_srq_recv", "ibv_post_srq_recv", VBD_E_VERBS_ERROR) \
	X(VBD_PV_CALL_CREATE_EVENT_CHANNEL, "create_event_channel", "rdma_create_event_channel", VBD_OK) \
	X(VBD_PV_CALL_CREATE_ID, "create_id", "rdma_create_id", VBD_OK) \
	X(VBD_PV_CALL_CREATE_UDP_ID, "create_udp_id", "rdma_create_id", VBD_OK) \
	X(VBD_PV_CALL_BIND_ADDR, "bind_addr", "rdma_bind_addr", VBD_OK) \
	X(VBD_PV_CALL_LISTEN, "listen", "rdma_listen", VBD_OK) \
	X(VBD_PV_CALL_RESOLVE_ADDR, "resolve_addr", "rdma_resolve_addr", VBD_E_ADDR_ERROR) \
	X(VBD_PV_CALL_RESOLVE_ROUTE, "resolve_route", "rdma_resolve_route", VBD_E_ROUTE_ERROR) \
	X(VBD_PV_CALL_SET_ACK_TIMEOUT, "set_ack_timeout", "rdma_set_option", VBD_E_VERBS_ERROR) \
	X(VBD_PV_CALL_SET_TOS, "set_tos", "rdma_set_option", VBD_E_VERBS_ERROR) \
	X(VBD_PV_CALL_SET_REUSE_ADDR, "set_reuse_addr", "rdma_set_option", VBD_E_VERBS_ERROR) \
	X(VBD_PV_CALL_SET_V6_ONLY, "set_v6_only", "rdma_set_option", VBD_E_VERBS_ERROR) \
	X(VBD_PV_CALL_INIT_QP_ATTR, "init_qp_attr", "rdma_init_qp_attr", VBD_E_VERBS_ERROR) \
	X(VBD_PV_CALL_CONNECT, "connect", "rdma_connect", VBD_E_CONNECT_ERROR) \
	X(VBD_PV_CALL_ACCEPT, "accept", "rdma_accept", VBD_E_CONNECT_ERROR) \
	X(VBD_PV_CALL_REJECT, "reject", "rdma_reject", VBD_E_CONNECT_ERROR) \
	X(VBD_PV_CALL_ESTABLISH, "establish", "rdma_establish", VBD_E_CONNECT_ERROR) \
	X(VBD_PV_CALL_NOTIFY_ESTABLISHED, "notify_established", "rdma_notify", VBD_E_CONNECT_ERROR) \
	X(VBD_PV_CALL_DISCONNECT, "disconnect", "rdma_disconnect", VBD_E_VERBS_ERROR) \
	X(VBD_PV_CALL_JOIN_MULTICAST, "join_multicast", "rdma_join_multicast", VBD_OK) \
	X(VBD_PV_CALL_POST_SEND, "post_send", "ibv_post_send", VBD_E_VERBS_ERROR) \
	X(VBD_PV_CALL_POST_RECV, "post_recv", "ibv_post_recv", VBD_E_VERBS_ERROR)
/* clang-format on */

enum vbd_pv_call { VBD_PV_CALL_MAP(VBD_ENUM_ROW) VBD_PV_CALL_COUNT };

/** vbd_pv_call_name - "create_qp"; any thread */
const char *vbd_pv_call_name(enum vbd_pv_call call);

/** vbd_pv_call_library - "ibv_create_qp"; any thread */
const char *vbd_pv_call_library(enum vbd_pv_call call);

/* Bits of a result besides the errno: a fault of a client wants it; the library gave no errno. */
#define VBD_PV_ON_PURPOSE 0x10000
#define VBD_PV_NO_ERRNO	  0x20000

/**
 * vbd_pv_failed - the error of a call
 * @rc:  the errno, of either sign, with the bits above; not 0
 * @fmt: names the object; a fault of a client has words of its own
 *
 * Any thread. Never returns VBD_OK.
 */
enum vbd_status vbd_pv_failed(enum vbd_pv_call call, int rc, struct vbd_error *err, const char *fmt,
	...) VBD_PRINTF(4, 5);

#endif
