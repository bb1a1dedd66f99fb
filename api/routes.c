/* SPDX-License-Identifier: Apache-2.0 */
#include "api/routes.h"

#include "api/handlers.h"

/*
 * One row each: method, operation, role, body, handler, pattern, parameters. What a reader role
 * must not see are keys and the contents of memory; messages are such contents.
 */
#define ROUTE(method_, operation_, role_, body_, handler_, pattern_, ...)                   \
	.method = VBD_METHOD_##method_, .operation = #operation_, .role = VBD_ROLE_##role_, \
	.body = VBD_BODY_##body_, .handler = handler_, .pattern = pattern_, .query = {__VA_ARGS__}
#define PAGED "limit", "after", "sort", "fields"

/* clang-format off */
static const struct vbd_route routes[] = {
	{ROUTE(GET, livez, NONE, NONE, vbd_get_livez,
		"/livez", "verbose")},
	{ROUTE(GET, readyz, NONE, NONE, vbd_get_readyz,
		"/readyz", "verbose")},
	{ROUTE(GET, index, READ, NONE, vbd_get_index,
		"/v1", NULL)},
	{ROUTE(GET, contract, READ, NONE, vbd_get_contract,
		"/v1/openapi.yaml", NULL)},
	{ROUTE(GET, stats, READ, NONE, vbd_get_stats,
		"/v1/stats", NULL)},
	{ROUTE(GET, list_devices, READ, NONE, vbd_list_devices,
		"/v1/devices", PAGED, "state")},
	{ROUTE(GET, get_device, READ, NONE, vbd_get_device,
		"/v1/devices/{ref}", NULL)},
	{ROUTE(GET, list_cqs, READ, NONE, vbd_list_cqs,
		"/v1/cqs", PAGED)},
	{ROUTE(GET, get_cq, READ, NONE, vbd_get_cq,
		"/v1/cqs/{ref}", NULL)},
	{ROUTE(GET, list_buffers, READ, NONE, vbd_list_buffers,
		"/v1/buffers", PAGED, "state")},
	{ROUTE(POST, create_buffer, CONTROL, JSON, vbd_create_buffer,
		"/v1/buffers", NULL), .prefer = true},
	{ROUTE(GET, get_buffer, READ, NONE, vbd_get_buffer,
		"/v1/buffers/{ref}", NULL)},
	{ROUTE(DELETE, delete_buffer, CONTROL, NONE, vbd_delete_buffer,
		"/v1/buffers/{ref}", NULL)},
	{ROUTE(GET, get_buffer_data, CONTROL, NONE, vbd_get_buffer_data,
		"/v1/buffers/{ref}/data", NULL)},
	{ROUTE(PUT, put_buffer_data, CONTROL, STREAM, vbd_put_buffer_data,
		"/v1/buffers/{ref}/data", "offset"), .open = vbd_open_buffer_data},
	{ROUTE(GET, get_buffer_checksum, CONTROL, NONE, vbd_get_buffer_checksum,
		"/v1/buffers/{ref}/checksum", "offset", "length_bytes", "algorithm")},
	{ROUTE(GET, list_listeners, READ, NONE, vbd_list_listeners,
		"/v1/listeners", PAGED, "state")},
	{ROUTE(POST, create_listener, CONTROL, JSON, vbd_create_listener,
		"/v1/listeners", NULL)},
	{ROUTE(GET, get_listener, READ, NONE, vbd_get_listener,
		"/v1/listeners/{ref}", NULL)},
	{ROUTE(PATCH, patch_listener, CONTROL, JSON, vbd_patch_listener,
		"/v1/listeners/{ref}", NULL)},
	{ROUTE(DELETE, delete_listener, CONTROL, NONE, vbd_delete_listener,
		"/v1/listeners/{ref}", NULL)},
	{ROUTE(GET, list_connections, READ, NONE, vbd_list_connections,
		"/v1/connections", PAGED, "state")},
	{ROUTE(POST, create_connection, CONTROL, JSON, vbd_create_connection,
		"/v1/connections", NULL), .prefer = true},
	{ROUTE(GET, get_connection, READ, NONE, vbd_get_connection,
		"/v1/connections/{ref}", NULL)},
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
	{ROUTE(POST, modify_connection, CONTROL, JSON, vbd_modify_connection,
		"/v1/connections/{ref}/modify", NULL), .prefer = true},
	{ROUTE(GET, list_messages, CONTROL, NONE, vbd_list_messages,
		"/v1/connections/{ref}/messages", "limit", "after", "wait_ms", "encoding")},
	{ROUTE(POST, send_message, CONTROL, JSON, vbd_send_message,
		"/v1/connections/{ref}/messages", NULL), .prefer = true},
	{ROUTE(DELETE, delete_messages, CONTROL, NONE, vbd_delete_messages,
		"/v1/connections/{ref}/messages", "through")},
	{ROUTE(GET, list_transfers, READ, NONE, vbd_list_transfers,
		"/v1/transfers", PAGED, "state")},
	{ROUTE(POST, create_transfer, CONTROL, JSON, vbd_create_transfer,
		"/v1/transfers", NULL), .prefer = true},
	{ROUTE(GET, get_transfer, READ, NONE, vbd_get_transfer,
		"/v1/transfers/{ref}", NULL)},
	{ROUTE(DELETE, delete_transfer, CONTROL, NONE, vbd_delete_transfer,
		"/v1/transfers/{ref}", NULL)},
	{ROUTE(GET, explain, READ, NONE, vbd_explain,
		"/v1/explain", "name", "kind")},
	{ROUTE(GET, stream_events, READ, NONE, vbd_stream_events,
		"/v1/events/stream", "after", "type", "object", "severity")},
	{ROUTE(GET, list_probes, READ, NONE, vbd_list_probes,
		"/v1/probes", PAGED, "state")},
	{ROUTE(POST, create_probe, CONTROL, JSON, vbd_create_probe,
		"/v1/probes", NULL), .prefer = true},
	{ROUTE(GET, get_probe, READ, NONE, vbd_get_probe,
		"/v1/probes/{ref}", NULL)},
	{ROUTE(DELETE, delete_probe, CONTROL, NONE, vbd_delete_probe,
		"/v1/probes/{ref}", NULL)},
	{ROUTE(GET, list_windows, READ, NONE, vbd_list_windows,
		"/v1/windows", PAGED, "state")},
	{ROUTE(POST, create_window, CONTROL, JSON, vbd_create_window,
		"/v1/windows", NULL), .prefer = true},
	{ROUTE(GET, get_window, READ, NONE, vbd_get_window,
		"/v1/windows/{ref}", NULL)},
	{ROUTE(DELETE, delete_window, CONTROL, NONE, vbd_delete_window,
		"/v1/windows/{ref}", NULL), .prefer = true},
	{ROUTE(GET, list_events, READ, NONE, vbd_list_events,
		"/v1/events", "limit", "after", "wait_ms", "type", "object", "severity")},
};
/* clang-format on */

struct vbd_router vbd_routes(void)
{
	return (struct vbd_router){.routes = routes, .n_routes = VBD_ARRAY_LEN(routes)};
}
