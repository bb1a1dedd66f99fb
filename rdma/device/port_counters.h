/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's counters of a port, from sysfs.
 *
 * Any thread but the control thread. Blocks while the driver fetches its counters.
 */
#ifndef VBD_RDMA_DEVICE_PORT_COUNTERS_H
#define VBD_RDMA_DEVICE_PORT_COUNTERS_H

#include "base/enum.h"

#include <stdint.h>

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

#endif
