/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The core of the API with some simple routes, for tests that speak raw HTTP to it. Prints its port
 * and serves until SIGTERM, then stops as the daemon does: exit status 0 means that the stop was
 * clean. SIGHUP makes it load the files of TLS again, and print "loaded" or why not. SIGUSR1 stops
 * the process until SIGCONT.
 *
 * Usage: test_server [UNIX_SOCKET_PATH]. TEST_CONTROL_TOKEN and TEST_READ_TOKEN set tokens. With
 * TEST_TLS, a folder, it serves HTTPS too and prints that port behind the first one;
 * TEST_TLS_CLIENTS is the key tls.client_certificate.
 */
#include "api/http/listen.h"
#include "api/http/problem.h"
#include "api/http/server.h"
#include "api/json/writer.h"

#include "tests/unit/credentials.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint64_t json_max_bytes = 262144;

#define SINK_BYTES (64u * 1024 * 1024)

static struct {
	struct vbd_callers callers;
	struct vbd_credentials *credentials;
	struct vbd_loop *loop;
	struct vbd_server *server;
	int signal_fd;
	struct vbd_config config; /* only its part for TLS is used */
	struct vbd_link waiting;  /* a list of struct waiter */
	uint64_t echoes;	  /* calls of the handler of /v1/echo */
	uint64_t left;		  /* waiters whose client has left */
	uint64_t again;		  /* waiters that were parked a second time */
	uint64_t sunk_bytes;
	uint64_t sinks_closed;
	uint64_t turned_away; /* calls of on_turned_away() */
} test;

struct waiter {
	struct vbd_link link;
	struct vbd_request *req;
};

static void reply_text(struct vbd_request *req, const char *name, const char *text)
{
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_text(&out, name, text);
	vbd_reply_json(req, 200, &out);
}

static void get_ping(struct vbd_request *req)
{
	reply_text(req, "role", vbd_role_name(req->role));
}

static void get_stats(struct vbd_request *req)
{
	const struct vbd_server_stats *stats = vbd_server_stats(test.server);
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_u64(&out, "runs", stats->runs);
	vbd_put_u64(&out, "parked", stats->parked);
	vbd_put_u64(&out, "feeds", stats->feeds);
	vbd_put_u64(&out, "too_slow", stats->too_slow);
	vbd_put_u64(&out, "connections_open", stats->connections_open);
	vbd_put_u64(&out, "refused", stats->refused);
	vbd_put_u64(&out, "sent_away", stats->sent_away);
	vbd_put_u64(&out, "turned_away", test.turned_away);
	vbd_put_u64(&out, "left", test.left);
	vbd_put_u64(&out, "again", test.again);
	vbd_put_u64(&out, "echoes", test.echoes);
	vbd_put_u64(&out, "sunk_bytes", test.sunk_bytes);
	vbd_put_u64(&out, "sinks_closed", test.sinks_closed);
	vbd_reply_json(req, 200, &out);
}

static void post_echo(struct vbd_request *req)
{
	struct vbd_encoder out = vbd_encode_begin();

	test.echoes++;
	vbd_request_add_location(req, "echoes", test.echoes);
	vbd_put_u64(&out, "count", test.echoes);
	vbd_reply_json(req, 201, &out);
}

static void free_waiter(struct waiter *waiter)
{
	vbd_list_remove(&waiter->link);
	free(waiter);
}

static void on_wait_gone(struct vbd_request *req, void *arg)
{
	(void)req;
	free_waiter(arg);
	test.left++;
}

/* With `again` the request waits once more, without a deadline. */
static void on_wait_timeout(struct vbd_request *req, void *arg)
{
	struct vbd_error err = {0};

	if (vbd_uri_param(&req->uri, "again") &&
		vbd_request_park(req, 0, NULL, on_wait_gone, arg, &err) == VBD_OK) {
		test.again++;
		return;
	}
	free_waiter(arg);
	reply_text(req, "end", "timeout");
}

