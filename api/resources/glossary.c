/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources/glossary.h"

#include "api/http/request.h"
#include "api/json/encode.h"
#include "daemon/core/event_types.h"
#include "rdma/diagnose/finding.h"
#include "rdma/diagnose/why.h"

#include <string.h>
#include <strings.h>

/* The kinds of names: those of rdma/diagnose/why.h, and two more. */
enum glossary_kind {
	GLOSSARY_FINDING = VBD_WHY_KIND_COUNT,
	GLOSSARY_EVENT_TYPE,
	GLOSSARY_KIND_COUNT
};

static const char *const kind_names[GLOSSARY_KIND_COUNT] = {
#define KIND_NAME(sym, json, heading) [sym] = json,
	VBD_WHY_KIND_MAP(KIND_NAME)
#undef KIND_NAME
		[GLOSSARY_FINDING] = "finding",
	[GLOSSARY_EVENT_TYPE] = "event_type",
};

/* An entry. Members that do not apply to its kind are 0, NULL or "". */
struct entry {
	size_t kind; /* enum vbd_why_kind or enum glossary_kind */
	const char *name;
	bool has_number;
	uint64_t number; /* the library's */
	uint64_t status; /* the HTTP status of a problem */
	const char *severity;
	const char *detail;
	const char *causes;
	const char *hint;
	enum vbd_event_type type; /* with GLOSSARY_EVENT_TYPE */
};

/* The tables separate causes with "; ". */
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

/* The members of `data` of events of a type. */
static json_t *encode_members(enum vbd_event_type type)
{
	json_t *list = json_array();
	bool fine = list != NULL;

	for (unsigned int i = 0; fine && i < VBD_EVENT_WORD_COUNT; i++) {
		enum vbd_event_word word = (enum vbd_event_word)i;

		if (vbd_event_type_has(type, word))
			fine = json_array_append_new(
				       list, json_string(vbd_event_word_name(word))) == 0;
	}
	if (fine && vbd_event_type_has_port(type))
		fine = json_array_append_new(list, json_string(VBD_EVENT_PORT_NUM)) == 0;
	if (fine)
		return list;
	json_decref(list);
	return NULL;
}

static json_t *encode_entry(const struct entry *entry)
{
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_text(&out, "kind", kind_names[entry->kind]);
	vbd_put_text(&out, "name", entry->name);
	vbd_put_u64_or_null(&out, "number", entry->has_number, entry->number);
	vbd_put_u64_or_null(&out, "status", entry->status != 0, entry->status);
	vbd_put_text(&out, "severity", entry->severity);
	vbd_put_text(&out, "detail", entry->detail);
	vbd_put(&out, "causes", encode_causes(entry->causes));
	vbd_put_text(&out, "hint", entry->hint);
	vbd_put(&out, "data",
		entry->kind == GLOSSARY_EVENT_TYPE ? encode_members(entry->type) : json_null());
	return vbd_encode_end(&out);
}

static struct entry entry_of_why(const struct vbd_why *why)
{
	bool problem = why->kind == VBD_WHY_PROBLEM;
	struct entry entry = {
		.kind = why->kind,
		.name = why->name,
		.has_number = !problem,
		.number = (uint64_t)why->number,
		.detail = why->detail,
		.causes = why->causes,
		.hint = why->hint,
	};

	if (problem)
		entry.status = vbd_status_http((enum vbd_status)why->number);
	return entry;
}

json_t *vbd_encode_glossary_why(const struct vbd_why *why)
{
	const struct entry entry = entry_of_why(why);

	return encode_entry(&entry);
}

static struct entry entry_of_finding(enum vbd_finding_code code)
{
	return (struct entry){
		.kind = GLOSSARY_FINDING,
		.name = vbd_finding_name(code),
		.severity = vbd_finding_severity_name(vbd_finding_severity(code)),
		.detail = vbd_finding_when(code),
		.causes = "",
		.hint = vbd_finding_hint(code),
	};
}

static struct entry entry_of_event_type(enum vbd_event_type type)
{
	return (struct entry){
		.kind = GLOSSARY_EVENT_TYPE,
		.name = vbd_event_type_name(type),
		.detail = vbd_event_type_text(type),
		.causes = "",
		.type = type,
	};
}

/* The entry with an index, to go through all of them; false after the last. */
static bool entry_at(size_t i, size_t whys, struct entry *ret_entry)
{
	struct vbd_why why;

	if (i < whys) {
		(void)vbd_why_at(i, &why);
		*ret_entry = entry_of_why(&why);
	} else if (i - whys < VBD_FINDING_COUNT) {
		*ret_entry = entry_of_finding((enum vbd_finding_code)(i - whys));
	} else if (i - whys - VBD_FINDING_COUNT < VBD_EVENT_TYPE_COUNT) {
		*ret_entry =
			entry_of_event_type((enum vbd_event_type)(i - whys - VBD_FINDING_COUNT));
	} else {
		return false;
	}
	return true;
}

/* Entries of @kind (GLOSSARY_KIND_COUNT: any) with @name (NULL: any). */
static json_t *find_entries(size_t kind, const char *name)
{
	json_t *items = json_array();
	struct entry entry;
	struct vbd_why why;
	size_t whys = 0;

	while (vbd_why_at(whys, &why))
		whys++;
	for (size_t i = 0; items && entry_at(i, whys, &entry); i++) {
		if ((kind != GLOSSARY_KIND_COUNT && entry.kind != kind) ||
			(name && strcasecmp(entry.name, name) != 0))
			continue;
		if (json_array_append_new(items, encode_entry(&entry)) < 0) {
			json_decref(items);
			return NULL;
		}
	}
	return items;
}

static json_t *encode_items(json_t *items)
{
	return items ? json_pack("{s:o}", "items", items) : NULL;
}

void vbd_list_glossary(struct vbd_request *req)
{
	size_t kind = GLOSSARY_KIND_COUNT;
	struct vbd_error err = {0};

	if (vbd_query_enum(req, "kind", kind_names, VBD_ARRAY_LEN(kind_names), &kind, &err) !=
		VBD_OK)
		vbd_reply_problem(req, &err);
	else
		vbd_reply_json(req, 200, encode_items(find_entries(kind, NULL)));
}

/* Names of two kinds can be the same, so the answer is a list. */
void vbd_get_glossary(struct vbd_request *req)
{
	json_t *items = find_entries(GLOSSARY_KIND_COUNT, req->ref);
	struct vbd_error err = {0};

	if (!items || json_array_size(items) > 0) {
		vbd_reply_json(req, 200, encode_items(items));
		return;
	}
	json_decref(items);
	(void)vbd_error_set(&err, VBD_E_NOT_FOUND,
		"the name '%.64s' is unknown; GET /v1/glossary lists all names", req->ref);
	vbd_reply_problem(req, &err);
}
