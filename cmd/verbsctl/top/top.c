/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/commands/commands.h"

#include "base/clock.h"
#include "cmd/verbsctl/common/json.h"
#include "cmd/verbsctl/top/top.h"

#include <unistd.h>

#define INTERVAL_MS	  1000
#define LEAST_INTERVAL_MS 100
#define NEWS_NS		  (10 * VBD_NS_PER_S)
#define REDRAW_NS	  (500 * VBD_NS_PER_MS) /* redraw interval while a request is under way */
#define SLOW_NS		  (3 * VBD_NS_PER_S)	/* report an answer that takes longer */

/* One page of a list is enough: nobody reads more than the newest thousand rows. */
#define LIST_QUERY "?limit=1000&sort=-id&fields=id,name,state,device,peer,cq,counters,end_code"
#define CQ_PATH	   "/v1/cqs?limit=1000&fields=id,cqe,outstanding_cqe"

#define ELSEWHERE "`verbsctl ls` prints line by line"

struct run {
	struct vbd_ctl *ctl;
	struct vbd_ctl_top top;
	char *detail;
	uint64_t detail_id; /* id of the connection that `detail` describes */
	bool knows_rtt;	    /* the server knows the member rtt */
	bool refetch;	    /* a key changed what has to be fetched */

	long status;	       /* of the last answer */
	char *failure;	       /* of the last request; NULL for none */
	uint64_t restarted_ns; /* when verbsd was restarted; 0: not yet */
	uint64_t asked_ns;     /* start of the current request; 0 for none */
	uint64_t fresh_ns;     /* last time that all shown data was fetched */
	uint64_t drawn_ns;
};

static void draw(struct run *run)
{
	struct vbd_ctl_top *top = &run->top;
	uint64_t now_ns = vbd_clock_mono_ns();
	bool slow = run->asked_ns && now_ns - run->asked_ns > SLOW_NS;
	bool restarted = run->restarted_ns && now_ns - run->restarted_ns < NEWS_NS;

	top->trouble = run->failure ? run->failure : slow ? "verbsd does not answer" : NULL;
	top->stale_s = (unsigned int)((now_ns - run->fresh_ns) / VBD_NS_PER_S);
	top->news = restarted ? "verbsd was restarted; what was open before has ended" : NULL;
	top->detail = run->detail_id == top->chosen ? run->detail : NULL;
	vbd_ctl_top_draw(top);
	run->drawn_ns = now_ns;
}

/* Waits up to @wait_ms for a key and handles it. */
static void handle_key(struct run *run, unsigned int wait_ms)
{
	int key = vbd_ctl_screen_key(wait_ms);

	if (key == VBD_CTL_KEY_NONE)
		return;
	if (vbd_ctl_top_key(&run->top, key, vbd_ctl_top_page_lines()))
		run->refetch = true;
	draw(run);
}

/* Handles keys while a request is under way, so that they work even if the server does not
 * answer. */
static bool on_request_idle(void *arg)
{
	struct run *run = arg;

	handle_key(run, 0);
	if (vbd_clock_mono_ns() - run->drawn_ns > REDRAW_NS)
		draw(run);
	return !run->top.quit;
}

/* Replaces an owned text by a copy of @text, which may be NULL. */
static void set_text(char **owned, const char *text)
{
	char *copy = text ? vbd_ctl_must(strdup(text)) : NULL;

	free(*owned);
	*owned = copy;
}

static void set_failure(struct run *run, const struct vbd_ctl_answer *answer)
{
	const char *title = vbd_ctl_json_text(answer->json, "title");

	if (answer->outcome != VBD_CTL_ANSWERED)
		title = answer->why ? answer->why : "interrupted";
	else if (!title)
		title = vbd_ctl_format("HTTP %ld is not an answer of verbsd", answer->status);
	set_text(&run->failure, title);
}

/* GETs @path. Prints nothing: on an error sets run->failure and returns NULL. */
static json_t *get_json(struct run *run, const char *path)
{
	const struct vbd_ctl_request request = {
		.method = "GET", .path = path, .idle = on_request_idle, .idle_arg = run};
	const struct vbd_ctl_answer answer = vbd_ctl_http_perform(&run->ctl->http, &request);

	run->status = answer.status;
	if (answer.status == 200 && answer.json)
		return answer.json;
	set_failure(run, &answer);
	return NULL;
}

/* Replaces an owned value by a reference to another one, which may be NULL. */
static void set_json(json_t **owned, json_t *json)
{
	json_decref(*owned);
	*owned = json_incref(json);
}

/* Fetches the counters of the daemon, whose server_id shows a restart. */
static bool fetch_stats(struct run *run)
{
	json_t *stats = get_json(run, "/v1/stats");
	const char *before = vbd_ctl_json_text(run->top.stats, "server_id");
	bool goes_on = before && vbd_ctl_json_is(stats, "server_id", before);

	if (!stats)
		return false;
	if (before && !goes_on)
		run->restarted_ns = vbd_clock_mono_ns();
	set_json(&run->top.stats, stats);
	if (goes_on)
		return true;
	vbd_ctl_top_take(&run->top, NULL, NULL, 0);
	set_json(&run->top.index, get_json(run, "/v1"));
	return run->top.index;
}

static json_t *get_list(struct run *run)
{
	const char *state = run->top.ended ? "&state=open,ended" : "&state=open";
	char *path = vbd_ctl_format(
		"/v1/connections" LIST_QUERY "%s%s", run->knows_rtt ? ",rtt" : "", state);
	json_t *list = get_json(run, path);

	if (list || run->status != 400 || !run->knows_rtt)
		return list;
	/* An older daemon refuses the unknown member. */
	run->knows_rtt = false;
	return get_list(run);
}

