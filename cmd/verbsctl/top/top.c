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

struct top {
	struct vbd_ctl *ctl;
	struct vbd_ctl_top_view view;
	struct vbd_ctl_rows rows;
	json_t *stats; /* of the run that the rows come from */
	json_t *index;
	char *detail;
	uint64_t detail_id; /* id of the connection that `detail` describes */
	uint64_t total;
	bool knows_rtt; /* the server knows the member rtt */
	bool refetch;	/* a key changed what has to be fetched */

	char *trouble;
	const char *news;
	uint64_t news_ns;  /* start of the news */
	uint64_t asked_ns; /* start of the current request; 0 for none */
	uint64_t fresh_ns; /* last time that all shown data was fetched */
	uint64_t drawn_ns;
};

static void draw_top(struct top *top)
{
	uint64_t now_ns = vbd_clock_mono_ns();
	bool slow = top->asked_ns && now_ns - top->asked_ns > SLOW_NS;
	const struct vbd_ctl_top_picture picture = {
		.server = top->ctl->http.shown,
		.index = top->index,
		.stats = top->stats,
		.rows = &top->rows,
		.total = top->total,
		.trouble = top->trouble ? top->trouble
			   : slow	? "verbsd does not answer"
					: NULL,
		.stale_s = (unsigned int)((now_ns - top->fresh_ns) / VBD_NS_PER_S),
		.news = top->news && now_ns - top->news_ns < NEWS_NS ? top->news : NULL,
		.detail = top->detail_id == top->view.chosen ? top->detail : NULL,
	};

	vbd_ctl_top_draw(&top->view, &picture);
	top->drawn_ns = now_ns;
}

/* Waits up to @wait_ms for a key and handles it. */
static void handle_key(struct top *top, unsigned int wait_ms)
{
	int key = vbd_ctl_screen_key(wait_ms);

	if (key == VBD_CTL_KEY_NONE)
		return;
	if (vbd_ctl_top_view_key(&top->view, &top->rows, key, vbd_ctl_top_page_lines()))
		top->refetch = true;
	draw_top(top);
}

/* Handles keys while a request is under way, so that they work even if the server does not
 * answer. */
static bool on_request_idle(void *arg)
{
	struct top *top = arg;

	handle_key(top, 0);
	if (vbd_clock_mono_ns() - top->drawn_ns > REDRAW_NS)
		draw_top(top);
	return !top->view.quit;
}

/* Replaces an owned text by a copy of @text, which may be NULL. */
static void set_text(char **owned, const char *text)
{
	char *copy = text ? vbd_ctl_must(strdup(text)) : NULL;

	free(*owned);
	*owned = copy;
}

static void set_trouble(struct top *top, enum vbd_ctl_outcome outcome,
	const struct vbd_ctl_answer *answer, const char *why)
{
	const char *title = vbd_ctl_json_text(vbd_ctl_answer_json(answer), "title");

	if (outcome != VBD_CTL_ANSWERED)
		title = why ? why : "interrupted";
	else if (!title)
		title = vbd_ctl_format("HTTP %ld is not an answer of verbsd", answer->status);
	set_text(&top->trouble, title);
}

/* GETs @path. Prints nothing: on an error sets top->trouble and returns NULL. */
static json_t *get_json(struct top *top, const char *path, long *ret_status)
{
	const struct vbd_ctl_request request = {
		.method = "GET", .path = path, .idle = on_request_idle, .idle_arg = top};
	struct vbd_ctl_answer answer;
	enum vbd_ctl_outcome outcome;
	json_t *json = NULL;
	char *why;

	outcome = vbd_ctl_http_perform(&top->ctl->http, &request, &answer, &why);
	if (outcome == VBD_CTL_ANSWERED && answer.status == 200)
		json = vbd_ctl_answer_json(&answer);
	if (!json)
		set_trouble(top, outcome, &answer, why);
	*ret_status = answer.status;
	return json;
}

/* Replaces an owned value by a reference to another one, which may be NULL. */
static void set_json(json_t **owned, json_t *json)
{
	json_decref(*owned);
	*owned = json_incref(json);
}

/* Fetches the counters of the daemon, whose server_id shows a restart. */
static bool fetch_stats(struct top *top)
{
	long status;
	json_t *stats = get_json(top, "/v1/stats", &status);
	const char *before = vbd_ctl_json_text(top->stats, "server_id");
	bool goes_on = before && vbd_ctl_json_is(stats, "server_id", before);

	if (!stats)
		return false;
	if (before && !goes_on) {
		top->news = "verbsd was restarted; what was open before has ended";
		top->news_ns = vbd_clock_mono_ns();
	}
	set_json(&top->stats, stats);
	if (goes_on)
		return true;
	vbd_ctl_rows_fini(&top->rows);
	vbd_ctl_top_view_take(&top->view, &top->rows);
	set_json(&top->index, get_json(top, "/v1", &status));
	return top->index;
}

static json_t *get_list(struct top *top)
{
	const char *state = top->view.ended ? "&state=open,ended" : "&state=open";
	long status;
	char *path = vbd_ctl_format(
		"/v1/connections" LIST_QUERY "%s%s", top->knows_rtt ? ",rtt" : "", state);
	json_t *list = get_json(top, path, &status);

	if (list || status != 400 || !top->knows_rtt)
		return list;
	/* An older daemon refuses the unknown member. */
	top->knows_rtt = false;
	return get_list(top);
}