static void wait_for_wake(struct vbd_request *req)
{
	struct waiter *waiter = calloc(1, sizeof(*waiter));
	struct vbd_error err = {0};

	vbd_list_init(&waiter->link);
	waiter->req = req;
	if (vbd_request_park(req, req->wait_asked ? req->wait_ms : 60000, on_wait_timeout,
		    on_wait_gone, waiter, &err) != VBD_OK) {
		free(waiter);
		vbd_reply_problem(req, &err);
		return;
	}
	vbd_list_append(&test.waiting, &waiter->link);
}

static void post_wake(struct vbd_request *req)
{
	struct vbd_encoder out = vbd_encode_begin();
	uint64_t count = 0;

	while (!vbd_list_empty(&test.waiting)) {
		struct waiter *waiter = VBD_LIST_FIRST(&test.waiting, struct waiter, link);
		struct vbd_request *waiting = waiter->req;

		free_waiter(waiter);
		reply_text(waiting, "end", "woken");
		count++;
	}
	vbd_put_u64(&out, "woken", count);
	vbd_reply_json(req, 200, &out);
}

static enum vbd_status sink_write(
	void *arg, const void *bytes, size_t len_bytes, struct vbd_error *err)
{
	uint64_t *written = arg;

	(void)bytes;
	*written += len_bytes;
	test.sunk_bytes += len_bytes;
	if (*written > SINK_BYTES)
		return vbd_error_set(err, VBD_E_RANGE_NOT_SATISFIABLE, "the sink is full");
	return VBD_OK;
}

static void sink_close(void *arg)
{
	free(arg);
	test.sinks_closed++;
}

static void open_sink(struct vbd_request *req)
{
	const struct vbd_sink sink = {
		.write = sink_write, .close = sink_close, .arg = calloc(1, sizeof(uint64_t))};

	req->sink = sink;
}

static void put_sink(struct vbd_request *req)
{
	vbd_reply_empty(req, 204);
}

static size_t read_pattern(void *arg, uint64_t offset, char *buf, size_t size)
{
	(void)arg;
	for (size_t i = 0; i < size; i++)
		buf[i] = (char)('a' + (offset + i) % 26);
	return size;
}

static void get_stream(struct vbd_request *req)
{
	struct vbd_reader reader = {.read = read_pattern};
	struct vbd_error err = {0};

	if (vbd_query_u64(req, "bytes", 0, UINT64_C(1) << 40, &reader.length_bytes, &err) != VBD_OK)
		vbd_reply_problem(req, &err);
	else
		vbd_reply_stream(req, 200, &reader);
}

static void get_text(struct vbd_request *req)
{
	struct vbd_error err = {0};
	uint64_t bytes = 0;
	char *text;

	if (vbd_query_u64(req, "bytes", 1, UINT64_C(1) << 30, &bytes, &err) != VBD_OK) {
		vbd_reply_problem(req, &err);
		return;
	}
	text = malloc(bytes);
	if (text)
		(void)read_pattern(NULL, 0, text, bytes);
	vbd_reply_text(req, "text/plain", text, bytes);
}

static size_t read_nothing(void *arg, char *buf, size_t size)
{
	(void)arg;
	(void)buf;
	(void)size;
	return 0;
}

static void free_nothing(void *arg)
{
	(void)arg;
}

static void get_feed(struct vbd_request *req)
{
	const struct vbd_feed feed = {.read = read_nothing, .free = free_nothing};

	vbd_reply_feed(req, "text/event-stream", &feed);
}

