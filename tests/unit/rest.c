/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rest.h"

#include "api/http/listen.h"

#include <poll.h>
#include <unistd.h>

#define TEXT_BYTES 4096

int rest_setup(void **state)
{
	struct rest *rest = calloc(1, sizeof(*rest));
	struct vbd_error err = {0};
	void *svc = NULL;
	struct vbd_server_socket socket = {.is_unix = true};
	struct vbd_caller_list callers = {0};

	assert_non_null(rest);
	assert_int_equal(svc_setup(&svc), 0);
	rest->svc = svc;
	rest->headers = REST_WAIT;
	rest->addr.sun_family = AF_UNIX;
	(void)snprintf(rest->addr.sun_path, sizeof(rest->addr.sun_path), "%s/api-%d", unit_tmpdir(),
		(int)getpid());
	assert_int_equal(
		vbd_listen_unix(rest->addr.sun_path, VBD_LISTEN_OWN_GROUP, 0600, &socket.fd, &err),
		VBD_OK);
	assert_int_equal(vbd_caller_list_load(rest->svc->daemon->config, &callers, &err), VBD_OK);
	assert_int_equal(
		vbd_api_create(rest->svc->daemon, &callers, &socket, 1, &rest->api, &err), VBD_OK);
	*state = rest;
	return 0;
}

static void on_stopped(void *arg)
{
	*(bool *)arg = true;
}

int rest_teardown(void **state)
{
	struct rest *rest = *state;
	void *svc = rest->svc;
	bool stopped = false;

	json_decref(rest->document);
	vbd_api_stop(rest->api, 0, on_stopped, &stopped);
	SVC_UNTIL(rest->svc, stopped);
	vbd_api_destroy(rest->api);
	(void)unlink(rest->addr.sun_path);
	free(rest);
	return svc_teardown(&svc);
}

/* Serve until the client's socket has bytes or the end of them. */
static void serve(const struct rest *rest, int fd)
{
	struct pollfd readable = {.fd = fd, .events = POLLIN};

	while (poll(&readable, 1, 0) == 0)
		vbd_loop_turn(rest->svc->daemon->loop, false);
}

int rest_send(struct rest *rest, const char *method, const char *path, const char *body)
{
	char request[2 * TEXT_BYTES];
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int len = snprintf(request, sizeof(request),
		"%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s"
		"Content-Type: %s\r\nContent-Length: %zu\r\n\r\n%s",
		method, path, rest->headers,
		strcmp(method, "PUT") ? "application/json" : "application/octet-stream",
		body ? strlen(body) : 0, body ? body : "");

	assert_true(fd >= 0 && len > 0 && (size_t)len < sizeof(request));
	assert_int_equal(connect(fd, (const struct sockaddr *)&rest->addr, sizeof(rest->addr)), 0);
	assert_int_equal(send(fd, request, (size_t)len, MSG_NOSIGNAL), len);
	return fd;
}

int rest_receive(struct rest *rest, int fd)
{
	size_t got = 0;
	ssize_t n;

	do {
		serve(rest, fd);
		n = recv(fd, rest->reply + got, REST_REPLY_MAX_BYTES - got, 0);
		got += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	(void)close(fd);
	rest->reply[got] = '\0';
	return got ? atoi(rest->reply + strlen("HTTP/1.1 ")) : 0;
}

int rest_perform(struct rest *rest, const char *method, const char *path, const char *body)
{
	return rest_receive(rest, rest_send(rest, method, path, body));
}

static void double_quotes(char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			*text = '"';
	}
}

const json_t *rest_call(
	struct rest *rest, int status, const char *method, const char *path, const char *body, ...)
{
	char text[TEXT_BYTES];
	const char *document;
	va_list ap;

	if (body) {
		va_start(ap, body);
		assert_in_range(vsnprintf(text, sizeof(text), body, ap), 0, sizeof(text) - 1);
		va_end(ap);
		double_quotes(text);
	}
	if (rest_perform(rest, method, path, body ? text : NULL) != status)
		fail_msg("%s %s %s: not %d: %s", method, path, body ? text : "", status,
			rest->reply);
	document = strstr(rest->reply, "\r\n\r\n");
	assert_non_null(document);
	json_decref(rest->document);
	rest->document = json_loads(document + 4, JSON_REJECT_DUPLICATES, NULL);
	return rest->document;
}

static bool has(const json_t *seen, const json_t *wanted);

static bool has_members(const json_t *seen, const json_t *wanted)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)wanted, name, value)
	{
		if (!has(json_object_get(seen, name), value))
			return false;
	}
	return true;
}

static bool has(const json_t *seen, const json_t *wanted)
{
	if (json_is_object(wanted))
		return json_is_object(seen) && has_members(seen, wanted);
	if (!json_is_array(wanted))
		return json_equal(seen, wanted);
	if (json_array_size(seen) != json_array_size(wanted))
		return false;
	for (size_t i = 0; i < json_array_size(wanted); i++) {
		if (!has(json_array_get(seen, i), json_array_get(wanted, i)))
			return false;
	}
	return true;
}

void rest_expect(const json_t *document, const char *members)
{
	char text[TEXT_BYTES];
	json_t *wanted;

	assert_in_range(snprintf(text, sizeof(text), "%s", members), 0, sizeof(text) - 1);
	double_quotes(text);
	wanted = json_loads(text, 0, NULL);
	assert_non_null(wanted);
	if (!has(document, wanted)) {
		char *seen = json_dumps(document, JSON_COMPACT | JSON_ENCODE_ANY);

		fail_msg("not %s: %s", text, seen);
	}
	json_decref(wanted);
}

void rest_refuse(struct rest *rest, const char *path, const char *body, const char *code,
	const char *pointer)
{
	char text[TEXT_BYTES];
	const char *document;
	json_t *problem, *fault;

	(void)snprintf(text, sizeof(text), "%s", body);
	double_quotes(text);
	assert_in_range(rest_perform(rest, "POST", path, text), 400, 499);
	document = strstr(rest->reply, "\r\n\r\n");
	assert_non_null(document);
	problem = json_loads(document + 4, 0, NULL);
	fault = json_array_get(json_object_get(problem, "errors"), 0);
	if (strcmp(rest_text(problem, "code"), code) != 0 ||
		(pointer && strcmp(rest_text(fault, "pointer"), pointer) != 0))
		fail_msg("%s: not %s at %s: %s", text, code, pointer, document);
	json_decref(problem);
}

uint64_t rest_number(const json_t *document, const char *name)
{
	const json_t *number = json_object_get(document, name);

	assert_true(json_is_integer(number));
	return (uint64_t)json_integer_value(number);
}

const char *rest_text(const json_t *document, const char *name)
{
	const char *text = json_string_value(json_object_get(document, name));

	assert_non_null(text);
	return text;
}

uint64_t rest_pair(struct rest *rest, const char *here, const char *there)
{
	const json_t *made = rest_call(rest, 201, "POST", "/v1/listeners",
		"{'name':'l','addr':'10.0.0.1','port':0%s}", there);

	rest_expect(rest_call(rest, 201, "POST", "/v1/connections",
			    "{'name':'c','dst_addr':'10.0.0.1','dst_port':%u%s}",
			    (unsigned int)rest_number(made, "port"), here),
		"{'state':'established'}");
	for (;;) {
		const json_t *items =
			json_object_get(rest_call(rest, 200, "GET",
						"/v1/connections?state=established&sort=-id", NULL),
				"items");

		if (json_array_size(items) == 2)
			return rest_number(json_array_get(items, 0), "id");
	}
}
