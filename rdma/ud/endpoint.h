/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An endpoint: a UD queue pair of our own, and the CM id by which peers learn its number (SIDR).
 *
 * Control thread. Nothing blocks.
 */
#ifndef VBD_RDMA_UD_ENDPOINT_H
#define VBD_RDMA_UD_ENDPOINT_H

#include "base/error.h"
#include "rdma/provider/account.h"
#include "rdma/ud/ah.h"
#include "rdma/names/cm_tag.h"
#include "rdma/ud/endpoint_fsm.h"
#include "rdma/device/private_data.h"
#include "rdma/qp/qp.h"
#include "rdma/names/reason.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct rdma_cm_id;
struct vbd_endpoint;
struct vbd_fabric;
struct vbd_pv_cm_event;

/* What an endpoint gets. The defaults are vbd_endpoint_params_default(). */
struct vbd_endpoint_params {
	struct vbd_qp_params qp; /* its transport is UD */
	uint32_t qkey;
	uint32_t psn;	  /* of its first send, 24 bits */
	uint8_t port_num; /* from 1 */
	int gid_index;	  /* -1: the one of its address, or the best there is */
	uint16_t pkey_index;
	struct vbd_private_data reply; /* goes with its answers to SIDR requests */
};

/** vbd_endpoint_params_default - the defaults of rdma/qp/qp_params.h with transport UD; qkey
 * VBD_CM_QKEY, port 1 */
struct vbd_endpoint_params vbd_endpoint_params_default(void);

/* Upward news. All on the control thread; all must be there. */
struct vbd_endpoint_ops {
	/* The state changed, its action is done. In CLOSED and FAILED everything but the record is
	 * gone. */
	void (*state_changed)(struct vbd_endpoint *endpoint, void *arg);
	/* Call vbd_endpoint_deadline() in @timeout_ms; 0: not any more. */
	void (*set_deadline)(struct vbd_endpoint *endpoint, uint64_t timeout_ms, void *arg);
	/* Nothing is sent any more and the QP is about to go: groups must be left, address handles
	 * destroyed. */
	void (*before_qp_goes)(struct vbd_endpoint *endpoint, void *arg);
	/* Somebody asked for the QP's number; it was told unless @refused says why not. */
	void (*asked)(struct vbd_endpoint *endpoint, const struct sockaddr *peer,
		const struct vbd_error *refused, void *arg);
};

struct vbd_endpoint {
	struct vbd_cm_tag tag; /* first */
	uint64_t id;
	struct vbd_fabric *fabric;
	const struct vbd_endpoint_ops *ops;
	void *ops_arg;
	struct vbd_endpoint_params params; /* with what was chosen for 0 and -1 */

	enum vbd_endpoint_state state; /* written by set_state() in endpoint.c only */

	struct vbd_account account;
	struct rdma_cm_id *listen_id; /* NULL if it does not listen */
	struct sockaddr_storage addr; /* it listens or listened there; ss_family 0: nowhere */
	char device_name[64];

	struct vbd_qp qp;
	uint16_t lid;
	uint8_t gid[16];
	uint32_t mtu_bytes; /* of its port when it was made: the longest message */

	uint64_t sidr_requests, sidr_answered, sidr_refused;
	uint64_t created_ns, ended_ns; /* 0: not yet */
};

/**
 * vbd_endpoint_open - make one that is READY
 * @device: NULL for the one that @addr belongs to, else the default one
 * @addr:   where it listens; NULL if it shall not. Port 0 is replaced in ret_endpoint->addr.
 *
 * What is refused leaves nothing behind: no_device, not_supported (the device has no datagrams),
 * bad_value (device and address don't go together, no such port or GID), address_in_use, ….
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

/** vbd_endpoint_close - begin to close; harmless when its end is under way. @reason: LOCAL_CLOSE or
 * SHUTDOWN. */
void vbd_endpoint_close(struct vbd_endpoint *endpoint, enum vbd_reason reason);

/** vbd_endpoint_deadline - the deadline asked for by set_deadline() has passed */
void vbd_endpoint_deadline(struct vbd_endpoint *endpoint);

/** vbd_endpoint_device_removed - its device goes away */
void vbd_endpoint_device_removed(struct vbd_endpoint *endpoint);

/** vbd_endpoint_destroy - free the record; CLOSED or FAILED, and not from inside an observer. NULL
 * is fine. */
void vbd_endpoint_destroy(struct vbd_endpoint *endpoint);

/* For the fabric. */
void vbd_endpoint_on_cm_event(struct vbd_endpoint *endpoint, const struct vbd_pv_cm_event *event);

#endif
