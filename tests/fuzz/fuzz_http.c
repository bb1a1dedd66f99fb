/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random bytes to the whole API: the real server with every route, over a daemon on the scripted
 * provider. The input is what one client with the role "control" sends; a byte 0xff cuts the
 * input into pieces that arrive one after another. No input may crash the daemon or stop the
 * loop, every answer begins with a status line, and nothing is left when the daemon ends.
 */
#include "api/api.h"
#include "api/http/listen.h"
#include "base/attr.h"
#include "tests/fake/provider_fake.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Inputs that one daemon gets, before it must end without a leak. */
#define INPUTS 2000
/* Turns of the loop in which a client that sends nothing more is answered, or left to wait. */
#define TURNS 16

static struct {
	struct vbd_config config;
	struct vbd_daemon *daemon;
	struct vbd_api *api;
	struct sockaddr_un addr;
	unsigned int inputs;
	bool stopped;
} fuzz;

static void must(bool good)
{
	if (!good)
		abort();
}

static void remove_socket(void)
{
	(void)unlink(fuzz.addr.sun_path);
}

static void start(void)
{
	const char *dir = getenv("TMPDIR");
	struct vbd_server_socket socket = {.is_unix = true};
	struct vbd_caller_list callers = {0};
	struct vbd_error err = {0};

	fake_reset();
	fake_loopback(true);
	vbd_log_setup(VBD_LOG_ERROR, VBD_LOG_TEXT);
	(void)fake_device_add("fake0");
	vbd_config_init(&fuzz.config);
	fuzz.config.workers = 1;
	fuzz.config.default_cqe = 256;
	fuzz.config.records.events = 256;
	fuzz.config.limits.connections = 8;
	fuzz.config.limits.buffers = 8;
	fuzz.config.limits.buffers_bytes = 1048576;
	fuzz.config.limits.http_body_bytes = 8192;
	fuzz.config.drain_timeout_ms = 100;
	fuzz.config.shutdown_timeout_ms = 1000;
	fuzz.addr.sun_family = AF_UNIX;
	(void)snprintf(fuzz.addr.sun_path, sizeof(fuzz.addr.sun_path), "%s/fuzz-http-%d.sock",
		dir && *dir ? dir : "/tmp", (int)getpid());
	must(vbd_daemon_create(&fuzz.config, &fuzz.daemon, &err) == VBD_OK);
	must(vbd_listen_unix(fuzz.addr.sun_path, VBD_LISTEN_OWN_GROUP, 0600, &socket.fd, &err) ==
		VBD_OK);
	must(vbd_caller_list_load(fuzz.daemon->config, &callers, &err) == VBD_OK);
	must(vbd_api_create(fuzz.daemon, &callers, &socket, 1, &fuzz.api, &err) == VBD_OK);
}

static void on_stopped(void *arg)
{
	*(bool *)arg = true;
}

static void stop(void)
{
	bool drained = false;

	vbd_daemon_stop(fuzz.daemon, on_stopped, &drained);
	while (!drained)
		vbd_loop_turn(fuzz.daemon->loop, true);
	fuzz.stopped = false;
	vbd_api_stop(fuzz.api, 0, on_stopped, &fuzz.stopped);
	while (!fuzz.stopped)
		vbd_loop_turn(fuzz.daemon->loop, true);
	vbd_api_destroy(fuzz.api);
	vbd_daemon_destroy(fuzz.daemon);
	(void)unlink(fuzz.addr.sun_path);
	must(fake_live_total() == 0 && !fake_misuse());
}

/* Take what the server has sent, and check the first bytes of it. */
static bool take(int fd, size_t *got_bytes)
{
	static const char status_line[] = "HTTP/1.";
	char bytes[16384];
	ssize_t n;

	while ((n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0) {
		if (*got_bytes == 0)
			must(n >= 7 && memcmp(bytes, status_line, 7) == 0);
		*got_bytes += (size_t)n;
	}
	return n != 0;
}

static void serve(int fd, size_t *got_bytes)
{
	for (int i = 0; i < TURNS && take(fd, got_bytes); i++)
		vbd_loop_turn(fuzz.daemon->loop, false);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return atexit(remove_socket);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t got_bytes = 0;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (!fuzz.daemon)
		start();
	must(fd >= 0 && connect(fd, (struct sockaddr *)&fuzz.addr, sizeof(fuzz.addr)) == 0);
	while (size > 0) {
		const uint8_t *cut = memchr(data, 0xff, size);
		size_t piece = cut ? (size_t)(cut - data) : size;

		/* The server may have closed the connection already. */
		if (piece && send(fd, data, piece, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			break;
		serve(fd, &got_bytes);
		piece += cut != NULL;
		data += piece;
		size -= piece;
	}
	(void)shutdown(fd, SHUT_WR);
	serve(fd, &got_bytes);
	(void)close(fd);
	if (++fuzz.inputs % INPUTS == 0) {
		stop();
		memset(&fuzz, 0, sizeof(fuzz));
	}
	return 0;
}
