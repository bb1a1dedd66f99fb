/* SPDX-License-Identifier: Apache-2.0 */
#include "api/routes.h"

#include "api/resources/batches.h"
#include "api/resources/benchmarks.h"
#include "api/resources/buffers.h"
#include "api/resources/connections.h"
#include "api/resources/cqs.h"
#include "api/resources/endpoints.h"
#include "api/resources/events.h"
#include "api/resources/explain.h"
#include "api/resources/glossary.h"
#include "api/resources/groups.h"
#include "api/resources/listeners.h"
#include "api/resources/meta.h"
#include "api/resources/pds.h"
#include "api/resources/peers.h"
#include "api/resources/probes.h"
#include "api/resources/srqs.h"
#include "api/resources/task.h"
#include "api/resources/transfers.h"
#include "api/resources/windows.h"

/*
 * One row each: method, operation, role, body, handler, pattern, parameters. The role "read" must
 * not see keys or contents of memory; messages are contents of memory.
 */
#define ROUTE(method_, operation_, role_, body_, handler_, pattern_, ...)                   \
	.method = VBD_METHOD_##method_, .operation = #operation_, .role = VBD_ROLE_##role_, \
	.body = VBD_BODY_##body_, .handler = handler_, .pattern = pattern_, .query = {__VA_ARGS__}
#define PAGED "limit", "after", "sort", "fields", "view"
#define SHOWN "fields", "view", "until", "wait_ms"

