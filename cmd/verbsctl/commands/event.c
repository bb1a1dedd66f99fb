/* SPDX-License-Identifier: Apache-2.0 */
/* events. */
#include "cmd/verbsctl/commands/commands.h"

#include "cmd/verbsctl/common/json.h"

#include "base/clock.h"

#define PAGE_EVENTS 500

/* State of `verbsctl events`. */
struct reader {
	struct vbd_ctl *ctl;
	bool follows;
	const char *after; /* place in the log behind which to read on, as the daemon named it */
	uint64_t seen;	   /* number of the newest event of the pages so far; 0 before any */
	unsigned int pause_ms; /* before the next attempt; 0 while the server answers */
};

/* The detail of an event, and the state that the event led to unless detail or type have it. */
static char *detail_text(const json_t *event)
{
	const char *state = vbd_ctl_json_text(event, "data.state");
	const char *type = vbd_ctl_json_text(event, "type");
	char *detail = vbd_ctl_cell_text(vbd_ctl_json_at(event, "detail"));

	if (!state || strstr(detail, state) || strstr(type ? type : "", state))
		return detail;
	return vbd_ctl_format("%s (%s)", detail, vbd_ctl_text_safe(state));
}

/* "connection/to-b", "connection/7" for an object without a name, or "-" for the daemon. */
static char *object_text(const json_t *object)
{
	bool named = json_is_string(vbd_ctl_json_at(object, "name"));

	if (!json_is_object(object))
		return vbd_ctl_format("-");
	return vbd_ctl_fill(object, named ? "{kind}/{name}" : "{kind}/{id}");
}

static void put_event(struct vbd_ctl *ctl, const json_t *event)
{
	char *severity = vbd_ctl_cell_text(vbd_ctl_json_at(event, "severity"));
	const char *shade = strcmp(severity, "error") == 0     ? "\033[31m"
			    : strcmp(severity, "warning") == 0 ? "\033[33m"
							       : NULL;

	if (!ctl->color)
		shade = NULL;
	printf("%6s %s %s%-7s%s %-15s %-22s %s\n", vbd_ctl_fill(event, "{seq}"),
		vbd_ctl_fill(event, "{at}"), shade ? shade : "", severity, shade ? "\033[0m" : "",
		object_text(vbd_ctl_json_at(event, "object")), vbd_ctl_fill(event, "{type}"),
		detail_text(event));
}

/* Continue behind the page. */
static void set_next_place(struct reader *reader, const json_t *page)
{
	const json_t *items = vbd_ctl_json_at(page, "items");
	const char *next = vbd_ctl_json_text(page, "next");
	size_t count = json_array_size(items);

	reader->seen = count ? vbd_ctl_json_uint(json_array_get(items, count - 1), "seq")
			     : vbd_ctl_json_uint(page, "last");
	if (next)
		reader->after = next;
}

/* Removes all but the last @lines items. */
static void keep_last_items(json_t *log, uint64_t lines)
{
	const json_t *items = vbd_ctl_json_at(log, "items");
	size_t count = json_array_size(items);
	json_t *last;

	if (count <= lines)
		return;
	last = vbd_ctl_must(json_array());
	for (size_t i = count - (size_t)lines; i < count; i++) {
		if (json_array_append(last, json_array_get(items, i)) < 0)
			vbd_ctl_must(NULL);
	}
	vbd_ctl_json_set(log, "items", last);
}

static void put_items(struct reader *reader, const json_t *items)
{
	for (size_t i = 0; i < json_array_size(items); i++) {
		size_t kept = vbd_ctl_kept();

		if (reader->ctl->json)
			vbd_ctl_json_put_line(stdout, json_array_get(items, i));
		else
			put_event(reader->ctl, json_array_get(items, i));
		vbd_ctl_release(kept);
	}
	/* A program that reads our output through a pipe needs each page at once. */
	vbd_ctl_flush();
}

