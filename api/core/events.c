/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event log: a page, or a long poll.
 */
#include "api/core/common_json.h"
#include "api/core/context.h"
#include "api/core/events.h"
#include "api/core/handlers.h"
#include "api/http/waiter.h"
#include "base/clock.h"
#include "base/text.h"

#define DIGITS_MAX 18

/* --- the place ------------------------------------------------------------------------------- */

const char *vbd_event_run(const struct vbd_daemon *daemon, const struct vbd_event *event)
{
	return event->run ? event->run->server_id : daemon->server_id;
}

static bool is_number(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return digits > 0 && digits <= DIGITS_MAX && !text[digits];
}

/* A run that was killed may have sent events that the log lacks: they are placed behind the last
 * event of the run in the log. */
static struct vbd_event_place place_in_run(const struct vbd_event_run *run, uint64_t seq)
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
		*ret_place = place_in_run(vbd_eventlog_find_run(daemon->eventlog, run), seq);
	else if (seq > last)
		*ret_place = place_in_run(NULL, 0);
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

#define KIND_NAME(sym, singular, plural, open, kept) ", " #singular
#define KINDS					     "device" VBD_KIND_MAP(KIND_NAME)

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
			"object is KIND, KIND/ID or KIND/NAME; kinds: " KINDS);
	if (ref && (!vbd_ref_is_id(ref, &filter->object_id) || !filter->object_id))
		filter->name = ref;
	return VBD_OK;
}

static bool add_type(const char *name, size_t len, struct vbd_event_filter *filter)
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

		if (!add_type(types, len, filter))
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

/* --- the list -------------------------------------------------------------------------------- */

#define EVENTS_MAX 1000

/* Events that one turn looks at, and that it writes. */
#define LOOKS_PER_PART	2000
#define EVENTS_PER_PART 100

/* The events of a page, behind a place in the log. */
struct search {
	const struct vbd_daemon *daemon;
	struct vbd_event_filter filter;
	uint64_t limit;
	struct vbd_event_place after;
	uint64_t at;	/* all events up to here were looked at */
	uint64_t next;	/* the number of the newest event found */
	bool compacted; /* events behind `after` were gone before they were looked at */
	bool over;	/* the page is full, or the log at its end */
	size_t count;
	struct vbd_encoder items; /* a document with the events found; empty before the first */
};

struct event_page {
	struct vbd_in_turns turns; /* first */
	struct search search;
};

struct event_waiter {
	struct vbd_waiter waiter; /* first */
	struct search search;	  /* has found nothing */
};

static void put_object(struct vbd_encoder *out, const char *name, const struct vbd_event *event)
{
	if (!vbd_begin_object_if(out, name, event->kind != VBD_KIND_NONE))
		return;
	vbd_put_text(out, "kind", vbd_object_kind_name(event->kind));
	vbd_put_u64(out, "id", event->object_id);
	vbd_put_text_or_null(out, "name", event->name);
	vbd_put_labels(out, event->labels);
	vbd_end(out);
}

/* The values are names from fixed lists, so that the role "read" learns no key and no data. */
static void put_data(struct vbd_encoder *out, const char *name, const struct vbd_event *event)
{
	vbd_begin_object(out, name);
	for (unsigned int i = 0; i < VBD_EVENT_WORD_COUNT; i++) {
		enum vbd_event_word word = (enum vbd_event_word)i;

		if (vbd_event_type_has(event->type, word))
			vbd_put_text(out, vbd_event_word_name(word), event->words[word]);
	}
	if (vbd_event_type_has_port(event->type))
		vbd_put_u64_or_null(out, VBD_EVENT_PORT_NUM, event->port_num != 0, event->port_num);
	vbd_end(out);
}

void vbd_put_event(
	struct vbd_encoder *out, const struct vbd_daemon *daemon, const struct vbd_event *event)
{
	vbd_put_u64(out, "seq", event->seq);
	vbd_put_text(out, "server_id", vbd_event_run(daemon, event));
	vbd_put_time(out, "at", event->at_ns);
	vbd_put_text(out, "type", vbd_event_type_name(event->type));
	vbd_put_text(out, "severity", vbd_severity_name(event->severity));
	put_object(out, "object", event);
	vbd_put_text(out, "detail", event->detail);
	put_data(out, "data", event);
}

/* --- the search ------------------------------------------------------------------------------ */

static void add_event(struct search *search, const struct vbd_event *event)
{
	if (!search->count++) {
		search->items = vbd_encode_begin();
		vbd_begin_array(&search->items, "items");
	}
	vbd_begin_object(&search->items, NULL);
	vbd_put_event(&search->items, search->daemon, event);
	vbd_end(&search->items);
	search->at = event->seq;
	search->next = event->seq;
}

