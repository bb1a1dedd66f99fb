/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verbsd as a whole: health, index, contract, caller, draining, reloading, dashboard.
 */
#include "api/core/context.h"
#include "api/core/handlers.h"
#include "api/http/waiter.h"
#include "api/json/decode.h"
#include "api/json/writer.h"
#include "api/web.h"
#include "base/clock.h"
#include "daemon/core/devices.h"
#include "daemon/core/quota.h"
#include "daemon/drain.h"
#include "daemon/observe/health.h"
#include "daemon/store/keeper.h"

/* api/openapi_embed.S */
extern const char vbd_openapi_start[], vbd_openapi_end[];
extern const char vbd_extra_start[], vbd_extra_end[];

/* --- health ---------------------------------------------------------------------------------- */

enum health_status {
	HEALTH_OK,
	HEALTH_DEGRADED, /* something is amiss, and all requests are served all the same */
	HEALTH_FAILING,
};

static const char *const health_names[] = {
	[HEALTH_OK] = "ok", [HEALTH_DEGRADED] = "degraded", [HEALTH_FAILING] = "failing"};

struct health {
	enum health_status status; /* of the worst check */
	struct vbd_encoder checks; /* a document with all of them */
};

static struct health begin_checks(void)
{
	struct health health = {.status = HEALTH_OK, .checks = vbd_encode_begin()};

	vbd_begin_array(&health.checks, "checks");
	return health;
}

static void add_check(
	struct health *health, const char *name, enum health_status status, const char *detail)
{
	vbd_begin_object(&health->checks, NULL);
	vbd_put_text(&health->checks, "name", name);
	vbd_put_text(&health->checks, "status", health_names[status]);
	vbd_put_text(&health->checks, "detail", detail);
	vbd_end(&health->checks);
	if (status > health->status)
		health->status = status;
}

static void add_yes_no_check(struct health *health, const char *name, bool well, const char *detail)
{
	add_check(health, name, well ? HEALTH_OK : HEALTH_FAILING, detail);
}

static void reply_health(struct vbd_request *req, struct health *health)
{
	static const char *const values[] = {"", "1", "true"};
	struct vbd_encoder out;
	size_t verbose = VBD_ARRAY_LEN(values);

	if (vbd_query_enum(req, "verbose", values, VBD_ARRAY_LEN(values), &verbose, &req->err) !=
		VBD_OK) {
		vbd_encode_drop(&health->checks);
		return;
	}
	vbd_end(&health->checks);
	out = vbd_encode_begin();
	vbd_put_text(&out, "status", health_names[health->status]);
	if (verbose < VBD_ARRAY_LEN(values))
		vbd_encode_join(&out, &health->checks);
	vbd_encode_drop(&health->checks);
	if (health->status == HEALTH_FAILING)
		vbd_request_add_retry_after(req, vbd_status_retry_after_s(VBD_E_NO_DEVICE));
	vbd_reply_json(req, health->status == HEALTH_FAILING ? 503 : 200, &out);
}

void vbd_get_livez(struct vbd_request *req)
{
	struct health health = begin_checks();
	char detail[80];
	bool well;

	add_yes_no_check(&health, "loop", true, "the control loop is running");
	well = vbd_health_workers(vbd_request_daemon(req), detail, sizeof(detail));
	add_yes_no_check(&health, "workers", well, detail);
	reply_health(req, &health);
}

void vbd_get_readyz(struct vbd_request *req)
{
	const struct vbd_daemon *daemon = vbd_request_daemon(req);
	struct health health = begin_checks();
	char detail[160];
	bool well;

	well = vbd_ready_device(daemon, detail, sizeof(detail));
	add_yes_no_check(&health, "device", well, detail);
	well = vbd_ready_port(daemon, detail, sizeof(detail));
	add_yes_no_check(&health, "port", well, detail);
	well = vbd_ready_cm(daemon, detail, sizeof(detail));
	add_yes_no_check(&health, "rdma_cm", well, detail);
	well = vbd_health_pool(daemon, detail, sizeof(detail));
	add_yes_no_check(&health, "thread_pool", well, detail);
	well = vbd_keeper_check(daemon, detail, sizeof(detail)) <= VBD_KEEPING_OK;
	add_check(&health, "store", well ? HEALTH_OK : HEALTH_DEGRADED, detail);
	add_yes_no_check(&health, "draining", daemon->drain.state == VBD_DRAIN_SERVING,
		daemon->drain.state == VBD_DRAIN_SERVING
			? "the daemon begins what it is asked to"
			: "the daemon drains, and begins nothing new");
	if (daemon->config->fault_injection)
		add_check(&health, "fault_injection", HEALTH_DEGRADED,
			"clients may have things go wrong: this verbsd is for tests");
	add_yes_no_check(&health, "stopping", !daemon->stopping,
		daemon->stopping ? "the daemon is stopping" : "the daemon is not stopping");
	reply_health(req, &health);
}

