/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP server with clients on sockets of the same thread, timers that fire when the test says
 * so, and calls that fail when it says so.
 */
#include "api/http/listen.h"
#include "api/http/server.h"
#include "api/json/writer.h"
#include "base/clock.h"
#include "tests/fake/provider_fake.h"
#include "tests/unit/credentials.h"
#include "tests/unit/unit.h"

#include <microhttpd.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint64_t json_max_bytes = 1024;

#define TOKEN	 "control-control-control"
#define HEAD	 "Host: localhost\r\nAuthorization: Bearer " TOKEN "\r\n"
#define GET(at_) "GET " at_ " HTTP/1.1\r\n" HEAD "\r\n"
/* A body of this length has its deadline set anew as each piece of it has come. */
#define PIECE 65536

/* --- timers ---------------------------------------------------------------------------------- */

struct timer {
	struct vbd_link link;
	vbd_timer_cb cb;
	void *arg;
	uint64_t due_ns; /* 0: not set */
};

static struct vbd_link timers;
static uint64_t clock_ns;
static bool timers_fail; /* to be made */

enum vbd_status __wrap_vbd_timer_create(struct vbd_loop *loop, vbd_timer_cb cb, void *arg,
	struct vbd_timer **ret_timer, struct vbd_error *err);
void __wrap_vbd_timer_set(struct vbd_timer *timer, uint64_t timeout_ms);
void __wrap_vbd_timer_clear(struct vbd_timer *timer);
void __wrap_vbd_timer_destroy(struct vbd_timer *timer);
uint64_t __wrap_vbd_loop_now_ns(const struct vbd_loop *loop);

enum vbd_status __wrap_vbd_timer_create(struct vbd_loop *loop, vbd_timer_cb cb, void *arg,
	struct vbd_timer **ret_timer, struct vbd_error *err)
{
	struct timer *timer = timers_fail ? NULL : calloc(1, sizeof(*timer));

	(void)loop;
	if (!timer)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a timer");
	timer->cb = cb;
	timer->arg = arg;
	vbd_list_append(&timers, &timer->link);
	*ret_timer = (struct vbd_timer *)timer;
	return VBD_OK;
}

void __wrap_vbd_timer_set(struct vbd_timer *timer, uint64_t timeout_ms)
{
	((struct timer *)timer)->due_ns = clock_ns + timeout_ms * VBD_NS_PER_MS;
}

void __wrap_vbd_timer_clear(struct vbd_timer *timer)
{
	((struct timer *)timer)->due_ns = 0;
}

void __wrap_vbd_timer_destroy(struct vbd_timer *timer)
{
	if (timer)
		vbd_list_remove(&((struct timer *)timer)->link);
	free(timer);
}

uint64_t __wrap_vbd_loop_now_ns(const struct vbd_loop *loop)
{
	(void)loop;
	return clock_ns;
}

/* The clock began a day after the beginning of time. */
#define WALL_S UINT64_C(86400)

uint64_t __wrap_vbd_clock_wall_of_ns(uint64_t mono_ns);

uint64_t __wrap_vbd_clock_wall_of_ns(uint64_t mono_ns)
{
	(void)mono_ns;
	return WALL_S * VBD_NS_PER_S + clock_ns;
}

/* Calls back for each timer that is due. Each may destroy others. */
static void fire(void)
{
	bool fired;

	do {
		fired = false;
		vbd_list_for_each (link, &timers) {
			struct timer *timer = VBD_CONTAINER_OF(link, struct timer, link);

			if (!timer->due_ns || timer->due_ns > clock_ns)
				continue;
			timer->due_ns = 0;
			timer->cb(timer->arg);
			fired = true;
			break;
		}
	} while (fired);
}

/* --- calls that fail ------------------------------------------------------------------------- */

static bool watches_fail, no_daemon_info, no_connection, no_response;

enum vbd_status __real_vbd_fd_watch_start(struct vbd_loop *loop, int fd, unsigned int events,
	vbd_fd_cb cb, void *arg, struct vbd_fd_watch **ret_watch, struct vbd_error *err);
enum vbd_status __wrap_vbd_fd_watch_start(struct vbd_loop *loop, int fd, unsigned int events,
	vbd_fd_cb cb, void *arg, struct vbd_fd_watch **ret_watch, struct vbd_error *err);

enum vbd_status __wrap_vbd_fd_watch_start(struct vbd_loop *loop, int fd, unsigned int events,
	vbd_fd_cb cb, void *arg, struct vbd_fd_watch **ret_watch, struct vbd_error *err)
{
	if (watches_fail)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a watch");
	return __real_vbd_fd_watch_start(loop, fd, events, cb, arg, ret_watch, err);
}

const union MHD_DaemonInfo *__real_MHD_get_daemon_info(
	struct MHD_Daemon *daemon, enum MHD_DaemonInfoType type, ...);
const union MHD_DaemonInfo *__wrap_MHD_get_daemon_info(
	struct MHD_Daemon *daemon, enum MHD_DaemonInfoType type, ...);

const union MHD_DaemonInfo *__wrap_MHD_get_daemon_info(
	struct MHD_Daemon *daemon, enum MHD_DaemonInfoType type, ...)
{
	return no_daemon_info ? NULL : __real_MHD_get_daemon_info(daemon, type);
}

enum MHD_Result __real_MHD_add_connection(
	struct MHD_Daemon *daemon, MHD_socket fd, const struct sockaddr *addr, socklen_t len);
enum MHD_Result __wrap_MHD_add_connection(
	struct MHD_Daemon *daemon, MHD_socket fd, const struct sockaddr *addr, socklen_t len);

enum MHD_Result __wrap_MHD_add_connection(
	struct MHD_Daemon *daemon, MHD_socket fd, const struct sockaddr *addr, socklen_t len)
{
	if (!no_connection)
		return __real_MHD_add_connection(daemon, fd, addr, len);
	(void)close(fd);
	return MHD_NO;
}

struct MHD_Response *__real_MHD_create_response_from_buffer(
	size_t size, void *bytes, enum MHD_ResponseMemoryMode mode);
struct MHD_Response *__wrap_MHD_create_response_from_buffer(
	size_t size, void *bytes, enum MHD_ResponseMemoryMode mode);

