/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All counters: /v1/stats, and /metrics for Prometheus.
 */
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "api/http/server.h"
#include "api/http/waiter.h"
#include "api/observe/metrics_parts.h"
#include "daemon/core/quota.h"
#include "daemon/observe/health.h"
#include "daemon/observe/kernel.h"
#include "daemon/observe/stats.h"

/* --- snapshots of the kernel ------------------------------------------------------------------ */

#define SNAPSHOT_MS 3000

static bool snapshot_is_taken(const void *daemon, uint64_t number)
{
	return vbd_kernel_snapshots_taken(daemon) >= number;
}

void vbd_await_snapshot(struct vbd_request *req, uint64_t number, vbd_request_cb go_on, void *arg)
{
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	const struct vbd_wait wait = {.is_over = snapshot_is_taken,
		.on = daemon,
		.number = number,
		.watches = vbd_kernel_watches(daemon),
		.most_ms = SNAPSHOT_MS};

	vbd_request_wait(req, &wait, go_on, arg);
}

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

/* --- the counters of the HTTP server ---------------------------------------------------------- */

void vbd_api_stats_walk(const struct vbd_server_stats *http, const struct vbd_config_limits *limits,
	bool fresh, vbd_stat_cb cb, void *arg)
{
	const struct vbd_stat rows[] = {
		VBD_STAT("verbsd_http_request_duration_seconds", TIMES,
			"Time from the head of a request to the head of its answer, waits "
			"included.",
			.label = "operation", .label2 = "code", .is_sum = true,
			.times = &http->durations.all),
		VBD_STAT("verbsd_http_connections", GAUGE, "Open HTTP connections.",
			.value = http->connections_open),
		VBD_STAT_LIMIT("verbsd_http_connections_limit", limits, http_connections),
		VBD_STAT("verbsd_http_connections_accepted_total", COUNTER,
			"Accepted HTTP connections.", .value = http->connections),
		VBD_STAT("verbsd_http_connections_timed_out_total", COUNTER,
			"HTTP connections closed because of a deadline.", .value = http->too_slow),
		VBD_STAT("verbsd_http_connections_refused_total", COUNTER,
			"HTTP connections answered 503 because too many are open.",
			.value = http->refused),
		VBD_STAT("verbsd_http_connections_sent_away_total", COUNTER,
			"HTTP connections without a credential, closed in favour of another one.",
			.value = http->sent_away),
		VBD_STAT_LIMIT("verbsd_http_body_limit_bytes", limits, http_body_bytes),
		VBD_STAT("verbsd_waiting_requests", GAUGE, "Requests that wait for something.",
			.value = http->parked),
		VBD_STAT("verbsd_event_streams", GAUGE, "Clients of the event stream.",
			.value = http->feeds),
		VBD_STAT("verbsd_idempotency_keys", GAUGE, "Idempotency-Keys remembered.",
			.value = http->idempotency_keys),
		VBD_STAT("verbsd_collector_success", GAUGE,
			"1 if the collector answered in time; otherwise its numbers are missing.",
			.label = "collector", .label_value = "kernel", .value = fresh),
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++)
		cb(&rows[i], arg);
}

/* --- /v1/stats -------------------------------------------------------------------------------- */

struct stats {
	struct vbd_encoder out;
	uint64_t tag; /* of the values that do not change by themselves, in their order */
};

/* The tag leaves out what changes with every request for it: time, requests, the loop. */
static bool changes_by_itself(const char *name)
{
	static const char *const prefixes[] = {"http_", "loop_", "collector_", "process_",
		"waiting_requests", "event_streams", "idempotency_keys"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(prefixes); i++) {
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	}
	return false;
}

