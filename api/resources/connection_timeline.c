/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /v1/connections/{ref}/timeline, and its entries.
 */
#include "api/http/problem.h"
#include "api/json/encode.h"
#include "api/resources/connection_wait.h"
#include "api/resources/connections.h"
#include "daemon/connections/connections.h"

void vbd_put_timeline_entry(struct vbd_encoder *out, const char *name,
	const struct vbd_timeline_entry *entry, uint64_t start_ns)
{
	vbd_begin_object(out, name);
	vbd_put_time(out, "at", entry->at_ns);
	vbd_put_u64(out, "since_start_ns", entry->at_ns > start_ns ? entry->at_ns - start_ns : 0);
	vbd_put_text(out, "kind", vbd_timeline_kind_name(entry->kind));
	vbd_put_text(out, "what", entry->what);
	vbd_put_text(out, "from", entry->from);
	vbd_put_text(out, "to", entry->to);
	vbd_put_text_or_null(out, "detail", entry->detail);
	vbd_end(out);
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
	const struct vbd_connection *connection = vbd_request_connection(req);
	const struct vbd_conn *conn;
	struct vbd_encoder out;

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
