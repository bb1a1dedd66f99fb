/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources/api_stats.h"

#include "api/http/server.h"
#include "base/attr.h"

#define RESPONSES(class_, value_)                                                            \
	VBD_STAT("http_responses_*", "verbsd_http_responses_total", COUNTER,                 \
		"Answers, by class of the status.", .label = "class", .label_value = class_, \
		.value = value_)

void vbd_api_stats_walk(const struct vbd_server_stats *http, uint64_t waiting, bool fresh,
	vbd_stat_cb cb, void *arg)
{
	const struct vbd_stat rows[] = {
		VBD_STAT("http_requests", "verbsd_http_requests_total", COUNTER,
			"Received requests.", .value = http->requests),
		RESPONSES("2xx", http->responses_2xx),
		RESPONSES("3xx", http->responses_3xx),
		RESPONSES("4xx", http->responses_4xx),
		RESPONSES("5xx", http->responses_5xx),
		VBD_STAT("http_connections", NULL, COUNTER, "Accepted HTTP connections.",
			.value = http->connections),
		VBD_STAT("http_connections_open", "verbsd_http_connections", GAUGE,
			"Open HTTP connections.", .value = http->connections_open),
		VBD_STAT("http_requests_waiting", "verbsd_http_requests_waiting", GAUGE,
			"Waiting requests.", .value = waiting),
		VBD_STAT("http_event_streams", "verbsd_http_event_streams", GAUGE,
			"Clients of the event stream.", .value = http->feeds),
		VBD_STAT("http_too_slow", "verbsd_http_too_slow_total", COUNTER,
			"HTTP connections closed because of a deadline.", .value = http->too_slow),
		VBD_STAT("kernel_look_success", "verbsd_kernel_look_success", GAUGE,
			"1 if the kernel answered in time; otherwise the kernel's values are "
			"missing.",
			.value = fresh),
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++)
		cb(&rows[i], arg);
}
