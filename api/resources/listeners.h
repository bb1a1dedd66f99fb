/* SPDX-License-Identifier: Apache-2.0 */
/* Listeners. Control thread. */
#ifndef VBD_API_RESOURCES_LISTENERS_H
#define VBD_API_RESOURCES_LISTENERS_H

#include "api/json/decode.h"

struct vbd_daemon;
struct vbd_listener_spec;

/**
 * vbd_listener_decode - a ListenerCreate
 * @daemon: NULL: do not look for the objects to which it refers
 * @faults: see vbd_decode_all()
 */
enum vbd_status vbd_listener_decode(struct vbd_daemon *daemon, const json_t *json,
	struct vbd_listener_spec *ret_spec, struct vbd_faults *faults,
	struct vbd_error *err) VBD_MUST_CHECK;

#endif
