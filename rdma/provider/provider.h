/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only access to librdmacm and libibverbs. Their five error conventions (-1 and errno, NULL and
 * errno, a positive errno, a negative count, an event status of either sign) become one: enum
 * vbd_status and a vbd_error that keeps the call and the raw number.
 *
 * Two implementations, chosen at link time: provider_*.c (the libraries) and
 * tests/fake/provider_fake.c (scripted: queued events and completions, fail the n-th call).
 *
 * Thread: the control thread, except where a function has "worker" or "call thread". Blocks: only
 * for the time of the system call; functions that may take longer say so, and
 * docs/internals/blocking.md has all of them with the reason.
 *
 * Functions that make or destroy an object of a counted type (account.h) count it in the owner's
 * @account, which is NULL for the id of a connection request until an owner adopts the id.
 */
#ifndef VBD_RDMA_PROVIDER_PROVIDER_H
#define VBD_RDMA_PROVIDER_PROVIDER_H

#include "rdma/provider/account.h"

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <dirent.h>

#define VBD_DEVICE_NAME_BYTES  64
#define VBD_PRIVATE_DATA_BYTES 256

/* Devices. */

struct vbd_pv_device {
	char name[VBD_DEVICE_NAME_BYTES];	  /* its present name: the kernel renames devices
						     (rdma-dev(8)) */
	char library_name[VBD_DEVICE_NAME_BYTES]; /* that libibverbs found it with, and keeps */
	char ibdev_path[256];			  /* the device's folder in sysfs */
	char uverbs_name[64];			  /* "uverbs0" */
	int transport;				  /* enum ibv_transport_type */
};

/** vbd_pv_list_devices - the devices of ibv_get_device_list(3); no devices is no error.
 * @ret_devices: free(3) it. */
