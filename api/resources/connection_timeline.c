/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /v1/connections/{ref}/timeline, and its entries.
 */
#include "api/http/problem.h"
#include "api/json/encode.h"
#include "api/resources/connection_wait.h"
#include "api/resources/connections.h"
#include "daemon/connections/connections.h"

json_t *vbd_encode_timeline_entry(const struct vbd_timeline_entry *entry, uint64_t start_ns)
{
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_time(&out, "at", entry->at_ns);
	vbd_put_u64(&out, "since_start_ns", entry->at_ns > start_ns ? entry->at_ns - start_ns : 0);
	vbd_put_text(&out, "kind", vbd_timeline_kind_name(entry->kind));
	vbd_put_text(&out, "what", entry->what);
	vbd_put_text(&out, "from", entry->from);
	vbd_put_text(&out, "to", entry->to);
	vbd_put_text_or_null(&out, "detail", entry->detail);
	return vbd_encode_end(&out);
}

static json_t *encode_entries(const struct vbd_conn *conn)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < conn->timeline.count; i++) {
		if (json_array_append_new(
			    list, vbd_encode_timeline_entry(
					  &conn->timeline.entries[i], conn->created_ns)) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
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
	vbd_put(&out, "items", encode_entries(conn));
	vbd_reply_json(req, 200, vbd_encode_end(&out));
}
