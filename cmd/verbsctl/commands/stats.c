/* SPDX-License-Identifier: Apache-2.0 */
/* stats. */
#include "cmd/verbsctl/commands/commands.h"

#include "cmd/verbsctl/common/json.h"
#include "cmd/verbsctl/common/retry.h"
#include "cmd/verbsctl/common/watch.h"

#include "base/clock.h"

#include <sys/ioctl.h>
#include <unistd.h>

#define STATS		  "/v1/stats"
#define INTERVAL_MS	  1000
#define LEAST_INTERVAL_MS 100

static const struct vbd_ctl_column change_columns[] = {VBD_CTL_TEXT("NAME", "name"),
	VBD_CTL_NUMBER("VALUE", "value"), VBD_CTL_NUMBER("CHANGE", "change"),
	VBD_CTL_NUMBER("PER SECOND", "per_second")};

struct watch {
	struct vbd_ctl *ctl;
	struct vbd_ctl_retry retry;
	unsigned int interval_ms;
	bool in_place; /* standard output is a terminal that can be cleared */
	json_t *first; /* first answer of this run of the daemon; NULL before it */
	json_t *before;
	uint64_t before_ns;
};

static bool can_clear(void)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(term && strcmp(term, "dumb") == 0);
}

/* Removes the rows that do not fit on the terminal, so that the column titles stay visible. */
static void keep_visible(json_t *rows)
{
	size_t count = json_array_size(rows);
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row < 4)
		return;
	while (count > (size_t)size.ws_row - 3)
		(void)json_array_remove(rows, --count);
}

static void put_changes(struct watch *watch, json_t *rows)
{
	char *now = vbd_clock_format(vbd_clock_mono_ns(), (char[VBD_TIME_TEXT_BYTES]){0});

	if (watch->in_place) {
		keep_visible(rows);
		fputs("\033[H\033[2J", stdout);
	}
	printf("%.19sZ  %s\n", now, watch->in_place ? "changed since the start" : "changed");
	vbd_ctl_table_put(change_columns, VBD_ARRAY_LEN(change_columns), rows, false);
	if (json_array_size(rows) == 0)
		puts("nothing");
}

static void delete_entry(struct watch *watch)
{
	json_decref(watch->before);
	json_decref(watch->first);
	watch->before = NULL;
	watch->first = NULL;
}

static enum vbd_ctl_exit take(struct watch *watch, json_t *now)
{
	uint64_t now_ns = vbd_clock_mono_ns();

	if (watch->first && !json_equal(json_object_get(watch->first, "server_id"),
				    json_object_get(now, "server_id"))) {
		vbd_ctl_note("verbsd was restarted: its counters begin at 0 again");
		delete_entry(watch);
	}
	if (watch->ctl->json) {
		vbd_ctl_json_put_line(stdout, now);
	} else if (watch->first) {
		json_t *rows = vbd_ctl_watch_changes(watch->first, watch->before, now,
			(double)(now_ns - watch->before_ns) / 1e9, !watch->in_place);

		put_changes(watch, rows);
		json_decref(rows);
	}
	if (!watch->first)
		watch->first = json_incref(now);
	json_decref(watch->before);
	watch->before = json_incref(now);
	watch->before_ns = now_ns;
	if (fflush(stdout) != 0)
		return vbd_ctl_fail("standard output: %s", strerror(errno));
	return VBD_CTL_OK;
}

static enum vbd_ctl_exit take_snapshot(struct watch *watch)
{
	const struct vbd_ctl_request request = {.method = "GET", .path = STATS};
	enum vbd_ctl_exit exit_status = VBD_CTL_OK;
	struct vbd_ctl_answer answer;
	enum vbd_ctl_outcome outcome;
	char *why;

	outcome = vbd_ctl_http_perform(&watch->ctl->http, &request, &answer, &why);
	if (outcome == VBD_CTL_ANSWERED && answer.status == 200)
		answer.json = vbd_ctl_json_load(answer.body, answer.body_len, NULL);
	if (answer.json) {
		(void)vbd_ctl_retry_over(&watch->retry, &watch->ctl->http);
		exit_status = take(watch, answer.json);
		vbd_ctl_pause_ms(watch->interval_ms);
	} else if (watch->first && vbd_ctl_may_pass(outcome, &answer)) {
		vbd_ctl_retry_wait(&watch->retry, &watch->ctl->http, why);
	} else {
		exit_status = vbd_ctl_http_report(&watch->ctl->http, outcome, &answer, why);
	}
	vbd_ctl_answer_fini(&answer);
	free(why);
	return exit_status;
}

static enum vbd_ctl_exit watch_stats(struct vbd_ctl *ctl)
{
	uint64_t interval_ms = ctl->args.number[VBD_CTL_OPT_WATCH];
	struct watch watch = {.ctl = ctl, .in_place = !ctl->json && can_clear()};
	enum vbd_ctl_exit exit_status = VBD_CTL_OK;

	if (!*ctl->args.text[VBD_CTL_OPT_WATCH])
		interval_ms = INTERVAL_MS;
	if (interval_ms < LEAST_INTERVAL_MS || interval_ms > UINT32_MAX)
		return vbd_ctl_refuse(
			&ctl->args, "--watch must be %d ms at least", LEAST_INTERVAL_MS);
	watch.interval_ms = (unsigned int)interval_ms;
	while (exit_status == VBD_CTL_OK)
		exit_status = take_snapshot(&watch);
	delete_entry(&watch);
	return exit_status;
}

static void put_stats(const struct vbd_ctl *ctl, json_t *stats)
{
	(void)ctl;
	vbd_ctl_members_put(stats);
}

enum vbd_ctl_exit vbd_ctl_stats(struct vbd_ctl *ctl)
{
	if (vbd_ctl_args_has(&ctl->args, VBD_CTL_OPT_WATCH))
		return watch_stats(ctl);
	return vbd_ctl_call_put(ctl, "GET", STATS, NULL, VBD_CTL_NO_WAIT, put_stats);
}
