/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/copies/copy.h"
#include "daemon/daemon.h"

#include "base/clock.h"
#include "daemon/connections/connections.h"
#include "daemon/connections/listeners.h"
#include "daemon/core/object.h"
#include "daemon/core/traces.h"
#include "daemon/datagrams/endpoints.h"
#include "daemon/drain.h"
#include "daemon/kept/reconciler.h"
#include "daemon/memory/windows.h"
#include "daemon/observe/audit.h"
#include "daemon/observe/explain.h"
#include "daemon/observe/health.h"
#include "daemon/observe/kernel.h"
#include "daemon/observe/report.h"
#include "daemon/sdnotify.h"
#include "daemon/store/keeper.h"
#include "rdma/device/calls.h"
#include "rdma/fabric/fabric.h"

#include <sys/random.h>

/* Room in the registries for ended objects that are freed only at the end of the turn. */
#define REAP_SLACK 1024

/* No more than so many are destroyed one by one when the process ends. */
#define CONNECTIONS_TO_DESTROY 64

/* 1 / KERNEL_PART of shutdown_timeout_ms is for the kernel to destroy more of them: that takes a
 * third of the time of their disconnects and drains (docs/internals/performance.md). */
#define KERNEL_PART 4

static enum vbd_status make_server_id(struct vbd_daemon *daemon, struct vbd_error *err)
{
	uint64_t id;

	if (getrandom(&id, sizeof(id), 0) != (ssize_t)sizeof(id))
		return vbd_error_errno(err, VBD_E_INTERNAL, "getrandom", errno, "no server id");
	(void)snprintf(
		daemon->server_id, sizeof(daemon->server_id), "%016llx", (unsigned long long)id);
	return VBD_OK;
}

static void make_registry(struct vbd_daemon *daemon, struct vbd_registry *registry,
	const struct vbd_kind *kind, uint64_t kept)
{
	registry->daemon = daemon;
	registry->kind = kind;
	registry->kept = kept;
}