enum vbd_status vbd_pv_list_devices(struct vbd_pv_device **ret_devices, size_t *ret_count,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_pv_open_device - a context of our own, async fd non-blocking. NOT_FOUND (status no_device)
 * if the device is gone. */
enum vbd_status vbd_pv_open_device(struct vbd_account *account, const char *uverbs_name,
	struct ibv_context **ret_context, struct vbd_error *err) VBD_MUST_CHECK;
void vbd_pv_close_device(struct vbd_account *account, struct ibv_context *context);

enum vbd_status vbd_pv_query_device(struct ibv_context *context,
	struct ibv_device_attr_ex *ret_attr, struct vbd_error *err) VBD_MUST_CHECK;
/** vbd_pv_resizes_cqs - does the driver have ibv_resize_cq(3)? Tries on a small CQ: no attribute
 * has it. */
bool vbd_pv_resizes_cqs(struct ibv_context *context);
/** vbd_pv_open_counters - call thread; opendir(3) of a folder of counters in sysfs, whose files
 * wait for the driver (hw_stat_port_show() in core/sysfs.c, 6.1) */
DIR *vbd_pv_open_counters(const char *path);
enum vbd_status vbd_pv_query_port(struct ibv_context *context, uint8_t port_num,
	struct ibv_port_attr *ret_attr, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_pv_query_gids - the filled entries of the GID table; @ret_count is at most @max_entries */
enum vbd_status vbd_pv_query_gids(struct ibv_context *context, struct ibv_gid_entry *entries,
	size_t max_entries, size_t *ret_count, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_pv_query_gid - one entry of a port's GID table */
enum vbd_status vbd_pv_query_gid(struct ibv_context *context, uint8_t port_num, uint32_t gid_index,
	struct ibv_gid_entry *ret_entry, struct vbd_error *err) VBD_MUST_CHECK;

/* An async event, copied and acknowledged already. */
struct vbd_pv_async_event {
	int type; /* enum ibv_event_type */
	enum {
		VBD_PV_OF_DEVICE,
		VBD_PV_OF_CQ,
		VBD_PV_OF_QP,
		VBD_PV_OF_PORT,
		VBD_PV_OF_SRQ
	} subject;
	union {
		uint32_t qp_num;
		const struct ibv_cq *cq;   /* to compare only: it may be destroyed by now */
		const struct ibv_srq *srq; /* the same */
		int port_num;
	} element; /* of the subject */
};

/** vbd_pv_next_async_event - copy and acknowledge the next event; false if there is none. After the
 * acknowledgement the object may be destroyed at any time, by another thread: ibv_destroy_qp(3). */
bool vbd_pv_next_async_event(struct ibv_context *context, struct vbd_pv_async_event *ret_event);

/* Protection domains, memory, completion queues. */

enum vbd_status vbd_pv_alloc_pd(struct vbd_account *account, struct ibv_context *context,
	struct ibv_pd **ret_pd, struct vbd_error *err) VBD_MUST_CHECK;
void vbd_pv_dealloc_pd(struct vbd_account *account, struct ibv_pd *pd);

/** vbd_pv_reg_mr - any thread; takes time in proportion to @length_bytes. ENOMEM gives status
 * memlock or no_memory. */
enum vbd_status vbd_pv_reg_mr(struct vbd_account *account, struct ibv_pd *pd, void *addr,
	size_t length_bytes, int access, struct ibv_mr **ret_mr,
	struct vbd_error *err) VBD_MUST_CHECK;
/** vbd_pv_dereg_mr - any thread; takes time in proportion to the length */
void vbd_pv_dereg_mr(struct vbd_account *account, struct ibv_mr *mr);

/** vbd_pv_alloc_mw - a memory window, bound to nothing. ENOMEM gives status device_limit. */
enum vbd_status vbd_pv_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type, struct ibv_mw **ret_mw,
	struct vbd_error *err) VBD_MUST_CHECK;
/** vbd_pv_dealloc_mw - invalidates the window's rkey, bound or not. NULL is fine. */
void vbd_pv_dealloc_mw(struct ibv_mw *mw);

enum vbd_status vbd_pv_create_comp_channel(struct ibv_context *context,
	struct ibv_comp_channel **ret_comp_channel, struct vbd_error *err) VBD_MUST_CHECK;
void vbd_pv_destroy_comp_channel(struct ibv_comp_channel *comp_channel);

/** vbd_pv_create_cq - @comp_vector is taken modulo the number of the device's vectors */
enum vbd_status vbd_pv_create_cq(struct vbd_account *account, struct ibv_context *context,
	uint32_t depth_cqe, void *cq_context, struct ibv_comp_channel *comp_channel,
	unsigned int comp_vector, struct ibv_cq **ret_cq, struct vbd_error *err) VBD_MUST_CHECK;
void vbd_pv_destroy_cq(struct vbd_account *account, struct ibv_cq *cq);

/** vbd_pv_resize_cq - at least @depth_cqe entries; ->cqe is the actual number. A worker may poll
 * @cq meanwhile. EINVAL if @cq holds more completions than that. */
enum vbd_status vbd_pv_resize_cq(
	struct ibv_cq *cq, uint32_t depth_cqe, struct vbd_error *err) VBD_MUST_CHECK;
/** vbd_pv_moderate_cq - one event per @count completions or @period_us, whichever comes first */
enum vbd_status vbd_pv_moderate_cq(struct ibv_cq *cq, uint16_t count, uint16_t period_us,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_pv_arm_cq - worker; request an event for the next completion */
enum vbd_status vbd_pv_arm_cq(struct ibv_cq *cq, struct vbd_error *err) VBD_MUST_CHECK;
/** vbd_pv_take_cq_event - worker; acknowledge one event; returns the CQ's context; NULL: none */
void *vbd_pv_take_cq_event(struct ibv_comp_channel *comp_channel);
/** vbd_pv_poll_cq - worker; up to @max completions; none from a failing CQ */
unsigned int vbd_pv_poll_cq(struct ibv_cq *cq, struct ibv_wc *wcs, unsigned int max);

/* Queue pairs. */

/** vbd_pv_create_qp - @init's capabilities are updated to the device's values */
enum vbd_status vbd_pv_create_qp(struct vbd_account *account, struct ibv_pd *pd,
	struct ibv_qp_init_attr *init, struct ibv_qp **ret_qp,
	struct vbd_error *err) VBD_MUST_CHECK;
/** vbd_pv_modify_qp - to RTR over RoCE: call thread, blocks for up to a second while the kernel
 * resolves the neighbour */
enum vbd_status vbd_pv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
	struct vbd_error *err) VBD_MUST_CHECK;
enum vbd_status vbd_pv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *ret_attr, int mask,
	struct vbd_error *err) VBD_MUST_CHECK;
/** vbd_pv_destroy_qp - call thread, unless the QP is in RESET; over iWARP blocks until the CM lets
 * go of the QP, 10 s on siw. NULL is fine. */
void vbd_pv_destroy_qp(struct vbd_account *account, struct ibv_qp *qp);

/** vbd_pv_post_send - worker (or control before the QP is handed over); a chain of work requests
 * @ret_bad: set on failure: the first that is not posted. Those before it are. */
enum vbd_status vbd_pv_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
	struct ibv_send_wr **ret_bad, struct vbd_error *err) VBD_MUST_CHECK;
