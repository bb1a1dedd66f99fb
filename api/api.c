/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api.h"

#include "api/core/context.h"
#include "api/core/handlers.h"
#include "api/core/keep.h"
#include "api/core/task.h"
#include "daemon/store/keeper.h"

/* --- objects of all kinds -------------------------------------------------------------------- */

char *vbd_record_encode(const struct vbd_object *object)
{
	const struct vbd_task_kind *kind = vbd_task_of(vbd_registry_kind(object->registry));
	struct vbd_encoder out = vbd_encode_begin();
	struct vbd_sieve room;
	size_t len;

	vbd_encode_through(&out, vbd_view_public_sieve(kind->page.members, &room));
	kind->page.encode(&out, object);
	if (kind->encode_past)
		kind->encode_past(&out, object);
	return vbd_encode_end(&out, &len);
}

static bool await_object(
	struct vbd_request *req, const struct vbd_task_kind *kind, struct vbd_object *object)
{
	if (kind->done)
		vbd_task_answer(req, kind, object);
	else if (kind->answer)
		kind->answer(req, object);
	return kind->done || kind->answer;
}

/* Let a repeat of a POST wait for the object at @path, as the POST did; false if @path is no open
 * object whose end can be awaited. */
static bool await_for_repeat(struct vbd_request *req, const char *path)
{
	const struct vbd_registry *registry = vbd_registry_at(vbd_request_daemon(req), path);
	struct vbd_object *object = NULL;
	uint64_t id;

	if (registry && vbd_ref_is_id(strrchr(path, '/') + 1, &id))
		object = vbd_registry_find_id(registry, id);
	return object && await_object(req, vbd_task_of(vbd_registry_kind(registry)), object);
}

/* --- the server ------------------------------------------------------------------------------ */

/* The first refusals are told in full, the others by one summary in each period: otherwise a client
 * without a role could fill the bounded event log. */
#define REFUSALS_IN_FULL   5
#define REFUSALS_PERIOD_MS 10000

#define IDEMPOTENCY_KEYS_MAX 1000

static void log_refused_request(void *context, const char *client, const struct vbd_caller *caller,
	const struct vbd_error *err)
{
	struct vbd_api *api = context;

	if (!vbd_ration_take(&api->refused))
		return;
	if (!caller)
		vbd_audit_refusal(api, client, err);
	(void)vbd_eventlog_append(api->daemon->eventlog,
		&(const struct vbd_event){.type = VBD_EVENT_REQUEST_REFUSED,
			.severity = VBD_SEVERITY_NOTICE,
			.words[VBD_EVENT_CODE] = vbd_status_code(err->status)},
		"%s from %s: %.80s", vbd_status_code(err->status), client, err->text);
}

static void log_more_refused(void *arg, uint64_t count)
{
	struct vbd_api *api = arg;

	vbd_audit_refusals_more(api, count);
	(void)vbd_eventlog_append(api->daemon->eventlog,
		&(const struct vbd_event){.type = VBD_EVENT_REQUEST_REFUSED,
			.severity = VBD_SEVERITY_NOTICE,
			.words[VBD_EVENT_CODE] = vbd_status_code(VBD_E_FORBIDDEN)},
		"%" PRIu64 " more requests within %u s", count, REFUSALS_PERIOD_MS / 1000);
}

/* Likewise for clients that are refused or disconnected since there are too many. */
static void log_client_turned_away(void *context, const char *client, const struct vbd_error *err)
{
	struct vbd_api *api = context;

	if (!vbd_ration_take(&api->turned_away))
		return;
	(void)vbd_eventlog_append(api->daemon->eventlog,
		&(const struct vbd_event){.type = VBD_EVENT_SECURITY_CLIENTS_TURNED_AWAY,
			.severity = VBD_SEVERITY_WARNING,
			.words[VBD_EVENT_CODE] = vbd_status_code(err->status)},
		"%s: %.100s", client, err->text);
}

static void log_more_turned_away(void *arg, uint64_t count)
{
	const struct vbd_api *api = arg;

	(void)vbd_eventlog_append(api->daemon->eventlog,
		&(const struct vbd_event){.type = VBD_EVENT_SECURITY_CLIENTS_TURNED_AWAY,
			.severity = VBD_SEVERITY_WARNING,
			.words[VBD_EVENT_CODE] = vbd_status_code(VBD_E_TOO_MANY_REQUESTS)},
		"%" PRIu64 " more clients within %u s", count, REFUSALS_PERIOD_MS / 1000);
}

static enum vbd_status init_rations(struct vbd_api *api, struct vbd_error *err)
{
	struct vbd_ration ration = {
		.full = REFUSALS_IN_FULL, .period_ms = REFUSALS_PERIOD_MS, .arg = api};
	enum vbd_status status;

	api->refused = api->turned_away = ration;
	api->refused.summary = log_more_refused;
	api->turned_away.summary = log_more_turned_away;
	status = vbd_ration_init(&api->refused, api->daemon->loop, err);
	if (status == VBD_OK)
		status = vbd_ration_init(&api->turned_away, api->daemon->loop, err);
	if (status == VBD_OK)
		status = vbd_audit_init(api, err);
	return status;
}

static struct vbd_server_config make_server_config(
	struct vbd_api *api, const struct vbd_server_socket *sockets, size_t count)
{
	const struct vbd_config *config = api->daemon->config;
	const unsigned int seats = (unsigned int)vbd_descriptors_for_http(config);
	struct vbd_server_config server = vbd_server_config_default();

