/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of the provider's functions that can fail. Each function of the list is two: vbd_pv_X(),
 * which everybody calls, and vbd_impl_X(), which the provider defines. The first asks whether a
 * client wants the call to fail, and calls the second if not (rdma/provider/faults.c).
 */
#ifndef VBD_RDMA_PROVIDER_PROVIDER_CALLS_H
#define VBD_RDMA_PROVIDER_PROVIDER_CALLS_H

#include "rdma/provider/provider.h"

/* clang-format off */
/*
 * X(SYMBOL, name, function, library's function, status, (parameters), (arguments))
 *
 * name:   in `call` of a fault
 * status: of a failure; VBD_OK: errno decides
 */
#define VBD_PV_PLAIN_CALL_MAP(X) \
	X(VBD_PV_CALL_LIST_DEVICES, "list_devices", list_devices, "ibv_get_device_list", VBD_OK, \
		(struct vbd_pv_device **ret_devices, size_t *ret_count, struct vbd_error *err), \
		(ret_devices, ret_count, err)) \
	X(VBD_PV_CALL_OPEN_DEVICE, "open_device", open_device, "ibv_open_device", VBD_OK, \
		(struct vbd_account *account, const char *name, struct ibv_context **ret_context, struct vbd_error *err), \
		(account, name, ret_context, err)) \
	X(VBD_PV_CALL_QUERY_DEVICE, "query_device", query_device, "ibv_query_device_ex", VBD_OK, \
		(struct ibv_context *context, struct ibv_device_attr_ex *ret_attr, struct vbd_error *err), \
		(context, ret_attr, err)) \
	X(VBD_PV_CALL_QUERY_PORT, "query_port", query_port, "ibv_query_port", VBD_OK, \
		(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *ret_attr, struct vbd_error *err), \
		(context, port_num, ret_attr, err)) \
	X(VBD_PV_CALL_QUERY_GIDS, "query_gids", query_gids, "ibv_query_gid_table", VBD_OK, \
		(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max_entries, size_t *ret_count, struct vbd_error *err), \
		(context, entries, max_entries, ret_count, err)) \
	X(VBD_PV_CALL_QUERY_GID, "query_gid", query_gid, "ibv_query_gid_ex", VBD_OK, \
		(struct ibv_context *context, uint8_t port_num, uint32_t gid_index, struct ibv_gid_entry *ret_entry, struct vbd_error *err), \
		(context, port_num, gid_index, ret_entry, err)) \
	X(VBD_PV_CALL_ALLOC_PD, "alloc_pd", alloc_pd, "ibv_alloc_pd", VBD_OK, \
		(struct vbd_account *account, struct ibv_context *context, struct ibv_pd **ret_pd, struct vbd_error *err), \
		(account, context, ret_pd, err)) \
	X(VBD_PV_CALL_REG_MR, "reg_mr", reg_mr, "ibv_reg_mr", VBD_OK, \
		(struct vbd_account *account, struct ibv_pd *pd, void *addr, size_t length_bytes, int access, struct ibv_mr **ret_mr, struct vbd_error *err), \
		(account, pd, addr, length_bytes, access, ret_mr, err)) \
	X(VBD_PV_CALL_ALLOC_MW, "alloc_mw", alloc_mw, "ibv_alloc_mw", VBD_OK, \
		(struct ibv_pd *pd, enum ibv_mw_type type, struct ibv_mw **ret_mw, struct vbd_error *err), \
		(pd, type, ret_mw, err)) \
	X(VBD_PV_CALL_CREATE_COMP_CHANNEL, "create_comp_channel", create_comp_channel, "ibv_create_comp_channel", VBD_OK, \
		(struct ibv_context *context, struct ibv_comp_channel **ret_comp_channel, struct vbd_error *err), \
		(context, ret_comp_channel, err)) \
	X(VBD_PV_CALL_CREATE_CQ, "create_cq", create_cq, "ibv_create_cq", VBD_OK, \
		(struct vbd_account *account, struct ibv_context *context, uint32_t depth_cqe, void *cq_context, struct ibv_comp_channel *comp_channel, unsigned int comp_vector, struct ibv_cq **ret_cq, struct vbd_error *err), \
		(account, context, depth_cqe, cq_context, comp_channel, comp_vector, ret_cq, err)) \
	X(VBD_PV_CALL_RESIZE_CQ, "resize_cq", resize_cq, "ibv_resize_cq", VBD_OK, \
		(struct ibv_cq *cq, uint32_t depth_cqe, struct vbd_error *err), \
		(cq, depth_cqe, err)) \
	X(VBD_PV_CALL_MODERATE_CQ, "moderate_cq", moderate_cq, "ibv_modify_cq", VBD_OK, \
		(struct ibv_cq *cq, uint16_t count, uint16_t period_us, struct vbd_error *err), \
		(cq, count, period_us, err)) \
	X(VBD_PV_CALL_ARM_CQ, "arm_cq", arm_cq, "ibv_req_notify_cq", VBD_OK, \
		(struct ibv_cq *cq, struct vbd_error *err), \
		(cq, err)) \
	X(VBD_PV_CALL_CREATE_QP, "create_qp", create_qp, "ibv_create_qp", VBD_OK, \
		(struct vbd_account *account, struct ibv_pd *pd, struct ibv_qp_init_attr *init, struct ibv_qp **ret_qp, struct vbd_error *err), \
		(account, pd, init, ret_qp, err)) \
	X(VBD_PV_CALL_MODIFY_QP, "modify_qp", modify_qp, "ibv_modify_qp", VBD_E_VERBS_ERROR, \
		(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask, struct vbd_error *err), \
		(qp, attr, mask, err)) \
	X(VBD_PV_CALL_QUERY_QP, "query_qp", query_qp, "ibv_query_qp", VBD_E_VERBS_ERROR, \
		(struct ibv_qp *qp, struct ibv_qp_attr *ret_attr, int mask, struct vbd_error *err), \
		(qp, ret_attr, mask, err)) \
	X(VBD_PV_CALL_BIND_MW, "bind_mw", bind_mw, "ibv_bind_mw", VBD_E_VERBS_ERROR, \
		(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind, struct vbd_error *err), \
		(qp, mw, bind, err)) \
	X(VBD_PV_CALL_CREATE_AH, "create_ah", create_ah, "ibv_create_ah", VBD_E_ADDR_ERROR, \
		(struct ibv_pd *pd, struct ibv_ah_attr *attr, struct ibv_ah **ret_ah, struct vbd_error *err), \
		(pd, attr, ret_ah, err)) \
	X(VBD_PV_CALL_AH_ATTR_OF_WC, "ah_attr_of_wc", ah_attr_of_wc, "ibv_init_ah_from_wc", VBD_E_ADDR_ERROR, \
		(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc, const uint8_t grh[40], struct ibv_ah_attr *ret_attr, struct vbd_error *err), \
		(context, port_num, wc, grh, ret_attr, err)) \
	X(VBD_PV_CALL_ATTACH_MCAST, "attach_mcast", attach_mcast, "ibv_attach_mcast", VBD_E_VERBS_ERROR, \
		(struct ibv_qp *qp, const uint8_t mgid[16], uint16_t mlid, struct vbd_error *err), \
		(qp, mgid, mlid, err)) \
	X(VBD_PV_CALL_CREATE_SRQ, "create_srq", create_srq, "ibv_create_srq", VBD_OK, \
		(struct vbd_account *account, struct ibv_pd *pd, uint32_t max_wr, struct ibv_srq **ret_srq, struct vbd_error *err), \
		(account, pd, max_wr, ret_srq, err)) \
	X(VBD_PV_CALL_ARM_SRQ, "arm_srq", arm_srq, "ibv_modify_srq", VBD_OK, \
		(struct ibv_srq *srq, uint32_t limit, struct vbd_error *err), \
		(srq, limit, err)) \
	X(VBD_PV_CALL_POST_SRQ_RECV, "post_srq_recv", post_srq_recv, "ibv_post_srq_recv", VBD_E_VERBS_ERROR, \
		(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct vbd_error *err), \
		(srq, wr, err)) \
	X(VBD_PV_CALL_CREATE_EVENT_CHANNEL, "create_event_channel", create_event_channel, "rdma_create_event_channel", VBD_OK, \
		(struct rdma_event_channel **ret_cm_channel, struct vbd_error *err), \
		(ret_cm_channel, err)) \
	X(VBD_PV_CALL_CREATE_ID, "create_id", create_id, "rdma_create_id", VBD_OK, \
		(struct vbd_account *account, struct rdma_event_channel *cm_channel, void *id_context, struct rdma_cm_id **ret_id, struct vbd_error *err), \
		(account, cm_channel, id_context, ret_id, err)) \
	X(VBD_PV_CALL_CREATE_UDP_ID, "create_udp_id", create_udp_id, "rdma_create_id", VBD_OK, \
		(struct vbd_account *account, struct rdma_event_channel *cm_channel, void *id_context, struct rdma_cm_id **ret_id, struct vbd_error *err), \
		(account, cm_channel, id_context, ret_id, err)) \
	X(VBD_PV_CALL_BIND_ADDR, "bind_addr", bind_addr, "rdma_bind_addr", VBD_OK, \
		(struct rdma_cm_id *id, const struct sockaddr *addr, struct vbd_error *err), \
		(id, addr, err)) \
	X(VBD_PV_CALL_LISTEN, "listen", listen, "rdma_listen", VBD_OK, \
		(struct rdma_cm_id *id, int backlog, struct vbd_error *err), \
		(id, backlog, err)) \
	X(VBD_PV_CALL_RESOLVE_ADDR, "resolve_addr", resolve_addr, "rdma_resolve_addr", VBD_E_ADDR_ERROR, \
		(struct rdma_cm_id *id, const struct sockaddr *src, const struct sockaddr *dst, int timeout_ms, struct vbd_error *err), \
		(id, src, dst, timeout_ms, err)) \
	X(VBD_PV_CALL_RESOLVE_ROUTE, "resolve_route", resolve_route, "rdma_resolve_route", VBD_E_ROUTE_ERROR, \
		(struct rdma_cm_id *id, int timeout_ms, struct vbd_error *err), \
		(id, timeout_ms, err)) \
	X(VBD_PV_CALL_SET_ACK_TIMEOUT, "set_ack_timeout", set_ack_timeout, "rdma_set_option", VBD_E_VERBS_ERROR, \
		(struct rdma_cm_id *id, uint8_t ack_timeout, struct vbd_error *err), \
		(id, ack_timeout, err)) \
	X(VBD_PV_CALL_SET_TOS, "set_tos", set_tos, "rdma_set_option", VBD_E_VERBS_ERROR, \
		(struct rdma_cm_id *id, uint8_t tos, struct vbd_error *err), \
		(id, tos, err)) \
	X(VBD_PV_CALL_SET_REUSE_ADDR, "set_reuse_addr", set_reuse_addr, "rdma_set_option", VBD_E_VERBS_ERROR, \
		(struct rdma_cm_id *id, struct vbd_error *err), \
		(id, err)) \
	X(VBD_PV_CALL_SET_V6_ONLY, "set_v6_only", set_v6_only, "rdma_set_option", VBD_E_VERBS_ERROR, \
		(struct rdma_cm_id *id, bool v6_only, struct vbd_error *err), \
		(id, v6_only, err)) \
	X(VBD_PV_CALL_INIT_QP_ATTR, "init_qp_attr", init_qp_attr, "rdma_init_qp_attr", VBD_E_VERBS_ERROR, \
		(struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *ret_mask, struct vbd_error *err), \
		(id, attr, ret_mask, err)) \
	X(VBD_PV_CALL_CONNECT, "connect", connect, "rdma_connect", VBD_E_CONNECT_ERROR, \
		(struct rdma_cm_id *id, struct rdma_conn_param *param, struct vbd_error *err), \
		(id, param, err)) \
	X(VBD_PV_CALL_ACCEPT, "accept", accept, "rdma_accept", VBD_E_CONNECT_ERROR, \
		(struct rdma_cm_id *id, struct rdma_conn_param *param, struct vbd_error *err), \
		(id, param, err)) \
	X(VBD_PV_CALL_REJECT, "reject", reject, "rdma_reject", VBD_E_CONNECT_ERROR, \
		(struct rdma_cm_id *id, bool vendor_option, const void *private_data, uint8_t private_data_bytes, struct vbd_error *err), \
		(id, vendor_option, private_data, private_data_bytes, err)) \
	X(VBD_PV_CALL_ESTABLISH, "establish", establish, "rdma_establish", VBD_E_CONNECT_ERROR, \
		(struct rdma_cm_id *id, struct vbd_error *err), \
		(id, err)) \
	X(VBD_PV_CALL_NOTIFY_ESTABLISHED, "notify_established", notify_established, "rdma_notify", VBD_E_CONNECT_ERROR, \
		(struct rdma_cm_id *id, struct vbd_error *err), \
		(id, err)) \
	X(VBD_PV_CALL_DISCONNECT, "disconnect", disconnect, "rdma_disconnect", VBD_E_VERBS_ERROR, \
		(struct rdma_cm_id *id, struct vbd_error *err), \
		(id, err)) \
	X(VBD_PV_CALL_JOIN_MULTICAST, "join_multicast", join_multicast, "rdma_join_multicast", VBD_OK, \
		(struct rdma_cm_id *id, bool send_only, struct vbd_error *err), \
		(id, send_only, err))

