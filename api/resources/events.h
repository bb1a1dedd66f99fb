/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event log: lists and streams.
 *
 * Control thread.
 */
#ifndef VBD_API_RESOURCES_EVENTS_H
#define VBD_API_RESOURCES_EVENTS_H

#include "base/attr.h"
#include "base/error.h"

#include <jansson.h>

struct vbd_event;
struct vbd_event_filter;
struct vbd_request;

/** vbd_encode_event - schema Event; NULL without memory */
json_t *vbd_encode_event(const struct vbd_event *event);

/** vbd_parse_event_filter - parse the parameters type, object and severity */
enum vbd_status vbd_parse_event_filter(const struct vbd_request *req,
	struct vbd_event_filter *filter, struct vbd_error *err) VBD_MUST_CHECK;

void vbd_list_events(struct vbd_request *req);
void vbd_stream_events(struct vbd_request *req);

#endif
