/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a name means that was seen somewhere: in an event, an error, a state. And what became of a
 * connection, and why.
 */
#include "api/connection_wait.h"
#include "api/encode.h"
#include "api/handlers.h"
#include "daemon/explain.h"

#include <string.h>

/* The table separates causes with "; ". */
static json_t *encode_causes(const char *causes)
{
	json_t *list = json_array();

	while (list && *causes) {
		const char *end = strstr(causes, "; ");
		size_t len = end ? (size_t)(end - causes) : strlen(causes);

		if (json_array_append_new(list, json_stringn(causes, len)) < 0) {
			json_decref(list);
			return NULL;
		}
		causes += len + (end ? 2 : 0);
	}
	return list;
}

json_t *vbd_encode_why(const struct vbd_why *why)
{
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_text(&out, "kind", vbd_why_kind_name(why->kind));
	vbd_put_text(&out, "name", why->name);
	vbd_put_u64(&out, "number", (uint64_t)why->number);
	vbd_put_text(&out, "meaning", why->meaning);
	vbd_put(&out, "causes", encode_causes(why->causes));
	vbd_put_text(&out, "advice", why->advice);
	return vbd_encode_end(&out);
}

/* Rows of @kind (VBD_WHY_KIND_COUNT: of all) and of @name (NULL: of all). */
static json_t *find_rows(size_t kind, const char *name)
{
	json_t *items = json_array();
	struct vbd_why why;

	for (size_t i = 0; items && vbd_why_at(i, &why); i++) {
		if ((kind != VBD_WHY_KIND_COUNT && why.kind != kind) ||
			(name && !vbd_why_is_named(&why, name)))
			continue;
		if (json_array_append_new(items, vbd_encode_why(&why)) < 0) {
			json_decref(items);
			return NULL;
		}
	}
	return items;
}

void vbd_explain(struct vbd_request *req)
{
	static const char *const kinds[] = {
#define KIND_NAME(sym, json, heading) json,
		VBD_WHY_KIND_MAP(KIND_NAME)
#undef KIND_NAME
	};
	size_t kind = VBD_WHY_KIND_COUNT;
	const char *name = NULL;
	struct vbd_error err = {0};
	json_t *items;

	if (vbd_query_text(req, "name", 64, &name, &err) != VBD_OK ||
		vbd_query_enum(req, "kind", kinds, VBD_ARRAY_LEN(kinds), &kind, &err) != VBD_OK) {
		vbd_reply_problem(req, &err);
		return;
	}
	items = find_rows(kind, name);
	if (items && name && json_array_size(items) == 0) {
		json_decref(items);
		(void)vbd_error_input(&err, VBD_E_NOT_FOUND, "name",
			"nothing is known of '%.64s'; GET /v1/explain lists every name", name);
		vbd_reply_problem(req, &err);
		return;
	}
	vbd_reply_json(req, 200, items ? json_pack("{s:o}", "items", items) : NULL);
}

void vbd_explain_one(struct vbd_request *req)
{
	struct vbd_connection *connection = vbd_connection_of(req);
	struct vbd_explanation explanation;

	if (!connection)
		return;
	vbd_conn_refresh_qp(connection->conn);
	vbd_explain_connection(connection, NULL, &explanation);
	vbd_reply_json(req, 200, vbd_encode_explanation(connection, &explanation));
}
