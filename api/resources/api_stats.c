/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources/api_stats.h"

#include "api/http/server.h"
#include "base/attr.h"

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
