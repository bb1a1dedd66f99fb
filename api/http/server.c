/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/server.h"

#include "api/http/server_parts.h"

#include <gnutls/abstract.h>
#include <microhttpd.h>

/* Since 1.0, MHD refuses folded lines, a lone LF and NUL if it is strict. Before, it is strict only
 * about a missing Host and spaces in the target, which verbsd refuses with a problem. */
#if MHD_VERSION >= 0x01000000
#define STRICTNESS MHD_OPTION_CLIENT_DISCIPLINE_LVL, 1
/* Without this flag of 1.0, MHD_add_connection() only queues the client. */
#define ONE_THREAD MHD_USE_NO_THREAD_SAFETY
#else
#define STRICTNESS MHD_OPTION_STRICT_FOR_CLIENT, 0
#define ONE_THREAD 0
#endif
/* MHD's own limit, which is never reached: there are fewer seats. */
#define CLIENTS_MAX 131072u

/* --- libmicrohttpd's callbacks --------------------------------------------------------------- */

static struct vbd_client *client_of(struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

/* Called with the request line before it is decoded. MHD passes the result to later callbacks. */
static void *on_raw_target(void *arg, const char *target, struct MHD_Connection *mhd)
{
	struct vbd_client *client = client_of(mhd);

	(void)arg;
	return client && target ? vbd_exchange_create(client, mhd, target) : NULL;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *mhd, const char *url,
	const char *method, const char *version, const char *upload, size_t *upload_bytes,
	void **request_context)
{
	struct vbd_exchange *exchange = *request_context;
	size_t len_bytes = *upload_bytes;

	(void)arg;
	(void)mhd;
	(void)url; /* unused: MHD's decoding is too lenient; on_raw_target() kept the raw target */
	*upload_bytes = 0;
	if (!exchange)
		return MHD_NO;
	return vbd_exchange_go_on(exchange, method, version, upload, len_bytes) ? MHD_YES : MHD_NO;
}

static void on_request_completed(void *arg, struct MHD_Connection *mhd, void **request_context,
	enum MHD_RequestTerminationCode why)
{
	struct vbd_exchange *exchange = *request_context;

	(void)arg;
	(void)mhd;
	*request_context = NULL;
	if (exchange && why == MHD_REQUEST_TERMINATED_WITH_ERROR)
		vbd_exchange_fail(exchange);
	if (exchange)
		vbd_exchange_destroy(exchange);
}

static void on_connection(void *arg, struct MHD_Connection *mhd, void **socket_context,
	enum MHD_ConnectionNotificationCode what)
{
	struct vbd_server_endpoint *endpoint = arg;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		*socket_context = endpoint->arriving;
		if (endpoint->arriving)
			endpoint->arriving->mhd = mhd;
		if (endpoint->arriving && endpoint->tls)
			vbd_client_tls_begin(endpoint->arriving, mhd);
		endpoint->arriving = NULL;
	} else if (*socket_context) {
		vbd_client_destroy(*socket_context);
		*socket_context = NULL;
	}
}

/* --- start and stop -------------------------------------------------------------------------- */

static void VBD_PRINTF(2, 0) on_mhd_log(void *arg, const char *fmt, va_list ap)
{
	char text[240];

	if (strncmp(fmt, "Error processing request", 24) == 0)
		vbd_server_suspect(arg);
	if (!vbd_log_enabled(VBD_LOG_DEBUG))
		return;
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	text[strcspn(text, "\n")] = '\0';
	vbd_log(VBD_LOG_DEBUG, "http", "libmicrohttpd: %s", text);
}

static void on_mhd_panic(void *arg, const char *file, unsigned int line, const char *reason)
{
	(void)arg;
	vbd_log(VBD_LOG_ERROR, "http", "libmicrohttpd gave up: %s (%s:%u)",
		reason ? reason : "no reason given", file, line);
	vbd_log_stop(VBD_LOG_GRACE_MS);
	abort(); /* MHD's state is invalid, and MHD expects this function not to return */
}