static void make_registries(struct vbd_daemon *daemon)
{
	const struct vbd_config *config = daemon->config;

#define MAKE_REGISTRY(sym, singular, plural, open, kept)              \
	daemon->plural = &daemon->registries[VBD_KIND_##sym];         \
	vbd_registry_init(daemon->plural, #singular, #plural, #open); \
	make_registry(daemon, daemon->plural, &vbd_##singular##_kind, kept);
	VBD_KIND_MAP(MAKE_REGISTRY)
#undef MAKE_REGISTRY
	vbd_daemon_use_limits(daemon);
}

void vbd_daemon_use_limits(struct vbd_daemon *daemon)
{
	const struct vbd_config *config = daemon->config;

#define USE_LIMIT(sym, singular, plural, open, kept) \
	daemon->plural->limit =                      \
		config->limits.open + ((kept) == VBD_KEPT_WITHIN ? 0 : (kept) + REAP_SLACK);
	VBD_KIND_MAP(USE_LIMIT)
#undef USE_LIMIT
}

static void on_stop_check(struct vbd_deferred *deferred);
static void on_stop_timeout(void *arg);

static enum vbd_status make_loop_and_eventlog(struct vbd_daemon *daemon, struct vbd_error *err)
{
	enum vbd_status status = make_server_id(daemon, err);

	if (!status)
		status = vbd_audit_create(daemon->config->audit_file, &daemon->audit, err);
	if (!status)
		status = vbd_loop_create(&daemon->loop, err);
	if (!status)
		status = vbd_turns_init(&daemon->turns, daemon->loop, err);
	if (!status)
		status =
			vbd_eventlog_create(daemon->config->records.events, &daemon->eventlog, err);
	if (!status)
		status = vbd_timer_create(
			daemon->loop, on_stop_timeout, daemon, &daemon->stop_timer, err);
	return status;
}

/* The steps of vbd_daemon_create(), in this order. */
static enum vbd_status (*const makers[])(struct vbd_daemon *daemon, struct vbd_error *err) = {
	make_loop_and_eventlog,
	vbd_keeper_create,
	vbd_keeper_begin,
	vbd_kernel_create,
	vbd_traces_create,
	vbd_drain_create,
	vbd_reconciler_create,
	vbd_hotplug_create,
	vbd_health_create,
};

enum vbd_status vbd_daemon_create(
	const struct vbd_config *config, struct vbd_daemon **ret_daemon, struct vbd_error *err)
{
	struct vbd_daemon *daemon = calloc(1, sizeof(*daemon));
	enum vbd_status status = VBD_OK;

	if (!daemon)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the daemon");
	daemon->config = config;
	daemon->started_ns = vbd_clock_mono_ns();
	vbd_callers_init(&daemon->callers);
	daemon->connection_left = vbd_windows_connection_left;
	daemon->connection_failed = vbd_evidence_keep;
	daemon->files_requested = vbd_copy_serve;
	vbd_deferred_init(&daemon->stop_check, on_stop_check);
	vbd_list_init(&daemon->device_watches);
	vbd_list_init(&daemon->id_watches);
	vbd_list_init(&daemon->kept_inboxes);
	vbd_connection_queue_init(daemon);
	vbd_list_init(&daemon->unrecorded);
	make_registries(daemon);
	for (size_t i = 0; i < VBD_ARRAY_LEN(makers) && !status; i++)
		status = makers[i](daemon, err);
	if (status)
		vbd_daemon_destroy(daemon);
	else
		*ret_daemon = daemon;
	return status;
}

void vbd_daemon_take_held(struct vbd_daemon *daemon)
{
	struct vbd_holder *holder = &daemon->reconciler->holder;

	vbd_holder_use(holder, vbd_sdnotify_store_max());
	vbd_sdnotify_stored(vbd_holder_found, holder);
}

void vbd_daemon_announce(struct vbd_daemon *daemon)
{
	size_t count;
	const char *died = vbd_keeper_died(daemon, &count);
	char deaths[64] = "";

	if (daemon->config->fault_injection)
		vbd_log(VBD_LOG_WARNING, NULL,
			"fault_injection: callers with the control role may have things go wrong; "
			"this is for machines for tests");
	if (count)
		(void)snprintf(deaths, sizeof(deaths), "; %zu open objects ended with it", count);
	(void)vbd_eventlog_append(daemon->eventlog,
		&(const struct vbd_event){
			.type = VBD_EVENT_DAEMON_STARTED, .severity = VBD_SEVERITY_NOTICE},
		"server %s%s%s%s%s", daemon->server_id, died ? "; the run before, " : "",
		died ? died : "", died ? ", was killed" : "", deaths);
}

bool vbd_daemon_is_drained(const struct vbd_daemon *daemon)
{
	return daemon->connections->open == 0 && daemon->ud_endpoints->open == 0 &&
	       daemon->transfers->open == 0 && daemon->probes->open == 0 &&
	       daemon->pool_jobs == 0 && daemon->fabric->calls->under_way == 0;
}

static void call_stopped(struct vbd_daemon *daemon)
{
	void (*stopped)(void *arg) = daemon->stopped;

	daemon->stopped = NULL;
	vbd_timer_clear(daemon->stop_timer);
	if (stopped)
		stopped(daemon->stopped_arg);
}

static void close_all_objects(struct vbd_daemon *daemon)
{
	daemon->closing = true;
	vbd_farewell_begin(daemon);
	vbd_connections_close_all(daemon);
	vbd_windows_close_all(daemon);
	vbd_endpoints_close_all(daemon);
	vbd_daemon_check_stop(daemon);
}

static void continue_stop(struct vbd_daemon *daemon)
{
	if (!daemon->closing && daemon->drain.state == VBD_DRAIN_DRAINED)
		close_all_objects(daemon);
	else if (daemon->closing && vbd_daemon_is_drained(daemon))
		call_stopped(daemon);
}

static void on_stop_check(struct vbd_deferred *deferred)
{
	struct vbd_daemon *daemon = VBD_CONTAINER_OF(deferred, struct vbd_daemon, stop_check);

	vbd_drain_check(daemon);
	if (daemon->stopping)
		continue_stop(daemon);
}

uint64_t vbd_daemon_stop_time_ms(const struct vbd_daemon *daemon)
{
	uint64_t all_ms = daemon->config->shutdown_timeout_ms;

	return daemon->fabric->exits ? all_ms - all_ms / KERNEL_PART : all_ms;
}

static void on_stop_timeout(void *arg)
{
	struct vbd_daemon *daemon = arg;

	vbd_log(VBD_LOG_ERROR, NULL,
		"%u connections, %u endpoints, %u transfers and %u calls of the kernel did not end "
		"in %llu ms",
		daemon->connections->open, daemon->ud_endpoints->open, daemon->transfers->open,
		daemon->fabric->calls->under_way,
		(unsigned long long)vbd_daemon_stop_time_ms(daemon));
	call_stopped(daemon);
}

/* The part of shutdown_timeout_ms for transfers; the rest is for the end of the connections. */
static uint64_t time_for_transfers_ms(const struct vbd_config *config)
{
	uint64_t rest_ms = config->shutdown_timeout_ms - config->drain_timeout_ms;

	return rest_ms > 1 ? rest_ms / 2 : 1;
}

void vbd_daemon_stop(struct vbd_daemon *daemon, void (*stopped)(void *arg), void *arg)
{
	if (daemon->stopping)
		return;
	daemon->stopping = true;
	daemon->stopped = stopped;
	daemon->stopped_arg = arg;
	(void)vbd_eventlog_append(daemon->eventlog,
		&(const struct vbd_event){.type = VBD_EVENT_DAEMON_STOPPING,
			.severity = VBD_SEVERITY_NOTICE,
			.words[VBD_EVENT_CODE] = vbd_status_code(VBD_E_STOPPING)},
		"%u connections, %u endpoints, %u transfers under way", daemon->connections->open,
		daemon->ud_endpoints->open, daemon->transfers->open);
	vbd_timer_set(daemon->stop_timer, vbd_daemon_stop_time_ms(daemon));
	vbd_listeners_close_all(daemon);
	vbd_drain_begin(daemon, time_for_transfers_ms(daemon->config));
	continue_stop(daemon);
}

void vbd_daemon_exits(struct vbd_daemon *daemon)
{
	daemon->fabric->exits = daemon->connections->open > CONNECTIONS_TO_DESTROY;
}

bool vbd_daemon_leaves(const struct vbd_daemon *daemon)
{
	return daemon->fabric->left_to_kernel || daemon->farewell_hangs;
}

void vbd_daemon_destroy(struct vbd_daemon *daemon)
{
	if (!daemon)
		return;
	if (daemon->hotplug) {
		vbd_listeners_close_all(daemon);
		for (size_t i = 0; i < VBD_ARRAY_LEN(daemon->registries); i++)
			vbd_objects_free(&daemon->registries[i]);
		vbd_hotplug_destroy(daemon);
	}
	vbd_keeper_destroy(daemon);
	vbd_timer_destroy(daemon->stop_timer);
	vbd_reconciler_destroy(daemon->reconciler);
	vbd_drain_destroy(daemon);
	vbd_turns_fini(&daemon->turns);
	vbd_loop_destroy(daemon->loop);
	vbd_kernel_destroy(daemon);
	vbd_traces_destroy(daemon);
	vbd_health_destroy(daemon);
	vbd_eventlog_destroy(daemon->eventlog);
	vbd_audit_destroy(daemon->audit);
	for (size_t i = 0; i < VBD_ARRAY_LEN(daemon->registries); i++) {
		vbd_records_fini(&daemon->registries[i]);
		vbd_registry_fini(&daemon->registries[i]);
	}
	free(daemon);
}
