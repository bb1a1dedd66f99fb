/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explanations of names: of events, errors, states.
 */
#include "api/http/request.h"
#include "api/json/encode.h"
#include "api/resources/explain.h"
#include "rdma/diagnose/why.h"

#include <string.h>

/* Rows of @kind (VBD_WHY_KIND_COUNT: any) with @name (NULL: any). */
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

/* A request is about either a name or a destination. */
static enum vbd_status check_question(const struct vbd_request *req, struct vbd_error *err)
{
	static const char *const of_name[] = {"name", "kind", NULL};
	static const char *const of_dst[] = {"port", "src", "device", NULL};
	bool dst = vbd_uri_param(&req->uri, "dst") != NULL;
	const char *const *others = dst ? of_name : of_dst;

	for (size_t i = 0; others[i]; i++) {
		if (vbd_uri_param(&req->uri, others[i]))
			return vbd_error_input(err, VBD_E_BAD_VALUE, others[i],
				dst ? "%s is not allowed together with dst"
				    : "%s is allowed together with dst only",
				others[i]);
	}
	return VBD_OK;
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

	if (check_question(req, &err) != VBD_OK) {
		vbd_reply_problem(req, &err);
		return;
	}
	if (vbd_uri_param(&req->uri, "dst")) {
		vbd_explain_route_to(req);
		return;
	}
	if (vbd_query_text(req, "name", 64, &name, &err) != VBD_OK ||
		vbd_query_enum(req, "kind", kinds, VBD_ARRAY_LEN(kinds), &kind, &err) != VBD_OK) {
		vbd_reply_problem(req, &err);
		return;
	}
	items = find_rows(kind, name);
	if (items && name && json_array_size(items) == 0) {
		json_decref(items);
		(void)vbd_error_input(&err, VBD_E_NOT_FOUND, "name",
			"the name '%.64s' is unknown; GET /v1/explain lists all names", name);
		vbd_reply_problem(req, &err);
		return;
	}
	vbd_reply_json(req, 200, items ? json_pack("{s:o}", "items", items) : NULL);
}