/* A full page is over at the next event that matches: then `next` is not the end of the log. */
static void search_part(struct search *search)
{
	const struct vbd_eventlog *eventlog = search->daemon->eventlog;
	unsigned int looks = LOOKS_PER_PART;

	search->compacted |= search->at + 1 < vbd_eventlog_first(eventlog);
	for (int i = 0; i < EVENTS_PER_PART; i++) {
		const struct vbd_event *event =
			vbd_eventlog_look(eventlog, &search->at, &search->filter, &looks);

		if (!event && looks == 0)
			return;
		search->over = !event || search->count == search->limit;
		if (!event)
			search->next = vbd_eventlog_last(eventlog);
		if (search->over)
			return;
		add_event(search, event);
	}
}

/* --- answers --------------------------------------------------------------------------------- */

static void put_items(struct vbd_encoder *out, struct search *search)
{
	if (search->count) {
		vbd_end(&search->items);
		vbd_encode_join(out, &search->items);
	} else {
		vbd_begin_array(out, "items");
		vbd_end(out);
	}
}

static void reply_events(struct vbd_request *req, struct search *search)
{
	const struct vbd_daemon *daemon = search->daemon;
	struct vbd_encoder out = vbd_encode_begin();
	char id[VBD_EVENT_ID_BYTES];

	vbd_put_text(&out, "server_id", daemon->server_id);
	vbd_put_u64(&out, "now_ns", vbd_clock_mono_ns());
	vbd_put_u64(&out, "first", vbd_eventlog_first(daemon->eventlog));
	vbd_put_u64(&out, "last", vbd_eventlog_last(daemon->eventlog));
	vbd_put_text(&out, "next", vbd_event_place_id(daemon, search->next, id));
	vbd_put_bool(&out, "restarted", search->after.restarted);
	vbd_put_bool(&out, "resumed", search->after.resumed);
	vbd_put_bool(&out, "compacted", search->compacted);
	put_items(&out, search);
	vbd_reply_json(req, 200, &out);
}

/* Each event wakes the waiter, so there is one new event to look at. */
static void answer_events(struct vbd_waiter *base, enum vbd_wake why)
{
	struct event_waiter *waiter = VBD_CONTAINER_OF(base, struct event_waiter, waiter);
	struct search *search = &waiter->search;
	struct vbd_error err = {0};

	if (why == VBD_WAKE_OBJECT_GONE) {
		(void)vbd_error_set(&err, VBD_E_STOPPING, "the daemon is stopping");
		vbd_reply_problem(base->req, &err);
		return;
	}
	search_part(search);
	if (search->count || why == VBD_WAKE_TIMEOUT)
		reply_events(base->req, search);
}

static void wait_for_event(struct vbd_request *req, const struct search *search)
{
	struct event_waiter waiter = {.waiter.answer = answer_events, .search = *search};

	vbd_waiter_run(&waiter.waiter, sizeof(waiter), req,
		vbd_eventlog_watches(search->daemon->eventlog), req->wait_ms);
}

static bool search_and_answer(struct vbd_in_turns *self)
{
	struct event_page *page = VBD_CONTAINER_OF(self, struct event_page, turns);
	struct search *search = &page->search;

	search_part(search);
	if (!search->over)
		return false;
	if (search->count || search->after.restarted || !self->req->wait_ms)
		reply_events(self->req, search);
	else
		wait_for_event(self->req, search);
	free(page);
	return true;
}

static void free_event_page(struct vbd_in_turns *self)
{
	struct event_page *page = VBD_CONTAINER_OF(self, struct event_page, turns);

	vbd_encode_drop(&page->search.items);
	free(page);
}

/* --- requests -------------------------------------------------------------------------------- */

static enum vbd_status parse_query(
	const struct vbd_request *req, struct search *search, struct vbd_error *err)
{
	enum vbd_status status = vbd_query_u64(req, "limit", 1, EVENTS_MAX, &search->limit, err);

	if (status == VBD_OK)
		status = vbd_query_event_place(req, &search->after, err);
	return status == VBD_OK ? vbd_parse_event_filter(req, &search->filter, err) : status;
}

static enum vbd_status make_event_page(
	struct vbd_request *req, struct event_page **ret_page, struct vbd_error *err)
{
	struct event_page *page = calloc(1, sizeof(*page));
	enum vbd_status status;

	if (!page)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the list");
	page->turns.req = req;
	page->turns.go_on = search_and_answer;
	page->turns.drop = free_event_page;
	page->search.daemon = vbd_request_daemon(req);
	page->search.limit = 100;
	status = parse_query(req, &page->search, err);
	if (status != VBD_OK) {
		free(page);
		return status;
	}
	page->search.at = page->search.after.seq;
	*ret_page = page;
	return VBD_OK;
}

void vbd_list_events(struct vbd_request *req)
{
	struct event_page *page;

	if (make_event_page(req, &page, &req->err) == VBD_OK)
		vbd_in_turns_run(&page->turns, &vbd_request_daemon(req)->turns);
}
