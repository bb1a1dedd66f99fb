/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entries of the timeline of a connection.
 */
#include "api/json/encode.h"
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