/* Report the events behind number @seen that the page lacks. */
static void warn_of_lost_events(const json_t *page, unsigned long long seen)
{
	if (json_is_true(vbd_ctl_json_at(page, "resumed")))
		vbd_ctl_note("verbsd was restarted: no event is lost");
	else if (json_is_true(vbd_ctl_json_at(page, "restarted")))
		vbd_ctl_note("verbsd was restarted: its events are numbered from 1 again; "
			     "any events after event %llu before the restart are lost",
			seen);
	else if (json_is_true(vbd_ctl_json_at(page, "compacted")))
		vbd_ctl_note("events are lost: the log no longer holds those between %llu and %llu",
			seen, (unsigned long long)vbd_ctl_json_uint(page, "first"));
}

/* The number in "SERVER_ID-17", for messages; 0 for "now" and "oldest". */
static uint64_t place_number(const char *place)
{
	const char *dash = strrchr(place, '-');

	return dash ? strtoull(dash + 1, NULL, 10) : 0;
}

/* Prints the events of the log that --lines and --after select. */
static void put_log(struct reader *reader)
{
	const struct vbd_ctl_args *args = &reader->ctl->args;
	bool has_after = vbd_ctl_args_has(args, VBD_CTL_OPT_AFTER);
	uint64_t lines = UINT64_MAX;
	uint64_t after = place_number(reader->after);
	json_t *log;

	if (vbd_ctl_args_has(args, VBD_CTL_OPT_LINES))
		lines = args->number[VBD_CTL_OPT_LINES];
	log = vbd_ctl_fetch_list(reader->ctl, "/v1/events", reader->after);
	set_next_place(reader, log);
	keep_last_items(log, lines);
	/* Report lost events only if the user named a start with --after. */
	if (has_after)
		warn_of_lost_events(log, after);
	if (reader->ctl->json && !reader->follows)
		vbd_ctl_json_put(stdout, log);
	else
		put_items(reader, vbd_ctl_json_at(log, "items"));
}

static void put_page(struct reader *reader, const json_t *page, uint64_t asked_ns)
{
	const json_t *items = vbd_ctl_json_at(page, "items");

	warn_of_lost_events(page, reader->seen);
	set_next_place(reader, page);
	if (json_array_size(items) == 0)
		vbd_ctl_slow_down(asked_ns);
	put_items(reader, items);
}

/* Makes one long poll and handles its outcome. */
static void follow_once(struct reader *reader)
{
	struct vbd_ctl *ctl = reader->ctl;
	const struct vbd_ctl_request request = {
		.method = "GET",
		.path = vbd_ctl_format("/v1/events?limit=%d&wait_ms=%d&after=%s%s", PAGE_EVENTS,
			VBD_CTL_LONG_POLL_MS, vbd_ctl_text_percent(reader->after),
			vbd_ctl_args_query(&ctl->args, '&')),
		.wait_s = VBD_CTL_LONG_POLL_MS / 1000,
	};
	uint64_t asked_ns = vbd_clock_mono_ns();
	const struct vbd_ctl_answer answer = vbd_ctl_http_perform(&ctl->http, &request);

	if (vbd_ctl_retry(&reader->pause_ms, &ctl->http, &answer))
		return;
	if (answer.status != 200 || !answer.json)
		vbd_ctl_http_fail(&ctl->http, &answer);
	put_page(reader, answer.json, asked_ns);
}

void vbd_ctl_events(struct vbd_ctl *ctl)
{
	const char *after = ctl->args.text[VBD_CTL_OPT_AFTER];
	bool follows = vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_FOLLOW);
	bool from_now = follows && !vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_LINES);
	struct reader reader = {
		.ctl = ctl,
		.follows = follows,
		.after = after	    ? after
			 : from_now ? "now"
				    : "oldest",
	};
	size_t kept = vbd_ctl_kept();

	put_log(&reader);
	while (reader.follows) {
		char *next = vbd_ctl_must(strdup(reader.after));

		vbd_ctl_release(kept);
		reader.after = vbd_ctl_keep(next, free);
		follow_once(&reader);
	}
}
