/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Health, index, contract, stats.
 */
#include "api/http/server.h"
#include "api/json/decode.h"
#include "api/json/encode.h"
#include "api/resources/api_stats.h"
#include "api/resources/context.h"
#include "api/resources/handlers.h"
#include "base/clock.h"
#include "daemon/core/devices.h"
#include "daemon/observe/health.h"
#include "daemon/observe/kernel.h"
#include "daemon/observe/stats.h"
#include "daemon/store/keeper.h"
#include "api/http/request.h"
#include "daemon/core/quota.h"

/* api/resources/openapi_embed.S */
extern const char vbd_openapi_start[], vbd_openapi_end[];
extern const char vbd_extra_start[], vbd_extra_end[];

/* --- health ---------------------------------------------------------------------------------- */

#define CHECKS_MAX 8

enum health_status {
	HEALTH_OK,
	HEALTH_DEGRADED, /* something is amiss, and all requests are served all the same */
	HEALTH_FAILING,
};

static const char *const health_names[] = {
	[HEALTH_OK] = "ok", [HEALTH_DEGRADED] = "degraded", [HEALTH_FAILING] = "failing"};

struct health {
	struct check {
		const char *name;
		enum health_status status;
		char detail[160];
	} checks[CHECKS_MAX];
	size_t n_checks;
	enum health_status status; /* of the worst check */
};

static void add_check(
	struct health *health, const char *name, enum health_status status, const char *detail)
{
	struct check *check = &health->checks[health->n_checks++];

	check->name = name;
	check->status = status;
	vbd_copy_text(check->detail, sizeof(check->detail), detail);
	if (status > health->status)
		health->status = status;
}

static void check(struct health *health, const char *name, bool well, const char *detail)
{
	add_check(health, name, well ? HEALTH_OK : HEALTH_FAILING, detail);
}

static void put_checks(struct vbd_encoder *out, const char *name, const struct health *health)
{
	vbd_begin_array(out, name);
	for (size_t i = 0; i < health->n_checks; i++) {
		const struct check *check = &health->checks[i];

		vbd_begin_object(out, NULL);
		vbd_put_text(out, "name", check->name);
		vbd_put_text(out, "status", health_names[check->status]);
		vbd_put_text(out, "detail", check->detail);
		vbd_end(out);
	}
	vbd_end(out);
}

static void reply_health(struct vbd_request *req, const struct health *health)
{
	static const char *const values[] = {"", "1", "true"};
	struct vbd_encoder out;
	struct vbd_error err = {0};
	size_t verbose = VBD_ARRAY_LEN(values);

	if (vbd_query_enum(req, "verbose", values, VBD_ARRAY_LEN(values), &verbose, &err) !=
		VBD_OK) {
		vbd_reply_problem(req, &err);
		return;
	}
	out = vbd_encode_begin();
	vbd_put_text(&out, "status", health_names[health->status]);
	if (verbose < VBD_ARRAY_LEN(values))
		put_checks(&out, "checks", health);
	if (health->status == HEALTH_FAILING)
		vbd_request_add_retry_after(req, vbd_status_retry_after_s(VBD_E_NO_DEVICE));
	vbd_reply_json(req, health->status == HEALTH_FAILING ? 503 : 200, &out);
}

void vbd_get_livez(struct vbd_request *req)
{
	struct health health = {.n_checks = 0};
	char detail[80];
	bool well;

	check(&health, "loop", true, "the control loop is running");
	well = vbd_health_workers(vbd_request_daemon(req), detail, sizeof(detail));
	check(&health, "workers", well, detail);
	reply_health(req, &health);
}

void vbd_get_readyz(struct vbd_request *req)
{
	const struct vbd_daemon *daemon = vbd_request_daemon(req);
	struct health health = {.n_checks = 0};
	char detail[160];
	bool well;

	well = vbd_ready_device(daemon, detail, sizeof(detail));
	check(&health, "device", well, detail);
	well = vbd_ready_port(daemon, detail, sizeof(detail));
	check(&health, "port", well, detail);
	well = vbd_ready_cm(daemon, detail, sizeof(detail));
	check(&health, "rdma_cm", well, detail);
	well = vbd_health_pool(daemon, detail, sizeof(detail));
	check(&health, "thread_pool", well, detail);
	well = vbd_keeper_check(daemon, detail, sizeof(detail)) <= VBD_KEEPING_OK;
	add_check(&health, "store", well ? HEALTH_OK : HEALTH_DEGRADED, detail);
	check(&health, "draining", daemon->drain.state == VBD_DRAIN_SERVING,
		daemon->drain.state == VBD_DRAIN_SERVING
			? "the daemon begins what it is asked to"
			: "the daemon drains, and begins nothing new");
	if (daemon->config->fault_injection)
		add_check(&health, "fault_injection", HEALTH_DEGRADED,
			"clients may have things go wrong: this verbsd is for tests");
	check(&health, "stopping", !daemon->stopping,
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

/* --- stats ----------------------------------------------------------------------------------- */

#define SNAPSHOT_MS 3000

static bool is_taken(const void *daemon, uint64_t number)
{
	return vbd_kernel_snapshots_taken(daemon) >= number;
}

void vbd_await_snapshot(struct vbd_request *req, uint64_t number, vbd_request_cb go_on, void *arg)
{
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	const struct vbd_wait wait = {.is_over = is_taken,
		.on = daemon,
		.number = number,
		.watches = vbd_kernel_watches(daemon),
		.most_ms = SNAPSHOT_MS};

	if (vbd_request_wait(req, &wait, go_on, arg, NULL) != VBD_OK)
		go_on(req, arg);
}

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
		vbd_request_add_header(req, "ETag", text->tag);
	}
	vbd_reply_text(req, "application/json", copy, text->len_bytes);
}

void vbd_get_stats(struct vbd_request *req)
{
	struct vbd_daemon *daemon = vbd_request_daemon(req);
	uint64_t snapshot = vbd_kernel_snapshot_begin(daemon, true);

	vbd_await_snapshot(req, snapshot, reply_stats, (void *)(uintptr_t)snapshot);
}

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