/* These tell besides which work request of the chain was not posted. */
#define VBD_PV_POST_CALL_MAP(X) \
	X(VBD_PV_CALL_POST_SEND, "post_send", post_send, "ibv_post_send", VBD_E_VERBS_ERROR, \
		(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **ret_bad, struct vbd_error *err), \
		(qp, wr, ret_bad, err)) \
	X(VBD_PV_CALL_POST_RECV, "post_recv", post_recv, "ibv_post_recv", VBD_E_VERBS_ERROR, \
		(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **ret_bad, struct vbd_error *err), \
		(qp, wr, ret_bad, err))
/* clang-format on */

#define VBD_PV_CALL_MAP(X)       \
	VBD_PV_PLAIN_CALL_MAP(X) \
	VBD_PV_POST_CALL_MAP(X)

enum vbd_pv_call { VBD_PV_CALL_MAP(VBD_ENUM_ROW) VBD_PV_CALL_COUNT };

/** vbd_pv_call_name - "create_qp"; any thread */
const char *vbd_pv_call_name(enum vbd_pv_call call);

#define VBD_PV_CALL_IMPL(symbol, name, function, library, status, parameters, arguments) \
	enum vbd_status vbd_impl_##function parameters VBD_MUST_CHECK;
VBD_PV_CALL_MAP(VBD_PV_CALL_IMPL)
#undef VBD_PV_CALL_IMPL

#endif