static bool fetch_list(struct run *run)
{
	json_t *list = get_list(run);
	uint64_t at_ns = vbd_clock_mono_ns();
	json_t *cqs = list ? get_json(run, CQ_PATH) : NULL;

	if (!cqs)
		return false;
	vbd_ctl_top_take(
		&run->top, vbd_ctl_json_at(list, "items"), vbd_ctl_json_at(cqs, "items"), at_ns);
	run->top.total = vbd_ctl_json_uint(list, "total");
	return true;
}

/* Fetches the text about one connection with its explanation. */
static bool fetch_detail(struct run *run)
{
	uint64_t id = run->top.chosen;
	char *path = vbd_ctl_format("/v1/connections/%llu", (unsigned long long)id);
	json_t *connection = get_json(run, path);
	json_t *timeline = connection ? get_json(run, vbd_ctl_format("%s/timeline", path)) : NULL;
	json_t *explanation = connection ? get_json(run, vbd_ctl_format("%s/explain", path)) : NULL;
	size_t text_len = 0;
	FILE *out;

	if (!explanation && run->status != 404)
		return false;
	set_text(&run->detail, NULL);
	out = vbd_ctl_must(open_memstream(&run->detail, &text_len));
	if (connection)
		vbd_ctl_connection_put(connection, explanation, timeline, out);
	else
		fputs("verbsd no longer has this connection\n", out);
	(void)fclose(out);
	vbd_ctl_must(run->detail);
	run->detail_id = id;
	return true;
}

/* Fetches everything that the current page shows. On an error the old data stays. */
static void fetch_page_data(struct run *run)
{
	bool fresh;

	run->refetch = false;
	run->asked_ns = vbd_clock_mono_ns();
	fresh = fetch_stats(run) && fetch_list(run) &&
		(run->top.page != VBD_CTL_TOP_DETAIL || fetch_detail(run));
	run->asked_ns = 0;
	if (!fresh)
		return;
	set_text(&run->failure, NULL);
	run->fresh_ns = vbd_clock_mono_ns();
}

static void run_top(struct run *run, uint64_t interval_ms)
{
	size_t kept = vbd_ctl_kept();

	while (!run->top.quit) {
		uint64_t next_ns = vbd_clock_mono_ns() + interval_ms * VBD_NS_PER_MS;
		uint64_t now_ns;

		fetch_page_data(run);
		draw(run);
		while (!run->top.quit && !run->refetch && (now_ns = vbd_clock_mono_ns()) < next_ns)
			handle_key(run, (unsigned int)((next_ns - now_ns) / VBD_NS_PER_MS) + 1);
		vbd_ctl_release(kept);
	}
}

/* Copies the options of the command line into the view. Returns the time between two readings. */
static uint64_t take_options(struct run *run)
{
	const struct vbd_ctl_args *args = &run->ctl->args;
	const char *sort = args->text[VBD_CTL_OPT_TOP_SORT];
	const char *filter = args->text[VBD_CTL_OPT_FILTER];
	uint64_t interval_ms = vbd_ctl_args_has(args, VBD_CTL_OPT_TOP_INTERVAL)
				       ? args->number[VBD_CTL_OPT_TOP_INTERVAL]
				       : INTERVAL_MS;

	run->top.sort = vbd_ctl_top_column_of(sort ? sort : "sent/s", 0);
	run->top.ended = vbd_ctl_args_has(args, VBD_CTL_OPT_ALL);
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		vbd_ctl_refuse(args, "needs a terminal to draw on; " ELSEWHERE);
	if (run->ctl->json)
		vbd_ctl_refuse(args, "draws on a terminal; `verbsctl ls --json` prints JSON");
	if (interval_ms < LEAST_INTERVAL_MS)
		vbd_ctl_refuse(args, "--interval must be %d ms at least", LEAST_INTERVAL_MS);
	if (run->top.sort == vbd_ctl_top_column_count)
		vbd_ctl_refuse(args, "--sort must be one of %s, not \"%s\"",
			vbd_ctl_opt_spec(VBD_CTL_OPT_TOP_SORT)->placeholder, sort);
	if (filter && strlen(filter) >= sizeof(run->top.filter))
		vbd_ctl_refuse(args, "--filter is too long");
	if (filter)
		memcpy(run->top.filter, filter, strlen(filter) + 1);
	return interval_ms;
}

void vbd_ctl_top(struct vbd_ctl *ctl)
{
	struct run run = {
		.ctl = ctl,
		.top.server = ctl->http.shown,
		.knows_rtt = true,
		.fresh_ns = vbd_clock_mono_ns(),
	};
	uint64_t interval_ms = take_options(&run);

	/* Before the terminal is taken over, so that an error is printed as for other commands. */
	(void)vbd_ctl_call(ctl, "GET", "/v1/stats", NULL, VBD_CTL_NO_WAIT);
	if (!vbd_ctl_screen_open(ctl->color))
		vbd_ctl_refuse(&ctl->args, "a terminal of this type (TERM) is not known here, or "
					   "can't move its cursor; " ELSEWHERE);
	run_top(&run, interval_ms);
	vbd_ctl_screen_close();
	vbd_ctl_top_fini(&run.top);
	json_decref(run.top.stats);
	json_decref(run.top.index);
	free(run.detail);
	free(run.failure);
}