static int find_no_certificate(gnutls_session_t session, const gnutls_datum_t *ca_names,
	int n_ca_names, const gnutls_pk_algorithm_t *algorithms, int n_algorithms,
	gnutls_pcert_st **ret_certificates, unsigned int *ret_count, gnutls_privkey_t *ret_key)
{
	(void)session;
	(void)ca_names;
	(void)n_ca_names;
	(void)algorithms;
	(void)n_algorithms;
	(void)ret_certificates;
	(void)ret_count;
	(void)ret_key;
	return -1;
}

/* MHD needs a callback or files, but vbd_tls_peer_begin() replaces its credentials. */
static struct MHD_OptionItem tls_options[] = {
	{MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)(intptr_t)find_no_certificate},
	{MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)VBD_TLS_PRIORITIES},
	{MHD_OPTION_END, 0, NULL},
};
static struct MHD_OptionItem no_options[] = {{MHD_OPTION_END, 0, NULL}};

static enum vbd_status endpoint_start(struct vbd_server_endpoint *endpoint,
	struct vbd_server *server, const struct vbd_server_socket *socket, struct vbd_error *err)
{
	const union MHD_DaemonInfo *info;
	enum vbd_status status;

	endpoint->server = server;
	endpoint->listen_fd = socket->fd;
	endpoint->is_unix = socket->is_unix;
	endpoint->tls = socket->tls;
	status = vbd_timer_create(
		server->loop, vbd_server_on_timer, endpoint, &endpoint->timer, err);
	if (status != VBD_OK)
		return status;
	/* The logger must be the first option: MHD logs errors of earlier options to stderr. */
	endpoint->mhd = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET |
						 MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
						 ONE_THREAD | (socket->tls ? MHD_USE_TLS : 0),
		0, NULL, NULL, on_request, server, MHD_OPTION_EXTERNAL_LOGGER, on_mhd_log, endpoint,
		MHD_OPTION_CONNECTION_LIMIT, CLIENTS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)VBD_CLIENT_MEMORY_BYTES, STRICTNESS, MHD_OPTION_URI_LOG_CALLBACK,
		on_raw_target, server, MHD_OPTION_NOTIFY_COMPLETED, on_request_completed, server,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, endpoint, MHD_OPTION_ARRAY,
		socket->tls ? tls_options : no_options, MHD_OPTION_END);
	if (!endpoint->mhd)
		return vbd_error_set(err, VBD_E_INTERNAL, "libmicrohttpd did not start");
	info = MHD_get_daemon_info(endpoint->mhd, MHD_DAEMON_INFO_EPOLL_FD);
	if (!info)
		return vbd_error_set(err, VBD_E_INTERNAL, "libmicrohttpd has no epoll descriptor");
	status = vbd_fd_watch_start(server->loop, info->epoll_fd, VBD_FD_READ, vbd_server_on_ready,
		endpoint, &endpoint->watch, err);
	if (status == VBD_OK)
		status = vbd_server_accept_start(endpoint, err);
	if (status == VBD_OK)
		vbd_server_run_soon(endpoint);
	return status;
}

/* @keep_socket: do not close the listening socket, which the caller owns again. */
static void endpoint_stop(struct vbd_server_endpoint *endpoint, bool keep_socket)
{
	vbd_server_accept_stop(endpoint, keep_socket);
	vbd_fd_watch_stop(endpoint->watch);
	endpoint->watch = NULL;
	if (endpoint->mhd)
		MHD_stop_daemon(endpoint->mhd);
	endpoint->mhd = NULL;
	vbd_timer_destroy(endpoint->timer);
	endpoint->timer = NULL;
}

struct vbd_server_config vbd_server_config_default(void)
{
	return (struct vbd_server_config){
		.limits.reserve = VBD_SERVER_RESERVE,
		.header_timeout_ms = 10000,
		.progress_timeout_ms = 30000,
		.answer_timeout_ms = 300000,
		.idle_timeout_ms = 75000,
		.stranger_timeout_ms = 5000,
	};
}

static void on_stop_timer(void *arg);

static void on_expiry(void *arg)
{
	vbd_server_recheck(arg);
}

static enum vbd_status start_server(struct vbd_server *server, struct vbd_error *err)
{
	const struct vbd_server_config *config = &server->config;
	enum vbd_status status;