struct MHD_Response *__wrap_MHD_create_response_from_buffer(
	size_t size, void *bytes, enum MHD_ResponseMemoryMode mode)
{
	return no_response ? NULL : __real_MHD_create_response_from_buffer(size, bytes, mode);
}

struct MHD_Response *__real_MHD_create_response_from_callback(uint64_t size, size_t block,
	MHD_ContentReaderCallback read, void *arg, MHD_ContentReaderFreeCallback free_arg);
struct MHD_Response *__wrap_MHD_create_response_from_callback(uint64_t size, size_t block,
	MHD_ContentReaderCallback read, void *arg, MHD_ContentReaderFreeCallback free_arg);

struct MHD_Response *__wrap_MHD_create_response_from_callback(uint64_t size, size_t block,
	MHD_ContentReaderCallback read, void *arg, MHD_ContentReaderFreeCallback free_arg)
{
	return no_response
		       ? NULL
		       : __real_MHD_create_response_from_callback(size, block, read, arg, free_arg);
}

static MHD_PanicCallback on_panic;

void __wrap_MHD_set_panic_func(MHD_PanicCallback cb, void *arg);

void __wrap_MHD_set_panic_func(MHD_PanicCallback cb, void *arg)
{
	assert_null(arg);
	on_panic = cb;
}

/* --- no descriptors --------------------------------------------------------------------------- */

#define DESCRIPTORS_MAX 256

/* Takes the descriptors that the process may have. */
static struct {
	struct rlimit limit;
	int fds[DESCRIPTORS_MAX];
	size_t count;
} taken;

static void take_what_is_left(void)
{
	int fd;

	while ((fd = dup(STDERR_FILENO)) >= 0) {
		assert_true(taken.count < DESCRIPTORS_MAX);
		taken.fds[taken.count++] = fd;
	}
	assert_int_equal(errno, EMFILE);
}

static void take_descriptors(void)
{
	struct rlimit low;

	taken.count = 0;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &taken.limit), 0);
	low = (struct rlimit){.rlim_cur = DESCRIPTORS_MAX, .rlim_max = taken.limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	take_what_is_left();
}

static void give_descriptors_back(void)
{
	while (taken.count)
		(void)close(taken.fds[--taken.count]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &taken.limit), 0);
}

/* --- the server ------------------------------------------------------------------------------ */

static struct {
	struct vbd_callers callers;
	struct vbd_credentials *credentials;
	struct vbd_loop *loop;
	struct vbd_server_config config;
	struct vbd_server *server;
	uint16_t port;
	struct vbd_request *waiting, *next;
	unsigned int trusted, stopped, turned_away, readers_freed, feeds_freed, sinks_closed;
	size_t sunk_bytes;
	unsigned int descriptors;  /* of the process before the loop */
	char client[80], why[256]; /* of the last one who was turned away */
	enum vbd_status code;
} test;

static void get_ping(struct vbd_request *req)
{
	struct vbd_encoder out = vbd_encode_begin();

	vbd_put_text(&out, "role", vbd_role_name(req->role));
	vbd_reply_json(req, 200, &out);
}

/* All that lets the request in is as the handler itself reads it. */
static void get_trusted(struct vbd_request *req)
{
	const char *origin = vbd_request_header(req, VBD_HEADER_ORIGIN);

	assert_string_equal(vbd_request_header(req, VBD_HEADER_HOST), "localhost");
	assert_string_equal(vbd_request_header(req, VBD_HEADER_AUTHORIZATION), "Bearer " TOKEN);
	assert_true(!origin || strcmp(origin, "http://localhost") == 0);
	assert_string_equal(req->path, "/v1/trusted");
	assert_int_equal(req->role, VBD_ROLE_CONTROL);
	test.trusted++;
	vbd_reply_empty(req, 204);
}

static void on_wait_over(struct vbd_request *req, void *arg)
{
	(void)arg;
	test.waiting = NULL;
	vbd_reply_empty(req, 204);
	if (test.next && test.next != req)
		vbd_reply_empty(test.next, 204);
	test.next = NULL;
}

static void get_wait(struct vbd_request *req)
{
	struct vbd_error err = {0};

	if (vbd_request_park(req, 20000, on_wait_over, on_wait_over, NULL, &err) == VBD_OK)
		test.waiting = req;
	else
		vbd_reply_problem(req, &err);
}

static void forget(struct vbd_request *req, void *arg)
{
	(void)req;
	(void)arg;
}

static void wait_again(struct vbd_request *req, void *arg)
{
	assert_int_equal(vbd_request_park(req, 20000, forget, forget, arg, NULL), VBD_OK);
}

/* A handler that does not answer at its second deadline. */
static void get_forgotten(struct vbd_request *req)
{
	assert_int_equal(vbd_request_park(req, 20000, wait_again, forget, NULL, NULL), VBD_OK);
}

static void get_text(struct vbd_request *req)
{
	const size_t bytes = (size_t)64 << 20;
	char *text = calloc(1, bytes);

	vbd_reply_text(req, "text/plain", text, bytes);
}

static size_t read_zeros(void *arg, uint64_t offset, char *buf, size_t size)
{
	(void)arg;
	(void)offset;
	memset(buf, 0, size);
	return size;
}

static void free_reader(void *arg)
{
	(void)arg;
	test.readers_freed++;
}

static void get_stream(struct vbd_request *req)
{
	const struct vbd_reader reader = {
		.read = read_zeros, .free = free_reader, .length_bytes = (uint64_t)64 << 20};

	vbd_reply_stream(req, 200, &reader);
}

static size_t read_nothing(void *arg, char *buf, size_t size)
{
	(void)arg;
	(void)buf;
	(void)size;
	return 0;
}

static void free_feed(void *arg)
{
	(void)arg;
	test.feeds_freed++;
}

static void get_feed(struct vbd_request *req)
{
	const struct vbd_feed feed = {.read = read_nothing, .free = free_feed};

	vbd_reply_feed(req, "text/event-stream", &feed);
}

static enum vbd_status sink_write(
	void *arg, const void *bytes, size_t len_bytes, struct vbd_error *err)
{
	(void)arg;
	(void)bytes;
	(void)err;
	test.sunk_bytes += len_bytes;
	return VBD_OK;
}

