/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event log: lists and streams.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_EVENTS_H
#define VBD_API_RESOURCES_EVENTS_H

struct vbd_daemon;
struct vbd_encoder;
struct vbd_event;

/** vbd_put_event - put the members of schema Event */
void vbd_put_event(
	struct vbd_encoder *out, const struct vbd_daemon *daemon, const struct vbd_event *event);

#endif