static bool fetch_list(struct top *top)
{
	long status;
	json_t *list = get_list(top);
	uint64_t at_ns = vbd_clock_mono_ns();
	json_t *cqs = list ? get_json(top, CQ_PATH, &status) : NULL;
	struct vbd_ctl_rows rows;

	if (cqs) {
		vbd_ctl_rows_init(vbd_ctl_json_at(list, "items"), vbd_ctl_json_at(cqs, "items"),
			at_ns, top->rows.at_ns ? &top->rows : NULL, &rows);
		vbd_ctl_top_view_take(&top->view, &rows);
		vbd_ctl_rows_fini(&top->rows);
		top->rows = rows;
		top->total = vbd_ctl_json_uint(list, "total");
	}
	return cqs;
}

/* Fetches the text about one connection with its explanation. */
static bool fetch_detail(struct top *top)
{
	uint64_t id = top->view.chosen;
	char *path = vbd_ctl_format("/v1/connections/%llu", (unsigned long long)id);
	long status;
	json_t *connection = get_json(top, path, &status);
	json_t *timeline =
		connection ? get_json(top, vbd_ctl_format("%s/timeline", path), &status) : NULL;
	json_t *explanation =
		connection ? get_json(top, vbd_ctl_format("%s/explain", path), &status) : NULL;
	size_t text_len = 0;
	FILE *out;

	if (!explanation && status != 404)
		return false;
	set_text(&top->detail, NULL);
	out = vbd_ctl_must(open_memstream(&top->detail, &text_len));
	if (connection)
		vbd_ctl_connection_put(connection, explanation, timeline, out);
	else
		fputs("verbsd no longer has this connection\n", out);
	(void)fclose(out);
	vbd_ctl_must(top->detail);
	top->detail_id = id;
	return true;
}

/* Fetches everything that the current page shows. On an error the old data stays. */
static void fetch_page_data(struct top *top)
{
	bool fresh;

	top->refetch = false;
	top->asked_ns = vbd_clock_mono_ns();
	fresh = fetch_stats(top) && fetch_list(top) &&
		(top->view.page != VBD_CTL_TOP_DETAIL || fetch_detail(top));
	top->asked_ns = 0;
	if (!fresh)
		return;
	set_text(&top->trouble, NULL);
	top->fresh_ns = vbd_clock_mono_ns();
}

static void run_top(struct top *top, uint64_t interval_ms)
{
	size_t kept = vbd_ctl_kept();

	while (!top->view.quit) {
		uint64_t next_ns = vbd_clock_mono_ns() + interval_ms * VBD_NS_PER_MS;
		uint64_t now_ns;

		fetch_page_data(top);
		draw_top(top);
		while (!top->view.quit && !top->refetch && (now_ns = vbd_clock_mono_ns()) < next_ns)
			handle_key(top, (unsigned int)((next_ns - now_ns) / VBD_NS_PER_MS) + 1);
		vbd_ctl_release(kept);
	}
}

/* Copies the options of the command line into the view. Returns the time between two readings. */
static uint64_t take_options(struct top *top)
{
	const struct vbd_ctl_args *args = &top->ctl->args;
	const char *sort = args->text[VBD_CTL_OPT_TOP_SORT];
	const char *filter = args->text[VBD_CTL_OPT_FILTER];
	uint64_t interval_ms = vbd_ctl_args_has(args, VBD_CTL_OPT_TOP_INTERVAL)
				       ? args->number[VBD_CTL_OPT_TOP_INTERVAL]
				       : INTERVAL_MS;

	top->view.sort = sort ? vbd_ctl_top_column_of(sort, 0) : VBD_CTL_TOP_SENT_RATE;
	top->view.ended = vbd_ctl_args_has(args, VBD_CTL_OPT_ALL);
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		vbd_ctl_refuse(args, "needs a terminal to draw on; " ELSEWHERE);
	if (top->ctl->json)
		vbd_ctl_refuse(args, "draws on a terminal; `verbsctl ls --json` prints JSON");
	if (interval_ms < LEAST_INTERVAL_MS)
		vbd_ctl_refuse(args, "--interval must be %d ms at least", LEAST_INTERVAL_MS);
	if (top->view.sort == VBD_CTL_TOP_COLUMN_END)
		vbd_ctl_refuse(args, "--sort must be one of %s, not \"%s\"",
			vbd_ctl_opt_spec(VBD_CTL_OPT_TOP_SORT)->placeholder, sort);
	if (filter && strlen(filter) >= sizeof(top->view.filter))
		vbd_ctl_refuse(args, "--filter is too long");
	if (filter)
		memcpy(top->view.filter, filter, strlen(filter) + 1);
	return interval_ms;
}

static void free_top(struct top *top)
{
	vbd_ctl_top_view_fini(&top->view);
	vbd_ctl_rows_fini(&top->rows);
	json_decref(top->stats);
	json_decref(top->index);
	free(top->detail);
	free(top->trouble);
}

void vbd_ctl_top(struct vbd_ctl *ctl)
{
	struct top top = {
		.ctl = ctl,
		.knows_rtt = true,
		.fresh_ns = vbd_clock_mono_ns(),
	};
	uint64_t interval_ms = take_options(&top);

	/* Before the terminal is taken over, so that an error is printed as for other commands. */
	(void)vbd_ctl_call(ctl, "GET", "/v1/stats", NULL, VBD_CTL_NO_WAIT);
	if (!vbd_ctl_screen_open(ctl->color))
		vbd_ctl_refuse(&ctl->args, "a terminal of this type (TERM) is not known here, or "
					   "can't move its cursor; " ELSEWHERE);
	run_top(&top, interval_ms);
	vbd_ctl_screen_close();
	free_top(&top);
}