/** vbd_pv_bind_mw - worker; a window of type 1. The new rkey is valid at once. */
enum vbd_status vbd_pv_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind,
	struct vbd_error *err) VBD_MUST_CHECK;
/** vbd_pv_post_recv - worker (or control before the QP is handed over); a chain of work requests
 * @ret_bad: set on failure: the first that is not posted. Those before it are. */
enum vbd_status vbd_pv_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
	struct ibv_recv_wr **ret_bad, struct vbd_error *err) VBD_MUST_CHECK;

/* Datagrams. */

/**
 * vbd_pv_create_ah - any thread; blocks for up to 3 s while the kernel resolves the neighbour
 *
 * On Ethernet the library resolves the neighbour's MAC address. The MAC address of a multicast
 * group follows from its GID.
 */
enum vbd_status vbd_pv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr,
	struct ibv_ah **ret_ah, struct vbd_error *err) VBD_MUST_CHECK;
/** vbd_pv_destroy_ah - NULL is fine; no send that uses it is outstanding */
void vbd_pv_destroy_ah(struct ibv_ah *ah);

/**
 * vbd_pv_ah_attr_of_wc - the address of the sender of a datagram, for an answer
 * @wc: with wc_flags, slid, sl, src_qp, dlid_path_bits
 * @grh: the 40 bytes in front of the datagram
 *
 * Looks for the datagram's destination address in the GID table.
 */
