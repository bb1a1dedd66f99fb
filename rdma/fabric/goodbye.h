/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CM ids of connections that are over, until the peer has acknowledged the disconnect.
 *
 * The kernel repeats a disconnect request that nobody answers for about a minute, but no longer
 * than its id is there (cm_destroy_id() in core/cm.c, 6.1). So if the first one is lost, the peer's
 * side stays established for ever unless the id outlives its connection.
 *
 * The id waits too while a message of its device would make the CM deaf
 * (rdma/device/port_counters.h).
 *
 * Control thread. Nothing blocks.
 */
#ifndef VBD_RDMA_FABRIC_GOODBYE_H
#define VBD_RDMA_FABRIC_GOODBYE_H

#include "base/clock.h"
#include "rdma/device/calls.h"
#include "rdma/names/wr_id.h"

struct rdma_cm_id;
struct vbd_device;
struct vbd_fabric;
struct vbd_pv_cm_event;

/* Ids beyond this number are destroyed without waiting: peers that answer nothing take no more of
 * the kernel's memory. */
#define VBD_GOODBYES_MAX 1024

/* After this time the kernel has given up: no answer to the disconnect will come. */
#define VBD_GOODBYE_PATIENCE_NS (120 * VBD_NS_PER_S)

/* How far a connection has got with its disconnect when it ends. */
enum vbd_goodbye_kind {
	VBD_GOODBYE_SAID,     /* rdma_disconnect(3) was called: its answer is missing */
	VBD_GOODBYE_HELD,     /* rdma_disconnect(3) must wait until the device may send */
	VBD_GOODBYE_UNWANTED, /* the id was not connected: its rdma_destroy_id(3) sends a reject */
};

struct vbd_goodbye {
	struct vbd_cm_tag tag; /* first */
	struct vbd_fabric *fabric;
	struct vbd_link link; /* in fabric->goodbyes */
	struct vbd_account account;
	struct rdma_cm_id *cm_id;
	enum vbd_goodbye_kind kind;
	uint64_t said_ns; /* monotonic; valid if `kind` is SAID */
};

/**
 * vbd_goodbye_begin - take over @cm_id
 * @account: has the id; the goodbye takes that over as well
 *
 * Returns false if there is no room: the caller destroys the id.
 */
bool vbd_goodbye_begin(struct vbd_fabric *fabric, enum vbd_goodbye_kind kind,
	struct rdma_cm_id *cm_id, struct vbd_account *account);

/** vbd_goodbyes_go_on - a port of @device has come up: send what was held back */
void vbd_goodbyes_go_on(struct vbd_fabric *fabric, struct vbd_device *device);

/** vbd_goodbye_on_cm_event - the peer has answered, the kernel has given up, or the device goes: a
 * call thread destroys the id, and the goodbye is freed */
void vbd_goodbye_on_cm_event(struct vbd_goodbye *goodbye, const struct vbd_pv_cm_event *event);

/**
 * vbd_goodbyes_check - destroy the ids whose answer has not come in VBD_GOODBYE_PATIENCE_NS
 * @now_ns: monotonic
 * @count:  looks at so many at most, those that were not looked at for the longest time
 */
void vbd_goodbyes_check(struct vbd_fabric *fabric, uint64_t now_ns, unsigned int count);

/** vbd_goodbyes_abandon - hand all ids to call threads, unless the fabric `exits` */
void vbd_goodbyes_abandon(struct vbd_fabric *fabric);

#endif