/* clang-format off */
static const struct vbd_route routes[] = {
	{ROUTE(GET, page, NONE, NONE, vbd_get_page, "/", NULL)},
	{ROUTE(GET, asset, NONE, NONE, vbd_get_asset, "/assets/{ref}", NULL)},
	{ROUTE(GET, livez, NONE, NONE, vbd_get_livez, "/livez", "verbose")},
	{ROUTE(GET, readyz, NONE, NONE, vbd_get_readyz, "/readyz", "verbose")},
	{ROUTE(GET, metrics, READ, NONE, vbd_get_metrics, "/metrics", "connections", "cqs")},
	{ROUTE(GET, index, READ, NONE, vbd_get_index, "/v1", NULL)},
	{ROUTE(GET, contract, READ, NONE, vbd_get_contract, "/v1/openapi.yaml", NULL)},
	{ROUTE(GET, stats, READ, NONE, vbd_get_stats, "/v1/stats", NULL)},
	{ROUTE(GET, list_devices, READ, NONE, vbd_task_list, "/v1/devices", PAGED, "state", "name"),
		.task = &vbd_device_task},
	{ROUTE(GET, get_device, READ, NONE, vbd_task_get, "/v1/devices/{ref}", SHOWN),
		.task = &vbd_device_task},
	{ROUTE(GET, list_pds, READ, NONE, vbd_task_list, "/v1/pds", PAGED, "name", "device"), .task = &vbd_pd_task},
	{ROUTE(POST, create_pd, CONTROL, JSON, vbd_create_pd, "/v1/pds", NULL)},
	{ROUTE(GET, get_pd, READ, NONE, vbd_task_get, "/v1/pds/{ref}", SHOWN), .task = &vbd_pd_task},
	{ROUTE(DELETE, delete_pd, CONTROL, NONE, vbd_delete_shared, "/v1/pds/{ref}", NULL),
		.task = &vbd_pd_task},
	{ROUTE(GET, list_cqs, READ, NONE, vbd_task_list, "/v1/cqs", PAGED, "name", "device"), .task = &vbd_cq_task},
	{ROUTE(POST, create_cq, CONTROL, JSON, vbd_create_cq, "/v1/cqs", NULL)},
	{ROUTE(GET, get_cq, READ, NONE, vbd_task_get, "/v1/cqs/{ref}", SHOWN), .task = &vbd_cq_task},
	{ROUTE(PATCH, patch_cq, CONTROL, JSON, vbd_patch_cq, "/v1/cqs/{ref}", NULL)},
	{ROUTE(DELETE, delete_cq, CONTROL, NONE, vbd_delete_shared, "/v1/cqs/{ref}", NULL),
		.task = &vbd_cq_task},
	{ROUTE(GET, list_srqs, READ, NONE, vbd_task_list, "/v1/srqs", PAGED, "name", "device"), .task = &vbd_srq_task},
	{ROUTE(POST, create_srq, CONTROL, JSON, vbd_create_srq, "/v1/srqs", NULL)},
	{ROUTE(GET, get_srq, READ, NONE, vbd_task_get, "/v1/srqs/{ref}", SHOWN), .task = &vbd_srq_task},
	{ROUTE(PATCH, patch_srq, CONTROL, JSON, vbd_patch_srq, "/v1/srqs/{ref}", NULL)},
	{ROUTE(DELETE, delete_srq, CONTROL, NONE, vbd_delete_shared, "/v1/srqs/{ref}", NULL),
		.task = &vbd_srq_task},
	{ROUTE(GET, list_buffers, READ, NONE, vbd_task_list, "/v1/buffers", PAGED, "state", "name", "device", "pd"),
		.task = &vbd_buffer_task},
	{ROUTE(POST, create_buffer, CONTROL, JSON, vbd_create_buffer,
		"/v1/buffers", NULL), .prefer = true},
	{ROUTE(GET, get_buffer, READ, NONE, vbd_task_get, "/v1/buffers/{ref}", SHOWN),
		.task = &vbd_buffer_task},
	{ROUTE(DELETE, delete_buffer, CONTROL, NONE, vbd_delete_buffer, "/v1/buffers/{ref}", NULL)},
	{ROUTE(GET, get_buffer_data, CONTROL, NONE, vbd_get_buffer_data,
		"/v1/buffers/{ref}/data", "offset_bytes", "length_bytes")},
	{ROUTE(PUT, put_buffer_data, CONTROL, STREAM, vbd_put_buffer_data,
		"/v1/buffers/{ref}/data", "offset_bytes", "length_bytes"), .open = vbd_open_buffer_data},
	{ROUTE(GET, get_buffer_checksum, CONTROL, NONE, vbd_get_buffer_checksum,
		"/v1/buffers/{ref}/checksum", "offset_bytes", "length_bytes", "algorithm")},
	{ROUTE(GET, list_listeners, READ, NONE, vbd_task_list, "/v1/listeners", PAGED, "state", "name", "device"),
		.task = &vbd_listener_task},
	{ROUTE(POST, create_listener, CONTROL, JSON, vbd_create_listener, "/v1/listeners", NULL)},
	{ROUTE(GET, get_listener, READ, NONE, vbd_task_get, "/v1/listeners/{ref}", SHOWN),
		.task = &vbd_listener_task},
	{ROUTE(PATCH, patch_listener, CONTROL, JSON, vbd_patch_listener,
		"/v1/listeners/{ref}", NULL)},
	{ROUTE(DELETE, delete_listener, CONTROL, NONE, vbd_delete_listener,
		"/v1/listeners/{ref}", NULL)},
	{ROUTE(GET, list_connections, READ, NONE, vbd_list_connections,
		"/v1/connections", PAGED, "state", "name", "device", "listener", "end_code"),
		.task = &vbd_connection_task},
	{ROUTE(POST, create_connection, CONTROL, JSON, vbd_create_connection,
		"/v1/connections", NULL), .prefer = true},
	{ROUTE(GET, get_connection, READ, NONE, vbd_task_get, "/v1/connections/{ref}", SHOWN),
		.task = &vbd_connection_task},
	{ROUTE(DELETE, delete_connection, CONTROL, NONE, vbd_delete_connection,
		"/v1/connections/{ref}", NULL), .prefer = true},
	{ROUTE(POST, accept_connection, CONTROL, OPTIONAL, vbd_accept_connection,
		"/v1/connections/{ref}/accept", NULL), .prefer = true},
	{ROUTE(POST, reject_connection, CONTROL, OPTIONAL, vbd_reject_connection,
		"/v1/connections/{ref}/reject", NULL)},
	{ROUTE(POST, close_connection, CONTROL, NONE, vbd_close_connection,
		"/v1/connections/{ref}/close", NULL), .prefer = true},
	{ROUTE(POST, set_remote, CONTROL, JSON, vbd_set_remote,
		"/v1/connections/{ref}/remote", NULL), .prefer = true},
	{ROUTE(POST, set_qp_state, CONTROL, JSON, vbd_set_qp_state,
		"/v1/connections/{ref}/qp_state", NULL), .prefer = true},
	{ROUTE(GET, list_timeline, READ, NONE, vbd_list_timeline,
		"/v1/connections/{ref}/timeline", NULL)},
	{ROUTE(GET, explain_connection, READ, NONE, vbd_explain_one,
		"/v1/connections/{ref}/explain", NULL)},
	{ROUTE(GET, list_messages, CONTROL, NONE, vbd_list_messages,
		"/v1/connections/{ref}/messages", "limit", "after", "wait_ms", "encoding")},
	{ROUTE(POST, send_message, CONTROL, JSON, vbd_send_message,
		"/v1/connections/{ref}/messages", NULL), .prefer = true},
	{ROUTE(DELETE, delete_messages, CONTROL, NONE, vbd_delete_messages,
		"/v1/connections/{ref}/messages", "through")},
	{ROUTE(GET, list_ud_endpoints, READ, NONE, vbd_task_list, "/v1/ud_endpoints", PAGED, "state", "name", "device"),
		.task = &vbd_ud_endpoint_task},
	{ROUTE(POST, create_ud_endpoint, CONTROL, JSON, vbd_create_ud_endpoint, "/v1/ud_endpoints", NULL)},
	{ROUTE(GET, get_ud_endpoint, READ, NONE, vbd_task_get, "/v1/ud_endpoints/{ref}", SHOWN),
		.task = &vbd_ud_endpoint_task},
	{ROUTE(DELETE, delete_ud_endpoint, CONTROL, NONE, vbd_task_delete,
		"/v1/ud_endpoints/{ref}", NULL), .task = &vbd_ud_endpoint_task,
		.prefer = true},
	{ROUTE(GET, list_ud_endpoint_messages, CONTROL, NONE, vbd_list_ud_endpoint_messages,
		"/v1/ud_endpoints/{ref}/messages", "limit", "after", "wait_ms", "encoding")},
	{ROUTE(POST, send_ud_endpoint_message, CONTROL, JSON, vbd_send_ud_endpoint_message,
		"/v1/ud_endpoints/{ref}/messages", NULL), .prefer = true},
	{ROUTE(DELETE, delete_ud_endpoint_messages, CONTROL, NONE, vbd_delete_ud_endpoint_messages,
		"/v1/ud_endpoints/{ref}/messages", "through")},
	{ROUTE(GET, list_ud_peers, READ, NONE, vbd_task_list, "/v1/ud_peers", PAGED, "state", "name", "ud_endpoint"),
		.task = &vbd_ud_peer_task},
	{ROUTE(POST, create_ud_peer, CONTROL, JSON, vbd_create_ud_peer,
		"/v1/ud_peers", NULL), .prefer = true},
	{ROUTE(GET, get_ud_peer, READ, NONE, vbd_task_get, "/v1/ud_peers/{ref}", SHOWN),
		.task = &vbd_ud_peer_task},
	{ROUTE(DELETE, delete_ud_peer, CONTROL, NONE, vbd_delete_ud_peer, "/v1/ud_peers/{ref}", NULL)},
	{ROUTE(GET, list_multicast_memberships, READ, NONE, vbd_task_list, "/v1/multicast_memberships", PAGED, "state", "name", "ud_endpoint"),
		.task = &vbd_multicast_membership_task},
	{ROUTE(POST, create_multicast_membership, CONTROL, JSON, vbd_create_multicast_membership,
		"/v1/multicast_memberships", NULL), .prefer = true},
	{ROUTE(GET, get_multicast_membership, READ, NONE, vbd_task_get, "/v1/multicast_memberships/{ref}", SHOWN),
		.task = &vbd_multicast_membership_task},
	{ROUTE(DELETE, delete_multicast_membership, CONTROL, NONE, vbd_task_delete,
		"/v1/multicast_memberships/{ref}", NULL), .task = &vbd_multicast_membership_task,
		.prefer = true},
	{ROUTE(GET, list_transfers, READ, NONE, vbd_task_list, "/v1/transfers", PAGED, "state", "connection", "ud_endpoint", "ud_peer",
		"multicast_membership", "buffer", "batch"),
		.task = &vbd_transfer_task},
	{ROUTE(POST, create_transfer, CONTROL, JSON, vbd_create_transfer,
		"/v1/transfers", NULL), .prefer = true},
	{ROUTE(GET, get_transfer, READ, NONE, vbd_task_get, "/v1/transfers/{ref}", SHOWN),
		.task = &vbd_transfer_task},
	{ROUTE(DELETE, delete_transfer, CONTROL, NONE, vbd_task_delete,
		"/v1/transfers/{ref}", NULL), .task = &vbd_transfer_task, .prefer = true},
	{ROUTE(POST, cancel_transfer, CONTROL, NONE, vbd_task_cancel,
		"/v1/transfers/{ref}/cancel", NULL), .task = &vbd_transfer_task, .prefer = true},
	{ROUTE(GET, list_batches, READ, NONE, vbd_task_list, "/v1/batches", PAGED, "state"),
		.task = &vbd_batch_task},
	{ROUTE(POST, create_batch, CONTROL, JSON, vbd_create_batch, "/v1/batches", NULL),
		.prefer = true},
	{ROUTE(GET, get_batch, READ, NONE, vbd_task_get, "/v1/batches/{ref}", SHOWN),
		.task = &vbd_batch_task},
	{ROUTE(DELETE, delete_batch, CONTROL, NONE, vbd_task_delete,
		"/v1/batches/{ref}", NULL), .task = &vbd_batch_task, .prefer = true},
	{ROUTE(POST, cancel_batch, CONTROL, NONE, vbd_task_cancel,
		"/v1/batches/{ref}/cancel", NULL), .task = &vbd_batch_task, .prefer = true},
	{ROUTE(GET, list_glossary, READ, NONE, vbd_list_glossary, "/v1/glossary", "kind")},
	{ROUTE(GET, get_glossary, READ, NONE, vbd_get_glossary, "/v1/glossary/{ref}", NULL)},
	{ROUTE(GET, get_reachability, READ, NONE, vbd_get_reachability,
		"/v1/reachability", "dst_addr", "dst_port", "src_addr", "device")},
	{ROUTE(GET, stream_events, READ, NONE, vbd_stream_events,
		"/v1/events/stream", "after", "limit", "type", "object", "severity", "code")},
	{ROUTE(GET, list_benchmarks, READ, NONE, vbd_task_list,
		"/v1/benchmarks", PAGED, "state", "connection", "buffer"), .task = &vbd_benchmark_task},
	{ROUTE(POST, create_benchmark, CONTROL, JSON, vbd_create_benchmark,
		"/v1/benchmarks", NULL), .prefer = true},
	{ROUTE(GET, get_benchmark, READ, NONE, vbd_task_get, "/v1/benchmarks/{ref}", SHOWN),
		.task = &vbd_benchmark_task},
	{ROUTE(DELETE, delete_benchmark, CONTROL, NONE, vbd_task_delete,
		"/v1/benchmarks/{ref}", NULL), .task = &vbd_benchmark_task, .prefer = true},
	{ROUTE(POST, cancel_benchmark, CONTROL, NONE, vbd_task_cancel,
		"/v1/benchmarks/{ref}/cancel", NULL), .task = &vbd_benchmark_task, .prefer = true},
	{ROUTE(GET, list_probes, READ, NONE, vbd_task_list, "/v1/probes", PAGED, "state", "connection"),
		.task = &vbd_probe_task},
	{ROUTE(POST, create_probe, CONTROL, JSON, vbd_create_probe,
		"/v1/probes", NULL), .prefer = true},
	{ROUTE(GET, get_probe, READ, NONE, vbd_task_get, "/v1/probes/{ref}", SHOWN),
		.task = &vbd_probe_task},
	{ROUTE(DELETE, delete_probe, CONTROL, NONE, vbd_task_delete,
		"/v1/probes/{ref}", NULL), .task = &vbd_probe_task, .prefer = true},
	{ROUTE(POST, cancel_probe, CONTROL, NONE, vbd_task_cancel,
		"/v1/probes/{ref}/cancel", NULL), .task = &vbd_probe_task, .prefer = true},
	{ROUTE(GET, list_windows, READ, NONE, vbd_task_list, "/v1/windows", PAGED, "state", "name", "device", "buffer", "connection"),
		.task = &vbd_window_task},
	{ROUTE(POST, create_window, CONTROL, JSON, vbd_create_window,
		"/v1/windows", NULL), .prefer = true},
	{ROUTE(GET, get_window, READ, NONE, vbd_task_get, "/v1/windows/{ref}", SHOWN),
		.task = &vbd_window_task},
	{ROUTE(DELETE, delete_window, CONTROL, NONE, vbd_task_delete,
		"/v1/windows/{ref}", NULL), .task = &vbd_window_task, .prefer = true},
	{ROUTE(GET, list_events, READ, NONE, vbd_list_events,
		"/v1/events", "limit", "after", "wait_ms", "type", "object", "severity", "code")},
};
/* clang-format on */

struct vbd_router vbd_routes(void)
{
	return (struct vbd_router){.routes = routes, .n_routes = VBD_ARRAY_LEN(routes)};
}