	for (size_t i = 0; i < config->allowed_hosts_count; i++)
		api->allowed_hosts[i] = config->allowed_hosts[i];
	memcpy(server.sockets, sockets, count * sizeof(sockets[0]));
	server.sockets_count = count;
	server.tls = config->tls.certificate[0] ? &config->tls : NULL;
	server.limits.seats = seats;
	server.limits.seats_per_source = seats / 2;
	server.limits.waiting = seats / 2;
	server.limits.feeds = seats / 4;
	server.on_turned_away = log_client_turned_away;
	server.dispatch.router = api->router;
	server.dispatch.json_max_bytes = &config->limits.http_body_bytes;
	server.dispatch.idem_max = IDEMPOTENCY_KEYS_MAX;
	server.dispatch.keeper = api->daemon->keeper;
	server.dispatch.server_id = api->daemon->server_id;
	server.dispatch.turns = &api->daemon->turns;
	server.dispatch.await = await_for_repeat;
	server.dispatch.context = api;
	server.dispatch.on_refused = log_refused_request;
	server.dispatch.on_audited = vbd_audit_request;
	server.dispatch.auth = (struct vbd_auth_rules){
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
	vbd_streams_init(&api->streams);
	api->router = vbd_routes();
	status = init_rations(api, err);
	if (!status)
		status = vbd_credentials_create(&daemon->callers, callers, &api->credentials, err);
	if (!status) {
		vbd_credentials_use(api->credentials, NULL);
		config = make_server_config(api, sockets, count);
		status = vbd_server_create(daemon->loop, &config, &api->server, err);
	}
	if (status) {
		vbd_api_destroy(api);
		return status;
	}
	vbd_keeper_encode_with(daemon, vbd_record_encode);
	*ret_api = api;
	return VBD_OK;
}

/* --- kept objects ---------------------------------------------------------------------------- */

void vbd_api_keep(struct vbd_api *api, const struct vbd_config_specs *specs)
{
	vbd_keep_use(api->daemon, specs);
	vbd_keep_begin(api->daemon);
}

void vbd_api_use_specs(struct vbd_api *api, const struct vbd_config_specs *specs)
{
	vbd_keep_use(api->daemon, specs);
}

enum vbd_status vbd_api_check_specs(const struct vbd_config_specs *specs, struct vbd_error *err)
{
	return vbd_keep_check(specs, err);
}

/* --- reload ---------------------------------------------------------------------------------- */

void vbd_api_on_reload(
	struct vbd_api *api, enum vbd_status (*reload)(void *arg, struct vbd_error *err), void *arg)
{
	api->reload = reload;
	api->reload_arg = arg;
}

enum vbd_status vbd_api_use_callers(
	struct vbd_api *api, struct vbd_caller_list *callers, struct vbd_error *err)
{
	struct vbd_credentials *before = api->credentials;
	enum vbd_status status =
		vbd_credentials_create(&api->daemon->callers, callers, &api->credentials, err);

	if (status)
		return status;
	vbd_credentials_use(api->credentials, before);
	vbd_server_set_credentials(api->server, api->credentials);
	api->former = before;
	return VBD_OK;
}

void vbd_api_use_tls(struct vbd_api *api, struct vbd_tls *tls)
{
	vbd_server_set_tls(api->server, tls);
}

void vbd_api_reloaded(
	struct vbd_api *api, const struct vbd_config_changes *changes, const struct vbd_error *err)
{
	struct vbd_event event = {
		.type = VBD_EVENT_DAEMON_RELOADED, .severity = VBD_SEVERITY_NOTICE};

	if (err->status) {
		event.type = VBD_EVENT_RELOAD_FAILED;
		event.severity = VBD_SEVERITY_ERROR;
		event.words[VBD_EVENT_CODE] = vbd_status_code(err->status);
		(void)vbd_eventlog_append(
			api->daemon->eventlog, &event, "nothing has changed: %s", err->text);
	} else {
		(void)vbd_eventlog_append(api->daemon->eventlog, &event,
			"%zu keys have changed, %zu more need a restart; callers: %zu added, %zu "
			"changed, %zu removed",
			changes->n_taken, changes->n_left,
			vbd_reload_callers(api, VBD_CALLER_ADDED, NULL),
			vbd_reload_callers(api, VBD_CALLER_CHANGED, NULL),
			vbd_reload_callers(api, VBD_CALLER_REMOVED, NULL));
	}
	vbd_reload_answer(api, changes, err);
	vbd_credentials_destroy(api->former);
	api->former = NULL;
}

/* --- the end --------------------------------------------------------------------------------- */

void vbd_api_stop(struct vbd_api *api, uint64_t grace_ms, void (*stopped)(void *arg), void *arg)
{
	vbd_server_stop(api->server, grace_ms, stopped, arg);
}

void vbd_api_destroy(struct vbd_api *api)
{
	if (!api)
		return;
	vbd_keeper_encode_with(api->daemon, NULL);
	vbd_server_destroy(api->server);
	vbd_turns_drop(&api->streams.steps);
	vbd_event_texts_fini(&api->event_texts);
	free(api->stats.bytes);
	vbd_ration_fini(&api->refused);
	vbd_ration_fini(&api->turned_away);
	vbd_ration_fini(&api->failures);
	vbd_credentials_destroy(api->credentials);
	vbd_credentials_destroy(api->former);
	free(api);
}
