/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The meaning of a failure of the CM: its statuses and errnos say who failed, which the name of the
 * event or of the call does not.
 *
 * Control thread. Nothing blocks.
 */
#ifndef VBD_RDMA_CONN_CONN_CM_ERROR_H
#define VBD_RDMA_CONN_CONN_CM_ERROR_H

#include "base/error.h"

struct vbd_device;
struct vbd_fabric;
struct vbd_pv_cm_event;

/**
 * vbd_cm_error_of_event - the error that @event reports
 * @status:    of the event's type
 * @ret_error: filled; its status is another one if the CM failed on this host
 */
void vbd_cm_error_of_event(const struct vbd_fabric *fabric, const struct vbd_pv_cm_event *event,
	enum vbd_status status, struct vbd_error *ret_error);

/** vbd_cm_error_of_silence - add to @error, of a peer that has not answered, that the CM of @device
 * (NULL: not known yet) may be deaf */
void vbd_cm_error_of_silence(const struct vbd_device *device, struct vbd_error *error);

/** vbd_cm_error_of_connect - give @error, of rdma_connect(3) over iWARP, the status that its errno
 * stands for: there that call is the TCP handshake with the peer */
void vbd_cm_error_of_connect(struct vbd_error *error);

#endif
