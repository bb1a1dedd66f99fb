/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's counters of a port, from sysfs.
 *
 * Any thread but the control thread. Blocks while the driver fetches its counters.
 */
#ifndef VBD_RDMA_DEVICE_PORT_COUNTERS_H
#define VBD_RDMA_DEVICE_PORT_COUNTERS_H

#include "base/enum.h"

struct vbd_device;

/* X(SYMBOL, folder of the port in sysfs) */
#define VBD_COUNTER_SET_MAP(X)                                           \
	X(VBD_COUNTER_SET_PORT, "counters")  /* defined by InfiniBand */ \
	X(VBD_COUNTER_SET_HW, "hw_counters") /* the driver's own */      \
	X(VBD_COUNTER_SET_CM_TX_MSGS, "cm_tx_msgs")                      \
	X(VBD_COUNTER_SET_CM_TX_RETRIES, "cm_tx_retries")                \
	X(VBD_COUNTER_SET_CM_RX_MSGS, "cm_rx_msgs")                      \
	X(VBD_COUNTER_SET_CM_RX_DUPLICATES, "cm_rx_duplicates")

enum vbd_counter_set { VBD_COUNTER_SET_MAP(VBD_ENUM_ROW) VBD_COUNTER_SET_COUNT };

/** vbd_counter_set_name - "hw_counters" */
const char *vbd_counter_set_name(enum vbd_counter_set set);

/**
 * vbd_port_counters_read - read one set of a port's counters
 * @ibdev_path: the device's folder in sysfs
 * @cb: called with the name of each file, "sent_pkts", and its number; files that can't be read or
 *      have no number are left out
 */
void vbd_port_counters_read(const char *ibdev_path, unsigned int port_num, enum vbd_counter_set set,
	void (*cb)(const char *name, uint64_t value, void *arg), void *arg);

/*
 * Has the connection manager of a Soft-RoCE device gone deaf?
 *
 * A datagram of the CM that Soft-RoCE can't send, because the interface is down, moves the queue
 * pair of the CM to ERR. The kernel then moves it to RTS again, which gives it its sends back, but
 * not its receives: rxe_completer() in rxe_comp.c and ib_mad_send_error() in core/mad.c, 6.1. From
 * then on nobody can connect to or from the device until its link is deleted and added again.
 * Nothing in user space shows this but that no CM message comes in. rdma/fabric/network.c has the
 * messages counted after each event of a port, and while the CM is silent every half second.
 *
 * Control thread, except where a function says otherwise.
 */

/** VBD_CM_SILENCE_HINT - what a user can do about a CM that is silent */
#define VBD_CM_SILENCE_HINT                                                                        \
	"Check whether others connect to the peer. If they do, delete this device's link and add " \
	"it again: `rdma link delete`, then `rdma link add … type rxe netdev …`."

/** vbd_cm_messages_in - call thread; the number of CM messages that have come in at a port */
uint64_t vbd_cm_messages_in(const struct vbd_device *device, uint8_t port_num);

/** vbd_cm_silence_begin - a port of @device has come up: the next count is the first one */
void vbd_cm_silence_begin(struct vbd_device *device, uint8_t port_num);

/** vbd_cm_silence_counted - @messages have come in at `cm_port_num` of @device */
void vbd_cm_silence_counted(struct vbd_device *device, uint64_t messages);

/** vbd_cm_is_silent - had no CM message come in at the last count since the port came up again?
 * False unless @device is Soft-RoCE and its port has been down. */
bool vbd_cm_is_silent(const struct vbd_device *device);

/** vbd_cm_must_not_send - would a CM message end the receives of the CM: is @device Soft-RoCE, and
 * its interface down? */
bool vbd_cm_must_not_send(struct vbd_device *device);

#endif