/* --- index and contract ---------------------------------------------------------------------- */

static void put_links(struct vbd_encoder *out, const char *name)
{
	vbd_begin_object(out, name);
	static const struct {
		const char *name, *path;
	} links[] = {
		{"contract", "/v1/openapi.yaml"},
		{"caller", "/v1/caller"},
		{"devices", "/v1/devices"},
#define KIND_LINK(sym, singular, plural, open, kept) {#plural, "/v1/" #plural},
		VBD_KIND_MAP(KIND_LINK)
#undef KIND_LINK
			{"events", "/v1/events"},
		{"stats", "/v1/stats"},
		{"metrics", "/metrics"},
		{"livez", "/livez"},
		{"readyz", "/readyz"},
	};

	for (size_t i = 0; i < VBD_ARRAY_LEN(links); i++)
		vbd_put_text(out, links[i].name, links[i].path);
	vbd_end(out);
}

static void put_store(struct vbd_encoder *out, const char *name, const struct vbd_daemon *daemon)
{
	static const char *const statuses[] = {[VBD_KEEPING_NOTHING] = "none",
		[VBD_KEEPING_OK] = "ok",
		[VBD_KEEPING_LESS] = "damaged",
		[VBD_KEEPING_FAILING] = "degraded"};
	char detail[240];
	enum vbd_keeping keeping = vbd_keeper_check(daemon, detail, sizeof(detail));

	vbd_begin_object(out, name);
	vbd_put_text(out, "status", statuses[keeping]);
	vbd_put_text(out, "detail", detail);
	vbd_end(out);
}

static void put_routes(struct vbd_encoder *out, const char *name, const struct vbd_router *router)
{
	vbd_begin_array(out, name);
	for (size_t i = 0; i < router->n_routes; i++) {
		const struct vbd_route *route = &router->routes[i];

		vbd_begin_object(out, NULL);
		vbd_put_text(out, "method", vbd_method_name(route->method));
		vbd_put_text(out, "path", route->pattern);
		vbd_put_text(out, "role", vbd_role_name(route->role));
		vbd_end(out);
	}
	vbd_end(out);
}

void vbd_get_index(struct vbd_request *req)
{
	const struct vbd_api *api = req->context;
	const struct vbd_daemon *daemon = api->daemon;
	struct vbd_encoder out = vbd_encode_begin();
	uint64_t now_ns = vbd_clock_mono_ns();

	vbd_put_text(&out, "service", "verbsd");
	vbd_put_text(&out, "version", VBD_VERSION);
	vbd_put_text(&out, "role", vbd_role_name(req->role));
	vbd_put_text(&out, "caller", req->caller->name);
	vbd_put_text(&out, "server_id", daemon->server_id);
	vbd_put_time(&out, "started_at", daemon->started_ns);
	vbd_put_time(&out, "now", now_ns);
	vbd_put_u64(&out, "uptime_ms", (now_ns - daemon->started_ns) / VBD_NS_PER_MS);
	put_store(&out, "store", daemon);
	vbd_put_bool(&out, "fault_injection", daemon->config->fault_injection);
	put_links(&out, "links");
	put_routes(&out, "routes", &api->router);
	vbd_reply_json(req, 200, &out);
}

void vbd_get_contract(struct vbd_request *req)
{
	vbd_reply_static(req, "application/yaml", vbd_openapi_start,
		(size_t)(vbd_openapi_end - vbd_openapi_start));
}

void vbd_get_extra_contract(struct vbd_request *req)
{
	vbd_reply_static(req, "application/yaml", vbd_extra_start,
		(size_t)(vbd_extra_end - vbd_extra_start));
}

/* --- the caller ------------------------------------------------------------------------------ */

