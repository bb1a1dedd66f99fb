/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All counters, for Prometheus.
 */
#include "api/http/in_turns.h"
#include "api/http/server.h"
#include "api/resources/api_stats.h"
#include "api/resources/context.h"
#include "api/resources/handlers.h"
#include "api/resources/metrics_parts.h"
#include "base/clock.h"
#include "daemon/observe/kernel.h"
#include "daemon/observe/stats.h"
#include "daemon/core/quota.h"

/* --- the table of counters ------------------------------------------------------------------- */

static void begin_family(struct vbd_metrics_text *out, const struct vbd_stat *stat)
{
	static const char *const types[] = {
		[VBD_STAT_GAUGE] = "gauge",
		[VBD_STAT_COUNTER] = "counter",
		[VBD_STAT_TIMES] = "histogram",
	};

	if (strcmp(out->family, stat->metric) != 0)
		vbd_metrics_family(out, stat->metric, types[stat->type], stat->help);
}

static void put_stat(const struct vbd_stat *stat, void *arg)
{
	const struct vbd_metrics_label *labels =
		VBD_LABELS(VBD_LABEL(stat->label, stat->label_value),
			VBD_LABEL(stat->label2, stat->label2_value));
	struct vbd_metrics_text *out = arg;

	if (stat->is_sum)
		return;
	begin_family(out, stat);
	if (stat->type == VBD_STAT_TIMES)
		vbd_metrics_put_histogram(out, labels, stat->times);
	else if (vbd_stat_is_time(stat))
		vbd_metrics_put_seconds(out, labels, stat->value);
	else
		vbd_metrics_put(out, labels, stat->value);
}

/* --- the page -------------------------------------------------------------------------------- */

static void put_start(struct vbd_metrics_text *out, const struct vbd_daemon *daemon)
{
	vbd_metrics_family(
		out, "verbsd_build_info", "gauge", "Always 1; the labels have the version.");
	vbd_metrics_put(out, VBD_LABELS(VBD_LABEL("version", VBD_VERSION)), 1);
	vbd_metrics_family(out, "process_start_time_seconds", "gauge",
		"Start of the daemon, in seconds since 1970.");
	vbd_metrics_put_seconds(out, NULL, vbd_clock_wall_of_ns(daemon->started_ns));
}

static void put_durations(struct vbd_metrics_text *out, const struct vbd_durations *durations)
{
	vbd_metrics_family(out, "verbsd_http_request_duration_seconds", "histogram",
		"Time from the head of a request to the head of its answer, waits included, by "
		"operation of the contract and HTTP status.");
	for (size_t i = 0; i < durations->count; i++) {
		const struct vbd_duration *pair = durations->pairs[i];
		char code[8];

		(void)snprintf(code, sizeof(code), "%u", pair->status);
		vbd_metrics_put_histogram(out,
			VBD_LABELS(
				VBD_LABEL("operation", pair->operation), VBD_LABEL("code", code)),
			&pair->times);
	}
}

enum part {
	PART_CONNECTIONS = 1,
	PART_CQS = 2,
};

/* The page is written in steps over several turns of the loop. */
struct metrics {
	struct vbd_in_turns turns; /* first */
	struct vbd_api *api;
	const struct vbd_caller *scope; /* the page tells what this caller sees; NULL: all */
	unsigned int parts;
	uint64_t snapshot; /* of the kernel */
	bool fresh;	   /* the snapshot is complete; else the page has no number of the kernel */
	bool totals_put, cqs_put;
	struct vbd_metrics_place cqs, connections; /* that are put next */
	struct vbd_metrics_text out;
};

/* All that does not list objects one by one. */
static void put_totals(struct metrics *metrics)
{
	const struct vbd_server_stats *http = vbd_server_stats(metrics->api->server);
	const struct vbd_daemon *daemon = metrics->api->daemon;
	const struct vbd_kernel_view *view = vbd_kernel_view(daemon);
	struct vbd_metrics_text *out = &metrics->out;

	put_start(out, daemon);
	put_durations(out, &http->durations);
	vbd_api_stats_walk(http, &daemon->config->limits, metrics->fresh, put_stat, out);
	vbd_stats_walk(daemon, put_stat, out);
	vbd_metrics_put_callers(out, daemon, metrics->scope);
	if (!(metrics->parts & PART_CQS))
		vbd_metrics_put_device_cqs(out, daemon->fabric);
	vbd_metrics_put_async_events(out, daemon->fabric);
	if (metrics->fresh) {
		vbd_stats_walk_kernel(view, vbd_kernel_object_counts(daemon), put_stat, out);
		vbd_metrics_put_ports(out, view);
	}
	metrics->totals_put = true;
}

