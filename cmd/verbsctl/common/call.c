/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbsctl/common/call.h"

#include "base/clock.h"
#include "cmd/verbsctl/common/json.h"

#include <time.h>
#include <unistd.h>

#define DEFAULT_URL    "http://127.0.0.1:7480"
#define SERVICE_FOLDER "/run/verbsd" /* systemd makes it when the service starts */
#define SERVICE_SOCKET SERVICE_FOLDER "/verbsd.sock"
#define CONFIG_FOLDER  "/etc/verbsd" /* an installation makes it */

/* Half of the largest page of the server: pages that are quick to make, in few round trips. */
#define PAGE_ITEMS 500

#define POLL_MS 200

#define EARLY_ANSWER_NS VBD_NS_PER_S
#define EARLY_PAUSE_MS	200

/* Pauses before another attempt. */
#define FIRST_MS 250
#define LAST_MS	 5000

/* The value of an option; else of the environment variable; NULL for neither. */
static const char *option_or_variable(
	const struct vbd_ctl *ctl, enum vbd_ctl_opt option, const char *variable)
{
	const char *value = ctl->args.text[option];

	if (!value)
		value = getenv(variable);
	return value && *value ? value : NULL;
}

/* Sets up requests to one verbsd. CA, certificate and key are the same for each verbsd that a
 * command speaks to; @credentials has the token for this one. */
static void init_requests(struct vbd_ctl *ctl, struct vbd_ctl_http *http, const char *url,
	struct vbd_ctl_credentials credentials)
{
	credentials.ca = option_or_variable(ctl, VBD_CTL_OPT_CA, "VERBSD_CA");
	credentials.cert = option_or_variable(ctl, VBD_CTL_OPT_CERT, "VERBSD_CERT");
	credentials.key = option_or_variable(ctl, VBD_CTL_OPT_KEY, "VERBSD_KEY");
	credentials.insecure = vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_INSECURE);
	vbd_ctl_http_init(http, url, &credentials);
	http->json = ctl->json;
	http->args = &ctl->args;
}

void vbd_ctl_open(struct vbd_ctl *ctl)
{
	const struct vbd_ctl_credentials credentials = {
		.token_file = ctl->args.text[VBD_CTL_OPT_TOKEN_FILE],
		.token_variable = "VERBSD_TOKEN",
		.token_file_variable = "VERBSD_TOKEN_FILE",
	};
	const char *url = option_or_variable(ctl, VBD_CTL_OPT_SERVER, "VERBSD_URL");

	/* A socket that refuses this user is asked all the same: its answer says more than that of
	 * whoever listens on the loopback, which may be a tunnel to another host's verbsd. */
	if (!url && access(SERVICE_FOLDER, F_OK) < 0 && access(CONFIG_FOLDER, F_OK) < 0)
		url = DEFAULT_URL;
	if (!url)
		url = "unix:" SERVICE_SOCKET;
	init_requests(ctl, &ctl->http, url, credentials);
}

json_t *vbd_ctl_call(
	struct vbd_ctl *ctl, const char *method, const char *path, const json_t *body, int wait_s)
{
	const struct vbd_ctl_request request = {
		.method = method,
		.path = path,
		.body = body,
		.prefer_wait = wait_s >= 0,
		.wait_s = wait_s >= 0 ? (unsigned int)wait_s : 0,
		.progress = wait_s > 0 ? ctl->args.called : NULL,
	};

	return vbd_ctl_http_call(&ctl->http, &request);
}

void vbd_ctl_answer_put(struct vbd_ctl *ctl, json_t *answer, vbd_ctl_put_fn put)
{
	if (ctl->json)
		vbd_ctl_json_put(stdout, answer);
	else
		put(ctl, answer);
}

int vbd_ctl_unless_no_wait(const struct vbd_ctl *ctl, int wait_s)
{
	return vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_NO_WAIT) ? VBD_CTL_NO_WAIT : wait_s;
}

json_t *vbd_ctl_start(struct vbd_ctl *ctl, const char *path, const json_t *body, int wait_s,
	const struct vbd_ctl_noun *kind)
{
	json_t *object = vbd_ctl_call(ctl, "POST", path, body, wait_s);
	const char *object_path = vbd_ctl_path_of(kind->collection, object);
	const char *state = vbd_ctl_json_text(object, "state");
	struct vbd_ctl_progress progress;
	size_t kept = vbd_ctl_kept();

	if (vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_NO_WAIT))
		return object;
	vbd_ctl_progress_init(&progress, ctl->args.called);
	while (state && vbd_ctl_is_word(kind->under_way, state)) {
		bool copy = vbd_ctl_json_at(object, "bytes_moved") != NULL;

		vbd_ctl_progress_update(&progress,
			vbd_ctl_json_uint(object, copy ? "bytes_moved" : "bytes_done"),
			vbd_ctl_json_uint(object, copy ? "bytes" : "length_bytes"));
		vbd_ctl_pause_ms(POLL_MS);
		vbd_ctl_release(kept);
		object = vbd_ctl_call(ctl, "GET", object_path, NULL, VBD_CTL_NO_WAIT);
		state = vbd_ctl_json_text(object, "state");
	}
	vbd_ctl_progress_fini(&progress);
	return object;
}

