/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api.h"

#include "api/resources/context.h"
#include "api/routes.h"
#include "base/clock.h"
#include "daemon/config/descriptors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Log one refusal a second at most: otherwise a client without a role could fill the bounded event
 * log. */
static void on_refused(void *context, const char *client, const struct vbd_error *err)
{
	struct vbd_api *api = context;
	uint64_t now_ns = vbd_clock_mono_ns();

	if (api->refused_logged_ns && now_ns - api->refused_logged_ns < VBD_NS_PER_S) {
		api->refused_unlogged++;
		return;
	}
	(void)vbd_eventlog_append(api->daemon->eventlog,
		&(const struct vbd_event){.type = VBD_EVENT_REQUEST_REFUSED,
			.severity = VBD_SEVERITY_NOTICE,
			.words[VBD_EVENT_CODE] = vbd_status_code(err->status)},
		"%s from %s (%" PRIu64 " more since the last): %.80s", vbd_status_code(err->status),
		client, api->refused_unlogged, err->text);
	api->refused_logged_ns = now_ns;
	api->refused_unlogged = 0;
}

/* The same for clients without a connection; ten seconds, since each of a flood comes here. */
static void on_turned_away(void *context, const char *client, const struct vbd_error *err)
{
	struct vbd_api *api = context;
	uint64_t now_ns = vbd_clock_mono_ns();

	if (api->turned_away_logged_ns && now_ns - api->turned_away_logged_ns < 10 * VBD_NS_PER_S) {
		api->turned_away_unlogged++;
		return;
	}
	(void)vbd_eventlog_append(api->daemon->eventlog,
		&(const struct vbd_event){.type = VBD_EVENT_SECURITY_CLIENTS_TURNED_AWAY,
			.severity = VBD_SEVERITY_WARNING,
			.words[VBD_EVENT_CODE] = vbd_status_code(err->status)},
		"%s (%" PRIu64 " more since the last): %.100s", client, api->turned_away_unlogged,
		err->text);
	api->turned_away_logged_ns = now_ns;
	api->turned_away_unlogged = 0;
}

static struct vbd_server_config configure(
	struct vbd_api *api, const struct vbd_server_socket *sockets, size_t count)
{
	const struct vbd_config *config = api->daemon->config;
	struct vbd_server_config server = vbd_server_config_default();

	for (size_t i = 0; i < config->allowed_hosts_count; i++)
		api->allowed_hosts[i] = config->allowed_hosts[i];
	memcpy(server.sockets, sockets, count * sizeof(sockets[0]));
	server.sockets_count = count;
	server.tls = config->tls.certificate[0] ? &config->tls : NULL;
	server.limits.seats = (unsigned int)vbd_descriptors_for_http(config);
	server.limits.seats_per_source = (unsigned int)config->limits.http_connections_per_address;
	server.limits.waiting = (unsigned int)config->limits.waiting_requests;
	server.limits.feeds = (unsigned int)config->limits.event_streams;
	server.on_turned_away = on_turned_away;
	server.dispatch.router = api->router;
	server.dispatch.json_max_bytes = config->limits.http_body_bytes;
	server.dispatch.idem_max = config->limits.idempotency_keys;
	server.dispatch.server_id = api->daemon->server_id;
	server.dispatch.context = api;
	server.dispatch.on_refused = on_refused;
	server.dispatch.auth = (struct vbd_auth_rules){
		.callers = &api->daemon->callers,
		.credentials = api->credentials,
		.allowed_hosts = api->allowed_hosts,
		.n_allowed_hosts = config->allowed_hosts_count,
	};
	return server;
}

enum vbd_status vbd_api_create(struct vbd_daemon *daemon, struct vbd_caller_list *callers,
	const struct vbd_server_socket *sockets, size_t count, struct vbd_api **ret_api,
	struct vbd_error *err)
{
	struct vbd_api *api = calloc(1, sizeof(*api));
	struct vbd_server_config config;
	enum vbd_status status;

	if (!api)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the API");
	api->daemon = daemon;
	api->router = vbd_routes();
	status = vbd_credentials_create(&daemon->callers, callers, &api->credentials, err);
	if (status != VBD_OK) {
		free(api);
		return status;
	}
	vbd_credentials_use(api->credentials, NULL);
	config = configure(api, sockets, count);
	status = vbd_server_create(daemon->loop, &config, &api->server, err);
	if (status != VBD_OK) {
		vbd_api_destroy(api);
		return status;
	}
	*ret_api = api;
	return VBD_OK;
}

void vbd_api_stop(struct vbd_api *api, uint64_t grace_ms, void (*stopped)(void *arg), void *arg)
{
	vbd_server_stop(api->server, grace_ms, stopped, arg);
}

void vbd_api_destroy(struct vbd_api *api)
{
	if (!api)
		return;
	vbd_server_destroy(api->server);
	vbd_event_texts_fini(&api->event_texts);
	vbd_credentials_destroy(api->credentials);
	free(api);
}
