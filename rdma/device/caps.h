/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The capabilities of a device, read once when it is opened: from ibv_query_device_ex(3) and from
 * its transport. A request that needs a missing capability is refused before anything is made.
 *
 * Control thread.
 */
#ifndef VBD_RDMA_DEVICE_CAPS_H
#define VBD_RDMA_DEVICE_CAPS_H

#include "base/enum.h"
#include "base/error.h"

struct ibv_device_attr_ex;
struct vbd_device;

/* Software devices, by the vendor_id of their drivers. */
#define VBD_VENDOR_RXE 0xffffff
#define VBD_VENDOR_SIW 0x626d74

/* X(SYMBOL, json name, text) */
#define VBD_CAP_MAP(X)                                                                           \
	X(VBD_CAP_RC, "rc", "reliable connections")                                              \
	X(VBD_CAP_UC, "uc", "unreliable connections")                                            \
	X(VBD_CAP_UD, "ud", "datagrams")                                                         \
	X(VBD_CAP_SRQ, "srq", "shared receive queues")                                           \
	X(VBD_CAP_MULTICAST, "multicast", "multicast groups")                                    \
	X(VBD_CAP_ATOMICS, "atomics", "fetch_add and compare_swap")                              \
	X(VBD_CAP_WRITE_IMM, "write_imm", "write with immediate data")                           \
	X(VBD_CAP_SEND_IMM, "send_imm", "send with immediate data")                              \
	X(VBD_CAP_MW_TYPE_1, "mw_type_1", "memory windows of type 1")                            \
	X(VBD_CAP_MW_TYPE_2, "mw_type_2", "memory windows of type 2")                            \
	X(VBD_CAP_ON_DEMAND_PAGING, "on_demand_paging",                                          \
		"memory that is not pinned (on-demand paging)")                                  \
	X(VBD_CAP_RELAXED_ORDERING, "relaxed_ordering", "relaxed ordering of the peer's writes") \
	X(VBD_CAP_CQ_MODERATION, "cq_moderation", "moderation of completion events")             \
	X(VBD_CAP_CQ_RESIZE, "cq_resize", "resizing completion queues")                          \
	X(VBD_CAP_MANUAL_BRINGUP, "manual_bringup",                                              \
		"queue pairs brought up without the connection manager")                         \
	X(VBD_CAP_PATH_MTU, "path_mtu", "a path MTU for each connection")                        \
	X(VBD_CAP_SQD, "sqd", "pausing a send queue (SQD)")                                      \
	X(VBD_CAP_WRITE_ACK, "write_ack", "writes that complete only when the peer has the data")

enum vbd_cap { VBD_CAP_MAP(VBD_ENUM_ROW) VBD_CAP_COUNT };

/** vbd_cap_name - "atomics" */
const char *vbd_cap_name(enum vbd_cap cap);

/**
 * vbd_caps_of - the capabilities of a device, a bit for each enum vbd_cap
 * @attr:        of ibv_query_device_ex(3)
 * @iwarp:       its transport is iWARP
 * @resizes_cqs: its driver has ibv_resize_cq(3), which no attribute shows
 */
uint64_t vbd_caps_of(const struct ibv_device_attr_ex *attr, bool iwarp, bool resizes_cqs);

/** vbd_device_can - does @device have @cap? */
bool vbd_device_can(const struct vbd_device *device, enum vbd_cap cap);

/** vbd_device_require - VBD_OK, or not_supported with the names of device and capability */
enum vbd_status vbd_device_require(
	const struct vbd_device *device, enum vbd_cap cap, struct vbd_error *err) VBD_MUST_CHECK;

#endif
