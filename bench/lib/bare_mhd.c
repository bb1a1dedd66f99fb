/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least work that libmicrohttpd can do: one thread, one epoll, and for every request the same
 * body with the headers of verbsd. The difference to verbsd is verbsd's own work.
 *
 * usage: bare_mhd PORT BODYFILE
 */
#include <microhttpd.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BODY_MAX_BYTES ((size_t)1 << 20)

struct body {
	size_t len_bytes;
	char bytes[BODY_MAX_BYTES];
};

/* A new response for each answer, as in verbsd, whose bodies change. */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url,
	const char *method, const char *version, const char *upload, size_t *upload_bytes,
	void **request_context)
{
	struct body *body = arg;
	struct MHD_Response *response;
	enum MHD_Result result;

	(void)url, (void)method, (void)version, (void)upload, (void)upload_bytes;
	if (!*request_context) {
		*request_context = body; /* in the first call only the head is complete */
		return MHD_YES;
	}
	response = MHD_create_response_from_buffer(
		body->len_bytes, body->bytes, MHD_RESPMEM_PERSISTENT);
	if (!response)
		return MHD_NO;
	(void)MHD_add_response_header(response, "Cache-Control", "no-store");
	(void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	(void)MHD_add_response_header(response, "Content-Type", "application/json");
	result = MHD_queue_response(connection, MHD_HTTP_OK, response);
	MHD_destroy_response(response);
	return result;
}

static struct body *read_body(const char *path)
{
	struct body *body = malloc(sizeof(*body));
	FILE *file = fopen(path, "r");

	if (!body || !file) {
		(void)fprintf(stderr, "bare_mhd: %s: %s\n", path, strerror(errno));
		exit(1);
	}
	body->len_bytes = fread(body->bytes, 1, sizeof(body->bytes), file);
	(void)fclose(file);
	return body;
}

int main(int argc, char **argv)
{
	struct sockaddr_in addr = {.sin_family = AF_INET};
	struct MHD_Daemon *mhd;
	struct body *body;

	if (argc != 3) {
		(void)fprintf(stderr, "usage: bare_mhd PORT BODYFILE\n");
		return 2;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	body = read_body(argv[2]);
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	addr.sin_port = htons((in_port_t)strtoul(argv[1], NULL, 10));
	mhd = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_ERROR_LOG, 0, NULL, NULL, on_request, body,
		MHD_OPTION_SOCK_ADDR, &addr, MHD_OPTION_END);
	if (!mhd) {
		(void)fprintf(stderr, "bare_mhd: libmicrohttpd did not start\n");
		return 1;
	}
	while (MHD_run_wait(mhd, -1) == MHD_YES)
		;
	MHD_stop_daemon(mhd);
	free(body);
	return 1;
}