enum vbd_status vbd_pv_ah_attr_of_wc(struct ibv_context *context, uint8_t port_num,
	struct ibv_wc *wc, const uint8_t grh[40], struct ibv_ah_attr *ret_attr,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_pv_attach_mcast - the QP receives the datagrams of the group */
enum vbd_status vbd_pv_attach_mcast(struct ibv_qp *qp, const uint8_t mgid[16], uint16_t mlid,
	struct vbd_error *err) VBD_MUST_CHECK;
void vbd_pv_detach_mcast(struct ibv_qp *qp, const uint8_t mgid[16], uint16_t mlid);

/* Shared receive queues. */

enum vbd_status vbd_pv_create_srq(struct vbd_account *account, struct ibv_pd *pd, uint32_t max_wr,
	struct ibv_srq **ret_srq, struct vbd_error *err) VBD_MUST_CHECK;
/** vbd_pv_arm_srq - any thread; one SRQ_LIMIT_REACHED when fewer than @limit receives are left */
enum vbd_status vbd_pv_arm_srq(
	struct ibv_srq *srq, uint32_t limit, struct vbd_error *err) VBD_MUST_CHECK;
void vbd_pv_destroy_srq(struct vbd_account *account, struct ibv_srq *srq);
/** vbd_pv_post_srq_recv - worker (or control before the SRQ is handed over); one work request */
enum vbd_status vbd_pv_post_srq_recv(
	struct ibv_srq *srq, struct ibv_recv_wr *wr, struct vbd_error *err) VBD_MUST_CHECK;

/* The connection manager. */

/* A CM event, copied and acknowledged: rdma_destroy_id(3) waits until all are acknowledged. */
struct vbd_pv_cm_event {
	enum rdma_cm_event_type type;
	int status; /* raw */
	struct rdma_cm_id *id;
	void *id_context;    /* of @id; of the listening id for CONNECT_REQUEST */
	bool has_conn_param; /* the four members below are set */
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t rnr_retry_count;
	uint32_t qp_num;
	/* set by the answer to a SIDR request and by a joined group: the destination of datagrams
	 * and their qkey (their QP is qp_num) */
	bool has_ud_param;
	struct ibv_ah_attr ah_attr;
	uint32_t qkey;
	uint8_t private_data_bytes; /* may be more than the peer sent, zero-padded:
				       rdma_get_cm_event(3) */
	uint8_t private_data[VBD_PRIVATE_DATA_BYTES];
};

/** vbd_pv_create_event_channel - non-blocking. NO_DEVICE where the kernel has no rdma_cm. */
enum vbd_status vbd_pv_create_event_channel(
	struct rdma_event_channel **ret_cm_channel, struct vbd_error *err) VBD_MUST_CHECK;
void vbd_pv_destroy_event_channel(struct rdma_event_channel *cm_channel);
int vbd_pv_event_channel_fd(const struct rdma_event_channel *cm_channel);

/** vbd_pv_next_cm_event - copy and acknowledge the next event; false if there is none */
bool vbd_pv_next_cm_event(struct rdma_event_channel *cm_channel, struct vbd_pv_cm_event *ret_event);

enum vbd_status vbd_pv_create_id(struct vbd_account *account, struct rdma_event_channel *cm_channel,
	void *id_context, struct rdma_cm_id **ret_id, struct vbd_error *err) VBD_MUST_CHECK;
/** vbd_pv_create_udp_id - the same, for SIDR and multicast: RDMA_PS_UDP */
enum vbd_status vbd_pv_create_udp_id(struct vbd_account *account,
	struct rdma_event_channel *cm_channel, void *id_context, struct rdma_cm_id **ret_id,
	struct vbd_error *err) VBD_MUST_CHECK;
/** vbd_pv_destroy_id - NULL is fine; no event of the id comes after the call. Call thread if it was
 * connected or accepted: over iWARP blocks until the peer has spoken, 10 s on siw. */
void vbd_pv_destroy_id(struct vbd_account *account, struct rdma_cm_id *id);
void vbd_pv_set_id_context(struct rdma_cm_id *id, void *id_context);

enum vbd_status vbd_pv_bind_addr(
	struct rdma_cm_id *id, const struct sockaddr *addr, struct vbd_error *err) VBD_MUST_CHECK;
enum vbd_status vbd_pv_listen(
	struct rdma_cm_id *id, int backlog, struct vbd_error *err) VBD_MUST_CHECK;
enum vbd_status vbd_pv_resolve_addr(struct rdma_cm_id *id, const struct sockaddr *src,
	const struct sockaddr *dst, int timeout_ms, struct vbd_error *err) VBD_MUST_CHECK;
enum vbd_status vbd_pv_resolve_route(
	struct rdma_cm_id *id, int timeout_ms, struct vbd_error *err) VBD_MUST_CHECK;
/** vbd_pv_set_ack_timeout - RDMA_OPTION_ID_ACK_TIMEOUT, 0 to 31; before connect or accept */
enum vbd_status vbd_pv_set_ack_timeout(
	struct rdma_cm_id *id, uint8_t ack_timeout, struct vbd_error *err) VBD_MUST_CHECK;
/** vbd_pv_set_tos - RDMA_OPTION_ID_TOS; before the address is resolved, or before listening */
enum vbd_status vbd_pv_set_tos(
	struct rdma_cm_id *id, uint8_t tos, struct vbd_error *err) VBD_MUST_CHECK;
/** vbd_pv_set_reuse_addr - RDMA_OPTION_ID_REUSEADDR; before the id is bound */
enum vbd_status vbd_pv_set_reuse_addr(struct rdma_cm_id *id, struct vbd_error *err) VBD_MUST_CHECK;
/** vbd_pv_set_v6_only - RDMA_OPTION_ID_AFONLY; before the id is bound */
enum vbd_status vbd_pv_set_v6_only(
	struct rdma_cm_id *id, bool v6_only, struct vbd_error *err) VBD_MUST_CHECK;
/** vbd_pv_init_qp_attr - the CM's attributes for the move to @attr->qp_state */
enum vbd_status vbd_pv_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *ret_mask,
	struct vbd_error *err) VBD_MUST_CHECK;