static void put_value(const char *name, uint64_t value, void *arg)
{
	struct stats *stats = arg;

	vbd_put_u64(&stats->out, name, value);
	if (changes_by_itself(name))
		return;
	stats->tag = (stats->tag ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	stats->tag ^= stats->tag >> 32;
}

static void put_row(const struct vbd_stat *stat, void *arg)
{
	vbd_stat_flatten(stat, put_value, arg);
}

/* The counters of all connections are kept, so this takes the same time however many there are. */
static void write_stats(struct vbd_api *api, uint64_t snapshot)
{
	const struct vbd_server_stats *http = vbd_server_stats(api->server);
	const struct vbd_daemon *daemon = api->daemon;
	const bool fresh = vbd_kernel_snapshots_taken(daemon) >= snapshot;
	struct vbd_stats_text *text = &api->stats;
	struct stats stats = {.out = vbd_encode_begin()};

	vbd_put_text(&stats.out, "server_id", daemon->server_id);
	vbd_put_u64(&stats.out, "uptime_ms",
		(vbd_clock_mono_ns() - daemon->started_ns) / VBD_NS_PER_MS);
	vbd_api_stats_walk(http, &daemon->config->limits, fresh, put_row, &stats);
	vbd_stats_walk(daemon, put_row, &stats);
	vbd_stats_walk_kernel(
		vbd_kernel_view(daemon), vbd_kernel_object_counts(daemon), put_row, &stats);
	(void)snprintf(text->tag, sizeof(text->tag), "W/\"%s-%016" PRIx64 "\"", daemon->server_id,
		stats.tag);
	free(text->bytes);
	text->bytes = vbd_encode_end_line(&stats.out, &text->len_bytes);
	text->snapshot = fresh ? snapshot : 0;
}

/* Requests that waited for the same snapshot have come before the first of them was answered. */
static void reply_stats(struct vbd_request *req, void *arg)
{
	struct vbd_api *api = req->context;
	const struct vbd_stats_text *text = &api->stats;
	uint64_t snapshot = (uintptr_t)arg;
	char *copy;

	if (!req->parked || !text->bytes || text->snapshot != snapshot)
		write_stats(api, snapshot);
	copy = text->bytes ? malloc(text->len_bytes) : NULL;
	if (copy) {
		memcpy(copy, text->bytes, text->len_bytes);
		vbd_reply_add_header(&req->reply, "ETag", text->tag);
	}
	vbd_reply_text(req, "application/json", copy, text->len_bytes);
}

void vbd_get_stats(struct vbd_request *req)
{
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	uint64_t snapshot = vbd_kernel_snapshot_begin(daemon, true);

	vbd_await_snapshot(req, snapshot, reply_stats, (void *)(uintptr_t)snapshot);
}

void vbd_get_traffic(struct vbd_request *req)
{
	const struct vbd_traffic *traffic = vbd_health_traffic(vbd_request_daemon(req));
	struct vbd_encoder out = vbd_encode_begin();
	uint64_t taken = traffic->taken;

	vbd_put_u64(&out, "interval_ms", VBD_TRAFFIC_INTERVAL_MS);
	vbd_begin_array(&out, "items");
	for (uint64_t i = taken > VBD_TRAFFIC_SAMPLES ? taken - VBD_TRAFFIC_SAMPLES : 0; i < taken;
		i++) {
		const struct vbd_traffic_sample *sample =
			&traffic->samples[i % VBD_TRAFFIC_SAMPLES];

		vbd_begin_object(&out, NULL);
		vbd_put_time(&out, "at", sample->at_ns);
		vbd_put_u64(&out, "out_bytes_per_s", sample->out_bytes_per_s);
		vbd_put_u64(&out, "in_bytes_per_s", sample->in_bytes_per_s);
		vbd_end(&out);
	}
	vbd_end(&out);
	vbd_reply_json(req, 200, &out);
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
	for (const struct vbd_duration *pair = durations->first; pair; pair = pair->next) {
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
	bool totals_put;
	struct vbd_metrics_walk walks[2]; /* over the objects of the parts */
	size_t at, count;		  /* of `walks` */
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
	if (!metrics->totals_put)
		put_totals(metrics);
	else if (vbd_metrics_walk(&metrics->walks[metrics->at], &metrics->out))
		metrics->at++;
	if (metrics->at < metrics->count)
		return false;
	if (metrics->parts & PART_CONNECTIONS)
		vbd_metrics_put_omitted(&metrics->out, &metrics->walks[metrics->count - 1]);
	return true;
}

static void drop_metrics(struct vbd_in_turns *self)
{
	struct metrics *metrics = VBD_CONTAINER_OF(self, struct metrics, turns);

	for (size_t i = 0; i < metrics->count; i++)
		vbd_metrics_walk_drop(&metrics->walks[i]);
	vbd_encode_drop(&metrics->out.text);
	free(metrics);
}

static bool write_page_part(struct vbd_in_turns *self)
{
	struct metrics *metrics = VBD_CONTAINER_OF(self, struct metrics, turns);
	size_t len_bytes;
	char *text;

	if (!put_part(metrics))
		return false;
	text = vbd_encode_take(&metrics->out.text, &len_bytes);
	vbd_reply_text(self->req, VBD_METRICS_TYPE, text, len_bytes);
	drop_metrics(self);
	return true;
}

static void on_snapshot_taken(struct vbd_request *req, void *arg)
{
	struct metrics *metrics = arg;
	struct vbd_daemon *daemon = metrics->api->daemon;

	metrics->fresh = vbd_kernel_snapshots_taken(daemon) >= metrics->snapshot;
	if (req->abandoned)
		drop_metrics(&metrics->turns);
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

static void begin_page(struct vbd_request *req, unsigned int parts)
{
	struct metrics *metrics = calloc(1, sizeof(*metrics));
	struct vbd_daemon *daemon = vbd_request_daemon(req);

	if (!metrics) {
		vbd_reply_text(req, VBD_METRICS_TYPE, NULL, 0);
		return;
	}
	metrics->turns.req = req;
	metrics->turns.go_on = write_page_part;
	metrics->turns.drop = drop_metrics;
	metrics->api = req->context;
	metrics->scope = vbd_caller_scope(req->caller);
	metrics->parts = parts;
	if (parts & PART_CQS)
		metrics->walks[metrics->count++] = vbd_metrics_cqs(daemon, metrics->scope);
	if (parts & PART_CONNECTIONS)
		metrics->walks[metrics->count++] = vbd_metrics_connections(daemon, metrics->scope);
	metrics->snapshot = vbd_kernel_snapshot_begin(daemon, true);
	vbd_await_snapshot(req, metrics->snapshot, on_snapshot_taken, metrics);
}

void vbd_get_metrics(struct vbd_request *req)
{
	unsigned int parts = 0;

	if (parse_part(req, "connections", PART_CONNECTIONS, &parts, &req->err) == VBD_OK &&
		parse_part(req, "cqs", PART_CQS, &parts, &req->err) == VBD_OK)
		begin_page(req, parts);
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
