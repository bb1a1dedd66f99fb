/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random answers to verbsctl. The first byte picks a command line; each answer is a byte for the
 * status, a byte for the kind of content, and a body up to the next byte 0xff. When the answers
 * are used up, the server is not reachable.
 */
#include "cmd/verbsctl/command.h"

#include "cmd/verbsctl/common/call.h"

#include <curl/curl.h>

#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 8

static const char *const lines[][WORDS] = {
	{"connections"},
	{"connections", "ls", "--json"},
	{"connections", "show", "x"},
	{"connections", "explain", "x"},
	{"connections", "timeline", "x"},
	{"connections", "history"},
	{"connections", "recv", "x", "--timeout", "1ms"},
	{"connections", "wait", "x", "--timeout", "1ms"},
	{"connections", "close", "x", "y"},
	{"connect", "10.0.0.1:7471"},
	{"listeners"},
	{"listeners", "show", "x"},
	{"listen", "7471"},
	{"buffers"},
	{"buffers", "show", "x"},
	{"buffers", "get", "x"},
	{"buffers", "sum", "x"},
	{"windows"},
	{"transfers"},
	{"write", "x", "--buffer", "y", "--remote", "#z"},
	{"transfer-batches", "show", "x"},
	{"connection-batches", "show", "x"},
	{"connect", "h:1", "--count", "2"},
	{"close", "--all", "--dry-run"},
	{"probe", "x"},
	{"bench", "x", "--size", "64"},
	{"ud-endpoints"},
	{"cqs"},
	{"devices"},
	{"devices", "show", "x"},
	{"events", "-n", "3"},
	{"glossary"},
	{"reachability", "show", "10.0.0.2"},
	{"srqs", "show", "x"},
	{"status"},
};

static struct {
	const uint8_t *at;
	size_t left;
	long status;
	const char *content_type;
	curl_write_callback write;
	void *write_arg;
} server;

CURLcode __real_curl_easy_setopt(CURL *curl, CURLoption option, ...);
CURLcode __wrap_curl_easy_setopt(CURL *curl, CURLoption option, ...);
CURLcode __wrap_curl_easy_perform(CURL *curl);
CURLcode __wrap_curl_easy_getinfo(CURL *curl, CURLINFO info, ...);
void __wrap_vbd_ctl_pause_ms(unsigned int ms);

CURLcode __wrap_curl_easy_setopt(CURL *curl, CURLoption option, ...)
{
	void *value;
	va_list ap;

	va_start(ap, option);
	value = va_arg(ap, void *);
	va_end(ap);
	if (option == CURLOPT_WRITEFUNCTION)
		memcpy(&server.write, &value, sizeof(value));
	else if (option == CURLOPT_WRITEDATA)
		server.write_arg = value;
	return __real_curl_easy_setopt(curl, option, value);
}

static uint8_t take(void)
{
	server.left--;
	return *server.at++;
}

CURLcode __wrap_curl_easy_perform(CURL *curl)
{
	static const long statuses[] = {200, 201, 202, 204, 400, 401, 404, 409, 424, 429, 500, 503};
	static const char *const types[] = {
		"application/json", "application/problem+json", "text/plain", NULL};
	const uint8_t *end;
	size_t piece;
	char *body;
	bool taken;

	(void)curl;
	if (server.left < 2)
		return CURLE_COULDNT_CONNECT;
	server.status = statuses[take() % VBD_ARRAY_LEN(statuses)];
	server.content_type = types[take() % VBD_ARRAY_LEN(types)];
	end = memchr(server.at, 0xff, server.left);
	piece = end ? (size_t)(end - server.at) : server.left;
	/* A copy of the exact length, so that a read behind the end is seen. */
	body = malloc(piece ? piece : 1);
	memcpy(body, server.at, piece);
	server.at += piece + (end != NULL);
	server.left -= piece + (end != NULL);
	taken = !server.write || !piece || server.write(body, 1, piece, server.write_arg) == piece;
	free(body);
	return taken ? CURLE_OK : CURLE_WRITE_ERROR;
}

CURLcode __wrap_curl_easy_getinfo(CURL *curl, CURLINFO info, ...)
{
	va_list ap;
	void *ret;

	(void)curl;
	va_start(ap, info);
	ret = va_arg(ap, void *);
	va_end(ap);
	if (info == CURLINFO_RESPONSE_CODE)
		*(long *)ret = server.status;
	else if (info == CURLINFO_CONTENT_TYPE)
		*(const char **)ret = server.content_type;
	else
		memset(ret, 0, 8); /* a long, a curl_off_t, a double or a pointer */
	return CURLE_OK;
}

void __wrap_vbd_ctl_pause_ms(unsigned int ms)
{
	(void)ms;
}

static void run_command(void *arg)
{
	struct vbd_ctl *ctl = arg;

	ctl->args.command->run(ctl);
}

static void run(char **words, int count)
{
	struct vbd_ctl ctl = {0};

	optind = 0; /* getopt_long(3): begin anew */
	/* An error in these two would end the program. */
	vbd_ctl_args_parse(count, words, &ctl.args);
	ctl.json = vbd_ctl_args_has(&ctl.args, VBD_CTL_OPT_JSON);
	vbd_ctl_open(&ctl);
	(void)vbd_ctl_try(run_command, &ctl);
	vbd_ctl_release(0);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each line is one that verbsctl has, also where only the corpus is played back. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	for (uint8_t i = 0; i < VBD_ARRAY_LEN(lines); i++)
		(void)LLVMFuzzerTestOneInput(&i, 1);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char texts[WORDS + 1][40] = {"verbsctl"};
	char *words[WORDS + 2] = {texts[0]};
	const char *const *line;
	int count = 1;

	if (size == 0)
		return 0;
	line = lines[data[0] % VBD_ARRAY_LEN(lines)];
	for (; count <= WORDS && line[count - 1]; count++) {
		(void)snprintf(texts[count], sizeof(texts[count]), "%s", line[count - 1]);
		words[count] = texts[count];
	}
	memset(&server, 0, sizeof(server));
	server.at = data + 1;
	server.left = size - 1;
	run(words, count);
	return 0;
}