static void sink_close(void *arg)
{
	(void)arg;
	test.sinks_closed++;
}

static void open_sink(struct vbd_request *req)
{
	req->sink = (struct vbd_sink){.write = sink_write, .close = sink_close};
}

static void put_sink(struct vbd_request *req)
{
	vbd_reply_empty(req, 204);
}

static const struct vbd_route routes[] = {
	{.method = VBD_METHOD_GET, .pattern = "/livez", .handler = get_ping},
	{.method = VBD_METHOD_GET,
		.pattern = "/v1/ping",
		.role = VBD_ROLE_READ,
		.handler = get_ping},
	{.method = VBD_METHOD_GET,
		.pattern = "/v1/trusted",
		.role = VBD_ROLE_READ,
		.handler = get_trusted},
	{.method = VBD_METHOD_GET,
		.pattern = "/v1/wait",
		.role = VBD_ROLE_READ,
		.handler = get_wait},
	{.method = VBD_METHOD_GET,
		.pattern = "/v1/forgotten",
		.role = VBD_ROLE_READ,
		.handler = get_forgotten},
	{.method = VBD_METHOD_GET,
		.pattern = "/v1/text",
		.role = VBD_ROLE_READ,
		.handler = get_text},
	{.method = VBD_METHOD_GET,
		.pattern = "/v1/stream",
		.role = VBD_ROLE_READ,
		.handler = get_stream},
	{.method = VBD_METHOD_GET,
		.pattern = "/v1/feed",
		.role = VBD_ROLE_READ,
		.handler = get_feed},
	{.method = VBD_METHOD_PUT,
		.pattern = "/v1/sink",
		.role = VBD_ROLE_CONTROL,
		.body = VBD_BODY_STREAM,
		.open = open_sink,
		.handler = put_sink},
};

static void on_turned_away(void *context, const char *client, const struct vbd_error *err)
{
	assert_ptr_equal(context, &test);
	test.turned_away++;
	(void)snprintf(test.client, sizeof(test.client), "%s", client);
	(void)snprintf(test.why, sizeof(test.why), "%s", err->text);
	test.code = err->status;
}

static enum vbd_status create(struct vbd_error *err)
{
	return vbd_server_create(test.loop, &test.config, &test.server, err);
}

static int set_up(void **state)
{
	struct vbd_error err = {0};

	(void)state;
	memset(&test, 0, sizeof(test));
	vbd_list_init(&timers);
	clock_ns = VBD_NS_PER_S;
	timers_fail = watches_fail = no_daemon_info = no_connection = no_response = false;
	test.credentials = unit_credentials(&test.callers, TOKEN, NULL);
	test.config = vbd_server_config_default();
	test.config.dispatch.router =
		(struct vbd_router){.routes = routes, .n_routes = VBD_ARRAY_LEN(routes)};
	test.config.dispatch.auth.credentials = test.credentials;
	test.config.dispatch.context = &test;
	test.config.dispatch.json_max_bytes = &json_max_bytes;
	test.config.dispatch.idem_max = 8;
	test.config.limits.seats = test.config.limits.seats_per_source = 8;
	test.config.limits.waiting = test.config.limits.feeds = 8;
	test.config.on_turned_away = on_turned_away;
	test.config.sockets_count = 1;
	/* The first loop of a process opens descriptors for all of them. */
	if (vbd_loop_create(&test.loop, &err) != VBD_OK)
		return -1;
	vbd_loop_destroy(test.loop);
	test.descriptors = unit_descriptors();
	if (vbd_loop_create(&test.loop, &err) != VBD_OK)
		return -1;
	return vbd_listen_tcp("127.0.0.1", 0, &test.config.sockets[0].fd, &err) == VBD_OK ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	fake_memory_fail_nth(0);
	if (taken.count)
		give_descriptors_back();
	vbd_server_destroy(test.server);
	vbd_credentials_destroy(test.credentials);
	vbd_loop_destroy(test.loop);
	assert_int_equal(unit_descriptors(), test.descriptors);
	return vbd_list_empty(&timers) && !test.callers.by_name ? 0 : -1;
}

#define SERVER_TEST(name) TEST_WITH(name, void *no_fixture, set_up, tear_down)

static void start(void)
{
	struct vbd_error err = {0};

	test.port = vbd_listen_port(test.config.sockets[0].fd);
	assert_int_equal(create(&err), VBD_OK);
}

static void turn(void)
{
	fire();
	vbd_loop_turn(test.loop, false);
	fire();
}

/* Enough turns for all that the clients have sent. */
static void settle(void)
{
	for (int i = 0; i < 30; i++)
		turn();
}

/* Lets time pass, in one step, as if the process had not run meanwhile. */
static void pass(uint64_t ms)
{
	clock_ns += ms * VBD_NS_PER_MS;
	settle();
}

#define UNTIL(condition)               \
	do {                           \
		turn();                \
		UNIT_UNTIL (condition) \
			turn();        \
	} while (0)

static const struct vbd_server_stats *stats(void)
{
	return vbd_server_stats(test.server);
}

/* --- clients --------------------------------------------------------------------------------- */