static void put_wall_time(struct vbd_encoder *out, const char *name, uint64_t wall_s)
{
	char text[VBD_TIME_TEXT_BYTES];

	vbd_put_text(out, name, wall_s ? vbd_clock_format_wall(wall_s * VBD_NS_PER_S, text) : NULL);
}

/* Requests are counted for a caller with that quota only. */
static void put_quota(
	struct vbd_encoder *out, const struct vbd_caller *caller, enum vbd_quota quota)
{
	uint64_t max = vbd_quota_max(caller, quota);

	vbd_begin_object(out, vbd_quota_name(quota));
	vbd_put_u64_or_null(out, "limit", max != 0, max);
	vbd_put_u64_or_null(out, "used", max != 0 || quota != VBD_QUOTA_requests_per_s,
		vbd_quota_used(caller, quota, vbd_clock_mono_ns()));
	vbd_end(out);
}

void vbd_get_caller(struct vbd_request *req)
{
	const struct vbd_identity *identity = &req->identity;
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_text(&out, "name", req->caller->name);
	vbd_put_text(&out, "role", vbd_role_name(req->role));
	vbd_put_text(&out, "client", req->client);
	vbd_put_text(&out, "authenticated_by", vbd_auth_means_name(identity->means));
	vbd_put_text(&out, "certificate_name", identity->cert_name);
	put_wall_time(&out, "expires_at", identity->expires_wall_s);
	vbd_begin_object(&out, "quotas");
	for (enum vbd_quota quota = 0; quota < VBD_QUOTA_COUNT; quota++)
		put_quota(&out, req->caller, quota);
	vbd_end(&out);
	vbd_reply_json(req, 200, &out);
}

/* --- draining -------------------------------------------------------------------------------- */

#define DEADLINE_MS_MAX UINT64_C(86400000)

struct drain_create {
	uint64_t deadline_ms; /* 0 if absent */
};

static const struct vbd_field drain_fields[] = {
	{VBD_FIELD(UINT, "deadline_ms", struct drain_create, deadline_ms), .min = 1,
		.max = DEADLINE_MS_MAX},
};

static void reply_drain(struct vbd_request *req)
{
	const struct vbd_daemon *daemon = vbd_request_daemon(req);
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_text(&out, "state", vbd_drain_state_name(daemon->drain.state));
	vbd_put_time(&out, "since", daemon->drain.since_ns);
	vbd_put_time(&out, "deadline_at", daemon->drain.deadline_ns);
	vbd_put_u64(&out, "transfer_count", vbd_drain_transfers(daemon));
	vbd_put_u64(&out, "connection_count", daemon->connections->open);
	vbd_reply_json(req, 200, &out);
}

static void answer_when_drained(struct vbd_waiter *waiter, enum vbd_wake why)
{
	const struct vbd_daemon *daemon = vbd_request_daemon(waiter->req);

	if (why == VBD_WAKE_TIMEOUT || daemon->drain.state != VBD_DRAIN_DRAINING)
		reply_drain(waiter->req);
}

void vbd_get_drain(struct vbd_request *req)
{
	struct vbd_waiter waiter = {.answer = answer_when_drained};

	vbd_waiter_run(&waiter, sizeof(waiter), req, &vbd_request_daemon(req)->drain.watches,
		req->wait_ms);
}

void vbd_post_drain(struct vbd_request *req)
{
	struct drain_create input = {0};
	struct vbd_daemon *daemon = vbd_request_daemon(req);

	if (vbd_request_decode(req, VBD_FIELDS(drain_fields), &input, &req->err) != VBD_OK)
		return;
	vbd_drain_begin(daemon, input.deadline_ms);
	reply_drain(req);
}

void vbd_delete_drain(struct vbd_request *req)
{
	if (vbd_drain_undo(vbd_request_daemon(req), &req->err) == VBD_OK)
		vbd_reply_empty(req, 204);
}

/* --- reloading the configuration ------------------------------------------------------------- */

/* The reload goes on. */
static void on_reload_client_gone(struct vbd_request *req, void *arg)
{
	struct vbd_api *api = arg;

	(void)req;
	api->reload_req = NULL;
}