	server->dispatch = vbd_dispatch_create(&config->dispatch);
	server->admission = vbd_admission_create(&config->limits);
	if (!server->dispatch || !server->admission)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the HTTP server");
	status = vbd_timer_create(server->loop, on_stop_timer, server, &server->stop_timer, err);
	if (status == VBD_OK)
		status = vbd_timer_create(server->loop, on_expiry, server, &server->expiry, err);
	if (status == VBD_OK && config->tls)
		status = vbd_tls_load(config->tls, &server->tls, err);
	server->config.tls = NULL;
	for (size_t i = 0; i < config->sockets_count && status == VBD_OK; i++)
		status = endpoint_start(&server->endpoints[i], server, &config->sockets[i], err);
	return status;
}

static void free_server(struct vbd_server *server, bool keep_sockets)
{
	for (size_t i = 0; i < VBD_ARRAY_LEN(server->endpoints); i++)
		endpoint_stop(&server->endpoints[i], keep_sockets);
	vbd_server_accept_fini(server);
	vbd_admission_destroy(server->admission);
	vbd_timer_destroy(server->stop_timer);
	vbd_timer_destroy(server->expiry);
	vbd_linger_end(&server->linger);
	vbd_dispatch_destroy(server->dispatch);
	vbd_tls_unref(server->tls);
	vbd_durations_fini(&server->stats.durations);
	free(server);
}

enum vbd_status vbd_server_create(struct vbd_loop *loop, const struct vbd_server_config *config,
	struct vbd_server **ret_server, struct vbd_error *err)
{
	struct vbd_server *server = calloc(1, sizeof(*server));
	enum vbd_status status;

	if (!server)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the HTTP server");
	MHD_set_panic_func(on_mhd_panic, NULL);
	server->loop = loop;
	server->config = *config;
	for (size_t i = 0; i < VBD_ARRAY_LEN(server->endpoints); i++) {
		server->endpoints[i].listen_fd = -1;
		vbd_list_init(&server->endpoints[i].turns);
		vbd_list_init(&server->endpoints[i].suspects);
	}
	vbd_linger_init(&server->linger, loop);
	vbd_list_init(&server->clients);
	vbd_list_init(&server->held);
	status = start_server(server, err);
	if (status != VBD_OK) {
		free_server(server, true);
		return status;
	}
	*ret_server = server;
	return VBD_OK;
}

void vbd_server_set_credentials(
	struct vbd_server *server, const struct vbd_credentials *credentials)
{
	vbd_dispatch_set_credentials(server->dispatch, credentials);
	vbd_server_recheck(server);
}

static void on_stop_timer(void *arg)
{
	struct vbd_server *server = arg;
	void (*stopped)(void *arg) = server->stopped;

	server->stopped = NULL;
	if (stopped)
		stopped(server->stopped_arg);
}

void vbd_server_stop(
	struct vbd_server *server, uint64_t grace_ms, void (*stopped)(void *arg), void *arg)
{
	if (server->stopping)
		return;
	server->stopping = true;
	server->stopped = stopped;
	server->stopped_arg = arg;
	for (size_t i = 0; i < VBD_ARRAY_LEN(server->endpoints); i++)
		vbd_server_accept_stop(&server->endpoints[i], false);
	vbd_server_end_held(server);
	vbd_server_cut(server, false);
	vbd_timer_set(server->stop_timer, vbd_list_empty(&server->clients) ? 0 : grace_ms);
}

void vbd_server_destroy(struct vbd_server *server)
{
	if (!server)
		return;
	vbd_server_end_held(server);
	vbd_server_cut(server, true); /* MHD_stop_daemon() aborts if a handshake is suspended */
	free_server(server, false);
}

void vbd_server_set_tls(struct vbd_server *server, struct vbd_tls *tls)
{
	vbd_tls_unref(server->tls);
	server->tls = tls;
}

const struct vbd_server_stats *vbd_server_stats(struct vbd_server *server)
{
	server->stats.parked = vbd_share_count(server->admission, VBD_SHARE_WAITING);
	server->stats.feeds = vbd_share_count(server->admission, VBD_SHARE_FEEDS);
	server->stats.idempotency_keys = vbd_dispatch_idempotency_keys(server->dispatch);
	return &server->stats;
}
