/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An endpoint: a UD queue pair, and the CM id that answers SIDR requests with its number.
 *
 * Control thread. Nothing blocks.
 */
#ifndef VBD_RDMA_UD_ENDPOINT_H
#define VBD_RDMA_UD_ENDPOINT_H

#include "rdma/device/private_data.h"
#include "rdma/qp/qp.h"
#include "rdma/ud/ah.h"
#include "rdma/ud/endpoint_fsm.h"

struct rdma_cm_id;
struct vbd_endpoint;
struct vbd_fabric;
struct vbd_pv_cm_event;

/* The parameters of an endpoint; vbd_endpoint_params_default() has the defaults. */
struct vbd_endpoint_params {
	struct vbd_qp_params qp; /* transport UD */
	uint32_t qkey;
	uint32_t psn;	  /* of the first send, 24 bits */
	uint8_t port_num; /* from 1 */
	int gid_index;	  /* -1: the entry of the address, else the best */
	uint16_t pkey_index;
	struct vbd_private_data reply; /* of the SIDR replies */
};

/** vbd_endpoint_params_default - the defaults of rdma/qp/qp_params.h with transport UD and its
 * recv_size_bytes; qkey VBD_CM_QKEY, port 1 */
struct vbd_endpoint_params vbd_endpoint_params_default(void);

/* Notifications to the layer above, on the control thread. No member is NULL. */
struct vbd_endpoint_ops {
	/* The state changed, and the action of the change is done. In CLOSED and FAILED only the
	 * struct vbd_endpoint is left. */
	void (*state_changed)(struct vbd_endpoint *endpoint, void *arg);
	/* Call vbd_endpoint_deadline() in @timeout_ms; 0: cancel. */
	void (*set_deadline)(struct vbd_endpoint *endpoint, uint64_t timeout_ms, void *arg);
	/* Nothing is sent any more and the QP is about to be destroyed: leave the groups and
	 * destroy the address handles. */
	void (*before_qp_goes)(struct vbd_endpoint *endpoint, void *arg);
	/* A SIDR request came, and was answered unless @refused is not NULL. */
	void (*asked)(struct vbd_endpoint *endpoint, const struct sockaddr *peer,
		const struct vbd_error *refused, void *arg);
};

struct vbd_endpoint {
	struct vbd_cm_tag tag; /* first */
	uint64_t id;
	struct vbd_fabric *fabric;
	const struct vbd_endpoint_ops *ops;
	void *ops_arg;
	struct vbd_endpoint_params params; /* the chosen values replace 0 and -1 */

	enum vbd_endpoint_state state; /* written by step_endpoint() in endpoint.c only */

	struct vbd_account account;
	struct rdma_cm_id *listen_id; /* NULL: does not listen */
	struct sockaddr_storage addr; /* of listen_id, kept; ss_family 0: none */
	struct vbd_device_id device;

	struct vbd_qp qp;
	struct vbd_call call; /* registers the memory of the receives */
	struct vbd_error call_error;
	uint16_t lid;
	uint8_t gid[16];
	uint32_t mtu_bytes; /* of the port at creation: the longest message */

	uint64_t sidr_requests, sidr_answered, sidr_refused;
	uint64_t created_ns, ended_ns; /* 0: not yet */
};

/**
 * vbd_endpoint_open - create an OPENING endpoint, which a call thread makes READY
 * @device: NULL: the device of @addr, else the default device
 * @addr:   listening address; NULL: none. ret_endpoint->addr has the kernel's port for port 0.
 *
 * Returns no_device, not_supported (the device has no UD), bad_value (the address is not of the
 * device, no such port or GID), address_in_use, …. What fails later ends it as FAILED with the
 * reason RESOURCE_ERROR.
 */
enum vbd_status vbd_endpoint_open(struct vbd_fabric *fabric, uint64_t id, struct vbd_device *device,
	const struct sockaddr *addr, const struct vbd_endpoint_params *params,
	const struct vbd_endpoint_ops *ops, void *ops_arg, struct vbd_endpoint **ret_endpoint,
	struct vbd_error *err) VBD_MUST_CHECK;

/**
 * vbd_endpoint_resolve_addr - begin to resolve @dst, on a new CM id, from the endpoint's address
 * @account, @tag: of the new id
 * @ret_id:        the caller destroys it; set before some failures, too
 *
 * READY. rdma_cm may take VBD_RESOLVE_TIMEOUT_MS.
 */
enum vbd_status vbd_endpoint_resolve_addr(const struct vbd_endpoint *endpoint,
	struct vbd_account *account, struct vbd_cm_tag *tag, const struct sockaddr *dst,
	struct rdma_cm_id **ret_id, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_endpoint_check_device - addr_error, about the @object, unless the resolved @id is on the
 * endpoint's device: a QP sends, and is attached to groups, on its own device only */
enum vbd_status vbd_endpoint_check_device(const struct vbd_endpoint *endpoint,
	const struct rdma_cm_id *id, const char *object, struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_endpoint_close - begin to close; harmless once the end began. @reason: LOCAL_CLOSE or
 * SHUTDOWN. */
void vbd_endpoint_close(struct vbd_endpoint *endpoint, enum vbd_reason reason);

/** vbd_endpoint_deadline - the deadline of set_deadline() has passed */
void vbd_endpoint_deadline(struct vbd_endpoint *endpoint);

/** vbd_endpoint_device_removed - the device is being removed: end the endpoint */
void vbd_endpoint_device_removed(struct vbd_endpoint *endpoint);

/** vbd_endpoint_destroy - free a CLOSED or FAILED endpoint; not inside an operation of its ops.
 * NULL is fine. */
void vbd_endpoint_destroy(struct vbd_endpoint *endpoint);

/* For the fabric. */
void vbd_endpoint_on_cm_event(struct vbd_endpoint *endpoint, const struct vbd_pv_cm_event *event);

/* In rdma/ud/endpoint_qp.c; for rdma/ud/endpoint.c only. */

/** vbd_endpoint_choose - choose port, GID and MTU of @device; bad_value if @device has no such port
 * or GID */
enum vbd_status vbd_endpoint_choose(struct vbd_endpoint *endpoint, const struct vbd_device *device,
	struct vbd_error *err) VBD_MUST_CHECK;

/** vbd_endpoint_qp_open - create the QP, whose memory vbd_channel_prepare() has registered, move it
 * to RTS with its receives posted, attach it to its worker. After a failure vbd_qp_release() frees
 * the resources. */
enum vbd_status vbd_endpoint_qp_open(
	struct vbd_endpoint *endpoint, struct vbd_error *err) VBD_MUST_CHECK;

#endif
