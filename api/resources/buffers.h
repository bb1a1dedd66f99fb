/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers and their bytes. Control thread. */
#ifndef VBD_API_RESOURCES_BUFFERS_H
#define VBD_API_RESOURCES_BUFFERS_H

#include "api/json/decode.h"

struct vbd_buffer_spec;
struct vbd_daemon;

/** vbd_buffer_decode - a BufferCreate; arguments as of vbd_listener_decode() */
enum vbd_status vbd_buffer_decode(struct vbd_daemon *daemon, const json_t *json,
	struct vbd_buffer_spec *ret_spec, struct vbd_faults *faults,
	struct vbd_error *err) VBD_MUST_CHECK;

#endif