/** vbd_pv_connect - over iWARP call thread, blocks until the host has answered, for minutes; a
 * signal whose handler is installed without SA_RESTART interrupts it: EINTR */
enum vbd_status vbd_pv_connect(
	struct rdma_cm_id *id, struct rdma_conn_param *param, struct vbd_error *err) VBD_MUST_CHECK;
enum vbd_status vbd_pv_accept(
	struct rdma_cm_id *id, struct rdma_conn_param *param, struct vbd_error *err) VBD_MUST_CHECK;
/**
 * vbd_pv_reject - refuse a request
 * @vendor_option: for the reason "vendor option not supported" (rdma_reject_ece(3)) instead of
 * "consumer defined"; iWARP has no reasons
 * @private_data:  NULL for none
 */
enum vbd_status vbd_pv_reject(struct rdma_cm_id *id, bool vendor_option, const void *private_data,
	uint8_t private_data_bytes, struct vbd_error *err) VBD_MUST_CHECK;
enum vbd_status vbd_pv_establish(struct rdma_cm_id *id, struct vbd_error *err) VBD_MUST_CHECK;
/** vbd_pv_notify_established - data came before ESTABLISHED: rdma_notify(3) with COMM_EST */
enum vbd_status vbd_pv_notify_established(
	struct rdma_cm_id *id, struct vbd_error *err) VBD_MUST_CHECK;
/** vbd_pv_disconnect - over iWARP only after ESTABLISHED: before, it blocks as vbd_pv_destroy_id()
 * does */
enum vbd_status vbd_pv_disconnect(struct rdma_cm_id *id, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_pv_join_multicast - join the group that @id was resolved to; MULTICAST_JOIN or
 * MULTICAST_ERROR follows. vbd_pv_destroy_id() leaves. @send_only: join as a sender that does not
 * receive */
enum vbd_status vbd_pv_join_multicast(
	struct rdma_cm_id *id, bool send_only, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_pv_id_device - the device the id is bound to; NULL while it is bound to none. Its name may
 * be an old one: vbd_device_of_id() */
const struct ibv_device *vbd_pv_id_device(const struct rdma_cm_id *id);
uint8_t vbd_pv_id_port_num(const struct rdma_cm_id *id);
const struct sockaddr *vbd_pv_id_local(struct rdma_cm_id *id);
const struct sockaddr *vbd_pv_id_peer(struct rdma_cm_id *id);
/** vbd_pv_id_peer_gid - the peer's GID->devices, 16 bytes in the id; NULL where there is none
 * (iWARP) */
const uint8_t *vbd_pv_id_peer_gid(const struct rdma_cm_id *id);

#endif