static const struct vbd_route routes[] = {
	{.method = VBD_METHOD_GET, .pattern = "/livez", .handler = get_ping},
	{.method = VBD_METHOD_GET,
		.pattern = "/v1/ping",
		.role = VBD_ROLE_READ,
		.query = {"verbose"},
		.handler = get_ping},
	{.method = VBD_METHOD_GET,
		.pattern = "/v1/stats",
		.role = VBD_ROLE_READ,
		.handler = get_stats},
	{.method = VBD_METHOD_POST,
		.pattern = "/v1/echo",
		.role = VBD_ROLE_CONTROL,
		.body = VBD_BODY_JSON,
		.handler = post_echo},
	{.method = VBD_METHOD_POST,
		.pattern = "/v1/things/{ref}/poke",
		.role = VBD_ROLE_CONTROL,
		.body = VBD_BODY_OPTIONAL,
		.handler = post_echo},
	{.method = VBD_METHOD_POST,
		.pattern = "/v1/kick",
		.role = VBD_ROLE_CONTROL,
		.handler = post_echo},
	{.method = VBD_METHOD_GET,
		.pattern = "/v1/wait",
		.role = VBD_ROLE_READ,
		.query = {"wait_ms", "again"},
		.handler = wait_for_wake},
	{.method = VBD_METHOD_POST,
		.pattern = "/v1/wait",
		.role = VBD_ROLE_CONTROL,
		.body = VBD_BODY_OPTIONAL,
		.handler = wait_for_wake},
	{.method = VBD_METHOD_POST,
		.pattern = "/v1/wake",
		.role = VBD_ROLE_CONTROL,
		.handler = post_wake},
	{.method = VBD_METHOD_PUT,
		.pattern = "/v1/sink",
		.role = VBD_ROLE_CONTROL,
		.body = VBD_BODY_STREAM,
		.open = open_sink,
		.handler = put_sink},
	{.method = VBD_METHOD_GET,
		.pattern = "/v1/stream",
		.role = VBD_ROLE_CONTROL,
		.query = {"bytes"},
		.handler = get_stream},
	{.method = VBD_METHOD_GET,
		.pattern = "/v1/text",
		.role = VBD_ROLE_READ,
		.query = {"bytes"},
		.handler = get_text},
	{.method = VBD_METHOD_GET,
		.pattern = "/v1/feed",
		.role = VBD_ROLE_READ,
		.handler = get_feed},
};

static void on_stopped(void *arg)
{
	(void)arg;
	vbd_loop_stop(test.loop);
}

static void stop(void)
{
	vbd_server_stop(test.server, 3000, on_stopped, NULL);
}

static int fail(const struct vbd_error *err)
{
	(void)fprintf(stderr, "test_server: %s\n", err->text);
	return EXIT_FAILURE;
}

static uint32_t from_env(const char *name, uint32_t otherwise)
{
	const char *text = getenv(name);

	return text ? (uint32_t)strtoul(text, NULL, 10) : otherwise;
}

static void set_quota(const char *name, uint32_t streams)
{
	struct vbd_caller *caller = vbd_callers_get(&test.callers, name);

	if (caller)
		caller->quotas.streams = streams;
	vbd_caller_unref(caller);
}

static void on_turned_away(void *context, const char *client, const struct vbd_error *err)
{
	(void)context;
	(void)client;
	(void)err;
	test.turned_away++;
}

/* The loop has this call where it serves descriptors, so that timers are next. */
static void reload(void)
{
	struct vbd_error err = {0};
	struct vbd_tls *tls;

	if (vbd_tls_load(&test.config.tls, &tls, &err) == VBD_OK) {
		vbd_server_set_tls(test.server, tls);
		(void)puts("loaded");
	} else {
		(void)puts(err.text);
	}
	(void)fflush(stdout);
}

static enum vbd_status set_file(
	const char *key, const char *folder, const char *name, bool optional, struct vbd_error *err)
{
	char path[VBD_PATH_MAX_BYTES];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	return optional && access(path, R_OK) < 0 ? VBD_OK
						  : vbd_config_set(&test.config, key, path, err);
}

static enum vbd_status configure_tls(
	struct vbd_server_config *config, const char *folder, struct vbd_error *err)
{
	struct vbd_server_socket *socket = &config->sockets[config->sockets_count++];
	const char *clients = getenv("TEST_TLS_CLIENTS");
	enum vbd_status status = vbd_listen_tcp("127.0.0.1", 0, &socket->fd, err);

	socket->tls = true;
	config->tls = &test.config.tls;
	vbd_config_init(&test.config);
	if (status == VBD_OK)
		status = set_file("tls.certificate", folder, "server.pem", false, err);
	if (status == VBD_OK)
		status = set_file("tls.key", folder, "server.key", false, err);
	if (status == VBD_OK)
		status = set_file("tls.client_ca", folder, "ca.pem", true, err);
	if (status == VBD_OK)
		status = set_file("tls.client_crl", folder, "ca-crl.pem", true, err);
	if (status == VBD_OK)
		status = vbd_config_set(
			&test.config, "tls.client_certificate", clients ? clients : "none", err);
	return status;
}

