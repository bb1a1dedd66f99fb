/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All counters, for Prometheus.
 */
#include "api/http/server.h"
#include "api/resources/api_stats.h"
#include "api/resources/context.h"
#include "api/resources/kernel_snapshot.h"
#include "api/resources/meta.h"
#include "api/resources/metrics_parts.h"
#include "base/clock.h"
#include "daemon/observe/kernel.h"
#include "daemon/observe/stats.h"

#include <stdio.h>
#include <string.h>

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

/* The query parameters. */
struct wanted {
	size_t connections, cqs;
};

static enum vbd_status parse_query(
	struct vbd_request *req, struct wanted *ret_wanted, struct vbd_error *err)
{
	static const char *const values[] = {"0", "1"};
	enum vbd_status status;

	*ret_wanted = (struct wanted){0};
	status = vbd_query_enum(
		req, "connections", values, VBD_ARRAY_LEN(values), &ret_wanted->connections, err);
	if (status == VBD_OK)
		status = vbd_query_enum(
			req, "cqs", values, VBD_ARRAY_LEN(values), &ret_wanted->cqs, err);
	return status;
}

static void answer(struct vbd_request *req, bool fresh)
{
	const struct vbd_api *api = req->context;
	const struct vbd_server_stats *http = vbd_server_stats(api->server);
	const struct vbd_daemon *daemon = api->daemon;
	const struct vbd_kernel_view *view = vbd_kernel_view(daemon);
	struct vbd_metrics_text out = {0};
	struct wanted wanted;
	size_t len_bytes;
	char *text;

	(void)parse_query(req, &wanted, NULL);
	put_start(&out, daemon);
	put_durations(&out, &http->durations);
	vbd_api_stats_walk(http, &daemon->config->limits,
		vbd_kernel_snapshot_others_waiting(req, http->parked), fresh, put_stat, &out);
	vbd_stats_walk(daemon, put_stat, &out);
	vbd_metrics_put_callers(&out, daemon, req->caller);
	vbd_metrics_put_cqs(&out, daemon, req->caller, wanted.cqs);
	vbd_metrics_put_async_events(&out, daemon->fabric);
	if (fresh) {
		vbd_stats_walk_kernel(view, vbd_kernel_object_counts(daemon), put_stat, &out);
		vbd_metrics_put_ports(&out, view);
	}
	if (wanted.connections)
		vbd_metrics_put_connections(&out, daemon, req->caller);
	text = vbd_metrics_end(&out, &len_bytes);
	vbd_reply_text(req, VBD_METRICS_TYPE, text, len_bytes);
}

void vbd_get_metrics(struct vbd_request *req)
{
	struct vbd_error err = {0};
	struct wanted wanted;

	if (parse_query(req, &wanted, &err) != VBD_OK)
		vbd_reply_problem(req, &err);
	else
		vbd_kernel_snapshot_await(req, answer);
}
