/* SPDX-License-Identifier: Apache-2.0 */
#include "api/core/common_json.h"
#include "api/core/handlers.h"
#include "base/text.h"
#include "rdma/diagnose/judge.h"
#include "rdma/diagnose/why.h"

#include <ctype.h>
#include <strings.h>

/* The kinds of names: those of rdma/diagnose/why.h, and three more. */
enum glossary_kind {
	GLOSSARY_CAUSE = VBD_WHY_KIND_COUNT,
	GLOSSARY_FINDING,
	GLOSSARY_EVENT_TYPE,
	GLOSSARY_KIND_COUNT
};

static const char *const kind_names[GLOSSARY_KIND_COUNT] = {
#define KIND_NAME(sym, json, heading) [sym] = json,
	VBD_WHY_KIND_MAP(KIND_NAME)
#undef KIND_NAME
		[GLOSSARY_CAUSE] = "cause",
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
static void put_causes(struct vbd_encoder *out, const char *name, const char *causes)
{
	vbd_begin_array(out, name);
	while (causes && *causes) {
		const char *end = strstr(causes, "; ");
		size_t len = end ? (size_t)(end - causes) : strlen(causes);

		vbd_put_utf8(out, NULL, causes, len);
		causes += len + (end ? 2 : 0);
	}
	vbd_end(out);
}

/* The members of `data` of events of a type. */
static void put_members(struct vbd_encoder *out, const char *name, enum vbd_event_type type)
{
	vbd_begin_array(out, name);
	for (unsigned int i = 0; i < VBD_EVENT_WORD_COUNT; i++) {
		enum vbd_event_word word = (enum vbd_event_word)i;

		if (vbd_event_type_has(type, word))
			vbd_put_text(out, NULL, vbd_event_word_name(word));
	}
	if (vbd_event_type_has_port(type))
		vbd_put_text(out, NULL, VBD_EVENT_PORT_NUM);
	vbd_end(out);
}

/* A cause has placeholders for the facts of a case, "{host}", which stand as HOST here, and
 * clauses, which stand as they usually are. */
static void put_entry_text(
	struct vbd_encoder *out, const char *name, const struct entry *entry, const char *words)
{
	char usual[2 * VBD_VERDICT_BYTES], text[sizeof(usual)];
	bool inside = false;
	size_t len = 0;

	if (entry->kind != GLOSSARY_CAUSE) {
		vbd_put_text(out, name, words);
		return;
	}
	words = vbd_words_usual(words, 0, usual, sizeof(usual));
	for (; *words && len + 1 < sizeof(text); words++) {
		if (*words == '{' || *words == '}')
			inside = *words == '{';
		else
			text[len++] = inside ? (char)toupper((unsigned char)*words) : *words;
	}
	text[len] = '\0';
	vbd_put_text(out, name, text);
}

static void put_entry(struct vbd_encoder *out, const char *name, const struct entry *entry)
{
	vbd_begin_object(out, name);
	vbd_put_text(out, "kind", kind_names[entry->kind]);
	vbd_put_text(out, "name", entry->name);
	vbd_put_u64_or_null(out, "number", entry->has_number, entry->number);
	vbd_put_u64_or_null(out, "status", entry->status != 0, entry->status);
	vbd_put_text(out, "severity", entry->severity);
	put_entry_text(out, "detail", entry, entry->detail);
	put_causes(out, "causes", entry->causes);
	put_entry_text(out, "hint", entry, entry->hint);
	if (entry->kind == GLOSSARY_EVENT_TYPE)
		put_members(out, "data", entry->type);
	else
		vbd_put_null(out, "data");
	vbd_end(out);
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

void vbd_put_glossary_why(struct vbd_encoder *out, const char *name, const struct vbd_why *why)
{
	const struct entry entry = entry_of_why(why);

	put_entry(out, name, &entry);
}

/* The entries to look for, and where they are put. */
struct search {
	struct vbd_encoder *out;
	size_t kind;		 /* GLOSSARY_KIND_COUNT: any */
	struct vbd_similar name; /* its word is the name; NULL: any */
	bool any;		 /* was put */
};

static void put_matching(struct search *search, const struct entry *entry)
{
	if (search->kind != GLOSSARY_KIND_COUNT && entry->kind != search->kind)
		return;
	if (search->name.word && strcasecmp(entry->name, search->name.word) != 0) {
		vbd_similar_try(&search->name, entry->name);
		return;
	}
	put_entry(search->out, NULL, entry);
	search->any = true;
}

static void put_matching_rows(struct search *search)
{
	for (size_t i = 0; i < VBD_CAUSE_COUNT; i++)
		put_matching(search, &(struct entry){.kind = GLOSSARY_CAUSE,
					     .name = vbd_cause_rows[i].name,
					     .detail = vbd_cause_rows[i].text,
					     .hint = vbd_cause_rows[i].advice});
	for (size_t i = 0; i < VBD_FINDING_COUNT; i++) {
		const struct vbd_verdict_row *row = &vbd_finding_rows[i];

		put_matching(search, &(struct entry){.kind = GLOSSARY_FINDING,
					     .name = row->name,
					     .severity = vbd_finding_severity_name(row->severity),
					     .detail = row->when,
					     .hint = row->advice});
	}
	for (enum vbd_event_type type = 0; type < VBD_EVENT_TYPE_COUNT; type++)
		put_matching(search, &(struct entry){.kind = GLOSSARY_EVENT_TYPE,
					     .name = vbd_event_type_name(type),
					     .detail = vbd_event_type_text(type),
					     .type = type});
}

/* Put the entries as `items`. */
static void put_entries(struct search *search)
{
	struct vbd_why why;

	vbd_begin_array(search->out, "items");
	for (size_t i = 0; vbd_why_at(i, &why); i++) {
		const struct entry entry = entry_of_why(&why);

		put_matching(search, &entry);
	}
	put_matching_rows(search);
	vbd_end(search->out);
}

void vbd_list_glossary(struct vbd_request *req)
{
	size_t kind = GLOSSARY_KIND_COUNT;
	struct vbd_encoder out;

	if (vbd_query_enum(req, "kind", kind_names, VBD_ARRAY_LEN(kind_names), &kind, &req->err) !=
		VBD_OK)
		return;
	out = vbd_encode_begin();
	put_entries(&(struct search){.out = &out, .kind = kind});
	vbd_reply_json(req, 200, &out);
}

/* Names of two kinds can be the same, so the answer is a list. */
void vbd_get_glossary(struct vbd_request *req)
{
	struct vbd_encoder out = vbd_encode_begin();
	struct search search = {
		.out = &out, .kind = GLOSSARY_KIND_COUNT, .name = {.word = req->ref}};

	put_entries(&search);
	if (search.any) {
		vbd_reply_json(req, 200, &out);
		return;
	}
	vbd_encode_drop(&out);
	(void)vbd_error_set(&req->err, VBD_E_NOT_FOUND, "the name '%.64s' is unknown%s%s%s",
		req->ref, VBD_DID_YOU_MEAN(search.name.like));
}