static int client(void)
{
	const struct sockaddr_in addr = {.sin_family = AF_INET,
		.sin_port = htons(test.port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

/* The kernel of a busy host delivers later than send(2) returns. */
static bool is_delivered(int fd)
{
	int left;

	assert_int_equal(ioctl(fd, SIOCOUTQ, &left), 0);
	return left == 0;
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	UNIT_UNTIL (is_delivered(fd))
		(void)sched_yield();
}

/* A client that the server has accepted. */
static int accepted(void)
{
	uint64_t before = stats()->connections;
	int fd = client();

	UNTIL(stats()->connections > before);
	return fd;
}

/* Whether the server has closed its side; bytes that came before are taken. */
static bool is_closed(int fd)
{
	char bytes[4096];
	ssize_t n;

	do {
		n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	} while (n > 0);
	return n == 0 || errno == ECONNRESET;
}

/* Reads what has come until @end is there, or the end of the stream. */
static const char *heard(int fd, const char *end)
{
	static char text[4096];
	size_t used = 0;
	ssize_t n = 1;

	memset(text, 0, sizeof(text));
	UNIT_UNTIL (!n || (*end && strstr(text, end))) {
		turn();
		n = recv(fd, text + used, sizeof(text) - 1 - used, MSG_DONTWAIT);
		used += n > 0 ? (size_t)n : 0;
		if (n < 0 && errno != EAGAIN)
			n = 0;
	}
	return text;
}

/* A client that has shown the token. */
static int known(void)
{
	int fd = accepted();

	say(fd, GET("/v1/ping"));
	assert_non_null(strstr(heard(fd, "control"), "HTTP/1.1 200 OK\r\n"));
	return fd;
}

/* The server cuts the client when exactly this time has passed. */
static void is_cut_after(int fd, uint64_t ms)
{
	pass(ms - 1);
	assert_false(is_closed(fd));
	pass(1);
	UNTIL(is_closed(fd));
	(void)close(fd);
	UNTIL(stats()->connections_open == 0);
}

/* --- deadlines ------------------------------------------------------------------------------- */

/* See limits.http_connections in verbsd.yaml(5). */
SERVER_TEST(test_server__each_phase_has_its_time)
{
	int fd;

	start();
	is_cut_after(accepted(), 5000); /* a stranger */
	fd = accepted();
	say(fd, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
	(void)heard(fd, "none");
	is_cut_after(fd, 5000);
	assert_int_equal(stats()->too_slow, 0);
	is_cut_after(known(), 75000); /* between two requests */
	assert_int_equal(stats()->too_slow, 0);
	fd = known();
	say(fd, "GET /v1/ping HTTP/1.1\r\nHost: local");
	settle();
	is_cut_after(fd, 10000); /* of a head */
	assert_int_equal(stats()->too_slow, 1);
}

SERVER_TEST(test_server__a_body_has_time_for_each_piece)
{
	static char piece[PIECE];
	int fd;

	start();
	fd = known();
	say(fd, "PUT /v1/sink HTTP/1.1\r\n" HEAD "Content-Length: 1000000\r\n\r\n");
	settle();
	pass(29999);
	assert_int_equal(send(fd, piece, PIECE - 1, MSG_NOSIGNAL), PIECE - 1);
	UNTIL(test.sunk_bytes == PIECE - 1);
	pass(1);
	UNTIL(is_closed(fd)); /* a byte is missing */
	(void)close(fd);
	UNTIL(test.sinks_closed == 1 && stats()->connections_open == 0);
	assert_int_equal(stats()->too_slow, 1);
	fd = known();
	say(fd, "PUT /v1/sink HTTP/1.1\r\n" HEAD "Content-Length: 1000000\r\n\r\n");
	settle();
	pass(29999);
	for (size_t sent = 0; sent < PIECE; sent += 4096)
		assert_int_equal(send(fd, piece, 4096, MSG_NOSIGNAL), 4096);
	UNTIL(test.sunk_bytes == PIECE - 1 + PIECE);
	is_cut_after(fd, 30000);
	assert_int_equal(stats()->too_slow, 2);
}

/* The sockets take a few megabytes of it. */
SERVER_TEST(test_server__an_answer_has_time_for_each_block)
{
	int fd;

	start();
	fd = known();
	say(fd, GET("/v1/stream"));
	settle();
	pass(30000 * (1 + 262144 / PIECE) - 1);
	assert_int_equal(test.readers_freed, 0);
	pass(1);
	UNTIL(test.readers_freed == 1);
	(void)close(fd);
	fd = known();
	say(fd, GET("/v1/text"));
	settle();
	pass(59999); /* two pieces, as the block is as long as one */
	assert_int_equal(stats()->too_slow, 1);
	pass(1);
	UNTIL(stats()->too_slow == 2);
	(void)close(fd);
}

/* More than the sockets of both sides hold: the server has begun another block then. */
#define BEYOND_SOCKETS_BYTES (9 << 20)

static void read_beyond_sockets(int fd)
{
	char bytes[65536];
	size_t left = BEYOND_SOCKETS_BYTES;

	UNIT_UNTIL (!left) {
		size_t wanted = left < sizeof(bytes) ? left : sizeof(bytes);
		ssize_t n = recv(fd, bytes, wanted, MSG_DONTWAIT);

		left -= n > 0 ? (size_t)n : 0;
		if (n < 0)
			turn();
	}
}

SERVER_TEST(test_server__an_answer_from_memory_has_five_minutes)
{
	uint64_t passed_ms = 0;
	int fd;

	start();
	fd = known();
	say(fd, GET("/v1/text"));
	read_beyond_sockets(fd);
	while (passed_ms + 50000 < 300000) {
		pass(50000);
		passed_ms += 50000;
		read_beyond_sockets(fd);
		assert_int_equal(stats()->too_slow, 0);
	}
	pass(300000 - passed_ms - 1);
	assert_int_equal(stats()->too_slow, 0);
	pass(1);
	UNTIL(stats()->too_slow == 1);
	(void)close(fd);
}

SERVER_TEST(test_server__bytes_that_came_in_time_are_read_once)
{
	int fd;

	start();
	fd = accepted();
	say(fd, "GET /livez HTTP/1.1\r\nHost: local");
	pass(5000);
	is_cut_after(fd, 5000);
	fd = accepted();
	pass(5999);
	UNTIL(is_closed(fd));
	(void)close(fd);
	fd = accepted();
	pass(6000); /* the process did not run for a second */
	is_cut_after(fd, 5000);
}

SERVER_TEST(test_server__a_request_that_came_late_is_answered)
{
	int fd;

	start();
	fd = accepted();
	say(fd, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
	clock_ns += 5000 * VBD_NS_PER_MS;
	assert_non_null(strstr(heard(fd, "none"), "200 OK"));
	(void)close(fd);
}

/* --- tokens ---------------------------------------------------------------------------------- */

#define AS(token_, at_) \
	"GET " at_ " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " token_ "\r\n\r\n"

static void add_caller(struct vbd_caller_list *list, const char *name, uint64_t expires_wall_s)
{
	struct vbd_credential *credential;

	assert_non_null(vbd_caller_list_add(list, name, VBD_ROLE_READ));
	credential = vbd_caller_list_know(list, VBD_CREDENTIAL_TOKEN);
	assert_non_null(credential);
	assert_true(vbd_token_hash(name, credential->sha256));
	credential->expires_wall_s = expires_wall_s;
}

/* Lets there be the callers a, unless that is left out, and b, whose tokens are their names. */
static void know(bool with_a, uint64_t a_expires_s, uint64_t b_expires_s)
{
	struct vbd_credentials *before = test.credentials;
	struct vbd_caller_list list = {0};

	if (with_a)
		add_caller(&list, "a", a_expires_s);
	add_caller(&list, "b", b_expires_s);
	assert_int_equal(
		vbd_credentials_create(&test.callers, &list, &test.credentials, NULL), VBD_OK);
	vbd_credentials_use(test.credentials, before);
	test.config.dispatch.auth.credentials = test.credentials;
	if (test.server)
		vbd_server_set_credentials(test.server, test.credentials);
	vbd_credentials_destroy(before);
}

static int ask(const char *request, unsigned int parked, unsigned int feeds)
{
	int fd = accepted();

	say(fd, request);
	UNTIL(stats()->parked == parked && stats()->feeds == feeds);
	return fd;
}

static void is_unauthorized(int fd, const char *why)
{
	const char *answer = heard(fd, "}\n");

	assert_memory_equal(answer, "HTTP/1.1 401 Unauthorized\r\n", 27);
	assert_non_null(strstr(answer, why));
	(void)close(fd);
}

SERVER_TEST(test_server__who_follows_is_cut_off_when_the_token_expires)
{
	uint64_t now_s;
	int late, early;

	now_s = WALL_S + clock_ns / VBD_NS_PER_S;
	know(true, now_s + 50, now_s + 130);
	start();
	late = ask(AS("b", "/v1/feed"), 0, 1);
	early = ask(AS("a", "/v1/feed"), 0, 2);
	pass(49999);
	assert_int_equal(stats()->feeds, 2);
	pass(1);
	UNTIL(is_closed(early));
	assert_int_equal(stats()->feeds, 1);
	pass(60000); /* the wall clock is looked at once a minute */
	pass(19999);
	assert_int_equal(stats()->feeds, 1);
	pass(1);
	UNTIL(is_closed(late));
	UNTIL(stats()->feeds == 0);
	(void)close(late);
	(void)close(early);
}

SERVER_TEST(test_server__who_waits_is_told_that_the_token_has_expired)
{
	uint64_t now_s;
	int early, late;

	now_s = WALL_S + clock_ns / VBD_NS_PER_S;
	know(true, now_s + 5, now_s + 10);
	start();
	early = ask(AS("a", "/v1/wait"), 1, 0);
	late = ask(AS("b", "/v1/wait"), 2, 0);
	pass(4999);
	assert_int_equal(stats()->parked, 2);
	pass(1);
	UNTIL(stats()->parked == 1);
	(void)heard(early, "\r\n\r\n");
	pass(4999);
	assert_int_equal(stats()->parked, 1);
	pass(1);
	UNTIL(stats()->parked == 0);
	(void)close(early);
	(void)close(late);
}

SERVER_TEST(test_server__callers_that_are_gone_lose_what_is_open)
{
	int waiting, following, other;

	know(true, 0, 0);
	start();
	waiting = ask(AS("a", "/v1/wait"), 1, 0);
	following = ask(AS("a", "/v1/feed"), 1, 1);
	other = ask(AS("b", "/v1/feed"), 1, 2);
	know(false, 0, 0);
	UNTIL(is_closed(following));
	UNTIL(stats()->parked == 0 && stats()->feeds == 1);
	assert_false(is_closed(other));
	is_unauthorized(ask(AS("a", "/v1/ping"), 0, 1), "the token is unknown");
	(void)close(waiting);
	(void)close(following);
	(void)close(other);
}

/* As the audit event of a POST answers the GET that waits for events. */
SERVER_TEST(test_server__who_is_gone_may_answer_the_next_one_that_waits)
{
	int gone, next;

	know(true, 0, 0);
	start();
	gone = ask(AS("a", "/v1/wait"), 1, 0);
	next = ask(AS("b", "/v1/wait"), 2, 0);
	test.next = test.waiting;
	know(false, 0, 0);
	UNTIL(stats()->parked == 0);
	(void)heard(next, "\r\n\r\n");
	(void)close(gone);
	(void)close(next);
}

/* --- a full server --------------------------------------------------------------------------- */

static const char refusal[] =
	"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\n"
	"Content-Length: 320\r\nRetry-After: 1\r\nCache-Control: no-store\r\n"
	"Connection: close\r\n\r\n"
	"{\"type\":\"/v1/glossary/too_many_clients\",";

SERVER_TEST(test_server__who_finds_no_seat_is_told_and_reported)
{
	int first, second;

	test.config.limits.seats = test.config.limits.seats_per_source = 1;
	test.config.limits.reserve = 0;
	start();
	first = known();
	second = client();
	assert_memory_equal(heard(second, ""), refusal, sizeof(refusal) - 1);
	assert_int_equal(stats()->refused, 1);
	assert_int_equal(stats()->sent_away, 0);
	assert_int_equal(stats()->connections, 1);
	assert_int_equal(test.turned_away, 1);
	assert_int_equal(test.code, VBD_E_TOO_MANY_CLIENTS);
	assert_string_equal(test.why, "all HTTP connections are taken, also those of the reserve");
	assert_memory_equal(test.client, "127.0.0.1:", 10);
	(void)close(second);
	(void)close(first);
	UNTIL(stats()->connections_open == 0);
	first = accepted();
	second = known(); /* in the stranger's place */
	assert_memory_equal(heard(first, ""), refusal, sizeof(refusal) - 1);
	assert_int_equal(stats()->refused, 1);
	assert_int_equal(stats()->sent_away, 1);
	assert_int_equal(test.turned_away, 2);
	assert_string_equal(
		test.why, "the client has shown no token, and another one needs its connection");
	(void)close(second);
	(void)close(first);
}

SERVER_TEST(test_server__a_stranger_that_was_answered_is_not_told_when_it_goes)
{
	int first, second;

	test.config.limits.seats = test.config.limits.seats_per_source = 1;
	test.config.limits.reserve = 0;
	start();
	first = accepted();
	say(first, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
	(void)heard(first, "none");
	second = known();
	assert_string_equal(heard(first, ""), "");
	assert_int_equal(stats()->sent_away, 1);
	(void)close(second);
	(void)close(first);
}

/* --- a server without descriptors --------------------------------------------------------------
 */

/* A client that connects later, when there are no descriptors. */
static int socket_for_later(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	return fd;
}

static void connect_now(int fd)
{
	const struct sockaddr_in addr = {.sin_family = AF_INET,
		.sin_port = htons(test.port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	assert_int_equal(connect(fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
}

static void is_known(int fd)
{
	say(fd, GET("/v1/ping"));
	assert_non_null(strstr(heard(fd, "control"), "HTTP/1.1 200 OK\r\n"));
}

SERVER_TEST(test_server__without_descriptors_a_stranger_gives_its_own)
{
	int stranger, next;

	start();
	stranger = accepted();
	next = socket_for_later();
	take_descriptors();
	connect_now(next);
	is_known(next);
	assert_memory_equal(heard(stranger, ""), refusal, sizeof(refusal) - 1);
	assert_int_equal(stats()->connections, 2);
	assert_int_equal(stats()->sent_away, 1);
	assert_int_equal(stats()->refused, 0);
	assert_int_equal(test.turned_away, 1);
	assert_int_equal(test.code, VBD_E_TOO_MANY_CLIENTS);
	give_descriptors_back();
	(void)close(stranger);
	(void)close(next);
}

SERVER_TEST(test_server__spare_descriptors_serve_and_the_last_one_refuses)
{
	int fds[6];

	start();
	(void)close(known());
	UNTIL(stats()->connections_open == 0);
	for (size_t i = 0; i < VBD_ARRAY_LEN(fds); i++)
		fds[i] = socket_for_later();
	take_descriptors();
	for (size_t i = 0; i < VBD_ARRAY_LEN(fds); i++) {
		connect_now(fds[i]);
		if (i < 3) {
			is_known(fds[i]);
			continue;
		}
		assert_memory_equal(heard(fds[i], ""), refusal, sizeof(refusal) - 1);
		assert_int_equal(stats()->refused, i - 2);
		assert_int_equal(test.turned_away, i - 2);
		assert_int_equal(test.code, VBD_E_FD_LIMIT);
		assert_string_equal(test.client, "a client");
		assert_string_equal(test.why, "no file descriptor is left for it");
	}
	assert_int_equal(stats()->connections, 4);
	assert_int_equal(stats()->connections_open, 3);
	assert_int_equal(stats()->sent_away, 0);
	give_descriptors_back();
	for (size_t i = 0; i < VBD_ARRAY_LEN(fds); i++)
		(void)close(fds[i]);
	(void)close(known());
}

SERVER_TEST(test_server__with_no_spare_descriptor_the_server_rests)
{
	int fds[5], late;

	start();
	for (size_t i = 0; i < VBD_ARRAY_LEN(fds); i++)
		fds[i] = socket_for_later();
	late = fds[4];
	take_descriptors();
	for (size_t i = 0; i < 3; i++) {
		connect_now(fds[i]);
		is_known(fds[i]);
	}
	connect_now(fds[3]);
	UNTIL(is_closed(fds[3]));
	take_what_is_left(); /* the descriptor of the one who was refused */
	connect_now(late);
	say(late, GET("/v1/ping"));
	settle();
	assert_int_equal(stats()->refused, 1);
	give_descriptors_back();
	pass(99);
	assert_int_equal(stats()->connections, 3);
	watches_fail = true; /* then it rests once more */
	pass(1);
	watches_fail = false;
	pass(99);
	assert_int_equal(stats()->connections, 3);
	pass(1);
	assert_non_null(strstr(heard(late, "control"), "HTTP/1.1 200 OK\r\n"));
	assert_int_equal(stats()->connections, 4);
	assert_int_equal(stats()->refused, 1);
	for (size_t i = 0; i < VBD_ARRAY_LEN(fds); i++)
		(void)close(fds[i]);
}

/* --- stop ------------------------------------------------------------------------------------ */

static void on_stopped(void *arg)
{
	(*(unsigned int *)arg)++;
}

SERVER_TEST(test_server__a_stop_is_told_once_and_has_its_grace)
{
	unsigned int other = 0;
	int busy, idle;

	start();
	idle = known();
	busy = accepted();
	say(busy, "PUT /v1/sink HTTP/1.1\r\n" HEAD "Content-Length: 10\r\n\r\nx");
	settle();
	vbd_server_stop(test.server, 1000, on_stopped, &test.stopped);
	vbd_server_stop(test.server, 0, on_stopped, &other);
	UNTIL(is_closed(idle));
	pass(999);
	assert_int_equal(test.stopped, 0);
	pass(1);
	assert_int_equal(test.stopped, 1);
	say(busy, "123456789");
	assert_non_null(strstr(heard(busy, "\r\n\r\n"), "204 No Content"));
	UNTIL(stats()->connections_open == 0);
	settle();
	assert_int_equal(test.stopped, 1);
	assert_int_equal(other, 0);
	(void)close(idle);
	(void)close(busy);
}

SERVER_TEST(test_server__a_stop_ends_when_the_last_client_has_gone)
{
	int busy;

	start();
	busy = known();
	say(busy, "PUT /v1/sink HTTP/1.1\r\n" HEAD "Content-Length: 2\r\n\r\nx");
	settle();
	vbd_server_stop(test.server, 60000, on_stopped, &test.stopped);
	settle();
	assert_int_equal(test.stopped, 0);
	say(busy, "y");
	assert_non_null(strstr(heard(busy, "\r\n\r\n"), "Connection: close\r\n"));
	UNTIL(test.stopped == 1);
	(void)close(busy);
}

SERVER_TEST(test_server__a_stop_answers_who_waits_and_ends_feeds)
{
	int waiting, following;

	start();
	waiting = known();
	say(waiting, GET("/v1/wait"));
	following = known();
	say(following, GET("/v1/feed"));
	UNTIL(stats()->parked == 1 && stats()->feeds == 1);
	vbd_server_stop(test.server, 60000, on_stopped, &test.stopped);
	assert_non_null(strstr(heard(waiting, "\r\n\r\n"), "204 No Content"));
	assert_non_null(strstr(heard(following, "0\r\n\r\n"), "\r\n\r\n0\r\n\r\n"));
	UNTIL(test.stopped == 1);
	assert_int_equal(test.feeds_freed, 1);
	(void)close(waiting);
	(void)close(following);
}

SERVER_TEST(test_server__a_server_that_is_destroyed_ends_all)
{
	int waiting, following, sending;

	start();
	waiting = known();
	say(waiting, GET("/v1/wait"));
	following = known();
	say(following, GET("/v1/feed"));
	sending = known();
	say(sending, GET("/v1/stream"));
	UNTIL(stats()->parked == 1 && stats()->feeds == 1);
	settle();
	vbd_server_destroy(test.server);
	test.server = NULL;
	assert_null(test.waiting);
	assert_int_equal(test.feeds_freed, 1);
	assert_int_equal(test.readers_freed, 1);
	(void)close(waiting);
	(void)close(following);
	(void)close(sending);
}

/* --- what fails ------------------------------------------------------------------------------ */

static void refuses_to_start(enum vbd_status status, const char *text)
{
	struct vbd_error err = {0};
	int fd = test.config.sockets[0].fd;

	assert_int_equal(create(&err), status);
	assert_string_equal(err.text, text);
	assert_null(test.server);
	assert_true(fcntl(fd, F_GETFD) >= 0); /* the caller has it still */
	assert_true(vbd_list_empty(&timers));
}

SERVER_TEST(test_server__a_start_that_fails_leaves_nothing)
{
	timers_fail = true;
	refuses_to_start(VBD_E_NO_MEMORY, "no memory for a timer");
	timers_fail = false;
	watches_fail = true;
	refuses_to_start(VBD_E_NO_MEMORY, "no memory for a watch");
	watches_fail = false;
	no_daemon_info = true;
	refuses_to_start(VBD_E_INTERNAL, "libmicrohttpd has no epoll descriptor");
	no_daemon_info = false;
	start();
	(void)close(known());
}

SERVER_TEST(test_server__a_start_without_memory_leaves_nothing)
{
	struct vbd_error err = {0};
	unsigned int nth = 0;

	test.port = vbd_listen_port(test.config.sockets[0].fd);
	for (;;) {
		memset(&err, 0, sizeof(err));
		fake_memory_fail_nth(++nth);
		if (create(&err) == VBD_OK)
			break;
		assert_true(fake_memory_failed());
		assert_int_equal(err.status, VBD_E_NO_MEMORY);
		assert_null(test.server);
		assert_true(vbd_list_empty(&timers));
		assert_true(fcntl(test.config.sockets[0].fd, F_GETFD) >= 0);
	}
	assert_false(fake_memory_failed());
	assert_true(nth > 5);
	fake_memory_fail_nth(0);
	(void)close(known());
}

SERVER_TEST(test_server__a_client_that_the_library_refuses_is_forgotten)
{
	int fd;

	start();
	no_connection = true;
	fd = accepted();
	UNTIL(is_closed(fd));
	(void)close(fd);
	no_connection = false;
	assert_int_equal(stats()->connections_open, 0);
	(void)close(known());
}

SERVER_TEST(test_server__without_a_watch_or_a_timer_a_client_is_closed)
{
	int fd;

	start();
	for (int i = 0; i < 2; i++) {
		watches_fail = i == 0;
		timers_fail = i == 1;
		fd = client();
		UNTIL(is_closed(fd));
		(void)close(fd);
		watches_fail = timers_fail = false;
		assert_int_equal(stats()->connections_open, 0);
		assert_int_equal(stats()->connections, i);
		(void)close(known());
		UNTIL(stats()->connections_open == 0);
	}
}

SERVER_TEST(test_server__without_an_answer_the_connection_is_closed)
{
	static const char *const requests[] = {GET("/v1/ping"), GET("/v1/text"), GET("/v1/stream"),
		GET("/v1/feed"),
		"POST /v1/ping HTTP/1.1\r\n" HEAD "Content-Length: 99999\r\nExpect: "
		"100-continue\r\n\r\n"};

	start();
	no_response = true;
	for (size_t i = 0; i < VBD_ARRAY_LEN(requests); i++) {
		int fd = accepted();

		say(fd, requests[i]);
		assert_string_equal(heard(fd, ""), "");
		(void)close(fd);
		UNTIL(stats()->connections_open == 0);
	}
	assert_int_equal(test.readers_freed, 1);
	assert_int_equal(test.feeds_freed, 1);
	assert_int_equal(stats()->feeds, 0);
}

/* Asks while an allocation fails: the client is answered, or its connection is closed. */
static void ask_without_memory(const char *request, const char *end, unsigned int nth)
{
	int fd;

	fake_memory_fail_nth(nth);
	fd = client();
	say(fd, request);
	(void)heard(fd, end);
	(void)close(fd);
	settle();
	fake_memory_fail_nth(0);
}

SERVER_TEST(test_server__each_allocation_of_a_request_may_fail)
{
	static const char *const requests[][2] = {
		{GET("/v1/ping"), "\r\n\r\n"},
		{GET("/v1/stream"), "\r\n\r\n"},
		{"PUT /v1/sink HTTP/1.1\r\n" HEAD "Content-Length: 2\r\n\r\nxy", "\r\n\r\n"},
		{GET("/v1/nothing"), "\r\n\r\n"},
	};

	start();
	for (size_t i = 0; i < VBD_ARRAY_LEN(requests); i++) {
		for (unsigned int nth = 1; nth < 30; nth++) {
			ask_without_memory(requests[i][0], requests[i][1], nth);
			UNTIL(stats()->connections_open == 0);
		}
		(void)close(known());
		UNTIL(stats()->connections_open == 0);
	}
	assert_int_equal(stats()->parked + stats()->feeds, 0);
}

/* --- heads that libmicrohttpd 0.9.75 lets through ----------------------------------------------
 */

#define BEARER	"Authorization: Bearer " TOKEN "\r\n"
#define TRUSTED "GET /v1/trusted HTTP/1.1\r\n"

/* Folded lines, a lone LF and a NUL may change what a request says, but for verbsd as a whole: its
 * checks and its handler read the same. libmicrohttpd 1.0 refuses all of these. */
SERVER_TEST(test_server__nothing_hides_from_the_checks_what_the_handler_reads)
{
#define ROW(text, served)                      \
	{                                      \
		text, sizeof(text) - 1, served \
	}
	static const struct {
		const char *head;
		size_t len;
		bool served;
	} heads[] = {
		ROW("GET /v1/trusted HTTP/1.1\nHost: localhost\n" BEARER "\n", true),
		ROW(TRUSTED "Host: localhost\0.evil.test\r\n" BEARER "\r\n", true),
		ROW(TRUSTED "Host: evil.test\0\r\n" BEARER "\r\n", false),
		ROW(TRUSTED "Host: localhost\0\0Host: evil.test\r\n" BEARER "\r\n", true),
		ROW(TRUSTED "Ho\0: x\r\nHost: localhost\r\n" BEARER "\r\n", false),
		ROW(TRUSTED "Host: localhost\r\n" BEARER "Origin: http://localhost\0.evil.test\r\n"
			    "\r\n",
			true),
		ROW(TRUSTED "Host: localhost\r\nAuthorization: Bearer x\0" TOKEN "\r\n\r\n", false),
		ROW(TRUSTED "Host: localhost\r\n\0" BEARER "\r\n", false),
		ROW("GET /v1/trusted\0/../ping HTTP/1.1\r\nHost: localhost\r\n" BEARER "\r\n",
			true),
		ROW("GET /v1/trusted\0 HTTP/1.1\r\nHost: localhost\r\n\r\n", false),
		/* 0.9.75 appends a folded line to the name of the header before it. */
		ROW(TRUSTED "Host: localhost\r\n .evil.test\r\n" BEARER "\r\n", false),
		ROW(TRUSTED "Ho: evil.test\r\n st\r\n" BEARER "\r\n", false),
		ROW(TRUSTED "Ho: localhost\r\n st\r\n" BEARER "\r\n", true),
		ROW(TRUSTED "Host: localhost\r\n" BEARER "Orig: http://evil.test\r\n\tin\r\n\r\n",
			false),
		ROW(TRUSTED "Host: localhost\r\n" BEARER "A: b\r\n c d\r\n\r\n", false),
	};
#undef ROW
	unsigned int served = 0;

	start();
	for (size_t i = 0; i < VBD_ARRAY_LEN(heads); i++) {
		int fd = accepted();

		assert_int_equal(send(fd, heads[i].head, heads[i].len, MSG_NOSIGNAL), heads[i].len);
		(void)heard(fd, "\r\n\r\n");
		(void)close(fd);
		served += heads[i].served && MHD_VERSION < 0x01000000;
		if (test.trusted != served)
			fail_msg("head %zu: %s", i, heads[i].head);
		UNTIL(stats()->connections_open == 0);
	}
}

/* --- what libmicrohttpd says ----------------------------------------------------------------- */

struct heard_log {
	unsigned int lines;
	enum vbd_log_level level;
	char object[16], text[512];
};

static void on_log(enum vbd_log_level level, const char *object, const char *text, void *arg)
{
	struct heard_log *log = arg;

	log->lines++;
	log->level = level;
	(void)snprintf(log->object, sizeof(log->object), "%s", object);
	(void)snprintf(log->text, sizeof(log->text), "%s", text);
}

static void send_bad_length(void)
{
	int fd = accepted();

	say(fd, "GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n");
	UNTIL(is_closed(fd));
	(void)close(fd);
	UNTIL(stats()->connections_open == 0);
}

SERVER_TEST(test_server__what_the_library_says_is_for_debugging)
{
	struct heard_log log = {0};

	start();
	vbd_log_set_observer(on_log, &log);
	send_bad_length();
	assert_int_equal(log.lines, 0);
	vbd_log_setup(VBD_LOG_DEBUG, VBD_LOG_TEXT);
	send_bad_length();
	vbd_log_setup(VBD_LOG_INFO, VBD_LOG_TEXT);
	vbd_log_set_observer(NULL, NULL);
	assert_true(log.lines > 0);
	assert_int_equal(log.level, VBD_LOG_DEBUG);
	assert_string_equal(log.object, "http");
	assert_memory_equal(log.text, "libmicrohttpd: ", 15);
	assert_null(strchr(log.text, '\n'));
}

/* Returns the line of the log by which the process ends. */
static const char *end_by_panic(const char *reason)
{
	static struct heard_log *log;
	int status;
	pid_t pid;

	log = mmap(NULL, sizeof(*log), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(log != MAP_FAILED);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)signal(SIGABRT, SIG_DFL);
		(void)prctl(PR_SET_DUMPABLE, 0);
		vbd_log_set_observer(on_log, log);
		on_panic(NULL, "daemon.c", 7, reason);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	assert_int_equal(log->lines, 1);
	assert_int_equal(log->level, VBD_LOG_ERROR);
	assert_string_equal(log->object, "http");
	return log->text;
}

SERVER_TEST(test_server__a_library_that_gives_up_says_why)
{
	start();
	assert_string_equal(end_by_panic("no lock"), "libmicrohttpd gave up: no lock (daemon.c:7)");
	assert_string_equal(
		end_by_panic(NULL), "libmicrohttpd gave up: no reason given (daemon.c:7)");
}

SERVER_TEST(test_server__a_handler_that_does_not_answer_is_an_error_of_verbsd)
{
	struct heard_log log = {0};
	const char *answer;
	int fd;

	start();
	fd = known();
	say(fd, GET("/v1/forgotten"));
	UNTIL(stats()->parked == 1);
	vbd_log_set_observer(on_log, &log);
	pass(20000);
	assert_int_equal(log.lines, 0);
	pass(20000);
	vbd_log_set_observer(NULL, NULL);
	assert_int_equal(log.lines, 1);
	assert_int_equal(log.level, VBD_LOG_ERROR);
	assert_string_equal(log.text, "the handler did not answer at its deadline");
	answer = heard(fd, "}\n");
	assert_memory_equal(answer, "HTTP/1.1 500 Internal Server Error\r\n", 36);
	assert_non_null(strstr(answer, "the handler did not answer at its deadline"));
	(void)close(fd);
}
