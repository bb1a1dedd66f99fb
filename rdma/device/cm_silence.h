/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has the connection manager of a Soft-RoCE device gone deaf?
 *
 * A datagram of the CM that Soft-RoCE can't send, because the interface is down, moves the queue
 * pair of the CM to ERR. The kernel then moves it to RTS again, which gives it its sends back, but
 * not its receives: rxe_completer() in rxe_comp.c and ib_mad_send_error() in core/mad.c, 6.1. From
 * then on nobody can connect to or from the device until its link is deleted and added again.
 * Nothing in user space shows this but that no CM message comes in.
 *
 * Control thread. Reads a few files of sysfs: microseconds.
 */
#ifndef VBD_RDMA_DEVICE_CM_SILENCE_H
#define VBD_RDMA_DEVICE_CM_SILENCE_H

#include <stdbool.h>
#include <stdint.h>

struct vbd_device;

/** VBD_CM_SILENCE_HINT - what a user can do about a CM that is silent */
#define VBD_CM_SILENCE_HINT                                                                        \
	"Check whether others connect to the peer. If they do, delete this device's link and add " \
	"it again: `rdma link delete`, then `rdma link add … type rxe netdev …`."

/** vbd_cm_silence_begin - a port of @device has come up: count the CM messages that come in from
 * now on */
void vbd_cm_silence_begin(struct vbd_device *device, uint8_t port_num);

/** vbd_cm_is_silent - has no CM message come in since the port came up again? False unless @device
 * is Soft-RoCE and its port has been down. */
bool vbd_cm_is_silent(const struct vbd_device *device);

/** vbd_cm_must_not_send - would a CM message end the receives of the CM: is @device Soft-RoCE, and
 * its interface down? */
bool vbd_cm_must_not_send(struct vbd_device *device);

#endif
