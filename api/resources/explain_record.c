/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explanations of connections of earlier runs, as far as state_dir has them.
 */
#include "api/http/archive.h"
#include "api/json/encode.h"
#include "api/resources/explain.h"
#include "api/resources/records.h"
#include "daemon/core/record.h"
#include "daemon/observe/explain.h"
#include "rdma/names/reason.h"

#include <ctype.h>

/* --- the row --------------------------------------------------------------------------------- */

void vbd_put_past_explanation(struct vbd_encoder *out, const void *item)
{
	const struct vbd_connection *connection = item;
	struct vbd_caller *owner = connection->object.owner;
	struct vbd_caller anybody = {.role = VBD_ROLE_OPERATE}; /* sees it without an owner */
	struct vbd_explanation explanation;

	if (!connection->object.ended || vbd_reason_clean(connection->conn->qp.reason))
		return;
	vbd_explain_connection(
		connection, NULL, owner ? owner : &anybody, VBD_ROLE_READ, &explanation);
	vbd_begin_object(out, "explanation");
	vbd_put_explanation(out, connection, &explanation, VBD_ROLE_READ);
	vbd_end(out);
}

/* --- the explanation ------------------------------------------------------------------------- */

static void put_empty(struct vbd_encoder *out, const char *name)
{
	vbd_begin_array(out, name);
	vbd_end(out);
}

/* The error of the end, or what its code means; "" if that is the code of a newer verbsd. */
static const char *end_text(const struct vbd_archived *archived)
{
	const char *detail = vbd_archived_error(archived, "detail");

	if (detail && *detail)
		return detail;
	for (int i = VBD_REASON_NONE + 1; i < VBD_REASON_COUNT; i++) {
		if (strcmp(vbd_reason_name((enum vbd_reason)i), archived->record->end_code) == 0)
			return vbd_reason_text((enum vbd_reason)i);
	}
	return "";
}

/* "It failed: the daemon ended before the object did." */
static void put_summary(struct vbd_encoder *out, const struct vbd_archived *archived)
{
	const char *end = end_text(archived);
	bool failed = strcmp(archived->record->state, "failed") == 0;
	const char *became = failed ? "It failed" : "It was closed";
	char text[320];

	if (*end)
		(void)snprintf(text, sizeof(text), "%s: %c%.240s.", became,
			tolower((unsigned char)*end), end + 1);
	else
		(void)snprintf(text, sizeof(text), "%s.", became);
	vbd_put_text(out, "summary", text);
}

static void put_no_followers(struct vbd_encoder *out, const char *name)
{
	vbd_begin_object(out, name);
	vbd_put_u64(out, "flushed", 0);
	vbd_put_u64(out, "flushed_sends", 0);
	vbd_put_u64(out, "flushed_receives", 0);
	vbd_put_u64(out, "errors", 0);
	vbd_end(out);
}

/* The row of a connection that ended well, or with its run, has no explanation: its end is told. */
static void put_end(struct vbd_encoder *out, const struct vbd_archived *archived)
{
	const struct vbd_record *record = archived->record;
	const char *hint = vbd_archived_error(archived, "hint");

	vbd_begin_object(out, "connection");
	vbd_put_u64(out, "id", record->id);
	vbd_put_text_or_null(out, "name", record->name);
	vbd_end(out);
	vbd_archived_put_member(out, archived, "state");
	put_summary(out, archived);
	vbd_put_null(out, "cause");
	put_empty(out, "evidence");
	put_empty(out, "possible_causes");
	vbd_put_null(out, "request");
	vbd_put_null(out, "peer_report");
	put_empty(out, "causes");
	vbd_begin_array(out, "hints");
	if (hint && *hint)
		vbd_put_text(out, NULL, hint);
	vbd_end(out);
	put_empty(out, "findings");
	vbd_put_null(out, "facts");
	vbd_archived_put_member(out, archived, "end_code");
	vbd_archived_put_member(out, archived, "error");
	vbd_put_null(out, "preceded_by");
	put_no_followers(out, "followed_by");
	vbd_put_text(out, "server_id", record->server_id);
}

void vbd_explain_record(struct vbd_request *req, const struct vbd_record *record)
{
	struct vbd_archived archived;
	struct vbd_encoder out;

	if (!vbd_archived_open(&archived, record)) {
		vbd_record_reply_unreadable(req, VBD_KIND_CONNECTION, record);
		return;
	}
	out = vbd_encode_begin();
	if (archived.explanation)
		vbd_archived_put_explanation(&out, &archived);
	else
		put_end(&out, &archived);
	vbd_archived_close(&archived);
	vbd_reply_json(req, 200, &out);
}