json_t *vbd_ctl_get_at(
	struct vbd_ctl *ctl, const char *option, const char *where, const char *collection)
{
	const struct vbd_ctl_credentials credentials = {
		.token_file = ctl->args.text[VBD_CTL_OPT_PEER_TOKEN_FILE],
		.token_variable = "VERBSD_PEER_TOKEN",
		.token_file_variable = "VERBSD_PEER_TOKEN_FILE",
	};
	const char *hash = strrchr(where, '#');
	struct vbd_ctl_request request = {.method = "GET"};
	struct vbd_ctl_http peer = ctl->http;

	if (!hash || !hash[1])
		vbd_ctl_refuse(&ctl->args, "%s must be URL#NAME, not \"%s\"", option, where);
	request.path = vbd_ctl_path(collection, hash + 1, "");
	if (where != hash)
		init_requests(ctl, &peer, vbd_ctl_format("%.*s", (int)(hash - where), where),
			credentials);
	peer.asked = vbd_ctl_format("%s %s", option, where);
	return vbd_ctl_http_call(&peer, &request);
}

/* Appends the items of @page to @list, which has the other members of the first page. Returns
 * whether to fetch the next page: a page that ends where it began would come for ever. */
static bool append_page(json_t *list, json_t *page, const char *after, uint64_t wanted)
{
	json_t *items = json_object_get(list, "items");
	json_t *more = json_object_get(page, "items");
	json_t *next = json_object_get(page, "next");
	bool goes_on = json_is_string(next) && json_array_size(more) > 0 &&
		       !(after && strcmp(json_string_value(next), after) == 0);

	if (json_is_object(page) && json_object_update_missing(list, page) < 0)
		vbd_ctl_must(NULL);
	if (json_array_size(more) && json_array_extend(items, more) < 0)
		vbd_ctl_must(NULL);
	vbd_ctl_json_set(list, "next", next ? json_incref(next) : json_null());
	return goes_on && json_array_size(items) < wanted;
}

json_t *vbd_ctl_fetch_list(struct vbd_ctl *ctl, const char *collection, const char *after)
{
	uint64_t wanted = vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_LIMIT)
				  ? ctl->args.number[VBD_CTL_OPT_LIMIT]
				  : UINT64_MAX;
	const char *query = vbd_ctl_args_query(&ctl->args, '&');
	char separator = strchr(collection, '?') ? '&' : '?';
	json_t *list = vbd_ctl_json_new();
	size_t kept = vbd_ctl_kept();
	bool goes_on;

	vbd_ctl_json_set(list, "items", json_array());
	do {
		size_t have = json_array_size(json_object_get(list, "items"));
		uint64_t limit = wanted - have < PAGE_ITEMS ? wanted - have : PAGE_ITEMS;
		const char *next = vbd_ctl_json_text(list, "next");
		const char *from = next ? next : after;
		json_t *page = vbd_ctl_call(ctl, "GET",
			vbd_ctl_format("%s%climit=%llu%s%s%s", collection, separator,
				(unsigned long long)limit, from ? "&after=" : "",
				from ? vbd_ctl_text_percent(from) : "", query),
			NULL, VBD_CTL_NO_WAIT);

		goes_on = append_page(list, page, from, wanted);
		vbd_ctl_release(kept);
	} while (goes_on);
	return list;
}

/* On standard error, for a person; a program counts the lines of standard output. */
static void note_empty_list(const struct vbd_ctl *ctl)
{
	const char *noun = ctl->args.command->noun;
	/* Without a state the list has the open objects. */
	bool of_open = vbd_ctl_takes(&ctl->args, VBD_CTL_OPT_STATE) &&
		       !vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_STATE);

	if (!of_open)
		fprintf(stderr, "no %s in this list\n", noun);
	else if (strcmp(noun, "connections") == 0)
		fputs("no open connections; `verbsctl history` lists the ended ones\n", stderr);
	else
		fprintf(stderr, "no open %s; `verbsctl %s --state ended` lists the ended ones\n",
			noun, noun);
}

/* The path of a list with the members that its table shows, or with whole objects for --json:
 * "qp,id" of "SQ=qp.sq_depth ID=id". */
static char *list_path(const struct vbd_ctl *ctl, const char *collection, const char *columns)
{
	const char *fields = ctl->json ? "*" : "";
	const char *word;

	for (size_t i = 0; !ctl->json && (word = vbd_ctl_word(columns, i)); i++) {
		const char *paths = strchr(word, '=') + 1;

		fields = vbd_ctl_format(
			"%s%s%.*s", fields, i ? "," : "", (int)strcspn(paths, ".:"), paths);
	}
	return vbd_ctl_format(
		"%s%cfields=%s", collection, strchr(collection, '?') ? '&' : '?', fields);
}

