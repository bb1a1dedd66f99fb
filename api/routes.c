/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api.h"
#include "api/core/handlers.h"
#include "api/core/task.h"

/*
 * One row each: method, operation, role, body, handler, pattern, parameters. The role "read" must
 * not see keys or contents of memory; messages are contents of memory.
 */
#define ROUTE(method_, operation_, role_, body_, handler_, pattern_, ...)                   \
	.method = VBD_METHOD_##method_, .operation = #operation_, .role = VBD_ROLE_##role_, \
	.body = VBD_BODY_##body_, .handler = handler_, .pattern = pattern_, .query = {__VA_ARGS__}
#define PAGED	  "limit", "after", "sort", "fields"
#define LABELLED  PAGED, "label"
#define SELECTING "kind", "label", "all", "dry_run"
#define SHOWN	  "fields", "until", "wait_ms"

/* clang-format off */
/* The list of a kind, whose own parameters follow, and one object of it. */
#define KIND(kind_, plural_, ...) \
	{ROUTE(GET, list_##plural_, READ, NONE, vbd_task_list, "/v1/" #plural_, LABELLED, __VA_ARGS__), \
		.task = &vbd_##kind_##_task}, \
	{ROUTE(GET, get_##kind_, READ, NONE, vbd_task_get, "/v1/" #plural_ "/{ref}", SHOWN), \
		.task = &vbd_##kind_##_task},

/* DELETE of one object. */
#define DELETES(kind_, plural_, role_, ...) \
	{ROUTE(DELETE, delete_##kind_, role_, NONE, vbd_task_delete, "/v1/" #plural_ "/{ref}", NULL), \
		.task = &vbd_##kind_##_task, __VA_ARGS__},
#define CANCELS(kind_, plural_) \
	{ROUTE(POST, cancel_##kind_, OPERATE, NONE, vbd_task_cancel, "/v1/" #plural_ "/{ref}/cancel", NULL), \
		.task = &vbd_##kind_##_task, .prefer = true},

static const struct vbd_route routes[] = {
	{ROUTE(GET, page, NONE, NONE, vbd_get_page, "/", NULL)},
	{ROUTE(GET, asset, NONE, NONE, vbd_get_asset, "/assets/{ref}", NULL)},
	{ROUTE(GET, livez, NONE, NONE, vbd_get_livez, "/livez", "verbose")},
	{ROUTE(GET, readyz, NONE, NONE, vbd_get_readyz, "/readyz", "verbose")},
	{ROUTE(GET, metrics, READ, NONE, vbd_get_metrics, "/metrics", "connections", "cqs")},
	{ROUTE(GET, index, READ, NONE, vbd_get_index, "/v1", NULL)},
	{ROUTE(GET, contract, READ, NONE, vbd_get_contract, "/v1/openapi.yaml", NULL)},
	{ROUTE(GET, extra_contract, READ, NONE, vbd_get_extra_contract, "/v1/openapi-extra.yaml", NULL)},
	{ROUTE(GET, caller, READ, NONE, vbd_get_caller, "/v1/caller", NULL)},
	{ROUTE(POST, reload, CONTROL, NONE, vbd_post_reload, "/v1/reload", NULL)},
	{ROUTE(GET, get_drain, READ, NONE, vbd_get_drain, "/v1/drain", "wait_ms")},
	{ROUTE(POST, drain, CONTROL, OPTIONAL, vbd_post_drain, "/v1/drain", NULL)},
	{ROUTE(DELETE, undrain, CONTROL, NONE, vbd_delete_drain, "/v1/drain", NULL)},
	{ROUTE(GET, stats, READ, NONE, vbd_get_stats, "/v1/stats", NULL)},
	{ROUTE(GET, traffic, READ, NONE, vbd_get_traffic, "/v1/stats/traffic", NULL)},
	{ROUTE(GET, list_devices, READ, NONE, vbd_get_devices, "/v1/devices", PAGED, "state", "name"),
		.task = &vbd_device_task},
	{ROUTE(GET, get_device, READ, NONE, vbd_get_devices, "/v1/devices/{ref}", SHOWN),
		.task = &vbd_device_task},
	KIND(pd, pds, "name", "device")
	{ROUTE(POST, create_pd, OPERATE, JSON, vbd_create_labelled, "/v1/pds", NULL), .create = vbd_task_create, .task = &vbd_pd_task},
	DELETES(pd, pds, OPERATE, .prefer = false)
	KIND(cq, cqs, "name", "device")
	{ROUTE(POST, create_cq, OPERATE, JSON, vbd_create_labelled, "/v1/cqs", NULL), .create = vbd_task_create, .task = &vbd_cq_task},
	{ROUTE(PATCH, patch_cq, OPERATE, JSON, vbd_patch_cq, "/v1/cqs/{ref}", NULL)},
	DELETES(cq, cqs, OPERATE, .prefer = false)
	KIND(srq, srqs, "name", "device")
	{ROUTE(POST, create_srq, OPERATE, JSON, vbd_create_labelled, "/v1/srqs", NULL), .create = vbd_create_srq, .task = &vbd_srq_task},
	{ROUTE(PATCH, patch_srq, OPERATE, JSON, vbd_patch_srq, "/v1/srqs/{ref}", NULL)},
	DELETES(srq, srqs, OPERATE, .prefer = false)
	KIND(buffer, buffers, "state", "name", "device", "pd")
	{ROUTE(POST, create_buffer, OPERATE, JSON, vbd_create_labelled, "/v1/buffers", NULL), .create = vbd_create_keepable, .task = &vbd_buffer_task, .prefer = true},
	DELETES(buffer, buffers, OPERATE, .prefer = false)
	{ROUTE(GET, get_buffer_data, OPERATE, NONE, vbd_get_buffer_data,
		"/v1/buffers/{ref}/data", "offset_bytes", "length_bytes"), .parts = true},
	{ROUTE(PUT, put_buffer_data, OPERATE, STREAM, vbd_put_buffer_data,
		"/v1/buffers/{ref}/data", "offset_bytes", "length_bytes"), .open = vbd_open_buffer_data, .moves_data = true},
	{ROUTE(GET, get_buffer_fd, OPERATE, NONE, vbd_get_buffer_fd, "/v1/buffers/{ref}/fd", "access"), .audited = true},
	{ROUTE(GET, get_buffer_checksum, OPERATE, NONE, vbd_get_buffer_checksum,
		"/v1/buffers/{ref}/checksum", "offset_bytes", "length_bytes", "algorithm")},
	KIND(listener, listeners, "state", "name", "device")
	{ROUTE(POST, create_listener, OPERATE, JSON, vbd_create_labelled, "/v1/listeners", NULL), .create = vbd_create_keepable, .task = &vbd_listener_task},
	{ROUTE(PATCH, patch_listener, OPERATE, JSON, vbd_patch_listener,
		"/v1/listeners/{ref}", NULL)},
	DELETES(listener, listeners, OPERATE, .prefer = false)
	KIND(connection, connections, "state", "name", "device", "listener", "end_code")
	{ROUTE(POST, create_connection, OPERATE, JSON, vbd_create_labelled, "/v1/connections", NULL), .create = vbd_create_keepable, .task = &vbd_connection_task, .prefer = true},
	DELETES(connection, connections, OPERATE, .prefer = true)
	{ROUTE(POST, accept_connection, OPERATE, OPTIONAL, vbd_accept_connection,
		"/v1/connections/{ref}/accept", NULL), .prefer = true},
	{ROUTE(POST, reject_connection, OPERATE, OPTIONAL, vbd_reject_connection,
		"/v1/connections/{ref}/reject", NULL)},
	{ROUTE(POST, close_connection, OPERATE, NONE, vbd_task_cancel,
		"/v1/connections/{ref}/close", NULL), .task = &vbd_connection_task, .prefer = true},
	{ROUTE(POST, set_remote, OPERATE, JSON, vbd_set_remote,
		"/v1/connections/{ref}/remote", NULL), .prefer = true},
	{ROUTE(POST, set_qp_state, OPERATE, JSON, vbd_set_qp_state,
		"/v1/connections/{ref}/qp_state", NULL), .prefer = true},
	{ROUTE(GET, list_timeline, READ, NONE, vbd_list_timeline,
		"/v1/connections/{ref}/timeline", NULL)},
	{ROUTE(GET, explain_connection, READ, NONE, vbd_explain_one,
		"/v1/connections/{ref}/explain", NULL)},
	{ROUTE(GET, list_messages, OPERATE, NONE, vbd_list_messages,
		"/v1/connections/{ref}/messages", "limit", "after", "wait_ms", "encoding"), .task = &vbd_connection_task},
	{ROUTE(POST, send_message, OPERATE, JSON, vbd_send_message,
		"/v1/connections/{ref}/messages", NULL), .task = &vbd_connection_task, .prefer = true, .moves_data = true},
	{ROUTE(DELETE, delete_messages, OPERATE, NONE, vbd_delete_messages,
		"/v1/connections/{ref}/messages", "through"), .task = &vbd_connection_task, .moves_data = true},
	KIND(kept_object, kept_objects, "state", "name")
	DELETES(kept_object, kept_objects, OPERATE, .prefer = false)
	KIND(fault, faults, "name")
	{ROUTE(POST, create_fault, CONTROL, JSON, vbd_create_labelled, "/v1/faults", NULL), .create = vbd_task_create, .task = &vbd_fault_task},
	DELETES(fault, faults, CONTROL, .prefer = false)
	KIND(ud_endpoint, ud_endpoints, "state", "name", "device")
	{ROUTE(POST, create_ud_endpoint, OPERATE, JSON, vbd_create_labelled, "/v1/ud_endpoints", NULL), .create = vbd_task_create, .task = &vbd_ud_endpoint_task, .prefer = true},
	DELETES(ud_endpoint, ud_endpoints, OPERATE, .prefer = true)
	{ROUTE(GET, list_ud_endpoint_messages, OPERATE, NONE, vbd_list_messages,
		"/v1/ud_endpoints/{ref}/messages", "limit", "after", "wait_ms", "encoding"), .task = &vbd_ud_endpoint_task},
	{ROUTE(POST, send_ud_endpoint_message, OPERATE, JSON, vbd_send_message,
		"/v1/ud_endpoints/{ref}/messages", NULL), .task = &vbd_ud_endpoint_task, .prefer = true, .moves_data = true},
	{ROUTE(DELETE, delete_ud_endpoint_messages, OPERATE, NONE, vbd_delete_messages,
		"/v1/ud_endpoints/{ref}/messages", "through"), .task = &vbd_ud_endpoint_task, .moves_data = true},
	KIND(ud_peer, ud_peers, "state", "name", "ud_endpoint")
	{ROUTE(POST, create_ud_peer, OPERATE, JSON, vbd_create_labelled, "/v1/ud_peers", NULL), .create = vbd_task_create, .task = &vbd_ud_peer_task, .prefer = true},
	DELETES(ud_peer, ud_peers, OPERATE, .prefer = false)
	KIND(multicast_membership, multicast_memberships, "state", "name", "ud_endpoint")
	{ROUTE(POST, create_multicast_membership, OPERATE, JSON, vbd_create_labelled, "/v1/multicast_memberships", NULL), .create = vbd_task_create, .task = &vbd_multicast_membership_task, .prefer = true},
	DELETES(multicast_membership, multicast_memberships, OPERATE, .prefer = true)
	KIND(transfer, transfers, "state", "connection", "ud_endpoint", "ud_peer",
		"multicast_membership", "buffer", "batch")
	{ROUTE(POST, create_transfer, OPERATE, JSON, vbd_create_labelled, "/v1/transfers", NULL), .create = vbd_create_transfer, .task = &vbd_transfer_task, .prefer = true, .moves_data = true},
	DELETES(transfer, transfers, OPERATE, .prefer = true, .moves_data = true)
	CANCELS(transfer, transfers)
	KIND(transfer_batch, transfer_batches, "state")
	{ROUTE(POST, create_transfer_batch, OPERATE, JSON, vbd_create_labelled, "/v1/transfer_batches", NULL), .create = vbd_create_transfer_batch, .task = &vbd_transfer_batch_task,
		.prefer = true, .moves_data = true},
	DELETES(transfer_batch, transfer_batches, OPERATE, .prefer = true, .moves_data = true)
	CANCELS(transfer_batch, transfer_batches)
	KIND(connection_batch, connection_batches, "state")
	{ROUTE(POST, create_connection_batch, OPERATE, JSON, vbd_create_labelled, "/v1/connection_batches", NULL),
		.create = vbd_create_connection_batch, .task = &vbd_connection_batch_task, .prefer = true},
	DELETES(connection_batch, connection_batches, OPERATE, .prefer = true)
	CANCELS(connection_batch, connection_batches)
	{ROUTE(DELETE, delete_objects, OPERATE, NONE, vbd_delete_selected, "/v1/objects", SELECTING), .prefer = true},
	{ROUTE(PATCH, label_objects, OPERATE, JSON, vbd_label_selected, "/v1/objects", "object", SELECTING)},
	{ROUTE(POST, cancel_objects, OPERATE, NONE, vbd_cancel_selected, "/v1/objects/-/cancel", SELECTING), .prefer = true},
	{ROUTE(GET, list_glossary, READ, NONE, vbd_list_glossary, "/v1/glossary", "kind")},
	{ROUTE(GET, get_glossary, READ, NONE, vbd_get_glossary, "/v1/glossary/{ref}", NULL)},
	{ROUTE(GET, get_reachability, READ, NONE, vbd_get_reachability,
		"/v1/reachability", "dst_addr", "dst_port", "src_addr", "device")},
	{ROUTE(GET, stream_events, READ, NONE, vbd_stream_events,
		"/v1/events/stream", "after", "limit", "type", "object", "severity", "code", "label"), .stream = true},
	KIND(benchmark, benchmarks, "state", "connection", "buffer")
	{ROUTE(POST, create_benchmark, OPERATE, JSON, vbd_create_labelled, "/v1/benchmarks", NULL), .create = vbd_task_create, .task = &vbd_benchmark_task, .prefer = true},
	DELETES(benchmark, benchmarks, OPERATE, .prefer = true)
	CANCELS(benchmark, benchmarks)
	KIND(copy, copies, "state", "connection")
	{ROUTE(POST, create_copy, OPERATE, JSON, vbd_create_labelled, "/v1/copies", NULL), .create = vbd_task_create, .task = &vbd_copy_task, .prefer = true},
	DELETES(copy, copies, OPERATE, .prefer = true)
	CANCELS(copy, copies)
	KIND(probe, probes, "state", "connection")
	{ROUTE(POST, create_probe, OPERATE, JSON, vbd_create_labelled, "/v1/probes", NULL), .create = vbd_task_create, .task = &vbd_probe_task, .prefer = true},
	DELETES(probe, probes, OPERATE, .prefer = true)
	CANCELS(probe, probes)
	KIND(window, windows, "state", "name", "device", "buffer", "connection")
	{ROUTE(POST, create_window, OPERATE, JSON, vbd_create_labelled, "/v1/windows", NULL), .create = vbd_task_create, .task = &vbd_window_task, .prefer = true},
	DELETES(window, windows, OPERATE, .prefer = true)
	KIND(export, exports, "state", "name")
	{ROUTE(GET, list_files, OPERATE, NONE, vbd_list_files, "/v1/exports/{ref}/files", "path", "after", "limit")},
	{ROUTE(GET, list_events, READ, NONE, vbd_list_events,
		"/v1/events", "limit", "after", "wait_ms", "type", "object", "severity", "code", "label")},
};
/* clang-format on */

struct vbd_router vbd_routes(void)
{
	return (struct vbd_router){.routes = routes, .n_routes = VBD_ARRAY_LEN(routes)};
}
