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

/* A probe or benchmark, and its state at the last request. */
struct measure {
	struct vbd_ctl *ctl;
	const char *collection;
	char *path;
	json_t *seen;
	bool cancelled;
	uint64_t row_ns;
	void (*put_row)(const json_t *object);
};

static bool is_running(const struct measure *measure)
{
	return vbd_ctl_json_is(measure->seen, "state", "running");
}

/* Sends a request about the measurement, whose answer is its state. */
static void send_measure_request(struct measure *measure, const char *method, const char *tail)
{
	measure->seen = vbd_ctl_call(measure->ctl, method,
		vbd_ctl_format("%s%s", measure->path, tail), NULL, VBD_CTL_NO_WAIT);
}

static void put_row(struct measure *measure)
{
	uint64_t now_ns = vbd_clock_mono_ns();

	if (!measure->put_row || now_ns - measure->row_ns < ROW_NS)
		return;
	measure->row_ns = now_ns;
	if (measure->ctl->json)
		vbd_ctl_json_put_line(stdout, measure->seen);
	else
		measure->put_row(measure->seen);
	(void)fflush(stdout);
}

/* Waits for the end of the measurement; cancels it after SIGINT. */
static void wait_for_end(struct measure *measure)
{
	size_t kept = vbd_ctl_kept();

	while (is_running(measure)) {
		put_row(measure);
		vbd_ctl_release(kept);
		if (!interrupted || measure->cancelled)
			vbd_ctl_pause_ms(POLL_MS);
		if (!interrupted || measure->cancelled) {
			send_measure_request(measure, "GET", "");
		} else {
			send_measure_request(measure, "POST", "/cancel");
			measure->cancelled = true;
		}
	}
}

/* An interrupted measurement has succeeded. */
static bool ended_well(const struct measure *measure)
{
	return interrupted || vbd_ctl_json_is(measure->seen, "state", "done");
}

/* Runs a measurement to its end, prints the result, and deletes the record, which no other client
 * needs. */
static void run_measure(struct measure *measure, const json_t *body)
{
	struct vbd_ctl *ctl = measure->ctl;

	catch_signals();
	measure->row_ns = vbd_clock_mono_ns();
	measure->seen = vbd_ctl_call(ctl, "POST", measure->collection, body, VBD_CTL_NO_WAIT);
	measure->path = vbd_ctl_path_of(measure->collection, measure->seen);
	wait_for_end(measure);
	if (ctl->json)
		vbd_ctl_json_put_line(stdout, measure->seen);
	else
		vbd_ctl_object_put_full(ctl, measure->seen);
	(void)fflush(stdout);
	(void)vbd_ctl_call(ctl, "DELETE", measure->path, NULL, VBD_CTL_NO_WAIT);
	if (!ended_well(measure))
		vbd_ctl_end(vbd_ctl_report_problem(
			ctl, vbd_ctl_problem_of(measure->collection, measure->seen)));
}

/* --- probe ----------------------------------------------------------------------------------- */

static void put_probe_row(const json_t *probe)
{
	vbd_ctl_text_put(vbd_ctl_fill(probe,
		"{sent} sent, {completed} back, {late} late, {lost} lost, {mismatched} with other "
		"bytes; last {last_ns}, p50 {rtt_ns.p50:ns}, p99 {rtt_ns.p99:ns}"));
}

void vbd_ctl_probe(struct vbd_ctl *ctl)
{
	struct measure measure = {.ctl = ctl, .collection = PROBES, .put_row = put_probe_row};

	run_measure(&measure, vbd_ctl_args_body(&ctl->args));
}

/* --- bench ----------------------------------------------------------------------------------- */

static const char *benchmark_op(const struct vbd_ctl_args *args)
{
	if (vbd_ctl_args_has(args, VBD_CTL_OPT_BENCH_OP))
		return args->text[VBD_CTL_OPT_BENCH_OP];
	return vbd_ctl_args_has(args, VBD_CTL_OPT_REMOTE) ||
			       vbd_ctl_args_has(args, VBD_CTL_OPT_REMOTE_ADDR)
		       ? "write"
		       : "send";
}

static json_t *benchmark_body(struct vbd_ctl *ctl)
{
	const char *op = benchmark_op(&ctl->args);
	json_t *body = vbd_ctl_args_body(&ctl->args);

	vbd_ctl_json_set(body, "op", json_string(op));
	if (strcmp(op, "send") != 0)
		vbd_ctl_transfer_set_remote(
			ctl, strcmp(op, "read") == 0 ? "remote_read" : "remote_write", body);
	return body;
}

void vbd_ctl_bench(struct vbd_ctl *ctl)
{
	struct measure measure = {.ctl = ctl, .collection = BENCHMARKS};

	run_measure(&measure, benchmark_body(ctl));
}

void vbd_ctl_benchmark_create(struct vbd_ctl *ctl)
{
	vbd_ctl_object_post(ctl, benchmark_body(ctl));
}