void vbd_ctl_list(struct vbd_ctl *ctl, const char *collection, const char *columns)
{
	json_t *list = vbd_ctl_fetch_list(ctl, list_path(ctl, collection, columns), NULL);

	if (ctl->json)
		vbd_ctl_json_put(stdout, list);
	else if (json_array_size(json_object_get(list, "items")) == 0)
		note_empty_list(ctl);
	else
		vbd_ctl_table_put(columns, json_object_get(list, "items"), ctl->color);
}

struct each {
	struct vbd_ctl *ctl;
	vbd_ctl_one_fn one;
	const char *ref;
};

static void call_one(void *arg)
{
	const struct each *each = arg;

	each->one(each->ctl, each->ref);
}

void vbd_ctl_each(struct vbd_ctl *ctl, vbd_ctl_one_fn one)
{
	struct each each = {.ctl = ctl, .one = one};
	enum vbd_ctl_exit first = VBD_CTL_OK;

	for (size_t i = 0; i < ctl->args.operand_count; i++) {
		enum vbd_ctl_exit exit_status;

		each.ref = ctl->args.operands[i];
		exit_status = vbd_ctl_try(call_one, &each);
		if (first == VBD_CTL_OK)
			first = exit_status;
	}
	vbd_ctl_end(first);
}

static void close_file(void *file)
{
	(void)fclose(file);
}

FILE *vbd_ctl_open_file(const char *name)
{
	FILE *file = strcmp(name, "-") == 0 ? stdin : fopen(name, "re");

	if (!file)
		vbd_ctl_fail("%s: %s", name, strerror(errno));
	return file == stdin ? stdin : vbd_ctl_keep(file, close_file);
}

json_t *vbd_ctl_get_quietly(struct vbd_ctl *ctl, const char *path)
{
	const struct vbd_ctl_request request = {.method = "GET", .path = path};
	const struct vbd_ctl_answer answer = vbd_ctl_http_perform(&ctl->http, &request);

	return answer.status == 200 ? answer.json : NULL;
}

enum vbd_ctl_exit vbd_ctl_report_problem(struct vbd_ctl *ctl, json_t *problem)
{
	const char *explain = vbd_ctl_json_text(problem, "explain");
	json_t *cause = NULL;

	/* A record has only the path of the cause; the answer to a request that waited has the
	 * cause too. */
	if (explain && !json_object_get(problem, "cause"))
		cause = vbd_ctl_json_at(vbd_ctl_get_quietly(ctl, explain), "cause");
	if (json_is_object(cause))
		vbd_ctl_json_set(problem, "cause", json_incref(cause));
	if (ctl->json)
		vbd_ctl_json_put(stderr, problem);
	else
		vbd_ctl_problem_put(&ctl->args, problem);
	return vbd_ctl_problem_exit(problem);
}

unsigned int vbd_ctl_patience_ms(uint64_t expires_ns)
{
	uint64_t now_ns = vbd_clock_mono_ns();
	uint64_t left_ms;

	if (expires_ns == 0)
		return VBD_CTL_LONG_POLL_MS;
	if (now_ns >= expires_ns)
		return 0;
	left_ms = (expires_ns - now_ns) / VBD_NS_PER_MS + 1;
	return left_ms < VBD_CTL_LONG_POLL_MS ? (unsigned int)left_ms : VBD_CTL_LONG_POLL_MS;
}

void vbd_ctl_pause_ms(unsigned int ms)
{
	const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

	(void)nanosleep(&pause, NULL);
}

void vbd_ctl_slow_down(uint64_t asked_ns)
{
	if (vbd_clock_mono_ns() - asked_ns < EARLY_ANSWER_NS)
		vbd_ctl_pause_ms(EARLY_PAUSE_MS);
}

static bool may_pass(const struct vbd_ctl_answer *answer)
{
	if (answer->outcome == VBD_CTL_ANSWERED)
		return answer->status >= 500 || answer->status == 429;
	return answer->outcome != VBD_CTL_STOPPED;
}

bool vbd_ctl_retry(unsigned int *pause_ms, const struct vbd_ctl_http *http,
	const struct vbd_ctl_answer *answer)
{
	bool passes = may_pass(answer);

	if (!passes && *pause_ms)
		vbd_ctl_note("verbsd at %s is back", http->shown);
	if (passes && !*pause_ms)
		vbd_ctl_note("lost verbsd at %s: %s; trying again", http->shown,
			answer->outcome == VBD_CTL_ANSWERED ? "it can't answer now" : answer->why);
	if (!passes)
		*pause_ms = 0;
	else if (!*pause_ms)
		*pause_ms = FIRST_MS;
	else
		*pause_ms = *pause_ms < LAST_MS / 2 ? 2 * *pause_ms : LAST_MS;
	if (passes)
		vbd_ctl_pause_ms(*pause_ms);
	return passes;
}
