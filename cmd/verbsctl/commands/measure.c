/* SPDX-License-Identifier: Apache-2.0 */
/* probes run, benchmarks: measurements that the program waits for, and deletes at its end. */
#include "cmd/verbsctl/commands/commands.h"

#include "base/clock.h"
#include "cmd/verbsctl/common/json.h"

#include <signal.h>

#define PROBES	   "/v1/probes"
#define BENCHMARKS "/v1/benchmarks"
#define POLL_MS	   200
#define ROW_NS	   VBD_NS_PER_S

static volatile sig_atomic_t interrupted;

static void on_signal(int signum)
{
	(void)signum;
	interrupted = 1;
}

/* The first SIGINT ends the measurement, the second one the program. SA_RESTART is not set, so that
 * the signal interrupts sleeps. */
static void catch_signals(void)
{
	const struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};

	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
}

static void put(struct vbd_ctl *ctl, json_t *measure, vbd_ctl_put_fn put_text)
{
	if (ctl->json)
		vbd_ctl_json_put_line(stdout, measure);
	else
		put_text(ctl, measure);
	(void)fflush(stdout);
}

/* Waits for the end of a measurement, with a row each second; cancels it after SIGINT. Returns its
 * last state. */
static json_t *wait_for_end(
	struct vbd_ctl *ctl, const char *path, json_t *measure, vbd_ctl_put_fn put_row)
{
	uint64_t row_ns = vbd_clock_mono_ns();
	size_t kept = vbd_ctl_kept();
	bool cancelled = false;

	while (vbd_ctl_json_is(measure, "state", "running")) {
		bool cancels = interrupted && !cancelled;

		if (put_row && vbd_clock_mono_ns() - row_ns >= ROW_NS) {
			row_ns = vbd_clock_mono_ns();
			put(ctl, measure, put_row);
		}
		vbd_ctl_release(kept);
		if (!cancels)
			vbd_ctl_pause_ms(POLL_MS);
		cancelled = cancelled || cancels;
		measure = vbd_ctl_call(ctl, cancels ? "POST" : "GET",
			vbd_ctl_format("%s%s", path, cancels ? "/cancel" : ""), NULL,
			VBD_CTL_NO_WAIT);
	}
	return measure;
}

/* Runs a measurement to its end, prints the result, and deletes the record, which no other client
 * needs. An interrupted measurement has succeeded. */
static void run_measure(
	struct vbd_ctl *ctl, const char *collection, const json_t *body, vbd_ctl_put_fn put_row)
{
	json_t *measure;
	const char *path;

	catch_signals();
	measure = vbd_ctl_call(ctl, "POST", collection, body, VBD_CTL_NO_WAIT);
	path = vbd_ctl_path_of(collection, measure);
	measure = wait_for_end(ctl, path, measure, put_row);
	put(ctl, measure, vbd_ctl_object_put_full);
	(void)vbd_ctl_call(ctl, "DELETE", path, NULL, VBD_CTL_NO_WAIT);
	if (!interrupted && !vbd_ctl_json_is(measure, "state", "done"))
		vbd_ctl_end(vbd_ctl_report_problem(ctl, vbd_ctl_problem_of(collection, measure)));
}

static void put_probe_row(struct vbd_ctl *ctl, json_t *probe)
{
	(void)ctl;
	vbd_ctl_text_put(vbd_ctl_fill(probe,
		"{sent} sent, {completed} back, {late} late, {lost} lost, {mismatched} with other "
		"bytes; last {last_ns}, p50 {rtt_ns.p50:ns}, p99 {rtt_ns.p99:ns}"));
}

void vbd_ctl_probe(struct vbd_ctl *ctl)
{
	run_measure(ctl, PROBES, vbd_ctl_args_body(&ctl->args), put_probe_row);
}

/* --- bench ----------------------------------------------------------------------------------- */

static json_t *benchmark_body(struct vbd_ctl *ctl)
{
	const struct vbd_ctl_args *args = &ctl->args;
	bool far = vbd_ctl_args_has(args, VBD_CTL_OPT_REMOTE) ||
		   vbd_ctl_args_has(args, VBD_CTL_OPT_REMOTE_ADDR);
	json_t *body = vbd_ctl_args_body(args);

	if (!vbd_ctl_json_at(body, "op"))
		vbd_ctl_json_set(body, "op", json_string(far ? "write" : "send"));
	if (!vbd_ctl_json_is(body, "op", "send"))
		vbd_ctl_transfer_set_remote(ctl, body);
	return body;
}

void vbd_ctl_bench(struct vbd_ctl *ctl)
{
	run_measure(ctl, BENCHMARKS, benchmark_body(ctl), NULL);
}

void vbd_ctl_benchmark_create(struct vbd_ctl *ctl)
{
	vbd_ctl_object_send(ctl, NULL, benchmark_body(ctl));
}