static enum vbd_status configure(
	struct vbd_server_config *config, const char *unix_path, struct vbd_error *err)
{
	struct vbd_server_socket *sockets = config->sockets;
	enum vbd_status status = vbd_listen_tcp("127.0.0.1", 0, &sockets[0].fd, err);

	config->sockets_count = 1;
	if (status == VBD_OK && getenv("TEST_TLS"))
		status = configure_tls(config, getenv("TEST_TLS"), err);
	if (status == VBD_OK && unix_path) {
		sockets[config->sockets_count].is_unix = true;
		status = vbd_listen_unix(unix_path, VBD_LISTEN_OWN_GROUP, 0660,
			&sockets[config->sockets_count++].fd, err);
	}
	config->dispatch.router =
		(struct vbd_router){.routes = routes, .n_routes = VBD_ARRAY_LEN(routes)};
	test.credentials = unit_credentials(
		&test.callers, getenv("TEST_CONTROL_TOKEN"), getenv("TEST_READ_TOKEN"));
	config->dispatch.auth.credentials = test.credentials;
	set_quota(VBD_CALLER_READ, from_env("TEST_STREAMS", 0));
	config->dispatch.json_max_bytes = &json_max_bytes;
	config->dispatch.idem_max = 1024;
	config->limits.seats = from_env("TEST_SEATS", 512);
	config->limits.seats_per_source = from_env("TEST_SEATS_PER_SOURCE", 256);
	config->limits.reserve = from_env("TEST_RESERVE", config->limits.reserve);
	config->limits.waiting = from_env("TEST_WAITING", 256);
	config->limits.feeds = from_env("TEST_FEEDS", 64);
	config->on_turned_away = on_turned_away;
	config->idle_timeout_ms = from_env("TEST_IDLE_TIMEOUT_MS", config->idle_timeout_ms);
	config->stranger_timeout_ms =
		from_env("TEST_STRANGER_TIMEOUT_MS", config->stranger_timeout_ms);
	config->header_timeout_ms = from_env("TEST_HEADER_TIMEOUT_MS", config->header_timeout_ms);
	config->progress_timeout_ms =
		from_env("TEST_PROGRESS_TIMEOUT_MS", config->progress_timeout_ms);
	config->answer_timeout_ms = from_env("TEST_ANSWER_TIMEOUT_MS", config->answer_timeout_ms);
	return status;
}

static void on_signal(unsigned int events, void *arg)
{
	struct signalfd_siginfo info;

	(void)events;
	(void)arg;
	if (read(test.signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGTERM)
		stop();
	else if (info.ssi_signo == SIGHUP)
		reload();
	else
		(void)raise(SIGSTOP);
}

static enum vbd_status watch_signals(struct vbd_error *err)
{
	struct vbd_fd_watch *watch; /* the loop frees it */
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	(void)sigaddset(&set, SIGUSR1);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	test.signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
	return vbd_fd_watch_start(
		test.loop, test.signal_fd, VBD_FD_READ, on_signal, NULL, &watch, err);
}

int main(int argc, char **argv)
{
	struct vbd_server_config config = vbd_server_config_default();
	struct vbd_error err = {0};

	(void)signal(SIGPIPE, SIG_IGN);
	vbd_list_init(&test.waiting);
	if (vbd_loop_create(&test.loop, &err) != VBD_OK ||
		configure(&config, argc > 1 ? argv[1] : NULL, &err) != VBD_OK ||
		watch_signals(&err) != VBD_OK ||
		vbd_server_create(test.loop, &config, &test.server, &err) != VBD_OK)
		return fail(&err);
	(void)printf("%u %u\n", vbd_listen_port(config.sockets[0].fd),
		config.tls ? vbd_listen_port(config.sockets[1].fd) : 0);
	(void)fflush(stdout);
	vbd_loop_run(test.loop);
	vbd_server_destroy(test.server);
	vbd_credentials_destroy(test.credentials);
	vbd_loop_destroy(test.loop);
	return EXIT_SUCCESS;
}
