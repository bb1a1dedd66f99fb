/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors of shared buffers: a client gets one from the whole API, over real sockets, and uses
 * the memory as another program does.
 */
#include "api/api.h"
#include "api/http/listen.h"
#include "tests/unit/svc.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SIZE_BYTES 4096

struct fixture {
	struct svc *svc; /* first: svc_setup() makes it */
	struct vbd_api *api;
	struct sockaddr_un local;
	struct sockaddr_in tcp;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct vbd_server_socket sockets[2] = {{.is_unix = true}, {0}};
	struct vbd_caller_list callers = {0};

	assert_non_null(f);
	assert_int_equal(svc_setup((void **)&f->svc), 0);
	f->local.sun_family = AF_UNIX;
	(void)snprintf(f->local.sun_path, sizeof(f->local.sun_path), "%s/descriptor-%d.sock",
		unit_tmpdir(), (int)getpid());
	assert_int_equal(vbd_listen_unix(f->local.sun_path, VBD_LISTEN_OWN_GROUP, 0600,
				 &sockets[0].fd, &f->svc->err),
		VBD_OK);
	assert_int_equal(vbd_listen_tcp("127.0.0.1", 0, &sockets[1].fd, &f->svc->err), VBD_OK);
	f->tcp = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(vbd_listen_port(sockets[1].fd)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	assert_int_equal(
		vbd_caller_list_load(f->svc->daemon->config, &callers, &f->svc->err), VBD_OK);
	assert_int_equal(
		vbd_api_create(f->svc->daemon, &callers, sockets, 2, &f->api, &f->svc->err),
		VBD_OK);
	*state = f;
	return 0;
}

static void on_stopped(void *arg)
{
	*(bool *)arg = true;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	bool stopped = false;

	vbd_api_stop(f->api, 0, on_stopped, &stopped);
	SVC_UNTIL(f->svc, stopped);
	vbd_api_destroy(f->api);
	(void)unlink(f->local.sun_path);
	assert_int_equal(svc_teardown((void **)&f->svc), 0);
	free(f);
	return 0;
}

#define DESCRIPTOR_TEST(name) TEST_WITH(name, struct fixture *f, setup, teardown)

static void make_buffer(struct fixture *f, const char *name, enum vbd_mem_kind kind)
{
	struct vbd_buffer_spec spec = {.size_bytes = SIZE_BYTES, .kind = kind};
	struct vbd_buffer *buffer;

	(void)snprintf(spec.name, sizeof(spec.name), "%s", name);
	assert_int_equal(vbd_buffer_create(f->svc->daemon, &spec, &buffer, &f->svc->err), VBD_OK);
	SVC_UNTIL(f->svc, buffer->state == VBD_BUFFER_READY);
}

/* --- a client -------------------------------------------------------------------------------- */

struct answer {
	char text[8192]; /* all that came, NUL-terminated */
	size_t len;
	int fd;	   /* -1 if none came */
	int n_fds; /* that came */
};

static void take_fd(struct answer *answer, struct msghdr *message)
{
	const struct cmsghdr *header = CMSG_FIRSTHDR(message);

	if (!header)
		return;
	assert_int_equal(header->cmsg_type, SCM_RIGHTS);
	assert_int_equal(header->cmsg_len, CMSG_LEN(sizeof(int)));
	/* The interim answer brings it, not the answer. */
	assert_int_equal(answer->len, 0);
	memcpy(&answer->fd, CMSG_DATA(header), sizeof(int));
	answer->n_fds++;
}

/* True until the server has closed the connection. */
static bool take(int client, struct answer *answer)
{
	struct iovec iov = {.iov_base = answer->text + answer->len,
		.iov_len = sizeof(answer->text) - 1 - answer->len};
	char control[CMSG_SPACE(4 * sizeof(int))];
	struct msghdr message = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(client, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0) {
		assert_int_equal(errno, EAGAIN);
		return true;
	}
	if (n == 0)
		return false;
	take_fd(answer, &message);
	answer->len += (size_t)n;
	return true;
}

static struct answer ask_over(
	struct fixture *f, const struct sockaddr *addr, socklen_t len, const char *line)
{
	struct answer answer = {.fd = -1};
	int client = socket(addr->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char text[512];

	(void)snprintf(
		text, sizeof(text), "%s\r\nHost: localhost\r\nConnection: close\r\n\r\n", line);
	assert_int_equal(connect(client, addr, len), 0);
	assert_int_equal(send(client, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	while (take(client, &answer))
		vbd_loop_turn(f->svc->daemon->loop, false);
	assert_int_equal(close(client), 0);
	return answer;
}

static struct answer ask(struct fixture *f, const char *line)
{
	return ask_over(f, (const struct sockaddr *)&f->local, sizeof(f->local), line);
}

static void assert_refused(const struct answer *answer, const char *status, const char *code)
{
	assert_int_equal(answer->n_fds, 0);
	assert_memory_equal(answer->text, "HTTP/1.", 7);
	assert_memory_equal(answer->text + 9, status, 3);
	assert_non_null(strstr(answer->text, code));
}

/* --- tests ----------------------------------------------------------------------------------- */

DESCRIPTOR_TEST(test_api_descriptor__two_programs_share_the_bytes)
{
	struct answer answer;
	uint8_t *bytes;

	make_buffer(f, "shared", VBD_MEM_SHARED);
	answer = ask(f, "GET /v1/buffers/shared/fd HTTP/1.1");
	assert_int_equal(answer.n_fds, 1);
	assert_memory_equal(answer.text, "HTTP/1.1 102 ", 13);
	assert_non_null(strstr(answer.text, "\r\n\r\nHTTP/1.1 200 "));
	assert_non_null(strstr(answer.text, "\"size_bytes\":4096"));
	bytes = mmap(NULL, SIZE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, answer.fd, 0);
	assert_ptr_not_equal(bytes, MAP_FAILED);
	memcpy(bytes, "from the program", 16);
	assert_int_equal(close(answer.fd), 0);
	answer = ask(f, "GET /v1/buffers/shared/data HTTP/1.1");
	assert_non_null(strstr(answer.text, "\r\n\r\nfrom the program"));
	assert_int_equal(munmap(bytes, SIZE_BYTES), 0);
}

DESCRIPTOR_TEST(test_api_descriptor__for_reading_it_can_not_write)
{
	struct answer answer;

	make_buffer(f, "shared", VBD_MEM_SHARED);
	answer = ask(f, "GET /v1/buffers/shared/fd?access=read HTTP/1.1");
	assert_int_equal(answer.n_fds, 1);
	assert_int_equal(write(answer.fd, "x", 1), -1);
	assert_ptr_equal(mmap(NULL, SIZE_BYTES, PROT_WRITE, MAP_SHARED, answer.fd, 0), MAP_FAILED);
	assert_int_equal(close(answer.fd), 0);
	answer = ask(f, "GET /v1/buffers/shared/fd?access=execute HTTP/1.1");
	assert_refused(&answer, "400", "bad_value");
}

DESCRIPTOR_TEST(test_api_descriptor__who_has_it_can_not_stop_the_daemon)
{
	struct answer answer;
	char path[40];

	make_buffer(f, "shared", VBD_MEM_SHARED);
	answer = ask(f, "GET /v1/buffers/shared/fd HTTP/1.1");
	assert_int_equal(ftruncate(answer.fd, 0), -1);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", answer.fd);
	assert_int_equal(open(path, O_WRONLY | O_TRUNC), -1);
	assert_int_equal(
		fallocate(answer.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, SIZE_BYTES), 0);
	assert_int_equal(close(answer.fd), 0);
	answer = ask(f, "GET /v1/buffers/shared/data HTTP/1.1");
	assert_memory_equal(answer.text, "HTTP/1.1 200 ", 13);
	answer = ask(f, "GET /v1/buffers/shared/checksum HTTP/1.1");
	assert_memory_equal(answer.text, "HTTP/1.1 200 ", 13);
}

DESCRIPTOR_TEST(test_api_descriptor__only_the_unix_socket_carries_it)
{
	struct answer answer;

	make_buffer(f, "shared", VBD_MEM_SHARED);
	answer = ask_over(f, (const struct sockaddr *)&f->tcp, sizeof(f->tcp),
		"GET /v1/buffers/shared/fd HTTP/1.1");
	assert_refused(&answer, "421", "unix_socket_only");
	answer = ask(f, "GET /v1/buffers/shared/fd HTTP/1.0");
	assert_refused(&answer, "421", "unix_socket_only");
}

DESCRIPTOR_TEST(test_api_descriptor__only_shared_buffers_have_one)
{
	struct answer answer;

	make_buffer(f, "private", VBD_MEM_ANONYMOUS);
	answer = ask(f, "GET /v1/buffers/private/fd HTTP/1.1");
	assert_refused(&answer, "409", "wrong_state");
	answer = ask(f, "GET /v1/buffers/nothing/fd HTTP/1.1");
	assert_refused(&answer, "404", "not_found");
}

DESCRIPTOR_TEST(test_api_descriptor__a_head_request_brings_none)
{
	struct answer answer;

	make_buffer(f, "shared", VBD_MEM_SHARED);
	answer = ask(f, "HEAD /v1/buffers/shared/fd HTTP/1.1");
	assert_int_equal(answer.n_fds, 0);
	assert_memory_equal(answer.text, "HTTP/1.1 200 ", 13);
}

static unsigned int open_fds(void)
{
	unsigned int count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* Descriptors that nobody takes are limited by the socket; the client that does not read is told.
 */
DESCRIPTOR_TEST(test_api_descriptor__a_client_that_does_not_read_costs_the_daemon_no_descriptor)
{
	static const char request[] =
		"GET /v1/buffers/shared/fd HTTP/1.1\r\nHost: localhost\r\n\r\n";
	int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	unsigned int before;

	make_buffer(f, "shared", VBD_MEM_SHARED);
	before = open_fds();
	assert_int_equal(connect(client, (const struct sockaddr *)&f->local, sizeof(f->local)), 0);
	for (int i = 0; i < 1000; i++) {
		if (send(client, request, sizeof(request) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			break;
		svc_turn(f->svc);
	}
	assert_in_range(open_fds(), before, before + 2);
	assert_int_equal(close(client), 0);
	svc_turn(f->svc);
	assert_int_equal(ask(f, "GET /v1/buffers/shared HTTP/1.1").n_fds, 0);
}
