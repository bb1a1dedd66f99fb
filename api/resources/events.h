/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event log: lists and streams.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_EVENTS_H
#define VBD_API_RESOURCES_EVENTS_H

#include <jansson.h>

struct vbd_daemon;
struct vbd_event;
struct vbd_request;

/** vbd_encode_event - schema Event; NULL without memory */
json_t *vbd_encode_event(const struct vbd_daemon *daemon, const struct vbd_event *event);

void vbd_list_events(struct vbd_request *req);
void vbd_stream_events(struct vbd_request *req);

#endif
