/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources/event_query.h"

#include "api/http/page.h"
#include "api/resources/context.h"
#include "base/text.h"

#define DIGITS_MAX 18

/* --- the place ------------------------------------------------------------------------------- */

const char *vbd_event_run(const struct vbd_daemon *daemon, const struct vbd_event *event)
{
	return event->run ? event->run->server_id : daemon->server_id;
}

char *vbd_event_place_id(const struct vbd_daemon *daemon, uint64_t seq, char id[VBD_EVENT_ID_BYTES])
{
	(void)snprintf(id, VBD_EVENT_ID_BYTES, "%s-%" PRIu64, daemon->server_id, seq);
	return id;
}

static bool is_number(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return digits > 0 && digits <= DIGITS_MAX && !text[digits];
}

/* The run that was killed may have shown events which the log does not have: their place is behind
 * the last one that it has. */
static struct vbd_event_place place_of_run(const struct vbd_event_run *run, uint64_t seq)
{
	return (struct vbd_event_place){
		.seq = run && seq > run->last ? run->last
		       : run		      ? seq
					      : 0,
		.restarted = true,
		.resumed = run,
	};
}

enum vbd_status vbd_parse_event_place(const struct vbd_daemon *daemon, const char *name,
	const char *text, struct vbd_event_place *ret_place, struct vbd_error *err)
{
	const uint64_t last = vbd_eventlog_last(daemon->eventlog);
	const size_t run_bytes = sizeof(daemon->server_id) - 1;
	char run[sizeof(daemon->server_id)] = "";
	uint64_t seq;

	if (strcmp(text, "now") == 0 || strcmp(text, "oldest") == 0) {
		*ret_place = (struct vbd_event_place){.seq = *text == 'n' ? last : 0};
		return VBD_OK;
	}
	if (strspn(text, "0123456789abcdef") != run_bytes || text[run_bytes] != '-' ||
		!is_number(text + run_bytes + 1))
		return vbd_error_input(err, VBD_E_BAD_VALUE, name,
			"%s must be SERVER_ID-NUMBER, as in `next` and in the id of an event, or "
			"oldest, or now",
			name);
	seq = strtoull(text + run_bytes + 1, NULL, 10);
	memcpy(run, text, run_bytes);
	if (strcmp(run, daemon->server_id) != 0)
		*ret_place = place_of_run(vbd_eventlog_find_run(daemon->eventlog, run), seq);
	else if (seq > last)
		*ret_place = place_of_run(NULL, 0);
	else
		*ret_place = (struct vbd_event_place){.seq = seq};
	return VBD_OK;
}

enum vbd_status vbd_query_event_place(
	const struct vbd_request *req, struct vbd_event_place *place, struct vbd_error *err)
{
	const char *after = NULL;
	enum vbd_status status = vbd_query_text(req, "after", VBD_EVENT_ID_BYTES, &after, err);

	if (status != VBD_OK || !after)
		return status;
	return vbd_parse_event_place(vbd_request_daemon(req), "after", after, place, err);
}

/* --- the filter ------------------------------------------------------------------------------ */

#define KIND_NAME(sym, singular, plural, open, kept) #singular ", "
#define KINDS					     "device, " VBD_KIND_MAP(KIND_NAME)

/* Parse "connection", "connection/7" or "connection/to-b". */
static enum vbd_status parse_object(
	const struct vbd_request *req, struct vbd_event_filter *filter, struct vbd_error *err)
{
	const char *object = NULL;
	char kind[32];
	const char *ref;
	size_t len;
	enum vbd_status status = vbd_query_text(req, "object", 96, &object, err);

	if (status != VBD_OK || !object)
		return status;
	len = strcspn(object, "/");
	ref = object[len] ? object + len + 1 : NULL;
	(void)snprintf(kind, sizeof(kind), "%.*s", (int)len, object);
	if (!vbd_object_kind_parse(kind, &filter->kind) || (ref && !*ref))
		return vbd_error_input(err, VBD_E_BAD_VALUE, "object",
			"object must be one of " KINDS
			"alone or with an id or a name, as in connection/7");
	if (ref && (!vbd_ref_is_id(ref, &filter->object_id) || !filter->object_id))
		filter->name = ref;
	return VBD_OK;
}

static bool take_type(const char *name, size_t len, struct vbd_event_filter *filter)
{
	for (unsigned int i = 0; i < VBD_EVENT_TYPE_COUNT; i++) {
		const char *type = vbd_event_type_name((enum vbd_event_type)i);

		if (strlen(type) == len && strncmp(type, name, len) == 0) {
			filter->types[i] = true;
			return true;
		}
	}
	return false;
}

static enum vbd_status refuse_type(const char *name, size_t len, struct vbd_error *err)
{
	char word[64];
	struct vbd_similar similar = {.word = word};

	(void)snprintf(word, sizeof(word), "%.*s", len < sizeof(word) ? (int)len : 63, name);
	for (unsigned int i = 0; i < VBD_EVENT_TYPE_COUNT; i++)
		vbd_similar_try(&similar, vbd_event_type_name((enum vbd_event_type)i));
	return vbd_refuse_name("type", word, &similar, err);
}

/* Parse "connection_ended,transfer_ended". */
static enum vbd_status parse_types(
	const struct vbd_request *req, struct vbd_event_filter *filter, struct vbd_error *err)
{
	const char *types = vbd_uri_param(&req->uri, "type");

	filter->by_type = types;
	while (types) {
		size_t len = strcspn(types, ",");

		if (!take_type(types, len, filter))
			return refuse_type(types, len, err);
		types = types[len] ? types + len + 1 : NULL;
	}
	return VBD_OK;
}

static enum vbd_status parse_code(
	const struct vbd_request *req, struct vbd_event_filter *filter, struct vbd_error *err)
{
	const char *code = vbd_uri_param(&req->uri, "code");
	struct vbd_similar similar = {.word = code};

	filter->code = code;
	for (unsigned int i = 1; code && i < VBD_STATUS_COUNT; i++) {
		if (strcmp(vbd_status_code((enum vbd_status)i), code) == 0)
			return VBD_OK;
		vbd_similar_try(&similar, vbd_status_code((enum vbd_status)i));
	}
	return code ? vbd_refuse_name("code", code, &similar, err) : VBD_OK;
}

enum vbd_status vbd_parse_event_filter(
	const struct vbd_request *req, struct vbd_event_filter *filter, struct vbd_error *err)
{
	static const char *const severities[] = {
#define SEVERITY_NAME(sym, name, level) name,
		VBD_SEVERITY_MAP(SEVERITY_NAME)
#undef SEVERITY_NAME
	};
	size_t severity = 0;
	enum vbd_status status = vbd_query_enum(
		req, "severity", severities, VBD_ARRAY_LEN(severities), &severity, err);

	filter->min_severity = (enum vbd_severity)severity;
	filter->caller = req->caller; /* the request keeps it as long as the filter is in use */
	if (status == VBD_OK)
		status = parse_types(req, filter, err);
	if (status == VBD_OK)
		status = parse_code(req, filter, err);
	if (status == VBD_OK)
		status = vbd_query_labels(req, &filter->labels, err);
	return status == VBD_OK ? parse_object(req, filter, err) : status;
}