void vbd_post_reload(struct vbd_request *req)
{
	struct vbd_api *api = req->context;
	struct vbd_error err = {0};

	if (!api->reload)
		(void)vbd_error_set(&req->err, VBD_E_NOT_SUPPORTED, "this verbsd can't reload");
	else if (api->reload_req)
		(void)vbd_error_set(&req->err, VBD_E_WRONG_STATE,
			"another request is reloading the configuration");
	if (req->err.status ||
		vbd_request_park(req, 0, NULL, on_reload_client_gone, api, &req->err) != VBD_OK)
		return;
	api->reload_req = req;
	if (api->reload(api->reload_arg, &err) != VBD_OK)
		vbd_reload_answer(api, NULL, &err);
}

static void put_keys(
	struct vbd_encoder *out, const char *name, const char *const *keys, size_t count)
{
	vbd_begin_array(out, name);
	for (size_t i = 0; i < count; i++)
		vbd_put_text(out, NULL, keys[i]);
	vbd_end(out);
}

size_t vbd_reload_callers(
	const struct vbd_api *api, enum vbd_caller_change change, struct vbd_encoder *out)
{
	const struct vbd_credentials *of =
		change == VBD_CALLER_REMOVED ? api->former : api->credentials;
	const struct vbd_caller *caller;
	size_t count = 0;

	for (size_t i = 0; of && (caller = vbd_credentials_at(of, i)); i++) {
		if (caller->change != change)
			continue;
		count++;
		if (out)
			vbd_put_text(out, NULL, caller->name);
	}
	return count;
}

static void put_changed(struct vbd_encoder *out, const char *name, const struct vbd_api *api,
	enum vbd_caller_change change)
{
	vbd_begin_array(out, name);
	(void)vbd_reload_callers(api, change, out);
	vbd_end(out);
}

void vbd_reload_answer(
	struct vbd_api *api, const struct vbd_config_changes *changes, const struct vbd_error *err)
{
	struct vbd_request *req = api->reload_req;
	struct vbd_encoder out;

	if (!req)
		return;
	api->reload_req = NULL;
	if (err->status) {
		vbd_reply_problem(req, err);
		return;
	}
	out = vbd_encode_begin();
	put_keys(&out, "reloaded", changes->taken, changes->n_taken);
	put_keys(&out, "restart_needed", changes->left, changes->n_left);
	put_changed(&out, "callers_added", api, VBD_CALLER_ADDED);
	put_changed(&out, "callers_changed", api, VBD_CALLER_CHANGED);
	put_changed(&out, "callers_removed", api, VBD_CALLER_REMOVED);
	vbd_reply_json(req, 200, &out);
}

/* --- the dashboard --------------------------------------------------------------------------- */

/* A page and its assets. They need no token, since they contain no data of the daemon; the requests
 * of the page need one. */

/* Allow scripts, styles, fonts and requests of this server only, nothing inline, and no frame. */
#define POLICY                                                                              \
	"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " \
	"object-src 'none'"
#define FOR_EVER "public, max-age=31536000, immutable"

static const struct vbd_web_file *find_file(const char *name)
{
	for (const struct vbd_web_file *file = vbd_web_files; file->name; file++) {
		if (strcmp(file->name, name) == 0)
			return file;
	}
	return NULL;
}

static void reply_file(
	struct vbd_request *req, const struct vbd_web_file *file, const char *cache_control)
{
	vbd_reply_add_header(&req->reply, "Cache-Control", cache_control);
	vbd_reply_add_header(&req->reply, "ETag", file->etag);
	vbd_reply_static(req, file->content_type, file->start, (size_t)(file->end - file->start));
}

void vbd_get_page(struct vbd_request *req)
{
	const struct vbd_web_file *file = find_file(VBD_WEB_PAGE);

	if (!file) {
		(void)vbd_error_set(&req->err, VBD_E_NOT_FOUND,
			"this verbsd was built without the dashboard; the API begins at /v1");
		return;
	}
	vbd_reply_add_header(&req->reply, "Content-Security-Policy", POLICY);
	vbd_reply_add_header(&req->reply, "X-Frame-Options", "DENY");
	vbd_reply_add_header(&req->reply, "Referrer-Policy", "no-referrer");
	/* no-cache: a page of an older daemon would refer to assets that do not exist any more. */
	reply_file(req, file, "no-cache");
}

void vbd_get_asset(struct vbd_request *req)
{
	const struct vbd_web_file *file = find_file(req->ref);

	if (file && strcmp(file->name, VBD_WEB_PAGE) != 0)
		reply_file(req, file, FOR_EVER);
	else
		(void)vbd_error_set(&req->err, VBD_E_NOT_FOUND, "%.128s: no such asset", req->path);
}
