/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /v1/connections/{ref}/timeline. Of a connection of an earlier run it has the events that are
 * kept.
 */
#include "api/resources/common_json.h"
#include "api/resources/connections.h"
#include "api/resources/context.h"
#include "api/resources/handlers.h"
#include "base/clock.h"
#include "daemon/connections/connections.h"
#include "daemon/core/eventlog.h"

/* Events that are looked at for a timeline, the newest ones: this takes about a millisecond. */
#define LOOKS_MAX 50000

static void put_event(struct vbd_encoder *out, const struct vbd_event *event, uint64_t start_ns)
{
	vbd_begin_object(out, NULL);
	vbd_put_time(out, "at", event->at_ns);
	vbd_put_i64(out, "since_start_ns", (int64_t)(event->at_ns - start_ns));
	vbd_put_text(out, "kind", vbd_timeline_kind_name(VBD_TIMELINE_EVENT));
	vbd_put_text(out, "what", vbd_event_type_name(event->type));
	vbd_put_null(out, "from");
	vbd_put_null(out, "to");
	vbd_put_text_or_null(out, "detail", event->detail);
	vbd_end(out);
}

static void list_events(struct vbd_request *req, const struct vbd_record *record)
{
	const struct vbd_eventlog *eventlog = vbd_request_daemon(req)->eventlog;
	const struct vbd_event_filter filter = {
		.kind = VBD_KIND_CONNECTION, .object_id = record->object.id, .caller = req->caller};
	uint64_t at = vbd_eventlog_before_newest(eventlog, LOOKS_MAX);
	uint64_t start_ns = vbd_clock_mono_of_wall_ns(record->created_wall_ns);
	unsigned int looks = LOOKS_MAX;
	struct vbd_encoder out = vbd_encode_begin();
	const struct vbd_event *event;
	uint64_t total = 0;

	vbd_begin_array(&out, "items");
	while ((event = vbd_eventlog_look(eventlog, &at, &filter, &looks))) {
		put_event(&out, event, start_ns);
		at = event->seq;
		total++;
	}
	vbd_end(&out);
	vbd_put_u64(&out, "total", total);
	vbd_put_null(&out, "next");
	vbd_put_u64(&out, "dropped", 0);
	vbd_put_bool(&out, "incomplete", true);
	vbd_reply_json(req, 200, &out);
}

static void put_entries(struct vbd_encoder *out, const char *name, const struct vbd_conn *conn)
{
	vbd_begin_array(out, name);
	for (uint32_t i = 0; i < conn->timeline.count; i++)
		vbd_put_timeline_entry(out, NULL, conn->timeline.entries[i], conn->created_ns);
	vbd_end(out);
}

void vbd_list_timeline(struct vbd_request *req)
{
	const struct vbd_record *record = vbd_record_of_path(req, VBD_KIND_CONNECTION);
	const struct vbd_connection *connection = record ? NULL : vbd_request_connection(req);
	const struct vbd_conn *conn;
	struct vbd_encoder out;

	if (record)
		list_events(req, record);
	if (!connection)
		return;
	conn = connection->conn;
	out = vbd_encode_begin();
	vbd_put_u64(&out, "total", conn->timeline.count);
	vbd_put_null(&out, "next");
	vbd_put_u64(&out, "dropped", conn->timeline.dropped);
	put_entries(&out, "items", conn);
	vbd_reply_json(req, 200, &out);
}