static bool put_part(struct metrics *metrics)
{
	const struct vbd_daemon *daemon = metrics->api->daemon;

	if (!metrics->totals_put)
		put_totals(metrics);
	else if (metrics->parts & PART_CQS && !metrics->cqs_put)
		metrics->cqs_put =
			vbd_metrics_put_cqs(&metrics->out, daemon, metrics->scope, &metrics->cqs);
	else
		return vbd_metrics_put_connections(
			&metrics->out, daemon, metrics->scope, &metrics->connections);
	return !(metrics->parts & PART_CONNECTIONS) &&
	       (metrics->cqs_put || !(metrics->parts & PART_CQS));
}

static void drop(struct vbd_in_turns *self)
{
	struct metrics *metrics = VBD_CONTAINER_OF(self, struct metrics, turns);

	vbd_metrics_drop(&metrics->out);
	free(metrics);
}

static bool go_on(struct vbd_in_turns *self)
{
	struct metrics *metrics = VBD_CONTAINER_OF(self, struct metrics, turns);
	size_t len_bytes;
	char *text;

	if (!put_part(metrics))
		return false;
	text = vbd_metrics_end(&metrics->out, &len_bytes);
	vbd_reply_text(self->req, VBD_METRICS_TYPE, text, len_bytes);
	drop(self);
	return true;
}

static void on_snapshot(struct vbd_request *req, void *arg)
{
	struct metrics *metrics = arg;
	struct vbd_daemon *daemon = metrics->api->daemon;

	metrics->fresh = vbd_kernel_snapshots_taken(daemon) >= metrics->snapshot;
	if (req->abandoned)
		drop(&metrics->turns);
	else
		vbd_in_turns_run(&metrics->turns, &daemon->turns);
}

/* Adds @part to *@parts if the parameter @name is 1. */
static enum vbd_status parse_part(const struct vbd_request *req, const char *name, enum part part,
	unsigned int *parts, struct vbd_error *err)
{
	static const char *const values[] = {"0", "1"};
	size_t wanted = 0;
	enum vbd_status status =
		vbd_query_enum(req, name, values, VBD_ARRAY_LEN(values), &wanted, err);

	if (wanted)
		*parts |= part;
	return status;
}

static void run(struct vbd_request *req, unsigned int parts)
{
	struct metrics *metrics = calloc(1, sizeof(*metrics));
	struct vbd_daemon *daemon = vbd_request_daemon(req);

	if (!metrics) {
		vbd_reply_text(req, VBD_METRICS_TYPE, NULL, 0);
		return;
	}
	metrics->turns.req = req;
	metrics->turns.go_on = go_on;
	metrics->turns.drop = drop;
	metrics->api = req->context;
	metrics->scope = vbd_caller_scope(req->caller);
	metrics->parts = parts;
	metrics->snapshot = vbd_kernel_snapshot_begin(daemon, true);
	vbd_await_snapshot(req, metrics->snapshot, on_snapshot, metrics);
}

void vbd_get_metrics(struct vbd_request *req)
{
	struct vbd_error err = {0};
	unsigned int parts = 0;

	if (parse_part(req, "connections", PART_CONNECTIONS, &parts, &err) != VBD_OK ||
		parse_part(req, "cqs", PART_CQS, &parts, &err) != VBD_OK)
		vbd_reply_problem(req, &err);
	else
		run(req, parts);
}

static void put_caller(struct vbd_metrics_text *out, const struct vbd_caller *of, bool used)
{
	uint64_t now_ns = vbd_clock_mono_ns();

	for (enum vbd_quota quota = 0; quota < VBD_QUOTA_COUNT; quota++) {
		uint64_t max = vbd_quota_max(of, quota);

		if (max)
			vbd_metrics_put(out,
				VBD_LABELS(VBD_LABEL("caller", of->name),
					VBD_LABEL("quota", vbd_quota_name(quota))),
				used ? vbd_quota_used(of, quota, now_ns) : max);
	}
}

static void put_callers(struct vbd_metrics_text *out, const struct vbd_callers *callers,
	const struct vbd_caller *scope, bool used)
{
	for (const struct vbd_caller *of = callers->by_name; of; of = of->by_name.next) {
		if (vbd_caller_sees(scope, of))
			put_caller(out, of, used);
	}
}

void vbd_metrics_put_callers(struct vbd_metrics_text *out, const struct vbd_daemon *daemon,
	const struct vbd_caller *scope)
{
	vbd_metrics_family(out, "verbsd_caller_usage", "gauge",
		"What a caller has of what its quota is for, for each quota that it has.");
	put_callers(out, &daemon->callers, scope, true);
	vbd_metrics_family(
		out, "verbsd_caller_quota", "gauge", "The quotas of a caller, from callers_file.");
	put_callers(out, &daemon->callers, scope, false);
}
